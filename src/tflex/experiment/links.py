"""Runs of link predictors: their training, and what an evaluation says of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tflex.errors import DataError
from tflex.evaluation.calibration import Reliability, brier, reliability
from tflex.evaluation.links import LinkQuestions, LinkScore, score_links
from tflex.experiment.config import LinksConfig
from tflex.experiment.run import Run
from tflex.graph.facts import Level
from tflex.graph.temporal_graph import TemporalGraph, View
from tflex.models.predictors.context import Asked
from tflex.models.predictors.existence import (
    ACTIVE,
    KNOWN_PAIR,
    expected_draws,
    question_features,
    sampled_questions,
)
from tflex.models.predictors.fitting import fit_links
from tflex.models.predictors.links import LinkPredictor
from tflex.reasoning.links import LinkReasoner

FOLDER, STAGES = "links", "stages"

Progress = Callable[[str, float], None]


def train_links(run: Run, report: Progress) -> LinkPredictor:
    """Train the run's link predictor, from the stage where an earlier run ended."""
    config = run.configured(LinksConfig)
    if config.threads is not None:
        torch.set_num_threads(config.threads)
    predictor = fit_links(
        run.graph(), config.links, config.seed, report, config.minutes, run.folder / STAGES
    )
    predictor.save(run.folder / FOLDER)
    return predictor


def link_predictor(run: Run) -> LinkPredictor:
    """The trained link predictor of a run."""
    if not (run.folder / FOLDER).is_dir():
        raise DataError(
            f"{run.folder} holds no trained link predictor; train it with `--preset links`, "
            "or go on with --resume"
        )
    return LinkPredictor.load(run.folder / FOLDER)


@dataclass(frozen=True)
class Existence:
    """Does (s, r, t) have a further fact? Stated probabilities against held-out facts.

    As many questions without a further fact as with one: half of them a known (s, r) at a random
    time, half the subject and a time of a known fact with a relation by its frequency. A stated
    probability is that of the model given this sample, p / (p + (1 − p)·q), where p = 1 − exp(−λ)
    and q is how often the sample draws the question.
    """

    questions: int
    brier: float
    base: float
    """The Brier score of stating the share of questions with a further fact each time."""
    expected: float
    """Further facts of the whole graph that the model expects, estimated from the sample."""
    found: int
    """Held-out facts of the split whose question the sample could have drawn; one of an interval
    counts once for each of its timestamps."""

    @property
    def better(self) -> float:
        """How far below the base rate's the Brier score is."""
        return 1 - self.brier / self.base


@dataclass(frozen=True)
class Honesty:
    """How well the stated probabilities of a link predictor hold on facts it was not fitted on."""

    top: dict[str, Reliability]
    """Of the best candidate, by `objects`, `subjects` and `both`."""
    existence: Existence | None
    """None where there is nothing to ask, or no way to."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "top1": {
                name: {"error": one.error, "stated": one.stated.tolist(),
                       "observed": one.observed.tolist(), "count": one.count.tolist()}
                for name, one in self.top.items()
            },
            "existence": None if self.existence is None
            else {**asdict(self.existence), "better": self.existence.better},
        }  # fmt: skip


def measure_links(predictor: LinkPredictor, graph: TemporalGraph, questions: LinkQuestions,
                  split: Level, view: View, seed: int = 0,
                  progress: Progress | None = None) -> tuple[LinkScore, Honesty]:  # fmt: skip
    """Ranks and honesty of a predictor that is given a view."""
    score = score_links(LinkReasoner(predictor, view), graph, questions, view.name, progress)
    existence = None
    if predictor.further_objects is not None:
        existence = existence_of(predictor, graph, split, view, seed)
    return score, Honesty(top_reliability(predictor, questions, view), existence)


def top_reliability(predictor: LinkPredictor, questions: LinkQuestions,
                    view: View) -> dict[str, Reliability]:  # fmt: skip
    """Stated probability that the best candidate is the missing answer, and whether it was."""
    subject, relation, time = questions.objects.T
    found = predictor.objects(view, subject, relation, time, known=False)
    best = np.minimum(found.offsets[:-1], max(len(found.ids) - 1, 0))
    some = np.diff(found.offsets) > 0
    # Degrees are 1 − exp(−λ·share); the share is the probability given that one fact is missing.
    rate = -np.log1p(-np.minimum(found.degrees[best].astype(np.float64), 1 - 1e-9))
    stated = np.where(some, rate / np.maximum(found.expected, 1e-30), 0.0)
    right = some & (found.ids[best] == questions.answers)
    facts = questions.facts
    return {
        name: reliability(stated[rows], right[rows].astype(float))
        for name, rows in (("objects", slice(0, facts)), ("subjects", slice(facts, None)),
                           ("both", slice(None)))
    }  # fmt: skip


def existence_of(predictor: LinkPredictor, graph: TemporalGraph, split: Level, view: View,
                 seed: int = 0) -> Existence | None:  # fmt: skip
    """See `Existence`; None where the sample could draw no question with a further fact."""
    context, count = predictor.context(view), graph.relation_count
    facts = graph.facts
    facts = facts.take((facts.level > view.level) & (facts.level <= split))
    draw = np.random.default_rng(seed)
    time = draw.integers(facts.start, facts.end + 1)
    lasting = facts.end - facts.start + 1
    every = np.concatenate((
        np.stack((facts.subject, facts.relation, time, facts.level, lasting), 1),
        np.stack((facts.object, facts.relation + count, time, facts.level, lasting), 1),
    ))  # fmt: skip
    held_out, place = np.unique(every[:, :4], axis=0, return_inverse=True)
    counts = np.bincount(place.reshape(-1), every[:, 4]).astype(np.int64)
    held_out = np.column_stack((held_out, counts))
    wanted = held_out[held_out[:, 3] == split]
    cases = Asked.of(wanted[:, 0], wanted[:, 1], wanted[:, 2])
    ways = (KNOWN_PAIR, ACTIVE)
    drawable = expected_draws(context, cases, ways) > 0
    cases, found = cases.take(np.flatnonzero(drawable)), int(wanted[drawable, 4].sum())
    if not len(cases):
        return None
    drawn, draws = sampled_questions(context, len(cases), draw, ways)
    taken = _keys(held_out.T[:3], graph)
    drawn_keys = _keys((drawn.subject, drawn.relation, drawn.time), graph)
    controls = drawn.take(np.flatnonzero(~np.isin(drawn_keys, taken)))
    asked = Asked.of(*(
        np.concatenate((getattr(cases, name), getattr(controls, name)))
        for name in ("subject", "relation", "time")
    ))  # fmt: skip
    outcome = np.arange(len(asked)) < len(cases)
    often = len(drawn) * expected_draws(context, asked, ways)
    rate = _rates(predictor, context, asked)
    further = -np.expm1(-rate)
    stated = further / (further + (1 - further) * often)
    base = outcome.mean()
    volume = 1 / draws
    return Existence(
        len(asked), brier(stated, outcome), float(base * (1 - base)),
        float((_rates(predictor, context, drawn) * volume).sum()), found,
    )  # fmt: skip


def _rates(predictor: LinkPredictor, context: Any, asked: Asked) -> NDArray[np.float64]:
    assert predictor.further_objects is not None
    counts = question_features(context, asked)
    return predictor.further_objects.expected(asked.relation, counts).astype(np.float64)


def _keys(columns: Any, graph: TemporalGraph) -> NDArray[np.int64]:
    subject, relation, time = (np.asarray(column, np.int64) for column in columns)
    keys: NDArray[np.int64] = (
        subject * (2 * graph.relation_count) + relation
    ) * graph.time_count + time
    return keys
