"""The index against a list of facts that is sorted the obvious way."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from tflex.errors import DataError
from tflex.graph import build
from tflex.graph.facts import Facts
from tflex.graph.index import Index
from tflex.graph.temporal_graph import TemporalGraph
from tflex.graph.timeline import Timeline
from tflex.graph.vocab import Vocabulary

ENTITIES, RELATIONS, TIMES = 9, 3, 8

Row = tuple[int, int, int, int, int, int]


def random_rows(seed: int, size: int, points: bool) -> list[Row]:
    generator = np.random.default_rng(seed)
    rows = []
    for _ in range(size):
        subject, object = generator.integers(0, ENTITIES, 2).tolist()
        start, end = sorted(generator.integers(0, TIMES, 2).tolist())
        level = int(generator.integers(3))
        relation = int(generator.integers(RELATIONS))
        rows.append((subject, relation, object, start, start if points else end, level))
    return rows


def facts_of(rows: list[Row]) -> Facts:
    columns = np.array(rows, np.int64).reshape(-1, 6).T
    return Facts.of(*columns[:5], level=columns[5])


def graph_of(rows: list[Row], **options: object) -> TemporalGraph:
    return TemporalGraph.from_facts(
        facts_of(rows),
        Vocabulary.numbered("entity", ENTITIES),
        Vocabulary.numbered("relation", RELATIONS),
        Timeline.of(map(str, range(TIMES)), "raw"),
        **options,  # type: ignore[arg-type]
    )


def lowest_levels(rows: list[Row]) -> list[Row]:
    """Each fact once, at its lowest level, in canonical order."""
    level: dict[tuple[int, ...], int] = {}
    for *fact, own in rows:
        level[tuple(fact)] = min(own, level.get(tuple(fact), own))
    return [(*fact, level[fact]) for fact in sorted(level)]  # type: ignore[misc]


def listed(index: Index, copy: str) -> list[tuple[int, ...]]:
    """All rows of one sorted copy: subject, relation, object, start, end, level."""
    lengths = np.diff(index.segment_pointer)
    columns = [
        np.repeat(index.segment_subject, lengths),
        np.repeat(index.segment_relation, lengths),
    ]
    columns += [getattr(index, f"{copy}_{name}") for name in ("object", "start", "end", "level")]
    return list(zip(*(column.tolist() for column in columns), strict=True))


@pytest.mark.parametrize("points", [True, False])
@pytest.mark.parametrize("size", [0, 1, 7, 150])
@pytest.mark.parametrize("chunk", [3, 1 << 22])
def test_both_copies_hold_every_fact_in_both_directions(
    points: bool, size: int, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "CHUNK", chunk)
    rows = random_rows(size, size, points)
    index = graph_of(rows).index
    unique = lowest_levels(rows)
    both = unique + [(o, r + RELATIONS, s, *rest) for s, r, o, *rest in unique]
    by_object, by_time = (0, 1, 2, 3, 4), (0, 1, 3, 4, 2)
    for copy, order in (("object", by_object), ("time", by_time)):
        assert listed(index, copy) == sorted(both, key=lambda row: [row[at] for at in order])
    for subject in range(ENTITIES):
        first, last = index.subject_pointer[subject : subject + 2]
        assert set(index.segment_subject[first:last]) <= {subject}
        assert (np.diff(index.segment_relation[first:last]) > 0).all()
    for relation in range(2 * RELATIONS):
        first, last = index.relation_pointer[relation : relation + 2]
        assert set(index.segment_relation[index.relation_segment[first:last]]) <= {relation}
    assert index.relation_pointer[-1] == len(index.segment_relation)


@pytest.mark.parametrize("points", [True, False])
def test_facts_come_out_in_canonical_order_whole_and_in_parts(points: bool) -> None:
    rows = random_rows(1, 200, points)
    graph = graph_of(rows)
    expected = lowest_levels(rows)
    assert list(zip(*(c.tolist() for c in graph.facts.columns()), strict=True)) == expected
    parts = [graph.index.facts(RELATIONS, part) for part in graph.index.parts(10)]
    assert len(parts) > 5
    joined = [row for part in parts
              for row in zip(*(c.tolist() for c in part.columns()), strict=True)]  # fmt: skip
    assert joined == expected


def test_duplicates_are_counted_and_kept_in_their_first_split() -> None:
    row = (1, 1, 2, 3, 3)
    graph = graph_of([(*row, 2), (*row, 0), (*row, 1), (1, 1, 2, 4, 4, 2)])
    assert graph.dropped == {"duplicate": 2}
    assert graph.counts == {"train": 1, "valid": 0, "test": 1}


def test_a_random_split_has_the_shares_and_hangs_on_the_seed_alone() -> None:
    rows = [(s, r, o, t, t, 0) for s in range(5) for r in range(2) for o in range(5)
            for t in range(4)]  # fmt: skip

    def split(rows: list[Row], seed: int) -> TemporalGraph:
        return graph_of(rows, split=(0.8, 0.1, 0.1), generator=np.random.default_rng(seed))

    graph = split(rows, 0)
    assert graph.counts == {"train": 160, "valid": 20, "test": 20}
    assert split(rows[::-1], 0).content_hash == graph.content_hash
    assert split(rows, 1).content_hash != graph.content_hash
    directed = graph.index.object_level
    assert np.bincount(directed).tolist() == [320, 40, 40]


def test_keys_without_spare_bits_sort_too(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = random_rows(3, 100, False)
    expected = graph_of(rows).content_hash
    rows_of = build.Rows.of(facts_of(rows), ENTITIES, RELATIONS, TIMES)
    monkeypatch.setattr(build, "KEY_BITS", rows_of.layout.bits + 1)
    assert graph_of(rows).content_hash == expected


def test_too_large_a_key_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "KEY_BITS", 6)
    with pytest.raises(DataError, match="too many"):
        graph_of(random_rows(0, 5, True))


@pytest.mark.parametrize("row", [(9, 0, 0, 0, 0, 0), (0, 3, 0, 0, 0, 0), (0, 0, -1, 0, 0, 0),
                                 (0, 0, 0, 0, 8, 0)])  # fmt: skip
def test_ids_outside_their_vocabulary_are_refused(row: Row) -> None:
    with pytest.raises(DataError, match="outside"):
        graph_of([row])


def test_the_columns_of_a_large_import_are_freed_before_the_index_is_built(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from tflex.graph import ingest, temporal_graph

    facts = facts_of(random_rows(0, 5, True))
    watched = weakref.ref(facts.subject)
    alive: list[bool] = []

    def build_index(*arguments: object) -> Index:
        gc.collect()
        alive.append(watched() is not None)
        return build.build_index(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(temporal_graph, "build_index", build_index)
    read = ingest.Imported(
        [facts],
        Vocabulary.numbered("entity", ENTITIES),
        Vocabulary.numbered("relation", RELATIONS),
        Timeline.of(map(str, range(TIMES)), "raw"),
    )
    del facts
    read.graph("g", None, np.random.default_rng(0))
    assert alive == [False]
