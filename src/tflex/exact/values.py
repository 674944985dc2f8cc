"""Batched set values: one value stands for a set in each of many queries (rows).

The operators of the algebra are methods, so that the engine's rules, and those of user-defined
operators, are one line each. Nothing here loops over rows in Python.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tflex.exact import set_kernels
from tflex.exact.set_kernels import DIFFERENCE, INTERSECTION, UNION
from tflex.graph.facts import Ids


@dataclass(frozen=True, eq=False)
class Answers:
    """Sorted lists of ids, one a row: row i is `ids[offsets[i]:offsets[i + 1]]`."""

    offsets: NDArray[np.int64]
    ids: Ids

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> Ids:
        return self.ids[self.offsets[row] : self.offsets[row + 1]]

    def sizes(self) -> NDArray[np.int64]:
        return np.diff(self.offsets)

    def rows(self) -> NDArray[np.int64]:
        """The row of each id."""
        return np.repeat(np.arange(len(self)), self.sizes())

    def take(self, rows: NDArray) -> Answers:
        """Some rows, in the given order."""
        sizes = self.sizes()[rows]
        offsets = np.concatenate(([0], np.cumsum(sizes)))
        at = np.repeat(self.offsets[:-1][rows] - offsets[:-1], sizes) + np.arange(offsets[-1])
        return Answers(offsets, self.ids[at])

    def without(self, other: Answers) -> Answers:
        """The members of each row that the other's row lacks."""
        return Answers(
            *set_kernels.merge(self.offsets, self.ids, other.offsets, other.ids, DIFFERENCE)
        )

    @staticmethod
    def joined(parts: list[Answers]) -> Answers:
        """Batches one after the other."""
        if not parts:
            return Answers(np.zeros(1, np.int64), np.empty(0, np.int32))
        if len(parts) == 1:
            return parts[0]
        bases = np.cumsum([0, *(part.offsets[-1] for part in parts)])
        offsets = [part.offsets[1:] + base for part, base in zip(parts, bases, strict=False)]
        return Answers(
            np.concatenate([[0], *offsets]), np.concatenate([part.ids for part in parts])
        )


@dataclass(frozen=True, eq=False)
class EntitySets:
    """Entity sets as sorted lists; with `complement`, each row is V without its list."""

    offsets: NDArray[np.int64]
    ids: Ids
    complement: bool
    universe: int

    @classmethod
    def single(cls, ids: Ids, universe: int) -> EntitySets:
        """One entity a row."""
        return cls(np.arange(len(ids) + 1), ids, False, universe)

    @classmethod
    def repeated(cls, members: Ids, count: int, universe: int) -> EntitySets:
        """The same set in every row."""
        return cls(np.arange(count + 1) * len(members), np.tile(members, count), False, universe)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def intersect(self, other: EntitySets) -> EntitySets:
        if self.complement and other.complement:
            return self._merged(self, other, UNION, True)
        if self.complement:
            return self._merged(other, self, DIFFERENCE, False)
        return self._merged(self, other, DIFFERENCE if other.complement else INTERSECTION, False)

    def unite(self, other: EntitySets) -> EntitySets:
        if self.complement and other.complement:
            return self._merged(self, other, INTERSECTION, True)
        if self.complement:
            return self._merged(self, other, DIFFERENCE, True)
        if other.complement:
            return self._merged(other, self, DIFFERENCE, True)
        return self._merged(self, other, UNION, False)

    def negate(self) -> EntitySets:
        return EntitySets(self.offsets, self.ids, not self.complement, self.universe)

    def is_empty(self) -> NDArray[np.bool_]:
        return np.diff(self.offsets) == (self.universe if self.complement else 0)

    def answers(self) -> Answers:
        if not self.complement:
            return Answers(self.offsets, self.ids)
        return Answers(*set_kernels.complement_lists(self.offsets, self.ids, self.universe))

    def _merged(self, a: EntitySets, b: EntitySets, operation: int, complement: bool) -> EntitySets:
        offsets, ids = set_kernels.merge(a.offsets, a.ids, b.offsets, b.ids, operation)
        return EntitySets(offsets, ids, complement, self.universe)


