"""Every sampled query is what it says: targets, known answers, flags and costs by brute force."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st

from tests.sampling.oracle import Derivations, Views, has_empty_part, strict, structure_of
from tests.strategies import graph_of, graphs, queries
from tflex.graph.facts import Level
from tflex.graph.temporal_graph import TemporalGraph
from tflex.query.algebra import Pe, Pt, topological
from tflex.query.keys import key
from tflex.query.published import STRUCTURES
from tflex.query.structures import Structure
from tflex.query.text import parse_structure, print_structure
from tflex.sampling.keys import Keyed
from tflex.sampling.sampler import (
    Queries,
    SamplingSettings,
    Sources,
    StructureSampler,
    Supply,
    known_level,
)

SLOW_DRAWS = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
DRAWN = (Level.test, Level.valid, Level.train)


def sampled(graph: TemporalGraph, structure: Structure, count: int,
            choices: SamplingSettings) -> dict[Level, Queries]:  # fmt: skip
    """Some queries of each split."""
    sampler = StructureSampler(Sources(graph), structure, choices)
    found = {}
    for level in DRAWN:
        batches = list(sampler.batches(level, count, Supply(count)))
        if batches:
            found[level] = Queries.joined(batches)
    return found


def verify(graph: TemporalGraph, structure: Structure, splits: dict[Level, Queries],
           choices: SamplingSettings) -> None:  # fmt: skip
    """Everything that a file of queries promises."""
    views = Views.of(graph)
    keys: list[str] = []
    for level, found in splits.items():
        costs = iter(found.missing.tolist())
        for row, anchors in enumerate(found.anchors.tolist()):
            query = structure(*anchors)
            keys.append(key(query, graph.relation_count))
            wanted = strict(views, query, level)
            assert wanted.targets
            assert found.targets[row].tolist() == sorted(wanted.targets)
            assert found.known[row].tolist() == sorted(wanted.known)
            assert found.retraction[row] == wanted.retraction
            if not choices.allow_empty:
                assert not has_empty_part(views, query, level)
            if choices.largest_answer is not None:
                assert len(wanted.answers) <= choices.largest_answer
            if level > Level.train:
                derivations = Derivations(views, level)
                for target in found.targets[row].tolist():
                    assert next(costs) == derivations.cheapest(query, target)
        assert list(costs) == []
    assert max(Counter(keys).values(), default=1) == 1


@SLOW_DRAWS
@given(data=st.data(), name=st.sampled_from(STRUCTURES.names()))
def test_published_structures(data: st.DataObject, name: str) -> None:
    graph = data.draw(graphs())
    choices = SamplingSettings(seed=data.draw(st.integers(0, 99)))
    verify(graph, STRUCTURES[name], sampled(graph, STRUCTURES[name], 12, choices), choices)


@SLOW_DRAWS
@given(data=st.data())
def test_any_structure(data: st.DataObject) -> None:
    """Structures with shared nodes, derived operators, and any settings."""
    graph = data.draw(graphs())
    query = data.draw(queries(graph, max_operators=4))
    atoms = sum(isinstance(node, Pe | Pt) for node in topological(query))
    assume(0 < atoms <= 4)
    structure = structure_of(query)
    note(print_structure(structure))
    choices = SamplingSettings(
        data.draw(st.integers(0, 99)),
        data.draw(st.sampled_from((None, {1: 0.5, 2: 0.5}))),
        data.draw(st.sampled_from((None, 3))),
        data.draw(st.sampled_from(("natural", "flat"))),
        data.draw(st.booleans()),
    )
    verify(graph, structure, sampled(graph, structure, 8, choices), choices)


SHARED = """def shared(s1, r1, o1, s2, r2):
    when = Pt(s1, r1, o1)
    return And(Pe(s2, r2, when), Not(Pe(s1, r2, after(when))))
"""
DERIVED = """def derived(s, r, t, s2, r2, t2):
    return Xor(Pe(s, r, t), Pe(s2, r2, next(t2)))
"""
MIDDLE = """def middle(s, r, o, r2, s3, r3):
    x = Pe(s, r, between(Pt(s, r, o), Pt(s3, r3, o)))
    return Or(And(x, Pe(o, r2, before(Pt(s3, r3, x)))), Pe(x, r2, Pt(s, r, x)))
