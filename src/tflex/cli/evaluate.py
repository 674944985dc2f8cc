"""`tflex evaluate`: a run, or reasoners without weights, on a query set by the two protocols."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tflex.cli.links import evaluate_links
from tflex.cli.output import AsJson, progress_bar
from tflex.cli.targets import DataDir, Target, dataset_of_run, find, open_target
from tflex.errors import DataError

if TYPE_CHECKING:
    from tflex.evaluation import Report
    from tflex.evaluation.tables import Table
    from tflex.experiment.evaluating import Asked, Contestant
    from tflex.experiment.run import Run
    from tflex.graph.facts import Level
    from tflex.graph.temporal_graph import TemporalGraph
    from tflex.query.structures import Structure, Structures
    from tflex.sampling.dataset import QueryDataset

REASONERS = ("exact", "embedding", "fuzzy", "frequency")
TRAINED = ("embedding", "fuzzy")
"""The reasoners that a run has, by its kind."""
LINK_REASONERS = ("links", "frequency")
QUERIES_ALONE = {
    "queries": "--queries", "protocol": "--protocol", "structures": "--structures",
    "beside": "--beside", "device": "--device", "data_dir": "--data-dir", "latex": "--latex",
    "csv": "--csv", "markdown": "--markdown",
}  # fmt: skip
"""Parameters of `evaluate` that mean nothing to --task links, and their options."""


def register(root: typer.Typer) -> None:
    root.command("evaluate")(evaluate)


def evaluate(
    context: typer.Context,
    target: Target,
    task: Annotated[
        str,
        typer.Option(
            "--task",
            metavar="queries|links",
            help="Queries, or single facts asked for their objects, subjects and times.",
        ),
    ] = "queries",
    queries: Annotated[
        list[Path] | None,
        typer.Option(
            "--queries",
            metavar="FILES|DIR",
            help="Published query files (JSON lines), a folder of them, or a folder of sampled "
            "queries; those of the dataset by default. Repeatable.",
            show_default=False,
        ),
    ] = None,
    protocol: Annotated[
        str, typer.Option("--protocol", metavar="strict,published", help="One or both.")
    ] = "strict,published",
    split: Annotated[
        str, typer.Option("--split", metavar="valid|test", help="Whose facts are to be found.")
    ] = "test",
    structures: Annotated[
        str | None,
        typer.Option(
            "--structures",
            metavar="WHICH",
            help="Names, groups, `train`, `all` or a FILE.py, with commas between; "
            "all that there are by default.",
            show_default=False,
        ),
    ] = None,
    view: Annotated[
        str | None,
        typer.Option(
            "--view",
            metavar="train|valid|test",
            help="The facts given to reasoners that read facts; by default train, and under "
            "`strict` valid when testing.",
            show_default=False,
        ),
    ] = None,
    reasoners: Annotated[
        str | None,
        typer.Option(
            "--reasoners",
            metavar="LIST",
            help="Of exact, embedding, fuzzy, frequency; by default those of the runs, or exact "
            "for a dataset. Of links, frequency with --task links; both by default.",
            show_default=False,
        ),
    ] = None,
    beside: Annotated[
        list[str] | None,
        typer.Option(
            "--beside",
            metavar="RUN",
            help="Another run on the same dataset, for its reasoner. Repeatable.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit", min=1, help="Queries of each structure, or facts.", show_default=False
        ),
    ] = None,
    device: Annotated[str, typer.Option("--device", help="auto, cpu, cuda or cuda:N.")] = "auto",
    data_dir: DataDir = None,
    as_json: AsJson = False,
    latex: Annotated[bool, typer.Option("--latex", help="Print LaTeX tables.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print one value a line.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown tables.")] = False,
) -> None:
    """Evaluate reasoners by the protocols `strict` and `published`.

    Under `published` the paper's numbers and the ceiling stand beside. A run is evaluated by its
    own reasoner, a dataset by exact answers on a view of its facts; --reasoners and --beside put
    others next to them. With --task links, a run of `--preset links` or `--preset fuzzy` is asked
    for held-out facts, given the facts of --view (train by default).

    Example: `tflex evaluate scratch/run --protocol strict,published --split valid --queries
    ../shared/data/icews14/queries/valid`
    """
    from tflex.evaluation import PROTOCOLS
    from tflex.experiment.evaluating import Evaluation, limited, with_the_papers
    from tflex.graph.facts import Level
    from tflex.query.selection import select

    form = _format({"json": as_json, "latex": latex, "csv": csv, "markdown": markdown})
    protocols = _listed(protocol, tuple(PROTOCOLS), "--protocol")
    splits = _listed(split, ("valid", "test"), "--split")
    if len(splits) > 1:
        raise DataError("--split takes one split at a time")
    level = Level[splits[0]]
    if _listed(task, ("queries", "links"), "--task") == ["links"]:
        _refuse_query_options(context)
        chosen = _listed(reasoners or "links,frequency", LINK_REASONERS, "--reasoners")
        evaluate_links(target, level, view or "train", chosen, limit, as_json)
        return
    runs = _runs([target, *(beside or [])])
    names = _reasoners(runs, reasoners)
    wanted = None if structures is None else select(structures)
    graph = open_target(target)
    for run in runs:
        if run.record["dataset_hash"] != graph.content_hash:
            raise DataError(f"{run.folder} was trained on another dataset than {target}")
    given = None if view is None else graph.view(view).level
    if given is not None and names == ["embedding"]:
        raise DataError(
            "--view is for reasoners that read facts; embeddings know what they were trained on"
        )
    own = _own_queries(target, graph, optional=queries is not None)
    asked = limited(_asked(target, graph, own, queries, data_dir, level, wanted), limit)
    known = with_the_papers(one.structure for one in asked)
    validation = _validation(own, known)
    contestants = _contestants(runs, names, known, device)
    reports: list[list[Report]] = []
    with progress_bar() as progress:
        for name in protocols:
            evaluation = Evaluation(graph, asked, PROTOCOLS[name], level, progress)
            reports.append([evaluation.report(one, given, validation) for one in contestants])
    show(reports, form)


def _refuse_query_options(context: typer.Context) -> None:
    given = []
    for name, option in QUERIES_ALONE.items():
        source = context.get_parameter_source(name)
        # TFLEX_DATA in the environment is meant for other commands.
        if source is not None and source.name == "COMMANDLINE":
            given.append(option)
    if given:
        raise DataError(
            f"{', '.join(given)}: not for --task links, which asks for single facts and prints "
            "text or --json"
        )


def _format(given: dict[str, bool]) -> str:
    chosen = [name for name, asked in given.items() if asked]
    if len(chosen) > 1:
        raise DataError(f"choose one of {', '.join(f'--{name}' for name in chosen)}")
    return chosen[0] if chosen else "text"


def _listed(text: str, known: Sequence[str], option: str) -> list[str]:
    """Words with commas between, each a known one."""
    words = list(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    for word in words or [""]:
        if word not in known:
            raise DataError(f'{option} "{word}": there are {", ".join(known)}')
    return words


def _runs(targets: Sequence[str]) -> list[Run]:
    """The run folders among the targets; all but the first must be some."""
    from tflex.experiment.run import FILE, Run

    first = targets[0]
    is_run = not first.startswith("exact:") and (Path(first) / FILE).is_file()
    runs = [Run.open(one) for one in targets[0 if is_run else 1 :]]
    for run in runs:
        if run.config.kind not in TRAINED:
            raise DataError(
                f"{run.folder} is a run of kind {run.config.kind}, which answers no queries; "
                "evaluate it with --task links"
            )
    return runs


def _reasoners(runs: Sequence[Run], text: str | None) -> list[str]:
    kinds: list[str] = list(dict.fromkeys(run.config.kind for run in runs))
    if text is None:
        return kinds or ["exact"]
    names = _listed(text, REASONERS, "--reasoners")
    for name in TRAINED:
        if name in names and name not in kinds:
            raise DataError(
                f"no run of kind {name} was given, so there is no {name} reasoner; name one as "
                "TARGET or with --beside"
            )
    return names


def _own_queries(target: str, graph: TemporalGraph, optional: bool) -> QueryDataset | None:
    """The target's own queries; those of a run on `demo` are in the run folder."""
    from tflex.sampling.dataset import FOLDER, QueryDataset

    folder = Path(target.removeprefix("exact:"))
    if (folder / "run.json").is_file() and (dataset := dataset_of_run(folder)) != "demo":
        folder = Path(dataset)
    if not (folder / FOLDER / "manifest.json").is_file():
        return None
    try:
        return QueryDataset.open(folder / FOLDER, graph)
    except DataError as error:
        if not optional:
            raise
        print(f"no thresholds are fitted: {error}", file=sys.stderr)
        return None


