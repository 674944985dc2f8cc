"""The fuzzy reasoner on the command line: choices, `ask --reasoner fuzzy`, side by side."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import tiny
from tflex.cli import run
from tflex.cli.ranking import Chosen, set_line
from tflex.exact.engine import Engine
from tflex.experiment.fuzzy import CHOICES, chosen, fuzzy_reasoner, missing_degrees
from tflex.experiment.preparing import Preparer
from tflex.experiment.run import Run
from tflex.graph.facts import Level
from tflex.graph.temporal_graph import TemporalGraph
from tflex.query.algebra import Node
from tflex.query.text import parse
from tflex.reasoning.fuzzy import Cuts
from tflex.reasoning.fuzzy.sets import Quality
from tflex.sampling.dataset import QueryDataset

Capture = pytest.CaptureFixture[str]

QUERY = (
    'And(Pe("Trornevesh", "visit", after(Pt("Jukanland", "visit", "Trornevesh"))), '
    'Not(Pe("Trornevesh", "sign agreement with", "2014")))'
)


def test_a_run_records_what_it_tried(fuzzy_run: Path) -> None:
    document = json.loads((fuzzy_run / CHOICES).read_text())
    assert [one["settings"]["logic"] for one in document["tried"]] == ["product", "goedel"]
    settings, cuts = chosen(Run.open(fuzzy_run))
    best, other = (one["mrr"] for one in document["tried"])
    assert settings.logic == ("goedel" if other > best + 0.002 else "product")
    assert set(cuts.missing) == {"entity", "time"} and "entity And" in cuts.best
    # Most of what is asked of known facts is known: less is taken for an answer.
    assert cuts.usual["entity"] >= cuts.best["entity"]


def test_a_predictor_is_taken_over(
    queried_world: Path, fuzzy_run: Path, tmp_path: Path, capsys: Capture
) -> None:
    out = tmp_path / "again"
    command = ["train", str(queried_world), "--preset", "fuzzy-demo", "--out", str(out),
               "--set", f"predictor={fuzzy_run}",
               *tiny("validation_queries", "calibration_queries", "options"), "--json"]  # fmt: skip
    assert run(command) == 0
    assert json.loads(capsys.readouterr().out)["settings"]["logic"] in ("product", "goedel")
    assert (out / CHOICES).read_text() == (fuzzy_run / CHOICES).read_text()
    assert not (out / "stages").exists()


def test_ask_ranks_marks_chooses_and_explains(
    queried_world: Path, fuzzy_run: Path, capsys: Capture
) -> None:
    command = ["ask", str(fuzzy_run), QUERY, "--reasoner", "fuzzy", "--threshold", "auto"]
    assert run([*command, "--explain", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    graph = TemporalGraph.open(queried_world)
    parsed = parse(QUERY, graph)
    train, test = (set(Engine(graph.view(one)).answer(parsed)) for one in ("train", "test"))
    assert (found["easy"], found["hard"]) == (len(train & test), len(test - train))
    degrees = [one["score"] for one in found["answers"]]
    assert degrees == sorted(degrees, reverse=True) and min(degrees) >= 0 and max(degrees) <= 1
    size = sum(degree >= found["set"]["threshold"] for degree in degrees)
    assert found["set"]["size"] == size
    assert found["set"]["expected"]["size"] == pytest.approx(sum(degrees), rel=1e-4)
    why = found["answers"][0]["why"]
    assert why["operator"] == "And" and why["degree"] == found["answers"][0]["score"]
    assert why["parts"][0]["fact"]["subject"] == "Trornevesh"
    assert "why" not in found["answers"][2]
    assert run([*command, "--explain", "1", "--limit", "3"]) == 0
    shown = capsys.readouterr().out
    assert "The set from degree" in shown and "Why " in shown
    assert "ranked by fuzzy, given the facts of the train view, in " in shown
    # What is not shown is not explained, in text as in JSON.
    for form in ([], ["--json"]):
        assert run([*command, "--limit", "1", "--explain", "3", *form]) == 0
        shown = capsys.readouterr().out
        assert shown.count('"why"' if form else "Why ") == 1


def test_a_set_is_said_as_it_is() -> None:
    none = Chosen("given", 0.9, 0, Quality(0.4, 1.0, 0.0))
    assert set_line(none) == (
        "The set from degree 0.9 on (given) is empty; expected: 0.4 answers in all"
    )
    one = Chosen("auto", 0.5, 1, Quality(1.5, 0.75, 0.5))
    assert "has 1 member; expected: 1.5 answers in all, precision 75 %, recall 50 %" in set_line(
        one
    )


def test_given_all_facts_every_answer_is_easy(fuzzy_run: Path, capsys: Capture) -> None:
    query = 'Pe("Trornevesh", "visit", "2014")'
    command = ["ask", str(fuzzy_run), query, "--reasoner", "fuzzy", "--known", "test", "--json"]
    assert run([*command, "--coverage", "0.5"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["hard"] == 0 and found["easy"] > 0
    assert {one["mark"] for one in found["answers"]} == {"easy", "–"}
    assert all(one["score"] == 1 for one in found["answers"] if one["mark"] == "easy")
    assert found["set"]["how"] == "coverage 0.5"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--threshold", "high"], "neither auto nor a degree"),
        (["--threshold", "0.5", "--coverage", "0.9"], "not both"),
        (["--coverage", "90"], "between 0 and 1"),
        (["--known", "all"], 'no view "all"'),
        (["--known", "valid", "--view", "train"], "give --view valid or test"),
    ],
)
def test_ask_errors(fuzzy_run: Path, capsys: Capture, options: list[str], message: str) -> None:
    assert run(["ask", str(fuzzy_run), QUERY, "--reasoner", "fuzzy", *options]) == 2
    shown = capsys.readouterr().err
    assert message in shown and "Traceback" not in shown
    assert run(["ask", str(fuzzy_run), QUERY, "--reasoner", "exact", *options]) == 2
    assert "for --reasoner fuzzy" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [(["--threshold", "high"], "neither auto nor a degree"), (["--coverage", "90"], "between 0 an"),
     (["--known", "test", "--view", "train"], "give --view test")],
)  # fmt: skip
def test_options_are_checked_before_a_run_is_opened(
    capsys: Capture, options: list[str], message: str
) -> None:
    assert run(["ask", "/nowhere", QUERY, "--reasoner", "fuzzy", *options]) == 2
    assert message in capsys.readouterr().err


def test_reasoners_side_by_side(fuzzy_run: Path, queried_world: Path, capsys: Capture) -> None:
    common = ["--protocol", "strict", "--structures", "Pe,e2u,Pt,aPt", "--json"]
    assert run(["evaluate", str(fuzzy_run), "--reasoners", "exact,fuzzy", *common]) == 0
    exact, fuzzy = json.loads(capsys.readouterr().out)
    assert (exact["reasoner"], fuzzy["reasoner"]) == ("exact", "fuzzy")
    assert exact["view"] == fuzzy["view"] == "valid"
    metrics = fuzzy["structures"]["aPt"]["overall"]["metrics"]
    assert 0 <= metrics["f1"] <= 1
    assert "size_spearman" in fuzzy["structures"]["Pe"]["overall"]["metrics"]
    # The same run beside a dataset, by its own kind.
    beside = ["evaluate", str(queried_world), "--beside", str(fuzzy_run), *common]
    assert run(beside) == 0
    (report,) = json.loads(capsys.readouterr().out)
    assert report["structures"] == fuzzy["structures"]
    assert run(["evaluate", str(fuzzy_run), "--reasoners", "embedding", *common]) == 2
    assert "no run of kind embedding was given" in capsys.readouterr().err


def test_unknown_options_are_errors(queried_world: Path, capsys: Capture) -> None:
    command = ["train", str(queried_world), "--preset", "fuzzy", "--out", "never", "--set"]
    for option, message in (
        ("options.bean=[4]", "fuzzy has no option bean"),
        ("fuzzy.logic=fuzzy", "there are product, goedel, lukasiewicz"),
        ("fuzzy.bean=3", "did you mean fuzzy.beam"),
    ):
        assert run([*command, option]) == 2
        assert message in capsys.readouterr().err


def test_conformal_sets_cover_held_out_queries(queried_world: Path, fuzzy_run: Path) -> None:
    """Calibrated on one half of the validation queries, checked on the other."""
    graph = TemporalGraph.open(queried_world)
    queries = QueryDataset.open(queried_world / "queries", graph)
    reasoner = fuzzy_reasoner(Run.open(fuzzy_run))(graph.view("train"))
    preparer, draw = Preparer(graph), np.random.default_rng(0)
    degrees: list[tuple[Node, float]] = []
    for structure in queries.structures():
        anchors = queries.load(structure.name, Level.valid, ("anchors",)).anchors
        prepared = preparer.strict(structure, anchors, Level.valid, costs=False)
        scores = reasoner.scores(structure.name, prepared.anchors)
        degrees += [(structure.body, one) for one in missing_degrees(scores, prepared, draw)]
    assert len(degrees) > 600
    order = draw.permutation(len(degrees))
    for sort in ("entity", "time"):
        of_sort = [at for at in order if degrees[at][0].sort.name.lower() == sort]
        fitted, held_out = of_sort[: len(of_sort) // 2], of_sort[len(of_sort) // 2 :]
        cuts = Cuts(missing={sort: sorted(degrees[at][1] for at in fitted)})
        cut = cuts.conformal(degrees[fitted[0]][0], 0.8)
        covered = np.mean([degrees[at][1] >= cut for at in held_out])
        spread = np.sqrt(0.16 / len(held_out) + 0.16 / len(fitted))
        assert covered >= 0.8 - 3 * spread
