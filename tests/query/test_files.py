"""Published query files: what is read from them, and how each defect is reported."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tflex.errors import DataError
from tflex.graph.temporal_graph import TemporalGraph
from tflex.query.algebra import And, Not, Pe, Slot, Sort
from tflex.query.files import FiledQueries, Lists, read_query_files
from tflex.query.published import STRUCTURES
from tflex.query.structures import make_structure


def write(path: Path, *rows: dict[str, Any] | str) -> Path:
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    data = ("\n".join(lines) + "\n").encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def row(name: str, query: list[Any], answer: list[Any], easy: list[Any] | None = None) -> dict:
    made = {"query_name": name, "query": query, "answer": answer}
    return made if easy is None else {**made, "easy_answer": easy}


def listed(lists: Lists) -> list[list[int]]:
    return [
        lists.ids[start:end].tolist()
        for start, end in zip(lists.offsets, lists.offsets[1:], strict=False)
    ]


def test_what_files_hold(tmp_path: Path, small_graph: TemporalGraph) -> None:
    first = write(
        tmp_path / "a.jsonl",
        row("Pe_e2i_Pe_NPe", [0, 5, 69, 1, 0, 3, 2, 4], [4, 2, 2], [2]),
        "",
        row("Pt", [0, 1, 2], []),
    )
    second = write(tmp_path / "b.jsonl.gz", row("Pe_e2i_N", [11, 0, 0, 1, 0, 3, 2, 4], [], []))
    write(tmp_path / "notes.txt", "no queries")
    by_folder = read_query_files([tmp_path], small_graph)
    by_name = read_query_files([first, second], small_graph)
    for found in (by_folder, by_name):
        negated, times = found
        assert [one.structure.name for one in found] == ["Pe_e2i_N", "Pt"]
        assert negated.anchors.tolist() == [[0, 5, 69, 1, 0, 3, 2, 4], [11, 0, 0, 1, 0, 3, 2, 4]]
        assert listed(negated.answers) == [[2, 4], []]
        assert negated.easy is not None and listed(negated.easy) == [[2], []]
        assert [negated.place(0), negated.place(1)] == [f"{first}, line 1", f"{second}, line 1"]
        assert listed(times.answers) == [[]] and times.easy is None
        assert times.place(0) == f"{first}, line 3"


def test_a_users_structure_stands_after_the_forty(
    tmp_path: Path, small_graph: TemporalGraph
) -> None:
    source, relation, when = (
        Slot("s", Sort.ENTITY),
        Slot("r", Sort.RELATION),
        Slot("t", Sort.TIME),
    )
    known = STRUCTURES.copy()
    known.add(
        make_structure(
            "others",
            [source, relation, when],
            And(Not(Pe(source, relation, when)), Not(source)),
        )
    )
    path = write(tmp_path / "q.json", row("others", [0, 1, 2], [1]), row("Pe", [0, 1, 2], [1]))
    found: list[FiledQueries] = read_query_files([path], small_graph, known)
    assert [one.structure.name for one in found] == ["Pe", "others"]


ARITY = "line 1: 1p takes 3 anchors (s, r, t), not 2: [0, 1]"
RELATION = "line 1: `query` (its relation argument 2) holds 6, which is no relation id; there are 6"
MIXED = "line 2: no `easy_answer`, but the Pe queries before it have one"
MIXED_TOO = "line 2: an `easy_answer`, but the Pe queries before it have none"
LONG_ANSWER = "line 1: `answer` holds 99999999999999999999, which is no entity id; there are 12 ent"

DEFECTS: list[tuple[str, list[dict | str]]] = [
    ('line 1: unknown structure "Pee"; did you mean', [row("Pee", [0, 1, 2], [])]),
    (ARITY, [row("1p", [0, 1], [])]),
    (RELATION, [row("Pe", [0, 6, 2], [])]),
    ("argument 1) holds -1, which is no entity id", [row("Pe", [-1, 0, 2], [])]),
    ("argument 3) holds 70, which is no time id", [row("Pe", [0, 0, 70], [])]),
    ("`query` (its entity argument 1) holds true", [row("Pe", [True, 0, 2], [])]),
    ("`query` (its entity argument 1) holds [0]", [row("Pe", [[0], 0, 2], [])]),
    (
        "line 2: `answer` holds 0.5",
        [row("Pe", [0, 0, 2], [1, 2, 3]), row("Pe", [0, 0, 2], [4, 0.5])],
    ),
    (LONG_ANSWER, [row("Pe", [0, 0, 2], [99999999999999999999])]),
    ("line 2: `easy_answer` holds 12", [row("Pt", [0, 0, 2], []), row("Pe", [0, 0, 2], [], [12])]),
    (MIXED, [row("Pe", [0, 0, 2], [], []), row("Pe", [0, 0, 2], [])]),
    (MIXED_TOO, [row("Pe", [0, 0, 2], []), row("Pe", [0, 0, 2], [], [])]),
    ("line 1: `query` is null, not a list", [{"query_name": "Pe", "answer": []}]),
    ("line 1: `answer` is 3, not a list", [{"query_name": "Pe", "query": [0, 0, 0], "answer": 3}]),
    ("line 1: `query_name` is null", [{"query": [0, 0, 0], "answer": []}]),
    ("line 1: expected an object with `query_name`, not [1]", ["[1]"]),
    ('line 2: no JSON (Expecting value): {"query_name": }', ["", '{"query_name": }']),
    ("line 1: no JSON", ["[" * 100_000]),
    ("no query in it", [""]),
]  # fmt: skip


@pytest.mark.parametrize(("message", "rows"), DEFECTS, ids=[message for message, _ in DEFECTS])
def test_defects(
    tmp_path: Path, small_graph: TemporalGraph, message: str, rows: list[dict | str]
) -> None:
    path = write(tmp_path / "q.jsonl", *rows)
    with pytest.raises(DataError) as caught:
        read_query_files([path], small_graph)
    assert str(caught.value).startswith(str(path)) and message in str(caught.value)


def test_places_without_queries(tmp_path: Path, small_graph: TemporalGraph) -> None:
    with pytest.raises(DataError, match="no query files"):
        read_query_files([tmp_path], small_graph)
    (tmp_path / "lines" / "valid").mkdir(parents=True)
    write(tmp_path / "lines" / "valid" / "Pe.jsonl", row("Pe", [0, 0, 0], []))
    with pytest.raises(DataError, match=r"no query files .*; give .*lines/valid$"):
        read_query_files([tmp_path / "lines"], small_graph)
    with pytest.raises(DataError, match="no such file"):
        read_query_files([tmp_path / "absent.jsonl"], small_graph)
    cut = tmp_path / "cut.jsonl.gz"
    rows = json.dumps(row("Pe", [0, 0, 0], [])) + "\n"
    cut.write_bytes(gzip.compress(rows.encode() * 1000)[:-12])
    with pytest.raises(DataError, match=r"cannot be read after line \d+"):
        read_query_files([cut], small_graph)
    cut.write_bytes(b"no gzip at all")
    with pytest.raises(DataError, match="cannot be read"):
        read_query_files([cut], small_graph)
