"""`tflex ask`: the answers of a query, in names and words."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tflex.cli.output import AsJson, print_json, print_table
from tflex.cli.ranking import print_ranked, rank
from tflex.cli.targets import Target, open_target
from tflex.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tflex.graph.temporal_graph import TemporalGraph
    from tflex.query.algebra import Node
    from tflex.query.structures import Structures

SHOWN = 20
"""Rows of a table of answers where no limit is given."""

NOUNS = {"entity": ("entity", "entities"), "time": ("timestamp", "timestamps")}

StructureFile = Annotated[
    Path | None,
    typer.Option(
        "--structures",
        metavar="FILE.py",
        help="A file of your own structures: typed functions that are parsed, never executed.",
        show_default=False,
    ),
]


def register(root: typer.Typer) -> None:
    root.command("ask")(ask)


def ask(
    target: Target,
    query: Annotated[
        str,
        typer.Argument(
            metavar="QUERY",
            help='For example \'Pe("China", "Make a visit", "2014-07")\'.',
            show_default=False,
        ),
    ],
    view: Annotated[
        str,
        typer.Option(
            metavar="train|valid|test",
            help="The facts that give exact answers; of ranked candidates, those that mark them.",
        ),
    ] = "test",
    limit: Annotated[
        int | None,
        typer.Option(
            min=0, help=f"Answers shown: {SHOWN} rows by default, all as JSON.", show_default=False
        ),
    ] = None,
    structures: StructureFile = None,
    reasoner: Annotated[
        str,
        typer.Option(
            metavar="exact|embedding|fuzzy",
            help="Exact answers, or all candidates ranked by the reasoner of a run.",
        ),
    ] = "exact",
    known: Annotated[
        str,
        typer.Option(
            "--known",
            metavar="train|valid|test",
            help="The facts given to the fuzzy reasoner; what --view adds to them is held out.",
        ),
    ] = "train",
    threshold: Annotated[
        str | None,
        typer.Option(
            "--threshold",
            metavar="auto|DEGREE",
            help="Also give the set of candidates from a degree on; auto: the one that was "
            "validated for queries of this kind.",
            show_default=False,
        ),
    ] = None,
    coverage: Annotated[
        float | None,
        typer.Option(
            "--coverage",
            help="Also give a set that holds a missing answer with this probability, by "
            "split-conformal prediction.",
            show_default=False,
        ),
    ] = None,
    explain: Annotated[
        int, typer.Option("--explain", min=0, help="Say why, for so many of the answers shown.")
    ] = 0,
    as_json: AsJson = False,
) -> None:
    """Answer a query exactly, or rank all candidates with a run's embeddings or fuzzy reasoner.

    Ranked candidates are marked: easy answers follow from the facts that the reasoner knows, hard
    ones are held out and on the --view alone, all others are wrong.

    Example: `tflex ask scratch/fuzzy 'Pe("China", "Make a visit", "2014")' --reasoner fuzzy
    --threshold auto --explain 1`
    """
    mine = known_structures(structures)
    if reasoner in ("embedding", "fuzzy"):
        if explain and reasoner == "embedding":
            raise DataError("--explain is for --reasoner fuzzy: embeddings have no reasons")
        ranked = rank(target, query, view, mine, reasoner, known, threshold, coverage)
        if as_json:
            print_json(ranked.as_json(limit, explain))
        else:
            print_ranked(ranked, SHOWN if limit is None else limit, explain)
        return
    if reasoner != "exact":
        raise DataError(f'--reasoner "{reasoner}": there are exact, embedding and fuzzy')
    if known != "train" or threshold is not None or coverage is not None or explain:
        raise DataError(
            "--known, --threshold, --coverage and --explain are for --reasoner fuzzy; the facts "
            "of exact answers are those of --view"
        )
    answered = answer(open_target(target), query, view, mine)
    if as_json:
        print_json(answered.as_json(limit))
    else:
        print_answered(answered, SHOWN if limit is None else limit)


def known_structures(path: Path | None) -> Structures:
    """The structures of the paper, and those of a user's file."""
    from tflex.query.published import STRUCTURES
    from tflex.query.text import parse_structures

    known = STRUCTURES.copy()
    for one in parse_structures(path) if path is not None else ():
        known.add(one)
    return known


