"""`tflex evaluate --task links` and `tflex predict`: who, and when, by a trained link predictor."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tflex.cli.output import AsJson, print_json, print_table, progress_bar
from tflex.cli.targets import open_target
from tflex.errors import DataError

if TYPE_CHECKING:
    from tflex.evaluation.calibration import Reliability
    from tflex.evaluation.links import LinkScore
    from tflex.experiment.links import Existence, Honesty
    from tflex.experiment.run import Run
    from tflex.graph.facts import Level
    from tflex.graph.temporal_graph import TemporalGraph
    from tflex.graph.timeline import Timeline
    from tflex.models.predictors.links import LinkPredictor

KINDS = {"both": "objects and subjects", "objects": "objects", "subjects": "subjects",
         "times": "times"}  # fmt: skip
METRICS = ("mrr", "hits@1", "hits@3", "hits@10")
BAR = 30


def register(root: typer.Typer) -> None:
    root.command("predict")(predict)


def evaluate_links(
    target: str, level: Level, view: str, names: list[str], limit: int | None, as_json: bool
) -> None:
    """Link prediction of a run, beside frequencies and published results."""
    from tflex.evaluation.links import link_questions, score_links
    from tflex.evaluation.literature import published_links
    from tflex.experiment.evaluating import frequency
    from tflex.experiment.links import measure_links
    from tflex.graph.facts import Level
    from tflex.query.published import STRUCTURES
    from tflex.sampling.counts import paper_dataset

    graph, predictor = open_target(target), None
    if "links" in names:
        run, predictor = _opened(target, "; --reasoners frequency needs none")
        graph = run.graph()
    known = graph.view(view)
    if known.level >= level:
        below = " or ".join(one.name for one in Level if one < level)
        raise DataError(f"the {known.name} view knows the {level.name} facts; give --view {below}")
    questions = link_questions(graph, level, limit=limit)
    scores: list[LinkScore] = []
    honesty: Honesty | None = None
    with progress_bar() as bar:
        for name in names:
            if predictor is not None and name == "links":
                score, honesty = measure_links(
                    predictor, graph, questions, level, known, progress=bar
                )
                scores.append(score)
            else:
                for one in frequency(STRUCTURES):
                    reasoner = one.make(known)
                    scores.append(score_links(reasoner, graph, questions, known.name, bar))
    dataset = paper_dataset(graph) or graph.name
    published = published_links(dataset)
    if as_json:
        print_json({
            "task": "links", "dataset": dataset, "split": level.name, "view": known.name,
            "facts": questions.facts,
            "scores": {one.reasoner: one.metrics for one in scores},
            "honesty": None if honesty is None else honesty.to_dict(),
            "published": [one._asdict() for one in published],
        })  # fmt: skip
        return
    title = (
        f"{dataset}: {questions.facts:,} {level.name} facts, known facts of the {view} view; "
        "filtered: every other answer of all facts at the asked time leaves the ranking"
    )
    rows: list[tuple[object, ...]] = []
    for kind, label in KINDS.items():
        for score in scores:
            values = score.metrics[kind]
            numbers = [100 * values[metric] for metric in METRICS]
            rows.append((label, score.reasoner, *numbers, 100 * values["raw mrr"]))
    print_table(title, ("", "reasoner", "MRR", "Hits@1", "Hits@3", "Hits@10", "raw MRR"), rows, 2)
    if published:
        print_published(published)
    if honesty is not None:
        print_honesty(honesty, level.name)


def _opened(target: str, otherwise: str = "") -> tuple[Run, LinkPredictor]:
    """A run and its link predictor; what else can be done where the target is none."""
    from tflex.experiment.links import link_predictor
    from tflex.experiment.run import FILE, Run

    if target.startswith("exact:"):
        raise DataError(f"{target} has no link predictor; give the run folder itself{otherwise}")
    if not (Path(target) / FILE).is_file():
        raise DataError(f"{target} is no run folder, so it has no link predictor{otherwise}")
    opened = Run.open(target)
    return opened, link_predictor(opened)


def print_published(published: list[Any]) -> None:
    """Published results, best first."""
    print()
    rows = [
        (one.method, one.source, one.protocol,
         *(None if value is None else 100 * value for value in one[1:5]))
        for one in reversed(published)
    ]  # fmt: skip
    columns = ("", "source", "protocol", "MRR", "Hits@1", "Hits@3", "Hits@10")
    print_table("Published", columns, rows, left=3)


def print_honesty(honesty: Honesty, split: str) -> None:
    """Reliability of the best candidate, and of whether there is a further fact."""
    print()
    errors = ", ".join(f"{KINDS[name]} {one.error:.4f}" for name, one in honesty.top.items())
    print(f"Expected calibration error of the best candidate: {errors}")
    print_reliability(honesty.top["both"])
    if honesty.existence is not None:
        print_existence(honesty.existence, split)


def print_reliability(found: Reliability) -> None:
    """Stated against observed, bin by bin: ─ up to what was stated, ● what was observed."""
    rows = []
    for stated, observed, count in zip(found.stated, found.observed, found.count, strict=True):
        line = ["─" if at < round(BAR * stated) else " " for at in range(BAR + 1)]
        line[round(BAR * observed)] = "●"
        rows.append(("".join(line), f"{stated:.3f}", f"{observed:.3f}", int(count)))
    print_table("", ("", "stated", "observed", "questions"), rows)


def print_existence(found: Existence, split: str) -> None:
    print(
        f"\nHas (s, r, t) a further {split} fact? Brier score {found.brier:.4f} over "
        f"{found.questions:,} questions, base rate {found.base:.4f}: {100 * found.better:.0f} % "
        f"better. Expected further facts {found.expected:,.0f}, found {found.found:,}."
    )


def predict(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN",
            help="A run folder of `tflex train --preset links` or `--preset fuzzy`.",
            show_default=False,
        ),
    ],
    subject: Annotated[str, typer.Option("--subject", help="An entity.", show_default=False)],
    relation: Annotated[
        str,
        typer.Option(
            "--relation", help="A relation; ~ before it: its inverse.", show_default=False
        ),
    ],
    time: Annotated[
        str | None,
        typer.Option("--time", help="A timestamp: asks whom, or what.", show_default=False),
    ] = None,
    object: Annotated[
        str | None, typer.Option("--object", help="An entity: asks when.", show_default=False)
    ] = None,
    view: Annotated[
        str,
        typer.Option(
            metavar="train|valid|test",
            help="The facts given to the predictor, which it marks as known (`ask` calls them "
            "--known, and gives train by default).",
        ),
    ] = "test",
    limit: Annotated[int, typer.Option(min=1, help="Answers shown.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Ask a link predictor whom, at a time, or when, with a probability for each answer.

    Known facts are marked and have probability 1; the others are what the predictor expects
    beside them.

    Example: `tflex predict scratch/links --subject China --relation "Make a visit" --time
    2014-07-03`
    """
    if (time is None) == (object is None):
        raise DataError("give --time to ask whom, or --object to ask when: one of the two")
    opened, predictor = _opened(run)
    graph = opened.graph()
    ids = (graph.entities.id(subject), graph.relation_id(relation))
    if time is None:
        last = graph.entities.id(object or "")
    else:
        last = one_timestamp(graph.timeline, time)
        time = graph.timeline[last]
    asked = (*ids, last)
    answers, expected = predicted(predictor, graph, view, asked, time is not None)
    whom = "whom or what" if time is not None else "when"
    if as_json:
        print_json({
            "subject": subject, "relation": relation, "time": time, "object": object,
            "view": view, "asked": whom, "expected_further": expected,
            "answers": [
                {"name": name, "probability": degree, "known": known}
                for name, degree, known in answers[:limit]
            ],
        })  # fmt: skip
        return
    said = f"on {time}" if time is not None else f"to {object}"
    print(f"{subject} – {relation} – {whom}, {said}? Known facts of the {view} view.")
    if expected is not None:
        print(f"{expected:.2f} further facts expected")
    rows = [(name, f"{degree:.3f}", "known" if known else "") for name, degree, known in answers]
    print_table("", ("answer", "probability", ""), rows[:limit])


