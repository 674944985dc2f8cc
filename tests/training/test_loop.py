"""Training: resumed runs equal undisturbed ones; schedules, losses, what a run leaves behind."""

from __future__ import annotations

import json
import math
import signal
from pathlib import Path

import pytest
import torch

from tests.training.test_data import CANDIDATES, queries
from tflex.models.tflex import TFLEX, Settings, TflexModel
from tflex.query.algebra import Sort
from tflex.training.data import BatchSource
from tflex.training.loop import (
    Trainer,
    TrainingDiverged,
    TrainingSettings,
    learning_rate,
    softmax_losses,
)


def trainer(folder: Path, validate=None, **changes) -> Trainer:
    """A tiny model on a handful of queries."""
    folder.mkdir(parents=True, exist_ok=True)
    listed = [queries("Pe", 11, 1), queries("e2i_N", 7, 2), queries("t2i", 5, 3)]
    settings = Settings(CANDIDATES[Sort.ENTITY], 3, CANDIDATES[Sort.TIME], 6, (8,), 4.0)
    model = TflexModel(TFLEX, settings, torch.Generator().manual_seed(0))
    options = {"steps": 20, "learning_rate": 0.01, "validate_every": 5, "checkpoint_every": 4}
    return Trainer(
        model, BatchSource(listed, CANDIDATES, 8, 4, 0), TrainingSettings(**{**options, **changes}),
        folder, validate,
    )  # fmt: skip


def weights(model: TflexModel) -> dict[str, list]:
    return {name: one.tolist() for name, one in model.state_dict().items()}


class Stopped(Exception):
    """A process that dies."""


def test_a_resumed_run_equals_the_undisturbed_one(tmp_path: Path) -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        whole = trainer(tmp_path / "whole", lambda model: 0.5)
        whole.run()
        killed = trainer(tmp_path / "killed", lambda model: 0.5)
        update = killed.step

        def dies(batch):
            if killed.progress.step == 14:
                raise Stopped
            return update(batch)

        killed.step = dies  # type: ignore[method-assign]
        with pytest.raises(Stopped):
            killed.run()
        again = trainer(tmp_path / "killed", lambda model: 0.5)
        assert again.resume() and again.progress.step == 12
        again.run()
    finally:
        torch.set_num_threads(threads)
    assert weights(again.model) == weights(whole.model)
    steps = [
        json.loads(line)["step"]
        for line in (tmp_path / "killed" / "metrics.jsonl").read_text().splitlines()
    ]
    assert steps == [5, 10, 15, 20]


def test_interrupting_saves_the_step(tmp_path: Path) -> None:
    one = trainer(tmp_path, checkpoint_every=1000, validate_every=1000)
    update = one.step

    def interrupted(batch):
        if one.progress.step == 7:
            raise KeyboardInterrupt
        return update(batch)

    one.step = interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        one.run()
    again = trainer(tmp_path)
    assert again.resume() and again.progress.step == 7
    assert weights(again.model) == weights(one.model)


def test_an_interrupt_during_an_update_waits_for_its_end(tmp_path: Path) -> None:
    one = trainer(tmp_path, checkpoint_every=1000, validate_every=1000)
    update = one.optimizer.step

    def interrupted():
        if one.progress.step == 7:
            signal.raise_signal(signal.SIGINT)
        update()

    one.optimizer.step = interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        one.run()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    again = trainer(tmp_path)
    assert again.resume() and again.progress.step == 8
    assert weights(again.model) == weights(one.model)


def test_the_best_weights_are_kept_and_patience_ends(tmp_path: Path) -> None:
    scores = iter([0.1, 0.3, 0.2, 0.2, 0.2])
    seen: list[dict] = []

    def validate(model: TflexModel) -> float:
        seen.append(weights(model))
        return next(scores)

    one = trainer(tmp_path, validate, steps=100, patience=2)
    progress = one.run()
    assert (progress.best_step, progress.best_score, progress.step) == (10, 0.3, 20)
    one.load_best()
    assert weights(one.model) == seen[1]


def test_training_lowers_the_loss(tmp_path: Path) -> None:
    for loss in ("margin", "softmax"):
        one = trainer(tmp_path / loss, loss=loss, steps=150, schedule="constant")
        batch = one.source.batch(0)
        before = one.objective(batch).item()
        one.run()
        assert one.objective(batch).item() < before


def test_bf16_is_close_to_fp32(tmp_path: Path) -> None:
    full, half = trainer(tmp_path / "a"), trainer(tmp_path / "b", precision="bf16")
    batch = full.source.batch(0)
    assert half.objective(batch).item() == pytest.approx(full.objective(batch).item(), rel=0.05)


def test_divergence_is_said(tmp_path: Path) -> None:
    one = trainer(tmp_path, steps=60)
    with torch.no_grad():
        one.model.tokens.entity.fill_(math.nan)
    with pytest.raises(TrainingDiverged, match="lower learning rate"):
        one.run()


def test_schedules() -> None:
    published = TrainingSettings(learning_rate=1.0)
    rates = [learning_rate(published, progress, 99) for progress in (0.0, 0.49, 0.5, 0.75)]
    assert rates == pytest.approx([1.0, 1.0, 0.2, 0.04])
    cosine = TrainingSettings(learning_rate=1.0, schedule="cosine", warm_up=10)
    assert learning_rate(cosine, 0.0, 0) == pytest.approx(0.1)
    assert learning_rate(cosine, 0.5, 50) == pytest.approx(0.5)
    assert learning_rate(cosine, 1.0, 99) == pytest.approx(0.0, abs=1e-9)


def test_softmax_loss_is_the_negative_log_of_the_share() -> None:
    positive, negative = torch.tensor([1.0]), torch.tensor([[2.0, 0.5, 3.0]])
    allowed = torch.tensor([[True, False, True]])
    share = math.exp(-0.5) / (math.exp(-0.5) + math.exp(-1.0) + math.exp(-1.5))
    found = softmax_losses(positive, negative, allowed, temperature=2.0)
    assert float(found) == pytest.approx(-math.log(share))
