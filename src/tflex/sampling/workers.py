"""The work of sampling a dataset: a structure is the unit, done here or by a pool of processes."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing.connection import wait as wait_for
from pathlib import Path
from queue import Empty
from typing import Any

from tflex.errors import TflexError
from tflex.graph.facts import Level
from tflex.graph.temporal_graph import TemporalGraph
from tflex.query.structures import Structure
from tflex.sampling.costs import has_absence
from tflex.sampling.keys import Keyed, KeySet
from tflex.sampling.manifest import SplitRecord
from tflex.sampling.query_files import QueryWriter, read_batches
from tflex.sampling.sampler import Queries, SamplingSettings, Sources, StructureSampler, Supply

DRAWN = (Level.test, Level.valid, Level.train)
"""The order in which the splits of a structure are drawn; later ones avoid earlier ones."""

UNFINISHED = ".part"

Report = Callable[[str, int], None]
"""Called with what is being drawn and how many more of the wanted queries are dealt with."""


@dataclass(frozen=True)
class Task:
    """The splits of one structure that are to be drawn, and those that are there."""

    structure: Structure
    wanted: dict[Level, int]
    in_place: tuple[Level, ...] = ()


@dataclass(frozen=True)
class Done:
    name: str
    splits: dict[Level, SplitRecord]


class Stopped(Exception):
    """The work was called off."""


def file_of(folder: Path, level: Level, name: str) -> Path:
    return folder / level.name / f"{name}.parquet"


class Guard:
    """Refuses what must not get into the files of a structure: the promises, checked again."""

    def __init__(self, structure: Structure, relation_count: int) -> None:
        self.structure = structure
        self.keyed = Keyed(structure, relation_count)
        self.keys = KeySet()

    def admit(self, queries: Queries) -> None:
        keys, repeats = self.keyed.keys(queries.anchors)
        broken = {
            "a query that is in the dataset already": not self.keys.add(keys).all(),
            "a query with a repeated branch": repeats.any(),
            "a query without targets": (queries.targets.sizes() == 0).any(),
        }
        for what, found in broken.items():
            if found:
                raise RuntimeError(f"tflex was about to write {what}: {self.structure.name}")


def sample_structure(sources: Sources, folder: Path, settings: SamplingSettings, task: Task,
                     report: Report) -> Done:  # fmt: skip
    """Draw and write all wanted splits of a structure; its files appear when all are complete."""
    structure = task.structure
    guard = Guard(structure, sources.graph.relation_count)
    sampler = StructureSampler(sources, structure, settings)
    for level in task.in_place:
        for queries in read_batches(file_of(folder, level, structure.name), structure):
            keys = guard.keyed.keys(queries.anchors)[0]
            guard.keys.add(keys)
            sampler.taken.add(keys)
    splits: dict[Level, SplitRecord] = {}
    for level in DRAWN:
        if level in task.wanted:
            supply = Supply(task.wanted[level])
            path = file_of(folder, level, structure.name).with_suffix(UNFINISHED)
            path.parent.mkdir(parents=True, exist_ok=True)
            with QueryWriter(path, has_absence(structure)) as writer:
                for queries in sampler.batches(level, supply.wanted, supply):
                    guard.admit(queries)
                    writer.write(queries)
                    report(f"{structure.name}, {level.name}", len(queries))
            report(f"{structure.name}, {level.name}", supply.wanted - supply.found)
            splits[level] = SplitRecord.of(supply)
    for level in splits:
        path = file_of(folder, level, structure.name)
        path.with_suffix(UNFINISHED).replace(path)
    return Done(structure.name, splits)


@dataclass
class Work:
    """Tasks on one graph, and where their files go."""

    graph: TemporalGraph
    folder: Path
    settings: SamplingSettings
    tasks: list[Task]
    workers: int
    report: Report
    messages: Any = field(default=None, init=False)

    def run(self, finish: Callable[[Done], None]) -> None:
        """Do all tasks, in any order; `finish` is called with each result."""
        if min(self.workers, len(self.tasks)) > 1:
            self._in_processes(finish)
            return
        sources = Sources(self.graph)
        for task in self.tasks:
            finish(sample_structure(sources, self.folder, self.settings, task, self.report))

    def _in_processes(self, finish: Callable[[Done], None]) -> None:
        context = multiprocessing.get_context("spawn")
        self.messages, stop = context.Queue(), context.Event()
        # By a file, because processes that get much by their pipe start one after the other.
        parcel = self.folder / f".graph{UNFINISHED}"
        with parcel.open("wb") as stream:
            pickle.dump(self.graph, stream, pickle.HIGHEST_PROTOCOL)
        start = (parcel, self.folder, self.settings, self.messages, stop)
        pool = ProcessPoolExecutor(
            min(self.workers, len(self.tasks)), context, initializer=_start, initargs=start
        )
        waiting: set[Future[Done]] = set()
        try:
            waiting = {pool.submit(_sample, task) for task in self.tasks}
            while waiting:
                finished, waiting = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)
                self._pass_messages_on()
                for future in finished:
                    finish(future.result())
        except BrokenProcessPool:
            raise TflexError(
                "a worker process was ended from outside, for want of memory perhaps; what is "
                "finished is kept, so run the same again, with fewer workers"
            ) from None
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            # What was finished meanwhile counts too.
            for future in waiting:
                if not future.cancelled() and future.exception() is None:
                    finish(future.result())
            raise
        finally:
            pool.shutdown(cancel_futures=True)
            parcel.unlink()

    def _pass_messages_on(self) -> None:
        with contextlib.suppress(Empty):
            while True:
                self.report(*self.messages.get_nowait())


class _Process:
    """What a worker process keeps between tasks."""

    def __init__(self, parcel: Path, folder: Path, settings: SamplingSettings,
                 messages: Any, stop: Any) -> None:  # fmt: skip
        with parcel.open("rb") as stream:
            self.sources = Sources(pickle.load(stream))
        self.folder = folder
        self.settings = settings
        self.messages = messages
        self.messages.cancel_join_thread()  # No one may be left to read the last of them.
        self.stop = stop

    def report(self, what: str, count: int) -> None:
        if self.stop.is_set():
            raise Stopped
        self.messages.put((what, count))


_process: _Process


def _start(*arguments: Any) -> None:
    global _process
    # Ctrl-C reaches every process of a terminal; the one that was asked decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _process = _Process(*arguments)


def _end_with_parent() -> None:
    """A pool's processes wait for work forever, also when nobody is left to give it."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait_for([parent.sentinel])
        os._exit(1)


def _sample(task: Task) -> Done:
    return sample_structure(
        _process.sources, _process.folder, _process.settings, task, _process.report
    )
