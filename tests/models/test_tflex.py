"""Presets as data, tokens, and how a model interprets the algebra."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
import torch

from tflex.errors import QueryError, UnsupportedOperator
from tflex.models.embedding import answer_parts, identity, parts
from tflex.models.interpreter import embed
from tflex.models.logic import VECTOR_LOGIC
from tflex.models.operators import Complement
from tflex.models.tflex import PRESETS, TFLEX, Settings, TflexModel
from tflex.query.algebra import (
    After,
    And,
    Before,
    Between,
    EntityLiteral,
    Equivalent,
    Next,
    Not,
    Or,
    Pe,
    Pt,
    Sort,
    TimeLiteral,
)
from tflex.query.published import STRUCTURES

SETTINGS = Settings(entities=9, relations=3, timestamps=6, dim=4, hidden=(5, 5), margin=6.0)


@pytest.fixture(scope="module", params=sorted(PRESETS))
def model(request: pytest.FixtureRequest) -> TflexModel:
    return TflexModel(PRESETS[request.param], SETTINGS, torch.Generator().manual_seed(0))


def test_tokens_are_queries_without_uncertainty(model: TflexModel) -> None:
    ids = torch.tensor([2, 0, 2])
    entity = parts(model.tokens.rows(Sort.ENTITY, ids))
    time = parts(model.tokens.rows(Sort.TIME, ids))
    assert torch.equal(entity.entity_feature, model.tokens.features(Sort.ENTITY)[ids])
    assert torch.equal(time.time_feature, model.tokens.features(Sort.TIME)[ids])
    for zero in (entity[1], entity[2], entity[3], time[0], time[1], time[3]):
        assert not zero.any()


def test_tokens_start_in_range_and_by_the_generator(model: TflexModel) -> None:
    bound = (6.0 + 2) / 4
    for table in model.tokens.parameters():
        assert table.abs().max() <= bound
        assert table.std() > bound / 3
    again = TflexModel(PRESETS[model.name], SETTINGS, torch.Generator().manual_seed(0))
    for one, other in zip(model.state_dict().values(), again.state_dict().values(), strict=True):
        assert torch.equal(one, other)


def test_published_tokens_are_squashed() -> None:
    model = TflexModel(PRESETS["tflex-published"], SETTINGS)
    ids = torch.arange(6)
    raw, row = parts(model.tokens.relation), parts(model.tokens.rows(Sort.RELATION, ids))
    torch.testing.assert_close(row.entity_feature, raw.entity_feature.tanh())
    torch.testing.assert_close(row.time_logic, (2 * raw.time_logic).sigmoid())
    torch.testing.assert_close(model.tokens.features(Sort.TIME), model.tokens.time.tanh())


def test_scores_are_margin_less_distance(model: TflexModel) -> None:
    rows = embed(model, Pe(1, 2, 3))
    feature, logic = answer_parts(rows, Sort.ENTITY)
    candidates = model.tokens.features(Sort.ENTITY)
    expected = 6.0 - model.distance(feature, logic, candidates)
    assert expected.shape == (1, 9)
    torch.testing.assert_close(model.scores(rows, Sort.ENTITY), expected)
    shared = model.scores(rows, Sort.ENTITY, torch.tensor([4, 1]))
    torch.testing.assert_close(shared, expected[:, [4, 1]])
    own = model.scores(rows, Sort.ENTITY, torch.tensor([[4, 1]]))
    torch.testing.assert_close(own, expected[:, [4, 1]])
    assert model.scores(embed(model, Pt(1, 2, 3)), Sort.TIME).shape == (1, 6)


def test_a_missing_operator_raises_by_name(model: TflexModel) -> None:
    with pytest.raises(UnsupportedOperator, match=rf"{model.name}.*next"):
        embed(model, Next(Pt(0, 0, 1)))
    with pytest.raises(UnsupportedOperator, match="no operator Next"):
        model.operator("Next")


def test_a_model_without_time_sets_raises_by_name() -> None:
    static = {name: made for name, made in TFLEX.operators.items() if name in ("Pe", "And")}
    model = TflexModel(replace(TFLEX, name="static", operators=static), SETTINGS)
    assert embed(model, And(Pe(0, 0, 1), Pe(1, 1, 2))).shape == (1, 16)
    with pytest.raises(UnsupportedOperator, match=r"static.*Pt"):
        embed(model, Pe(0, 0, Pt(0, 0, 1)))
    with pytest.raises(UnsupportedOperator, match="TimeAnd"):
        embed(model, Pe(0, 0, And(TimeLiteral([1]), TimeLiteral([2]))))


def test_a_derived_operator_without_a_module_follows_its_definition() -> None:
    kept = dict(TFLEX.operators)
    del kept["Between"], kept["Equivalent"]
    model = TflexModel(replace(TFLEX, operators=kept), SETTINGS)
    first, second = Pt(0, 1, 2), Pt(3, 4, 5)
    defined = embed(model, And(After(first), Before(second)))
    assert torch.equal(embed(model, Between(first, second)), defined)
    whole = TflexModel(TFLEX, SETTINGS)
    whole.load_state_dict(model.state_dict())
    torch.testing.assert_close(embed(whole, Between(first, second)), defined)
    one, other = Pe(0, 1, 2), Pe(3, 4, 5)
    defined = embed(model, Or(And(one, other), And(Not(one), Not(other))))
    assert torch.equal(embed(model, Equivalent(one, other)), defined)
    assert not torch.equal(embed(whole, Equivalent(one, other)), defined)


def test_set_literals_are_unions(model: TflexModel) -> None:
    union = Or(EntityLiteral([1]), EntityLiteral([2]))
    given = embed(model, Pe({1, 2}, 0, TimeLiteral([(2, 4)])))
    times = Or(*(TimeLiteral([i]) for i in (2, 3, 4)))
    assert torch.equal(given, embed(model, Pe(union, 0, times)))
    with pytest.raises(QueryError, match="Angela"):
        embed(model, Pe("Angela", 0, 1))
    with pytest.raises(QueryError, match="2014"):
        embed(model, Pe(0, 0, "2014"))


def test_a_variant_replaces_one_module() -> None:
    def plain_complement(settings: Settings, built: object) -> Complement:
        return Complement(Sort.ENTITY, settings.dim, settings.hidden, VECTOR_LOGIC, identity)

    variant = replace(TFLEX, name="v", operators={**TFLEX.operators, "Not": plain_complement})
    one = TflexModel(TFLEX, SETTINGS, torch.Generator().manual_seed(1))
    other = TflexModel(variant, SETTINGS, torch.Generator().manual_seed(1))
    query = Not(Pe(0, 1, 2))
    plain, squashed = parts(embed(other, query)), parts(embed(one, query))
    torch.testing.assert_close(squashed.entity_feature, plain.entity_feature.tanh())
    assert torch.equal(squashed.time_feature, plain.time_feature)


def test_borrowed_attention_is_saved_once_and_follows_a_copy(model: TflexModel) -> None:
    assert not any("Xor" in name for name in model.state_dict())
    twin = copy.deepcopy(model)
    assert twin.operators["Xor"].attention.module is twin.operators["And"].attention


def test_structures_are_embedded_column_by_column(model: TflexModel) -> None:
    anchors = torch.tensor([[0, 1, 2, 3, 4, 5], [6, 5, 4, 3, 2, 1]])
    rows = embed(model, STRUCTURES["e2i"], anchors)
    for row, (s1, r1, t1, s2, r2, t2) in zip(rows, anchors.tolist(), strict=True):
        torch.testing.assert_close(embed(model, And(Pe(s1, r1, t1), Pe(s2, r2, t2)))[0], row)
