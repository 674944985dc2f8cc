"""Run folders: what was trained on what, with which settings, code and machine, and its weights."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tflex.errors import DataError
from tflex.experiment.config import AnyRun, Config, read_config
from tflex.graph.temporal_graph import TemporalGraph

FILE = "run.json"


@dataclass(frozen=True)
class Run:
    """A run folder."""

    folder: Path
    config: AnyRun
    record: dict[str, Any]

    @classmethod
    def open(cls, folder: str | Path) -> Run:
        folder = Path(folder)
        path = folder / FILE
        if not path.is_file():
            raise DataError(f"{folder} is no run folder: it holds no {FILE}")
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            return cls(folder, read_config(record["config"]), record)
        except (ValueError, KeyError) as error:
            raise DataError(f"{path} is damaged: {error}") from error

    @classmethod
    def create(cls, folder: str | Path, dataset: str, graph: TemporalGraph,
               config: AnyRun) -> Run:  # fmt: skip
        """A new run folder; one that holds a run already is refused."""
        folder = Path(folder)
        if (folder / FILE).exists():
            raise DataError(f"{folder} holds a run already; use --resume or another folder")
        folder.mkdir(parents=True, exist_ok=True)
        record = {
            "dataset": dataset if dataset == "demo" else str(Path(dataset).resolve()),
            "dataset_hash": graph.content_hash,
            "dataset_name": graph.name,
            "config": config.model_dump(),
            "code": code_version(),
            "environment": environment(),
        }
        draft = folder / f".{FILE}"
        draft.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        draft.replace(folder / FILE)
        return cls(folder, config, record)

    @property
    def dataset(self) -> str:
        """The dataset folder, or `demo`."""
        return str(self.record["dataset"])

    def graph(self) -> TemporalGraph:
        """The graph that the run was trained on; another one in its place is an error."""
        if self.dataset == "demo":
            from tflex.graph.world import demo_world

            graph = demo_world()
        else:
            graph = TemporalGraph.open(self.dataset)
        if graph.content_hash != self.record["dataset_hash"]:
            raise DataError(f"{self.dataset} has changed since {self.folder} was trained on it")
        return graph

    def configured(self, kind: type[Config]) -> Config:
        """The configuration, of a run of the wanted kind."""
        if not isinstance(self.config, kind):
            wanted = kind.model_fields["kind"].default
            raise DataError(
                f"{self.folder} is a run of kind {self.config.kind} (preset {self.config.preset}), "
                f"not of kind {wanted}"
            )
        return self.config


def process_rank() -> tuple[int, int]:
    """This process's number and how many there are, as torchrun says."""
    return int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))


def choose_device(wanted: str, rank: int = 0) -> torch.device:
    """`auto` is a GPU where there is one."""
    if wanted != "auto":
        try:
            return torch.device(wanted)
        except RuntimeError:
            raise DataError(f"no device {wanted!r}; try auto, cpu or cuda:0") from None
    if torch.cuda.is_available():
        return torch.device("cuda", rank % torch.cuda.device_count())
    return torch.device("cpu")


def code_version() -> dict[str, str | None]:
    """The package's version, and the commit where it runs from a checkout."""
    here = Path(__file__).parent
    found = subprocess.run(
        ["git", "-C", str(here), "describe", "--always", "--dirty", "--abbrev=12"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    commit = found.stdout.strip() if found.returncode == 0 else None
    return {"version": metadata.version("tflex"), "commit": commit}


def environment() -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "platform": platform.platform(),
        "processors": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
    }
