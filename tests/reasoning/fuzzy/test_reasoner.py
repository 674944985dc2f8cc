"""Degrees: the exact answers where nothing is missing, and a scalar version where something is."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties.test_engine import random_anchors, random_graph
from tests.strategies import graphs, queries
from tflex.exact.engine import Engine
from tflex.graph.facts import Level
from tflex.graph.temporal_graph import TemporalGraph, View
from tflex.query.algebra import (
    After,
    And,
    Before,
    EntityLiteral,
    Interpreter,
    Next,
    Node,
    Not,
    Or,
    Pe,
    Pt,
    RelationLiteral,
    TimeLiteral,
    fold,
)
from tflex.query.published import STRUCTURES
from tflex.query.rewrite import simplify
from tflex.query.text import parse
from tflex.reasoning.fuzzy import LOGICS, FuzzyReasoner, FuzzySettings, NothingMissing, World
from tflex.reasoning.fuzzy.interpreter import FUZZY, FuzzyBatch
from tflex.reasoning.fuzzy.predictions import Listed
from tflex.reasoning.fuzzy.reasoner import run


@settings(max_examples=300, deadline=None)
@given(data=st.data(), level=st.sampled_from(Level), logic=st.sampled_from(sorted(LOGICS)))
def test_with_nothing_missing_degrees_are_the_exact_answers(
    data: st.DataObject, level: Level, logic: str
) -> None:
    graph = data.draw(graphs())
    query = data.draw(queries(graph))
    view = graph.view(level)
    degrees = FuzzyReasoner(World(view, NothingMissing(view)), FuzzySettings(logic)).scores_of(
        query
    )
    expected = np.zeros(len(degrees))
    expected[Engine(view).answer(query)] = 1
    assert degrees.tolist() == expected.tolist()


@pytest.mark.parametrize("intervals", [False, True])
def test_with_nothing_missing_every_structure_is_exact_in_batches(intervals: bool) -> None:
    graph = random_graph(1, intervals)
    view = graph.view("valid")
    reasoner, engine = FuzzyReasoner(World(view, NothingMissing(view))), Engine(view)
    for structure in STRUCTURES:
        anchors = random_anchors(structure, graph, 70, seed=3)
        degrees = reasoner.scores(structure.name, anchors)
        answers = engine.answer_batch(structure, anchors)
        expected = np.zeros_like(degrees)
        expected[answers.rows(), answers.ids] = 1
        assert np.array_equal(degrees, expected), structure.name


class Tables:
    """Degrees of missing facts from a table over V × 2R × V × T; small ones are not listed."""

    def __init__(self, graph: TemporalGraph, seed: int, least: float = 0.0) -> None:
        self.least = least
        count = graph.relation_count
        shape = graph.entity_count, 2 * count, graph.entity_count, graph.time_count
        random = np.random.default_rng(seed)
        self.table = (random.random(shape) * (random.random(shape) < 0.3)).astype(np.float32)

    def expected_objects(self, subject: Any, relation: Any, time: Any) -> Any:
        return -np.log1p(-self.table[subject, relation, :, time].max(1).clip(0, 0.999))

    def expected_times(self, subject: Any, relation: Any, object: Any) -> Any:
        return -np.log1p(-self.table[subject, relation, object].max(1).clip(0, 0.999))

    def objects(self, subject: Any, relation: Any, time: Any) -> Listed:
        rows = self.table[subject, relation, :, time]
        row, ids = np.nonzero(rows > self.least)
        offsets = np.concatenate(([0], np.cumsum((rows > self.least).sum(1))))
        unlisted = np.where(rows > self.least, 0, rows).max(1)
        return Listed(offsets, ids.astype(np.int32), rows[row, ids], unlisted)

    def times(self, subject: Any, relation: Any, object: Any) -> Any:
        return self.table[subject, relation, object]


SCALAR = Interpreter("scalar")
Sets = dict[int, float]


class Scalar:
    """Degrees one by one, by the equations; every pair of a projection counts."""

    def __init__(self, view: View, table: np.ndarray) -> None:
        graph = view.graph
        facts = graph.facts.take(graph.facts.level <= view.level)
        self.entities, self.times = range(graph.entity_count), range(graph.time_count)
        self.degree = table.tolist()
        for s, r, o, start, end in zip(
            facts.subject, facts.relation, facts.object, facts.start, facts.end, strict=True
        ):
            for t in range(start, end + 1):
                self.degree[s][r][o][t] = 1.0
                self.degree[o][r + graph.relation_count][s][t] = 1.0


@SCALAR.rule(EntityLiteral)
def _entities(scalar: Scalar, node: Any) -> Sets:
    return {one: float(one in node.members) for one in scalar.entities}


@SCALAR.rule(RelationLiteral)
def _relation(scalar: Scalar, node: Any) -> int:
    return int(node.value)


@SCALAR.rule(TimeLiteral)
def _times(scalar: Scalar, node: Any) -> Sets:
    return {t: float(any(a <= t <= b for a, b in node.members)) for t in scalar.times}


@SCALAR.rule(Pe)
def _pe(scalar: Scalar, node: Node, source: Sets, r: int, when: Sets) -> Sets:
    return {
        o: max(
            a * b * scalar.degree[s][r][o][t] for s, a in source.items() for t, b in when.items()
        )
        for o in scalar.entities
    }


@SCALAR.rule(Pt)
def _pt(scalar: Scalar, node: Node, source: Sets, r: int, target: Sets) -> Sets:
    return {
        t: max(
            a * b * scalar.degree[s][r][o][t] for s, a in source.items() for o, b in target.items()
        )
        for t in scalar.times
    }


@SCALAR.rule(And)
def _and(scalar: Scalar, node: Node, *sets: Sets) -> Sets:
    return {x: prod(one[x] for one in sets) for x in sets[0]}


@SCALAR.rule(Or)
def _or(scalar: Scalar, node: Node, *sets: Sets) -> Sets:
    return {x: 1 - prod(1 - one[x] for one in sets) for x in sets[0]}


@SCALAR.rule(Not)
def _not(scalar: Scalar, node: Node, members: Sets) -> Sets:
    return {x: 1 - degree for x, degree in members.items()}


@SCALAR.rule(After)
def _after(scalar: Scalar, node: Node, times: Sets) -> Sets:
    return {t: prod(1 - times[later] for later in times if later >= t) for t in times}


@SCALAR.rule(Before)
def _before(scalar: Scalar, node: Node, times: Sets) -> Sets:
    return {t: prod(1 - times[earlier] for earlier in times if earlier <= t) for t in times}


@SCALAR.rule(Next)
def _next(scalar: Scalar, node: Node, times: Sets) -> Sets:
    return {t: times.get(t - 1, 0.0) for t in times}


@settings(max_examples=150, deadline=None)
@given(data=st.data(), level=st.sampled_from(Level), seed=st.integers(0, 99))
def test_degrees_are_those_of_the_scalar_version(
    data: st.DataObject, level: Level, seed: int
) -> None:
    graph = data.draw(graphs())
    query = data.draw(queries(graph))
    view, tables = graph.view(level), Tables(graph, seed)
    everything = FuzzySettings(beam=1000, pairs=1000)
    degrees = FuzzyReasoner(World(view, tables), everything).scores_of(query)
    expected = fold(simplify(query), SCALAR, Scalar(view, tables.table))
    assert degrees == pytest.approx([expected[x] for x in range(len(degrees))], abs=1e-5)


@settings(max_examples=40, deadline=None)
@given(
    beam=st.integers(1, 4), pairs=st.integers(1, 9), seed=st.integers(0, 99),
    least=st.sampled_from([0.0, 0.5]), weight=st.sampled_from([0.5, 1.0, 2.0]),
)  # fmt: skip
def test_a_beam_lacks_no_more_than_it_says(
    beam: int, pairs: int, seed: int, least: float, weight: float
) -> None:
    graph = random_graph(seed, True, entities=8, times=12)
    world, whole = (World(graph.view("train"), Tables(graph, seed, few)) for few in (least, 0.0))
    weights = {"entity_weight": weight, "time_weight": weight}
    for text in ("Pe(Pe(0, 1, '1003'), 0, Pt(0, 2, 3))", "Pt({0, 1}, 0, Not({0}))"):
        query = parse(text, graph)
        batch = FuzzyBatch(world, FuzzySettings(beam=beam, pairs=pairs, **weights), 1, {})
        inner = FuzzyBatch(whole, FuzzySettings(beam=1000, pairs=1000, **weights), 1, {})
        arguments = [run(inner, one) for one in query.arguments]
        found = FUZZY.rule_of(query)(batch, query, *arguments)
        full = FUZZY.rule_of(query)(inner, query, *arguments)
        assert (found <= full + 1e-6).all()
        assert (full <= np.maximum(found, batch.chosen[id(query)].cut[0]) + 1e-5).all()


@pytest.mark.parametrize("logic", LOGICS)
def test_or_keeps_small_degrees(logic: str) -> None:
    small = np.array([[3e-9, 0.0, 1e-12]], np.float32)
    either = LOGICS[logic].disjunction([small, np.array([[1e-12, 2e-9, 0.5]], np.float32)])
    assert (either >= small).all() and either[0, 1] == np.float32(2e-9) and either[0, 2] >= 0.5
    a, b = np.random.default_rng(0).random((2, 1, 99)).astype(np.float32)
    dual = 1 - LOGICS[logic].conjunction([1 - a, 1 - b])
    assert LOGICS[logic].disjunction([a, b]) == pytest.approx(dual, abs=1e-6)


@pytest.mark.parametrize("logic", LOGICS)
def test_after_and_before_are_monotone(logic: str) -> None:
    random = np.random.default_rng(0)
    times = random.random((20, 30)).astype(np.float32) * (random.random((20, 30)) < 0.2)
    more = np.maximum(times, random.random(times.shape).astype(np.float32) * 0.3)
    rules = LOGICS[logic]
    after, before = rules.after(times), rules.before(times)
    # The later, the more surely it is after; and more times push the end of the calendar away.
    assert (np.diff(after, axis=1) >= 0).all() and (np.diff(before, axis=1) <= 0).all()
    assert (rules.after(more) <= after).all() and (rules.before(more) <= before).all()
    between = rules.both(after, before)
    assert (rules.both(rules.after(more), rules.before(more)) <= between).all()


def test_batches_are_queries_one_by_one() -> None:
    graph = random_graph(2, True, entities=20, times=30)
    reasoner = FuzzyReasoner(World(graph.view("train"), Tables(graph, 5)), FuzzySettings(beam=3))
    for name in ("Pe2", "e2i_Pe", "t2u", "Pe_aPt", "Pt_oPe_Pt", "e2i_NPe"):
        structure = STRUCTURES[name]
        anchors = random_anchors(structure, graph, 9, seed=7)
        alone = [reasoner.scores(name, anchors[row : row + 1]) for row in range(9)]
        assert np.array_equal(reasoner.scores(name, anchors), np.concatenate(alone)), name
    assert reasoner.scores("Pe", np.empty((0, 3), np.int32)).shape == (0, 20)
