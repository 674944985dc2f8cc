"""Sampling: accepted queries a second on one core, beside plain forward rejection sampling.

    python benchmarks/sampling.py [--data ../shared/data] [--paper] [--workers 2]

For each of the 40 structures on ICEWS14, training and test queries: how many distinct ones a second
are drawn until there are enough or no more, and how many when anchors are drawn uniformly at
random, answered by the same engine and accepted by the same filter (for a bounded time). With
`--paper`, the whole set of the paper's size is drawn into a temporary folder and timed as well.
Prints one table and one JSON line.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from tflex.graph.facts import Level
from tflex.graph.ingest import import_facts
from tflex.graph.temporal_graph import TemporalGraph
from tflex.query.algebra import Sort
from tflex.query.published import STRUCTURES
from tflex.query.structures import Structure
from tflex.sampling.counts import paper_counts
from tflex.sampling.dataset import sample_dataset
from tflex.sampling.keys import KeySet
from tflex.sampling.sampler import SamplingSettings, Sources, StructureSampler, Supply

WANTED = {Level.train: 200_000, Level.test: 50_000}
LONGEST = 2.0
"""Seconds after which a structure has been measured enough."""
FORWARD_SECONDS = 0.4
FORWARD_BLOCK = 4096
FLOORS = {Level.train: 20_000, Level.test: 5_000}
GOALS = {Level.train: 100_000, Level.test: 20_000}


class Rate(NamedTuple):
    found: int
    seconds: float
    exhausted: bool

    @property
    def per_second(self) -> float:
        """At least one query is assumed, so that none found gives an upper bound."""
        return max(self.found, 1) / self.seconds


def backward(sources: Sources, structure: Structure, level: Level) -> Rate:
    """Accepted queries until the last that was found."""
    warm_up(sources, structure, level)
    sampler = StructureSampler(sources, structure, SamplingSettings(seed=1))
    supply = Supply(WANTED[level])
    found, start = 0, time.perf_counter()
    seconds = LONGEST
    for queries in sampler.batches(level, supply.wanted, supply):
        found += len(queries)
        seconds = time.perf_counter() - start
        if seconds > LONGEST:
            break
    return Rate(found, seconds, supply.exhausted)


def warm_up(sources: Sources, structure: Structure, level: Level) -> None:
    """Load the kernels and touch the pools."""
    sampler = StructureSampler(sources, structure, SamplingSettings(seed=2))
    for _ in sampler.batches(level, 300, Supply(300)):
        pass


def forward(sources: Sources, structure: Structure, level: Level) -> Rate:
    """Uniform anchors, answered in batches, through the sampler's own filter."""
    graph, generator = sources.graph, np.random.default_rng(1)
    sampler = StructureSampler(sources, structure, SamplingSettings(seed=1))
    sizes = {
        Sort.ENTITY: graph.entity_count,
        Sort.RELATION: 2 * graph.relation_count,
        Sort.TIME: graph.time_count,
    }
    bounds = [sizes[slot.sort] for slot in structure.parameters]
    taken, found, start = KeySet(), 0, time.perf_counter()
    while (seconds := time.perf_counter() - start) < FORWARD_SECONDS:
        anchors = generator.integers(0, bounds, (FORWARD_BLOCK, len(bounds))).astype(np.int32)
        _, repeats = sampler.keyed.keys(anchors)
        queries = sampler.answered(level, anchors[~repeats])
        found += int(taken.add(sampler.keyed.keys(queries.anchors)[0]).sum())
    return Rate(found, seconds, False)


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def paper_seconds(graph: TemporalGraph, workers: int) -> float:
    """Draw and write the whole set, processes and their start included."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        counts = paper_counts(graph, STRUCTURES)
        settings = SamplingSettings(seed=1)
        sample_dataset(
            graph, Path(folder) / "queries", STRUCTURES, counts, settings, workers=workers
        )
        return time.perf_counter() - start


def measure(graph: TemporalGraph) -> dict[str, dict[str, dict[str, float | int | bool]]]:
    sources = Sources(graph)
    rows: dict[str, dict[str, dict[str, float | int | bool]]] = {}
    for structure in STRUCTURES:
        for level in WANTED:
            ours, theirs = (draw(sources, structure, level) for draw in (backward, forward))
            rows.setdefault(structure.name, {})[level.name] = {
                "per_second": round(ours.per_second),
                "found": ours.found,
                "exhausted": ours.exhausted,
                "forward_per_second": round(theirs.per_second, 1),
                "forward_found": theirs.found,
            }
    return rows


def show(rows: dict[str, dict[str, dict[str, float | int | bool]]], means: dict) -> None:
    table = Table("structure", title="Accepted queries a second on one core, ICEWS14")
    for level in WANTED:
        for column in (level.name, "forward", "distinct"):
            table.add_column(column, justify="right")
    for name, row in rows.items():
        cells = []
        for level in WANTED:
            one = row[level.name]
            bound = "" if one["forward_found"] else "< "
            distinct = f"{one['found']:,}" if one["exhausted"] else f"> {one['found']:,}"
            cells += [f"{one['per_second']:,}", f"{bound}{one['forward_per_second']:,}", distinct]
        table.add_row(name, *cells)
    cells = []
    for level in WANTED:
        mean = means[level.name]
        cells += [f"{mean['per_second']:,}", f"{mean['forward_per_second']:,}", ""]
    table.add_row("geometric mean", *cells)
    Console(width=110).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--data", type=Path, default=Path(os.environ.get("TFLEX_DATA", "../shared/data"))
    )
    parser.add_argument("--paper", action="store_true", help="time the paper-sized set as well")
    parser.add_argument("--workers", type=int, default=2, help="processes for --paper")
    options = parser.parse_args()
    graph = import_facts([options.data / "icews14"], name="ICEWS14")
    rows = measure(graph)
    means = {
        level.name: {
            key: round(geometric_mean([float(row[level.name][key]) for row in rows.values()]), 1)
            for key in ("per_second", "forward_per_second")
        }
        for level in WANTED
    }
    show(rows, means)
    result = {"benchmark": "sampling", "graph": graph.name, "structures": rows,
              "geometric_means": means}  # fmt: skip
    for level in WANTED:
        rates = {name: row[level.name]["per_second"] for name, row in rows.items()}
        slowest = min(rates, key=lambda name: rates[name])
        met = rates[slowest] >= FLOORS[level] and means[level.name]["per_second"] >= GOALS[level]
        result[level.name] = {"slowest": slowest, "per_second": rates[slowest], "goals_met": met}
        print(
            f"{level.name}: slowest {slowest} with {rates[slowest]:,}/s (goal {FLOORS[level]:,}), "
            f"mean goal {GOALS[level]:,}: {'met' if met else 'missed'}"
        )
    if options.paper:
        seconds = paper_seconds(graph, options.workers)
        result["paper_set"] = {"seconds": round(seconds, 1), "workers": options.workers}
        print(f"the paper-sized set with {options.workers} workers: {seconds:.1f} s (goal 60 s)")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
