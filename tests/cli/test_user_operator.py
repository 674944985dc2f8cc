"""A new primitive operator, defined here alone, works wherever queries are asked and shown.

This is the recipe of ARCHITECTURE.md: a node and one rule for each interpreter that should know it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.strategies import graph_of
from tflex.cli import run
from tflex.exact.engine import EXACT, Batch, Engine
from tflex.exact.reference import REFERENCE, Quadruples, answer
from tflex.exact.values import TimeSets
from tflex.graph.temporal_graph import TemporalGraph
from tflex.query.algebra import OPERATORS, Node, Parameter, Sort, operator
from tflex.query.describe import SENTENCE, Phrase
from tflex.query.drawing import DRAWING, Sketch, Vertex
from tflex.query.labels import Labels
from tflex.query.text import parse, print_query

Capture = pytest.CaptureFixture[str]


class Throughout(Node):
    """{t : min times ≤ t ≤ max times}."""

    names = ("throughout",)
    parameters = (Parameter("times", Sort.TIME),)
    result = Sort.TIME


def exactly(batch: Batch, node: Throughout, times: TimeSets) -> TimeSets:
    return TimeSets.ranges(times.lows, times.highs, times.universe)


def by_definition(facts: Quadruples, node: Throughout, times: set[int]) -> set[int]:
    return {t for t in facts.times if times and min(times) <= t <= max(times)}


def in_words(labels: Labels, node: Throughout, times: Phrase) -> Phrase:
    return Phrase(f"from the first to the last of {times.every}", node.sort)


def drawn(sketch: Sketch, node: Throughout, times: Vertex) -> Vertex:
    return sketch.operator(node, [times], name="from first to last")


@pytest.fixture(scope="module", autouse=True)
def registered() -> Iterator[None]:
    """The operator stands in the tables while this module's tests run."""
    rules = {EXACT: exactly, REFERENCE: by_definition, SENTENCE: in_words, DRAWING: drawn}
    operator(Throughout)
    for interpreter, rule in rules.items():
        interpreter.rule(Throughout)(rule)
    yield
    del OPERATORS["throughout"]
    for interpreter in rules:
        del interpreter.rules[Throughout]


@pytest.fixture(scope="module")
def graph() -> TemporalGraph:
    facts = [(0, 0, 1, 2, 2, 0), (0, 0, 1, 6, 6, 1), (2, 0, 3, 4, 4, 0), (2, 0, 4, 8, 8, 0)]
    return graph_of(facts, 6, 1, 10)


@pytest.fixture(scope="module")
def dataset(graph: TemporalGraph, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("operator") / "dataset"
    graph.save(folder)
    return str(folder)


QUERIES = [
    "Pe(2, 0, throughout(Pt(0, 0, 1)))",
    "throughout(Pt(0, 0, 1))",
    "throughout(Pt(0, 0, 5))",
    "Not(throughout(next(throughout(Or(Pt(0, 0, 1), Pt(2, 0, 4))))))",
    "And(Pe(2, 0, before(throughout(Pt(2, 0, 4)))), Not(1))",
]


@pytest.mark.parametrize("view", ["train", "valid"])
@pytest.mark.parametrize("text", QUERIES)
def test_engine_equals_reference(graph: TemporalGraph, text: str, view: str) -> None:
    query = parse(text, graph)
    expected = sorted(answer(graph.view(view), query))
    assert Engine(graph.view(view)).answer(query).tolist() == expected


def test_text(graph: TemporalGraph) -> None:
    query = parse(QUERIES[0], graph)
    assert print_query(parse(print_query(query, graph), graph)) == print_query(query)
    with pytest.raises(Exception, match="throughout expects a time set"):
        parse("throughout(Pe(0, 0, 0))", graph)


def test_ask(dataset: str, capsys: Capture) -> None:
    def asked(*arguments: str) -> dict[str, Any]:
        assert run(["ask", dataset, QUERIES[0], *arguments, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    found = asked()
    assert [(one["id"], one["known_since"]) for one in found["answers"]] == [(3, "valid")]
    assert "from the first to the last of" in found["sentence"]
    assert asked("--view", "train")["count"] == 0


def test_show(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "mine.py"
    path.write_text("def meanwhile(s, r, a, b): return Pe(s, r, throughout(Pt(a, r, b)))")
    picture = tmp_path / "meanwhile.svg"
    arguments = ["queries", "show", "meanwhile", "--structures", str(path)]
    assert run([*arguments, "--svg", str(picture), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert "from the first to the last of" in shown["sentence"]
    labels = [one["label"] for one in shown["graph"]["vertices"]]
    assert "from first to last" in labels
    # No formula rule is registered, so the operator stands there by its name.
    assert "throughout" in shown["formula"]
    assert "first to" in picture.read_text(encoding="utf-8")
