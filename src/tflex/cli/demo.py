"""`tflex demo`: the demo world, questions answered on it, and their drawings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from tflex.cli.ask import answer, draw, print_answered

if TYPE_CHECKING:
    from tflex.graph.temporal_graph import TemporalGraph


class Question(NamedTuple):
    """A question about the demo world (seed 0), in words and as a query."""

    name: str
    words: str
    query: str


QUESTIONS = (
    Question(
        "entities",
        "Who got aid in March from a partner with whom Trornevesh holds regular talks?",
        'Pe(Pe("Trornevesh", "hold regular talks with", "2014"), "provide aid to", "2014-03")',
    ),
    Question(
        "times",
        "When was Foko Fonen in office, after taking over and before resigning?",
        'between(Pt("Foko Fonen", "take over from", "Oko Gundarek"), '
        'Pt("Foko Fonen", "resign from", "Trornevesh"))',
    ),
    Question(
        "negation",
        "Whom did Trornevesh visit after the last visit from Jukanland, "
        "without ever signing an agreement?",
        'And(Pe("Trornevesh", "visit", after(Pt("Jukanland", "visit", "Trornevesh"))), '
        'Not(Pe("Trornevesh", "sign agreement with", "2014")))',
    ),
)


def register(root: typer.Typer) -> None:
    root.command("demo")(demo)


def demo(
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where the world and the drawings go.")
    ],
) -> None:
    """Build the demo world and answer three questions on it."""
    graph = demo_dataset(out / "world")
    for question in QUESTIONS:
        show(graph, question, out / "drawings")


def demo_dataset(folder: Path) -> TemporalGraph:
    """The demo world as a dataset folder, which is written where it is missing."""
    from tflex.graph.temporal_graph import TemporalGraph
    from tflex.graph.world import demo_world

    if not (folder / "dataset.json").is_file():
        demo_world().save(folder)
    graph = TemporalGraph.open(folder)
    print(
        f"The demo world: {graph.entity_count:,} entities, {graph.relation_count:,} relations, "
        f"{graph.time_count:,} days, {sum(graph.counts.values()):,} facts, in {folder}"
    )
    return graph


def show(graph: TemporalGraph, question: Question, drawings: Path) -> None:
    """Ask a question and draw it."""
    print(f"\n{question.words}\n  {question.query}\n")
    answered = answer(graph, question.query)
    print_answered(answered)
    path = drawings / f"{question.name}.svg"
    draw(answered.query, path, graph)
    print(f"Drawn in {path}")
