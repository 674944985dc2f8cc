"""From facts in any order to the index: rows are put in buckets by subject and sorted there.

What a row holds beside its subject is packed into one 64-bit key, so that sorting moves single
numbers and a hundred million facts fit in a few gigabytes. All passes work in chunks or in place.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tflex.errors import DataError
from tflex.graph.facts import Facts, Ids, Level
from tflex.graph.index import Index

CHUNK = 1 << 22
KEY_BITS = 64
LEVEL_BITS = 2

Keys = NDArray[np.uint64]
Chunk = tuple[NDArray, Callable[[], Keys]]
"""Subjects of some rows, and how to make their keys."""


@dataclass(frozen=True)
class Layout:
    """The parts of a key, the most significant first, each with its number of values."""

    parts: tuple[tuple[str, int], ...]

    @property
    def bits(self) -> int:
        return sum(_bits(count) for _, count in self.parts)

    def shift(self, name: str) -> np.uint64:
        names = [part for part, _ in self.parts]
        return np.uint64(sum(_bits(count) for _, count in self.parts[names.index(name) + 1 :]))

    def pack(self, columns: dict[str, NDArray]) -> Keys:
        key = np.zeros(len(columns["level"]), np.uint64)
        for name, count in self.parts:
            key <<= np.uint64(_bits(count))
            key |= columns[name].astype(np.uint64)
        return key

    def unpack(self, key: Keys, name: str, dtype: type = np.int32) -> NDArray:
        mask = np.uint64((1 << _bits(dict(self.parts)[name])) - 1)
        return ((key >> self.shift(name)) & mask).astype(dtype)


def _bits(count: int) -> int:
    """Bits that hold the values 0 … count-1."""
    return max(count - 1, 0).bit_length()


def _layout(relations: int, entities: int, times: int, order: tuple[str, ...]) -> Layout:
    counts = {"relation": relations, "object": entities, "time": times, "level": 1 << LEVEL_BITS}
    layout = Layout(tuple((name, counts[name]) for name in order))
    if layout.bits > KEY_BITS:
        raise DataError(
            f"{entities:,} entities with {relations:,} relations and {times:,} times are too many"
        )
    return layout


BY_OBJECT = ("relation", "object", "time", "level")
BY_TIME = ("relation", "time", "object", "level")


@dataclass(frozen=True)
class Times:
    """What a key calls a time: a timestamp, or the rank of an interval among the distinct ones."""

    count: int
    start: Ids | None = None
    end: Ids | None = None

    @classmethod
    def of(cls, facts: Facts, time_count: int) -> Times:
        if facts.is_points():
            return cls(time_count)
        found = np.zeros(0, np.int64)
        for part in _parts(len(facts)):
            pairs = facts.start[part].astype(np.int64) * time_count + facts.end[part]
            found = np.union1d(found, pairs)
        start, end = np.divmod(found, max(time_count, 1))
        return cls(len(found), start.astype(np.int32), end.astype(np.int32))

    def encode(self, start: Ids, end: Ids, time_count: int) -> NDArray:
        if self.start is None or self.end is None:
            return start
        table = self.start.astype(np.int64) * time_count + self.end
        return np.searchsorted(table, start.astype(np.int64) * time_count + end)


@dataclass
class Rows:
    """Rows in buckets by subject, sorted within, each the rest of its row in one key."""

    pointer: NDArray[np.int64]
    """Rows of subject s: `pointer[s] … pointer[s + 1]`."""
    key: Keys
    layout: Layout
    times: Times

    @classmethod
    def of(cls, facts: Facts, entity_count: int, relation_count: int, time_count: int) -> Rows:
        """The facts, relations forward, sorted by subject, relation, object, time and level."""
        _check_ids(facts, entity_count, relation_count, time_count)
        times = Times.of(facts, time_count)
        layout = _layout(relation_count, entity_count, times.count, BY_OBJECT)

        def keys(part: slice) -> Keys:
            time = times.encode(facts.start[part], facts.end[part], time_count)
            return layout.pack({"relation": facts.relation[part], "object": facts.object[part],
                                "time": time, "level": facts.level[part]})  # fmt: skip

        def chunks() -> Iterator[Chunk]:
            for part in _parts(len(facts)):
                yield facts.subject[part], partial(keys, part)

        return cls(*_bucketed(chunks, entity_count), layout, times).sort()

    def chunks(self) -> Iterator[tuple[NDArray, Keys]]:
        for part in _parts(len(self.key)):
            first = int(np.searchsorted(self.pointer, part.start, "right")) - 1
            last = int(np.searchsorted(self.pointer, part.stop, "left"))
            within = np.clip(self.pointer[first : last + 1], part.start, part.stop)
            yield np.repeat(np.arange(first, last), np.diff(within)), self.key[part]

    def sort(self) -> Rows:
        """Sort the rows of each subject, in place; many subjects at once while spare bits last."""
        spare, bits = KEY_BITS - self.layout.bits, np.uint64(self.layout.bits)

        def sort_block(block: tuple[int, int]) -> None:
            first, last = block
            rows = self.key[self.pointer[first] : self.pointer[last]]
            if last - first > 1:
                degrees = np.diff(self.pointer[first : last + 1])
                rows |= np.repeat(np.arange(last - first, dtype=np.uint64), degrees) << bits
            rows.sort()
            if last - first > 1:
                rows &= np.uint64((1 << self.layout.bits) - 1)

        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            list(pool.map(sort_block, _blocks(self.pointer, min(spare, 40))))
        return self

    def drop_duplicates(self) -> int:
        """Keep each fact once, at its lowest level; return how many went."""
        same = np.zeros(len(self.key), bool)
        level = np.uint64(LEVEL_BITS)
        for part in _parts(len(self.key) - 1):
            fact = self.key[part.start : part.stop + 1] >> level
            same[part.start + 1 : part.stop + 1] = fact[1:] == fact[:-1]
        starts = self.pointer[:-1][np.diff(self.pointer) > 0]
        same[starts] = False
        gone = np.flatnonzero(same)
        if len(gone):
            self.key = self.key[~same]
            self.pointer = self.pointer - np.searchsorted(gone, self.pointer)
        return len(gone)

    def split(self, shares: tuple[float, float, float], generator: np.random.Generator) -> None:
        """Give every row a level at random, in numbers as near to the shares as can be."""
        ends = [0, *(round(len(self.key) * share) for share in np.cumsum(shares))]
        levels = np.repeat(np.array(Level, np.uint8), np.diff(ends))
        generator.shuffle(levels)
        for part in _parts(len(self.key)):
            self.key[part] &= ~np.uint64((1 << LEVEL_BITS) - 1)
            self.key[part] |= levels[part]

    def both_directions(self, entity_count: int, relation_count: int) -> Rows:
        """Each row as it is and through its inverse relation."""
        old = self.layout
        layout = _layout(2 * relation_count, entity_count, self.times.count, BY_OBJECT)

        def inverse(subject: NDArray, key: Keys) -> Keys:
            parts = {name: old.unpack(key, name) for name in BY_OBJECT}
            return layout.pack(
                {**parts, "relation": parts["relation"] + relation_count, "object": subject}
            )

        def chunks() -> Iterator[Chunk]:
            for subject, key in self.chunks():
                # The parts stand in the same order: one more bit of relation changes no key.
                yield subject, partial(np.asarray, key)
                yield old.unpack(key, "object"), partial(inverse, subject, key)

        pointer, key = _bucketed(chunks, entity_count)
        return replace(self, pointer=pointer, key=key, layout=layout).sort()

    def by_time(self) -> Rows:
        """The rows sorted by time before object; the keys are changed in place."""
        old = self.layout
        counts = dict(old.parts)
        self.layout = Layout(tuple((name, counts[name]) for name in BY_TIME))
        for part in _parts(len(self.key)):
            key = self.key[part]
            self.key[part] = self.layout.pack({name: old.unpack(key, name) for name in BY_TIME})
        return self.sort()

    def column(self, name: str, dtype: type = np.int32) -> NDArray:
        out: NDArray = np.empty(len(self.key), dtype)
        for part in _parts(len(out)):
            out[part] = self.layout.unpack(self.key[part], name, dtype)
        return out

    def time_columns(self) -> tuple[Ids, Ids]:
        """Start and end; one array where the rows are points."""
        code = self.column("time")
        if self.times.start is None or self.times.end is None:
            return code, code
        return self.times.start[code], self.times.end[code]

    def segments(self) -> tuple[NDArray[np.int64], NDArray[np.int64], Ids, Ids]:
        """Each run of rows that share subject and relation: where a subject's runs begin, then
        first row, subject and relation of each."""
        first = np.zeros(len(self.key), bool)
        shift = self.layout.shift("relation")
        for part in _parts(len(self.key) - 1):
            relation = self.key[part.start : part.stop + 1] >> shift
            first[part.start + 1 : part.stop + 1] = relation[1:] != relation[:-1]
        first[self.pointer[:-1][np.diff(self.pointer) > 0]] = True
        rows = np.flatnonzero(first)
        pointer = np.searchsorted(rows, self.pointer).astype(np.int64)
        subject = np.repeat(np.arange(len(pointer) - 1, dtype=np.int32), np.diff(pointer))
        return pointer, rows, subject, self.layout.unpack(self.key[rows], "relation")


def build_index(forward: Rows, entity_count: int, relation_count: int) -> Index:
    """Both directions, sorted once by object and once by time."""
    rows = forward.both_directions(entity_count, relation_count)
    forward.key = np.zeros(0, np.uint64)
    subject_pointer, first, segment_subject, segment_relation = rows.segments()
    object_object = rows.column("object")
    object_start, object_end = rows.time_columns()
    object_level = rows.column("level", np.uint8)
    rows = rows.by_time()
    time_object = rows.column("object")
    time_start, time_end = rows.time_columns()
    time_level = rows.column("level", np.uint8)
    size = len(rows.key)
    del rows
    segment_pointer = np.append(first, size)
    del first
    relation_pointer, relation_segment = _grouped(segment_relation, 2 * relation_count)
    return Index(
        subject_pointer=subject_pointer,
        segment_subject=segment_subject,
        segment_relation=segment_relation,
        segment_pointer=segment_pointer,
        relation_pointer=relation_pointer,
        relation_segment=relation_segment,
        time_object=time_object,
        time_start=time_start,
        time_end=time_end,
        time_level=time_level,
        object_object=object_object,
        object_start=object_start,
        object_end=object_end,
        object_level=object_level,
    )


def _grouped(values: Ids, count: int) -> tuple[NDArray[np.int64], Ids]:
    """The positions sorted by their value, and where each value's begin."""
    from tflex.graph.index_kernels import scatter

    pointer = np.zeros(count + 1, np.int64)
    for part in _parts(len(values)):
        pointer[1:] += np.bincount(values[part], minlength=count)
    np.cumsum(pointer, out=pointer)
    positions = np.empty(len(values), np.int32)
    scatter(values, np.arange(len(values), dtype=np.int32), pointer[:-1].copy(), positions)
    return pointer, positions


