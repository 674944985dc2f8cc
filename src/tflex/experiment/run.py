"""Run folders: what was trained on what, with which settings, code and machine, and its weights."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as distributed

from tflex.errors import DataError
from tflex.experiment.config import RunConfig
from tflex.experiment.validation import ValidationSample
from tflex.graph.facts import Level
from tflex.graph.temporal_graph import TemporalGraph
from tflex.models.tflex import PRESETS, Settings, TflexModel
from tflex.query.algebra import Sort
from tflex.query.published import STRUCTURES
from tflex.query.selection import select
from tflex.query.structures import Structure
from tflex.sampling.counts import paper_counts
from tflex.sampling.dataset import QueryDataset, sample_dataset
from tflex.training.checkpoint import load_weights
from tflex.training.data import BatchSource, TrainingQueries
from tflex.training.loop import Progress, Trainer, TrainingSettings

FILE = "run.json"
BEST = "best.safetensors"

Report = Callable[[str, float], None]
"""Called with a progress line and the fraction that is done."""


@dataclass(frozen=True)
class Run:
    """A run folder."""

    folder: Path
    config: RunConfig
    record: dict[str, Any]

    @classmethod
    def open(cls, folder: str | Path) -> Run:
        folder = Path(folder)
        path = folder / FILE
        if not path.is_file():
            raise DataError(f"{folder} is no run folder: it holds no {FILE}")
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            return cls(folder, RunConfig.model_validate(record["config"]), record)
        except (ValueError, KeyError) as error:
            raise DataError(f"{path} is damaged: {error}") from error

    @classmethod
    def create(cls, folder: str | Path, dataset: str, graph: TemporalGraph,
               config: RunConfig) -> Run:  # fmt: skip
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

    def trained_structures(self) -> list[str]:
        return [one.name for one in select(self.config.training.structures)]

    def model(self, device: str = "cpu") -> TflexModel:
        """The model with its best weights, ready to answer."""
        path = self.folder / BEST
        if not path.is_file():
            raise DataError(f"{self.folder} holds no {BEST}: its training has not been scored yet")
        model = build_model(self.config, self.graph())
        load_weights(model, path)
        return model.to(device).eval()


def build_model(config: RunConfig, graph: TemporalGraph) -> TflexModel:
    """A fresh model of the configured sizes."""
    model = config.model
    settings = Settings(
        graph.entity_count, graph.relation_count, graph.time_count,
        model.dim, model.hidden, model.margin, model.logic_weight,
    )  # fmt: skip
    return TflexModel(PRESETS[model.spec], settings, torch.Generator().manual_seed(config.seed))


def query_dataset(graph: TemporalGraph, folder: Path, structures: list[Structure],
                  say: Callable[[str], None], progress: Report | None = None,
                  workers: int = 1) -> QueryDataset:  # fmt: skip
    """The dataset's queries; where there are none yet, they are sampled, which is said."""
    if (folder / "manifest.json").is_file():
        held = QueryDataset.open(folder, graph)
        have = {one.name for one in held.structures()}
        lacking = [one.name for one in structures if one.name not in have]
        if not lacking:
            return held
        raise DataError(
            f"{folder} holds no queries of {', '.join(lacking)}; "
            "draw them with `tflex queries sample` or choose other structures"
        )
    everything = list(STRUCTURES)
    say(f"no queries in {folder} yet: sampling the paper's counts of {len(everything)} structures")
    return sample_dataset(graph, folder, everything, paper_counts(graph, everything),
                          workers=workers, progress=progress)  # fmt: skip


def training_queries(queries: QueryDataset, structures: list[Structure]) -> list[TrainingQueries]:
    """The training queries in memory, for the batches."""
    found = []
    for structure in structures:
        if not queries.splits(structure.name).get(Level.train):
            continue
        one = queries.load(structure.name, Level.train, ("anchors", "targets"))
        found.append(
            TrainingQueries(
                structure,
                one.anchors.astype(np.int64),
                one.targets.offsets.astype(np.int64),
                one.targets.ids.astype(np.int64),
            )
        )
    if not any(len(one) for one in found):
        raise DataError(f"{queries.folder} holds no training queries of the chosen structures")
    return found


def train(run: Run, queries: QueryDataset, resume: bool, report: Report) -> Progress:
    """Train the run's model, in as many processes as were launched."""
    config, graph = run.config, run.graph()
    rank, ranks = process_rank()
    device = choose_device(config.device, rank)
    if config.threads is not None:
        torch.set_num_threads(config.threads)
    if ranks > 1 and not distributed.is_initialized():
        distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
    structures = select(config.training.structures)
    model = build_model(config, graph).to(device)
    source = BatchSource(
        training_queries(queries, structures),
        {Sort.ENTITY: graph.entity_count, Sort.TIME: graph.time_count},
        config.batch.size, config.batch.negatives, config.seed, config.batch.own_negatives,
        dict(config.batch.weights), rank, ranks,
    )  # fmt: skip
    names = set(TrainingSettings.__dataclass_fields__)
    chosen = {key: value for key, value in config.training.model_dump().items() if key in names}
    sample = ValidationSample.of(graph, queries, config.training.validation_queries, config.seed)
    trainer = Trainer(model, source, TrainingSettings(**chosen), run.folder, sample.score, report)
    if resume and not trainer.resume():
        report("no checkpoint to resume from; starting anew", 0.0)
    try:
        return trainer.run()
    finally:
        if distributed.is_initialized():
            distributed.destroy_process_group()


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


def summary(progress: Progress) -> dict[str, Any]:
    """How a training ended."""
    return asdict(progress)
