"""The sample that validates a training: fixed, strict, and what an evaluation would say."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tflex.errors import DataError
from tflex.evaluation import STRICT, evaluate
from tflex.experiment.preparing import Preparer
from tflex.experiment.validation import ValidationSample, strict_mrr
from tflex.graph.facts import Level
from tflex.graph.temporal_graph import TemporalGraph
from tflex.models.tflex import TFLEX, Settings, TflexModel
from tflex.query.published import STRUCTURES
from tflex.reasoning.embedding import EmbeddingReasoner
from tflex.reasoning.exact import ExactReasoner
from tflex.sampling.counts import equal_counts
from tflex.sampling.dataset import QueryDataset, sample_dataset

SAMPLED = ("Pe", "e2u", "Pt", "aPt")


@pytest.fixture(scope="module")
def dataset(small_graph: TemporalGraph, tmp_path_factory: pytest.TempPathFactory) -> QueryDataset:
    structures = [STRUCTURES[name] for name in SAMPLED]
    counts = equal_counts(30, structures, [Level.valid])
    return sample_dataset(small_graph, tmp_path_factory.mktemp("queries"), structures, counts)


@pytest.fixture(scope="module")
def model(small_graph: TemporalGraph) -> TflexModel:
    graph = small_graph
    settings = Settings(graph.entity_count, graph.relation_count, graph.time_count,
                        dim=4, hidden=(5, 5), margin=6.0)  # fmt: skip
    return TflexModel(TFLEX, settings, torch.Generator().manual_seed(1))


def test_the_same_seed_draws_the_same_queries(
    small_graph: TemporalGraph, dataset: QueryDataset
) -> None:
    one, same, other = (ValidationSample.of(small_graph, dataset, 10, seed) for seed in (0, 0, 1))
    assert [queries.structure for queries in one.queries] == ["Pe", "e2u", "Pt"]
    for mine, theirs in zip(one.queries, same.queries, strict=True):
        assert len(mine) == 10
        assert np.array_equal(mine.anchors, theirs.anchors)
    assert not np.array_equal(one.queries[0].anchors, other.queries[0].anchors)


def test_the_score_is_that_of_an_evaluation(
    small_graph: TemporalGraph, dataset: QueryDataset, model: TflexModel
) -> None:
    sample = ValidationSample.of(small_graph, dataset, 100)
    preparer = Preparer(small_graph)
    queries = [
        preparer.strict(STRUCTURES[name], dataset.load(name, "valid").anchors, Level.valid)
        for name in ("Pe", "e2u", "Pt")
    ]
    expected = evaluate(EmbeddingReasoner(model), queries, STRICT, view="train").means("mrr")
    assert sample.score(model) == pytest.approx(expected["AVG"])
    trained = EmbeddingReasoner(model, ["e2u"])
    expected = evaluate(trained, queries, STRICT, view="train").means("mrr")
    assert sample.score(model, ["e2u"]) == pytest.approx(expected["AVG"])


def test_the_model_stays_in_its_mode(
    small_graph: TemporalGraph, dataset: QueryDataset, model: TflexModel
) -> None:
    sample = ValidationSample.of(small_graph, dataset, 2)
    for training in (True, False):
        model.train(training)
        sample.score(model)
        assert model.training is training


def test_knowing_the_answers_is_perfect(small_graph: TemporalGraph, dataset: QueryDataset) -> None:
    sample = ValidationSample.of(small_graph, dataset)
    assert strict_mrr(ExactReasoner(small_graph.view("valid")), sample) == pytest.approx(1)


def test_a_dataset_without_ranked_queries(
    small_graph: TemporalGraph, dataset: QueryDataset
) -> None:
    with pytest.raises(DataError, match="no validation queries"):
        ValidationSample.of(small_graph, dataset, structures=[STRUCTURES["aPt"]])
