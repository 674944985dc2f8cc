"""How many queries to draw: the paper's counts, as they are or scaled to a graph."""

from __future__ import annotations

from collections.abc import Iterable

from tflex.graph.facts import Level
from tflex.graph.temporal_graph import TemporalGraph
from tflex.query.paper import query_counts
from tflex.query.structures import Structure

Counts = dict[str, dict[Level, int]]
"""How many queries are wanted of each structure and split."""

DATASETS = {
    (7_128, 230, 365): "ICEWS14",
    (10_488, 251, 4_017): "ICEWS05-15",
    (500, 20, 366): "GDELT-500",
}
"""The paper's datasets by their numbers of entities, relations and timestamps."""

YARDSTICK = "ICEWS14"
YARDSTICK_FACTS = {Level.train: 72_826, Level.valid: 8_941, Level.test: 8_963}

SAME_AS_OTHERS = "Pe2"
"""The structure whose counts a structure that is not the paper's gets."""


def paper_dataset(graph: TemporalGraph) -> str | None:
    """The paper's dataset that a graph has the size of."""
    return DATASETS.get((graph.entity_count, graph.relation_count, graph.time_count))


def paper_counts(graph: TemporalGraph, structures: Iterable[Structure],
                 levels: Iterable[Level] = Level) -> Counts:  # fmt: skip
    """The counts of the paper's table; for a graph of another size, ICEWS14's to scale."""
    dataset = paper_dataset(graph)
    counts: Counts = {structure.name: {} for structure in structures}
    for level in levels:
        table = query_counts(dataset or YARDSTICK, level.name)
        share = 1.0 if dataset else graph.counts[level.name] / YARDSTICK_FACTS[level]
        for name, wanted in counts.items():
            known = name if any(name in query_counts(YARDSTICK, one.name) for one in Level) else ""
            count = table.get(known or SAME_AS_OTHERS, 0)
            # A split of few facts still gets a query of each structure that the table has.
            wanted[level] = max(round(count * share), 1) if count and share else 0
    return counts


def equal_counts(count: int, structures: Iterable[Structure],
                 levels: Iterable[Level] = Level) -> Counts:  # fmt: skip
    """The same number everywhere."""
    return {structure.name: dict.fromkeys(levels, count) for structure in structures}
