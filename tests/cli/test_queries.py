"""`tflex queries`: the list, what is shown of a structure, and the replay of files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.strategies import graph_of
from tflex.cli import run
from tflex.query.describe import sentence
from tflex.query.drawing import computation_graph, mermaid
from tflex.query.notation import formula
from tflex.query.published import STRUCTURES

Capture = pytest.CaptureFixture[str]

MINE = (
    "def seen_again(s: Entity, r: Relation, o: Entity) -> EntitySet:\n"
    "    return Pe(s, r, after(Pt(s, r, o)))\n"
)


@pytest.fixture
def structure_file(tmp_path: Path) -> str:
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    return str(path)


def test_list(capsys: Capture, structure_file: str) -> None:
    assert run(["queries", "list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["structures"]
    assert len(listed) == 40
    by_name = {one["name"]: one for one in listed}
    assert by_name["e2i_N"] == {
        "name": "e2i_N",
        "aliases": ["2in"],
        "group": "avg_e_not",
        "sort": "entity",
        "parameters": [
            {"name": name, "sort": sort}
            for name, sort in zip(
                ("s1", "r1", "t1", "s2", "r2", "t2"),
                ("entity", "relation", "time") * 2,
                strict=True,
            )
        ],
        "definition": "And(Pe(s1, r1, t1), Not(Pe(s2, r2, t2)))",
    }
    assert by_name["aPt"]["sort"] == "time"
    assert run(["queries", "list", "--structures", structure_file]) == 0
    text = capsys.readouterr().out
    assert "41 structures" in text
    assert "Pe(s, r, after(Pt(s, r, o)))" in text


def test_show(capsys: Capture, tmp_path: Path) -> None:
    picture = tmp_path / "drawings" / "one.svg"
    assert run(["queries", "show", "2in", "--svg", str(picture)]) == 0
    text = capsys.readouterr().out
    body = STRUCTURES["e2i_N"].body
    for part in (
        "e2i_N(s1, r1, t1, s2, r2, t2) = And(Pe(s1, r1, t1), Not(Pe(s2, r2, t2)))",
        "gives entity sets, group avg_e_not, also 2in",
        sentence(body),
        formula(body),
        mermaid(computation_graph(body)),
        str(picture),
    ):
        assert part in text
    assert picture.read_text(encoding="utf-8").startswith("<svg")


def test_show_as_json(capsys: Capture, structure_file: str) -> None:
    arguments = ["queries", "show", "seen_again", "--json"]
    assert run([*arguments, "--structures", structure_file]) == 0
    shown = json.loads(capsys.readouterr().out)
    body = "Pe(s, r, after(Pt(s, r, o)))"
    assert (shown["name"], shown["group"], shown["definition"]) == ("seen_again", None, body)
    assert [one["label"] for one in shown["graph"]["vertices"]][-1] == "V?"
    assert shown["mermaid"].startswith("flowchart") and shown["formula"].startswith("q[V?] = ")
    assert run(arguments) == 2
    assert 'unknown structure "seen_again"' in capsys.readouterr().err
    assert run(["queries", "show", "e2u_N"]) == 2
    assert "did you mean" in capsys.readouterr().err


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("verify") / "dataset"
    graph_of([(0, 0, 1, 1, 1, 0), (0, 0, 2, 1, 1, 1), (0, 0, 3, 1, 1, 2)], 4, 1, 3).save(folder)
    return str(folder)


def write(path: Path, answer: list[int], easy: list[int]) -> str:
    row = {"query_name": "2u", "query": [0, 0, 1] * 2, "answer": answer, "easy_answer": easy}
    path.write_text(json.dumps(row))
    return str(path)


def test_verify(dataset: str, tmp_path: Path, capsys: Capture) -> None:
    path = write(tmp_path / "q.jsonl", [1, 2], [1])
    assert run(["queries", "verify", dataset, path, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "structures": [{"name": "e2u", "queries": 1, "answer_matches": 1, "easy_matches": 1}]
    }
    path = write(tmp_path / "q.jsonl", [1, 2, 3], [1, 2])
    views = ["--answer-view", "test", "--easy-view", "valid"]
    assert run(["queries", "verify", dataset, path, *views]) == 0
    capsys.readouterr()
    assert run(["queries", "verify", dataset, path, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["structures"] == [
        {"name": "e2u", "queries": 1, "answer_matches": 0, "easy_matches": 0}
    ]
    assert run(["queries", "verify", dataset, path]) == 1
    assert "q.jsonl, line 1" in capsys.readouterr().out


def test_verify_of_a_users_structure(
    dataset: str, structure_file: str, tmp_path: Path, capsys: Capture
) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text('{"query_name": "seen_again", "query": [0, 0, 1], "answer": []}')
    arguments = ["queries", "verify", dataset, str(path)]
    assert run([*arguments, "--structures", structure_file, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["structures"] == [
        {"name": "seen_again", "queries": 1, "answer_matches": 1, "easy_matches": None}
    ]
    assert run(arguments) == 2
    assert 'unknown structure "seen_again"' in capsys.readouterr().err


def test_verify_finds_files_in_the_data_folder(
    dataset: str, tmp_path: Path, capsys: Capture
) -> None:
    write(tmp_path / "q.jsonl", [1, 2], [1])
    arguments = ["queries", "verify", dataset, "q.jsonl"]
    assert run([*arguments, "--data-dir", str(tmp_path)]) == 0
    assert run([*arguments, "--data-dir", dataset]) == 2
    assert "q.jsonl: no such file" in capsys.readouterr().err
