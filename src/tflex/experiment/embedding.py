"""Runs of embedding models: their queries, their training, and the trained model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
import torch.distributed as distributed

from tflex.errors import DataError
from tflex.experiment.config import EmbeddingConfig
from tflex.experiment.run import Run, choose_device, process_rank
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

BEST = "best.safetensors"

Report = Callable[[str, float], None]
"""Called with a progress line and the fraction that is done."""


def trained_structures(run: Run) -> list[str]:
    """The names of the structures that a run was trained on."""
    return [one.name for one in select(run.configured(EmbeddingConfig).training.structures)]


def trained_model(run: Run, device: str = "cpu") -> TflexModel:
    """The model of a run with its best weights, ready to answer."""
    config = run.configured(EmbeddingConfig)
    path = run.folder / BEST
    if not path.is_file():
        raise DataError(f"{run.folder} holds no {BEST}: its training has not been scored yet")
    model = build_model(config, run.graph())
    load_weights(model, path)
    return model.to(device).eval()


def build_model(config: EmbeddingConfig, graph: TemporalGraph) -> TflexModel:
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
    config, graph = run.configured(EmbeddingConfig), run.graph()
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
    trained = [one.name for one in structures]
    trainer = Trainer(
        model, source, TrainingSettings(**chosen), run.folder,
        lambda model: sample.score(model, trained), report,
    )  # fmt: skip
    if resume and not trainer.resume():
        report("no checkpoint to resume from; starting anew", 0.0)
    try:
        return trainer.run()
    finally:
        if distributed.is_initialized():
            distributed.destroy_process_group()
