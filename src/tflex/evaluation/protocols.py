"""The two protocols as data, and the evaluation of a reasoner by one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tflex.errors import DataError
from tflex.evaluation import metrics
from tflex.evaluation.queries import EvaluationQueries
from tflex.evaluation.ranks import Ranks, Values, rank, rank_among, refuse_nan
from tflex.evaluation.reasoner import PredictsSets, PredictsSizes, Reasoner
from tflex.evaluation.report import Report, Score, StructureResult
from tflex.evaluation.sets import Sets
from tflex.query.paper import canonical_name

Metrics = dict[str, Values]

VALUES_PER_CHUNK = 1 << 23
"""Scores held at once: 32 MB in single precision."""
FIRST_CHUNK, LARGEST_CHUNK = 256, 4096

MISSING, SIZES = "missing facts", "answers"
"""The names of the two breakdowns."""
SIZE_PARTS = {
    "1": (1, 1),
    "2–5": (2, 5),
    "6–20": (6, 20),
    "21–100": (21, 100),
    "101+": (101, np.iinfo(np.int64).max),
}
THRESHOLD_QUERIES = 1000
"""Queries that a threshold is fitted on, at most: their scores are held and sorted at once."""


@dataclass(frozen=True)
class Protocol:
    """The rules that turn scores into numbers. Which targets are asked is decided with the queries.

    The targets and what leaves the ranking come from `EvaluationQueries.strict` and `.published`.
    """

    name: str
    reciprocal: Callable[[Ranks], Values]
    """1/rank, ties included."""
    hits: Callable[[Ranks, int], Values]
    """Whether the rank is at most k, ties included."""
    average: Literal["query", "answer"]
    """What a structure's value is the mean of: one value per query, or one per target."""
    minimum_queries: int
    """A structure with fewer evaluable queries is not shown and stays out of the means."""
    ranks_boundaries: bool
    """Whether queries whose root is after, before or between are ranked."""
    whole: bool
    """Whether the metrics of whole rankings and of predicted sets are reported."""
    ceiling: bool
    """Whether targets compete, so that even a perfect reasoner stays below 1."""


STRICT = Protocol(
    name="strict",
    reciprocal=metrics.reciprocal_of_mean_rank,
    hits=metrics.hits_of_mean_rank,
    average="query",
    minimum_queries=20,
    ranks_boundaries=False,
    whole=True,
    ceiling=False,
)
PUBLISHED = Protocol(
    name="published",
    reciprocal=metrics.mean_reciprocal_of_ties,
    hits=metrics.mean_hits_of_ties,
    average="answer",
    minimum_queries=1,
    ranks_boundaries=True,
    whole=False,
    ceiling=True,
)
PROTOCOLS = {protocol.name: protocol for protocol in (STRICT, PUBLISHED)}


def evaluate(reasoner: Reasoner, queries: Iterable[EvaluationQueries], protocol: Protocol, *,
             view: str, dataset: str = "", split: str = "test",
             thresholds: Mapping[str, float] | None = None) -> Report:  # fmt: skip
    """Evaluate a reasoner; `view` names the facts that it was given.

    `thresholds` (see `fit_thresholds`) make sets of the scores of structures that are not ranked,
    where the reasoner predicts none itself.
    """
    results: dict[str, StructureResult] = {}
    for one in queries:
        name = canonical_name(one.structure)
        if one.protocol != protocol.name:
            raise DataError(
                f"{one.structure}: its targets follow protocol {one.protocol}, not {protocol.name}"
            )
        if name in results:
            raise DataError(f"{name} was given twice")
        results[name] = _evaluate_structure(reasoner, one, protocol, (thresholds or {}).get(name))
    return Report(
        reasoner.name, protocol.name, dataset, split, view, protocol.minimum_queries, results
    )


def fit_thresholds(reasoner: Reasoner, queries: Iterable[EvaluationQueries]) -> dict[str, float]:
    """For each structure that `strict` does not rank, the threshold of the best mean F1.

    Give validation queries: the answers on their target view are what the sets are fitted to.
    """
    thresholds = {}
    for one in queries:
        if one.root is None or not len(one):
            continue
        rows = np.arange(min(len(one), THRESHOLD_QUERIES))
        scores = _scores(reasoner, one.structure, one.anchors[rows])
        refuse_nan(scores)
        thresholds[canonical_name(one.structure)] = metrics.best_threshold(
            scores, one.answers.take(rows)
        )
    return thresholds


