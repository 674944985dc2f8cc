"""The training loop, to be read top to bottom: batch, loss, update, validation, checkpoint."""

from __future__ import annotations

import json
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch
import torch.distributed as distributed
from torch import Tensor
from torch.nn.functional import logsigmoid

from tflex.errors import TflexError
from tflex.models.loss import query_losses, subsampling_weights, weighted_mean
from tflex.models.tflex import TflexModel
from tflex.query.algebra import Sort
from tflex.training.checkpoint import load_checkpoint, load_weights, save_checkpoint, save_weights
from tflex.training.data import Batch, BatchSource, Side
from tflex.training.plan import Planner

Schedule = Literal["constant", "published", "cosine"]
Validate = Callable[[TflexModel], float]
"""The score of a model on a fixed sample, higher is better."""


@dataclass(frozen=True)
class TrainingSettings:
    """How a model is trained; the model's own numbers are elsewhere."""

    steps: int | None = 300_000
    minutes: float | None = None
    """A time budget; with both, the first that is reached ends the run."""
    learning_rate: float = 1e-4
    schedule: Schedule = "published"
    warm_up: int = 0
    """Steps in which the learning rate grows to its height."""
    precision: Literal["fp32", "bf16"] = "fp32"
    loss: Literal["margin", "softmax"] = "margin"
    temperature: float = 1.0
    """Of the softmax loss."""
    clip: float | None = None
    """Largest norm of the gradient."""
    validate_every: int = 5_000
    patience: int | None = None
    """Validations without a better score after which training stops."""
    checkpoint_every: int = 1_000
    checkpoint_minutes: float = 5.0
    """The longest time between two checkpoints."""


def learning_rate(settings: TrainingSettings, progress: float, step: int) -> float:
    """The rate at a fraction of the run; `published`: ÷5 at one half and at three quarters."""
    rate = settings.learning_rate
    if settings.schedule == "published":
        rate /= 5 ** ((progress >= 0.5) + (progress >= 0.75))
    elif settings.schedule == "cosine":
        rate *= 0.5 * (1 + math.cos(math.pi * min(progress, 1.0)))
    return rate * min(1.0, (step + 1) / settings.warm_up) if settings.warm_up else rate


def softmax_losses(
    positive: Tensor, negative: Tensor, allowed: Tensor, temperature: float
) -> Tensor:
    """−log of the positive's share in a softmax over it and the allowed negatives, [n].

    Training adds −log σ(γ − d(v)), the first term of equation 6, to hold answers within the margin.

    Not in the paper: L = −log exp(−d(v)/τ) / (exp(−d(v)/τ) + Σ_i exp(−d(v'_i)/τ)).
    """
    logits = (-negative / temperature).masked_fill(~allowed, -torch.inf)
    return torch.logsumexp(torch.cat((-positive.unsqueeze(1) / temperature, logits), 1), 1) + (
        positive / temperature
    )


class TrainingDiverged(TflexError):
    """The loss is no number any more."""


class Objective:
    """The loss of a model on batches."""

    def __init__(self, model: TflexModel, settings: TrainingSettings) -> None:
        self.model = model
        self.settings = settings
        self.planner = Planner(model)
        self.device = model.tokens.entity.device

    def __call__(self, batch: Batch) -> Tensor:
        """The weighted mean loss of a batch."""
        sides = {Sort.ENTITY: batch.entity, Sort.TIME: batch.time}
        wanted = {
            sort: torch.from_numpy(side.negatives).to(self.device)
            for sort, side in sides.items()
            if side.negatives.ndim == 1 and len(side.positives)
        }
        with torch.autocast(
            self.device.type, torch.bfloat16, enabled=self.settings.precision == "bf16"
        ):
            embedded = self.planner(batch.groups, wanted)
        losses, weights = [], []
        for sort, rows in ((Sort.ENTITY, embedded.entity), (Sort.TIME, embedded.time)):
            side = sides[sort]
            if len(side.positives):
                losses.append(self._losses(rows, sort, side, embedded.candidates.get(sort)))
                weights.append(subsampling_weights(torch.from_numpy(side.answers).to(self.device)))
        return weighted_mean(torch.cat(losses), torch.cat(weights))

    def _losses(self, rows: Tensor, sort: Sort, side: Side, shared: Tensor | None) -> Tensor:
        """The loss of each query of one sort, from distances in fp32."""
        tokens, device = self.model.tokens, self.device
        positives = tokens.features(sort, torch.from_numpy(side.positives).to(device))
        positive = self.model.distances(rows, sort, positives.unsqueeze(1)).squeeze(1)
        if shared is None:
            shared = tokens.features(sort, torch.from_numpy(side.negatives).to(device))
        negative = self.model.distances(rows, sort, shared)
        allowed = torch.from_numpy(side.allowed).to(device)
        margin = self.model.settings.margin
        if self.settings.loss == "softmax":
            shares = softmax_losses(positive, negative, allowed, self.settings.temperature)
            # To shares alone, a query far from everything is as good as one among the candidates.
            return shares - logsigmoid(margin - positive)
        return query_losses(positive, negative, allowed, margin)


