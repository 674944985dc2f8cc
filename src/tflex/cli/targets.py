"""What the commands are pointed at: `demo`, a dataset folder, a run folder, or exact:FOLDER."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tflex.errors import DataError

if TYPE_CHECKING:
    from tflex.graph.temporal_graph import TemporalGraph

Target = Annotated[
    str,
    typer.Argument(
        metavar="TARGET",
        help="`demo` (the embedded world), a dataset folder, a run folder, or exact:FOLDER.",
        show_default=False,
    ),
]

DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        envvar="TFLEX_DATA",
        help="Where relative paths that do not exist are looked up.",
        show_default=False,
    ),
]


def open_target(target: str) -> TemporalGraph:
    """The graph of a target; for a run folder, the graph the run was trained on."""
    if target == "demo":
        from tflex.graph.world import demo_world

        return demo_world()
    from tflex.graph.temporal_graph import TemporalGraph

    folder = Path(target.removeprefix("exact:"))
    if not folder.is_dir():
        raise DataError(
            f"{folder} is no folder; a target is `demo`, a dataset folder, a run folder, "
            "or exact:FOLDER"
        )
    if (folder / "dataset.json").is_file():
        return TemporalGraph.open(folder)
    if (folder / "run.json").is_file():
        return open_target(dataset_of_run(folder))
    raise DataError(
        f"{folder} is neither a dataset (it holds no dataset.json) nor a run (no run.json); "
        "`tflex data import FACTS --out FOLDER` makes a dataset from files"
    )


def dataset_of_run(folder: Path) -> str:
    """The dataset that a run folder names, as written or relative to the run."""
    path = folder / "run.json"
    try:
        dataset = json.loads(path.read_text(encoding="utf-8"))["dataset"]
    except (ValueError, KeyError, TypeError):
        dataset = None
    if not isinstance(dataset, str):
        raise DataError(f"{path} names no dataset")
    if dataset == "demo" or (Path(dataset) / "dataset.json").is_file():
        return dataset
    beside = folder / dataset
    if (beside / "dataset.json").is_file():
        return str(beside)
    raise DataError(f"{path} names the dataset {dataset}, which is not there")


def find(path: Path, data_dir: Path | None) -> Path:
    """The path, or the one under the data folder where only that exists."""
    if not path.exists() and not path.is_absolute() and data_dir is not None:
        inside = data_dir / path
        if inside.exists():
            return inside
    return path
