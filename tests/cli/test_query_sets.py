"""`tflex queries sample | join | describe | import | export`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.sampling.test_dataset import hashes
from tflex.cli import run
from tflex.graph.world import demo_world

Capture = pytest.CaptureFixture[str]

MINE = """def mine(s1, r1, s2, r2, o1, s3, r3, t1, r4, t2):
    return Pe(And(Pe(s1, r1, after(Pt(s2, r2, o1))), Not(Pe(s3, r3, t1))), r4, t2)
"""


@pytest.fixture
def world(tmp_path: Path) -> Path:
    demo_world().save(tmp_path / "world")
    return tmp_path / "world"


def sample(world: Path, *options: str) -> int:
    return run(["queries", "sample", str(world), "--workers", "1", *options])


def test_sample_and_describe(world: Path, capsys: Capture) -> None:
    assert sample(world, "--structures", "Pe,avg_t_union", "--count", "20", "--json") == 0
    made = json.loads(capsys.readouterr().out)
    assert made["folder"] == str(world / "queries")
    assert list(made["structures"]) == ["Pe", "t2u", "Pe_t2u"]
    whole = {"wanted": 20, "found": 20, "exhausted": False, "exact": False}
    assert made["structures"]["t2u"] == dict.fromkeys(("train", "valid", "test"), whole)
    assert run(["queries", "describe", str(world), "--json"]) == 0
    described = json.loads(capsys.readouterr().out)
    assert described["totals"]["test"]["queries"] == 60
    assert described["totals"]["test"]["duplicates"] == 0
    assert run(["queries", "describe", str(world)]) == 0
    text = capsys.readouterr().out
    assert "beside the paper's" in text
    assert "0 queries that repeat another of their split" in text


def test_where_a_graph_has_no_more(world: Path, capsys: Capture) -> None:
    assert sample(world, "--structures", "Pt", "--count", "99999", "--split", "test") == 0
    text = capsys.readouterr().out
    assert "99,999" in text
    assert "test: all there are" in text


def test_counts_of_the_paper_by_default(world: Path, capsys: Capture) -> None:
    assert sample(world, "--structures", "between", "--split", "valid,train", "--json") == 0
    splits = json.loads(capsys.readouterr().out)["structures"]["between"]
    assert {name: one["wanted"] for name, one in splits.items()} == {"train": 600, "valid": 244}


def test_a_structure_of_ones_own(world: Path, tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "mine.py"
    file.write_text(MINE)
    assert sample(world, "--structures", f"Pe,{file}", "--count", "25") == 0
    assert run(["queries", "describe", str(world), "--json"]) == 0
    text = capsys.readouterr().out
    described = json.loads(text[text.index("{\n") :])
    assert described["structures"]["mine"]["test"]["queries"] == 25
    assert described["structures"]["mine"]["test"]["wrong_answers"] == 0
    lines = tmp_path / "lines"
    assert run(["queries", "export", str(world), "--out", str(lines), "--structures", "mine"]) == 0
    known = ["--structures", str(file)]
    views = ["--answer-view", "test"]
    assert run(["queries", "verify", str(world), str(lines / "test"), *known, *views]) == 0
    assert run(["queries", "describe", str(world), str(lines), str(lines / "valid"), *known]) == 2
    assert "no query files" in capsys.readouterr().err
    assert run(["queries", "describe", str(world), str(lines / "valid"), *known]) == 0
    assert "mine" in capsys.readouterr().out


def test_shards_and_join(world: Path, capsys: Capture) -> None:
    options = ["--structures", "avg_e", "--count", "15"]
    assert sample(world, *options) == 0
    (world / "queries").replace(world / "whole")
    for number in (1, 2):
        assert sample(world, *options, "--shard", f"{number}/2") == 0
    shards = [str(world / f"queries-shard-{number}-of-2") for number in (1, 2)]
    assert run(["queries", "join", str(world), shards[0]]) == 2
    assert "missing: 2/2" in capsys.readouterr().err
    assert run(["queries", "join", str(world), *shards]) == 0
    assert hashes(world / "queries") == hashes(world / "whole")


def test_export_and_import(world: Path, tmp_path: Path, capsys: Capture) -> None:
    assert sample(world, "--structures", "Pe_t2i_N,e2u", "--count", "12") == 0
    lines, again = tmp_path / "lines", tmp_path / "again"
    command = ["queries", "export", str(world), "--out", str(lines), "--split", "valid,test"]
    assert run([*command, "--published-names", "--json"]) == 0
    capsys.readouterr()
    assert (lines / "valid" / "Pe_t2i_PtPe_NPt.jsonl").is_file()
    folders = [str(lines / "valid"), str(lines / "test")]
    assert run(["queries", "import", str(world), *folders]) == 2
    assert "sampled, not imported" in capsys.readouterr().err
    assert run(["queries", "import", str(world), *folders, "--out", str(again)]) == 0
    for name in ("valid/e2u.parquet", "test/Pe_t2i_N.parquet"):
        assert hashes(world / "queries")[name] == hashes(again)[name]
    assert run(["queries", "describe", str(world), str(again), "--json"]) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--structures", "Pex"], 'unknown structure "Pex"; did you mean'),
        (["--structures", ","], "names no structure"),
        (["--structures", "nowhere.py"], "cannot be read"),
        (["--count", "0"], "neither a number above 0"),
        (["--count", "many"], "neither a number above 0"),
        (["--split", "train,tests"], "splits are train, valid, test"),
        (["--missing", "0:1"], "is not like 1:0.7,2:0.3"),
        (["--missing", "1:-1,2:2"], "is not like 1:0.7,2:0.3"),
        (["--missing", "1:0.7,2:0.5"], "shares that sum to 1"),
        (["--shard", "0/4"], "is no shard"),
        (["--shard", "5/4"], "is no shard"),
    ],
)
def test_bad_options(world: Path, capsys: Capture, options: list[str], message: str) -> None:
    assert sample(world, *options) == 2
    assert message in capsys.readouterr().err
    assert not (world / "queries").exists()


def test_other_settings_need_overwrite(world: Path, capsys: Capture) -> None:
    options = ["--structures", "Pe", "--count", "5"]
    assert sample(world, *options, "--missing", "1:1") == 0
    assert sample(world, *options) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert sample(world, *options, "--overwrite") == 0


def test_places(capsys: Capture, tmp_path: Path) -> None:
    assert run(["queries", "sample", "demo"]) == 2
    assert "give --out" in capsys.readouterr().err
    out = tmp_path / "q"
    options = ["--structures", "Pe", "--count", "5", "--workers", "1", "--out", str(out)]
    assert run(["queries", "sample", "demo", *options]) == 0
    assert run(["queries", "describe", "demo", str(out)]) == 0
    assert run(["queries", "describe", "demo", str(out), "--split", "test"]) == 2
    assert run(["queries", "describe", "demo"]) == 2
    assert "holds no queries" in capsys.readouterr().err
