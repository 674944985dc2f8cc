"""What query files hold, and what is wrong with it: counted anew from graph and anchors.

Works on query datasets and on published JSON lines. Of published files, the targets are what their
evaluation ranks: the answers that are not easy, or all answers where all are easy.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflex.errors import DataError
from tflex.exact.engine import Engine
from tflex.exact.values import Answers
from tflex.exact.verify import NEW_ANSWERS_ALONE
from tflex.graph.facts import Ids, Level
from tflex.graph.temporal_graph import TemporalGraph
from tflex.query.files import FiledQueries, query_files, read_query_files
from tflex.query.paper import average_answers, query_counts
from tflex.query.published import STRUCTURES
from tflex.query.structures import Structure, Structures
from tflex.sampling.costs import every_atom_missing, missing_facts
from tflex.sampling.counts import paper_dataset
from tflex.sampling.dataset import Progress, QueryDataset
from tflex.sampling.keys import Keyed, KeySet
from tflex.sampling.query_files import ROWS_PER_GROUP
from tflex.sampling.sampler import known_level, strict_targets

DEFECTS = {
    "duplicates": "queries that repeat another of their split",
    "in_other_splits": "queries that another split holds too",
    "known_targets": "targets that are answers already on the known view",
    "no_new_answer": "queries that the held-out facts change nothing for",
    "empty_inner_sets": "queries with a part that is the empty set",
    "repeated_branches": "queries with a branch that repeats another",
    "wrong_answers": "queries whose listed answers the engine does not give",
}

COSTS = ("0", "1", "2", "3+")


@dataclass(frozen=True, eq=False)
class Listed:
    """Some queries as a file lists them; `answers` is whatever the file calls so."""

    anchors: Ids
    targets: Answers
    wrong: Callable[[Found], NDArray[np.bool_]]
    """Which queries do not agree with what the engine found."""


@dataclass(frozen=True, eq=False)
class Found:
    """What the engine says of the same queries."""

    answers: Answers
    known: Answers
    targets: Answers
    retraction: NDArray[np.bool_]
    missing: NDArray[np.int16]


@dataclass(frozen=True)
class Source:
    """The queries of one structure and split."""

    structure: Structure
    level: Level
    count: int
    batches: Callable[[], Iterator[Listed]]


@dataclass
class Tally:
    """What is counted over the batches of a source."""

    numbers: dict[str, int] = field(default_factory=dict)
    keys: list[NDArray[np.uint64]] = field(default_factory=list)

    def add(self, name: str, count: int | np.integer) -> None:
        self.numbers[name] = self.numbers.get(name, 0) + int(count)


def dataset_sources(dataset: QueryDataset) -> list[Source]:
    """The files of a query dataset."""

    def source(structure: Structure, level: Level, count: int) -> Source:
        def batches() -> Iterator[Listed]:
            for queries in dataset.batches(structure.name, level):

                def wrong(found: Found, queries: Any = queries) -> NDArray[np.bool_]:
                    differs = unlike(queries.targets, found.targets)
                    differs |= unlike(queries.known, found.known)
                    differs |= queries.retraction != found.retraction
                    if not differs.any() and not np.array_equal(queries.missing, found.missing):
                        costly = queries.missing != found.missing
                        differs[np.unique(found.targets.rows()[costly])] = True
                    return differs

                yield Listed(queries.anchors, queries.targets, wrong)

        return Source(structure, level, count, batches)

    return [
        source(structure, level, split.found)
        for structure in dataset.structures()
        for level, split in dataset.splits(structure.name).items()
    ]


def file_sources(graph: TemporalGraph, paths: Iterable[str | Path], level: Level | None = None,
                 structures: Structures = STRUCTURES) -> list[Source]:  # fmt: skip
    """Published files, each of the split that its name or its folder's says."""
    by_level: dict[Level, list[Path]] = {}
    for path in query_files(paths):
        by_level.setdefault(split_of(path) if level is None else level, []).append(path)
    return [
        _filed_source(filed, one)
        for one in sorted(by_level)
        for filed in read_query_files(by_level[one], graph, structures)
    ]


def split_of(path: Path) -> Level:
    """The split that a file's name, or the nearest folder's, holds as a word."""
    for part in (path.stem, *reversed(path.resolve().parts[:-1])):
        named = [level for level in Level if level.name in re.split(r"[^a-z]+", part.lower())]
        if len(named) == 1:
            return named[0]
    raise DataError(f"{path}: neither its name nor its folder's tells its split; give --split")


def _filed_source(filed: FiledQueries, level: Level) -> Source:
    answers = Answers(*filed.answers)
    easy = None if filed.easy is None else Answers(*filed.easy)
    new_alone = easy is None and filed.structure.name in NEW_ANSWERS_ALONE

    def batches() -> Iterator[Listed]:
        for start in range(0, len(filed), ROWS_PER_GROUP):
            rows = np.arange(start, min(start + ROWS_PER_GROUP, len(filed)))
            listed = answers.take(rows)
            targets = listed if easy is None else listed.without(easy.take(rows))
            nothing_left = np.where(targets.sizes() == 0, len(rows), 0) + np.arange(len(rows))

            def wrong(found: Found, listed: Answers = listed) -> NDArray[np.bool_]:
                new = new_alone and level > Level.train
                return unlike(listed, found.answers.without(found.known) if new else found.answers)

            ranked = Answers.joined([targets, listed]).take(nothing_left)
            yield Listed(filed.anchors[rows], ranked, wrong)

    return Source(filed.structure, level, len(filed), batches)


