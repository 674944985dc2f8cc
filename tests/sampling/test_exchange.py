"""Published JSON lines in and out, and the report of their defects."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.sampling.test_dataset import hashes, make, same
from tests.strategies import graph_of
from tflex.errors import DataError
from tflex.exact.verify import verify
from tflex.graph.facts import Level
from tflex.graph.world import demo_world
from tflex.query.files import read_query_files
from tflex.query.published import STRUCTURES
from tflex.sampling.dataset import QueryDataset
from tflex.sampling.defects import DEFECTS, dataset_sources, describe, file_sources, split_of
from tflex.sampling.exchange import export_queries, import_queries

CHOSEN = [STRUCTURES[name] for name in ("Pe", "Pe_e2i_N", "aPt", "t2i")]


@pytest.mark.parametrize("published", [False, True])
def test_out_and_in_again(tmp_path: Path, published: bool) -> None:
    graph = demo_world()
    made = make(tmp_path / "q", CHOSEN)
    files = export_queries(graph, made, tmp_path / "lines", Level, published_names=published)
    spelling = "Pe_e2i_Pe_NPe" if published else "Pe_e2i_N"
    assert [path.parent.name for path in files] == ["test"] * 4 + ["train"] * 4 + ["valid"] * 4
    assert f"{spelling}.jsonl" in {path.name for path in files}
    assert f'"query_name": "{spelling}"' in (tmp_path / f"lines/valid/{spelling}.jsonl").read_text()
    read = {level: read_query_files([tmp_path / "lines" / level.name], graph) for level in Level}
    again = import_queries(graph, tmp_path / "again", read)
    assert [one.name for one in again.structures()] == [one.name for one in made.structures()]
    for structure in CHOSEN:
        for level in Level:
            first, second = (one.load(structure.name, level) for one in (made, again))
            assert same(first, second)
    assert QueryDataset.open(tmp_path / "again", graph).manifest.origin == "imported"


def test_exports_agree_with_the_engine(tmp_path: Path) -> None:
    """`tflex queries verify` is the judge."""
    graph, made = demo_world(), make(tmp_path / "q", CHOSEN)
    export_queries(graph, made, tmp_path / "lines", Level)
    for level in (Level.valid, Level.test):
        filed = read_query_files([tmp_path / "lines" / level.name], graph)
        assert all(one.complete for one in verify(graph, filed, level.name, "train"))


def test_splits_are_imported_one_by_one(tmp_path: Path) -> None:
    graph, made = demo_world(), make(tmp_path / "q", CHOSEN)
    export_queries(graph, made, tmp_path / "lines", Level)
    read = {level: read_query_files([tmp_path / "lines" / level.name], graph) for level in Level}
    for level in Level:
        import_queries(graph, tmp_path / "parts", {level: read[level]})
    import_queries(graph, tmp_path / "once", read)
    assert hashes(tmp_path / "parts") == hashes(tmp_path / "once")
    with pytest.raises(DataError, match="holds test queries of Pe already"):
        import_queries(graph, tmp_path / "parts", {Level.test: read[Level.test]})
    with pytest.raises(DataError, match="sampled, not imported"):
        import_queries(graph, tmp_path / "q", read)


def test_the_split_of_a_file() -> None:
    assert split_of(Path("a/queries/valid/Pe.jsonl")) is Level.valid
    assert split_of(Path("a/train/test-queries.jsonl")) is Level.test
    assert split_of(Path("a/validity/train_valid/train/x.json.gz")) is Level.train
    with pytest.raises(DataError, match="--split"):
        split_of(Path("/a/b/latest.jsonl"))


def test_a_clean_dataset_is_called_clean(tmp_path: Path) -> None:
    graph = demo_world()
    described = describe(graph, dataset_sources(make(tmp_path / "q", CHOSEN)))
    assert set(described["structures"]) == {one.name for one in CHOSEN}
    for total in described["totals"].values():
        assert total["queries"] == 30 * 4
        assert {name: total[name] for name in DEFECTS} == dict.fromkeys(DEFECTS, 0)
    valid = described["structures"]["t2i"]["valid"]
    costs = valid["missing_facts"]
    assert valid["targets"] == costs["1"] + costs["2"]
    assert costs["every_atom"] == costs["2"]
    assert described["structures"]["aPt"]["valid"]["retractions"] == 30


def test_a_spoilt_dataset_is_found_out(tmp_path: Path) -> None:
    """A test file in the place of the validation file."""
    made = make(tmp_path / "q", CHOSEN)
    (tmp_path / "q/test/t2i.parquet").replace(tmp_path / "q/valid/t2i.parquet")
    (tmp_path / "q/test/t2i.parquet").write_bytes((tmp_path / "q/valid/t2i.parquet").read_bytes())
    described = describe(demo_world(), dataset_sources(made))["structures"]["t2i"]
    assert described["valid"]["in_other_splits"] == described["test"]["in_other_splits"] == 30
    assert described["valid"]["wrong_answers"] > 0
    assert described["test"]["wrong_answers"] == 0


def line(name: str, query: list[int], answer: list[int], easy: list[int] | None) -> str:
    row = {"query_name": name, "query": query, "answer": answer}
    return json.dumps(row if easy is None else {**row, "easy_answer": easy}) + "\n"


def test_planted_defects(tmp_path: Path) -> None:
    """Each defect once, in files of a graph that fits on one line."""
    graph = graph_of([(0, 0, 1, 0, 0, 0), (0, 0, 2, 0, 0, 1), (3, 1, 1, 1, 1, 0)], 4, 2, 3)
    e2i, pe_apt = [0, 0, 0, 3, 1, 1], [1, 3, 0, 0, 3]
    for split in ("valid", "train"):
        (tmp_path / split).mkdir()
    (tmp_path / "valid/e2i.jsonl").write_text(
        line("e2i", [0, 0, 0, 3, 1, 1], [1], [1])  # nothing new, its one target is known
        + line("e2i", [3, 1, 1, 0, 0, 0], [1], [1])  # the same, its branches exchanged
        + line("e2i", [0, 0, 0, 0, 0, 0], [1, 2], [1])  # a branch twice
        + line("e2i", [0, 0, 0, 2, 0, 0], [2], [])  # wrong: no answer, for its part is empty
    )
    (tmp_path / "train/e2i.jsonl").write_text(line("e2i", e2i, [1], []))
    (tmp_path / "valid/Pe.jsonl").write_text(line("Pe", [0, 0, 0], [2], None))
    (tmp_path / "valid/Pe_aPt.jsonl").write_text(line("Pe_aPt", pe_apt, [3], [3]))
    sources = file_sources(graph, [tmp_path / "train", tmp_path / "valid"])
    described = describe(graph, sources)["structures"]
    valid = described["e2i"]["valid"]
    assert {name: valid[name] for name in DEFECTS} == {
        "duplicates": 1,
        "in_other_splits": 2,
        "known_targets": 2,
        "no_new_answer": 3,
        "empty_inner_sets": 1,
        "repeated_branches": 1,
        "wrong_answers": 1,
    }
    assert described["e2i"]["train"]["in_other_splits"] == 1
    assert described["Pe"]["valid"]["wrong_answers"] == 0
    assert described["Pe"]["valid"]["average_answers"] == 1
    after_nothing = described["Pe_aPt"]["valid"]
    assert after_nothing["empty_inner_sets"] == after_nothing["known_targets"] == 1
    assert after_nothing["wrong_answers"] == 0


def test_the_published_files(data_folder: Path) -> None:
    """Their defects as the paper's readers found them, beside its counts."""
    from tflex.graph.ingest import import_facts

    place = data_folder / "icews14"
    graph = import_facts([place])
    described = describe(graph, file_sources(graph, [place / "queries" / "valid"]))
    assert described["paper_dataset"] == "ICEWS14"
    rows = {name: one["valid"] for name, one in described["structures"].items()}
    assert len(rows) == 38
    assert rows["e2i"]["duplicates"] > 100
    assert rows["Pe_at2i"]["empty_inner_sets"] == rows["Pe_bt2i"]["empty_inner_sets"] == 200
    for name in ("e2i_Pe", "e3i_N", "t2i_Pe", "t3i_N", "between"):
        assert rows[name]["no_new_answer"] >= 195
    assert sum(one["wrong_answers"] for one in rows.values()) == 0
    assert rows["Pe2"]["paper_queries"] == 3482
    assert rows["Pe2"]["paper_average_answers"] == 2.19
    assert np.isclose(rows["Pe2"]["average_answers"], 2.19, atol=0.05)
