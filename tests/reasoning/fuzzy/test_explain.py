"""Explanations: the fact that is named gives the degree that is claimed."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties.test_engine import random_graph
from tests.reasoning.fuzzy.test_reasoner import Tables
from tests.strategies import graphs, queries
from tflex.query.text import parse
from tflex.reasoning.fuzzy import FuzzySettings, World
from tflex.reasoning.fuzzy.explain import Explainer, Reason


def check(reason: Reason, world: World, tables: Tables) -> None:
    if reason.fact is not None:
        s, r, o, t = reason.fact
        facts = world.view.graph.facts
        known = (facts.relation == r % world.relation_count) & (facts.level <= world.level)
        if r >= world.relation_count:
            s, o = o, s
        known &= (facts.subject == s) & (facts.object == o) & (facts.start <= t) & (t <= facts.end)
        if reason.source == "known":
            assert known.any() and reason.probability == 1
        else:
            assert reason.probability == pytest.approx(tables.table[reason.fact], abs=1e-6)
        # A literal has no part of its own: its members have degree 1.
        parts = prod(part.degree for part in reason.parts)
        assert reason.probability is not None
        assert reason.degree == pytest.approx(parts * reason.probability, abs=1e-5)
    elif reason.source == "none":
        assert reason.degree == 0 and reason.operator in ("Pe", "Pt")
    elif reason.operator == "Or" and reason.parts:
        # A part that is given has degree 1 or 0.
        some = 1 - prod(1 - part.degree for part in reason.parts)
        assert reason.degree == pytest.approx(max(some, float(reason.degree == 1)), abs=1e-5)
    elif reason.operator == "Not" and reason.parts:
        assert reason.degree == pytest.approx(1 - reason.parts[0].degree, abs=1e-5)
    elif reason.operator in ("after", "before"):
        late = reason.operator == "after"
        beyond = [
            part.degree
            for part in reason.parts
            if (part.member >= reason.member if late else part.member <= reason.member)
        ]
        # Times that are not told only lower it further.
        told = prod(1 - degree for degree in beyond)
        assert reason.degree <= told + 1e-5
        assert reason.others or not reason.parts or reason.degree >= told - 1e-5
    for part in reason.parts:
        check(part, world, tables)


@settings(max_examples=100, deadline=None)
@given(data=st.data(), seed=st.integers(0, 99))
def test_reasons_add_up(data: st.DataObject, seed: int) -> None:
    graph = data.draw(graphs())
    query = data.draw(queries(graph))
    tables = Tables(graph, seed)
    world = World(graph.view("train"), tables)
    explainer = Explainer(world, FuzzySettings(beam=100), query)
    for member in range(min(4, len(explainer.degrees))):
        reason = explainer.explain(member)
        assert reason.degree == pytest.approx(float(explainer.degrees[member]))
        check(reason, world, tables)


def test_the_best_path_is_told() -> None:
    graph = random_graph(2, False, entities=12, times=70)
    text = "Pe(And(Pe(0, 0, '1000/1069'), Not(3)), 1, after(Pt(1, 2, 4)))"
    tables = Tables(graph, 1)
    world = World(graph.view("train"), tables)
    explainer = Explainer(world, FuzzySettings(), parse(text, graph))
    best = int(np.argmax(explainer.degrees))
    reason = explainer.explain(best)
    inner, when = reason.parts
    assert (reason.operator, inner.operator, when.operator) == ("Pe", "And", "after")
    assert reason.fact is not None and reason.fact[2] == best
    assert inner.member == reason.fact[0] and when.member == reason.fact[3]
    # What is said of `after` is the last likely time of what it is taken of.
    assert when.parts[0].operator == "Pt" and when.parts[0].member < when.member
    check(reason, world, tables)
