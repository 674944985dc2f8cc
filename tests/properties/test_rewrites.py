"""Rewrites keep the answers of every query on every graph; keys and printing respect that."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import graphs, queries
from tflex.errors import QueryError
from tflex.exact.reference import Quadruples, answer
from tflex.query.algebra import And, Derived, Node, Not, Or, expand, topological, transform
from tflex.query.keys import key, same
from tflex.query.rewrite import (
    EXACT_SIMPLIFICATIONS,
    disjuncts,
    normal_form,
    push_negations,
    rewrite,
    simplify,
    simplify_exactly,
    without_unions,
)

REWRITES = (simplify, simplify_exactly, push_negations, without_unions, expand)


@pytest.mark.parametrize("change", REWRITES, ids=lambda one: one.__name__)
@given(data=st.data())
def test_rewrites_keep_the_answers(change: Callable[[Node], Node], data: st.DataObject) -> None:
    graph = data.draw(graphs())
    query = data.draw(queries(graph))
    facts = Quadruples(graph.view("test"))
    assert answer(facts, change(query)) == answer(facts, query)


@pytest.mark.parametrize("rule", EXACT_SIMPLIFICATIONS, ids=lambda one: one.__name__)
@given(data=st.data())
def test_each_rule_keeps_the_answers(rule: Callable[[Node], Node], data: st.DataObject) -> None:
    graph = data.draw(graphs())
    query = expand(data.draw(queries(graph)))
    facts = Quadruples(graph.view("test"))
    assert answer(facts, rewrite(query, [rule])) == answer(facts, query)


@given(st.data())
def test_the_normal_form_keeps_the_answers(data: st.DataObject) -> None:
    graph = data.draw(graphs())
    query = data.draw(queries(graph))
    facts = Quadruples(graph.view("test"))
    try:
        found = disjuncts(query)
    except QueryError:
        return  # a query whose normal form is too large
    assert set().union(*(answer(facts, one) for one in found)) == answer(facts, query)
    assert not any(isinstance(node, Or) for one in found for node in topological(one))
    for one in found:
        atoms = one.arguments if isinstance(one, And) else (one,)
        assert not any(isinstance(atom, And) for atom in atoms)
        assert not any(isinstance(n, Not) and isinstance(n.arguments[0], And | Not)
                       for n in topological(one))  # fmt: skip
    assert same(normal_form(query), normal_form(normal_form(query)))


@given(st.data())
def test_negations_stand_before_atoms(data: st.DataObject) -> None:
    query = push_negations(data.draw(queries(data.draw(graphs()))))
    for node in topological(query):
        assert not isinstance(node, Derived)
        assert not (isinstance(node, Not) and isinstance(node.arguments[0], And | Or | Not))


@given(st.data())
def test_simplify_is_idempotent(data: st.DataObject) -> None:
    query = data.draw(queries(data.draw(graphs())))
    for change in (simplify, simplify_exactly, push_negations, without_unions):
        once = change(query)
        assert same(change(once), once)


@given(st.data())
def test_a_key_sees_neither_sharing_nor_order(data: st.DataObject) -> None:
    graph = data.draw(graphs())
    query = data.draw(queries(graph))
    count = graph.relation_count

    def unshared(node: Node) -> Node:
        return node.rebuilt(unshared(argument) for argument in node.arguments)

    def reordered(node: Node) -> Node:
        swaps = isinstance(node, And | Or)
        return node.rebuilt(data.draw(st.permutations(node.arguments))) if swaps else node

    assert key(query, count) == key(expand(query), count)
    assert key(query, count) == key(transform(query, reordered), count)
    if len(topological(query)) < 12:
        assert same(unshared(query), query)
        assert key(unshared(query), count) == key(query, count)


@given(st.data())
def test_queries_of_one_key_have_the_same_answers(data: st.DataObject) -> None:
    graph = data.draw(graphs())
    facts = Quadruples(graph.view("test"))
    first, second = (data.draw(queries(graph, max_operators=1)) for _ in range(2))
    if key(first, graph.relation_count) == key(second, graph.relation_count):
        assert first.sort is second.sort and answer(facts, first) == answer(facts, second)