def unlike(a: Answers, b: Answers) -> NDArray[np.bool_]:
    """Which rows differ."""
    return (a.without(b).sizes() > 0) | (b.without(a).sizes() > 0)


def describe(
    graph: TemporalGraph, sources: Iterable[Source], progress: Progress | None = None
) -> dict[str, Any]:
    """Counts and averages beside the paper's, and the defects, by structure and split."""
    sources = list(sources)
    engines = {level: Engine(graph.view(level)) for level in Level}
    total, done = max(sum(source.count for source in sources), 1), 0
    names = list(dict.fromkeys(source.structure.name for source in sources))
    described: dict[str, dict[str, Any]] = {name: {} for name in names}
    for name in names:
        tallies: dict[Level, Tally] = {}
        for source in sources:
            if source.structure.name == name:
                if progress is not None:
                    progress(f"{name}, {source.level.name}", done / total)
                tallies[source.level] = _tally(graph, engines, source)
                done += source.count
        structure = next(one.structure for one in sources if one.structure.name == name)
        _count_repeats(tallies)
        for level, tally in sorted(tallies.items()):
            described[name][level.name] = _summary(graph, structure, level, tally)
    return {
        "graph": graph.name,
        "paper_dataset": paper_dataset(graph),
        "structures": described,
        "totals": _totals(described),
    }


def _tally(graph: TemporalGraph, engines: dict[Level, Engine], source: Source) -> Tally:
    """Count over the batches of one file."""
    structure, level = source.structure, source.level
    keyed, tally = Keyed(structure, graph.relation_count), Tally()
    for listed in source.batches():
        keys, repeats = keyed.keys(listed.anchors)
        tally.keys.append(keys)
        answers, empty = engines[level].answer_and_check(structure, listed.anchors)
        found = _found(engines, structure, level, listed.anchors, answers)
        fresh = ~found.retraction & (level > Level.train)
        known = listed.targets.sizes() - listed.targets.without(found.known).sizes()
        tally.add("queries", len(keys))
        tally.add("answers", len(found.answers.ids))
        tally.add("targets", len(found.targets.ids))
        tally.add("retractions", found.retraction.sum())
        tally.add("known_targets", known[fresh].sum())
        tally.add("no_new_answer", (found.targets.sizes() == 0).sum())
        tally.add("empty_inner_sets", empty.sum())
        tally.add("repeated_branches", repeats.sum())
        tally.add("wrong_answers", listed.wrong(found).sum())
        for at, name in enumerate(COSTS):
            least, more = found.missing >= at, found.missing > at
            tally.add(name, (least if name == COSTS[-1] else least & ~more).sum())
        tally.add("every_atom", every_atom_missing(structure, found.missing).sum())
    return tally


def _found(engines: dict[Level, Engine], structure: Structure, level: Level, anchors: Ids,
           answers: Answers) -> Found:  # fmt: skip
    if level is Level.train:
        nothing = Answers(np.zeros(len(anchors) + 1, np.int64), np.empty(0, np.int32))
        no_flags = np.zeros(len(anchors), bool)
        return Found(answers, nothing, answers, no_flags, np.empty(0, np.int16))
    known = engines[known_level(level)].answer_batch(structure, anchors)
    targets, retraction = strict_targets(known, answers)
    missing = missing_facts(engines[level], known_level(level), structure, anchors, targets)
    return Found(answers, known, targets, retraction, missing)


def _count_repeats(tallies: dict[Level, Tally]) -> None:
    """Queries that stand twice in a split, or in two splits."""
    keys = {
        level: np.concatenate([np.empty(0, np.uint64), *tally.keys])
        for level, tally in tallies.items()
    }
    for level, tally in tallies.items():
        tally.add("duplicates", (~KeySet(len(keys[level])).add(keys[level])).sum())
        others = KeySet()
        for other, theirs in keys.items():
            if other is not level:
                others.add(theirs)
        tally.add("in_other_splits", others.contains(keys[level]).sum())


def _summary(graph: TemporalGraph, structure: Structure, level: Level,
             tally: Tally) -> dict[str, Any]:  # fmt: skip
    numbers, dataset = tally.numbers, paper_dataset(graph) or ""
    queries = numbers.get("queries", 0)
    # The paper counts the new answers alone where its files list them alone.
    new_alone = structure.name in NEW_ANSWERS_ALONE and level > Level.train
    counted = numbers.get("targets" if new_alone else "answers", 0)
    summary: dict[str, Any] = {
        "queries": queries,
        "paper_queries": query_counts(dataset, level.name).get(structure.name),
        "average_answers": counted / queries if queries else None,
        "paper_average_answers": average_answers(dataset, level.name).get(structure.name),
        "targets": numbers.get("targets", 0),
        "retractions": numbers.get("retractions", 0),
        **{defect: numbers.get(defect, 0) for defect in DEFECTS},
    }
    if level > Level.train:
        summary["missing_facts"] = {name: numbers.get(name, 0) for name in (*COSTS, "every_atom")}
    return summary


def _totals(described: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The sums over the structures of each split."""
    summed = ("queries", "targets", "retractions", *DEFECTS)
    totals: dict[str, Any] = {}
    for splits in described.values():
        for split, summary in splits.items():
            total = totals.setdefault(split, {"structures": 0, **dict.fromkeys(summed, 0)})
            total["structures"] += 1
            for name in summed:
                total[name] += summary[name]
    return {level.name: totals[level.name] for level in Level if level.name in totals}
