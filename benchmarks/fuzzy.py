"""Fuzzy reasoning: milliseconds a query for each of the 40 structures, the exact engine's beside.

    python benchmarks/fuzzy.py [--data ../shared/data] [--queries 20] [--run RUN]

Test queries of ICEWS14 by each structure, grown from held-out facts, asked one at a time on one
thread. Caches are cold: the reasoner keeps nothing between queries, every query is asked once, and
only the compiled kernels and the sorted facts of the view have been loaded before. With `--run`, a
run of `tflex train --preset fuzzy`, its weights and settings are used; without it a link predictor
with the preset's settings and fresh weights, whose degrees mean nothing but take the same work.
Beside each the median of the exact engine on the same queries. Prints one table and one JSON line.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("NUMBA_NUM_THREADS", "1")

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from tflex.exact.engine import Engine
from tflex.experiment.fuzzy import fuzzy_reasoner
from tflex.experiment.run import Run
from tflex.graph.facts import Level
from tflex.graph.ingest import import_facts
from tflex.graph.temporal_graph import TemporalGraph
from tflex.models.predictors.links import LinkPredictor, LinkSettings
from tflex.query.published import STRUCTURES
from tflex.reasoning.fuzzy import FuzzyReasoner, LinkPredictions, World
from tflex.sampling.sampler import Queries, SamplingSettings, Sources, StructureSampler, Supply

WANTED = {50: 20.0, 95: 150.0}
"""Milliseconds by percentile over the queries of all structures."""
WARM = 2


def fresh(graph: TemporalGraph) -> FuzzyReasoner:
    """A reasoner with untrained weights."""
    counts = graph.entity_count, graph.relation_count, graph.time_count
    predictor = LinkPredictor(counts, LinkSettings(), torch.Generator().manual_seed(0))
    view = graph.view(Level.valid)
    return FuzzyReasoner(World(view, LinkPredictions(predictor, view)))


def milliseconds(ask: Callable[[Any], Any], given: list[Any]) -> np.ndarray:
    """Of each one after the first few."""
    found = []
    for one in given:
        started = time.perf_counter()
        ask(one)
        found.append(1000 * (time.perf_counter() - started))
    return np.array(found[WARM:])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    default = os.environ.get("TFLEX_DATA", Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--data", type=Path, default=Path(default))
    parser.add_argument("--queries", type=int, default=20, help="of each structure")
    parser.add_argument("--run", type=Path, help="a run of `tflex train --preset fuzzy`")
    options = parser.parse_args()
    torch.set_num_threads(1)
    graph = import_facts([options.data / "icews14"], name="ICEWS14")
    view = graph.view(Level.valid)
    reasoner = fresh(graph) if options.run is None else fuzzy_reasoner(Run.open(options.run))(view)
    sources, engine = Sources(graph), Engine(view)
    table = Table(title="Fuzzy reasoning on ICEWS14, one thread, caches cold: milliseconds a query")
    for column in ("structure", "p50", "p95", "exact p50"):
        table.add_column(column, justify="left" if column == "structure" else "right")
    every: list[np.ndarray] = []
    structures: dict[str, dict[str, float]] = {}
    for structure in STRUCTURES:
        wanted = options.queries + WARM
        sampler = StructureSampler(sources, structure, SamplingSettings(seed=7))
        parts = list(sampler.batches(Level.test, wanted, Supply(wanted)))
        anchors = Queries.joined(parts).anchors
        rows = [anchors[row : row + 1] for row in range(len(anchors))]
        fuzzy = milliseconds(lambda row, name=structure.name: reasoner.scores(name, row), rows)
        prepared = [engine.prepare(structure(*row)) for row in anchors.tolist()]
        exact = milliseconds(lambda one: one(), prepared)
        every.append(fuzzy)
        one = structures[structure.name] = {
            "p50": float(np.median(fuzzy)), "p95": float(np.percentile(fuzzy, 95)),
            "exact_p50": float(np.median(exact)),
        }  # fmt: skip
        table.add_row(structure.name, f"{one['p50']:.1f}", f"{one['p95']:.1f}",
                      f"{one['exact_p50']:.3f}")  # fmt: skip
    overall = {f"p{part}": float(np.percentile(np.concatenate(every), part)) for part in WANTED}
    table.add_section()
    table.add_row("all", f"{overall['p50']:.1f}", f"{overall['p95']:.1f}", "")
    table.add_row("goal", *(f"{goal:.0f}" for goal in WANTED.values()), "")
    console = Console()
    console.print(table)
    console.print(f"settings {reasoner.settings}; load of the machine {os.getloadavg()[0]:.1f}")
    print(json.dumps({
        "benchmark": "fuzzy", "run": None if options.run is None else str(options.run),
        "milliseconds": overall, "load": os.getloadavg()[0], "structures": structures,
    }))  # fmt: skip


if __name__ == "__main__":
    main()
