"""Replay of published query files: do their answers agree with the engine's?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tflex.exact.engine import Engine
from tflex.exact.values import Answers
from tflex.graph.facts import Level
from tflex.graph.temporal_graph import TemporalGraph
from tflex.query.files import FiledQueries

NEW_ANSWERS_ALONE = ("Pe", "Pt")
"""Structures whose published files list the answers that a split adds, and no easy answers."""


class Agreement(NamedTuple):
    """How many queries of a structure agree with the engine."""

    name: str
    queries: int
    answer_matches: int
    easy_matches: int | None
    """None where the files list no easy answers."""
    first_mismatch: str | None
    """The file and line of the first query that disagrees."""

    @property
    def complete(self) -> bool:
        return self.first_mismatch is None


def verify(
    graph: TemporalGraph,
    filed: Sequence[FiledQueries],
    answer_view: str = "valid",
    easy_view: str = "train",
) -> Iterator[Agreement]:
    """Compare each structure's listed answers and easy answers with those on the two views."""
    views = {graph.view(name).level for name in (answer_view, easy_view)}
    answer_level, easy_level = graph.view(answer_view).level, graph.view(easy_view).level
    below = Level(answer_level - 1) if answer_level > Level.train else None
    if below is not None:
        views.add(below)
    engines = {level: Engine(graph.view(level)) for level in views}
    for queries in filed:
        structure, anchors = queries.structure, queries.anchors
        found = engines[answer_level].answer_batch(structure, anchors)
        listed = Answers(*queries.answers)
        easy: NDArray[np.bool_] | None = None
        if queries.easy is not None:
            known = engines[easy_level].answer_batch(structure, anchors)
            easy = _same(Answers(*queries.easy), known)
        elif structure.name in NEW_ANSWERS_ALONE and below is not None:
            known = engines[below].answer_batch(structure, anchors)
            # What such a file leaves out of the answers must be what was known before.
            easy = _same(found.without(listed), known)
            found = found.without(known)
        yield _agreement(queries, _same(listed, found), easy)


def _agreement(queries: FiledQueries, answer: NDArray[np.bool_],
               easy: NDArray[np.bool_] | None) -> Agreement:  # fmt: skip
    both = answer if easy is None else answer & easy
    return Agreement(
        queries.structure.name,
        len(queries),
        int(answer.sum()),
        None if easy is None else int(easy.sum()),
        None if both.all() else queries.place(int(np.argmin(both))),
    )


def _same(a: Answers, b: Answers) -> NDArray[np.bool_]:
    """Which rows hold the same ids."""
    return (a.without(b).sizes() == 0) & (b.without(a).sizes() == 0)
