"""Context features: a hand-computed example of every one, and all of them by their definitions."""

from __future__ import annotations

from itertools import pairwise
from math import exp, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.models.predictors.scalar import Scalar
from tests.strategies import graphs
from tflex.graph.facts import Facts
from tflex.graph.temporal_graph import TemporalGraph
from tflex.models.predictors.calendar import CALENDAR_FEATURES, Pairs, calendar_features
from tflex.models.predictors.context import (
    CANDIDATE_FEATURES,
    QUERY_FEATURES,
    Asked,
    build_context,
    holding,
    object_candidates,
    object_features,
)
from tflex.models.predictors.context_kernels import Context

ENTITIES, RELATIONS, TIMES = 5, 2, 10
FACTS = Facts.of(*np.array([
    (0, 0, 1, 2), (0, 0, 1, 5), (1, 0, 0, 4), (2, 0, 1, 5),
    (0, 1, 3, 4), (3, 0, 1, 4), (4, 0, 2, 7), (2, 0, 4, 7),
]).T)  # fmt: skip
"""Relation 0 has seven facts, relation 1 one; 2 and 3 are their inverses."""
ALIKE = np.array(
    [(1, 0, 0), (0, 1, 0), (0, 0, 1), (0.5, 0.6, sqrt(1 - 0.61)), (-1, 0, 0)], np.float32
)


def traced(name: str, before: list[int], at: int, after: list[int]) -> dict[str, float]:
    """What a trace of facts has to say: those at the time, and the gaps of the others."""
    found = {f"{name} at": at, f"{name} before": len(before), f"{name} after": len(after)}
    for width in (1, 4, 15, 60):
        found[f"{name} before {width}"] = sum(exp(-gap / width) for gap in before)
        found[f"{name} after {width}"] = sum(exp(-gap / width) for gap in after)
    return found


PAIR = {
    # 0 and 1 meet at 2 and 5 by relation 0, and at 4 by its inverse.
    **traced("pair", [2], 1, [1]), **traced("pair r", [2], 0, [1]), **traced("pair r⁻¹", [], 1, []),
    # 0 and its inverse meet at 7 on (2, 4) and on (4, 2): twice, over seven facts and the prior 5.
    "weighted at": 2 / 12,
    # 0 comes three days after itself on (0, 1), decayed over 15 days; the fact is two days back.
    "weighted before": exp(-3 / 15) / 12 * exp(-2 / 15),
    "weighted after": exp(-3 / 15) / 12 * exp(-1 / 15),
}  # fmt: skip
CANDIDATE = {
    **PAIR,
    # Beside 0 stands 0 in one share of (0, 1) and its inverse in 4 shares of three pairs.
    "weighted all": (1 + 1 + 4) / 12,
    # 0–3–1, both steps at 4; 3 has two facts near.
    "paths at": 1 / sqrt(2), "paths near": 1 / sqrt(2),
    **traced("r o", [2], 1, [1, 1]), **traced("o", [2], 2, [1, 1]),
}  # fmt: skip
QUESTION = {
    **traced("s r", [2], 0, [1]), **traced("s", [2], 2, [1]), **traced("r", [2], 2, [1, 1, 3, 3]),
    # 0 stands beside its inverse once, on entity 1 at 4; beside itself two days apart on 2.
    "s beside at": 1 / 12, "s beside before": exp(-2 / 4) / 12 * exp(-2 / 4),
    "s beside after": exp(-2 / 4) / 12 * exp(-1 / 4),
}  # fmt: skip
MOMENT = {
    **PAIR, "paths at": 1, "paths near": 1,
    **traced("s r", [2], 0, [1]), **traced("r o", [2], 1, [1, 1]),
    **traced("s", [2], 2, [1]), **traced("o", [2], 2, [1, 1]),
    # 0 meets 3 at 4, which is like 1 by 0.6; 1 meets 3 at 4 by the inverse, like 0 by 0.5.
    "o alike at": 0.36, "o alike at r": 0, "o alike near": 0.36,
    "s alike at": 0.25, "s alike at r": 0.25, "s alike near": 0.25,
    **traced("r", [2], 2, [1, 1, 3, 3]),
}  # fmt: skip


@pytest.fixture(scope="module")
def context() -> Context:
    return build_context(FACTS, ENTITIES, RELATIONS, TIMES)


def test_every_candidate_and_question_feature_by_hand(context: Context) -> None:
    asked = Asked.of(np.array([0]), np.array([0]), np.array([4]))
    (features,), (question,) = object_features(context, asked, np.array([0, 1]), np.array([1], "i"))
    assert set(CANDIDATE) == set(CANDIDATE_FEATURES) and set(QUESTION) == set(QUERY_FEATURES)
    found = dict(zip(CANDIDATE_FEATURES, features.tolist(), strict=True))
    assert found == pytest.approx(CANDIDATE, abs=1e-6)
    found = dict(zip(QUERY_FEATURES, question.tolist(), strict=True))
    assert found == pytest.approx(QUESTION, abs=1e-6)