def one_timestamp(timeline: Timeline, literal: str) -> int:
    """The id of the only timestamp that a query's time literal covers."""
    first, last = timeline.span(literal)
    if first > last:
        raise DataError(f'no timestamp of this graph lies in "{literal}"')
    if first < last:
        raise DataError(
            f'predict asks about one timestamp, and "{literal}" covers {last - first + 1}; ask '
            "about a period with `tflex ask … --reasoner fuzzy`"
        )
    return first


def predicted(
    predictor: Any, graph: TemporalGraph, view: str, asked: tuple[int, int, int], who: bool
) -> tuple[list[tuple[str, float, bool]], float | None]:
    """Answers with probability and whether they are known, best first; the expected others."""
    import numpy as np

    from tflex.exact.engine import Engine
    from tflex.query.published import STRUCTURES

    known_view = graph.view(view)
    columns = [np.array([one], np.int32) for one in asked]
    if who:
        found = predictor.objects(known_view, *columns)
        ids, degrees, known = found.row(0)
        names = [graph.entities[id] for id in ids.tolist()]
        expected = float(found.expected[0])
        return list(zip(names, degrees.tolist(), known.tolist(), strict=True)), expected
    (degrees,) = predictor.times(known_view, *columns)
    held = Engine(known_view).answer_batch(STRUCTURES["Pt"], np.array([asked]))[0]
    order = np.argsort(-degrees, kind="stable")
    marks = np.isin(order, held)
    names = [graph.timeline[id] for id in order.tolist()]
    expected = float(-np.log1p(-np.minimum(np.delete(degrees, held), 1 - 1e-9)).sum())
    return list(zip(names, degrees[order].tolist(), marks.tolist(), strict=True)), expected
