"""`tflex data`: make datasets from files or from nothing, and say what they hold."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tflex.cli.output import AsJson, print_json, print_table, progress_bar
from tflex.cli.targets import DataDir, Target, find, open_target
from tflex.errors import DataError

if TYPE_CHECKING:
    from tflex.graph.temporal_graph import TemporalGraph

app = typer.Typer(help="Import, make and describe datasets.", no_args_is_help=True)


def register(root: typer.Typer) -> None:
    root.add_typer(app, name="data")


class Unit(StrEnum):
    """The units of `tflex.graph.timeline`, which is too slow to import for the help."""

    day = "day"
    month = "month"
    year = "year"
    raw = "raw"


Out = Annotated[Path, typer.Option("--out", help="The dataset folder to make.", show_default=False)]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the dataset that is there.")]


@app.command("import")
def import_(
    facts: Annotated[
        list[Path],
        typer.Argument(
            metavar="FACTS...",
            help="TSV, CSV, Parquet or JSON Lines files (.gz too), or folders of them.",
            show_default=False,
        ),
    ],
    out: Out,
    columns: Annotated[
        str | None,
        typer.Option(
            help="Which column is what, by name or number: "
            "subject=src,relation=rel,object=dst,time=when (or start=…,end=…).",
            show_default=False,
        ),
    ] = None,
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Whether the first row of TSV or CSV names the columns; detected by default.",
            show_default=False,
        ),
    ] = None,
    split: Annotated[
        str, typer.Option(help="Shares of train, valid and test, where the files keep no split.")
    ] = "0.8,0.1,0.1",
    seed: Annotated[int, typer.Option(help="Seed of the random split.", min=0)] = 0,
    unit: Annotated[
        Unit | None,
        typer.Option(help="The unit of time; detected by default.", show_default=False),
    ] = None,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave malformed lines out and count them.")
    ] = False,
    ids: Annotated[
        bool, typer.Option("--ids", help="The columns of Parquet files hold ids, not names.")
    ] = False,
    name: Annotated[
        str | None,
        typer.Option(help="The dataset's name; that of the files by default.", show_default=False),
    ] = None,
    data_dir: DataDir = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Make a dataset from files of facts: subject, relation, object and time, or start and end.

    Files named train, valid and test keep their split. `entities.txt`, `relations.txt` and
    `timestamps.txt` beside them fix the ids: line number, from 0. Dates such as `1952-##-##` stand
    for the whole year, an empty bound or `####-##-##` is open.

    Example: `tflex data import visits.csv --columns subject=who,relation=what,object=where,time=on
    --out visits`
    """
    from tflex.graph.ingest import import_facts

    shares = _shares(split)
    _check_out(out, overwrite)
    with progress_bar() as progress:
        graph = import_facts(
            [find(path, data_dir) for path in facts],
            columns=columns,
            header=header,
            split=shares,
            seed=seed,
            unit=None if unit is None else unit.value,
            skip_bad=skip_bad,
            ids=ids,
            name=name,
            progress=lambda what, done: progress(what, 0.8 * done),
        )
        progress(f"writing {out}", 0.8)
        graph.save(out, overwrite)
    _report(graph, out, as_json)


def _shares(text: str) -> tuple[float, float, float]:
    try:
        train, valid, test = (float(part) for part in text.split(","))
    except ValueError:
        raise DataError(f'--split "{text}" is not three shares such as 0.8,0.1,0.1') from None
    return train, valid, test


def _check_out(out: Path, overwrite: bool) -> None:
    """Refuse a folder that is taken before the work, not after it."""
    from tflex.graph.temporal_graph import check_free

    check_free(out, overwrite and (out / "dataset.json").exists())


