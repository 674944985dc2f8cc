"""The frequency baselines by hand: six facts of one relation."""

from __future__ import annotations

import numpy as np
import pytest

from tests.strategies import Row, graph_of
from tflex.graph.temporal_graph import TemporalGraph
from tflex.query.structures import Structures
from tflex.query.text import parse_structures
from tflex.reasoning.frequency import FrequencyReasoner

# (subject, relation, object, start, end, level)
FACTS: list[Row] = [
    (0, 0, 1, 0, 0, 0),
    (0, 0, 1, 1, 1, 0),
    (0, 0, 2, 1, 1, 0),
    (3, 0, 2, 3, 3, 0),
    (3, 1, 1, 2, 2, 0),
    (0, 0, 3, 2, 2, 2),  # held out
]
OBJECTS = np.array([0, 2, 2, 0]) / 4
TIMES = np.array([1, 2, 0, 1]) / 4

MINE = """
def late(s1, r1, o1): return after(Pt(s1, r1, o1))
def early(s1, r1, o1): return before(Pt(s1, r1, o1))
def soon(s1, r1, o1): return next(Pt(s1, r1, o1))
def since(t1, r1, s1, o1): return TimeAnd(after(t1), Pt(s1, r1, o1))
"""


@pytest.fixture(scope="module")
def graph() -> TemporalGraph:
    return graph_of(FACTS, 4, 2, 4)


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> Structures:
    path = tmp_path_factory.mktemp("mine") / "mine.py"
    path.write_text(MINE)
    return Structures(parse_structures(path))


def scores(graph: TemporalGraph, by: str, name: str, *anchors: int) -> np.ndarray:
    return FrequencyReasoner(graph.view("train"), by).scores(name, np.array([anchors]))[0]


def test_by_relation(graph: TemporalGraph) -> None:
    np.testing.assert_allclose(scores(graph, "relation", "Pe", 0, 0, 0), OBJECTS)
    np.testing.assert_allclose(scores(graph, "relation", "Pt", 0, 0, 2), TIMES)
    # Objects of the inverse are subjects: three facts from 0, one from 3.
    np.testing.assert_allclose(scores(graph, "relation", "Pe", 1, 2, 0), [3 / 4, 0, 0, 1 / 4])


def test_by_subject_backs_off_to_the_relation(graph: TemporalGraph) -> None:
    counts = np.array([0, 2, 1, 0])
    np.testing.assert_allclose(scores(graph, "subject", "Pe", 0, 0, 0), (counts + OBJECTS) / 4)
    np.testing.assert_allclose(scores(graph, "subject", "Pe", 2, 0, 0), OBJECTS)
    # The second hop has no anchor as its source.
    np.testing.assert_allclose(scores(graph, "subject", "Pe2", 0, 1, 0, 0, 0), OBJECTS)
    times = (np.array([1, 2, 0, 0]) + TIMES) / 4
    np.testing.assert_allclose(scores(graph, "subject", "Pt", 0, 0, 2), times)


def test_a_lone_target_is_read_backwards(graph: TemporalGraph) -> None:
    # Pt(Pe(…), 0, 2): the times of the two facts that lead to 2.
    times = (np.array([0, 1, 0, 1]) + TIMES) / 3
    np.testing.assert_allclose(scores(graph, "subject", "Pt_sPe", 0, 1, 0, 0, 2), times)
    np.testing.assert_allclose(scores(graph, "relation", "Pt_sPe", 0, 1, 0, 0, 2), TIMES)


def test_and_or_not(graph: TemporalGraph) -> None:
    only = np.array([0.0, 1, 0, 0])  # Relation 1 leads to entity 1 alone.
    np.testing.assert_allclose(scores(graph, "relation", "e2i", 0, 0, 0, 3, 1, 0), OBJECTS * only)
    union = scores(graph, "relation", "e2u", 0, 0, 0, 3, 1, 0)
    np.testing.assert_allclose(union, np.maximum(OBJECTS, only))
    without = scores(graph, "relation", "e2i_N", 0, 0, 0, 3, 1, 0)
    np.testing.assert_allclose(without, OBJECTS * (1 - only))


def test_after_before_next(graph: TemporalGraph, mine: Structures) -> None:
    reasoner = FrequencyReasoner(graph.view("train"), "relation", mine)
    anchors = np.array([[0, 0, 2]])
    np.testing.assert_allclose(reasoner.scores("late", anchors)[0], [0, 0.25, 0.75, 0.75])
    np.testing.assert_allclose(reasoner.scores("early", anchors)[0], [0.75, 0.25, 0.25, 0])
    np.testing.assert_allclose(reasoner.scores("soon", anchors)[0], [0, 0.25, 0.5, 0])
    # A relation without facts holds never, and after never is always.
    unknown = np.array([[0, 3, 1], [0, 0, 2]])
    empty = graph_of(FACTS[:4], 4, 2, 4).view("train")
    assert FrequencyReasoner(empty, "relation", mine).scores("late", unknown)[0].tolist() == [1] * 4
    # An anchor is a time for sure.
    since = reasoner.scores("since", np.array([[0, 0, 0, 2]]))[0]
    np.testing.assert_allclose(since, TIMES * [0, 1, 1, 1])


def test_views_and_intervals() -> None:
    held_out = FrequencyReasoner(graph_of(FACTS, 4, 2, 4).view("test"))
    np.testing.assert_allclose(held_out.scores("Pe", np.array([[0, 0, 0]]))[0], [0, 0.4, 0.4, 0.2])
    lasting = graph_of([(0, 0, 1, 1, 3, 0), (0, 0, 2, 3, 3, 0)], 4, 2, 5)
    times = FrequencyReasoner(lasting.view("train")).scores("Pt", np.array([[0, 0, 1]]))[0]
    np.testing.assert_allclose(times, np.array([0, 1, 1, 2, 0]) / 4)