def _evaluate_structure(reasoner: Reasoner, queries: EvaluationQueries, protocol: Protocol,
                        threshold: float | None) -> StructureResult:  # fmt: skip
    ranked = protocol.ranks_boundaries or queries.root is None
    breakdowns: dict[str, dict[str, Score]] = {}
    if ranked:
        per_target, per_query = _ranking_metrics(reasoner, queries, protocol)
        correlation: dict[str, float | None] = {}
        if protocol.whole:
            f1, correlation = _set_metrics(reasoner, queries)
            per_query |= f1
        everything = np.ones(len(queries.targets.ids), bool)
        overall = _score(per_target, per_query, queries.targets, everything, protocol)
        overall.metrics.update(correlation)
        breakdowns = _breakdowns(per_target, per_query, queries, protocol)
    else:
        overall = Score(
            len(queries), len(queries.targets.ids), _boundary_metrics(reasoner, queries, threshold)
        )
    return StructureResult(
        canonical_name(queries.structure), ranked, overall, queries.skipped,
        int(queries.retraction.sum()), breakdowns,
    )  # fmt: skip


def _ranking_metrics(reasoner: Reasoner, queries: EvaluationQueries,
                     protocol: Protocol) -> tuple[Metrics, Metrics]:  # fmt: skip
    """The values of each target and the values of each query."""
    against, among = [Ranks.join([])], [Ranks.join([])]
    for start, scores in _chunks(reasoner, queries):
        stop = start + len(scores)
        targets = queries.targets.slice(start, stop)
        try:
            against.append(rank(scores, targets, queries.removed.slice(start, stop)))
        except DataError as error:
            raise DataError(f"{reasoner.name} on {queries.structure}: {error}") from None
        if protocol.whole:
            among.append(rank_among(scores, targets))
    ranks, targets = Ranks.join(against), queries.targets
    per_target = {"mrr": protocol.reciprocal(ranks)}
    per_target |= {f"hits@{k}": protocol.hits(ranks, k) for k in metrics.HITS}
    if protocol.ceiling:
        per_target["ceiling"] = metrics.ceiling(targets)
    if not protocol.whole:
        return per_target, {}
    others = Ranks.join(among)
    return per_target, {
        "amri": metrics.adjusted_mean_rank_index(ranks, targets),
        "average_precision": metrics.average_precision(ranks, others, targets),
        "ndcg": metrics.ndcg(ranks, others, targets),
        "r_precision": metrics.r_precision(ranks, others, targets),
    }


def _set_metrics(reasoner: Reasoner, queries: EvaluationQueries
                 ) -> tuple[Metrics, dict[str, float | None]]:  # fmt: skip
    """F1 of each query where sets are predicted; the size's correlation where sizes are."""
    if not len(queries):
        return {}, {}
    predicted = _predicted_sets(reasoner, queries)
    sizes = None if predicted is None else predicted.sizes
    if isinstance(reasoner, PredictsSizes):
        expected = reasoner.sizes(queries.structure, queries.anchors)
        sizes = sizes if expected is None else np.asarray(expected)
    f1 = {} if predicted is None else {"f1": metrics.f1(predicted, queries.answers)}
    if sizes is None:
        return f1, {}
    return f1, {"size_spearman": metrics.spearman(sizes, queries.answers.sizes)}


def _boundary_metrics(reasoner: Reasoner, queries: EvaluationQueries,
                      threshold: float | None) -> dict[str, float | None]:  # fmt: skip
    """F1 and boundary error of the sets that the reasoner predicts or a threshold makes."""
    assert queries.root is not None
    predicted = _predicted_sets(reasoner, queries) if len(queries) else None
    if predicted is None and threshold is not None and len(queries):
        predicted = _sets_above(reasoner, queries, threshold)
    if predicted is None:
        return {"f1": None, "boundary_error": None}
    times = _scores(reasoner, queries.structure, queries.anchors[:1]).shape[1]
    error = metrics.boundary_error(predicted, queries.answers, queries.root, times)
    return {
        "f1": metrics.mean(metrics.f1(predicted, queries.answers)),
        "boundary_error": metrics.mean(error),
    }


