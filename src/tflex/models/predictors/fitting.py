"""Training of the link predictor, in stages that are kept on disk."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from tflex.errors import DataError
from tflex.graph.facts import Facts, Level
from tflex.graph.temporal_graph import TemporalGraph
from tflex.models.predictors.calendar import fit_calendar
from tflex.models.predictors.calibration import fit_temperatures
from tflex.models.predictors.context import both_directions, build_context
from tflex.models.predictors.context_kernels import Context
from tflex.models.predictors.embeddings import fit_embedding
from tflex.models.predictors.existence import fit_object_existence, fit_time_existence
from tflex.models.predictors.history import fit_history
from tflex.models.predictors.links import LinkPredictor, LinkSettings
from tflex.models.predictors.progress import Progress, silent
from tflex.models.predictors.ranker import Questions
from tflex.models.predictors.ranking import Scorers, fit_ranker, held_out_questions

FEWEST = 20
"""Train facts below which there is nothing to learn from."""


class Stages:
    """Fits modules one after the other; one that an earlier run has finished is read from disk.

    A stage draws from a generator of its own seed, so that a run that was interrupted ends with
    the weights of one that was not.
    """

    def __init__(self, folder: Path | None, seed: int) -> None:
        self.folder = folder
        self.seed = seed
        self.count = 0

    def fit(self, name: str, module: nn.Module, work: Callable[[int], None]) -> None:
        """Run `work` with the stage's seed, or load what it once made of the module."""
        self.count += 1
        path = None if self.folder is None else self.folder / f"{name}.safetensors"
        if path is not None and path.is_file():
            try:
                module.load_state_dict(load_file(path))
            except (OSError, RuntimeError, SafetensorError) as error:
                raise DataError(f"{path}: cannot go on from this stage: {error}") from error
            return
        seed = 1000 * self.seed + self.count
        # Dropout draws from the global generator, which is put back as it was.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            work(seed)
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            draft = path.with_suffix(".draft")
            save_file({key: one.contiguous() for key, one in module.state_dict().items()}, draft)
            draft.replace(path)


class Clock:
    """Shares of a time budget as moments of the monotonic clock."""

    def __init__(self, minutes: float | None) -> None:
        self.start = time.monotonic()
        self.seconds = np.inf if minutes is None else 60 * minutes

    def share(self, fraction: float) -> float:
        return self.start + fraction * self.seconds


def fit_links(graph: TemporalGraph, settings: LinkSettings, seed: int = 0,
              progress: Progress = silent, minutes: float | None = None,
              folder: Path | None = None) -> LinkPredictor:  # fmt: skip
    """Train on the train facts of a graph; with a folder, go on where an earlier run ended.

    The stack (ranker, temperatures, existence) is fitted on a tenth of them that neither the
    embedding models nor the features saw; then those models are trained again with the tenth. A
    budget of minutes cuts the epochs of the embedding models short.
    """
    counts = graph.entity_count, graph.relation_count, graph.time_count
    train = graph.facts.at(Level.train)
    if len(train) < FEWEST:
        raise DataError(f"{len(train)} train facts are too few to train a link predictor")
    order = np.random.default_rng(seed).permutation(len(train))
    cut = max(1, round(settings.held_out * len(train)))
    tenth, rest = train.take(np.sort(order[:cut])), train.take(np.sort(order[cut:]))
    clock, stages = Clock(minutes), Stages(folder, seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = LinkPredictor(counts, settings, torch.Generator().manual_seed(seed))
    known, everything = build_context(rest, *counts), build_context(train, *counts)
    first = torch.Generator().manual_seed(seed + 1)
    scorers = Scorers.fresh(counts, settings.embedding, settings.history, first)
    fit_scorers(stages, "rest", scorers, settings, rest, known, progress, clock.share(0.4))
    fit_stack(stages, model, rest, known, everything, tenth, scorers, progress)
    fit_scorers(
        stages, "all", model.scorers, settings, train, everything, progress, clock.share(0.95)
    )
    calendar = model.calendar
    if calendar is not None:
        stages.fit(
            "calendar", calendar,
            lambda seed: fit_calendar(calendar, train, everything, model.alike(), seed, progress),
        )  # fmt: skip
    return model.eval()


def fit_scorers(stages: Stages, name: str, scorers: Scorers, settings: LinkSettings, facts: Facts,
                context: Context, progress: Progress, deadline: float) -> None:  # fmt: skip
    """The embedding models, on facts."""
    embedding, history = scorers.embedding, scorers.history
    if embedding is not None and settings.embedding is not None:
        chosen = settings.embedding
        now = time.monotonic()
        half = deadline if history is None else now + 0.55 * (deadline - now)
        stages.fit(
            f"embedding-{name}", embedding,
            lambda seed: fit_embedding(embedding, facts, chosen, seed, progress, half),
        )  # fmt: skip
    if history is not None:
        stages.fit(
            f"history-{name}", history,
            lambda seed: fit_history(history, facts, context, seed, progress, deadline),
        )  # fmt: skip


def fit_stack(stages: Stages, model: LinkPredictor, rest: Facts, known: Context,
              everything: Context, tenth: Facts, scorers: Scorers,
              progress: Progress) -> None:  # fmt: skip
    """Ranker, temperatures and existence, on held-out facts."""
    asked = both_directions(tenth, model.counts[1], np.random.default_rng(stages.seed))
    # Both directions of a fact fall on one side of the cut.
    kept_back = np.random.default_rng(stages.seed).permutation(len(tenth)) < max(
        1, round(model.settings.calibration * len(tenth))
    )
    kept_back = np.tile(kept_back, 2)

    def questions(rows: np.ndarray) -> Questions:
        return held_out_questions(
            known, everything, scorers, asked.take(rows), model.settings.best, progress
        )

    def fit_temperature(seed: int) -> None:
        others = questions(kept_back)
        with torch.no_grad():
            logits, none = model.logits(others)
        fit_temperatures(
            model.temperatures, others.relation, others.rows, logits, none, others.answer
        )

    ranker, objects, times = model.ranker, model.further_objects, model.further_times
    if ranker is not None:
        stages.fit(
            "ranker", ranker,
            lambda seed: fit_ranker(ranker, rest, known, questions(~kept_back), seed, progress),
        )  # fmt: skip
    stages.fit("temperatures", model.temperatures, fit_temperature)
    if objects is not None and times is not None:
        stages.fit(
            "further-objects", objects,
            lambda seed: fit_object_existence(objects, known, tenth, seed, progress),
        )  # fmt: skip
        stages.fit(
            "further-times", times,
            lambda seed: fit_time_existence(times, known, tenth, seed, progress),
        )  # fmt: skip
