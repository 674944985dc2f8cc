"""`tflex ask`: what it answers, in text and JSON, and how it fails."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.strategies import Row, graph_of
from tflex.cli import run
from tflex.graph.temporal_graph import TemporalGraph
from tflex.query.describe import sentence
from tflex.query.text import parse

Capture = pytest.CaptureFixture[str]

# (subject, relation, object, start, end, level) over days 2014-01-01, 2014-01-03, …
FACTS: list[Row] = [
    (0, 0, 1, 2, 2, 0),
    (0, 0, 1, 3, 3, 1),
    (0, 0, 1, 4, 4, 2),
    (0, 0, 1, 7, 7, 0),
    (0, 0, 3, 4, 4, 2),
    (2, 1, 1, 0, 0, 1),
    (2, 1, 3, 0, 0, 0),
]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("ask") / "dataset"
    graph_of(FACTS, 6, 2, 10).save(folder)
    return str(folder)


def asked(capture: Capture, *arguments: str) -> dict[str, Any]:
    assert run(["ask", *arguments, "--json"]) == 0
    return json.loads(capture.readouterr().out)


def test_json(dataset: str, capsys: Capture) -> None:
    found = asked(capsys, dataset, 'Pe("China", "Make a visit", "2014")')
    assert found.pop("seconds") > 0
    graph = TemporalGraph.open(dataset)
    assert found == {
        "sentence": sentence(parse('Pe("China", "Make a visit", "2014")', graph), graph),
        "query": 'Pe("China", "Make a visit", "2014-01-01/2014-01-19")',
        "view": "test",
        "sort": "entity",
        "count": 2,
        "answers": [
            {"id": 1, "name": 'the "Big" One', "known_since": "train"},
            {"id": 3, "name": "Łódź, PL", "known_since": "test"},
        ],
    }


def test_views_and_since(dataset: str, capsys: Capture) -> None:
    query = 'Pt("China", "Make a visit", 1)'
    expected = {
        "test": [(2, "train"), (3, "valid"), (4, "test"), (7, "train")],
        "valid": [(2, "train"), (3, "valid"), (7, "train")],
        "train": [(2, "train"), (7, "train")],
    }
    for view, answers in expected.items():
        found = asked(capsys, dataset, query, "--view", view)
        assert [(one["id"], one["known_since"]) for one in found["answers"]] == answers


def test_an_answer_that_a_view_takes_back_counts_from_where_it_is_again(
    dataset: str, capsys: Capture
) -> None:
    """Under negation an answer of train may be none later."""
    query = 'And(Pe("China", "Make a visit", "2014"), Not(Pe(2, 1, "2014-01-01")))'
    assert asked(capsys, dataset, query, "--view", "train")["count"] == 1
    assert asked(capsys, dataset, query)["count"] == 0
    found = asked(capsys, dataset, 'after(Pt("China", "Make a visit", 3))')
    assert {one["known_since"] for one in found["answers"]} == {"train"}
    assert found["count"] == 5


def test_text(dataset: str, capsys: Capture) -> None:
    assert run(["ask", dataset, 'Pt("China", "Make a visit", 1)']) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert lines[1].startswith("4 timestamps on the test view, in ")
    assert lines[-3:] == [
        "answer                       known since",
        "2014-01-05 … 2014-01-09 (3)  train 1, valid 1, test 1",
        "2014-01-15                   train",
    ]


def test_limit(dataset: str, capsys: Capture) -> None:
    query = 'Pt("China", "Make a visit", 1)'
    found = asked(capsys, dataset, query, "--limit", "1")
    assert found["count"] == 4 and len(found["answers"]) == 1
    assert run(["ask", dataset, query, "--limit", "1"]) == 0
    assert capsys.readouterr().out.endswith("… and 1 more (--limit shows more)\n")
    assert run(["ask", dataset, query, "--limit", "-1"]) == 2


def test_no_answers(dataset: str, capsys: Capture) -> None:
    assert run(["ask", dataset, 'Pe("it\'s", "Make a visit", "2014")']) == 0
    assert "0 entities on the test view" in capsys.readouterr().out


def test_a_structure_of_a_file(dataset: str, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "def visited_later(s: Entity, r: Relation, o: Entity) -> EntitySet:\n"
        "    return Pe(s, r, after(Pt(s, r, o)))\n"
    )
    query = 'visited_later("China", "Make a visit", "Łódź, PL")'
    found = asked(capsys, dataset, query, "--structures", str(path))
    assert [one["id"] for one in found["answers"]] == [1]
    assert run(["ask", dataset, query]) == 2
    assert "unknown operator or structure visited_later" in capsys.readouterr().err
    assert run(["ask", dataset, query, "--structures", "absent.py"]) == 2
    assert "absent.py" in capsys.readouterr().err


FAILURES = [
    ('Pe("Chna", "Make a visit", "2014")', 'unknown entity "Chna"; did you mean "China"'),
    ('Pe("China", "Make visits", "2014")', 'did you mean "Make a visit"'),
    ('Pe("China", "Make a visit"', "cannot read the query"),
    ('Pe("China", "Make a visit", "China")', "is no ISO date"),
    ('Pt("China", "Make a visit", Pt(0, 0, 0))', "expects an entity set"),
    ("", "the query is empty"),
]


@pytest.mark.parametrize(("query", "message"), FAILURES)
def test_bad_queries(dataset: str, capsys: Capture, query: str, message: str) -> None:
    assert run(["ask", dataset, query]) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and message in printed.err


def test_bad_targets_and_views(dataset: str, tmp_path: Path, capsys: Capture) -> None:
    assert run(["ask", str(tmp_path), "Pe(0, 0, 0)"]) == 2
    assert "neither a dataset" in capsys.readouterr().err
    assert run(["ask", dataset, "Pe(0, 0, 0)", "--view", "future"]) == 2
    assert 'no view "future"' in capsys.readouterr().err


def test_the_question_of_the_issue(data_folder: Path, tmp_path: Path, capsys: Capture) -> None:
    """Whom China visited in July 2014 and Barack Obama did not, on the paper's dataset."""
    folder = str(tmp_path / "icews14")
    assert run(["data", "import", str(data_folder / "icews14"), "--out", folder]) == 0
    capsys.readouterr()
    query = (
        'And(Pe("China","Make a visit","2014-07-03/2014-07-31"), '
        'Not(Pe("Barack Obama","Make a visit","2014-01-01/2014-12-31")))'
    )
    assert asked(capsys, folder, query)["count"] == 0
    since_july = asked(capsys, folder, query.replace("2014-01-01", "2014-07-01"))
    assert [one["name"] for one in since_july["answers"]] == ["North Korea"]
    assert run(["ask", folder, query.replace("Obama", "Obana")]) == 2
    assert '"Barack Obama"' in capsys.readouterr().err
