"""`tflex queries sample | join | describe | import | export`: sets of queries."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tflex.cli.ask import StructureFile, known_structures
from tflex.cli.output import AsJson, cell_text, print_json, print_table, progress_bar
from tflex.cli.queries import app
from tflex.cli.targets import DataDir, Target, find, open_target
from tflex.errors import DataError

if TYPE_CHECKING:
    from tflex.graph.facts import Level
    from tflex.graph.temporal_graph import TemporalGraph
    from tflex.sampling.dataset import QueryDataset

SPLITS = ("train", "valid", "test")
ALL_SPLITS = ",".join(SPLITS)


def register(_root: typer.Typer) -> None:
    for name, command in (
        ("sample", sample),
        ("join", join),
        ("describe", describe),
        ("import", import_),
        ("export", export),
    ):
        app.command(name)(command)


class Degree(StrEnum):
    """How the facts are drawn from which queries grow."""

    natural = "natural"
    flat = "flat"


Dataset = Annotated[
    str, typer.Argument(metavar="DATASET", help="A dataset folder.", show_default=False)
]
Chosen = Annotated[
    str,
    typer.Option(
        "--structures",
        metavar="WHICH",
        help="`all` (the forty), `train` (the 23 used in training), a group, names, or a file.py "
        "of your own; several with commas between.",
    ),
]
Splits = Annotated[
    str, typer.Option("--split", metavar="SPLITS", help="Splits, with commas between.")
]
Out = Annotated[
    Path | None,
    typer.Option("--out", help="Another folder than DATASET/queries.", show_default=False),
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace all queries that the folder holds.")
]


def sample(
    dataset: Dataset,
    structures: Chosen = "all",
    split: Splits = ALL_SPLITS,
    count: Annotated[
        str,
        typer.Option(
            metavar="N|paper",
            help="Queries of each structure and split; `paper`: as the paper's table, to scale.",
        ),
    ] = "paper",
    missing: Annotated[
        str | None,
        typer.Option(
            metavar="SHARES",
            help="Held-out facts that the easiest target of a query needs: 1:0.7,2:0.3.",
            show_default=False,
        ),
    ] = None,
    largest_answer: Annotated[
        int | None,
        typer.Option(min=1, help="Leave queries with more answers out.", show_default=False),
    ] = None,
    degree: Annotated[
        Degree, typer.Option(help="Grow from facts alike, or from entities alike (flat).")
    ] = Degree.natural,
    allow_empty: Annotated[
        bool, typer.Option("--allow-empty", help="Keep queries with a part that is empty.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything that is drawn.")] = 0,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Processes; one a core by default.", show_default=False),
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(
            metavar="i/n",
            help="Draw every n-th structure from the i-th on into queries-shard-i-of-n; "
            "`join` puts the shards together.",
            show_default=False,
        ),
    ] = None,
    out: Out = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Draw queries of any structure: unique, new in their split, with exact answers.

    Interrupted, the same command goes on where it was. Test queries are drawn first, then
    validation, then training queries, and none is drawn twice; splits that are there already count
    as drawn. The files are the same for any number of workers and shards.

    Example: `tflex queries sample scratch/icews14 --structures all --count paper --seed 1`
    """
    from tflex.query.selection import select
    from tflex.sampling.dataset import sample_dataset
    from tflex.sampling.manifest import in_order, parse_shard
    from tflex.sampling.sampler import SamplingSettings

    part = None if shard is None else parse_shard(shard)
    folder = queries_folder(dataset, out, part)
    settings = SamplingSettings(seed, _shares(missing), largest_answer, degree.value, allow_empty)
    chosen, levels = in_order(select(structures)), _levels(split)
    graph = open_target(dataset)
    counts = _counts(graph, chosen, levels, count)
    with progress_bar() as progress:
        made = sample_dataset(
            graph,
            folder,
            chosen,
            counts,
            settings,
            workers=workers or len(os.sched_getaffinity(0)),
            shard=part,
            overwrite=overwrite,
            progress=progress,
        )
    _report(made, [one.name for one in chosen], as_json)


def queries_folder(dataset: str, out: Path | None, shard: tuple[int, int] | None = None) -> Path:
    """Where the queries of a dataset go."""
    if out is not None:
        return out
    if not (Path(dataset) / "dataset.json").is_file():
        raise DataError(f"{dataset} is no dataset folder; give --out FOLDER for the queries")
    return Path(dataset) / ("queries" if shard is None else "queries-shard-{}-of-{}".format(*shard))


