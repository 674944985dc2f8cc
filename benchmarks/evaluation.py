"""Evaluation: queries a second of the embedding reasoner at the paper's size, and its memory.

    python benchmarks/evaluation.py [--queries 512] [--model tflex] [--threads N]

A world of ICEWS14's size (7,128 entities, 365 days), a fresh model of d = 800 with two hidden
layers of 800, fp32, all cores unless told otherwise. For some structures: scoring all candidates
(`scores`), and the whole protocol `strict` (scores, ranks, every metric). The reference, measured
in the same run: `torch.cdist(p=1)` of as many points to all candidates, which scoring by this
distance cannot do without. Wall-clock time, best of three; in brackets queries a second of
processor time, which other work on the machine disturbs less. One table and one JSON line.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import time
from collections.abc import Callable
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from tflex.evaluation import STRICT, EvaluationQueries, evaluate
from tflex.experiment.preparing import Preparer
from tflex.graph.facts import Level
from tflex.graph.world import build_world
from tflex.models.tflex import PRESETS, Settings, TflexModel
from tflex.query.algebra import Sort
from tflex.query.published import STRUCTURES
from tflex.reasoning.embedding import EmbeddingReasoner
from tflex.sampling.sampler import Queries, SamplingSettings, Sources, StructureSampler, Supply

SHOWN = ("Pe", "Pe2", "Pe3", "e2i", "e3i", "e2i_N", "e2u", "Pe_aPt", "Pt", "t2i", "t2u")
WANTED_RATE = 300
WANTED_BYTES = 3 * 10**9


def rates(count: int, work: Callable[[], Any], repeats: int = 3) -> dict[str, float]:
    """Queries a second of wall-clock time and of processor time, best of some runs."""
    wall, processor = [], []
    for _ in range(repeats):
        started, used = time.perf_counter(), time.process_time()
        work()
        wall.append(time.perf_counter() - started)
        processor.append(time.process_time() - used)
    return {"wall": count / min(wall), "processor": count / min(processor)}


def sampled(sources: Sources, count: int) -> dict[str, EvaluationQueries]:
    """Test queries under `strict`."""
    preparer, found = Preparer(sources.graph), {}
    for name in SHOWN:
        sampler = StructureSampler(sources, STRUCTURES[name], SamplingSettings())
        parts = list(sampler.batches(Level.test, count, Supply(count)))
        found[name] = preparer.strict(STRUCTURES[name], Queries.joined(parts).anchors, Level.test)
    return found


def measure(reasoner: EmbeddingReasoner, name: str, queries: EvaluationQueries) -> dict[str, Any]:
    """One structure: scores alone, the whole protocol, and the distance that both have to take."""
    model, sort = reasoner.model, STRUCTURES[name].sort
    candidates = model.tokens.features(sort).detach()
    rows = torch.rand(len(queries), candidates.shape[1])
    reasoner.scores(name, queries.anchors[:8])  # Compiles the plan.
    return {
        "queries": len(queries),
        "scores": rates(len(queries), lambda: reasoner.scores(name, queries.anchors)),
        "strict": rates(len(queries), lambda: evaluate(reasoner, [queries], STRICT, view="train")),
        "cdist": rates(len(queries), lambda: torch.cdist(rows, candidates, p=1), 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--queries", type=int, default=512, help="of each structure")
    parser.add_argument("--model", choices=tuple(PRESETS), default="tflex")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    chosen = parser.parse_args()
    threads = chosen.threads
    torch.set_num_threads(threads)
    graph = build_world("icews14")
    settings = Settings(graph.entity_count, graph.relation_count, graph.time_count)
    model = TflexModel(PRESETS[chosen.model], settings, torch.Generator().manual_seed(0)).eval()
    reasoner = EmbeddingReasoner(model)
    found = {}
    table = Table(
        title=f"{chosen.model}, d = {settings.dim}, {graph.entity_count:,} entities, "
        f"{graph.time_count} days, {threads} threads: queries a second (in brackets: of processor "
        "time)"
    )
    for column in ("structure", "scores", "strict", "torch.cdist alone"):
        table.add_column(column, justify="left" if column == "structure" else "right")
    for name, queries in sampled(Sources(graph), chosen.queries).items():
        one = found[name] = measure(reasoner, name, queries)
        cells = (
            f"{one[key]['wall']:,.0f} ({one[key]['processor']:,.0f})"
            for key in ("scores", "strict", "cdist")
        )
        table.add_row(name, *cells)
    entity = [one["strict"]["wall"] for name, one in found.items()
              if STRUCTURES[name].sort is Sort.ENTITY]  # fmt: skip
    mean = len(entity) / sum(1 / rate for rate in entity)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    console = Console()
    console.print(table)
    console.print(
        f"entity queries under strict: {mean:,.0f} a second over the structures shown (goal "
        f"{WANTED_RATE}); peak memory {peak / 1e9:.2f} GB (goal {WANTED_BYTES / 1e9:.0f}); load of "
        f"the machine {os.getloadavg()[0]:.1f}"
    )
    report = {"benchmark": "evaluation", "model": chosen.model, "threads": threads,
              "entity_queries_per_second": mean, "peak_memory_bytes": peak,
              "load": os.getloadavg()[0], "structures": found}  # fmt: skip
    print(json.dumps(report))


if __name__ == "__main__":
    main()
