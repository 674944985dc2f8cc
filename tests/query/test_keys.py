"""Which queries are one."""

from __future__ import annotations

import pytest

from tflex.errors import QueryError
from tflex.query.algebra import (
    After,
    And,
    EntityLiteral,
    Equivalent,
    Implies,
    Next,
    Not,
    Or,
    Pe,
    Pt,
    TimeLiteral,
    Xor,
)
from tflex.query.keys import key, same
from tflex.query.published import STRUCTURES
from tflex.query.text import parse

RELATIONS = 10
A, B = Pe(0, 1, 2), Pe(3, 4, 5)
T, U = Pt(0, 1, 2), Pt(3, 4, 5)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Pt(0, 11, 2), Pt(2, 1, 0)),
        (And(A, B), And(B, A)),
        (Or(And(A)), A),
        (Or(T, U), Or(U, T)),
        (Xor(A, B), Xor(B, A)),
        (Equivalent(T, U), Equivalent(U, T)),
        (Implies(A, B), Or(B, Not(A))),
        (Pe(0, 1, And(Pt(0, 11, 2), U)), Pe(0, 1, And(U, Pt(2, 1, 0)))),
        (Pe(EntityLiteral((1, 2, 1)), 0, 0), Pe(EntityLiteral((2, 1)), 0, 0)),
        (Pe(0, 0, TimeLiteral([(0, 3), 4])), Pe(0, 0, TimeLiteral([(2, 4), (0, 2)]))),
        (STRUCTURES["between"](0, 1, 2, 3, 4, 5), parse("between(Pt(0,1,2), Pt(3,4,5))")),
    ],
)
def test_two_ways_to_write_one_query(first, second) -> None:  # type: ignore[no-untyped-def]
    assert key(first, RELATIONS) == key(second, RELATIONS)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Pe(0, 11, 2), Pe(2, 1, 0)),
        (Pt(0, 1, 2), Pt(2, 1, 0)),
        (Implies(A, B), Implies(B, A)),
        (A, T),
        (After(T), Next(T)),
        (And(A, A), A),
        (Pe(EntityLiteral(()), 0, 0), Pe(0, 0, TimeLiteral(()))),
        (EntityLiteral(()), TimeLiteral(())),
        (TimeLiteral([(0, 1)]), TimeLiteral([0, 2])),
    ],
)
def test_different_queries(first, second) -> None:  # type: ignore[no-untyped-def]
    assert key(first, RELATIONS) != key(second, RELATIONS)


def test_a_key_needs_a_bound_query() -> None:
    for text in ('Pe("a", 0, 0)', 'Pe(0, "r", 0)', 'Pt(0, "r", 1)', 'Pe(0, 0, "t")'):
        with pytest.raises(QueryError, match="not bound"):
            key(parse(text), RELATIONS)
    with pytest.raises(QueryError, match="not filled"):
        key(STRUCTURES["e2i"].body, RELATIONS)


def test_a_key_of_a_deeply_shared_query_is_short() -> None:
    query = A
    for _ in range(200):
        query = And(query, Not(query))
    assert len(key(query, RELATIONS)) == 32


def test_same_is_structural() -> None:
    assert same(And(A, A), And(Pe(0, 1, 2), Pe(0, 1, 2)))
    assert not same(And(A, B), And(B, A))
    assert not same(Pe("0", 1, 2), Pe(0, 1, 2))
