"""A training step at the paper's setting: share of the machine's peak, precision, batching.

    python benchmarks/training.py [--threads 2] [--dim 800] [--batch 512] [--negatives 128]

Steps of the model `tflex` on a mixed batch of the 23 training structures, random queries over
vocabularies of ICEWS14's size. In one run: the fp32 peak (a large matrix product), the step's share
of it counted on the model's own multiply-adds (forward and backward: three times the forward), bf16
beside fp32, and operator-level batching beside one call per structure. Prints one table and one
JSON line.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from tflex.models.interpreter import embed
from tflex.models.loss import query_losses, subsampling_weights, weighted_mean
from tflex.models.tflex import TFLEX, Settings, TflexModel
from tflex.query.algebra import Sort
from tflex.query.published import STRUCTURES, TRAINING_GROUPS
from tflex.training.data import Batch, BatchSource, TrainingQueries
from tflex.training.loop import Trainer, TrainingSettings

ENTITIES, RELATIONS, TIMESTAMPS = 7_128, 230, 365
SIZES = {Sort.ENTITY: ENTITIES, Sort.RELATION: 2 * RELATIONS, Sort.TIME: TIMESTAMPS}
STEPS = 4


def random_queries(count: int = 400) -> list[TrainingQueries]:
    random = np.random.default_rng(0)
    found = []
    for structure in STRUCTURES:
        if structure.group in TRAINING_GROUPS:
            columns = [
                random.integers(SIZES[slot.sort], size=count) for slot in structure.parameters
            ]
            answers = random.integers(SIZES[structure.sort], size=count)
            found.append(
                TrainingQueries(structure, np.stack(columns, 1), np.arange(count + 1), answers)
            )
    return found


def best_seconds(work: Callable[[], object], times: int = STEPS) -> float:
    """The fastest of some runs, after one that warms up."""
    work()
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def peak(precision: torch.dtype, size: int = 2048) -> float:
    """Floating-point operations a second of a large square matrix product."""
    a, b = (torch.randn(size, size).to(precision) for _ in range(2))
    return 2 * size**3 / best_seconds(lambda: a @ b, 8)


def one_call_per_structure(trainer: Trainer, batch: Batch) -> None:
    """The same update with each structure embedded by itself, node by node."""
    model = trainer.model
    trainer.optimizer.zero_grad(set_to_none=True)
    rows: dict[Sort, list[torch.Tensor]] = {Sort.ENTITY: [], Sort.TIME: []}
    for structure, anchors in batch.groups:
        rows[structure.sort].append(embed(model, structure, torch.from_numpy(anchors)))
    losses, weights = [], []
    for sort, side in ((Sort.ENTITY, batch.entity), (Sort.TIME, batch.time)):
        queries = torch.cat(rows[sort])
        positives = model.tokens.features(sort, torch.from_numpy(side.positives)).unsqueeze(1)
        negatives = model.tokens.features(sort, torch.from_numpy(side.negatives))
        losses.append(
            query_losses(
                model.distances(queries, sort, positives).squeeze(1),
                model.distances(queries, sort, negatives),
                torch.from_numpy(side.allowed),
                model.settings.margin,
            )
        )
        weights.append(subsampling_weights(torch.from_numpy(side.answers)))
    weighted_mean(torch.cat(losses), torch.cat(weights)).backward()
    trainer.optimizer.step()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--dim", type=int, default=800)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--negatives", type=int, default=128)
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    settings = Settings(ENTITIES, RELATIONS, TIMESTAMPS, chosen.dim, (chosen.dim, chosen.dim))
    candidates = {Sort.ENTITY: ENTITIES, Sort.TIME: TIMESTAMPS}
    source = BatchSource(random_queries(), candidates, chosen.batch, chosen.negatives, 0)
    batch = source.batch(0)
    seconds: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for precision in ("fp32", "bf16"):
            model = TflexModel(TFLEX, settings, torch.Generator().manual_seed(0))
            options = TrainingSettings(precision=precision)
            trainer = Trainer(model, source, options, Path(folder))
            seconds[precision] = best_seconds(lambda trainer=trainer: trainer.step(batch))
            if precision == "fp32":
                each = lambda trainer=trainer: one_call_per_structure(trainer, batch)  # noqa: E731
                seconds["per structure"] = best_seconds(each)
                signature = tuple((one, len(anchors)) for one, anchors in batch.groups)
                operations = 6 * trainer.objective.planner.plan(signature).multiply_adds(model)
    fp32, bf16 = peak(torch.float32), peak(torch.bfloat16)
    report = {
        "benchmark": "training",
        "threads": chosen.threads,
        "dim": chosen.dim,
        "batch": chosen.batch,
        "negatives": chosen.negatives,
        "operations_per_step": operations,
        "seconds": seconds,
        "peak_fp32": fp32,
        "peak_bf16": bf16,
        "share_of_fp32_peak": operations / seconds["fp32"] / fp32,
        "bf16_speedup": seconds["fp32"] / seconds["bf16"],
        "bf16_speedup_of_products": bf16 / fp32,
        "batching_speedup": seconds["per structure"] / seconds["fp32"],
        "peak_memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }
    rows = [
        ("step, fp32", f"{seconds['fp32']:.3f} s", ""),
        ("step, bf16", f"{seconds['bf16']:.3f} s", ""),
        ("step, one call per structure", f"{seconds['per structure']:.3f} s", ""),
        ("fp32 peak, measured here", f"{fp32 / 1e9:,.0f} GFLOP/s", ""),
        ("share of it", f"{report['share_of_fp32_peak']:.0%}", "≥ 50 %"),
        ("bf16 over fp32", f"{report['bf16_speedup']:.2f}", "≥ 2"),
        ("bf16 over fp32, products alone", f"{report['bf16_speedup_of_products']:.2f}", ""),
        ("operator batching", f"{report['batching_speedup']:.2f}", "≥ 2"),
    ]
    for label, value, bound in rows:
        print(f"{label:<32}{value:>16}  {bound}")
    print(json.dumps(report))


if __name__ == "__main__":
    main()
