"""`tflex data` as a person uses it: what it prints, and how it fails."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.graph.test_ingest import INTERVALS, ROWS, put
from tflex.cli import data as commands
from tflex.cli import run
from tflex.cli.targets import open_target
from tflex.errors import DataError
from tflex.graph.temporal_graph import TemporalGraph

Capture = pytest.CaptureFixture[str]


def imported(folder: Path, *options: str) -> int:
    path = put(folder, "facts.tsv", ROWS)
    return run(["data", "import", str(path), "--out", str(folder / "out"), *options])


def test_import_says_what_it_made(tmp_path: Path, capsys: Capture) -> None:
    assert imported(tmp_path) == 0
    out = capsys.readouterr().out
    assert "6 entities, 2 relations, 4 timestamps (unit: day)" in out
    assert "facts: 3 train, 1 valid, 0 test" in out
    assert TemporalGraph.open(tmp_path / "out").name == "facts"


def test_import_passes_its_options_on(tmp_path: Path, capsys: Capture) -> None:
    path = put(tmp_path, "x.csv", "who,what,whom,when\na,r,b,2014-01-01\nb,r,a,2014-02-01\nb,r\n")
    options = ["--columns", "subject=who,relation=what,object=whom,time=when"]
    options += ["--split", "0,0.5,0.5", "--unit", "month", "--skip-bad", "--name", "mine"]
    options += ["--header", "--json"]
    assert run(["data", "import", str(path), "--out", str(tmp_path / "out"), *options]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["facts"] == {"train": 0, "valid": 1, "test": 1}
    assert (found["name"], found["time_unit"]) == ("mine", "month")
    assert found["dropped"] == {"wrong number of fields": 1}


def test_facts_are_looked_up_in_the_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TFLEX_DATA", raising=False)
    (tmp_path / "shelf").mkdir()
    put(tmp_path / "shelf", "facts.tsv", ROWS)
    assert run(["data", "import", "facts.tsv", "--out", "a"]) == 2
    assert run(["data", "import", "facts.tsv", "--out", "a", "--data-dir", "shelf"]) == 0
    monkeypatch.setenv("TFLEX_DATA", "shelf")
    assert run(["data", "import", "facts.tsv", "--out", "b"]) == 0
    put(tmp_path, "facts.tsv", ROWS[:1])
    capsys.readouterr()
    assert run(["data", "import", "facts.tsv", "--out", "c", "--json"]) == 0
    assert sum(json.loads(capsys.readouterr().out)["facts"].values()) == 1


def test_a_folder_that_is_taken_is_refused_before_anything_is_read(
    tmp_path: Path, capsys: Capture
) -> None:
    assert imported(tmp_path) == 0
    capsys.readouterr()
    assert run(["data", "import", "nothing.tsv", "--out", str(tmp_path / "out")]) == 2
    assert "exists already" in capsys.readouterr().err
    assert imported(tmp_path, "--overwrite") == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.tsv"], "error: nothing.tsv does not exist"),
        (["facts.tsv", "--split", "1,2"], "is not three shares"),
        (["facts.tsv", "--split", "1,2,3"], "not three shares that sum to 1"),
        (["facts.tsv", "--columns", "who"], "maps no column"),
        (["bad.tsv"], 'bad.tsv, line 2: cannot read the time "2014-13-45" as a day'),
        (["facts.tsv", "--unit", "hour"], "hour"),
        ([], "FACTS"),
    ],
)
def test_bad_input_is_said_on_stderr(
    tmp_path: Path, arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    put(tmp_path, "facts.tsv", ROWS)
    put(tmp_path, "bad.tsv", [*ROWS[:1], ["a", "r", "b", "2014-13-45"]])
    assert run(["data", "import", *arguments, "--out", "out"]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""
    assert not (tmp_path / "out").exists()


def test_describe_as_json_and_as_tables(tmp_path: Path, capsys: Capture) -> None:
    rows = [["a", "<is in>", "b", "1953", "1951"], ["a", "[is] in", "b", "1953", "1954"]]
    path = put(tmp_path, "spans.tsv", [*INTERVALS, *rows])
    out = str(tmp_path / "out")
    assert run(["data", "import", str(path), "--out", out]) == 0
    capsys.readouterr()
    assert run(["data", "describe", out, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["dropped"] == {"start after end": 1}
    assert found["intervals"]["facts"] == 5
    assert run(["data", "describe", out]) == 0
    shown = capsys.readouterr().out
    for text in ("[is] in", "start after end", "open end", found["content_hash"], "1951", "█"):
        assert text in shown


def test_the_demo_world_is_described(capsys: Capture) -> None:
    assert run(["data", "describe", "demo", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["facts_in_all"] > 0


def test_a_world_is_made(tmp_path: Path, capsys: Capture) -> None:
    out = str(tmp_path / "world")
    assert run(["data", "world", "--scale", "demo", "--seed", "3", "--out", out, "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert TemporalGraph.open(out).content_hash == made["content_hash"]
    assert run(["data", "world", "--scale", "nowhere", "--out", str(tmp_path / "x")]) == 2
    assert "nowhere" in capsys.readouterr().err


# Targets


def test_targets_are_datasets_runs_and_exact_folders(tmp_path: Path) -> None:
    assert imported(tmp_path) == 0
    dataset = tmp_path / "out"
    expected = TemporalGraph.open(dataset).content_hash
    runs = {"absolute": str(dataset), "relative": "../out"}
    for name, written in runs.items():
        (tmp_path / name).mkdir()
        put(tmp_path / name, "run.json", json.dumps({"dataset": written}))
    for target in (str(dataset), f"exact:{dataset}", *(str(tmp_path / name) for name in runs)):
        assert open_target(target).content_hash == expected
    put(tmp_path / "relative", "run.json", json.dumps({"dataset": "demo"}))
    assert open_target(str(tmp_path / "relative")).name.startswith("world")


@pytest.mark.parametrize("run_file", ["", "[]", "{}", '{"dataset": 3}', '{"dataset": "gone"}'])
def test_a_target_that_is_none_is_an_error(tmp_path: Path, run_file: str) -> None:
    with pytest.raises(DataError, match="neither a dataset"):
        open_target(str(tmp_path))
    with pytest.raises(DataError, match="is no folder"):
        open_target(str(tmp_path / "nothing"))
    put(tmp_path, "run.json", run_file)
    with pytest.raises(DataError, match=r"run\.json names"):
        open_target(str(tmp_path))


# The frame


@pytest.mark.parametrize("command", [[], ["data"], ["data", "import"], ["data", "describe"],
                                     ["data", "world"]])  # fmt: skip
def test_help_is_there_and_shows_an_example(command: list[str], capsys: Capture) -> None:
    assert run([*command, "--help"]) == 0
    shown = capsys.readouterr().out
    assert len(command) < 2 or "Example: tflex data" in " ".join(shown.split())


@pytest.mark.parametrize(
    ("raised", "code", "said"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (DataError("no good"), 2, "error: no good"),
        (PermissionError(13, "Permission denied", "x"), 2, "Permission denied"),
        (MemoryError(), 2, "not enough memory"),
    ],
)
def test_what_ends_a_command_is_said_in_a_line(
    raised: BaseException, code: int, said: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    def fail(target: str) -> TemporalGraph:
        raise raised

    monkeypatch.setattr(commands, "open_target", fail)
    assert run(["data", "describe", "demo"]) == code
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


@pytest.mark.slow
def test_help_imports_nothing_heavy() -> None:
    script = (
        "import sys, tflex.cli; tflex.cli.run(['--help']); "
        "heavy = {'numpy', 'numba', 'duckdb', 'pyarrow', 'torch', 'pydantic'}; "
        "sys.exit(', '.join(heavy & sys.modules.keys()) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_module_runs() -> None:
    command = [sys.executable, "-m", "tflex.cli", "data", "describe", "/nothing"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: /nothing is no folder")
