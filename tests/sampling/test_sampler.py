"""What the settings of a sampler do."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from tests.strategies import graph_of
from tflex.errors import QueryError, UnsupportedOperator
from tflex.exact.engine import Engine
from tflex.graph.facts import Level
from tflex.graph.temporal_graph import TemporalGraph
from tflex.graph.world import demo_world
from tflex.query.algebra import EntityLiteral, Not, Pe, Slot, Sort
from tflex.query.published import STRUCTURES
from tflex.query.structures import make_structure
from tflex.sampling.keys import Keyed
from tflex.sampling.sampler import Queries, SamplingSettings, Sources, StructureSampler, Supply


def draw(graph: TemporalGraph, name: str, count: int, level: Level = Level.test,
         **choices: object) -> tuple[Queries, Supply]:  # fmt: skip
    settings, supply = SamplingSettings(**choices), Supply(count)  # type: ignore[arg-type]
    sampler = StructureSampler(Sources(graph), STRUCTURES[name], settings)
    return Queries.joined(list(sampler.batches(level, count, supply))), supply


def test_as_many_as_wanted_and_the_same_again(small_graph: TemporalGraph) -> None:
    first, supply = draw(small_graph, "e2i", 40, seed=5)
    second, _ = draw(small_graph, "e2i", 40, seed=5)
    other, _ = draw(small_graph, "e2i", 40, seed=6)
    assert len(first) == supply.found == 40
    assert not supply.exhausted
    assert np.array_equal(first.anchors, second.anchors)
    assert not np.array_equal(first.anchors, other.anchors)


@pytest.mark.parametrize("name", ["e3i", "Pe3", "t2i", "Pe_t2i"])
def test_shares_of_missing_facts(name: str) -> None:
    found, supply = draw(demo_world(), name, 200, missing={1: 0.5, 2: 0.25, 3: 0.25})
    limit = 2 if name == "t2i" else 3
    counts = Counter(found.difficulty().tolist())
    assert supply.found == 200
    assert counts == ({1: 100, 2: 50, 3: 50} if limit == 3 else {1: 100, 2: 100})


def test_a_structure_that_misses_nothing_has_no_shares() -> None:
    found, _ = draw(demo_world(), "aPt", 30, missing={1: 1.0})
    assert len(found) == 30
    assert set(found.missing.tolist()) == {0}


def test_largest_answer() -> None:
    found, _ = draw(demo_world(), "Pt_sPe", 50, largest_answer=2)
    answers = Engine(demo_world().view("test")).answer_batch(STRUCTURES["Pt_sPe"], found.anchors)
    assert len(found) == 50
    assert answers.sizes().max() <= 2


def hub_graph() -> TemporalGraph:
    """Entity 0 takes part in nearly all facts; 4, 5, 6 and 7 in one each."""
    hub = [(0, 0, o, t, t, 0) for t in range(10) for o in (1, 2, 3)]
    return graph_of([*hub, (4, 1, 5, 0, 0, 0), (6, 1, 7, 3, 3, 0)], 8, 2, 10)


def test_flat_degree_evens_entities_out() -> None:
    """The first queries of a Pe: half begin at the hub, or about one in eight."""
    shares = {}
    for degree in ("natural", "flat"):
        found, _ = draw(hub_graph(), "Pe", 8, Level.train, degree=degree, seed=1)
        drawn = [draw(hub_graph(), "Pe", 8, Level.train, degree=degree, seed=seed)[0].anchors[:, 0]
                 for seed in range(40)]  # fmt: skip
        rare = np.concatenate(drawn) >= 4
        shares[degree] = rare.mean()
        assert len(found) == 8
    assert shares["natural"] < 0.15 < 0.3 < shares["flat"]


def test_only_an_exhaustive_search_is_called_exact() -> None:
    graph = hub_graph()
    assert draw(graph, "Pe", 999, Level.train)[1].exact
    for choices in ({"degree": "flat"}, {"allow_empty": True}):
        supply = draw(graph, "Pe", 999, Level.train, **choices)[1]
        assert supply.exhausted and not supply.exact
    supply = draw(graph, "e2i", 99_999, Level.train)[1]
    assert supply.exhausted and not supply.exact


def test_empty_parts_only_where_allowed() -> None:
    """`after` of nothing is all of T."""
    graph = demo_world()
    engine, structure = Engine(graph.view("train")), STRUCTURES["Pe_at2i"]
    strict, _ = draw(graph, "Pe_at2i", 300, Level.train)
    loose, _ = draw(graph, "Pe_at2i", 300, Level.train, allow_empty=True)
    assert not engine.answer_and_check(structure, strict.anchors)[1].any()
    assert len(loose) == 300


def test_no_facts_no_queries() -> None:
    supply = Supply(5)
    graph = graph_of([(0, 0, 1, 0, 0, 0)], 2, 1, 1)
    sampler = StructureSampler(Sources(graph), STRUCTURES["Pe"], SamplingSettings())
    assert list(sampler.batches(Level.test, 5, supply)) == []
    assert supply.exhausted and supply.exact


def test_what_cannot_be_grounded_is_an_error(small_graph: TemporalGraph) -> None:
    entity = Slot("e", Sort.ENTITY)
    relation, time = Slot("r", Sort.RELATION), Slot("t", Sort.TIME)
    sources = Sources(small_graph)
    with pytest.raises(QueryError, match="neither Pe nor Pt"):
        StructureSampler(sources, make_structure("a", [entity], Not(entity)), SamplingSettings())
    literal = make_structure("b", [relation, time], Pe(EntityLiteral([0]), relation, time))
    with pytest.raises(UnsupportedOperator, match="grounding"):
        StructureSampler(sources, literal, SamplingSettings())


def test_branches_that_repeat() -> None:
    keyed = Keyed(STRUCTURES["t2i"], 3)
    rows = [
        (0, 1, 2, 0, 1, 2),  # the same twice
        (0, 1, 2, 2, 4, 0),  # the same through its inverse
        (0, 1, 2, 2, 1, 0),  # the other way round is another question
    ]
    assert keyed.keys(np.array(rows, np.int32))[1].tolist() == [True, True, False]
    negated = Keyed(STRUCTURES["t2i_N"], 3)
    assert negated.keys(np.array(rows, np.int32))[1].tolist() == [True, True, False]
