"""Validation during training: strict MRR on a fixed sample of validation queries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tflex.errors import DataError
from tflex.evaluation import STRICT, EvaluationQueries, Reasoner, evaluate
from tflex.experiment.preparing import Preparer, boundary_root
from tflex.graph.facts import Level
from tflex.graph.temporal_graph import TemporalGraph
from tflex.models.tflex import TflexModel
from tflex.query.structures import Structure, Structures
from tflex.reasoning.embedding import EmbeddingReasoner
from tflex.sampling.dataset import QueryDataset

RANKING = replace(STRICT, minimum_queries=1, whole=False)
"""The protocol `strict` on few queries, without the metrics of whole rankings."""


@dataclass(frozen=True, eq=False)
class ValidationSample:
    """A few validation queries of each ranked structure, answered once."""

    queries: Sequence[EvaluationQueries]
    structures: Structures

    @classmethod
    def of(cls, graph: TemporalGraph, dataset: QueryDataset, per_structure: int = 50, seed: int = 0,
           structures: Iterable[Structure] | None = None) -> ValidationSample:  # fmt: skip
        """The same queries for the same seed; of all structures that the dataset has, or these."""
        prepared, preparer = [], Preparer(graph)
        listed = dataset.structures() if structures is None else list(structures)
        for number, structure in enumerate(listed):
            held = Level.valid in dataset.splits(structure.name)
            if boundary_root(structure.body) or not held:
                continue
            anchors = dataset.load(structure.name, Level.valid, ("anchors",)).anchors
            order = np.random.default_rng((seed, number)).permutation(len(anchors))
            chosen = anchors[np.sort(order[:per_structure])]
            queries = preparer.strict(structure, chosen, Level.valid, costs=False)
            if len(queries):
                prepared.append(queries)
        if not prepared:
            raise DataError(f"{dataset.folder} holds no validation queries of a ranked structure")
        return cls(prepared, Structures(listed))

    def score(self, model: TflexModel, trained: Iterable[str] = ()) -> float:
        """AVG of the strict MRR over the groups that are present; see `EmbeddingReasoner`."""
        training = model.training
        model.eval()
        try:
            return strict_mrr(EmbeddingReasoner(model, trained, self.structures), self)
        finally:
            model.train(training)


def strict_mrr(reasoner: Reasoner, sample: ValidationSample) -> float:
    """The mean over structures, then groups, of the strict MRR."""
    report = evaluate(reasoner, sample.queries, RANKING, view="train", split="valid")
    values = report.values("mrr")
    means = report.means("mrr")
    # Structures of a user's own belong to no group.
    return means["AVG"] if "AVG" in means else sum(values.values()) / len(values)
