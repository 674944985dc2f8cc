"""`tflex demo`: three questions with answers, sentences, and drawings."""

from __future__ import annotations

from pathlib import Path

import pytest

from tflex.cli import run
from tflex.cli.ask import answer
from tflex.cli.demo import QUESTIONS, trained, trained_fuzzy
from tflex.exact.reference import answer as answer_by_definition
from tflex.graph.temporal_graph import TemporalGraph
from tflex.graph.world import demo_world
from tflex.query.algebra import After, Not, Sort, topological


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda one: one.name)
def test_every_question_has_answers(question) -> None:
    graph = demo_world()
    found = answer(graph, question.query)
    assert len(found.ids) >= 3
    assert found.ids.tolist() == sorted(answer_by_definition(graph.view("test"), found.query))


def test_the_questions_differ_in_kind() -> None:
    entities, times, negation = (answer(demo_world(), one.query).query for one in QUESTIONS)
    assert entities.sort is Sort.ENTITY and times.sort is Sort.TIME
    assert {Not, After} <= set(map(type, topological(negation)))


def test_demo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["demo", "--out", str(tmp_path / "demo"), "--minutes", "0"]
    assert run(command) == 0
    text = capsys.readouterr().out
    drawings = tmp_path / "demo" / "drawings"
    for question in QUESTIONS:
        assert question.words in text
        path = drawings / f"{question.name}.svg"
        assert str(path) in text and path.read_text(encoding="utf-8").startswith("<svg")
    assert text.count("Find the ") == 3 and text.count("on the test view") == 3
    world = tmp_path / "demo" / "world"
    assert TemporalGraph.open(world).content_hash == demo_world().content_hash
    written = (world / "dataset.json").stat().st_mtime_ns
    assert run(command) == 0
    assert (world / "dataset.json").stat().st_mtime_ns == written


@pytest.mark.slow
def test_demo_trains_compares_and_predicts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["demo", "--out", str(tmp_path), "--minutes", "0.02"]) == 0
    text = capsys.readouterr().out
    for word in (
        "best strict MRR on validation",
        "frequency (s, r)",
        "AVG",
        "10 entities on the train view",
        "candidates ranked by tflex",
        "candidates ranked by fuzzy",
        "5 hard (held out)",
        "Why they differ: the facts alone do not give",
        "predicted with probability",
    ):
        assert word in text
    assert (tmp_path / "run" / "best.safetensors").is_file()
    # What is there already is kept.
    world = tmp_path / "world"
    assert trained(world, tmp_path / "run", 9.0) and trained_fuzzy(world, tmp_path / "fuzzy")
    assert capsys.readouterr().out == ""
