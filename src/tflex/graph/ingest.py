"""From files of facts to a graph: names and times become ids, partial dates intervals.

What is done to the facts, in this order:

- A line that is no fact is an error that names file, line and value, or is left out and counted.
- A date that is coarser than the graph's unit widens to all it may mean: the start of a fact to its
  first unit, the end to its last. A time finer than the unit is cut.
- A fact whose (widened) start lies after its (widened) end is dropped and counted: no reading of
  its dates makes it hold at any time.
- An unknown bound of an interval is open: the first or last timestamp of the graph.
- A fact given twice stays once, in its first split; the others are counted.

Where points are widened the graph is one of intervals.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tflex.errors import DataError
from tflex.graph.columns import parse_columns
from tflex.graph.facts import Facts
from tflex.graph.sources import collect
from tflex.graph.temporal_graph import TemporalGraph
from tflex.graph.timeline import Timeline, TimeUnit
from tflex.graph.vocab import Vocabulary

Progress = Callable[[str, float], None]
"""Called with what is being done and the fraction of the whole that is done."""

Split = tuple[float, float, float]


@dataclass
class Imported:
    """What an import read; `graph` builds the graph and leaves the facts to it alone."""

    facts: list[Facts]
    entities: Vocabulary
    relations: Vocabulary
    timeline: Timeline
    dropped: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)

    def graph(
        self, name: str, split: Split | None, generator: np.random.Generator
    ) -> TemporalGraph:
        kept = len(self.facts[0])
        if self.dropped.total() > kept:
            self.notes["kept, fewer than dropped (are the columns the right ones?)"] = kept
        # Popped, because a large import has no memory for the facts beside the index.
        return TemporalGraph.from_facts(
            self.facts.pop(), self.entities, self.relations, self.timeline, name,
            dict(self.dropped), dict(self.notes), split, generator,
        )  # fmt: skip


def import_facts(
    paths: Iterable[str | Path] | str | Path,
    *,
    columns: Mapping[str, str] | str | None = None,
    header: bool | None = None,
    split: Split = (0.8, 0.1, 0.1),
    seed: int = 0,
    unit: TimeUnit | None = None,
    skip_bad: bool = False,
    ids: bool = False,
    name: str | None = None,
    progress: Progress | None = None,
) -> TemporalGraph:
    """Read TSV, CSV, Parquet or JSON Lines files, or folders of them, into a graph.

    Files named train, valid and test keep their split; otherwise the facts are split at random.
    Names stand in sorted order, or in that of `entities.txt`, `relations.txt`, `timestamps.txt`
    where these are given. With `ids`, the columns of Parquet files hold ids already.
    """
    every = [paths] if isinstance(paths, str | Path) else list(paths)
    mapping = parse_columns(columns) if isinstance(columns, str) else dict(columns or {})
    if len(split) != 3 or min(split) < 0 or abs(sum(split) - 1) > 1e-6:
        raise DataError(f"the split {split} is not three shares that sum to 1")
    sources, lists = collect(every)
    progress = progress or (lambda what, fraction: None)
    name = name or Path(every[0]).resolve().name.split(".")[0] or "graph"
    if ids:
        from tflex.graph.ingest_ids import import_ids

        read = import_ids(sources, lists, mapping, skip_bad, progress)
    else:
        from tflex.graph.ingest_names import import_names

        read = import_names(sources, lists, mapping, header, unit, skip_bad, progress)
    progress("sorting", 0.6)
    kept = sources[0].level is not None
    graph = read.graph(name, None if kept else split, np.random.default_rng(seed))
    progress("done", 1.0)
    return graph