def _bucketed(chunks: Callable[[], Iterator[Chunk]], count: int) -> tuple[NDArray[np.int64], Keys]:
    """Put rows that come in chunks (twice alike) into the buckets of their subjects."""
    from tflex.graph.index_kernels import scatter

    pointer = np.zeros(count + 1, np.int64)
    for subject, _ in chunks():
        pointer[1:] += np.bincount(subject, minlength=count)
    np.cumsum(pointer, out=pointer)
    key = np.empty(pointer[-1], np.uint64)
    position = pointer[:-1].copy()
    for subject, part in chunks():
        scatter(np.ascontiguousarray(subject, np.int32), part(), position, key)
    return pointer, key


def _blocks(pointer: NDArray[np.int64], spare_bits: int) -> Iterator[tuple[int, int]]:
    """Ranges of subjects that are sorted together: few enough for the bits, and for the cache."""
    first, count = 0, len(pointer) - 1
    while first < count:
        fitting = int(np.searchsorted(pointer, pointer[first] + CHUNK, "right")) - 1
        last = min(max(fitting, first + 1), first + (1 << spare_bits), count)
        yield first, last
        first = last


def _parts(size: int) -> Iterator[slice]:
    for at in range(0, size, CHUNK):
        yield slice(at, min(at + CHUNK, size))


def _check_ids(facts: Facts, entity_count: int, relation_count: int, time_count: int) -> None:
    """Ids outside their vocabulary would be written outside of the arrays."""
    counts = {"subject": entity_count, "relation": relation_count, "object": entity_count,
              "start": time_count, "end": time_count}  # fmt: skip
    for name, count in counts.items():
        column = getattr(facts, name)
        if len(column) and not 0 <= int(column.min()) <= int(column.max()) < count:
            raise DataError(f"a {name} id lies outside of 0 … {count - 1}")
