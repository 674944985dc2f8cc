"""Evaluation of reasoners on a query set, sampled or published, by a protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tflex.errors import DataError
from tflex.evaluation import (
    EvaluationQueries,
    PredictsSets,
    Protocol,
    Reasoner,
    Report,
    evaluate,
    fit_thresholds,
)
from tflex.evaluation.protocols import THRESHOLD_QUERIES
from tflex.experiment.preparing import Preparer, boundary_root
from tflex.graph.facts import Ids, Level
from tflex.graph.temporal_graph import TemporalGraph, View
from tflex.query.files import read_query_files
from tflex.query.published import STRUCTURES
from tflex.query.structures import Structure, Structures
from tflex.reasoning.exact import ExactReasoner
from tflex.reasoning.frequency import FrequencyReasoner
from tflex.sampling.counts import paper_dataset
from tflex.sampling.dataset import QueryDataset
from tflex.sampling.sampler import known_level

if TYPE_CHECKING:
    from tflex.experiment.run import Run

Progress = Callable[[str, float], None]
"""Called with what is being done and the fraction of it that is done."""


class Asked(NamedTuple):
    """Queries of one structure, whatever file they are from."""

    structure: Structure
    anchors: Ids


def from_dataset(dataset: QueryDataset, split: Level,
                 wanted: Iterable[Structure] | None = None) -> list[Asked]:  # fmt: skip
    """The queries of a split, of all structures that the dataset has, or of the wanted ones."""
    names = None if wanted is None else {one.name for one in wanted}
    return [
        Asked(one, dataset.load(one.name, split, ("anchors",)).anchors)
        for one in dataset.structures()
        if (names is None or one.name in names) and split in dataset.splits(one.name)
    ]


def from_files(paths: Iterable[str | Path], graph: TemporalGraph,
               wanted: Iterable[Structure] | None = None) -> list[Asked]:  # fmt: skip
    """The queries of published files, of all structures in them or of the wanted ones."""
    listed = None if wanted is None else list(wanted)
    filed = read_query_files(paths, graph, with_the_papers(listed or ()))
    names = None if listed is None else {one.name for one in listed}
    return [
        Asked(one.structure, one.anchors)
        for one in filed
        if names is None or one.structure.name in names
    ]


def limited(asked: Iterable[Asked], limit: int | None, seed: int = 0) -> list[Asked]:
    """At most so many queries of each structure: the same random ones for the same seed."""

    def chosen(anchors: Ids) -> Ids:
        if limit is None or len(anchors) <= limit:
            return anchors
        return anchors[np.sort(np.random.default_rng(seed).permutation(len(anchors))[:limit])]

    return [Asked(structure, chosen(anchors)) for structure, anchors in asked]


def with_the_papers(structures: Iterable[Structure]) -> Structures:
    """These structures, and those of the paper that do not share a name with them."""
    found = Structures(structures)
    for one in STRUCTURES:
        if not any(name in found for name in (one.name, *one.aliases)):
            found.add(one)
    return found


class Contestant(NamedTuple):
    """A way to make a reasoner."""

    make: Callable[[View], Reasoner]
    """Makes it from the facts that it may know."""
    knows: Level | None = None
    """The view of which it knows the facts, where that is settled."""


def exact(structures: Structures) -> list[Contestant]:
    return [Contestant(lambda view: ExactReasoner(view, structures))]


def frequency(structures: Structures) -> list[Contestant]:
    """The most common for r, and for (s, r)."""
    return [
        Contestant(lambda view: FrequencyReasoner(view, "relation", structures)),
        Contestant(lambda view: FrequencyReasoner(view, "subject", structures)),
    ]


def embedding(run: Run, structures: Structures, device: str = "cpu") -> list[Contestant]:
    """The model of a run; its weights were fitted on train facts."""
    from tflex.experiment.embedding import trained_model, trained_structures
    from tflex.reasoning.embedding import EmbeddingReasoner

    model = trained_model(run, device)
    reasoner = EmbeddingReasoner(model, trained_structures(run), structures)
    return [Contestant(lambda view: reasoner, Level.train)]


def fuzzy(run: Run, structures: Structures) -> list[Contestant]:
    """The fuzzy reasoner of a run; it reads the facts that it is given."""
    from tflex.experiment.fuzzy import fuzzy_reasoner

    return [Contestant(fuzzy_reasoner(run, structures))]


class Evaluation:
    """A query set of one split, prepared for a protocol, on which any reasoners are compared."""

    def __init__(self, graph: TemporalGraph, asked: Sequence[Asked], protocol: Protocol,
                 split: Level, progress: Progress | None = None) -> None:  # fmt: skip
        if not asked:
            raise DataError(f"there are no {split.name} queries of the chosen structures")
        if split is Level.train:
            raise DataError("train queries have no held-out answers; splits are valid and test")
        self.graph, self.protocol, self.split = graph, protocol, split
        self.progress = progress or (lambda what, fraction: None)
        self._preparer = Preparer(graph)
        prepare = self._preparer.by_protocol(protocol.name)
        self.queries = []
        for number, (structure, anchors) in enumerate(asked):
            self.progress(f"{protocol.name}: answers of {structure.name}", number / len(asked))
            self.queries.append(prepare(structure, anchors, split))

    @property
    def view(self) -> Level:
        """The facts that a reasoner may know: under `strict` those of the view below the split."""
        return known_level(self.split) if self.protocol.name == "strict" else Level.train

    def report(self, contestant: Contestant, view: Level | None = None,
               validation: Iterable[Asked] = ()) -> Report:  # fmt: skip
        """Evaluate one reasoner, given this view's facts, or those that the protocol allows.

        Of validation queries, thresholds are fitted for the structures that are not ranked.
        """
        level = contestant.knows
        if level is None:
            level = self.view if view is None else view
        reasoner = contestant.make(self.graph.view(level))
        thresholds = {}
        if not self.protocol.ranks_boundaries and not isinstance(reasoner, PredictsSets):
            thresholds = self._thresholds(contestant, validation)
        return evaluate(
            reasoner, self._one_by_one(reasoner.name), self.protocol, view=level.name,
            dataset=paper_dataset(self.graph) or self.graph.name, split=self.split.name,
            thresholds=thresholds,
        )  # fmt: skip

    def _one_by_one(self, reasoner: str) -> Iterator[EvaluationQueries]:
        done, total = 0, max(sum(map(len, self.queries)), 1)
        for one in self.queries:
            self.progress(f"{self.protocol.name}: {reasoner} on {one.structure}", done / total)
            yield one
            done += len(one)

    def _thresholds(self, contestant: Contestant, validation: Iterable[Asked]) -> dict[str, float]:
        """Fitted with what may be known when validating: the train view."""
        names = {one.structure for one in self.queries}
        prepared = [
            self._preparer.strict(structure, anchors, Level.valid)
            for structure, anchors in limited(validation, THRESHOLD_QUERIES)
            if boundary_root(structure.body) and structure.name in names
        ]
        if not prepared:
            return {}
        self.progress(f"{self.protocol.name}: thresholds", 0.0)
        return fit_thresholds(contestant.make(self.graph.view(Level.train)), prepared)