@dataclass
class Progress:
    """What a run remembers from step to step."""

    step: int = 0
    seconds: float = 0.0
    """Of training, over all parts of a run that was interrupted."""
    best_score: float = -1.0
    best_step: int = 0
    since_best: int = 0


@dataclass
class Trainer:
    """Trains a model in a folder: `checkpoints/`, `best.safetensors`, `metrics.jsonl`."""

    model: TflexModel
    source: BatchSource
    settings: TrainingSettings
    folder: Path
    validate: Validate | None = None
    report: Callable[[str, float], None] = lambda line, fraction: None
    """Called with a progress line and the fraction of the run that is done."""
    progress: Progress = field(default_factory=Progress)

    def __post_init__(self) -> None:
        self.objective = Objective(self.model, self.settings)
        fused = self.model.tokens.entity.device.type in ("cpu", "cuda")
        self.optimizer = torch.optim.Adam(self.model.parameters(), fused=fused)
        self.leads = not distributed.is_initialized() or distributed.get_rank() == 0

    def resume(self) -> bool:
        """Continue from the latest checkpoint; False where there is none."""
        state = load_checkpoint(self.folder / "checkpoints", self.model, self.optimizer)
        if state is None:
            return False
        self.progress = Progress(**state)
        self._forget_later_metrics()
        return True

    def run(self) -> Progress:
        """Train until the budget is spent, patience ends, or the user interrupts."""
        progress, settings = self.progress, self.settings
        started, base = time.monotonic(), progress.seconds
        saved = scored = started
        loss_sum, loss_count = torch.zeros(()), 0
        with ThreadPoolExecutor(1) as drawer:
            ahead: Future[Batch] = drawer.submit(self.source.batch, progress.step)
            try:
                while not self._finished():
                    batch = ahead.result()
                    ahead = drawer.submit(self.source.batch, progress.step + 1)
                    loss_sum += self.step(batch).cpu()
                    loss_count += 1
                    progress.seconds = base + time.monotonic() - started
                    now = time.monotonic()
                    if progress.step % 50 == 0:
                        self._report(float(loss_sum / loss_count))
                    due = progress.step % settings.validate_every == 0
                    if due:
                        self._score(float(loss_sum / loss_count), loss_count / (now - scored))
                        loss_sum, loss_count, scored = torch.zeros(()), 0, time.monotonic()
                    late = now - saved > 60 * settings.checkpoint_minutes
                    if due or late or progress.step % settings.checkpoint_every == 0:
                        self.save()
                        saved = time.monotonic()
            except KeyboardInterrupt:
                self.save()
                raise
        if self.validate is not None and progress.step % settings.validate_every:
            self._score(float(loss_sum / max(loss_count, 1)), math.nan)
        self.save()
        return progress

    def step(self, batch: Batch) -> Tensor:
        """One update; the loss before it."""
        rate = learning_rate(self.settings, self.fraction(), self.progress.step)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.objective(batch)
        loss.backward()
        if distributed.is_initialized():
            average_gradients(self.model)
        if self.settings.clip is not None:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip)
        with uninterrupted():
            self.optimizer.step()
            self.progress.step += 1
        return loss.detach()

    def fraction(self) -> float:
        """How much of the budget is spent."""
        settings, spent = self.settings, 0.0
        if settings.steps is not None:
            spent = self.progress.step / settings.steps
        if settings.minutes is not None:
            spent = max(spent, self.progress.seconds / (60 * settings.minutes))
        return self._agreed(spent)

    def _agreed(self, number: float) -> float:
        """The leading process's number: clocks differ, and all must stop at the same step."""
        if not distributed.is_initialized() or self.settings.minutes is None:
            return number
        shared = torch.tensor([number], dtype=torch.float64, device=self.objective.device)
        distributed.broadcast(shared, 0)
        return float(shared)

    def _finished(self) -> bool:
        patience = self.settings.patience
        return self.fraction() >= 1 or (
            patience is not None and self.progress.since_best >= patience
        )

    def save(self) -> None:
        if self.leads:
            state = vars(self.progress).copy()
            save_checkpoint(self.folder / "checkpoints", self.model, self.optimizer, state)

    def load_best(self) -> None:
        """Put the best weights into the model, or leave the last where none were scored."""
        path = self.folder / "best.safetensors"
        if path.is_file():
            load_weights(self.model, path)

    def _score(self, loss: float, steps_per_second: float) -> None:
        """Validate, keep the best weights, write a line of metrics."""
        progress = self.progress
        line: dict[str, Any] = {
            "step": progress.step,
            "loss": loss,
            "learning_rate": self.optimizer.param_groups[0]["lr"],
            "seconds": round(progress.seconds, 3),
        }
        if not math.isnan(steps_per_second):
            line["steps_per_second"] = round(steps_per_second, 3)
        if self.validate is not None:
            self.model.eval()
            score = self.validate(self.model)
            self.model.train()
            line["score"] = score
            progress.since_best += 1
            if score > progress.best_score:
                progress.best_score, progress.best_step, progress.since_best = (
                    score,
                    progress.step,
                    0,
                )
                if self.leads:
                    save_weights(self.model, self.folder / "best.safetensors")
        if self.leads:
            with (self.folder / "metrics.jsonl").open("a") as log:
                log.write(json.dumps(line) + "\n")

    def _forget_later_metrics(self) -> None:
        """Drop the lines that the interrupted run wrote after its last checkpoint."""
        path = self.folder / "metrics.jsonl"
        if path.is_file() and self.leads:
            lines = path.read_text().splitlines(keepends=True)
            kept = [line for line in lines if _step_of(line) <= self.progress.step]
            path.write_text("".join(kept))

    def _report(self, loss: float) -> None:
        if not math.isfinite(loss):
            raise TrainingDiverged(
                f"the loss is {loss} at step {self.progress.step}: training has diverged; "
                "try a lower learning rate, a longer warm-up or a smaller clip"
            )
        progress, fraction = self.progress, self.fraction()
        rate = progress.step / max(progress.seconds, 1e-9)
        left = progress.seconds * (1 - fraction) / max(fraction, 1e-9)
        best = "" if progress.best_step == 0 else f"  best {100 * progress.best_score:.2f}"
        self.report(
            f"step {progress.step:,}  loss {loss:.4f}  {rate:.1f} steps/s  "
            f"ETA {int(left // 60)}:{int(left % 60):02d}{best}",
            fraction,
        )


def _step_of(line: str) -> int:
    try:
        return int(json.loads(line)["step"])
    except (ValueError, KeyError):
        # A line that a killed process left half-written.
        return 1 << 62


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C waits until the block has ended, so that what belongs together changes together."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: waiting.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if waiting:
            signal.raise_signal(signal.SIGINT)


def average_gradients(model: torch.nn.Module) -> None:
    """Replace each gradient by its mean over all processes.

    A process whose part of the batch does not use an operator contributes zeros to its gradient; an
    operator that no process uses keeps none, so that the optimizer leaves it alone.
    """
    parameters = list(model.parameters())
    used = torch.tensor(
        [parameter.grad is not None for parameter in parameters],
        dtype=torch.float32, device=parameters[0].device,
    )  # fmt: skip
    distributed.all_reduce(used)
    for parameter, count in zip(parameters, used.tolist(), strict=True):
        if count:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            distributed.all_reduce(parameter.grad)
            parameter.grad /= distributed.get_world_size()