@app.command()
def world(
    out: Out,
    scale: Annotated[
        str,
        typer.Option(help="demo, icews14, icews05-15, gdelt-500, or a number of facts."),
    ] = "demo",
    seed: Annotated[int, typer.Option(help="Seed of everything that is drawn.", min=0)] = 0,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Make a synthetic world that has something to learn, with the counts of a known dataset.

    Example: `tflex data world --scale icews14 --seed 1 --out world`
    """
    from tflex.graph.world import build_world

    _check_out(out, overwrite)
    with progress_bar() as progress:
        progress(f"drawing a world of scale {scale}", 0.1)
        graph = build_world(scale, seed)
        progress(f"writing {out}", 0.8)
        graph.save(out, overwrite)
    _report(graph, out, as_json)


def _report(graph: TemporalGraph, out: Path, as_json: bool) -> None:
    """What a new dataset holds, in a few lines."""
    if as_json:
        print_json({"folder": str(out), **graph.manifest()})
        return
    from tflex.cli.output import cell_text

    facts = ", ".join(f"{count:,} {level}" for level, count in graph.counts.items())
    print(f"{out}: {graph.entity_count:,} entities, {graph.relation_count:,} relations, "
          f"{graph.time_count:,} timestamps (unit: {graph.timeline.unit})")  # fmt: skip
    print(f"facts: {facts}")
    for label, counts in (("dropped", graph.dropped), ("noted", graph.notes)):
        if counts:
            listed = ", ".join(f"{cell_text(count)} {reason}" for reason, count in counts.items())
            print(f"{label}: {listed}")


@app.command()
def describe(target: Target, as_json: AsJson = False) -> None:
    """Say what a graph holds: counts, degrees, facts over time, intervals, and what was dropped.

    Example: `tflex data describe demo --json`
    """
    from tflex.graph.describe import describe

    with progress_bar() as progress:
        progress(f"opening {target}", 0.1)
        graph = open_target(target)
        progress(f"describing {target}", 0.3)
        description = describe(graph)
    if as_json:
        print_json(description)
    else:
        _print_description(description)


def _print_description(description: dict[str, Any]) -> None:
    names = ("entities", "relations", "timestamps", "time_unit", "first_timestamp",
             "last_timestamp", "content_hash")  # fmt: skip
    rows = [(name.replace("_", " "), description[name]) for name in names]
    rows += [(f"facts, {level}", count) for level, count in description["facts"].items()]
    rows += [(f"dropped, {reason}", count) for reason, count in description["dropped"].items()]
    rows += [(f"noted, {reason}", count) for reason, count in description["notes"].items()]
    print_table(description["name"], ("", ""), rows)
    degrees, intervals = description["degrees"], description["intervals"]
    _print_bars(
        f"Facts of an entity (mean {degrees['mean']:,.1f}, median {degrees['median']:,.1f}, "
        f"maximum {degrees['maximum']:,})",
        [(_range(bin), bin["entities"]) for bin in degrees["histogram"]],
        "entities",
    )
    periods = [(_range(bin), bin["facts"]) for bin in description["facts_over_time"]]
    _print_bars("Facts over time", periods, "facts")
    top = [(row["relation"], row["facts"]) for row in description["top_relations"]]
    _print_bars("Relations used most", top, "facts")
    if intervals:
        _print_bars(
            f"Length of facts ({intervals['facts']:,} last longer than one {_unit(description)}; "
            f"median {intervals['median_length']:,.0f}, maximum {intervals['maximum_length']:,})",
            [(_range(bin), bin["facts"]) for bin in intervals["histogram"]],
            "facts",
        )


def _unit(description: dict[str, Any]) -> str:
    unit = description["time_unit"]
    return "timestamp" if unit == "raw" else str(unit)


def _range(bin: dict[str, Any]) -> str:
    return str(bin["from"]) if bin["from"] == bin["to"] else f"{bin['from']} – {bin['to']}"


def _print_bars(title: str, rows: list[tuple[str, int]], what: str) -> None:
    """A histogram as a table with bars."""
    most = max((count for _, count in rows), default=0) or 1
    drawn = [(label, "█" * round(24 * count / most), count) for label, count in rows]
    print()
    print_table(title, ("", "", what), drawn, left=2)