def _asked(
    target: str, graph: TemporalGraph, own: QueryDataset | None, queries: list[Path] | None,
    data_dir: Path | None, level: Level, wanted: list[Structure] | None,
) -> list[Asked]:  # fmt: skip
    """The queries that were named, or else the target's own."""
    from tflex.experiment.evaluating import from_dataset, from_files
    from tflex.sampling.dataset import QueryDataset

    if queries is None:
        if own is None:
            raise DataError(
                f"{target} has no queries of its own; draw some with `tflex queries sample`, "
                "or give --queries FILES|DIR"
            )
        return from_dataset(own, level, wanted)
    asked, files = [], []
    for path in (find(path, data_dir) for path in queries):
        if any((place / "manifest.json").is_file() for place in (path, path / "queries")):
            asked += from_dataset(QueryDataset.open(path, graph), level, wanted)
        else:
            files.append(path)
    return asked + (from_files(files, graph, wanted) if files else [])


def _validation(own: QueryDataset | None, known: Structures) -> list[Asked]:
    """Validation queries of the structures that are not ranked."""
    from tflex.experiment.evaluating import from_dataset
    from tflex.experiment.preparing import boundary_root
    from tflex.graph.facts import Level

    if own is None:
        return []
    return from_dataset(own, Level.valid, [one for one in known if boundary_root(one.body)])