@dataclass(frozen=True, eq=False)
class Answered:
    """A query with its exact answers on a view."""

    graph: TemporalGraph
    query: Node
    view: str
    ids: NDArray[np.int32]
    since: list[str]
    """For each answer, the first view from which on it is one."""
    seconds: float
    """Of evaluating the prepared query once."""

    @property
    def kind(self) -> str:
        """`entity` or `time`."""
        return self.query.sort.name.lower()

    def name(self, id: int) -> str:
        names = self.graph.timeline if self.kind == "time" else self.graph.entities
        return names[id]

    def sentence(self) -> str:
        from tflex.query.describe import sentence

        return sentence(self.query, self.graph)

    def as_json(self, limit: int | None = None) -> dict[str, Any]:
        from tflex.query.text import print_query

        listed = zip(self.ids.tolist()[:limit], self.since, strict=False)
        return {
            "query": print_query(self.query, self.graph),
            "sentence": self.sentence(),
            "view": self.view,
            "sort": self.kind,
            "count": len(self.ids),
            "answers": [
                {"id": id, "name": self.name(id), "known_since": since} for id, since in listed
            ],
            "seconds": self.seconds,
        }

    def rows(self) -> Iterator[tuple[str, str, int]]:
        """What a table shows: a name (or a run of timestamps), known since when, and its size."""
        start = 0
        ids = self.ids.tolist()
        for end in range(1, len(ids) + 1):
            runs_on = end < len(ids) and ids[end] == ids[end - 1] + 1
            if self.kind == "time" and runs_on:
                continue
            name, size = self.name(ids[start]), end - start
            if size > 1:
                name = f"{name} … {self.name(ids[end - 1])} ({size})"
            yield name, _tally(self.since[start:end]), size
            start = end


def _tally(views: list[str]) -> str:
    """`train`, or `train 25, test 4` for a run that became known bit by bit."""
    counts = {view: views.count(view) for view in ("train", "valid", "test") if view in views}
    if len(counts) == 1:
        return views[0]
    return ", ".join(f"{view} {count}" for view, count in counts.items())


def answer(
    graph: TemporalGraph, text: str, view: str = "test", structures: Structures | None = None
) -> Answered:
    """Read a query and answer it on a view and on those below it."""
    import numpy as np

    from tflex.exact.engine import Engine
    from tflex.graph.facts import Level
    from tflex.query.published import STRUCTURES
    from tflex.query.text import parse

    query = parse(text, graph, structures or STRUCTURES)
    top = graph.view(view).level
    prepared = Engine(graph.view(top)).prepare(query)
    prepared()  # Loads the kernels, which is no part of the time of a query.
    started = time.perf_counter()
    ids = prepared()
    seconds = time.perf_counter() - started
    since = np.full(len(ids), top)
    for level in reversed(range(top)):
        # An answer that a view loses again (under `Not`) counts from where it came back.
        below = Engine(graph.view(Level(level))).answer(query)
        since[(since == level + 1) & np.isin(ids, below)] = level
    return Answered(graph, query, view, ids, [Level(one).name for one in since], seconds)


def print_answered(answered: Answered, limit: int = SHOWN) -> None:
    """The sentence, how many answers there are, and a table of the first."""
    count, shown = len(answered.ids), 0
    one, many = NOUNS[answered.kind]
    rows = list(answered.rows())[:limit]
    print(answered.sentence())
    print(
        f"{count:,} {one if count == 1 else many} on the {answered.view} view, "
        f"in {answered.seconds * 1000:,.3f} ms"
    )
    if rows:
        shown = sum(size for _, _, size in rows)
        print()
        print_table("", ("answer", "known since"), [row[:2] for row in rows], left=2)
    if shown < count:
        print(f"… and {count - shown:,} more (--limit shows more)")


def draw(query: Node, path: Path, graph: TemporalGraph | None = None) -> None:
    """Write the picture of a query."""
    from tflex.query.describe import sentence
    from tflex.query.drawing import computation_graph
    from tflex.query.svg import svg

    path.parent.mkdir(parents=True, exist_ok=True)
    title = sentence(query, graph)
    path.write_text(svg(computation_graph(query, graph), title), encoding="utf-8")