NO_ORIGINS = np.empty(0, np.int64)
NO_WORDS = np.empty(0, np.uint64)


@dataclass(frozen=True, eq=False)
class TimeSets:
    """Time sets by their bounds, and, where they have gaps, by the words of bits between them.

    Bounds are exact; an empty set has low > high. Without `origins` every set is the whole range
    between its bounds. Otherwise the bit of t in row i is in `words[origins[i] + (t >> 6)]`, and
    only words between the bounds exist: a set of a few days costs a few words, however long the
    calendar is.
    """

    lows: Ids
    highs: Ids
    origins: NDArray[np.int64]
    words: NDArray[np.uint64]
    universe: int

    @classmethod
    def of(cls, parts: tuple[NDArray, ...], universe: int) -> TimeSets:
        """From what the kernels give: lows, highs, origins, words."""
        lows, highs, origins, words = parts
        return cls(lows, highs, origins, words, universe)

    @classmethod
    def ranges(cls, lows: Ids, highs: Ids, universe: int) -> TimeSets:
        return cls(lows, highs, NO_ORIGINS, NO_WORDS, universe)

    @classmethod
    def repeated(cls, spans: list[tuple[int, int]], count: int, universe: int) -> TimeSets:
        """The union of some ranges, the same in every row."""
        lows = [np.full(count, first, np.int32) for first, _ in spans] or [np.ones(count, np.int32)]
        highs = [np.full(count, last, np.int32) for _, last in spans] or [np.zeros(count, np.int32)]
        made = cls.ranges(lows[0], highs[0], universe)
        for low, high in zip(lows[1:], highs[1:], strict=True):
            made = made.unite(cls.ranges(low, high, universe))
        return made

    def __len__(self) -> int:
        return len(self.lows)

    def parts(self) -> tuple[Ids, Ids, NDArray[np.int64], NDArray[np.uint64]]:
        return self.lows, self.highs, self.origins, self.words

    def intersect(self, other: TimeSets) -> TimeSets:
        return self._merged(other, INTERSECTION)

    def unite(self, other: TimeSets) -> TimeSets:
        return self._merged(other, UNION)

    def _merged(self, other: TimeSets, operation: int) -> TimeSets:
        merged = set_kernels.merge_times(*self.parts(), *other.parts(), operation)
        return TimeSets.of(merged, self.universe)

    def negate(self) -> TimeSets:
        made = set_kernels.complement_times(*self.parts(), self.universe)
        return TimeSets.of(made, self.universe)

    def after(self) -> TimeSets:
        """{t : t > max}, all of T for an empty set."""
        lows = np.where(self.lows > self.highs, 0, self.highs + 1).astype(np.int32)
        return TimeSets.ranges(lows, np.full(len(self), self.universe - 1, np.int32), self.universe)

    def before(self) -> TimeSets:
        """{t : t < min}, all of T for an empty set."""
        last = self.universe
        highs = np.where(self.lows > self.highs, last - 1, self.lows - 1).astype(np.int32)
        return TimeSets.ranges(np.zeros(len(self), np.int32), highs, self.universe)

    def next(self) -> TimeSets:
        """{t+1 : t∈A} ∩ T."""
        if len(self.origins):
            made = set_kernels.shift_times(*self.parts(), self.universe)
            return TimeSets.of(made, self.universe)
        highs = np.where(self.lows > self.highs, self.highs, self.highs + 1)
        highs = np.minimum(highs, self.universe - 1).astype(np.int32)
        return TimeSets.ranges(self.lows + np.int32(1), highs, self.universe)

    def is_empty(self) -> NDArray[np.bool_]:
        return self.lows > self.highs

    def answers(self) -> Answers:
        return Answers(*set_kernels.list_times(*self.parts()))
