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