def test_every_calendar_feature_by_hand(context: Context) -> None:
    asked = Pairs.of(np.array([0]), np.array([0]), np.array([1]))
    (features,) = calendar_features(context, ALIKE, asked)
    assert set(MOMENT) == set(CALENDAR_FEATURES)
    found = dict(zip(CALENDAR_FEATURES, features[4].tolist(), strict=True))
    assert found == pytest.approx(MOMENT, abs=1e-6)


def test_candidates_are_neighbours_the_best_and_ends_of_paths(context: Context) -> None:
    asked = Asked.of(np.array([0, 4]), np.array([0, 0]), np.array([4, 0]))
    offsets, ids = object_candidates(context, asked, np.array([[2, 3], [4, 4]]))
    assert [set(ids[a:b]) for a, b in pairwise(offsets)] == [
        {1, 3, 2}, {2, 4},
    ]  # fmt: skip
    assert len(ids) == len(set(ids[: offsets[1]])) + len(set(ids[offsets[1] :]))
    assert holding(context, asked, offsets, ids).sum() == 0
    at = Asked.of(np.array([0]), np.array([0]), np.array([5]))
    assert holding(context, at, np.array([0, 2]), np.array([1, 3], "i")).tolist() == [True, False]


def test_a_fact_that_is_asked_is_left_out(context: Context) -> None:
    """The features of (0, 0, 1, 5) without it are those of a graph that lacks it."""
    scalar = Scalar(FACTS, RELATIONS)
    asked = Asked(*(np.array([x], np.int32) for x in (0, 0, 5, 1)))
    (features,), (question,) = object_features(context, asked, np.array([0, 1]), np.array([1], "i"))
    expected = scalar.candidate(0, 0, 5, 1, (0, 0, 1, 5))
    found = dict(zip(CANDIDATE_FEATURES, features.tolist(), strict=True))
    assert found == pytest.approx(expected, abs=1e-6)
    found = dict(zip(QUERY_FEATURES, question.tolist(), strict=True))
    assert found == pytest.approx(scalar.question(0, 0, 5, (0, 0, 1, 5)), abs=1e-6)
    pairs = Pairs(*(np.array([x], np.int32) for x in (0, 0, 1)), np.array([[5, 5]], np.int32))
    (calendar,) = calendar_features(context, ALIKE, pairs)
    for time in range(TIMES):
        found = dict(zip(CALENDAR_FEATURES, calendar[time].tolist(), strict=True))
        expected = scalar.moment(0, 0, 1, time, ALIKE, (5, 5))
        # The paths through other entities are those with the fact, which is no part of them.
        assert found == pytest.approx(expected, abs=1e-5)


@settings(max_examples=60, deadline=None)
@given(graphs(), st.randoms(use_true_random=False))
def test_features_are_their_definitions(graph: TemporalGraph, random: object) -> None:
    facts, count = graph.facts, graph.relation_count
    context = build_context(facts, graph.entity_count, count, graph.time_count)
    scalar = Scalar(facts, count)
    draw = np.random.default_rng(random.randrange(1 << 30))  # type: ignore[attr-defined]
    s, o = (int(draw.integers(graph.entity_count)) for _ in range(2))
    r, t = int(draw.integers(2 * count)), int(draw.integers(graph.time_count))
    columns = [np.array([one], np.int32) for one in (s, r, t)]
    (features,), (question,) = object_features(
        context, Asked.of(*columns), np.array([0, 1]), np.array([o], np.int32)
    )
    found = dict(zip(CANDIDATE_FEATURES, features.tolist(), strict=True))
    assert found == pytest.approx(scalar.candidate(s, r, t, o), rel=1e-4, abs=1e-5)
    found = dict(zip(QUERY_FEATURES, question.tolist(), strict=True))
    assert found == pytest.approx(scalar.question(s, r, t), rel=1e-4, abs=1e-5)
    alike = draw.normal(size=(graph.entity_count, 4)).astype(np.float32)
    alike /= np.linalg.norm(alike, axis=1, keepdims=True)
    asked = Pairs.of(*(np.array([one]) for one in (s, r, o)))
    (calendar,) = calendar_features(context, alike, asked)
    found = dict(zip(CALENDAR_FEATURES, calendar[t].tolist(), strict=True))
    assert found == pytest.approx(scalar.moment(s, r, o, t, alike), rel=1e-4, abs=1e-5)
