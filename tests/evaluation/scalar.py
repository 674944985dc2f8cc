"""Both protocols and every metric in plain Python loops, one query and one target at a time."""

from __future__ import annotations

import math
from itertools import pairwise, permutations
from typing import NamedTuple

GROUP_OF = {"e2i": "avg_e", "Pe": "avg_e", "t2i": "avg_t", "e2i_N": "avg_e_not"}


class Query(NamedTuple):
    """One query with its answers on two views and a score per candidate."""

    relation: int
    known: set[int]
    answers: set[int]
    scores: list[float]


def strict_targets(query: Query) -> set[int]:
    """Empty where the query is not evaluated."""
    new = query.answers - query.known
    if query.answers == query.known:
        return set()
    return new if new else set(query.answers)


def published_targets(structure: str, query: Query, relation_count: int) -> tuple[set[int], set]:
    """The targets and the easy answers that leave the ranking."""
    if structure in ("Pe", "Pt"):
        if query.relation >= relation_count:
            return set(), set()
        return query.answers - query.known, set()
    easy = set(query.known)
    if len(easy) >= len(query.answers):
        easy = set()
    return query.answers - easy, easy


def strict_rank(target: int, query: Query) -> float:
    better = ties = 0
    for candidate, score in enumerate(query.scores):
        if candidate not in query.answers:
            better += score > query.scores[target]
            ties += score == query.scores[target]
    return 1 + better + ties / 2


def tie_block(target: int, query: Query, easy: set[int]) -> list[int]:
    """The positions (from 1) of the candidates that score as the target does."""
    left = [c for c in range(len(query.scores)) if c not in easy]
    left.sort(key=lambda c: -query.scores[c])
    return [i + 1 for i, c in enumerate(left) if query.scores[c] == query.scores[target]]


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def published_mrr(structure: str, queries: list[Query], relation_count: int) -> float | None:
    reciprocals = []
    for query in queries:
        targets, easy = published_targets(structure, query, relation_count)
        for target in targets:
            reciprocals.append(mean([1 / k for k in tie_block(target, query, easy)]))
    return mean(reciprocals) if reciprocals else None


def published_ceiling(structure: str, queries: list[Query], relation_count: int) -> float | None:
    best = []
    for query in queries:
        targets, _ = published_targets(structure, query, relation_count)
        best += [mean([1 / k for k in range(1, len(targets) + 1)]) for _ in targets]
    return mean(best) if best else None


def strict_metrics(queries: list[Query], minimum: int) -> dict[str, float] | None:
    per_query: dict[str, list[float]] = {}
    for query in queries:
        targets = strict_targets(query)
        if targets:
            for name, value in strict_query_metrics(query, targets).items():
                per_query.setdefault(name, []).append(value)
    if not per_query or len(per_query["mrr"]) < minimum:
        return None
    return {name: mean(values) for name, values in per_query.items()}


def strict_query_metrics(query: Query, targets: set[int]) -> dict[str, float]:
    ranks = [strict_rank(target, query) for target in targets]
    others = len(query.scores) - len(query.answers)
    found = {"mrr": mean([1 / rank for rank in ranks])}
    for k in (1, 3, 10):
        found[f"hits@{k}"] = mean([float(rank <= k) for rank in ranks])
    if others:
        found["amri"] = 1 - (mean(ranks) - 1) / ((others + 2) / 2 - 1)
    return found


def whole_ranking(query: Query, targets: set[int]) -> dict[str, float]:
    """AP, NDCG and R-precision, averaged over every order that the scores allow."""
    pool = [c for c in range(len(query.scores)) if c in targets or c not in query.answers]
    found: dict[str, list[float]] = {"average_precision": [], "ndcg": [], "r_precision": []}
    for order in permutations(pool):
        scores = [query.scores[c] for c in order]
        if any(a < b for a, b in pairwise(scores)):
            continue
        places = [i + 1 for i, c in enumerate(order) if c in targets]
        found["average_precision"].append(mean([(i + 1) / p for i, p in enumerate(places)]))
        ideal = sum(1 / math.log2(1 + k) for k in range(1, len(targets) + 1))
        found["ndcg"].append(sum(1 / math.log2(1 + p) for p in places) / ideal)
        found["r_precision"].append(mean([float(p <= len(targets)) for p in places]))
    return {name: mean(values) for name, values in found.items()}


def group_means(values: dict[str, float]) -> dict[str, float]:
    listed: dict[str, list[float]] = {}
    for structure, value in values.items():
        listed.setdefault(GROUP_OF[structure], []).append(value)
    means = {group: mean(one) for group, one in listed.items()}
    entity = [value for group, value in means.items() if group.startswith("avg_e")]
    result = dict(means)
    if means:
        result["AVG"] = mean(list(means.values()))
    if entity:
        result["AVG_e"] = mean(entity)
    return result


def best_f1_threshold(rows: list[list[float]], answers: list[set[int]]) -> float:
    """The best mean F1 that one threshold can reach."""
    best = 0.0
    for threshold in {score for row in rows for score in row}:
        total = 0.0
        for row, truth in zip(rows, answers, strict=True):
            predicted = {c for c, score in enumerate(row) if score >= threshold}
            total += 2 * len(predicted & truth) / (len(predicted) + len(truth))
        best = max(best, total / len(rows))
    return best
