"""Query datasets on disk: `queries/<split>/<structure>.parquet` and a manifest.

`sample_dataset` draws them, `join_shards` puts parts together, `QueryDataset` reads them. A
structure is the unit of work: its files are replaced, and then its record is written, in one step
each, so a run that is killed loses only the structures that it was drawing.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tflex.errors import DataError, QueryError
from tflex.graph.facts import Level
from tflex.graph.temporal_graph import TemporalGraph, complete_folder
from tflex.query.structures import Structure
from tflex.query.text import print_structure
from tflex.sampling.counts import Counts
from tflex.sampling.grounding import Outline
from tflex.sampling.manifest import FILE, Manifest, SplitRecord, StructureRecord, in_order
from tflex.sampling.query_files import read_batches, read_queries
from tflex.sampling.sampler import Queries, SamplingSettings
from tflex.sampling.workers import UNFINISHED, Done, Task, Work, file_of

FOLDER = "queries"
"""Where in a dataset folder its queries are."""

Progress = Callable[[str, float], None]
"""Called with what is being done and the fraction of it that is done."""


@dataclass(frozen=True)
class QueryDataset:
    """The queries in a folder."""

    folder: Path
    manifest: Manifest
    graph: TemporalGraph | None = None
    """What the ids are ids of, where it is known."""

    @classmethod
    def open(cls, folder: str | Path, graph: TemporalGraph | None = None) -> QueryDataset:
        """Open a folder of queries, or of a dataset that holds one; of this graph, if one is given.

        A folder whose sampling was interrupted is refused.
        """
        folder = Path(folder)
        if not (folder / FILE).is_file() and (folder / FOLDER).is_dir():
            folder = folder / FOLDER
        manifest = Manifest.open(folder)
        if manifest.unfinished:
            raise DataError(
                f"{folder} is unfinished ({len(manifest.unfinished)} structures are missing, "
                f"{manifest.unfinished[0]} first); run the same `tflex queries sample` again"
            )
        if graph is not None and graph.content_hash != manifest.graph_hash:
            raise DataError(f"{folder} holds queries of another graph than {graph.name}")
        return cls(folder, manifest, graph)

    def structures(self) -> list[Structure]:
        """The paper's in its order, then others by name; read from the manifest alone."""
        return in_order(record.structure for record in self.manifest.records.values())

    def splits(self, structure: str) -> dict[Level, SplitRecord]:
        """The splits of a structure, with their counts."""
        return self._record(structure).splits

    def load(
        self, structure: str, split: str | Level, columns: Sequence[str] | None = None
    ) -> Queries:
        """The queries of a structure and split, all in memory; what `columns` lacks is empty."""
        return read_queries(*self._file(structure, split), columns, self.graph)

    def batches(
        self, structure: str, split: str | Level, columns: Sequence[str] | None = None
    ) -> Iterator[Queries]:
        """The same, some ten thousand queries at a time."""
        return read_batches(*self._file(structure, split), columns, self.graph)

    def _file(self, structure: str, split: str | Level) -> tuple[Path, Structure]:
        level = Level[split] if isinstance(split, str) else split
        record = self._record(structure)
        if level not in record.splits:
            raise DataError(f"{self.folder} holds no {level.name} queries of {structure}")
        return file_of(self.folder, level, record.structure.name), record.structure

    def _record(self, name: str) -> StructureRecord:
        for record in self.manifest.records.values():
            if name in (record.structure.name, *record.structure.aliases):
                return record
        held = ", ".join(self.manifest.records)
        raise DataError(f"{self.folder} holds no queries of {name}; it holds {held}")


