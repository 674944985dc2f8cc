"""Fuzzy and vector logic: the formulas of appendix A, truth tables, closure."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tflex.models.logic import FUZZY_LOGIC, VECTOR_LOGIC, Logic

from . import scalar

LOGICS = [(VECTOR_LOGIC, scalar.VECTOR), (FUZZY_LOGIC, scalar.FUZZY)]
TRUTH = {
    "and": [0, 0, 0, 1],
    "or": [0, 1, 1, 1],
    "implies": [1, 1, 0, 1],
    "xor": [0, 1, 1, 0],
    "equivalent": [1, 0, 0, 1],
}
UNIT = st.floats(0, 1, width=32)


def connectives(logic: Logic) -> dict[str, object]:
    return {
        "and": logic.conjunction,
        "or": logic.disjunction,
        "implies": logic.implication,
        "xor": logic.exclusive_or,
        "equivalent": logic.equivalence,
    }


@pytest.mark.parametrize(("logic", "plain"), LOGICS, ids=["vector", "fuzzy"])
@pytest.mark.parametrize("name", sorted(TRUTH))
def test_crisp_values_give_the_truth_table(logic: Logic, plain: dict, name: str) -> None:
    first, second = torch.tensor([0.0, 0, 1, 1]), torch.tensor([0.0, 1, 0, 1])
    assert connectives(logic)[name](first, second).tolist() == TRUTH[name]


@pytest.mark.parametrize(("logic", "plain"), LOGICS, ids=["vector", "fuzzy"])
@given(a=UNIT, b=UNIT)
def test_formulas_and_closure(logic: Logic, plain: dict, a: float, b: float) -> None:
    for name, function in connectives(logic).items():
        value = function(torch.tensor(a), torch.tensor(b)).item()
        assert value == pytest.approx(plain[name](a, b), abs=1e-6)
        assert 0 <= value <= 1, name
    assert logic.negation(torch.tensor(a)).item() == pytest.approx(1 - a, abs=1e-7)


@given(st.lists(UNIT, min_size=1, max_size=5))
def test_or_of_many_is_inclusion_and_exclusion(values: list[float]) -> None:
    """Σ q_i − Σ q_i q_j + … (appendix A.3) is 1 − Π(1 − q_i)."""
    none = 1.0
    for value in values:
        none *= 1 - value
    assert VECTOR_LOGIC.any_of(torch.tensor(values)).item() == pytest.approx(1 - none, abs=1e-5)
    assert FUZZY_LOGIC.any_of(torch.tensor(values)).item() == pytest.approx(max(values))
