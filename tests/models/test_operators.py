"""Each operator module against the same equation in plain Python, and the laws of section 4."""

from __future__ import annotations

import math
from itertools import permutations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from tflex.models import distance, operators
from tflex.models.embedding import Parts, parts
from tflex.models.operators import Complement, Mlp
from tflex.models.tflex import PRESETS, Settings, TflexModel, Tokens

from . import scalar

DIM = 3
SETTINGS = Settings(entities=7, relations=2, timestamps=5, dim=DIM, hidden=(4, 5), margin=6.0)
CONNECTIVES = ("And", "Or", "Implies", "Xor", "Equivalent")
LOGICS = {"tflex": scalar.VECTOR, "tflex-published": scalar.FUZZY}


@pytest.fixture(scope="module", params=sorted(PRESETS))
def model(request: pytest.FixtureRequest) -> TflexModel:
    made = TflexModel(PRESETS[request.param], SETTINGS, torch.Generator().manual_seed(3)).double()
    for parameter in made.operators.parameters():
        nn.init.uniform_(parameter, -1, 1)
    return made


def some_rows(*shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    feature = torch.rand(*shape, 2, DIM, generator=generator).double() * 4 - 2
    logic = torch.rand(*shape, 2, DIM, generator=generator).double()
    return torch.stack((feature, logic), dim=-2).flatten(-3)


def plain(row: torch.Tensor) -> scalar.Row:
    first, second, third, fourth = (part.tolist() for part in parts(row))
    return first, second, third, fourth


def plain_mlp(mlp: Mlp) -> scalar.Perceptron:
    return scalar.perceptron([(layer.weight.tolist(), layer.bias.tolist()) for layer in mlp.layers])


def agrees(result: torch.Tensor, expected: scalar.Row) -> bool:
    return result.tolist() == pytest.approx([v for part in expected for v in part], abs=1e-12)


@pytest.mark.parametrize("name", ["Pe", "Pt"])
def test_projection(model: TflexModel, name: str) -> None:
    module = model.operator(name)
    arguments = [some_rows(4, seed=seed) for seed in range(3)]
    squash = (
        (lambda v: v, scalar.sigmoid)
        if model.name == "tflex"
        else (math.tanh, lambda v: scalar.sigmoid(2 * v))
    )
    for i, row in enumerate(module(*arguments)):
        inputs = [plain(argument[i]) for argument in arguments]
        assert agrees(row, scalar.projection(plain_mlp(module.mlp), *inputs, *squash))


@pytest.mark.parametrize(
    ("name", "arity"), [*((name, 2) for name in CONNECTIVES), ("And", 3), ("Or", 3)]
)
@pytest.mark.parametrize("of_time", [False, True])
def test_dyadic(model: TflexModel, name: str, arity: int, of_time: bool) -> None:
    prefix, logic = "Time" if of_time else "", LOGICS[model.name]
    owner = "Or" if name == "Or" else "And"
    attention = model.operator(prefix + owner).attention
    own, aligned = logic[name.lower()], logic["and"]
    rows = some_rows(arity, 4)
    for i, row in enumerate(model.operator(prefix + name)(rows)):
        expected = scalar.dyadic(
            plain_mlp(attention.entity),
            plain_mlp(attention.time),
            [plain(argument) for argument in rows[:, i]],
            aligned if of_time else own,
            own if of_time else aligned,
        )
        assert agrees(row, expected)


@pytest.mark.parametrize("of_time", [False, True])
def test_complement(model: TflexModel, of_time: bool) -> None:
    module: Complement = model.operator("TimeNot" if of_time else "Not")
    activation = math.tanh if model.name == "tflex" else (lambda v: v)
    rows = some_rows(4)
    for source, row in zip(rows, module(rows[None]), strict=True):
        expected = scalar.complement(plain_mlp(module.mlp), plain(source), of_time, activation)
        assert agrees(row, expected)


def test_after_before_and_between(model: TflexModel) -> None:
    first, second = some_rows(4, seed=1), some_rows(4, seed=2)
    after = model.operator("After")(first[None])
    before = model.operator("Before")(second[None])
    between = model.operator("Between")(torch.stack((first, second)))
    attention = model.operator("TimeAnd").attention
    conjunction = LOGICS[model.name]["and"]
    for i in range(4):
        assert agrees(after[i], scalar.after(plain(first[i])))
        assert agrees(before[i], scalar.before(plain(second[i])))
        expected = scalar.dyadic(
            plain_mlp(attention.entity),
            plain_mlp(attention.time),
            [scalar.after(plain(first[i])), scalar.before(plain(second[i]))],
            conjunction,
            conjunction,
        )
        assert agrees(between[i], expected)


@given(feature=st.floats(-3, 3), logic=st.floats(0, 1))
def test_interval_picture(feature: float, logic: float) -> None:
    """[f−l, f+l] inside [f−1, f+1]: `before` is what lies below it, `after` what lies above."""
    cell = torch.tensor([[[feature]]], dtype=torch.float64)
    none = torch.zeros_like(cell)
    row = Parts(none, none, cell, torch.full_like(cell, logic)).rows()
    bounds = []
    for module in (operators.Before(), operators.After()):
        result = parts(module(row))
        centre, half = result.time_feature.item(), result.time_logic.item()
        bounds += [centre - half, centre + half]
    expected = [feature - 1, feature - logic, feature + logic, feature + 1]
    assert bounds == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", ["And", "Or", "TimeAnd", "TimeOr"])
@pytest.mark.parametrize("arity", [2, 3])
def test_proposition_1_commutativity(model: TflexModel, name: str, arity: int) -> None:
    module, rows = model.operator(name), some_rows(arity, 5)
    expected = module(rows)
    for order in permutations(range(arity)):
        torch.testing.assert_close(module(rows[list(order)]), expected, rtol=0, atol=1e-12)


ARITY = {"Not": 1, "TimeNot": 1, "After": 1, "Before": 1}


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_logic_parts_stay_in_the_unit_interval(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(PRESETS)))
    seed = data.draw(st.integers(0, 1000))
    model = TflexModel(PRESETS[name], SETTINGS, torch.Generator().manual_seed(seed))
    scale = data.draw(st.sampled_from([0.0, 1.0, 100.0]))
    ends = data.draw(st.booleans())
    for key, module in model.operators.items():
        rows = some_rows(3, 6, seed=seed).float()
        rows *= torch.tensor([scale, 1, scale, 1]).repeat_interleave(DIM)
        if ends:
            logic = torch.tensor([False, True, False, True]).repeat_interleave(DIM)
            rows = torch.where(logic, rows.round(), rows)
        if key in ("Pe", "Pt"):
            result = parts(module(*rows))
        else:
            result = parts(module(rows[: ARITY.get(key, 2)]))
        for part in (result.entity_logic, result.time_logic):
            assert part.min() >= 0 and part.max() <= 1, key


