"""The compiled engine gives the reference's answers: any graph, any query, any view."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import LABELS, graphs, queries
from tflex.exact import engine
from tflex.exact.engine import Engine
from tflex.exact.reference import Quadruples, answer
from tflex.graph.facts import Facts, Level
from tflex.graph.temporal_graph import TemporalGraph
from tflex.graph.timeline import Timeline
from tflex.graph.vocab import Vocabulary
from tflex.query.algebra import Node, Sort
from tflex.query.published import STRUCTURES
from tflex.query.structures import Structure


@settings(max_examples=400, deadline=None)
@given(data=st.data(), level=st.sampled_from(Level))
def test_engine_equals_reference(data: st.DataObject, level: Level) -> None:
    graph = data.draw(graphs())
    query = data.draw(queries(graph))
    view = graph.view(level)
    assert Engine(view).answer(query).tolist() == sorted(answer(view, query))


def random_graph(seed: int, intervals: bool, entities: int = 90, times: int = 200) -> TemporalGraph:
    """Large enough for several words of bits, long segments and merged lists."""
    random = np.random.default_rng(seed)
    count, relations = 1500, 3
    # Skewed subjects make some segments long.
    subject = (random.random(count) ** 3 * entities).astype(int)
    start = random.integers(0, times, count)
    end = np.minimum(start + random.integers(0, 90, count), times - 1) if intervals else start
    facts = Facts.of(
        subject,
        random.integers(0, relations, count),
        random.integers(0, entities, count),
        start,
        end,
        random.integers(0, 3, count),
    )
    return TemporalGraph.from_facts(
        facts,
        Vocabulary("entity", [f"e{id}" for id in range(entities)]),
        Vocabulary("relation", [f"r{id}" for id in range(relations)]),
        Timeline.of([str(1000 + id) for id in range(times)], "year"),
    )


def random_anchors(structure: Structure, graph: TemporalGraph, count: int, seed: int) -> np.ndarray:
    sizes = {
        Sort.ENTITY: graph.entity_count,
        Sort.RELATION: 2 * graph.relation_count,
        Sort.TIME: graph.time_count,
    }
    random = np.random.default_rng(seed)
    columns = [
        (random.random(count) ** 2 * sizes[slot.sort]).astype(int) for slot in structure.parameters
    ]
    return np.stack(columns, axis=1)


LARGE_QUERIES = [
    "Pe({0,1,2,3,4,5}, 0, '1000/1199')",
    "Pe(Not({0,1}), 1, '1050/1100')",
    "Pe(Not({0,1}), 4, Not('1003/1198'))",
    "Pt(Not({0,1}), 1, Not({2,3}))",
    "Pt({0,1,2}, 4, Not(Pe(0, 1, '1000/1199')))",
    "Pt(Not(Pe(0, 1, '1000/1199')), 2, {0,1,2})",
    "next(Or(Pt({0,1,2,3}, 0, Not(5)), '1063', '1127/1130'))",
    "And(Not(Pe(0, 0, '1000/1199')), Not(Pe(1, 0, '1000/1199')), Pe({0,1}, 1, '1000/1199'))",
    "Or(Not(Pe(0, 0, '1000/1199')), Pe(1, 0, '1000/1199'))",
    "Or(Not(Pe(0, 0, '1000/1199')), Not(Pe(1, 0, '1000/1199')))",
    "between(Pt(0, 0, Not(0)), Pt(1, 1, Not(0)))",
    "Pe(0, 0, after(Pt(0, 0, 1)))",
    "Xor(Pt({0,1},0,Not(7)), next(next('1060/1130')))",
]


@pytest.mark.parametrize("intervals", [False, True])
def test_large_sets(intervals: bool) -> None:
    from tflex.query.text import parse

    graph = random_graph(1, intervals)
    for level in Level:
        view = graph.view(level)
        known = Quadruples(view)
        for text in LARGE_QUERIES:
            query: Node = parse(text.replace("'", '"'), graph)
            assert Engine(view).answer(query).tolist() == sorted(answer(known, query)), text


def test_segments_are_found_without_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph too large for the hash table of segments is searched instead."""
    graph = random_graph(3, False, entities=12, times=70)
    view, structure = graph.view("test"), STRUCTURES["Pe_t2i_N"]
    anchors = random_anchors(structure, graph, 200, seed=4)
    with_table = Engine(view).answer_batch(structure, anchors)
    monkeypatch.setattr(engine, "LARGEST_TABLE", 0)
    searched = Engine(view)
    assert not len(searched.by_time[0])
    found = searched.answer_batch(structure, anchors)
    assert found.offsets.tolist() == with_table.offsets.tolist()
    assert found.ids.tolist() == with_table.ids.tolist()


@pytest.mark.parametrize("intervals", [False, True])
@pytest.mark.parametrize("structure", STRUCTURES, ids=lambda one: one.name)
def test_batch_equals_reference_one_by_one(structure: Structure, intervals: bool) -> None:
    graph = random_graph(2, intervals, entities=12, times=70)
    view = graph.view("valid")
    one_by_one = Engine(view)
    # Chunks smaller than the batch, so that joining them is tested too.
    one_by_one.chunk = 7
    anchors = random_anchors(structure, graph, 12, seed=3)
    found = one_by_one.answer_batch(structure, anchors)
    known = Quadruples(view)
    for row, values in enumerate(anchors.tolist()):
        assert found[row].tolist() == sorted(answer(known, structure(*values)))


def test_labels_are_dates() -> None:
    """The strategies' labels are in time order, as ids must be."""
    for label in LABELS.values():
        assert [label(id) for id in range(3)] == sorted(label(id) for id in range(3))
