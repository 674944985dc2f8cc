"""Batched by operator = one structure at a time."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tflex.errors import UnsupportedOperator
from tflex.models.interpreter import embed
from tflex.models.tflex import PRESETS, TFLEX, Settings, TflexModel
from tflex.query.algebra import And, Next, Or, Pe, Pt, Slot, Sort, Xor
from tflex.query.published import STRUCTURES
from tflex.query.structures import Structure, make_structure
from tflex.training.plan import Planner

SETTINGS = Settings(entities=9, relations=3, timestamps=6, dim=4, hidden=(5, 5), margin=6.0)
SIZES = {Sort.ENTITY: 9, Sort.RELATION: 6, Sort.TIME: 6}
MODELS = {
    name: TflexModel(spec, SETTINGS, torch.Generator().manual_seed(5))
    for name, spec in PRESETS.items()
}


def special_structures() -> list[Structure]:
    """A shared sub-query, one anchor used twice, tokens as arguments of `Or`, literals, `Xor`."""
    s, r, t = Slot("s", Sort.ENTITY), Slot("r", Sort.RELATION), Slot("t", Sort.TIME)
    shared = Pe(s, r, t)
    o = Slot("o", Sort.ENTITY)
    return [
        make_structure("shared", (s, r, t), And(shared, Pe(shared, r, t), shared)),
        make_structure("tokens", (s, r, o), Pt(Or(s, o), r, o)),
        make_structure("literals", (s,), Pe(Or(s, Pe({3, 4}, 2, 1)), 1, 5)),
        make_structure("xor", (s, r, t, o), Xor(Pe(s, r, t), Or(o, s))),
        make_structure("bare", (s,), s),
    ]


POOL = [*STRUCTURES, *special_structures()]


def anchors_of(structure: Structure, n: int, random: np.random.Generator) -> np.ndarray:
    columns = [random.integers(SIZES[slot.sort], size=n) for slot in structure.parameters]
    return np.stack(columns, axis=1)


def separately(model: TflexModel, batch: list[tuple[Structure, np.ndarray]]) -> torch.Tensor:
    return torch.cat([embed(model, one, torch.from_numpy(anchors)) for one, anchors in batch])


@settings(max_examples=40, deadline=None)
@given(
    name=st.sampled_from(sorted(PRESETS)),
    chosen=st.lists(st.tuples(st.sampled_from(POOL), st.integers(0, 3)), min_size=1, max_size=8),
    seed=st.integers(0, 100),
)
def test_batched_equals_one_by_one(
    name: str, chosen: list[tuple[Structure, int]], seed: int
) -> None:
    if not any(n for _, n in chosen):
        chosen = [*chosen, (POOL[0], 1)]
    random = np.random.default_rng(seed)
    model = MODELS[name]
    batch = [(one, anchors_of(one, n, random)) for one, n in chosen]
    result = Planner(model)(batch)
    expected = separately(model, batch)
    torch.testing.assert_close(result.entity, expected[result.entity_rows])
    torch.testing.assert_close(result.time, expected[result.time_rows])
    both = torch.cat((result.entity_rows, result.time_rows))
    assert both.sort().values.tolist() == list(range(len(expected)))


def test_gradients_equal_those_of_one_by_one() -> None:
    model = MODELS["tflex"]
    random = np.random.default_rng(0)
    batch = [(one, anchors_of(one, 3, random)) for one in POOL]
    result = Planner(model)(batch)
    weights = torch.rand(len(result.entity) + len(result.time), 16)
    total = (result.entity * weights[result.entity_rows]).sum()
    total = total + (result.time * weights[result.time_rows]).sum()
    used = [p for name, p in model.named_parameters() if "TimeOr" not in name]
    batched = torch.autograd.grad(total, used, allow_unused=True)
    alone = torch.autograd.grad((separately(model, batch) * weights).sum(), used, allow_unused=True)
    torch.testing.assert_close(batched, alone, rtol=1e-4, atol=1e-5)


def test_few_calls_per_operator() -> None:
    planner = Planner(MODELS["tflex"])
    names = ["Pe", "Pe2", "Pe3", "e2i", "e3i", "Pt", "t2i", "Pe_Pt", "e2i_N"]
    plan = planner.plan(tuple((STRUCTURES[name], 10) for name in names))
    calls = [(call.name, len(call.arguments), call.total) for call in plan.operators]
    assert sorted(calls) == [
        ("And", 2, 20),
        ("And", 3, 10),
        ("Not", 1, 10),
        ("Pe", 3, 10),  # the last hop of Pe3
        ("Pe", 3, 20),  # of Pe2, Pe3
        ("Pe", 3, 110),  # all others, Pe_Pt's among them: Pt runs first
        ("Pt", 3, 40),
        ("TimeAnd", 2, 10),
    ]
    counted = sum(
        total * MODELS["tflex"].operator(name).multiply_adds(arity) for name, arity, total in calls
    )
    assert plan.multiply_adds(MODELS["tflex"]) == counted


@pytest.mark.parametrize("sorts", [(Sort.ENTITY,), (Sort.TIME,), (Sort.ENTITY, Sort.TIME)])
def test_candidates_come_with_the_anchors(sorts: tuple[Sort, ...]) -> None:
    model = MODELS["tflex-published"]
    ids = torch.tensor([5, 0, 5])
    anchors = anchors_of(STRUCTURES["Pt"], 3, np.random.default_rng(0))
    batch = [(STRUCTURES["Pt"], anchors)]
    result = Planner(model)(batch, dict.fromkeys(sorts, ids))
    assert torch.equal(result.time, Planner(model)(batch).time)
    for sort in sorts:
        assert torch.equal(result.candidates[sort], model.tokens.features(sort, ids))


def test_a_shared_node_is_computed_once() -> None:
    shared = special_structures()[0]
    plan = Planner(MODELS["tflex"]).plan(((shared, 7),))
    assert [(call.name, call.total) for call in plan.operators] == [
        ("Pe", 7),
        ("Pe", 7),
        ("And", 7),
    ]


def test_plans_are_kept_by_signature() -> None:
    planner = Planner(MODELS["tflex"])
    first = planner.plan(((STRUCTURES["Pe"], 3), (STRUCTURES["Pt"], 2)))
    assert planner.plan(((STRUCTURES["Pe"], 3), (STRUCTURES["Pt"], 2))) is first
    assert planner.plan(((STRUCTURES["Pe"], 3), (STRUCTURES["Pt"], 1))) is not first


def test_an_unsupported_operator_raises_by_name() -> None:
    s, r, o = Slot("s", Sort.ENTITY), Slot("r", Sort.RELATION), Slot("o", Sort.ENTITY)
    unknown = make_structure("n", (s, r, o), Next(Pt(s, r, o)))
    with pytest.raises(UnsupportedOperator, match="next"):
        Planner(TflexModel(TFLEX, SETTINGS)).plan(((unknown, 2),))
