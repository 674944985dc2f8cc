"""A hundred million facts: Parquet of ids in, dataset with indexes out, and opened again.

    python benchmarks/large.py                    # 100 M facts; 12 GB of disk, 8 GB of memory
    python benchmarks/large.py --facts 1000000    # a try

Prints a table and one line of JSON. The facts are skewed: entities, relations and days follow power
laws, and half of the facts say again, at another time, what was said before. Import and reopening
run in processes of their own, so that each has its own peak memory.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
from numpy.random import Generator
from numpy.typing import NDArray

ENTITIES, RELATIONS, TIMESTAMPS = 1_000_000, 500, 4_096
QUERIES = 2_000
CHUNK = 1 << 20


def skewed(generator: Generator, size: int, count: int, power: float) -> NDArray[np.int32]:
    """Ids in 0 … count-1 with a density that falls like id^-power (power < 1)."""
    drawn = generator.random(size) ** (1 / (1 - power))
    return np.minimum((drawn * count).astype(np.int32), count - 1)


def draw_triples(generator: Generator, size: int) -> list[NDArray[np.int32]]:
    counts = ((ENTITIES, 0.6), (RELATIONS, 0.7), (ENTITIES, 0.6))
    return [skewed(generator, size, count, power) for count, power in counts]


def write_facts(path: Path, facts: int, seed: int) -> None:
    """Facts in random order, chunk by chunk, so that a small machine can write them."""
    generator = np.random.default_rng(seed)
    known = draw_triples(generator, min(facts, 2 * ENTITIES))
    fields = [(name, pyarrow.int32()) for name in ("subject", "relation", "object", "time")]
    with pyarrow.parquet.ParquetWriter(path, pyarrow.schema(fields), compression="zstd") as file:
        for at in range(0, facts, CHUNK):
            size = min(CHUNK, facts - at)
            again = generator.random(size) < 0.5
            which = skewed(generator, size, len(known[0]), 0.3)
            new = draw_triples(generator, size)
            columns = [
                np.where(again, old[which], fresh) for old, fresh in zip(known, new, strict=True)
            ]
            columns.append(skewed(generator, size, TIMESTAMPS, 0.2))
            file.write_table(pyarrow.table(columns, schema=file.schema), CHUNK)


def import_step(folder: Path) -> dict[str, Any]:
    from tflex.graph.ingest import import_facts

    seconds: dict[str, float] = {}
    graph = timed(seconds, "read, sort and index",
                  lambda: import_facts(folder / "facts.parquet", ids=True))  # fmt: skip
    timed(seconds, "save", lambda: graph.save(folder / "dataset"))
    return {"seconds": seconds, "facts": sum(graph.counts.values()), "dropped": graph.dropped,
            "segments": len(graph.index.segment_subject)}  # fmt: skip


def reopen_step(folder: Path) -> dict[str, Any]:
    from tflex.graph.temporal_graph import TemporalGraph

    seconds: dict[str, float] = {}
    graph = timed(seconds, "reopen", lambda: TemporalGraph.open(folder / "dataset"))
    timed(seconds, "manifest", graph.manifest)
    return {"seconds": seconds, "facts": sum(graph.counts.values())}


def query_step(folder: Path) -> dict[str, Any]:
    """p50 of a prepared Pe2, in microseconds, each asked once; anchors are of random facts."""
    from tflex.exact.engine import Engine
    from tflex.graph.temporal_graph import TemporalGraph
    from tflex.query.published import STRUCTURES

    graph = TemporalGraph.open(folder / "dataset")
    index, random = graph.index, np.random.default_rng(0)
    engine, pe2 = Engine(graph.view("test")), STRUCTURES["Pe2"]
    microseconds, answers = [], []
    while len(microseconds) < QUERIES:
        first = int(random.integers(len(index.segment_subject)))
        row = int(index.segment_pointer[first])
        middle = int(index.time_object[row])
        segments = index.subject_pointer[middle : middle + 2]
        second = int(random.integers(segments[0], segments[1]))
        later = int(random.integers(*index.segment_pointer[second : second + 2]))
        query = pe2(
            int(index.segment_subject[first]), int(index.segment_relation[first]),
            int(index.time_start[row]), int(index.segment_relation[second]),
            int(index.time_start[later]),
        )  # fmt: skip
        prepared = engine.prepare(query)
        start = time.perf_counter()
        answers.append(len(prepared()))
        microseconds.append(1e6 * (time.perf_counter() - start))
    # The first call compiles or loads the kernels.
    p50, p95 = np.percentile(microseconds[1:], [50, 95])
    return {"seconds": {}, "p50": float(p50), "p95": float(p95), "answers": float(np.mean(answers))}


STEPS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "import": import_step,
    "reopen": reopen_step,
    "query": query_step,
}


def timed(seconds: dict[str, float], what: str, work: Callable[[], Any]) -> Any:
    start = time.perf_counter()
    result = work()
    seconds[what] = time.perf_counter() - start
    return result


def run_step(name: str, folder: Path) -> dict[str, Any]:
    """A step in a process of its own: its result, its whole time and its peak memory."""
    start = time.perf_counter()
    command = [sys.executable, __file__, "--step", name, "--folder", str(folder)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    whole = time.perf_counter() - start
    return {**json.loads(done.stdout.splitlines()[-1]), "whole": whole}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--facts", type=int, default=100_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=Path("scratch/large"))
    parser.add_argument("--keep", action="store_true", help="keep the dataset")
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        result = STEPS[options.step](options.folder)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(json.dumps({**result, "peak_bytes": peak}))
        return
    shutil.rmtree(options.folder, ignore_errors=True)
    options.folder.mkdir(parents=True)
    try:
        report(options)
    finally:
        if not options.keep:
            shutil.rmtree(options.folder, ignore_errors=True)


def report(options: argparse.Namespace) -> None:
    seconds: dict[str, float] = {}
    facts = options.folder / "facts.parquet"
    timed(seconds, "write", lambda: write_facts(facts, options.facts, options.seed))
    imported, reopened, queried = (run_step(name, options.folder) for name in STEPS)
    files = [file for file in (options.folder / "dataset").rglob("*") if file.is_file()]
    sizes = {
        "parquet_in": facts.stat().st_size,
        "index": sum(file.stat().st_size for file in files if file.parent.name == "index"),
        "dataset": sum(file.stat().st_size for file in files),
    }
    rows = [
        ("facts kept", f"{imported['facts']:,}", ""),
        ("segments", f"{imported['segments']:,}", ""),
        ("Parquet in", gigabytes(sizes["parquet_in"]), ""),
        ("import: read, sort, index", f"{imported['seconds']['read, sort and index']:.1f} s", ""),
        ("import: save", f"{imported['seconds']['save']:.1f} s", ""),
        ("import: whole process", f"{imported['whole']:.1f} s", "≤ 300 s"),
        ("import: peak memory", gigabytes(imported["peak_bytes"]), "≤ 8 GB"),
        ("dataset on disk", gigabytes(sizes["dataset"]), ""),
        ("reopen", f"{reopened['seconds']['reopen']:.3f} s", ""),
        ("reopen: whole process", f"{reopened['whole']:.2f} s", "≤ 2 s"),
        ("Pe2 p50", f"{queried['p50']:.0f} µs", "≤ 100 µs"),
        ("Pe2 p95", f"{queried['p95']:.0f} µs", ""),
    ]
    for label, value, bound in rows:
        print(f"{label:<28}{value:>16}  {bound}")
    print(json.dumps({"facts": options.facts, "sizes": sizes, "import": imported,
                      "reopen": reopened, "query": queried}))  # fmt: skip


def gigabytes(size: int) -> str:
    return f"{size / 1e9:.2f} GB"


if __name__ == "__main__":
    main()
