"""Each rewrite as pairs: what stands before, what stands after."""

from __future__ import annotations

import pytest

from tflex.errors import QueryError
from tflex.query.algebra import Derived, EntityLiteral, Next, Node, Not, Or, topological
from tflex.query.keys import same
from tflex.query.published import STRUCTURES
from tflex.query.rewrite import (
    disjuncts,
    dm,
    dnf,
    normal_form,
    push_negations,
    simplify,
    simplify_exactly,
    without_unions,
)
from tflex.query.text import parse, print_query

PARTS = """
A = Pe("a", "r", "1"); B = Pe("b", "r", "1"); C = Pe("c", "r", "1"); D = Pe("d", "r", "1")
T = Pt("a", "r", "b"); U = Pt("b", "r", "c"); W = Pt("c", "r", "d")
"""


def read(text: str) -> Node:
    return parse(f"{PARTS}; {text}".replace("\n", ";").replace(";;", ";").lstrip(";"))


def check(found: Node, expected: str) -> None:
    assert same(found, read(expected)), print_query(found)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("And(And(A, B), C)", "And(A, B, C)"),
        ("Or(A, Or(B, Or(C, D)))", "Or(A, B, C, D)"),
        ("And(Or(A, B), C)", "And(Or(A, B), C)"),
        ("And(A)", "A"),
        ("Or(And(Or(A)))", "A"),
        ("Not(Not(A))", "A"),
        ("Not(Not(Not(A)))", "Not(A)"),
        ("Pe(And(And(A, B)), 'r', Not(Not(T)))", "Pe(And(A, B), 'r', T)"),
        ("And(And(Not(Not(And(A, B))), C), D)", "And(A, B, C, D)"),
        ("TimeAnd(TimeAnd(T, U), after(TimeOr(W)))", "And(T, U, after(W))"),
        # A repeated conjunct counts twice in product logic, so it stays.
        ("And(A, A)", "And(A, A)"),
        ("Or(A, And(A, B))", "Or(A, And(A, B))"),
        ("Xor(Not(Not(A)), B)", "Xor(A, B)"),
    ],
)
def test_simplify(before: str, after: str) -> None:
    check(simplify(read(before)), after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("And(A, B, A)", "And(A, B)"),
        ("Or(A, Pe('a', 'r', '1'))", "A"),
        ("And(A, Or(B, A))", "A"),
        ("Or(And(A, B), A, C)", "Or(A, C)"),
        ("And(B, Or(A, Not(A)))", "B"),
        ("Or(B, And(A, Not(A)))", "B"),
        ("And(And(A, B), And(B, A))", "And(A, B)"),
    ],
)
def test_simplify_exactly(before: str, after: str) -> None:
    check(simplify_exactly(read(before)), after)


@pytest.mark.parametrize(
    "nothing",
    ["And(A, Not(A))", "And(B, Pe({}, 'r', '1'))", "Pe(And(A, Not(A)), 'r', T)", "Pe(A, 'r', {})"],
)
def test_what_is_empty_becomes_the_empty_literal(nothing: str) -> None:
    assert same(simplify_exactly(read(nothing)), EntityLiteral(()))
    assert same(simplify_exactly(read(f"Not({nothing})")), Not(EntityLiteral(())))


def test_after_no_time_is_all_time() -> None:
    """after(∅) is all of T, so it does not vanish with its argument."""
    check(simplify_exactly(read("after(Pt({}, 'r', 'b'))")), "after({})")
    nowhere = read("Pt({}, 'r', 'b')")
    assert same(simplify_exactly(Next(nowhere)), simplify_exactly(nowhere))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Not(And(A, B))", "Or(Not(A), Not(B))"),
        ("Not(Or(A, Not(B), C))", "And(Not(A), B, Not(C))"),
        ("Not(Not(And(A, B)))", "And(A, B)"),
        ("Not(And(A, Or(B, Not(C))))", "Or(Not(A), And(Not(B), C))"),
        ("Not(Implies(A, B))", "And(A, Not(B))"),
        ("Not(Xor(A, B))", "Or(And(Not(A), Not(B)), And(A, B))"),
        ("Not(Equivalent(A, B))", "And(Or(Not(A), Not(B)), Or(A, B))"),
        ("Not(between(T, U))", "Or(Not(after(T)), Not(before(U)))"),
        ("Not(Pe(Not(And(A, B)), 'r', T))", "Not(Pe(Or(Not(A), Not(B)), 'r', T))"),
        ("after(Not(Or(T, U)))", "after(And(Not(T), Not(U)))"),
    ],
)
def test_push_negations(before: str, after: str) -> None:
    check(push_negations(read(before)), after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Or(A, B)", "Not(And(Not(A), Not(B)))"),
        ("Or(A, Not(B))", "Not(And(Not(A), B))"),
        ("Not(Or(A, B))", "And(Not(A), Not(B))"),
        ("Or(A)", "A"),
        ("Pe(Or(A, B), 'r', Or(T, U))",
         "Pe(Not(And(Not(A), Not(B))), 'r', Not(And(Not(T), Not(U))))"),
        ("Implies(A, B)", "Not(And(A, Not(B)))"),
    ],
)  # fmt: skip
def test_without_unions(before: str, after: str) -> None:
    check(without_unions(read(before)), after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("A", "A"),
        ("And(A, B)", "And(A, B)"),
        ("And(A, Or(B, C))", "Or(And(A, B), And(A, C))"),
        ("And(Or(A, B), Or(C, D))", "Or(And(A, C), And(A, D), And(B, C), And(B, D))"),
        ("Not(And(A, B))", "Or(Not(A), Not(B))"),
        ("Pe(Or(A, B), 'r', '1')", "Or(Pe(A, 'r', '1'), Pe(B, 'r', '1'))"),
        ("Pe(A, 'r', Or(T, U))", "Or(Pe(A, 'r', T), Pe(A, 'r', U))"),
        ("Pt(Or(A, B), 'r', Or(C, D))",
         "Or(Pt(A, 'r', C), Pt(A, 'r', D), Pt(B, 'r', C), Pt(B, 'r', D))"),
        ("Pe(And(A, Or(B, C)), 'r', T)", "Or(Pe(And(A, B), 'r', T), Pe(And(A, C), 'r', T))"),
        ("Not(Pe(Or(A, B), 'r', T))", "And(Not(Pe(A, 'r', T)), Not(Pe(B, 'r', T)))"),
        ("next(Or(T, U))", "Or(next(T), next(U))"),
        ("after(Or(T, U))", "And(after(T), after(U))"),
        ("before(Or(T, U, W))", "And(before(T), before(U), before(W))"),
        ("Not(after(Or(T, U)))", "Or(Not(after(T)), Not(after(U)))"),
        ("between(Or(T, U), W)", "And(after(T), after(U), before(W))"),
        ("Xor(A, B)", "Or(And(A, Not(A)), And(A, Not(B)), And(B, Not(A)), And(B, Not(B)))"),
        ("And(A, Or(B, A))", "Or(And(A, B), A)"),
    ],
)  # fmt: skip
def test_normal_form(before: str, after: str) -> None:
    check(normal_form(read(before)), after)


