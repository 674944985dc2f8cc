"""The embedding reasoner: what a model says of each query alone, unions by their disjuncts."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.properties.test_engine import random_anchors
from tflex.errors import UnsupportedOperator
from tflex.graph.temporal_graph import TemporalGraph
from tflex.models.interpreter import embed
from tflex.models.tflex import PRESETS, Settings, TflexModel
from tflex.query.published import STRUCTURES
from tflex.query.structures import Structure
from tflex.query.text import parse
from tflex.reasoning import embedding
from tflex.reasoning.embedding import EmbeddingReasoner

UNIONS = ("e2u", "Pe_e2u", "t2u", "Pe_t2u")


@pytest.fixture(params=sorted(PRESETS))
def model(request: pytest.FixtureRequest, small_graph: TemporalGraph) -> TflexModel:
    graph = small_graph
    settings = Settings(graph.entity_count, graph.relation_count, graph.time_count,
                        dim=4, hidden=(5, 5), margin=6.0)  # fmt: skip
    return TflexModel(PRESETS[request.param], settings, torch.Generator().manual_seed(1)).eval()


def directly(model: TflexModel, structure: Structure, anchors: np.ndarray) -> np.ndarray:
    """Embedded as it is written, one structure at a time."""
    with torch.no_grad():
        rows = embed(model, structure, torch.from_numpy(anchors.astype(np.int64)))
        return model.scores(rows, structure.sort).numpy()


@pytest.mark.parametrize("structure", STRUCTURES, ids=lambda one: one.name)
def test_scores_are_those_of_the_embedding(
    structure: Structure, model: TflexModel, small_graph: TemporalGraph,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(embedding, "ROWS", 4)
    anchors = random_anchors(structure, small_graph, 7, 0)
    # Trained on unions, the reasoner embeds every structure as it is written.
    found = EmbeddingReasoner(model, ["Pe_e2u", "t2u"]).scores(structure.name, anchors)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, directly(model, structure, anchors), rtol=1e-4, atol=1e-5)


def test_an_untrained_union_scores_its_best_disjunct(
    model: TflexModel, small_graph: TemporalGraph
) -> None:
    reasoner = EmbeddingReasoner(model, ["Pe", "e2i", "t2i"])
    for name, part in (("e2u", "Pe"), ("t2u", "Pt")):
        anchors = random_anchors(STRUCTURES[name], small_graph, 5, 0)
        both = [directly(model, STRUCTURES[part], half) for half in np.split(anchors, 2, axis=1)]
        np.testing.assert_allclose(
            reasoner.scores(name, anchors), np.maximum(*both), rtol=1e-4, atol=1e-5
        )
        union = directly(model, STRUCTURES[name], anchors)
        assert not np.allclose(reasoner.scores(name, anchors), union, rtol=1e-3)


def test_unions_are_trained_by_sort(model: TflexModel, small_graph: TemporalGraph) -> None:
    reasoner = EmbeddingReasoner(model, ["e2u"])
    direct = []
    for name in UNIONS:
        anchors = random_anchors(STRUCTURES[name], small_graph, 5, 0)
        expected = directly(model, STRUCTURES[name], anchors)
        if np.allclose(reasoner.scores(name, anchors), expected, rtol=1e-4, atol=1e-5):
            direct.append(name)
    assert direct == ["e2u", "Pe_e2u"]


def test_a_bound_query_scores_as_the_structure(
    model: TflexModel, small_graph: TemporalGraph
) -> None:
    reasoner = EmbeddingReasoner(model)
    query = parse('Pe(Pe("e1", "r0", "1003"), "~r2", "1010")', small_graph, STRUCTURES)
    expected = reasoner.scores("Pe2", np.array([[1, 0, 3, 5, 10]]))[0]
    np.testing.assert_allclose(reasoner.scores_of(query), expected, rtol=1e-5)


def test_a_literal_of_several_members_is_a_union(
    model: TflexModel, small_graph: TemporalGraph
) -> None:
    reasoner = EmbeddingReasoner(model)
    query = parse('Pe({"e1", "e4"}, "r0", "1003/1004")', small_graph, STRUCTURES)
    anchors = np.array([[s, 0, t] for s in (1, 4) for t in (3, 4)])
    expected = reasoner.scores("Pe", anchors).max(0)
    np.testing.assert_allclose(reasoner.scores_of(query), expected, rtol=1e-5)


def test_no_queries_no_scores(model: TflexModel, small_graph: TemporalGraph) -> None:
    for name, width in (("Pe", small_graph.entity_count), ("Pt", small_graph.time_count)):
        assert EmbeddingReasoner(model).scores(name, np.empty((0, 3), int)).shape == (0, width)


def test_an_operator_that_the_model_lacks(model: TflexModel, small_graph: TemporalGraph) -> None:
    query = parse('next(Pt("e1", "r0", "e2"))', small_graph, STRUCTURES)
    with pytest.raises(UnsupportedOperator, match="next"):
        EmbeddingReasoner(model).scores_of(query)
