"""What README.md and ARCHITECTURE.md show is what happens."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tflex.cli import run
from tflex.exact.engine import EXACT, Engine
from tflex.exact.reference import REFERENCE, answer
from tflex.exact.values import TimeSets
from tflex.graph.temporal_graph import TemporalGraph
from tflex.graph.world import demo_world
from tflex.query import algebra
from tflex.query.algebra import OPERATORS
from tflex.query.text import parse, parse_structures

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")

Capture = pytest.CaptureFixture[str]


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def test_the_first_question_of_the_readme(capsys: Capture) -> None:
    shown = next(block for block in blocks(README, "") if "$ .venv/bin/tflex ask" in block)
    command, *expected = shown.splitlines()
    assert run(shlex.split(command)[2:]) == 0
    printed = [line.rstrip() for line in capsys.readouterr().out.splitlines()]

    def timeless(lines: list[str]) -> list[str]:
        return [re.sub(r"in [\d.]+ ms", "in … ms", line) for line in lines]

    assert timeless(printed) == timeless(expected)


def test_python_of_the_readme(tmp_path: Path, capsys: Capture) -> None:
    demo_world().save(tmp_path / "world")
    names: dict[str, Any] = {}
    outputs = []
    for block in blocks(README, "python"):
        if not block.startswith("def "):
            exec(block.replace("scratch/demo/world", str(tmp_path / "world")), names)
            outputs.append(capsys.readouterr().out)
    assert len(outputs) == 3
    assert outputs[0].startswith("['2014-") and "[0]" in outputs[1]
    assert int(outputs[2]) > 0


@pytest.mark.parametrize("text", [README, ARCHITECTURE], ids=["readme", "architecture"])
def test_structures(text: str, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "mine.py"
    path.write_text(next(block for block in blocks(text, "python") if block.startswith("def ")))
    (made,) = parse_structures(path)
    query = f'{made.name}("Trornevesh", "visit", "Viskland")'
    assert run(["ask", "demo", query, "--structures", str(path)]) == 0
    assert re.search(r"^[1-9]\d* entit", capsys.readouterr().out, re.MULTILINE)


@pytest.fixture
def restored_tables() -> Iterator[None]:
    tables: list[dict[Any, Any]] = [OPERATORS, EXACT.rules, REFERENCE.rules]
    before = [dict(table) for table in tables]
    yield
    for table, kept in zip(tables, before, strict=True):
        table.clear()
        table.update(kept)


def test_operators_of_the_architecture(restored_tables: None, small_graph: TemporalGraph) -> None:
    names = {**vars(algebra), "EXACT": EXACT, "REFERENCE": REFERENCE, "TimeSets": TimeSets}
    made = [block for block in blocks(ARCHITECTURE, "python") if block.startswith("@operator")]
    for block in made:
        exec(block, names)
    assert len(made) == 2
    view = small_graph.view("test")
    for text in ("throughout(Pt(0, 0, 1))", "Without(Pe(0, 0, 3), Pe(1, 1, throughout(3)))"):
        query = parse(text, small_graph)
        assert Engine(view).answer(query).tolist() == sorted(answer(view, query))


def test_links_lead_somewhere() -> None:
    for text in (README, ARCHITECTURE):
        for place in re.findall(r"\]\(([^)#:]+)\)", text):
            assert (ROOT / place).exists(), place
    for place in re.findall(r"`((?:src|tests|docs)/[\w./-]+)`", ARCHITECTURE):
        assert (ROOT / place).exists(), place
