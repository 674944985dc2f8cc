"""`tflex demo`: the demo world, questions answered on it, and reasoners trained on it."""

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


PREDICTED = Question(
    "prediction",
    "With whom did Trornevesh hold regular talks in March? All three reasoners know the training "
    "facts alone.",
    'Pe("Trornevesh", "hold regular talks with", "2014-03")',
)
"""What all reasoners are asked: some of its answers are held out."""

ASKED = 50
"""Questions of each structure in the comparison."""
SHOWN = 15
"""Ranked candidates."""


def register(root: typer.Typer) -> None:
    root.command("demo")(demo)


def demo(
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where world, drawings and model go.")
    ],
    minutes: Annotated[
        float,
        typer.Option("--minutes", min=0, help="How long to train embeddings; 0: train nothing."),
    ] = 1.0,
) -> None:
    """Build the demo world, answer three questions exactly, then train, compare and ask reasoners.

    Example: `tflex demo --out scratch/demo`
    """
    graph = demo_dataset(out / "world")
    for question in QUESTIONS:
        show(graph, question, out / "drawings")
    if minutes > 0:
        run = trained(out / "world", out / "run", minutes)
        fuzzy_run = trained_fuzzy(out / "world", out / "fuzzy")
        compare(run, fuzzy_run)
        ask_all(graph, run, fuzzy_run)


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


def trained(world: Path, folder: Path, minutes: float) -> Path:
    """A run of the small preset on the demo world; one that is there already is kept."""
    from tflex.cli.train import train

    if not (folder / "best.safetensors").is_file():
        print(f"\nTraining embeddings on what its training facts say, for {minutes:g} minutes")
        resume = (folder / "run.json").is_file()
        train(str(world), folder, "tflex-demo", minutes=None if resume else minutes, resume=resume)
    return folder


def trained_fuzzy(world: Path, folder: Path) -> Path:
    """A fuzzy reasoner of the demo world; one that is there already is kept."""
    import json

    from tflex.cli.train import train
    from tflex.experiment.fuzzy import CHOICES

    choices = folder / CHOICES
    if not choices.is_file() or "settings" not in json.loads(choices.read_text("utf-8")):
        print("\nTraining a link predictor for the fuzzy reasoner")
        train(str(world), folder, "fuzzy-demo", resume=(folder / "run.json").is_file())
    return folder


def compare(run: Path, fuzzy_run: Path) -> None:
    """Model, fuzzy reasoner and frequencies of objects, on questions about held-out facts."""
    from rich.console import Console

    from tflex.evaluation import STRICT
    from tflex.evaluation.tables import side_by_side, to_rich
    from tflex.experiment.evaluating import (
        Evaluation,
        embedding,
        frequency,
        from_dataset,
        fuzzy,
        limited,
    )
    from tflex.experiment.run import Run
    from tflex.graph.facts import Level
    from tflex.query.published import STRUCTURES
    from tflex.sampling.dataset import QueryDataset

    opened = Run.open(run)
    graph = opened.graph()
    asked = limited(from_dataset(QueryDataset.open(opened.dataset, graph), Level.test), ASKED)
    evaluation = Evaluation(graph, asked, STRICT, Level.test)
    contestants = [
        *fuzzy(Run.open(fuzzy_run), STRUCTURES), *embedding(opened, STRUCTURES),
        *frequency(STRUCTURES),
    ]  # fmt: skip
    reports = [evaluation.report(one) for one in contestants]
    print(f"\nRanking held-out answers, at most {ASKED} questions of each structure:\n")
    Console(width=120).print(to_rich(side_by_side(reports)))


def ask_all(graph: TemporalGraph, run: Path, fuzzy_run: Path) -> None:
    """One question: what is known, what the embedding ranks, what the fuzzy reasoner predicts."""
    from tflex.cli.ranking import HARD, print_ranked, rank, reason_lines
    from tflex.query.published import STRUCTURES

    print(f"{PREDICTED.words}\n  {PREDICTED.query}\n\nExactly, what is known:\n")
    print_answered(answer(graph, PREDICTED.query, "train"), ASKED)
    print("\nThe embedding ranks every candidate:\n")
    ranked = rank(str(run), PREDICTED.query, "test", STRUCTURES)
    print_ranked(ranked, SHOWN)
    print("\nThe fuzzy reasoner puts what it predicts beside what is known:\n")
    degrees = rank(str(fuzzy_run), PREDICTED.query, "test", STRUCTURES, reasoner="fuzzy")
    print_ranked(degrees, SHOWN)
    explainer, found = degrees.explainer, degrees.marks
    if explainer is None or HARD not in found:
        return
    first = found.index(HARD)
    id = int(degrees.ids[first])
    behind = ranked.ids.tolist().index(id)
    print(
        f"\nWhy they differ: the facts alone do not give {degrees.name(id)}, which the embedding "
        f"ranks at {behind + 1} and the fuzzy reasoner at {first + 1}, because"
    )
    for line in reason_lines(graph, explainer.explain(id)):
        print(f"  {line}")