def sample_dataset(
    graph: TemporalGraph,
    folder: str | Path,
    structures: Iterable[Structure],
    counts: Counts,
    settings: SamplingSettings | None = None,
    *,
    workers: int = 1,
    shard: tuple[int, int] | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> QueryDataset:
    """Draw queries into a folder; what is there already and was asked for alike is kept.

    The result depends on the graph, structures, counts and settings alone, not on workers, shards
    or interruptions. Splits of a structure are drawn in the order test, valid, train, each without
    the queries of those before it and of those in place. `shard=(2, 4)` draws every fourth
    structure from the second on.
    """
    folder, settings = Path(folder), settings or SamplingSettings()
    listed = _checked(structures)
    number, parts = shard or (1, 1)
    dealt = in_order(listed)[number - 1 :: parts]
    with alone_in(folder):
        manifest = Manifest(graph.content_hash, "sampled", settings, shard)
        manifest = compatible(folder, manifest, overwrite)
        tasks = [task for one in dealt if (task := _task(folder, manifest, one, counts[one.name]))]
        manifest.unfinished = [task.structure.name for task in tasks]
        manifest.save(folder)
        for left_over in folder.rglob(f"*{UNFINISHED}"):
            left_over.unlink()
        _draw(Work(graph, folder, settings, tasks, workers, _counter(tasks, progress)), manifest)
    return QueryDataset(folder, manifest, graph)


def _draw(work: Work, manifest: Manifest) -> None:
    structures = {task.structure.name: task.structure for task in work.tasks}

    def finish(done: Done) -> None:
        record = manifest.records.setdefault(done.name, StructureRecord(structures[done.name]))
        record.splits.update(done.splits)
        manifest.unfinished.remove(done.name)
        manifest.save(work.folder)

    work.run(finish)


def _counter(tasks: list[Task], progress: Progress | None) -> Callable[[str, int], None]:
    total = max(sum(sum(task.wanted.values()) for task in tasks), 1)
    done = 0

    def report(what: str, count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(what, done / total)

    return report


def _checked(structures: Iterable[Structure]) -> list[Structure]:
    """Structures that can be grounded and whose names can name files, each once."""
    listed = list(structures)
    names = [one.name for one in listed]
    for one in listed:
        if not one.name.isidentifier():
            raise QueryError(f'"{one.name}" cannot name a file of queries; use letters and digits')
        if names.count(one.name) > 1:
            raise QueryError(f"two structures are named {one.name}")
        Outline.of(one)
    return listed


def _task(folder: Path, manifest: Manifest, structure: Structure,
          wanted: dict[Level, int]) -> Task | None:  # fmt: skip
    """What is left to do for a structure; what is there must be what is wanted."""
    name = structure.name
    record = manifest.records.get(name, StructureRecord(structure))
    if record.definition != print_structure(structure):
        raise DataError(
            f"{folder} holds queries of another structure named {name}; --overwrite replaces them"
        )
    for level, split in record.splits.items():
        if wanted.get(level, split.wanted) != split.wanted:
            raise DataError(
                f"{folder}: {split.wanted:,} {level.name} queries of {name} were asked for "
                f"before, now {wanted[level]:,}; --overwrite replaces all queries there"
            )
    left = {level: count for level, count in wanted.items() if count and level not in record.splits}
    return Task(structure, left, tuple(record.splits)) if left else None


def compatible(folder: Path, manifest: Manifest, overwrite: bool = False) -> Manifest:
    """The manifest that a folder has, or the given one for an empty one; an error if they clash."""
    if (folder / FILE).exists():
        if overwrite:
            (folder / FILE).unlink()
            for level in Level:
                shutil.rmtree(folder / level.name, ignore_errors=True)
            return manifest
        there = Manifest.open(folder)
        if differences := there.differences(manifest):
            raise DataError(
                f"{folder} holds queries of another make ({'; '.join(differences)}); "
                "--overwrite replaces them, --out makes others elsewhere"
            )
        return there
    if folder.exists() and any(one.name != f".{FILE}" for one in folder.iterdir()):
        raise DataError(f"{folder} holds other things than queries; choose another folder")
    return manifest


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Refuse a folder in which another process is writing."""
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DataError(f"another process is writing queries into {folder}") from None
        yield
    finally:
        os.close(handle)


def join_shards(
    folder: str | Path, shards: Sequence[str | Path], overwrite: bool = False
) -> QueryDataset:
    """Put all shards of a dataset together; the result is what one run would have drawn."""
    opened = [QueryDataset.open(shard) for shard in shards]
    if not opened:
        raise DataError("no shards to join")
    first = opened[0].manifest
    joined = Manifest(first.graph_hash, first.origin, first.settings)
    seen = set()
    for one in opened:
        alone = Manifest(one.manifest.graph_hash, one.manifest.origin, one.manifest.settings)
        if one.manifest.shard is None:
            raise DataError(f"{one.folder} is no shard, but a dataset of its own")
        if differences := alone.differences(joined):
            raise DataError(f"{one.folder} does not go with the others: {'; '.join(differences)}")
        seen.add(one.manifest.shard)
        if twice := joined.records.keys() & one.manifest.records.keys():
            raise DataError(f"{one.folder} holds {min(twice)}, which another shard holds too")
        joined.records.update(one.manifest.records)
    count = first.shard[1] if first.shard else 1
    if missing := {(number, count) for number in range(1, count + 1)} - seen:
        listed = ", ".join("{}/{}".format(*one) for one in sorted(missing))
        raise DataError(f"shards are missing: {listed}")
    folder = Path(folder)
    with complete_folder(folder, overwrite and (folder / FILE).exists()) as draft:
        for one in opened:
            _copy(one, draft)
        joined.save(draft)
    return QueryDataset(folder, joined)


def _copy(queries: QueryDataset, draft: Path) -> None:
    for name, record in queries.manifest.records.items():
        for level in record.splits:
            target = file_of(draft, level, name)
            target.parent.mkdir(exist_ok=True)
            shutil.copyfile(file_of(queries.folder, level, name), target)
