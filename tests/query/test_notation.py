"""Formulas of queries, as the paper writes them."""

from __future__ import annotations

import pytest

from tests.query.test_describe import Since
from tflex.errors import QueryError
from tflex.query.algebra import Not, Pe, Pt
from tflex.query.notation import formula
from tflex.query.published import STRUCTURES
from tflex.query.text import parse


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Pe2", "q[V?] = V?, ∃ Va, r1(e1, Va, t1) ∧ r2(Va, V?, t2)"),
        ("Pt", "q[T?] = T?, r1(e1, e2, T?)"),
        ("e2i", "q[V?] = V?, r1(e1, V?, t1) ∧ r2(e2, V?, t2)"),
        ("Pe_e2u", "q[V?] = V?, ∃ Va, (r1(e1, Va, t1) ∨ r2(e2, Va, t2)) ∧ r3(Va, V?, t3)"),
        ("e2i_NPe", "q[V?] = V?, ¬(∃ Va, r1(e1, Va, t1) ∧ r2(Va, V?, t2)) ∧ r3(e2, V?, t3)"),
        ("aPt", "q[T?] = T?, ∀ Ta, r1(e1, e2, Ta) → After(Ta, T?)"),
        ("between", "q[T?] = T?, (∀ Ta, r1(e1, e2, Ta) → After(Ta, T?))"
                    " ∧ (∀ Tb, r2(e3, e4, Tb) → Before(Tb, T?))"),
        ("Pt_sPe_Pt", "q[T?] = T?, ∃ Ta, Va, r2(e2, e3, Ta) ∧ r1(e1, Va, Ta) ∧ r3(Va, e4, T?)"),
    ],
)  # fmt: skip
def test_structures(name: str, expected: str) -> None:
    assert formula(STRUCTURES[name].body) == expected


def test_latex_of_the_paper() -> None:
    assert formula(STRUCTURES["Pe2"].body, latex=True) == (
        r"q[V_?] = V_?, \exists V_a, r_1(e_1, V_a, t_1) \wedge r_2(V_a, V_?, t_2)"
    )


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ('Pe("Citizen (India)", ~"Make a visit", "2014-07-03")',
         "q[V?] = V?, Make a visit⁻¹(“Citizen (India)”, V?, 2014-07-03)"),
        ('Pe({"a", "b"}, "r", "2014/2015")',
         "q[V?] = V?, ∃ Va, Ta, Va ∈ {a, b} ∧ Ta ∈ [2014, 2015] ∧ r(Va, V?, Ta)"),
        ('TimeAnd(next("2014"), after("2013"))', "q[T?] = T?, Next(2014, T?) ∧ After(2013, T?)"),
        ('Xor(Pe("a", "r", "1"), Implies(Pe("b", "r", "1"), Pe("c", "r", "1")))',
         "q[V?] = V?, r(a, V?, 1) ⊕ (r(b, V?, 1) → r(c, V?, 1))"),
        ('T = Pt("a", "r", "b"); Pe(Pe("c", "s", T), "s", T)',
         "q[V?] = V?, ∃ Ta, Va, Tb, S1(Ta) ∧ s(c, Va, Ta) ∧ S1(Tb) ∧ s(Va, V?, Tb)"
         " where S1[T?] = T?, r(a, b, T?)"),
        ('Pe({}, "r", "1")', "q[V?] = V?, ∃ Va, Va ∈ ∅ ∧ r(Va, V?, 1)"),
    ],
)  # fmt: skip
def test_grounded_queries(query: str, expected: str) -> None:
    assert formula(parse(query)) == expected


def test_names_are_escaped_in_latex() -> None:
    assert formula(Pe("a_b & {c}", "50%", "~"), latex=True) == (
        r"q[V_?] = V_?, \text{50\%}(\text{a\_b \& \{c\}}, V_?, \text{\textasciitilde{}})"
    )


def test_an_operator_without_a_formula_is_a_predicate() -> None:
    assert formula(Pe("a", "r", Since(Pt("b", "s", "c")))) == (
        "q[V?] = V?, ∃ Ta, since(S1, Ta) ∧ r(a, V?, Ta) where S1[T?] = T?, s(b, c, T?)"
    )


def test_a_formula_has_a_depth() -> None:
    query = Pe("a", "r", "1")
    for _ in range(5000):
        query = Not(query)
    with pytest.raises(QueryError, match="nests too deeply"):
        formula(query)