"""


@pytest.mark.parametrize("text", [SHARED, DERIVED, MIDDLE], ids=["shared", "derived", "middle"])
@pytest.mark.parametrize("intervals", [False, True])
def test_shared_and_derived(text: str, intervals: bool) -> None:
    """Graphs that are rich enough for such a structure to have queries at all."""
    structure, graph = parse_structure(text), rich_graph(intervals)
    choices = SamplingSettings(seed=3)
    splits = sampled(graph, structure, 25, choices)
    assert set(splits) == set(Level)
    assert sum(map(len, splits.values())) > 40
    verify(graph, structure, splits, choices)


@pytest.mark.parametrize("intervals", [False, True])
def test_all_forty_on_a_rich_graph(intervals: bool) -> None:
    graph, choices = rich_graph(intervals), SamplingSettings(seed=1)
    for structure in STRUCTURES:
        splits = sampled(graph, structure, 4, choices)
        assert [len(splits[level]) for level in DRAWN] == [4, 4, 4]
        verify(graph, structure, splits, choices)


def rich_graph(intervals: bool) -> TemporalGraph:
    random = np.random.default_rng(11)
    rows = []
    for _ in range(140):
        first = int(random.integers(10))
        last = min(9, first + int(random.integers(4))) if intervals else first
        s, r, o = (int(random.integers(size)) for size in (7, 3, 7))
        rows.append((s, r, o, first, last, int(random.choice(3, p=(0.6, 0.2, 0.2)))))
    return graph_of(rows, 7, 3, 10)


@SLOW_DRAWS
@given(data=st.data(), name=st.sampled_from(("Pe", "Pt")))
def test_what_is_exhausted_is_all_there_is(data: st.DataObject, name: str) -> None:
    """Every query that could be drawn, by trying all anchors."""
    graph, structure = data.draw(graphs(intervals=False, max_facts=14)), STRUCTURES[name]
    views = Views.of(graph)
    sampler = StructureSampler(Sources(graph), structure, SamplingSettings())
    sizes = [graph.entity_count, 2 * graph.relation_count,
             graph.time_count if name == "Pe" else graph.entity_count]  # fmt: skip
    taken: set[str] = set()
    for level in DRAWN:
        possible: set[str] = set()
        held = views.facts[level].holding
        for anchors in np.ndindex(*sizes):
            s, r, last = anchors
            # What no fact begins like has no answer, and the reference is slow.
            if any(f[0] == s and f[1] == r and f[3 if name == "Pe" else 2] == last for f in held):
                query = structure(*anchors)
                if strict(views, query, level).targets:
                    possible.add(key(query, graph.relation_count))
        possible -= taken
        supply = Supply(10_000)
        found = [row for batch in sampler.batches(level, 10_000, supply) for row in batch.anchors]
        drawn = {key(structure(*row.tolist()), graph.relation_count) for row in found}
        assert drawn == possible
        assert supply.found == len(possible)
        assert supply.exact and supply.exhausted
        taken |= drawn


@settings(max_examples=60, deadline=None)
@given(data=st.data(), name=st.sampled_from(STRUCTURES.names()))
def test_keys_are_those_of_single_queries(data: st.DataObject, name: str) -> None:
    """Two rows share a batched key exactly where they share the canonical key."""
    graph, structure = data.draw(graphs()), STRUCTURES[name]
    sizes = {"e": min(graph.entity_count, 2), "r": 2 * graph.relation_count,
             "t": min(graph.time_count, 2)}  # fmt: skip
    bounds = [sizes[slot.sort.name[0].lower()] for slot in structure.parameters]
    row = st.tuples(*(st.integers(0, bound - 1) for bound in bounds))
    rows = data.draw(st.lists(row, min_size=1, max_size=30))
    batched, _ = Keyed(structure, graph.relation_count).keys(np.array(rows, np.int32))
    single = [key(structure(*one), graph.relation_count) for one in rows]
    pairs = set(zip(batched.tolist(), single, strict=True))
    assert len(pairs) == len(set(single)) == len(set(batched.tolist()))


def test_known_levels() -> None:
    assert [known_level(level).name for level in Level] == ["train", "train", "valid"]
