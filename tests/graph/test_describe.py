"""The description against counts that are taken the obvious way."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.graph.test_build import ENTITIES, RELATIONS, TIMES, graph_of, lowest_levels, random_rows
from tflex.graph import describe as module
from tflex.graph.describe import describe, doubling_histogram


@pytest.mark.parametrize("points", [True, False])
def test_a_description_counts_what_is_there(points: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK", 7)
    rows = lowest_levels(random_rows(5, 120, points))
    graph = graph_of(rows, name="g", dropped={"start after end": 3}, notes={"open end": 1})
    found = describe(graph)
    assert json.loads(json.dumps(found)) == found
    assert (found["entities"], found["relations"], found["timestamps"]) == (
        ENTITIES, RELATIONS, TIMES)  # fmt: skip
    levels = [row[5] for row in rows]
    assert list(found["facts"].values()) == [levels.count(level) for level in range(3)]
    assert found["facts_in_all"] == len(rows)
    degrees = [sum((row[0] == e) + (row[2] == e) for row in rows) for e in range(ENTITIES)]
    assert found["degrees"]["maximum"] == max(degrees)
    assert found["degrees"]["mean"] == pytest.approx(np.mean(degrees))
    assert sum(bin["entities"] for bin in found["degrees"]["histogram"]) == ENTITIES
    holding = [sum(row[3] <= time <= row[4] for row in rows) for time in range(TIMES)]
    assert [bin["facts"] for bin in found["facts_over_time"]] == holding
    used = [row[1] for row in rows]
    counts = sorted((used.count(relation) for relation in range(RELATIONS)), reverse=True)
    assert [row["facts"] for row in found["top_relations"]] == counts
    assert all(used.count(int(row["relation"])) == row["facts"] for row in found["top_relations"])
    assert (found["dropped"], found["notes"]) == ({"start after end": 3}, {"open end": 1})
    lengths = [row[4] - row[3] + 1 for row in rows]
    if points:
        assert found["intervals"] is None
    else:
        assert found["intervals"]["facts"] == sum(length > 1 for length in lengths)
        assert found["intervals"]["maximum_length"] == max(lengths)
        assert found["intervals"]["mean_length"] == pytest.approx(np.mean(lengths))
        assert sum(bin["facts"] for bin in found["intervals"]["histogram"]) == len(rows)


def test_periods_hold_the_facts_that_touch_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TIME_BINS", 2)
    graph = graph_of([(0, 0, 1, 0, 7, 0), (0, 0, 1, 3, 4, 0), (0, 0, 1, 7, 7, 0)])
    assert describe(graph)["facts_over_time"] == [
        {"from": "0", "to": "3", "facts": 2},
        {"from": "4", "to": "7", "facts": 3},
    ]


def test_an_empty_graph_is_described() -> None:
    found = describe(graph_of([]))
    assert found["facts_in_all"] == 0
    assert found["degrees"]["maximum"] == 0


def test_a_doubling_histogram() -> None:
    assert doubling_histogram(np.array([0, 1, 2, 3, 8, 8]), "n") == [
        {"from": 0, "to": 0, "n": 1},
        {"from": 1, "to": 1, "n": 1},
        {"from": 2, "to": 3, "n": 2},
        {"from": 8, "to": 15, "n": 2},
    ]
