"""The exact reasoner: given the facts that hold the answers, nothing is left to gain."""

from __future__ import annotations

import numpy as np
import pytest

from tests.properties.test_engine import random_anchors, random_graph
from tflex.evaluation import PUBLISHED, STRICT, Sets, evaluate
from tflex.exact.engine import Engine
from tflex.experiment.preparing import Preparer, boundary_root
from tflex.graph.facts import Level
from tflex.query.algebra import Sort
from tflex.query.published import STRUCTURES
from tflex.query.structures import Structure
from tflex.reasoning.exact import ExactReasoner
from tflex.sampling.sampler import Queries, SamplingSettings, Sources, StructureSampler, Supply


@pytest.fixture(scope="module")
def sources() -> Sources:
    return Sources(random_graph(3, False, entities=12, times=70))


@pytest.mark.parametrize("structure", STRUCTURES, ids=lambda one: one.name)
def test_it_reaches_the_ceiling(structure: Structure, sources: Sources) -> None:
    graph, sampler = sources.graph, StructureSampler(sources, structure, SamplingSettings())
    parts = list(sampler.batches(Level.test, 30, Supply(30)))
    anchors = Queries.joined(parts).anchors
    preparer, reasoner = Preparer(graph), ExactReasoner(graph.view("test"))
    name = structure.name
    queries = preparer.published(structure, anchors, Level.test)
    report = evaluate(reasoner, [queries], PUBLISHED, view="test")
    mrr, ceiling = report.value(name, "mrr"), report.value(name, "ceiling")
    if name in ("Pe", "Pt"):  # Their known answers stay in the ranking, and tie.
        assert mrr is not None and ceiling is not None and mrr < ceiling
    else:
        assert mrr == pytest.approx(ceiling)
    queries = preparer.strict(structure, anchors, Level.test)
    report = evaluate(reasoner, [queries], STRICT, view="test")
    if boundary_root(structure.body):
        assert report.structures[name].overall.metrics == {"f1": 1.0, "boundary_error": 0.0}
    else:
        overall = report.structures[name].overall
        assert overall.queries == 30
        assert [overall.metrics[one] for one in ("mrr", "f1", "ndcg")] == pytest.approx([1, 1, 1])


@pytest.mark.parametrize("name", ["Pe2", "t2i_NPt"])
def test_scores_and_sets_are_the_answers_on_the_view(name: str) -> None:
    graph = random_graph(2, True, entities=12, times=70)
    structure = STRUCTURES[name]
    anchors = random_anchors(structure, graph, 20, 0)
    reasoner = ExactReasoner(graph.view("valid"))
    answers = Engine(graph.view("valid")).answer_batch(structure, anchors)
    scores = reasoner.scores(name, anchors)
    width = graph.entity_count if structure.sort is Sort.ENTITY else graph.time_count
    assert scores.shape == (20, width)
    assert set(np.unique(scores)) <= {0.0, 1.0}
    for found in (Sets.from_mask(scores > 0), Sets.of(*reasoner.predicted_sets(name, anchors))):
        assert found.offsets.tolist() == answers.offsets.tolist()
        assert found.ids.tolist() == answers.ids.tolist()