def _levels(text: str) -> list[Level]:
    from tflex.graph.facts import Level

    names = [part.strip() for part in text.split(",") if part.strip()]
    if not names or any(name not in SPLITS for name in names):
        raise DataError(f'--split "{text}": splits are {", ".join(SPLITS)}, with commas between')
    return [Level[name] for name in names]


def _shares(text: str | None) -> dict[int, float] | None:
    """`1:0.7,2:0.3` as numbers of missing facts with their shares."""
    if text is None:
        return None
    try:
        pairs = (part.split(":") for part in text.split(","))
        shares = {int(number): float(share) for number, share in pairs}
        if min(shares) >= 1 and min(shares.values()) >= 0 and abs(sum(shares.values()) - 1) <= 1e-6:
            return shares
    except ValueError:
        pass
    raise DataError(
        f'--missing "{text}" is not like 1:0.7,2:0.3 (missing facts:share, shares that sum to 1)'
    )


def _counts(graph: TemporalGraph, structures: list[Any], levels: list[Level], count: str) -> Any:
    from tflex.sampling.counts import equal_counts, paper_counts

    if count == "paper":
        return paper_counts(graph, structures, levels)
    if not (count.isascii() and count.isdigit() and int(count) > 0):
        raise DataError(f'--count "{count}" is neither a number above 0 nor `paper`')
    return equal_counts(int(count), structures, levels)


def _report(made: QueryDataset, names: list[str], as_json: bool) -> None:
    """How many queries were wanted and found of each structure and split."""
    records = made.manifest.as_json()["structures"]
    rows = {name: one["splits"] for name, one in records.items() if name in names}
    if as_json:
        print_json({"folder": str(made.folder), "structures": rows})
        return
    print_table(
        str(made.folder),
        ("structure", *(column for split in SPLITS for column in (split, "wanted")), "note"),
        [
            (name, *(cell for split in SPLITS for cell in _cells(splits.get(split))), _note(splits))
            for name, splits in rows.items()
        ],
    )
    total = sum(one["found"] for splits in rows.values() for one in splits.values())
    plural = "" if len(rows) == 1 else "s"
    print(f"{cell_text(total)} queries of {len(rows)} structure{plural}")


def _cells(split: dict[str, Any] | None) -> tuple[int | None, int | None]:
    return (None, None) if split is None else (split["found"], split["wanted"])


def _note(splits: dict[str, Any]) -> str:
    """Why a split holds fewer queries than were wanted."""
    exact = [name for name, split in splits.items() if split["exact"]]
    rare = [name for name, split in splits.items() if split["exhausted"] and not split["exact"]]
    notes = [(exact, "all there are"), (rare, "no more found")]
    return "; ".join(f"{', '.join(names)}: {note}" for names, note in notes if names)