def _contestants(runs: Sequence[Run], names: list[str], known: Structures, device: str
                 ) -> list[Contestant]:  # fmt: skip
    from tflex.experiment import evaluating
    from tflex.experiment.run import choose_device

    found: list[Contestant] = []
    for name in names:
        if name not in TRAINED:
            found += {"exact": evaluating.exact, "frequency": evaluating.frequency}[name](known)
        for run in runs:
            if run.config.kind == name == "embedding":
                found += evaluating.embedding(run, known, str(choose_device(device)))
            elif run.config.kind == name == "fuzzy":
                found += evaluating.fuzzy(run, known)
    return found


def show(reports: Sequence[Sequence[Report]], form: str) -> None:
    """Print the reports of each protocol."""
    from tflex.evaluation import tables

    every = [report for one in reports for report in one]
    reasons = [tables.too_few(one) for one in reports]
    if form == "json":
        print(tables.to_json(every), end="")
    elif form == "csv":
        print(tables.to_csv(every), end="")
        for reason in reasons:
            if reason is not None:
                print(f"left out: {reason}", file=sys.stderr)
    elif form == "text":
        for one, reason in zip(reports, reasons, strict=True):
            _print_rich(tables.tables(one))
            if reason is not None:
                print(f"{tables.NOTHING}: {reason}\n")
    else:
        write = {"latex": tables.to_latex, "markdown": tables.to_markdown}[form]
        comment, parts = {"latex": "% ", "markdown": ""}[form], []
        for one, reason in zip(reports, reasons, strict=True):
            parts += [write(table) for table in tables.tables(one)]
            if reason is not None:
                parts.append(f"{comment}{tables.NOTHING}: {reason}\n")
        print("\n".join(parts), end="")


def _print_rich(made: list[Table]) -> None:
    from rich.console import Console

    from tflex.evaluation.tables import to_rich

    # A pipe has no width: cells broken over lines would be lost to grep.
    console = Console(width=None if sys.stdout.isatty() else 10_000)
    for table in made:
        console.print(to_rich(table))
        console.print()
