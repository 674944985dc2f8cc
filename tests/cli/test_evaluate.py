"""`tflex evaluate` and `tflex ask --reasoner embedding`: what they print, and how they fail."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from tflex.cli import run
from tflex.exact.engine import Engine
from tflex.experiment.config import EmbeddingConfig, changed
from tflex.experiment.embedding import BEST, build_model
from tflex.experiment.run import Run
from tflex.graph.facts import Level
from tflex.graph.temporal_graph import TemporalGraph
from tflex.graph.world import demo_world
from tflex.query.published import STRUCTURES
from tflex.query.text import parse
from tflex.sampling.counts import equal_counts
from tflex.sampling.dataset import sample_dataset
from tflex.training.checkpoint import save_weights

Capture = pytest.CaptureFixture[str]
SAMPLED = ("Pe", "e2u", "Pt", "aPt")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evaluate") / "world"
    graph = demo_world()
    graph.save(folder)
    structures = [STRUCTURES[name] for name in SAMPLED]
    counts = equal_counts(25, structures, [Level.valid, Level.test])
    sample_dataset(graph, folder / "queries", structures, counts)
    return folder


@pytest.fixture(scope="module")
def trained(world: Path) -> Path:
    """A run that holds the weights it started with."""
    options = ["model.dim=6", "model.hidden=[6]"]
    made = Run.create(world.parent / "run", str(world), demo_world(),
                      changed(EmbeddingConfig(preset="tflex"), options))  # fmt: skip
    save_weights(build_model(made.config, made.graph()), made.folder / BEST)
    return made.folder


def evaluated(capture: Capture, *arguments: str) -> list[dict[str, Any]]:
    assert run(["evaluate", *arguments, "--json"]) == 0
    return json.loads(capture.readouterr().out)


def test_a_run_by_both_protocols(trained: Path, capsys: Capture) -> None:
    strict, published = evaluated(capsys, str(trained))
    for report, protocol in ((strict, "strict"), (published, "published")):
        assert report["protocol"] == protocol
        assert (report["reasoner"], report["split"], report["view"]) == ("tflex", "test", "train")
        assert set(report["structures"]) == set(SAMPLED)
    boundaries = strict["structures"]["aPt"]["overall"]["metrics"]
    assert 0 < boundaries["f1"] <= 1  # Of a threshold fitted on the validation queries.
    assert "1" in strict["structures"]["Pe"]["breakdowns"]["missing facts"]
    assert 0 < published["means"]["ceiling"]["avg_e"] <= 1


def test_reasoners_side_by_side(trained: Path, capsys: Capture) -> None:
    arguments = (str(trained), "--protocol", "strict", "--reasoners", "exact,frequency,embedding")
    reports = evaluated(capsys, *arguments)
    assert [(one["reasoner"], one["view"]) for one in reports] == [
        ("exact", "valid"), ("frequency (r)", "valid"), ("frequency (s, r)", "valid"),
        ("tflex", "train"),
    ]  # fmt: skip
    reports = evaluated(capsys, *arguments, "--view", "train", "--split", "valid")
    assert {(one["view"], one["split"]) for one in reports} == {("train", "valid")}


def test_published_files_and_the_ceiling(world: Path, tmp_path: Path, capsys: Capture) -> None:
    assert run(["queries", "export", str(world), "--out", str(tmp_path), "--split", "valid"]) == 0
    capsys.readouterr()
    (report,) = evaluated(
        capsys, f"exact:{world}", "--view", "valid", "--protocol", "published", "--split", "valid",
        "--queries", str(tmp_path / "valid"),
    )  # fmt: skip
    for name in ("e2u", "aPt"):
        metrics = report["structures"][name]["overall"]["metrics"]
        assert metrics["mrr"] == pytest.approx(metrics["ceiling"])
    assert report["view"] == "valid"


def test_structures_and_limit(world: Path, capsys: Capture) -> None:
    (report,) = evaluated(capsys, str(world), "--protocol", "strict", "--structures",
                          "avg_e_union,Pt,t2u", "--limit", "21")  # fmt: skip
    counts = {name: one["overall"]["queries"] for name, one in report["structures"].items()}
    assert counts == {"e2u": 21, "Pt": 21}


def test_other_folders_of_queries(world: Path, tmp_path: Path, capsys: Capture) -> None:
    folder = tmp_path / "few"
    structures = [STRUCTURES["Pe2"]]
    sample_dataset(demo_world(), folder, structures, equal_counts(5, structures, [Level.test]))
    (report,) = evaluated(capsys, "demo", "--protocol", "published", "--queries", str(folder))
    assert list(report["structures"]) == ["Pe2"]


@pytest.mark.parametrize(
    ("option", "begins"),
    [("--latex", "\\begin{table}"), ("--markdown", "**MRR, strict protocol, world-demo test"),
     ("--csv", "dataset,split,protocol,view,reasoner"), (None, "MRR, strict protocol")],
)  # fmt: skip
def test_forms(world: Path, capsys: Capture, option: str | None, begins: str) -> None:
    arguments = ["evaluate", str(world), *([option] if option else [])]
    assert run(arguments) == 0
    out = capsys.readouterr().out
    assert out.startswith(begins)
    if option == "--csv":
        rows = list(csv.DictReader(io.StringIO(out)))
        assert {row["protocol"] for row in rows} == {"strict", "published"}
    else:
        assert "published protocol" in out and "given the valid view" in out


@pytest.mark.parametrize("option", [None, "--markdown", "--latex", "--csv"])
def test_few_queries_are_said_to_be_few(world: Path, capsys: Capture, option: str | None) -> None:
    command = ["evaluate", str(world), "--limit", "3", "--structures", "Pe,e2u"]
    assert run([*command, *([option] if option else [])]) == 0
    shown = capsys.readouterr()
    reason = "fewer than 20 evaluable queries"
    if option == "--csv":
        assert shown.err == f"left out: {reason}\n" and reason not in shown.out
        return
    said = f"% –: {reason}" if option == "--latex" else f"–: {reason}"
    before, after = shown.out.split(f"\n{said}\n")
    assert "strict protocol" in before and "published protocol" in after
    assert "published protocol" not in before and "by missing facts" not in before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--protocol", "lenient"], '--protocol "lenient": there are strict, published'),
        (["--protocol", ""], '--protocol "": there are'),
        (["--split", "train"], '--split "train": there are valid, test'),
        (["--split", "valid,test"], "one split at a time"),
        (["--reasoners", "oracle"], '--reasoners "oracle"'),
        (["--reasoners", "embedding"], "no run of kind embedding"),
        (["--view", "all"], 'no view "all"'),
        (["--structures", "nothing"], 'unknown structure "nothing"'),
        (["--structures", "Pe3"], "no test queries of the chosen structures"),
        (["--json", "--csv"], "choose one of --json, --csv"),
        (["--queries", "/nowhere"], "/nowhere"),
    ],
)
def test_errors(world: Path, capsys: Capture, options: list[str], message: str) -> None:
    assert run(["evaluate", str(world), *options]) == 2
    shown = capsys.readouterr()
    assert message in shown.err and "Traceback" not in shown.err


def test_a_view_is_not_for_embeddings(trained: Path, capsys: Capture) -> None:
    assert run(["evaluate", str(trained), "--view", "valid"]) == 2
    assert "--view is for reasoners that read facts" in capsys.readouterr().err


def test_a_target_without_queries(capsys: Capture) -> None:
    assert run(["evaluate", "demo"]) == 2
    assert "tflex queries sample" in capsys.readouterr().err


def test_ask_ranks_and_marks(trained: Path, capsys: Capture) -> None:
    query = 'Pe(Pe("Trornevesh", "hold regular talks with", "2014"), "provide aid to", "2014-03")'
    command = ["ask", str(trained), query, "--reasoner", "embedding", "--json"]
    assert run(command) == 0
    found = json.loads(capsys.readouterr().out)
    graph = TemporalGraph.open(trained.parent / "world")
    parsed = parse(query, graph)
    train, test = (
        set(Engine(graph.view(one)).answer(parsed).tolist()) for one in ("train", "test")
    )
    assert test - train
    marks = {one["id"]: one["mark"] for one in found["answers"]}
    assert len(marks) == graph.entity_count
    assert {id for id, mark in marks.items() if mark == "easy"} == train & test
    assert {id for id, mark in marks.items() if mark == "hard"} == test - train
    assert (found["easy"], found["hard"]) == (len(train & test), len(test - train))
    scores = [one["score"] for one in found["answers"]]
    assert scores == sorted(scores, reverse=True)
    assert [one["rank"] for one in found["answers"]] == list(range(1, len(marks) + 1))
    # Of the train view alone nobody can tell which of the others are held out.
    assert run([*command, "--view", "train", "--limit", "300"]) == 0
    marks = {one["mark"] for one in json.loads(capsys.readouterr().out)["answers"]}
    assert marks == {"easy", "–"}


def test_ask_prints_a_table(trained: Path, capsys: Capture) -> None:
    query = 'Pt("Trornevesh", "visit", "Jukanland")'
    command = ["ask", str(trained), query, "--reasoner", "embedding", "--limit", "3"]
    assert run(command) == 0
    out = capsys.readouterr().out
    assert "candidates ranked by tflex" in out
    assert len(out.splitlines()) == 7
    assert out.splitlines()[-1].split()[0] == "3"


@pytest.mark.parametrize(
    ("target", "options", "message"),
    [
        ("exact:{run}", ["--reasoner", "embedding"], "has no embedding reasoner"),
        ("{world}", ["--reasoner", "embedding"], "is no run folder"),
        ("{run}", ["--reasoner", "oracle"], "there are exact, embedding and fuzzy"),
        ("{run}", ["--reasoner", "embedding", "--view", "all"], 'no view "all"'),
    ],
)
def test_ask_errors(
    trained: Path, capsys: Capture, target: str, options: list[str], message: str
) -> None:
    place = target.format(run=trained, world=trained.parent / "world")
    assert run(["ask", place, 'Pe("Trornevesh", "visit", "2014")', *options]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.slow
def test_published_icews14(data_folder: Path, tmp_path: Path, capsys: Capture) -> None:
    """Given all answers, the published validation queries reach the ceiling; Pe and Pt tie."""
    dataset = str(tmp_path / "icews14")
    assert run(["data", "import", str(data_folder / "icews14"), "--out", dataset]) == 0
    capsys.readouterr()
    (report,) = evaluated(
        capsys, f"exact:{dataset}", "--view", "valid", "--protocol", "published", "--split",
        "valid", "--queries", "icews14/queries/valid", "--data-dir", str(data_folder),
    )  # fmt: skip
    assert len(report["structures"]) == 38
    short = {
        name
        for name, one in report["structures"].items()
        if one["overall"]["metrics"]["mrr"] < one["overall"]["metrics"]["ceiling"] - 1e-9
    }
    assert short == {"Pe", "Pt"}
    assert report["means"]["ceiling"]["AVG"] == pytest.approx(0.905, abs=5e-4)
    assert report["paper"]["mrr"]["AVG"] == pytest.approx(0.3663, abs=5e-5)
