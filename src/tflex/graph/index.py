"""The two sorted copies of the facts that every lookup uses.

Each fact stands twice, once as it is and once through its inverse relation (id `r + |R|`). Rows with
the same subject and relation form a *segment*; a subject's segments lie together, sorted by
relation. Within its segment a row stands by time in one copy and by object in the other, so that
`Pe` scans a time range and `Pt` finds an object, each by binary search.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tflex.graph.facts import Facts, Ids, bits, sort_order, total_bits

CHUNK = 1 << 22


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

    def facts(self, relation_count: int) -> Facts:
        """The facts in canonical order: (subject, relation, object, start), relations forward."""
        segments = np.flatnonzero(self.segment_relation < relation_count)
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


def build_index(facts: Facts, entity_count: int, relation_count: int, time_count: int) -> Index:
    """Sort the facts, both directions, once by time and once by object.

    Facts must be unique in (subject, relation, object, start, end).
    """
    points = facts.is_points()
    counts = {"subject": entity_count, "relation": 2 * relation_count, "object": entity_count,
              "start": time_count, "end": time_count, "level": 4}  # fmt: skip
    by_object = _sort(facts, relation_count, counts,
                      ["subject", "relation", "object", "start", "end", "level"], points)  # fmt: skip
    boundaries, subjects, relations = by_object.segments()
    object_rows = by_object.columns(["object", "start", "end", "level"])
    del by_object
    by_time = _sort(facts, relation_count, counts,
                    ["subject", "relation", "start", "end", "object", "level"], points)  # fmt: skip
    time_rows = by_time.columns(["object", "start", "end", "level"])
    order = np.argsort(relations, kind="stable").astype(np.int32)
    return Index(
        subject_pointer=np.searchsorted(subjects, np.arange(entity_count + 1)).astype(np.int64),
        segment_subject=subjects,
        segment_relation=relations,
        segment_pointer=np.append(boundaries, 2 * len(facts)).astype(np.int64),
        relation_pointer=np.searchsorted(
            relations[order], np.arange(2 * relation_count + 1)
        ).astype(np.int64),
        relation_segment=order,
        time_object=time_rows["object"],
        time_start=time_rows["start"],
        time_end=time_rows["end"],
        time_level=time_rows["level"].astype(np.uint8),
        object_object=object_rows["object"],
        object_start=object_rows["start"],
        object_end=object_rows["end"],
        object_level=object_rows["level"].astype(np.uint8),
    )


def _directed(facts: Facts, name: str, relation_count: int, part: slice) -> list[NDArray]:
    """One column of a part of the facts, forward and inverse."""
    if name == "subject":
        return [facts.subject[part], facts.object[part]]
    if name == "object":
        return [facts.object[part], facts.subject[part]]
    if name == "relation":
        return [facts.relation[part], facts.relation[part] + relation_count]
    column = getattr(facts, name)[part]
    return [column, column]


class _SortedKeys:
    """All rows as one sorted 64-bit key each; columns come out on demand, in chunks."""

    def __init__(self, key: NDArray[np.uint64], names: list[str], counts: dict[str, int]) -> None:
        self.key, self.names, self.counts = key, names, counts

    def _shift(self, name: str) -> np.uint64:
        after = self.names[self.names.index(name) + 1 :]
        return np.uint64(sum(bits(self.counts[other]) for other in after))

    def column(self, name: str) -> NDArray[np.int32]:
        shift, mask = self._shift(name), np.uint64((1 << bits(self.counts[name])) - 1)
        out = np.empty(len(self.key), np.int32)
        for at in range(0, len(out), CHUNK):
            out[at : at + CHUNK] = (self.key[at : at + CHUNK] >> shift) & mask
        return out

    def columns(self, names: list[str]) -> dict[str, NDArray]:
        found = {name: self.column(name) for name in names if name in self.names}
        return {name: found.get(name, found["start"]) for name in names}

    def segments(self) -> tuple[NDArray, NDArray, NDArray]:
        shift = self._shift("relation")
        parts = [np.zeros(min(1, len(self.key)), np.int64)]
        for at in range(0, len(self.key) - 1, CHUNK):
            high = self.key[at : at + CHUNK + 1] >> shift
            parts.append(np.flatnonzero(high[1:] != high[:-1]) + at + 1)
        boundaries = np.concatenate(parts)
        first = _SortedKeys(self.key[boundaries], self.names, self.counts)
        return boundaries, first.column("subject"), first.column("relation")


class _SortedColumns:
    """The same for rows whose key would not fit into 64 bits."""

    def __init__(self, sorted_columns: dict[str, NDArray]) -> None:
        self._columns = sorted_columns

    def columns(self, names: list[str]) -> dict[str, NDArray]:
        return {name: self._columns.get(name, self._columns["start"]) for name in names}

    def segments(self) -> tuple[NDArray, NDArray, NDArray]:
        subject, relation = self._columns["subject"], self._columns["relation"]
        new = (subject[1:] != subject[:-1]) | (relation[1:] != relation[:-1])
        boundaries = np.concatenate(
            (np.zeros(min(1, len(subject)), np.int64), np.flatnonzero(new) + 1)
        )
        return boundaries, subject[boundaries], relation[boundaries]


def _sort(facts: Facts, relation_count: int, counts: dict[str, int], names: list[str],
          points: bool) -> _SortedKeys | _SortedColumns:  # fmt: skip
    if points:
        names = [name for name in names if name != "end"]
    size = len(facts)
    if total_bits([(facts.subject, counts[name]) for name in names]) > 64:
        every = slice(None)
        columns = {
            name: np.concatenate(_directed(facts, name, relation_count, every)) for name in names
        }
        order = sort_order([(columns[name], counts[name]) for name in names])
        return _SortedColumns({name: column[order] for name, column in columns.items()})
    key = np.empty(2 * size, np.uint64)
    for at in range(0, size, CHUNK):
        part = slice(at, min(at + CHUNK, size))
        halves = [np.zeros(part.stop - at, np.uint64) for _ in range(2)]
        for name in names:
            for half, column in zip(
                halves, _directed(facts, name, relation_count, part), strict=True
            ):
                half <<= np.uint64(bits(counts[name]))
                half |= column.astype(np.uint64)
        key[part] = halves[0]
        key[size + at : size + part.stop] = halves[1]
    key.sort()
    return _SortedKeys(key, names, counts)
