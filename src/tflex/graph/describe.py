"""What a graph holds, as plain data."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflex.graph.index import Index
from tflex.graph.temporal_graph import TemporalGraph

TIME_BINS = 12
TOP = 10
CHUNK = 1 << 22


def describe(graph: TemporalGraph) -> dict[str, Any]:
    """Counts, shapes and what the import dropped; ready for JSON."""
    size = sum(graph.counts.values())
    return {
        "name": graph.name,
        "entities": graph.entity_count,
        "relations": graph.relation_count,
        "timestamps": graph.time_count,
        "time_unit": graph.timeline.unit,
        "first_timestamp": graph.timeline[0] if graph.time_count else None,
        "last_timestamp": graph.timeline[graph.time_count - 1] if graph.time_count else None,
        "facts": dict(graph.counts),
        "facts_in_all": size,
        "degrees": _degrees(graph.index),
        "facts_over_time": _facts_over_time(graph),
        "top_relations": _top_relations(graph),
        "intervals": _intervals(graph),
        "dropped": dict(graph.dropped),
        "notes": dict(graph.notes),
        "content_hash": graph.content_hash,
    }


def _degrees(index: Index) -> dict[str, Any]:
    """Facts of each entity, as subject or object."""
    degree = np.diff(index.segment_pointer[index.subject_pointer])
    if not len(degree):
        return {"mean": 0.0, "median": 0.0, "maximum": 0, "histogram": []}
    return {
        "mean": float(degree.mean()),
        "median": float(np.median(degree)),
        "maximum": int(degree.max()),
        "histogram": doubling_histogram(degree, "entities"),
    }


def doubling_histogram(values: NDArray[np.int64], what: str) -> list[dict[str, int]]:
    """How many values are 0, 1, 2–3, 4–7, …"""
    edges = np.array([0, *(1 << bit for bit in range(int(values.max()).bit_length() + 1))])
    counts, _ = np.histogram(values, edges)
    return [
        {"from": int(low), "to": int(high) - 1, what: int(count)}
        for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True)
        if count
    ]


def _facts_over_time(graph: TemporalGraph) -> list[dict[str, Any]]:
    """For each of a few equal periods, the facts that hold at some time of it."""
    if not graph.time_count:
        return []
    starts = _times(graph.index.time_start, graph.time_count)
    ends = starts
    if not graph.index.is_points:
        ends = _times(graph.index.time_end, graph.time_count)
    begun, over = np.cumsum(starts), np.concatenate(([0], np.cumsum(ends)))
    edges = np.linspace(0, graph.time_count, min(TIME_BINS, graph.time_count) + 1).astype(int)
    return [
        {"from": graph.timeline[first], "to": graph.timeline[next - 1],
         "facts": int(begun[next - 1] - over[first])}
        for first, next in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
    ]  # fmt: skip


def _times(column: NDArray[np.int32], count: int) -> NDArray[np.int64]:
    """Facts of each timestamp; a column holds every fact twice, once for each direction."""
    total = np.zeros(count, np.int64)
    for at in range(0, len(column), CHUNK):
        total += np.bincount(column[at : at + CHUNK], minlength=count)
    return total // 2


def _top_relations(graph: TemporalGraph) -> list[dict[str, Any]]:
    index = graph.index
    rows = np.diff(index.segment_pointer)
    facts = np.zeros(2 * graph.relation_count, np.int64)
    for at in range(0, len(rows), CHUNK):
        part = slice(at, at + CHUNK)
        weights = rows[part].astype(np.float64)
        facts += np.bincount(index.segment_relation[part], weights, len(facts)).astype(np.int64)
    facts = facts[: graph.relation_count]
    order = np.argsort(-facts, kind="stable")[:TOP]
    return [{"relation": graph.relations[id], "facts": int(facts[id])} for id in order.tolist()]


def _intervals(graph: TemporalGraph) -> dict[str, Any] | None:
    """How many facts last longer than one timestamp, and how long; None for a graph of points."""
    index = graph.index
    if index.is_points:
        return None
    lengths = (index.time_end - index.time_start + 1).astype(np.int64)
    histogram = doubling_histogram(lengths, "facts")
    return {
        "facts": int(np.count_nonzero(lengths > 1)) // 2,
        "mean_length": float(lengths.mean()),
        "median_length": float(np.median(lengths)),
        "maximum_length": int(lengths.max()),
        "histogram": [{**bin, "facts": bin["facts"] // 2} for bin in histogram],
    }