def test_every_operator_states_its_equation() -> None:
    modules = {
        type(module)
        for spec in PRESETS.values()
        for module in TflexModel(spec, SETTINGS).modules()
        if type(module).__module__.startswith("tflex.models") and not isinstance(module, Mlp)
    } - {TflexModel, Tokens}
    assert {operators.Projection, operators.Attention, distance.BoxDistance} <= modules
    for module in modules:
        text = module.__doc__ or ""
        assert "=" in text, module
        assert any(word in text for word in ("(equation ", "(section ", "(appendix ", "(not in")), (
            module
        )


def test_multiply_adds_count_the_weights(model: TflexModel) -> None:
    """A row passes every weight of its perceptrons once, and once per argument in attention."""

    def weights(module: nn.Module) -> int:
        layers = [layer for layer in module.modules() if isinstance(layer, nn.Linear)]
        return sum(layer.weight.numel() for layer in layers)

    for name in ("Pe", "Pt", "Not", "TimeNot"):
        assert model.operator(name).multiply_adds() == weights(model.operator(name)) > 0
    for name in ("And", "TimeOr"):
        assert model.operator(name).multiply_adds(3) == 3 * weights(model.operator(name)) > 0
    assert model.operator("Xor").multiply_adds(2) == 2 * weights(model.operator("And"))
    assert model.operator("Between").multiply_adds(2) == 2 * weights(model.operator("TimeAnd"))
    assert model.operator("After").multiply_adds(1) == 0
