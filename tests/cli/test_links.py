"""Link predictors on the command line: training, `evaluate --task links` and `predict`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import tiny
from tflex.cli import run
from tflex.cli.links import one_timestamp
from tflex.errors import DataError
from tflex.experiment.links import FOLDER, STAGES, existence_of, link_predictor
from tflex.experiment.run import Run
from tflex.graph.facts import Level
from tflex.graph.timeline import Timeline
from tflex.graph.world import demo_world

Capture = pytest.CaptureFixture[str]


def weights(folder: Path) -> bytes:
    return (folder / FOLDER / "links.safetensors").read_bytes()


def test_a_run_that_was_interrupted_ends_with_the_same_weights(
    queried_world: Path, fuzzy_run: Path, tmp_path: Path, capsys: Capture
) -> None:
    out = tmp_path / "links"
    command = ["train", str(queried_world), "--preset", "links-demo", "--out", str(out)]
    assert run([*command, *tiny("links", "threads"), "--json"]) == 0
    assert weights(out) == weights(fuzzy_run)
    shutil.rmtree(out / FOLDER)
    for name in ("calendar", "further-times", "embedding-all"):
        (out / STAGES / f"{name}.safetensors").unlink()
    assert run([*command, "--resume"]) == 0
    assert weights(out) == weights(fuzzy_run)
    capsys.readouterr()


def test_evaluate_links(fuzzy_run: Path, capsys: Capture) -> None:
    command = ["evaluate", str(fuzzy_run), "--task", "links", "--limit", "60"]
    assert run([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["split"], found["view"], found["facts"]) == ("test", "train", 60)
    assert set(found["scores"]) == {"links", "frequency (r)", "frequency (s, r)"}
    for kinds in found["scores"].values():
        for metrics in kinds.values():
            assert 0 <= metrics["raw mrr"] <= metrics["mrr"] <= metrics["hits@10"] <= 1
    assert 0 <= found["honesty"]["top1"]["both"]["error"] <= 1
    assert found["honesty"]["existence"]["base"] > 0
    assert run([*command, "--split", "valid"]) == 0
    shown = capsys.readouterr().out
    for words in ("valid facts, known facts of the train view", "raw MRR", "further valid fact"):
        assert words in shown


@pytest.mark.parametrize(
    ("split", "view", "message"),
    [("test", "test", "the test view knows the test facts; give --view train or valid"),
     ("valid", "valid", "the valid view knows the valid facts; give --view train"),
     ("valid", "test", "the test view knows the valid facts; give --view train")],
)  # fmt: skip
def test_a_view_that_knows_what_is_asked_for(
    fuzzy_run: Path, capsys: Capture, split: str, view: str, message: str
) -> None:
    command = ["evaluate", str(fuzzy_run), "--task", "links", "--split", split, "--view", view]
    assert run(command) == 2
    assert capsys.readouterr().err == f"error: {message}\n"


def test_without_a_further_fact_nothing_is_said_of_existence(fuzzy_run: Path) -> None:
    opened = Run.open(fuzzy_run)
    graph = opened.graph()
    assert existence_of(link_predictor(opened), graph, Level.test, graph.view("test")) is None


def test_predict_whom_and_when(fuzzy_run: Path, capsys: Capture) -> None:
    graph = demo_world()
    s, r, o, t = (int(column[0]) for column in (
        graph.facts.subject, graph.facts.relation, graph.facts.object, graph.facts.start,
    ))  # fmt: skip
    names = graph.entities[s], graph.relation_name(r), graph.entities[o], graph.timeline[t]
    asked = ["predict", str(fuzzy_run), "--subject", names[0], "--relation", names[1]]
    for words, answer in ((["--time", names[3]], names[2]), (["--object", names[2]], names[3])):
        assert run([*asked, *words, "--json", "--limit", "300"]) == 0
        answers = json.loads(capsys.readouterr().out)["answers"]
        (held,) = [one for one in answers if one["name"] == answer]
        assert held["known"] and held["probability"] == 1
        assert all(0 <= one["probability"] <= 1 for one in answers)
        degrees = [one["probability"] for one in answers]
        assert degrees == sorted(degrees, reverse=True)
        assert run([*asked, *words]) == 0
        assert "known" in capsys.readouterr().out


def test_a_time_is_read_as_in_a_query(fuzzy_run: Path, capsys: Capture) -> None:
    asked = ["predict", str(fuzzy_run), "--subject", "Trornevesh", "--relation", "visit"]
    assert run([*asked, "--time", "2014-3-5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["time"] == "2014-03-05"
    with pytest.raises(DataError, match='no timestamp of this graph lies in "2014-02"'):
        one_timestamp(Timeline.of(["2014-01-05", "2014-03-05"], "day"), "2014-02")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "one of the two"),
        (["--time", "2014-03-05", "--object", "Jukanland"], "one of the two"),
        (["--time", "2013-03-05"], '"2013-03-05" lies outside this graph\'s timestamps'),
        (["--time", "2014-03"], 'asks about one timestamp, and "2014-03" covers 31; ask about'),
        (["--time", "2014-03-05/2014-03-06"], "covers 2;"),
        (["--time", "March"], '"March" is no ISO date'),
        (["--object", "Jukanlnd"], "Jukanland"),
    ],
)
def test_predict_errors(fuzzy_run: Path, capsys: Capture, options: list[str], message: str) -> None:
    asked = ["predict", str(fuzzy_run), "--subject", "Trornevesh", "--relation", "visit"]
    assert run([*asked, *options]) == 2
    shown = capsys.readouterr().err
    assert message in shown and "Traceback" not in shown


def test_a_run_of_another_kind(queried_world: Path, fuzzy_run: Path, capsys: Capture) -> None:
    command = ["evaluate", str(queried_world), "--task", "links"]
    assert run(command) == 2
    shown = capsys.readouterr().err
    assert "is no run folder" in shown and "--reasoners frequency" in shown
    assert run([*command, "--reasoners", "frequency", "--limit", "2"]) == 0
    itself = f"exact:{fuzzy_run} has no link predictor; give the run folder itself"
    asked = ["--subject", "Trornevesh", "--relation", "visit", "--time", "2014-03-05"]
    for words in (["predict", *asked], ["evaluate", "--task", "links"]):
        assert run([words[0], f"exact:{fuzzy_run}", *words[1:]]) == 2
        assert itself in capsys.readouterr().err
    command = ["train", str(queried_world), "--preset", "links", "--out", "never", "--steps", "3"]
    assert run(command) == 2
    assert "for --minutes or to its end" in capsys.readouterr().err


@pytest.mark.parametrize(
    "options",
    [["--queries", "x"], ["--structures", "Pe"], ["--protocol", "strict"], ["--beside", "x"],
     ["--device", "cuda"], ["--data-dir", "."], ["--csv"]],
    ids=lambda options: options[0],
)  # fmt: skip
def test_options_of_queries_are_refused_for_links(
    fuzzy_run: Path, capsys: Capture, options: list[str]
) -> None:
    assert run(["evaluate", str(fuzzy_run), "--task", "links", *options]) == 2
    assert f"{options[0]}: not for --task links" in capsys.readouterr().err


def test_a_data_folder_of_the_environment_is_no_option(
    fuzzy_run: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TFLEX_DATA", ".")
    command = ["evaluate", str(fuzzy_run), "--task", "links", "--limit", "2"]
    assert run([*command, "--reasoners", "frequency"]) == 0
    assert "frequency (r)" in capsys.readouterr().out