def test_disjuncts_are_the_queries_of_the_union() -> None:
    first, second = disjuncts(read("Pe(Or(A, B), 'r', '1')"))
    check(first, "Pe(A, 'r', '1')")
    check(second, "Pe(B, 'r', '1')")


def test_a_normal_form_beyond_the_limit_is_an_error() -> None:
    choices = ", ".join(f"Or(Pe('{i}', 'r', '1'), Pe('{i}', 's', '1'))" for i in range(40))
    with pytest.raises(QueryError, match="the limit is 4096"):
        normal_form(read(f"And({choices})"))
    assert len(disjuncts(read(f"Or({choices})"))) == 80


def test_an_unneeded_complement_costs_nothing() -> None:
    """The complement of this query would have 2⁴⁰ disjuncts."""
    pairs = ", ".join(f"And(Pe('{i}', 'r', '1'), Pe('{i}', 's', '1'))" for i in range(40))
    assert len(disjuncts(read(f"Or({pairs})"))) == 40


def test_shared_parts_stay_shared_however_deep() -> None:
    """Without sharing this query has 2²⁰⁰ nodes."""
    levels = "; ".join(
        f"X{i + 1} = And(X{i}, Not(Not(X{i})), Pe(X{i}, 'r', '1'))" for i in range(200)
    )
    query = read(f"X0 = A; {levels}; Not(X200)")
    for change in (simplify, simplify_exactly, push_negations, without_unions):
        assert len(topological(change(query))) < 2100


def test_simplify_makes_equal_parts_one() -> None:
    query = simplify(read("And(Pe('a', 'r', '1'), Not(Pe(Pe('a', 'r', '1'), 's', '1')))"))
    assert sum(1 for node in topological(query) if print_query(node) == 'Pe("a", "r", "1")') == 1


@pytest.mark.parametrize("name", ["e2u", "Pe_e2u", "t2u", "Pe_t2u"])
def test_dm_and_dnf_of_the_paper(name: str) -> None:
    """2u-DM is ((p, n), (p, n)), n and up-DM adds the projection; up-DNF unites two paths."""
    structure = STRUCTURES[name]
    mine, theirs = dm(structure), dnf(structure)
    assert (mine.name, theirs.name) == (f"{name}_DM", f"{name}_DNF")
    assert mine.parameters == theirs.parameters == structure.parameters
    assert not any(isinstance(node, Or) for node in topological(mine.body))
    assert isinstance(theirs.body, Or)
    assert not any(
        isinstance(node, Or) for one in theirs.body.arguments for node in topological(one)
    )


def test_dm_of_a_union_below_a_projection() -> None:
    s1, r1, t1, s2, r2, t2, r3, t3 = ["s1", "r1", "t1", "s2", "r2", "t2", "r3", "t3"]
    filled = dm(STRUCTURES["Pe_e2u"])(s1, r1, t1, s2, r2, t2, r3, t3)
    expected = "Pe(Not(And(Not(Pe('s1', 'r1', 't1')), Not(Pe('s2', 'r2', 't2')))), 'r3', 't3')"
    assert same(filled, parse(expected))
    united = dnf(STRUCTURES["Pe_e2u"])(s1, r1, t1, s2, r2, t2, r3, t3)
    expected = "Or(Pe(Pe('s1','r1','t1'), 'r3', 't3'), Pe(Pe('s2', 'r2', 't2'), 'r3', 't3'))"
    assert same(united, parse(expected))


@pytest.mark.parametrize("structure", STRUCTURES, ids=lambda one: one.name)
def test_structures_without_unions_are_their_own_dm(structure) -> None:  # type: ignore[no-untyped-def]
    if not any(isinstance(node, Or | Derived) for node in topological(structure.body)):
        assert dm(structure).body is structure.body
        assert same(dnf(structure).body, structure.body)
