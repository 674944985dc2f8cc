"""Query datasets from and to the published JSON lines (`tflex.query.files`)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from tflex.errors import DataError
from tflex.exact.engine import Engine
from tflex.exact.values import Answers
from tflex.graph.facts import Ids, Level
from tflex.graph.temporal_graph import TemporalGraph
from tflex.query.files import FiledQueries
from tflex.query.paper import ALIASES
from tflex.query.structures import Structure
from tflex.query.text import print_structure
from tflex.sampling.costs import has_absence, missing_facts
from tflex.sampling.dataset import QueryDataset, alone_in, compatible
from tflex.sampling.manifest import Manifest, SplitRecord, StructureRecord
from tflex.sampling.query_files import ROWS_PER_GROUP, QueryWriter
from tflex.sampling.sampler import Queries, known_level, strict_targets
from tflex.sampling.workers import UNFINISHED, file_of

PUBLISHED_NAMES = {name: published for published, name in ALIASES.items()}
"""Names that the published query files spell differently from the published tables."""


class Answerer:
    """Gives queries the answers, targets and costs that a split asks for."""

    def __init__(self, graph: TemporalGraph) -> None:
        self.engines = {level: Engine(graph.view(level)) for level in Level}

    def queries(self, structure: Structure, level: Level, anchors: Ids) -> Queries:
        """Queries as they are: nothing is left out, and there may be queries without targets."""
        answers = self.engines[level].answer_batch(structure, anchors)
        if level is Level.train:
            nothing = Answers(np.zeros(len(anchors) + 1, np.int64), np.empty(0, np.int32))
            no_costs, no_flags = np.empty(0, np.int16), np.zeros(len(anchors), bool)
            return Queries(anchors, answers, nothing, no_costs, no_flags)
        known = known_level(level)
        before = self.engines[known].answer_batch(structure, anchors)
        targets, retraction = strict_targets(before, answers)
        missing = missing_facts(self.engines[level], known, structure, anchors, targets)
        return Queries(anchors, targets, before, missing, retraction)


def import_queries(graph: TemporalGraph, folder: str | Path,
                   filed: Mapping[Level, Iterable[FiledQueries]],
                   overwrite: bool = False) -> QueryDataset:  # fmt: skip
    """Make query files of published ones, all their queries in their order, answered anew.

    What they repeat or share with other splits stays, and so do queries without targets; `describe`
    tells. Other splits, or other structures, are added to what was imported before.
    """
    folder, answerer = Path(folder), Answerer(graph)
    with alone_in(folder):
        manifest = Manifest(graph.content_hash, "imported", None)
        manifest = compatible(folder, manifest, overwrite)
        for level, listed in filed.items():
            for one in listed:
                _import(answerer, folder, manifest, one, level)
                manifest.save(folder)
    return QueryDataset(folder, manifest, graph)


def _import(answerer: Answerer, folder: Path, manifest: Manifest, filed: FiledQueries,
            level: Level) -> None:  # fmt: skip
    structure = filed.structure
    record = manifest.records.setdefault(structure.name, StructureRecord(structure))
    if record.definition != print_structure(structure):
        raise DataError(f"{folder} holds queries of another structure named {structure.name}")
    if level in record.splits:
        raise DataError(
            f"{folder} holds {level.name} queries of {structure.name} already; "
            "--overwrite replaces all queries there"
        )
    path = file_of(folder, level, structure.name)
    path.parent.mkdir(exist_ok=True)
    with QueryWriter(path.with_suffix(UNFINISHED), has_absence(structure)) as writer:
        for start in range(0, len(filed), ROWS_PER_GROUP):
            anchors = filed.anchors[start : start + ROWS_PER_GROUP]
            writer.write(answerer.queries(structure, level, anchors))
    path.with_suffix(UNFINISHED).replace(path)
    record.splits[level] = SplitRecord(len(filed), len(filed))


def export_queries(graph: TemporalGraph, dataset: QueryDataset, folder: str | Path,
                   levels: Iterable[Level], structures: Iterable[Structure] | None = None,
                   published_names: bool = False) -> list[Path]:  # fmt: skip
    """Write `<split>/<structure>.jsonl`: all answers on the split's view, easy ones on train's."""
    answerer, written = Answerer(graph), []
    listed = dataset.structures() if structures is None else list(structures)
    for structure in listed:
        name = structure.name
        if published_names:
            name = PUBLISHED_NAMES.get(name, name)
        for level in set(levels) & dataset.splits(structure.name).keys():
            path = Path(folder) / level.name / f"{name}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("w", encoding="utf-8") as stream:
                for batch in dataset.batches(structure.name, level, ("anchors",)):
                    stream.writelines(_lines(name, structure, level, batch.anchors, answerer))
            written.append(path)
    return sorted(written)


def _lines(name: str, structure: Structure, level: Level, anchors: Ids,
           answerer: Answerer) -> Iterable[str]:  # fmt: skip
    answers = answerer.engines[level].answer_batch(structure, anchors)
    easy = answerer.engines[Level.train].answer_batch(structure, anchors)
    for row, query in enumerate(anchors.tolist()):
        line = {
            "query_name": name,
            "query": query,
            "answer": answers[row].tolist(),
            # All that a training query asks for is known, so nothing of it is called easy.
            "easy_answer": [] if level is Level.train else easy[row].tolist(),
        }
        yield json.dumps(line) + "\n"
