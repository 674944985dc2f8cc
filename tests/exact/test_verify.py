"""The replay of query files: complete where they are right, and exact about what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.properties.test_engine import random_anchors
from tflex.exact.engine import Engine
from tflex.exact.verify import Agreement, verify
from tflex.graph.facts import Facts, Level
from tflex.graph.temporal_graph import TemporalGraph
from tflex.graph.timeline import Timeline
from tflex.graph.vocab import Vocabulary
from tflex.query.files import read_query_files
from tflex.query.published import STRUCTURES


def write(path: Path, graph: TemporalGraph, name: str, view: str, easy: str | None,
          defects: dict[int, str] | None = None) -> Path:  # fmt: skip
    """A file of right answers; with `easy` None, of the answers that the view adds."""
    structure = STRUCTURES[name]
    anchors = random_anchors(structure, graph, 20, seed=1)
    answers = Engine(graph.view(view)).answer_batch(structure, anchors)
    known = Engine(graph.view(easy or "train")).answer_batch(structure, anchors)
    new = answers.without(known)
    rows = []
    for row, values in enumerate(anchors.tolist()):
        one = {"query_name": name, "query": values, "answer": answers[row].tolist()}
        if easy is None:
            one["answer"] = new[row].tolist()
        else:
            one["easy_answer"] = known[row].tolist()
        defect = (defects or {}).get(row)
        if defect is not None:
            one[defect] = [0] if one[defect] != [0] else [1]
        rows.append(json.dumps(one))
    path.write_text("\n".join(rows))
    return path


def agreement(graph: TemporalGraph, path: Path, *views: str) -> Agreement:
    (found,) = verify(graph, read_query_files([path], graph), *views)
    return found


@pytest.mark.parametrize("name", ["e2i_N", "aPt", "Pe_e2u"])
def test_right_files(tmp_path: Path, small_graph: TemporalGraph, name: str) -> None:
    path = write(tmp_path / "q.jsonl", small_graph, name, "valid", "train")
    assert agreement(small_graph, path) == Agreement(name, 20, 20, 20, None)
    path = write(tmp_path / "q.jsonl", small_graph, name, "test", "valid")
    assert agreement(small_graph, path, "test", "valid") == Agreement(name, 20, 20, 20, None)
    assert not agreement(small_graph, path, "valid", "train").complete


@pytest.mark.parametrize("name", ["Pe", "Pt"])
def test_new_answers_alone(tmp_path: Path, small_graph: TemporalGraph, name: str) -> None:
    path = write(tmp_path / "q.jsonl", small_graph, name, "valid", None)
    assert agreement(small_graph, path) == Agreement(name, 20, 20, 20, None)
    path = write(tmp_path / "q.jsonl", small_graph, name, "valid", None, {3: "answer"})
    found = agreement(small_graph, path)
    assert (found.answer_matches, found.first_mismatch) == (19, f"{path}, line 4")


def test_new_answers_with_known_ones_among_them(tmp_path: Path, small_graph: TemporalGraph) -> None:
    """A list of all answers where only new ones belong leaves no easy answers out."""
    path = tmp_path / "q.jsonl"
    query = [0, 0, 3]
    answers = Engine(small_graph.view("valid")).answer(STRUCTURES["Pe"](*query)).tolist()
    known = Engine(small_graph.view("train")).answer(STRUCTURES["Pe"](*query)).tolist()
    assert known
    path.write_text(json.dumps({"query_name": "Pe", "query": query, "answer": answers}))
    assert agreement(small_graph, path) == Agreement("Pe", 1, 0, 0, f"{path}, line 1")


def test_no_easy_answers(tmp_path: Path, small_graph: TemporalGraph) -> None:
    """Train files hold whole answers and nothing easy."""
    rows = [{"query_name": "Pe", "query": [0, 0, time], "answer": []} for time in range(70)]
    engine = Engine(small_graph.view("train"))
    for row in rows:
        row["answer"] = engine.answer(STRUCTURES["Pe"](*row["query"])).tolist()
    path = tmp_path / "train.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    assert agreement(small_graph, path, "train") == Agreement("Pe", 70, 70, None, None)


def test_wrong_rows_are_counted_and_the_first_is_named(
    tmp_path: Path, small_graph: TemporalGraph
) -> None:
    defects = {5: "easy_answer", 7: "answer", 9: "answer"}
    path = write(tmp_path / "q.jsonl", small_graph, "t2u", "valid", "train", defects)
    assert agreement(small_graph, path) == Agreement("t2u", 20, 18, 19, f"{path}, line 6")


def icews14(folder: Path) -> TemporalGraph:
    """The dataset of the paper, with the ids of its files."""
    names = {
        kind: (folder / f"{kind}.txt").read_text(encoding="utf-8").splitlines()
        for kind in ("entities", "relations", "timestamps")
    }
    ids = {kind: {name: id for id, name in enumerate(listed)} for kind, listed in names.items()}
    rows = []
    for level in Level:
        for line in (folder / f"{level.name}.tsv").read_text(encoding="utf-8").splitlines():
            s, r, o, t = line.split("\t")
            time = ids["timestamps"][t]
            rows.append(
                (ids["entities"][s], ids["relations"][r], ids["entities"][o], time, time, level)
            )
    return TemporalGraph.from_facts(
        Facts.of(*np.array(rows).T),
        Vocabulary("entity", names["entities"]),
        Vocabulary("relation", names["relations"]),
        Timeline.of(names["timestamps"], "day"),
    )


def test_published_files(data_folder: Path) -> None:
    """The tie to the paper's data: all 38 structures agree, query by query."""
    graph = icews14(data_folder / "icews14")
    filed = read_query_files([data_folder / "icews14" / "queries" / "valid"], graph)
    found = list(verify(graph, filed))
    assert len(found) == 38
    assert {(one.queries, one.answer_matches, one.easy_matches) for one in found} == {
        (200, 200, 200)
    }
