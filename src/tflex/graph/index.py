"""The two sorted copies of the facts that every lookup uses.

Each fact stands twice, once as it is and once through its inverse relation (id `r + |R|`). Rows
with the same subject and relation form a *segment*; a subject's segments lie together, sorted by
relation. Within its segment a row stands by time in one copy and by object in the other, so that
`Pe` scans a time range and `Pt` finds an object, each by binary search.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tflex.graph.facts import Facts, Ids


@dataclass(frozen=True)
class Index:
    """Compressed rows over (subject, relation); see the module's text.

    Point graphs share one array between start and end.
    """

    subject_pointer: NDArray[np.int64]
    """Segments of subject s: `subject_pointer[s] … subject_pointer[s + 1]`."""
    segment_subject: Ids
    segment_relation: Ids
    segment_pointer: NDArray[np.int64]
    """Rows of segment g, in both copies: `segment_pointer[g] … segment_pointer[g + 1]`."""
    relation_pointer: NDArray[np.int64]
    relation_segment: Ids
    """Segments of relation r: `relation_segment[relation_pointer[r] … relation_pointer[r + 1]]`."""
    time_object: Ids
    """Rows sorted by (subject, relation, start, object)."""
    time_start: Ids
    time_end: Ids
    time_level: NDArray[np.uint8]
    object_object: Ids
    """Rows sorted by (subject, relation, object, start)."""
    object_start: Ids
    object_end: Ids
    object_level: NDArray[np.uint8]

    @property
    def is_points(self) -> bool:
        return self.time_end is self.time_start

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays, shared ones counted once."""
        return sum({id(array): array.nbytes for array in vars(self).values()}.values())

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for field in fields(self):
            if not (self.is_points and field.name.endswith("_end")):
                np.save(folder / f"{field.name}.npy", getattr(self, field.name))

    @classmethod
    def open(cls, folder: Path) -> Index:
        """Map the arrays into memory; nothing is read until it is used."""
        arrays: dict[str, NDArray] = {}
        for field in fields(cls):
            path = folder / f"{field.name}.npy"
            if not path.exists() and field.name.endswith("_end"):
                arrays[field.name] = arrays[field.name.replace("_end", "_start")]
            else:
                # Copy-on-write, because numba compiles again for read-only arrays.
                arrays[field.name] = np.asarray(np.load(path, mmap_mode="c"))
        return cls(**arrays)

    def facts(self, relation_count: int, part: slice = slice(None)) -> Facts:
        """The facts (of some segments) in canonical order: (subject, relation, object, start)."""
        offset = part.start or 0
        segments = np.flatnonzero(self.segment_relation[part] < relation_count) + offset
        first, last = self.segment_pointer[segments], self.segment_pointer[segments + 1]
        lengths = last - first
        rows = np.repeat(first - np.concatenate(([0], np.cumsum(lengths)[:-1])), lengths)
        rows += np.arange(len(rows))
        start = self.object_start[rows]
        return Facts(
            np.repeat(self.segment_subject[segments], lengths),
            np.repeat(self.segment_relation[segments], lengths),
            self.object_object[rows],
            start,
            start if self.is_points else self.object_end[rows],
            self.object_level[rows],
        )

    def parts(self, rows: int) -> Iterator[slice]:
        """Runs of segments with about that many rows."""
        first, count = 0, len(self.segment_subject)
        while first < count:
            wanted = self.segment_pointer[first] + rows
            last = int(np.searchsorted(self.segment_pointer, wanted, "right")) - 1
            yield slice(first, max(last, first + 1))
            first = max(last, first + 1)
