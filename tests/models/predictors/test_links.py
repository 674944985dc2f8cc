"""The link predictor as a whole: no leak, probabilities, weights on disk."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tflex.errors import DataError
from tflex.graph.facts import Facts, Level
from tflex.graph.temporal_graph import TemporalGraph
from tflex.graph.world import demo_world
from tflex.models.predictors.calendar import CalendarSettings
from tflex.models.predictors.embeddings import EmbeddingSettings
from tflex.models.predictors.existence import ExistenceSettings
from tflex.models.predictors.fitting import fit_links
from tflex.models.predictors.history import HistorySettings
from tflex.models.predictors.links import LinkPredictor, LinkSettings
from tflex.models.predictors.ranker import RankerSettings

TINY = LinkSettings(
    EmbeddingSettings(rank=6, epochs=1),
    HistorySettings(dimension=6, hidden=6, window=8, epochs=1),
    RankerSettings(hidden=6, epochs=1, rounds=1),
    CalendarSettings(hidden=6, facts=200, epochs=1),
    ExistenceSettings(hidden=6, sample=2_000, epochs=1),
    best=10,
)


@pytest.fixture(scope="module")
def graph() -> TemporalGraph:
    return demo_world()


@pytest.fixture(scope="module")
def predictor(graph: TemporalGraph) -> LinkPredictor:
    return fit_links(graph, TINY)


def asked(graph: TemporalGraph, count: int = 300) -> tuple[np.ndarray, ...]:
    draw = np.random.default_rng(0)
    sizes = graph.entity_count, 2 * graph.relation_count, graph.time_count
    return tuple(draw.integers(0, size, count).astype(np.int32) for size in sizes)


def shuffled(graph: TemporalGraph) -> TemporalGraph:
    """The same graph, but that the columns of the test facts are shuffled among them."""
    facts, draw = graph.facts, np.random.default_rng(0)
    rows = np.flatnonzero(facts.level == Level.test)
    columns = {}
    for name in ("subject", "relation", "object", "start"):
        column = getattr(facts, name).copy()
        column[rows] = column[draw.permutation(rows)]
        columns[name] = column
    changed = Facts.of(*columns.values(), columns["start"], facts.level)
    return TemporalGraph.from_facts(changed, graph.entities, graph.relations, graph.timeline)


def test_shuffled_test_facts_change_nothing(graph: TemporalGraph, predictor: LinkPredictor) -> None:
    other = shuffled(graph)
    assert other.content_hash != graph.content_hash
    again = fit_links(other, TINY)
    for name, weights in predictor.state_dict().items():
        assert torch.equal(weights, again.state_dict()[name]), name
    subject, relation, time = asked(graph)
    for view in ("train", "valid"):
        found, same = (
            model.objects(world.view(view), subject, relation, time)
            for model, world in ((predictor, graph), (again, other))
        )
        assert np.array_equal(found.ids, same.ids) and np.array_equal(found.degrees, same.degrees)
        found_times, same_times = (
            model.times(world.view(view), subject[:60], relation[:60], subject[60:120])
            for model, world in ((predictor, graph), (again, other))
        )
        assert np.array_equal(found_times, same_times)


def test_degrees_are_probabilities(graph: TemporalGraph, predictor: LinkPredictor) -> None:
    subject, relation, time = asked(graph)
    facts = graph.facts.at(Level.train)
    subject[:100], relation[:100] = facts.subject[:100], facts.relation[:100]
    time[:100] = facts.start[:100]
    view = graph.view("train")
    found = predictor.objects(view, subject, relation, time)
    further = predictor.objects(view, subject, relation, time, known=False)
    assert (found.degrees >= 0).all() and (found.degrees <= 1).all()
    for row in range(len(subject)):
        ids, degrees, known = found.row(row)
        assert len(set(ids.tolist())) == len(ids)
        assert (np.diff(degrees) <= 0).all()
        assert (degrees[known] == 1).all() and (row >= 100 or facts.object[row] in ids[known])
        # Further facts: no more than are expected, and what is not listed is bounded.
        others = further.row(row)[1]
        assert others.sum() <= found.expected[row] * (1 + 1e-4)
        rate = -np.log1p(-np.minimum(others.astype(float), 1 - 1e-7)).sum()
        assert rate + found.unlisted[row] == pytest.approx(found.expected[row], rel=1e-2)
    dense = found.dense(graph.entity_count)
    assert dense.shape == (300, graph.entity_count)
    assert dense.sum() == pytest.approx(found.degrees.sum(), rel=1e-5)
    times = predictor.times(view, facts.subject[:50], facts.relation[:50], facts.object[:50])
    assert (times[np.arange(50), facts.start[:50]] == 1).all()
    assert (times >= 0).all() and (times <= 1).all()
    expected = predictor.expected_objects(view, subject, relation, time)
    assert np.allclose(expected, found.expected, rtol=1e-5)


def test_weights_on_disk(graph: TemporalGraph, predictor: LinkPredictor, tmp_path: Path) -> None:
    predictor.save(tmp_path)
    again = LinkPredictor.load(tmp_path)
    assert again.settings == predictor.settings
    subject, relation, time = asked(graph, 40)
    view = graph.view("train")
    found, same = (one.objects(view, subject, relation, time) for one in (predictor, again))
    assert np.array_equal(found.degrees, same.degrees)
    (tmp_path / "links.safetensors").write_bytes(b"nonsense")
    with pytest.raises(DataError, match="holds no link predictor"):
        LinkPredictor.load(tmp_path)


@pytest.mark.parametrize(
    "left_out",
    [{"history": None}, {"ranker": None}, {"existence": None}, {"embedding": None},
     {"history": None, "ranker": None, "calendar": None}],
)  # fmt: skip
def test_parts_can_be_left_out(graph: TemporalGraph, left_out: dict[str, None]) -> None:
    model = fit_links(graph, replace(TINY, **left_out))
    subject, relation, time = asked(graph, 20)
    found = model.objects(graph.view("train"), subject, relation, time)
    assert len(found) == 20 and np.isfinite(found.degrees).all()
    assert np.isfinite(model.times(graph.view("train"), subject, relation, subject[::-1])).all()


def test_a_predictor_needs_something_to_go_by() -> None:
    with pytest.raises(DataError, match="needs an embedding, a history or a ranker"):
        LinkSettings(None, None, None)
    with pytest.raises(DataError, match="needs a history and a calendar"):
        LinkSettings(None, HistorySettings(), calendar=None)


def test_too_few_facts() -> None:
    graph = demo_world()
    few = graph.facts.take(np.arange(5))
    small = TemporalGraph.from_facts(few, graph.entities, graph.relations, graph.timeline)
    with pytest.raises(DataError, match="too few to train"):
        fit_links(small, TINY)
