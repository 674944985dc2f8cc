"""Ranks as data: for each target how many competitors score above it and how many as high."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tflex.errors import DataError
from tflex.evaluation.sets import Sets

Counts = NDArray[np.int64]
Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Ranks:
    """Of each target: competitors above it, competitors of equal score, and candidates in all.

    The candidates are the competitors and the target itself, so 1 ≤ rank ≤ candidates.
    """

    above: Counts
    tied: Counts
    candidates: Counts

    @property
    def optimistic(self) -> Counts:
        return self.above + 1

    @property
    def pessimistic(self) -> Counts:
        return self.above + self.tied + 1

    @property
    def realistic(self) -> Values:
        """The mean of the optimistic and the pessimistic rank."""
        return self.above + self.tied / 2 + 1

    @classmethod
    def join(cls, parts: list[Ranks]) -> Ranks:
        none = np.zeros(0, np.int64)
        return cls(
            np.concatenate([none, *(part.above for part in parts)]),
            np.concatenate([none, *(part.tied for part in parts)]),
            np.concatenate([none, *(part.candidates for part in parts)]),
        )


def rank(scores: NDArray, targets: Sets, removed: Sets) -> Ranks:
    """Rank each target against the candidates of its row that were not removed.

    `scores` is [n, candidates], higher is better. With `removed` = all answers a target meets the
    non-answers alone; with `removed` = the easy answers the targets compete with each other.
    """
    columns = scores.shape[1]
    for name, sets in (("targets", targets), ("removed", removed)):
        if len(sets) != len(scores):
            raise ValueError(f"{len(sets)} sets of {name} for {len(scores)} rows of scores")
        if len(sets.ids) and int(sets.ids.max()) >= columns:
            raise DataError(f"an answer has id {sets.ids.max()}, but {columns} candidates exist")
    rows = targets.rows
    own = scores[rows, targets.ids]
    refuse_nan(scores)
    everyone = np.arange(len(scores) + 1) * columns
    above, equal = _above_and_equal(np.sort(scores, axis=1).reshape(-1), everyone, own, rows)
    gone_above, gone_equal = _above_and_equal(
        _sorted_within(scores, removed), removed.offsets, own, rows
    )
    # A target that was removed with the other answers is already out of its own count.
    itself = ~targets.within(removed)
    return Ranks(
        above - gone_above,
        equal - gone_equal - itself,
        columns - removed.sizes[rows] + (~itself),
    )


def rank_among(scores: NDArray, targets: Sets) -> Ranks:
    """Rank each target against the other targets of its query."""
    rows = targets.rows
    own = scores[rows, targets.ids]
    above, equal = _above_and_equal(_sorted_within(scores, targets), targets.offsets, own, rows)
    return Ranks(above, equal - 1, targets.sizes[rows])


def refuse_nan(scores: NDArray) -> None:
    """A score that is no number has no place in a ranking: say where it is."""
    if np.isnan(scores).any():
        row, column = np.argwhere(np.isnan(scores))[0]
        raise DataError(f"the score of query {row}, candidate {column} is not a number")


def _sorted_within(scores: NDArray, sets: Sets) -> NDArray:
    """The scores of the members of each set, ascending within the set."""
    rows = sets.rows
    values = scores[rows, sets.ids]
    return values[np.lexsort((values, rows))]


def _above_and_equal(values: NDArray, offsets: Counts, wanted: NDArray,
                     rows: Counts) -> tuple[Counts, Counts]:  # fmt: skip
    """How many of `values[offsets[row]:offsets[row + 1]]` exceed each wanted value, or equal it."""
    start, stop = offsets[rows], offsets[rows + 1]
    first_equal = _search(values, start, stop, wanted, after_equal=False)
    first_above = _search(values, start, stop, wanted, after_equal=True)
    return stop - first_above, first_above - first_equal


def _search(values: NDArray, start: Counts, stop: Counts, wanted: NDArray, *,
            after_equal: bool) -> Counts:  # fmt: skip
    """Binary search of every wanted value in its own ascending segment, all at once."""
    low, high = start.copy(), stop.copy()
    while (searching := low < high).any():
        middle = (low + high) // 2
        value = values[np.minimum(middle, len(values) - 1)]
        right = searching & ((value <= wanted) if after_equal else (value < wanted))
        low = np.where(right, middle + 1, low)
        high = np.where(searching & ~right, middle, high)
    return low
