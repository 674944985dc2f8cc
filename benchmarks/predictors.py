"""Link prediction: rows a second of (s, r, t) and of (s, r, o), features included, caches cold.

    python benchmarks/predictors.py [--data ../shared/data] [--rows 4000] [--run RUN] [--threads N]

The held-out facts of ICEWS14's test split, both ways, each asked once, of a link predictor with the
settings of the preset `links`: its speed does not depend on what its weights are, so they are fresh
ones unless a trained run is given. Nothing is asked twice and nothing is kept between rows; only
the compiled kernels have been loaded by other rows before. Sorting the facts of the view, which
happens once, is shown on its own. The references, measured in the same run on the same rows: the
factorisation alone with its softmax over all entities, and the expected number of further facts
alone. Wall-clock time. Prints one table and one JSON line.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from tflex.evaluation.links import link_questions
from tflex.experiment.links import link_predictor
from tflex.experiment.run import Run
from tflex.graph.facts import Level
from tflex.graph.ingest import import_facts
from tflex.models.predictors.links import LinkPredictor, LinkSettings

WANTED_RATE = 2000
WANTED_BYTES = 4 * 10**9
WARM = 64


def seconds(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    default = os.environ.get("TFLEX_DATA", Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--data", type=Path, default=Path(default))
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--run", type=Path, help="a run of `tflex train --preset links`")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    graph = import_facts([options.data / "icews14"], name="ICEWS14")
    if options.run is None:
        counts = graph.entity_count, graph.relation_count, graph.time_count
        predictor = LinkPredictor(counts, LinkSettings(), torch.Generator().manual_seed(0))
    else:
        predictor = link_predictor(Run.open(options.run))
    view = graph.view(Level.valid)
    questions = link_questions(graph, Level.test, limit=WARM + options.rows // 2)
    # Both ways of the first facts load the kernels; the rest is measured.
    facts, ways = questions.facts, questions.objects
    warm = ways[:WARM]
    asked = torch.from_numpy(ways[WARM:facts]), torch.from_numpy(ways[facts + WARM :])
    rows = torch.cat(asked).numpy()
    moments = questions.times[WARM:]
    sorting = seconds(lambda: predictor.context(view))
    embedding = predictor.embedding
    works: dict[str, tuple[int, Callable[[Any], Any], Any]] = {
        "P(o | s, r, t)": (
            len(rows), lambda some: predictor.objects(view, *some.T, known=False), rows
        ),
        "P(t | s, r, o)": (
            len(moments), lambda some: predictor.times(view, *some.T, known=False), moments
        ),
        "expected further objects alone": (
            len(rows), lambda some: predictor.expected_objects(view, *some.T), rows
        ),
    }  # fmt: skip
    if embedding is not None:
        works["factorisation alone"] = (
            len(rows),
            lambda some: [
                embedding.object_scores(*some[at : at + 256].T).log_softmax(1)
                for at in range(0, len(some), 256)
            ],
            rows,
        )
    rates = {}
    for name, (count, work, given) in works.items():
        work(questions.times[:WARM] if name.startswith("P(t") else warm)
        rates[name] = count / seconds(lambda work=work, given=given: work(given))  # type: ignore[misc]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    table = Table(title=f"Link prediction on ICEWS14, threads: {options.threads}")
    table.add_column("")
    table.add_column("rows", justify="right")
    table.add_column("rows/s", justify="right")
    for name, rate in rates.items():
        table.add_row(name, f"{works[name][0]:,}", f"{rate:,.0f}")
    console = Console()
    console.print(table)
    console.print(
        f"goal for P(o | s, r, t): {WANTED_RATE:,}; sorting the facts once: {sorting:.2f} s; peak "
        f"memory {peak / 1e9:.2f} GB (goal {WANTED_BYTES / 1e9:.0f}); load of the machine "
        f"{os.getloadavg()[0]:.1f}"
    )
    print(json.dumps({
        "benchmark": "predictors", "threads": options.threads, "rows_per_second": rates,
        "context_seconds": sorting, "peak_memory_bytes": peak, "load": os.getloadavg()[0],
    }))  # fmt: skip


if __name__ == "__main__":
    main()
