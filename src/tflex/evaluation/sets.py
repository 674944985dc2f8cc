"""Many sets of ids in one pair of arrays, and the few operations evaluation needs on them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Sets:
    """n sets: set i is `ids[offsets[i]:offsets[i + 1]]`, ascending and without repeats."""

    offsets: NDArray[np.int64]
    ids: NDArray[np.int32]

    def __post_init__(self) -> None:
        if (
            len(self.offsets) == 0
            or self.offsets[0] != 0
            or self.offsets[-1] != len(self.ids)
            or (np.diff(self.offsets) < 0).any()
        ):
            raise ValueError("offsets must rise from 0 to the number of ids")
        if len(self.ids) and int(self.ids.min()) < 0:
            raise ValueError("ids must not be negative")
        rises = np.diff(self.ids.astype(np.int64)) > 0
        starts = self.offsets[1:-1]
        rises[starts[(starts > 0) & (starts < len(self.ids))] - 1] = True
        if not rises.all():
            raise ValueError("the ids of a set must ascend without repeats; see Sets.of")

    @classmethod
    def of(cls, offsets: NDArray, ids: NDArray) -> Sets:
        """Sets from ids in any order, repeats allowed."""
        offsets = np.asarray(offsets, np.int64)
        ids = np.asarray(ids, np.int32)
        rows = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        order = np.lexsort((ids, rows))
        rows, ids = rows[order], ids[order]
        first = np.ones(len(ids), bool)
        first[1:] = (np.diff(rows) != 0) | (np.diff(ids) != 0)
        return cls._of_rows(rows[first], ids[first], len(offsets) - 1)

    @classmethod
    def from_lists(cls, lists: Iterable[Iterable[int]]) -> Sets:
        parts = [np.fromiter(one, np.int32) for one in lists]
        offsets = np.concatenate([[0], np.cumsum([len(part) for part in parts])])
        return cls.of(offsets, np.concatenate([np.zeros(0, np.int32), *parts]))

    @classmethod
    def from_mask(cls, mask: NDArray[np.bool_]) -> Sets:
        """The true columns of each row."""
        rows, ids = np.nonzero(mask)
        return cls._of_rows(rows, ids.astype(np.int32), len(mask))

    @classmethod
    def join(cls, parts: Iterable[Sets]) -> Sets:
        """The sets of every part, one part after another."""
        listed = list(parts)
        sizes = np.concatenate([np.zeros(0, np.int64), *(part.sizes for part in listed)])
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return cls(offsets, np.concatenate([np.zeros(0, np.int32), *(part.ids for part in listed)]))

    @classmethod
    def empty(cls, count: int) -> Sets:
        return cls(np.zeros(count + 1, np.int64), np.zeros(0, np.int32))

    @classmethod
    def _of_rows(cls, rows: NDArray, ids: NDArray, count: int) -> Sets:
        offsets = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=count))])
        return cls(offsets.astype(np.int64), ids)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> NDArray[np.int32]:
        return self.ids[self.offsets[row] : self.offsets[row + 1]]

    @property
    def sizes(self) -> NDArray[np.int64]:
        return np.diff(self.offsets)

    @property
    def rows(self) -> NDArray[np.int64]:
        """The set that each id belongs to."""
        return np.repeat(np.arange(len(self)), self.sizes)

    def positions(self, rows: NDArray) -> NDArray[np.int64]:
        """Where in `ids` the members of the given sets stand."""
        sizes = self.sizes[rows]
        within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return np.repeat(self.offsets[:-1][rows], sizes) + within

    def take(self, rows: NDArray) -> Sets:
        """The given sets, in the given order."""
        offsets = np.concatenate([[0], np.cumsum(self.sizes[rows])]).astype(np.int64)
        return Sets(offsets, self.ids[self.positions(rows)])

    def slice(self, start: int, stop: int) -> Sets:
        offsets = self.offsets[start : stop + 1]
        return Sets(offsets - offsets[0], self.ids[offsets[0] : offsets[-1]])

    def where(self, choose: NDArray[np.bool_], other: Sets) -> Sets:
        """Set i of this where `choose[i]`, else set i of the other."""
        number = np.arange(len(self))
        return Sets.join([self, other]).take(np.where(choose, number, number + len(self)))

    def within(self, other: Sets) -> NDArray[np.bool_]:
        """For each id, whether the other's set of the same row holds it too."""
        if len(self) != len(other):
            raise ValueError(f"{len(self)} sets cannot be compared with {len(other)}")
        if not len(self.ids) or not len(other.ids):
            return np.zeros(len(self.ids), bool)
        span = np.int64(max(int(self.ids.max()), int(other.ids.max())) + 1)
        mine, theirs = self.rows * span + self.ids, other.rows * span + other.ids
        at = np.minimum(np.searchsorted(theirs, mine), len(theirs) - 1)
        return theirs[at] == mine

    def minus(self, other: Sets) -> Sets:
        """Row by row, the ids that the other lacks."""
        kept = ~self.within(other)
        return Sets._of_rows(self.rows[kept], self.ids[kept], len(self))

    def shared(self, other: Sets) -> NDArray[np.int64]:
        """Row by row, the number of ids that both hold."""
        return np.bincount(self.rows[self.within(other)], minlength=len(self))
