"""Link prediction: single held-out facts asked for their object, their subject and their time.

Any reasoner can be asked, by its scores of the structures `Pe` (s, r, t) and `Pt` (s, r, o). The
*filtered* rank of an answer leaves out every other answer of the same question in all facts (for
objects the time-aware filter); the *raw* rank leaves out nothing. Of an interval, one timestamp is
asked, drawn by a seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tflex.errors import DataError
from tflex.evaluation.metrics import HITS, hits_of_mean_rank, reciprocal_of_mean_rank
from tflex.evaluation.ranks import Ranks, rank
from tflex.evaluation.reasoner import Reasoner
from tflex.evaluation.sets import Sets
from tflex.exact.engine import Engine
from tflex.graph.facts import Level
from tflex.graph.temporal_graph import TemporalGraph
from tflex.query.published import STRUCTURES

Progress = Callable[[str, float], None]
ROWS = 512
"""Questions whose scores are held at once."""
DIRECTIONS = ("objects", "subjects", "both", "times")


@dataclass(frozen=True)
class LinkQuestions:
    """Held-out facts as questions of `Pe`, first for objects and then for subjects, and of `Pt`."""

    objects: NDArray[np.int32]
    """Anchors (s, r, t) of the facts, then (o, r⁻¹, t)."""
    answers: NDArray[np.int32]
    times: NDArray[np.int32]
    """Anchors (s, r, o) of the facts."""
    moments: NDArray[np.int32]

    @property
    def facts(self) -> int:
        return len(self.times)


def link_questions(graph: TemporalGraph, split: Level, seed: int = 0,
                   limit: int | None = None) -> LinkQuestions:  # fmt: skip
    """The facts of a split, or so many of them, as questions."""
    facts, draw = graph.facts.at(split), np.random.default_rng(seed)
    if not len(facts):
        raise DataError(f"there are no {split.name} facts to ask for")
    if limit is not None and limit < len(facts):
        facts = facts.take(np.sort(draw.permutation(len(facts))[:limit]))
    time = draw.integers(facts.start, facts.end + 1).astype(np.int32)
    inverse = facts.relation + np.int32(graph.relation_count)
    return LinkQuestions(
        np.concatenate((
            np.stack((facts.subject, facts.relation, time), 1),
            np.stack((facts.object, inverse, time), 1),
        )),
        np.concatenate((facts.object, facts.subject)),
        np.stack((facts.subject, facts.relation, facts.object), 1),
        time,
    )  # fmt: skip


@dataclass(frozen=True)
class LinkScore:
    """How well one reasoner finds held-out facts, given the facts of a view."""

    reasoner: str
    view: str
    facts: int
    metrics: dict[str, dict[str, float]]
    """By `objects`, `subjects`, `both`, `times`: mrr, hits@k, and the same raw (`raw mrr`, …)."""


def score_links(reasoner: Reasoner, graph: TemporalGraph, questions: LinkQuestions, view: str,
                progress: Progress | None = None) -> LinkScore:  # fmt: skip
    """Ask a reasoner for every fact, both ways and for its time."""
    say = progress or (lambda what, fraction: None)
    every = Engine(graph.view(Level.test))
    kinds = {
        "Pe": (questions.objects, questions.answers),
        "Pt": (questions.times, questions.moments),
    }
    total, done = sum(len(anchors) for anchors, _ in kinds.values()), 0
    found: dict[str, tuple[Ranks, Ranks]] = {}
    for structure, (anchors, answers) in kinds.items():
        filtered, raw = [], []
        for rows in _blocks(len(anchors)):
            asked = anchors[rows]
            scores = reasoner.scores(structure, asked)
            targets = Sets(np.arange(len(asked) + 1), answers[rows])
            known = every.answer_batch(STRUCTURES[structure], asked)
            filtered.append(rank(scores, targets, Sets(known.offsets, known.ids)))
            raw.append(rank(scores, targets, Sets.empty(len(asked))))
            done += len(asked)
            say(f"links: {reasoner.name} on {structure}", done / total)
        found[structure] = Ranks.join(filtered), Ranks.join(raw)
    facts = questions.facts
    parts = {
        "objects": ("Pe", slice(0, facts)), "subjects": ("Pe", slice(facts, None)),
        "both": ("Pe", slice(None)), "times": ("Pt", slice(None)),
    }  # fmt: skip
    metrics = {
        name: {**summary(_part(found[structure][0], rows)),
               **{f"raw {key}": one
                  for key, one in summary(_part(found[structure][1], rows)).items()}}
        for name, (structure, rows) in parts.items()
    }  # fmt: skip
    return LinkScore(reasoner.name, view, facts, metrics)


def summary(ranks: Ranks) -> dict[str, float]:
    """MRR and Hits@k of realistic ranks."""
    found = {"mrr": float(reciprocal_of_mean_rank(ranks).mean())}
    return found | {f"hits@{k}": float(hits_of_mean_rank(ranks, k).mean()) for k in HITS}


def _part(ranks: Ranks, rows: slice) -> Ranks:
    return Ranks(ranks.above[rows], ranks.tied[rows], ranks.candidates[rows])


def _blocks(count: int) -> Iterator[slice]:
    for at in range(0, count, ROWS):
        yield slice(at, min(at + ROWS, count))
