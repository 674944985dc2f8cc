"""Exact answers: the batch engine beside a dictionary baseline, and the latency of one query.

    python benchmarks/exact.py [--graphs icews14,icews05-15,gdelt-500] [--data ../shared/data]

For each graph and each of the 40 structures: queries a second of the batch engine and of a good
dictionary implementation (dicts (s,r,t)→objects and (s,r,o)→times of Python sets, one straight-line
Python function a structure) on the same queries, on one thread (its own processor time, the best
of three); both give the same answers, which is checked. Then the p50 of one prepared query, and the
memory of index and dictionaries. ICEWS14 is read from --data (or TFLEX_DATA); the other two are
synthetic worlds of those datasets' sizes. Prints one table and one JSON line.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("NUMBA_NUM_THREADS", "1")

import numpy as np
from rich.console import Console
from rich.table import Table

from tflex.exact.engine import Engine
from tflex.graph.facts import Level
from tflex.graph.temporal_graph import TemporalGraph, View
from tflex.query.algebra import After, And, Before, Node, Not, Or, Pe, Pt, Slot, Sort, expand
from tflex.query.published import STRUCTURES
from tflex.query.structures import Structure
from tflex.sampling.sampler import SamplingSettings, Sources, StructureSampler, Supply

QUERIES = 20_000
"""Queries a structure for the engine; the baseline answers as many as it can in its time."""
BASELINE_SECONDS = 0.5
LATENCY = ("Pe2", "e2i", "t2i")
NOTHING: frozenset[int] = frozenset()


class Dictionaries:
    """(s,r,t)→objects and (s,r,o)→times as Python sets, and the operators on them."""

    def __init__(self, view: View) -> None:
        graph = view.graph
        self.objects: dict[tuple[int, int, int], set[int]] = {}
        self.times: dict[tuple[int, int, int], set[int]] = {}
        count = graph.relation_count
        columns = (column.tolist() for column in graph.facts.columns())
        for s, r, o, start, end, level in zip(*columns, strict=True):
            if level > view.level:
                continue
            for a, p, b in ((s, r, o), (o, r + count, s)):
                for t in range(start, end + 1):
                    self.objects.setdefault((a, p, t), set()).add(b)
                    self.times.setdefault((a, p, b), set()).add(t)
        self.all_entities = frozenset(range(graph.entity_count))
        self.all_times = frozenset(range(graph.time_count))
        self.time_count = graph.time_count

    def pe(self, source: Any, relation: int, when: Any) -> set[int]:
        found: set[int] = set()
        get = self.objects.get
        for s in source:
            for t in when:
                members = get((s, relation, t))
                if members is not None:
                    found |= members
        return found

    def pt(self, source: Any, relation: int, target: Any) -> set[int]:
        found: set[int] = set()
        get = self.times.get
        for s in source:
            for o in target:
                members = get((s, relation, o))
                if members is not None:
                    found |= members
        return found

    def after(self, times: Any) -> Any:
        return set(range(max(times) + 1, self.time_count)) if times else self.all_times

    def before(self, times: Any) -> Any:
        return set(range(min(times))) if times else self.all_times

    def function(self, structure: Structure) -> Callable[..., Any]:
        """A structure as one Python expression over these dictionaries."""
        names = ", ".join(slot.name for slot in structure.parameters)
        text = f"lambda {names}: {_expression(expand(structure.body))}"
        scope = {"objects": self.objects.get, "times": self.times.get, "pe": self.pe, "pt": self.pt,
                 "after": self.after, "before": self.before, "NOTHING": NOTHING,
                 "ENTITIES": self.all_entities, "TIMES": self.all_times}  # fmt: skip
        return eval(text, scope)  # the text is made of the 40 structures right above

    def nbytes(self) -> int:
        """Bytes of the dictionaries with their keys and sets."""
        total = 0
        for table in (self.objects, self.times):
            total += sys.getsizeof(table)
            for key, members in table.items():
                total += sys.getsizeof(key) + sys.getsizeof(members)
        return total


def _expression(node: Node) -> str:
    """The fastest plain Python for a node: single look-ups where anchors allow, `-` for Not."""
    if isinstance(node, Slot):
        return node.name if node.sort is Sort.RELATION else f"({node.name},)"
    if isinstance(node, Pe | Pt):
        a, relation, b = node.arguments
        single = isinstance(a, Slot) and isinstance(b, Slot)
        if single:
            table = "objects" if isinstance(node, Pe) else "times"
            return f"{table}(({a!r}, {relation!r}, {b!r}), NOTHING)"
        name = "pe" if isinstance(node, Pe) else "pt"
        return f"{name}({_expression(a)}, {relation!r}, {_expression(b)})"
    if isinstance(node, And):
        plain = [one for one in node.arguments if not isinstance(one, Not)]
        negated = [one.arguments[0] for one in node.arguments if isinstance(one, Not)]
        text = " & ".join(_expression(one) for one in plain)
        return f"({text}{''.join(f' - {_expression(one)}' for one in negated)})"
    if isinstance(node, Or):
        return "(" + " | ".join(_expression(one) for one in node.arguments) + ")"
    name = {After: "after", Before: "before"}[type(node)]  # type: ignore[index]
    return f"{name}({_expression(node.arguments[0])})"


def graphs(names: list[str], data: Path) -> Iterator[TemporalGraph]:
    for name in names:
        if name == "icews14":
            from tflex.graph.ingest import import_facts

            yield import_facts([data / "icews14"], name="ICEWS14")
        else:
            from tflex.graph.world import build_world

            yield build_world(name, 0)


def anchors_of(sources: Sources, structure: Structure) -> np.ndarray:
    sampler = StructureSampler(sources, structure, SamplingSettings(seed=7))
    found = [one.anchors for one in sampler.batches(Level.train, QUERIES, Supply(QUERIES))]
    return np.concatenate(found)


def best_time(run: Callable[[], Any], times: int = 3) -> float:
    best = float("inf")
    for _ in range(times):
        start = time.thread_time()
        run()
        best = min(best, time.thread_time() - start)
    return best


def measured(function: Callable[..., Any], rows: list) -> float:
    """About how many seconds the baseline needs for all queries."""
    sample = rows[:50]
    return best_time(lambda: [function(*row) for row in sample], 1) / len(sample) * len(rows)


def compare(engine: Engine, tables: Dictionaries, sources: Sources, structure: Structure) -> dict:
    """Both rates on the same queries, after checking that both give the same answers."""
    anchors = anchors_of(sources, structure)
    engine_seconds = best_time(lambda: engine.answer_batch(structure, anchors))
    found = engine.answer_batch(structure, anchors)
    function, rows = tables.function(structure), anchors.tolist()
    for row in range(0, len(rows), max(1, len(rows) // 200)):
        assert sorted(function(*rows[row])) == found[row].tolist(), structure.name
    few = rows[: max(50, int(len(rows) * min(1.0, BASELINE_SECONDS / measured(function, rows))))]
    seconds = best_time(lambda: [function(*row) for row in few])
    baseline = len(few) / seconds
    rate = len(anchors) / engine_seconds
    return {"engine": rate, "baseline": baseline, "ratio": rate / baseline}


def latency(engine: Engine, sources: Sources, structure: Structure) -> float:
    """p50 in microseconds of one prepared query, over 2,000 different queries."""
    seconds = []
    for row in anchors_of(sources, structure)[:2000].tolist():
        prepared = engine.prepare(structure(*row))
        prepared()
        start = time.perf_counter()
        prepared()
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds) * 1e6)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--graphs", default="icews14,icews05-15,gdelt-500")
    default = os.environ.get("TFLEX_DATA", Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--data", type=Path, default=Path(default))
    chosen = parser.parse_args()
    console = Console()
    report: dict[str, Any] = {"benchmark": "exact", "graphs": {}}
    names = chosen.graphs.split(",")
    table = Table(title="Exact answers, one thread: queries a second (engine, dictionaries, ratio)")
    table.add_column("structure")
    rows: dict[str, list[str]] = {structure.name: [] for structure in STRUCTURES}
    for graph in graphs(names, chosen.data):
        console.print(f"{graph.name}: {graph.counts}", style="dim")
        sources = Sources(graph)
        engine, tables = sources.engines[Level.train], Dictionaries(graph.view("train"))
        for column in (graph.name, "dicts", "ratio"):
            table.add_column(column, justify="right")
        found = {}
        for structure in STRUCTURES:
            one = found[structure.name] = compare(engine, tables, sources, structure)
            rows[structure.name] += [
                f"{one['engine']:,.0f}",
                f"{one['baseline']:,.0f}",
                f"{one['ratio']:.1f}",
            ]
        ratios = np.array([one["ratio"] for one in found.values()])
        report["graphs"][graph.name] = {
            "geometric_mean_ratio": float(np.exp(np.log(ratios).mean())),
            "smallest_ratio": float(ratios.min()),
            "index_bytes": graph.index.nbytes,
            "dictionary_bytes": tables.nbytes(),
            "p50_microseconds": {n: latency(engine, sources, STRUCTURES[n]) for n in LATENCY},
            "structures": found,
        }
    for name, cells in rows.items():
        table.add_row(name, *cells)
    table.add_section()
    for label, key in (("geometric mean", "geometric_mean_ratio"), ("smallest", "smallest_ratio")):
        values = [["", "", f"{one[key]:.1f}"] for one in report["graphs"].values()]
        table.add_row(label, *(cell for value in values for cell in value))
    memory = [
        [f"{one['index_bytes'] / 1e6:.0f} MB", f"{one['dictionary_bytes'] / 1e6:.0f} MB",
         f"{one['dictionary_bytes'] / one['index_bytes']:.0f}"]
        for one in report["graphs"].values()
    ]  # fmt: skip
    table.add_row("memory", *(cell for value in memory for cell in value))
    for name in LATENCY:
        values = [
            [f"{one['p50_microseconds'][name]:.1f} µs", "", ""] for one in report["graphs"].values()
        ]
        table.add_row(f"p50 {name}", *(cell for value in values for cell in value))
    Console(width=40 * len(names) + 20).print(table)
    report["peak_memory_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps(report))


if __name__ == "__main__":
    main()