def join(
    dataset: Dataset,
    shards: Annotated[
        list[Path],
        typer.Argument(metavar="SHARDS...", help="All folders of one sampling in shards."),
    ],
    out: Out = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Put shards together: the files are those of a run without shards.

    Example: `tflex queries join scratch/icews14 scratch/icews14/queries-shard-*`
    """
    from tflex.sampling.dataset import QueryDataset, join_shards

    graph = open_target(dataset)
    for shard in shards:
        QueryDataset.open(shard, graph)
    made = join_shards(queries_folder(dataset, out), shards, overwrite)
    _report(made, [one.name for one in made.structures()], as_json)


def describe(
    target: Target,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FILES]...",
            help="Published query files (JSON lines), folders of them, or a folder of sampled "
            "queries; TARGET/queries by default.",
            show_default=False,
        ),
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(
            metavar="train|valid|test",
            help="The split of published files; told from their names by default.",
            show_default=False,
        ),
    ] = None,
    structures: StructureFile = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Count queries and answers beside the paper's, and report defects.

    Everything is counted anew from the graph. Defects are duplicates, queries in two splits,
    targets that are known already, queries without a new answer, empty parts, repeated branches
    and wrong answers.

    Example: `tflex queries describe scratch/icews14 --json`
    """
    from tflex.sampling.dataset import QueryDataset
    from tflex.sampling.defects import dataset_sources, file_sources
    from tflex.sampling.defects import describe as describe_sources

    graph = open_target(target)
    level = None if split is None else _levels(split)[0]
    paths = [find(path, data_dir) for path in files or ()]
    folders = [path for path in paths if (path / "manifest.json").is_file()]
    sources = [
        source
        for folder in (folders if paths else [Path(target)])
        for source in dataset_sources(QueryDataset.open(folder, graph))
    ]
    published = [path for path in paths if path not in folders]
    if level is not None and not published:
        raise DataError("--split tells the split of published files; there are none here")
    if published:
        sources += file_sources(graph, published, level, known_structures(structures))
    with progress_bar() as progress:
        described = describe_sources(graph, sources, progress)
    if as_json:
        print_json(described)
    else:
        _print_described(described)


def _print_described(described: dict[str, Any]) -> None:
    """The paper's two tables, and the defects."""
    from tflex.sampling.defects import DEFECTS

    splits = list(described["totals"])
    paper = described["paper_dataset"] or "none of this size"
    for title, key in (("Queries", "queries"), ("Answers of a query", "average_answers")):
        print_table(
            f"{title}, beside the paper's ({paper})",
            ("structure", *(column for split in splits for column in (split, "paper"))),
            [
                (name, *(cell for one in splits for cell in _beside(found.get(one), key)))
                for name, found in described["structures"].items()
            ],
        )
        print()
    costs = ("0", "1", "2", "3+", "every_atom")
    print_table(
        "Defects, and held-out facts that the targets need",
        ("structure", "split", "queries", *(name.replace("_", " ") for name in DEFECTS),
         "retractions", "targets", *(name.replace("_", " ") for name in costs)),
        [
            (name, split, one["queries"], *(one[defect] for defect in DEFECTS),
             one["retractions"], one["targets"],
             *(one.get("missing_facts", {}).get(cost) for cost in costs))
            for name, found in described["structures"].items()
            for split, one in found.items()
        ],
        left=2,
    )  # fmt: skip
    print()
    found = {name: sum(one[name] for one in described["totals"].values()) for name in DEFECTS}
    for name, count in found.items():
        print(f"{cell_text(count):>10} {DEFECTS[name]}")


def _beside(summary: dict[str, Any] | None, key: str) -> tuple[Any, Any]:
    return (None, None) if summary is None else (summary[key], summary[f"paper_{key}"])


def import_(
    dataset: Dataset,
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILES...", help="Query files (JSON lines) or folders.", show_default=False
        ),
    ],
    split: Annotated[
        str | None,
        typer.Option(
            metavar="train|valid|test",
            help="The split of the files; told from their names by default.",
            show_default=False,
        ),
    ] = None,
    structures: StructureFile = None,
    out: Out = None,
    overwrite: Overwrite = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Make a query set of published files: all their queries as they are, answered anew.

    Names of both spellings are known. `describe` tells what the files repeat, and what has no
    target.

    Example: `tflex queries import scratch/icews14 icews14/queries/valid --out scratch/published`
    """
    from tflex.query.files import query_files, read_query_files
    from tflex.sampling.defects import split_of
    from tflex.sampling.exchange import import_queries

    folder = queries_folder(dataset, out)
    known = known_structures(structures)
    graph = open_target(dataset)
    by_level: dict[Level, list[Path]] = {}
    for path in query_files(find(path, data_dir) for path in files):
        level = split_of(path) if split is None else _levels(split)[0]
        by_level.setdefault(level, []).append(path)
    read = {level: read_query_files(paths, graph, known) for level, paths in by_level.items()}
    made = import_queries(graph, folder, read, overwrite)
    _report(made, [one.name for one in made.structures()], as_json)


def export(
    dataset: Dataset,
    out: Annotated[
        Path, typer.Option("--out", help="Where split/structure.jsonl go.", show_default=False)
    ],
    split: Splits = ALL_SPLITS,
    structures: Annotated[
        str | None,
        typer.Option(
            "--structures", metavar="WHICH", help="Names; all by default.", show_default=False
        ),
    ] = None,
    published_names: Annotated[
        bool,
        typer.Option(
            "--published-names",
            help="Pe_e2i_Pe_NPe and Pe_t2i_PtPe_NPt as in the published files, "
            "not Pe_e2i_N and Pe_t2i_N as in the paper's tables.",
        ),
    ] = False,
    queries: Annotated[
        Path | None,
        typer.Option(help="Another folder than DATASET/queries.", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write queries as published JSON lines: all answers, and those known on the train view.

    Example: `tflex queries export scratch/icews14 --out scratch/lines --split valid`
    """
    from tflex.query.structures import Structures
    from tflex.sampling.dataset import QueryDataset
    from tflex.sampling.exchange import export_queries

    graph = open_target(dataset)
    made = QueryDataset.open(queries or dataset, graph)
    there = Structures(made.structures())
    names = structures.split(",") if structures else there.names()
    chosen = [there[name.strip()] for name in names]
    written = export_queries(graph, made, out, _levels(split), chosen, published_names)
    if as_json:
        print_json({"files": [str(path) for path in written]})
    else:
        print(f"{out}: {len(written)} files of queries")
