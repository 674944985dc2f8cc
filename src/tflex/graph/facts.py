"""Facts as columns of ids, and the order in which they are kept."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int32]


class Level(IntEnum):
    """In which split a fact appears first. A view of level L holds every fact of level ≤ L."""

    train = 0
    valid = 1
    test = 2


@dataclass(frozen=True)
class Facts:
    """Columns of equal length. A point fact has `start == end`."""

    subject: Ids
    relation: Ids
    object: Ids
    start: Ids
    end: Ids
    level: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.subject)

    def take(self, rows: NDArray) -> Facts:
        return Facts(*(column[rows] for column in self.columns()))

    def columns(self) -> tuple[NDArray, ...]:
        return (self.subject, self.relation, self.object, self.start, self.end, self.level)

    def at(self, level: Level) -> Facts:
        """The facts of one split alone."""
        return self.take(self.level == level)

    @classmethod
    def of(cls, subject: NDArray, relation: NDArray, object: NDArray, start: NDArray,
           end: NDArray | None = None, level: NDArray | int = 0) -> Facts:  # fmt: skip
        """Facts from any integer columns; without `end` they are points."""
        ids = [
            np.ascontiguousarray(column, np.int32) for column in (subject, relation, object, start)
        ]
        levels = np.broadcast_to(np.asarray(level, np.uint8), ids[0].shape)
        last = ids[3] if end is None else np.ascontiguousarray(end, np.int32)
        return cls(ids[0], ids[1], ids[2], ids[3], last, np.ascontiguousarray(levels))

    def is_points(self) -> bool:
        return self.end is self.start or bool(np.array_equal(self.start, self.end))


def sort_order(columns: list[tuple[NDArray, int]]) -> NDArray[np.int64]:
    """The order that sorts rows by columns, each with its number of values; first column first."""
    if total_bits(columns) <= 64:
        return np.argsort(packed(columns), kind="stable")
    return np.lexsort([column for column, _ in reversed(columns)])


def total_bits(columns: list[tuple[NDArray, int]]) -> int:
    return sum(bits(count) for _, count in columns)


def bits(count: int) -> int:
    """Bits that hold the values 0 … count-1."""
    return max(count - 1, 0).bit_length()


def packed(columns: list[tuple[NDArray, int]]) -> NDArray[np.uint64]:
    """One unsigned key a row that sorts as the columns do."""
    key = np.zeros(len(columns[0][0]), np.uint64)
    for column, count in columns:
        key <<= np.uint64(bits(count))
        key |= column.astype(np.uint64)
    return key


def unpacked(key: NDArray[np.uint64], counts: list[int]) -> list[NDArray[np.int32]]:
    """The columns of `packed`."""
    columns: list[NDArray[np.int32]] = []
    shift = 0
    for count in reversed(counts):
        mask = np.uint64((1 << bits(count)) - 1)
        columns.append(((key >> np.uint64(shift)) & mask).astype(np.int32))
        shift += bits(count)
    return columns[::-1]
