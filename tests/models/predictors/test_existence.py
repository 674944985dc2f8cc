"""Existence: the sample of questions weighs as all questions do, and rates meet a known answer."""

from __future__ import annotations

import numpy as np
import pytest

from tflex.graph.facts import Facts
from tflex.models.predictors.context import Asked, build_context
from tflex.models.predictors.context_kernels import Context
from tflex.models.predictors.existence import (
    ACTIVE,
    ANYWHERE,
    KNOWN_PAIR,
    TRIPLE_FEATURES,
    Existence,
    ExistenceSettings,
    expected_draws,
    fit_existence,
    sampled_questions,
    sampled_triples,
    triple_features,
)

ENTITIES, RELATIONS, TIMES = 4, 2, 5
FACTS = Facts.of(*np.array([
    (0, 0, 1, 0), (0, 0, 1, 3), (0, 0, 2, 3), (1, 1, 3, 2), (2, 0, 3, 2),
]).T, end=np.array([1, 3, 4, 2, 2]))  # fmt: skip


@pytest.fixture(scope="module")
def context() -> Context:
    return build_context(FACTS, ENTITIES, RELATIONS, TIMES)


def every_question() -> Asked:
    grid = np.meshgrid(range(ENTITIES), range(2 * RELATIONS), range(TIMES), indexing="ij")
    return Asked.of(*(one.ravel() for one in grid))


@pytest.mark.parametrize("ways", [(ANYWHERE,), (KNOWN_PAIR,), (ACTIVE,), (0, 1, 2), (1, 2)])
def test_questions_are_drawn_as_often_as_expected(context: Context, ways: tuple[int, ...]) -> None:
    size = 60_000
    asked, draws = sampled_questions(context, size, np.random.default_rng(0), ways)
    questions = every_question()
    expected = size * expected_draws(context, questions, ways)
    assert expected.sum() == pytest.approx(size)
    place = (asked.subject * 2 * RELATIONS + asked.relation) * TIMES + asked.time
    found = np.bincount(place, minlength=len(questions))
    assert draws == pytest.approx(expected[place])
    assert np.abs(found - expected).max() < 6 * np.sqrt(expected.max())
    # Each drawn question stands for 1 / draws of them: together for all that can be drawn.
    assert (1 / draws).sum() == pytest.approx((expected > 0).sum(), rel=0.05)


def test_triples_stand_for_all_triples(context: Context) -> None:
    s, _r, o, volume = sampled_triples(context, 40_000, np.random.default_rng(0))
    assert volume.sum() == pytest.approx(ENTITIES**2 * 2 * RELATIONS, rel=0.05)
    for entity in range(ENTITIES):
        share = ENTITIES * 2 * RELATIONS
        assert volume[s == entity].sum() == pytest.approx(share, rel=0.1)
        assert volume[o == entity].sum() == pytest.approx(share, rel=0.1)


def test_counts_of_triples_by_hand(context: Context) -> None:
    (counts,) = triple_features(context, np.array([0]), np.array([0]), np.array([1]))
    found = dict(zip(TRIPLE_FEATURES, counts.tolist(), strict=True))
    # Two facts of the pair, both of r; relation 0 has 4 facts, and stands beside itself once each.
    assert found == pytest.approx({
        "pair": 2, "pair r": 2, "pair r⁻¹": 0, "weighted all": 2 * 2 / (4 + 5), "s r": 3, "r o": 2,
        "s": 3, "o": 3, "r": 4,
    })  # fmt: skip


def test_rates_are_those_of_the_facts() -> None:
    """Two kinds of question: of 100 of each, 5 facts and 60 facts."""
    counts = np.repeat([[0.0], [4.0]], 100, axis=0).astype(np.float32)
    counts = np.concatenate((counts, np.array([[0.0]] * 5 + [[4.0]] * 60, np.float32)))
    volume = np.concatenate((np.ones(200), np.zeros(65)))
    facts = np.concatenate((np.zeros(200), np.ones(65)))
    settings = ExistenceSettings(hidden=8, relation=2, epochs=80, batch=64, decay=0.0)
    model = Existence(1, 1, settings)
    fit_existence(model, np.zeros(265, int), counts, volume, facts, 0)
    found = model.expected(np.zeros(2, int), np.array([[0.0], [4.0]], np.float32))
    assert found.tolist() == pytest.approx([0.05, 0.6], rel=0.25)
    # However odd the counts, no rate above those that were met.
    (wild,) = model.expected(np.zeros(1, int), np.array([[1e9]], np.float32))
    assert wild <= found.max() * 1.001