def _sets_above(reasoner: Reasoner, queries: EvaluationQueries, threshold: float) -> Sets:
    parts = []
    for _, scores in _chunks(reasoner, queries):
        refuse_nan(scores)
        parts.append(Sets.from_mask(scores >= threshold))
    return Sets.join(parts)


def _breakdowns(per_target: Metrics, per_query: Metrics, queries: EvaluationQueries,
                protocol: Protocol) -> dict[str, dict[str, Score]]:  # fmt: skip
    """The score by missing facts of the targets, and by the size of the answer."""
    targets, sizes = queries.targets, queries.answers.sizes[queries.targets.rows]
    by_missing: dict[str, NDArray[np.bool_]] = {}
    if (cost := queries.missing) is not None:
        # Targets of cost 0 exist: those of retractions, and those that rest on an absence alone.
        by_missing = {"0": cost == 0, "1": cost == 1, "2": cost == 2, "3+": cost >= 3}
    if queries.every_atom_missing is not None:
        by_missing["every atom"] = queries.every_atom_missing
    by_size = {label: (sizes >= low) & (sizes <= high) for label, (low, high) in SIZE_PARTS.items()}
    parts = {
        MISSING: {
            part: _score(per_target, {}, targets, mask, protocol)
            for part, mask in by_missing.items()
            if mask.any()
        },
        SIZES: {
            part: _score(per_target, per_query, targets, mask, protocol)
            for part, mask in by_size.items()
            if mask.any()
        },
    }
    return {name: scores for name, scores in parts.items() if scores}


def _score(per_target: Metrics, per_query: Metrics, targets: Sets,
           mask: NDArray[np.bool_], protocol: Protocol) -> Score:  # fmt: skip
    """The means over the masked targets and over the queries that have one."""
    rows = targets.rows[mask]
    sizes = np.bincount(rows, minlength=len(targets))
    present = sizes > 0
    found: dict[str, float | None] = {}
    for name, values in per_target.items():
        chosen = values[mask]
        if protocol.average == "query":
            chosen = np.bincount(rows, chosen, len(targets))[present] / sizes[present]
        found[name] = metrics.mean(chosen)
    for name, values in per_query.items():
        found[name] = metrics.mean(values[present])
    return Score(int(present.sum()), len(rows), found)


def _chunks(reasoner: Reasoner, queries: EvaluationQueries) -> Iterator[tuple[int, NDArray]]:
    """Scores in chunks that fit in memory, each with the number of its first query."""
    start, size = 0, FIRST_CHUNK
    while start < len(queries):
        scores = _scores(reasoner, queries.structure, queries.anchors[start : start + size])
        yield start, scores
        start += len(scores)
        size = min(max(VALUES_PER_CHUNK // max(scores.shape[1], 1), 1), LARGEST_CHUNK)


def _scores(reasoner: Reasoner, structure: str, anchors: NDArray) -> NDArray:
    scores = np.asarray(reasoner.scores(structure, anchors))
    if scores.ndim != 2 or len(scores) != len(anchors):
        raise DataError(
            f"{reasoner.name} gave scores of shape {scores.shape} for {len(anchors)} queries"
            f" of {structure}"
        )
    return scores if np.issubdtype(scores.dtype, np.floating) else scores.astype(np.float64)


def _predicted_sets(reasoner: Reasoner, queries: EvaluationQueries) -> Sets | None:
    if not isinstance(reasoner, PredictsSets):
        return None
    predicted = reasoner.predicted_sets(queries.structure, queries.anchors)
    if predicted is None:
        return None
    sets = Sets.of(*predicted)
    if len(sets) != len(queries):
        raise DataError(
            f"{reasoner.name} predicted {len(sets)} sets for {len(queries)} queries"
            f" of {queries.structure}"
        )
    return sets
