"""Metrics of rankings and of predicted sets. Values are fractions in [0, 1] unless they say so.

Ties are taken in expectation over their random order, or by the mean rank where a protocol says so.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tflex.evaluation.queries import Boundary
from tflex.evaluation.ranks import Counts, Ranks, Values
from tflex.evaluation.sets import Sets

HITS = (1, 3, 10)


def harmonic(count: int) -> Values:
    """H_0 … H_count, with H_n = Σ_{k=1}^{n} 1/k."""
    return _harmonic(1 << max(count, 1).bit_length())


@lru_cache(maxsize=4)
def _harmonic(count: int) -> Values:
    return np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, count + 1))])


@lru_cache(maxsize=4)
def _discounts(count: int) -> Values:
    """D_n = Σ_{k=1}^{n} 1/log₂(1 + k)."""
    return np.concatenate([[0.0], np.cumsum(1.0 / np.log2(np.arange(1, count + 1) + 1.0))])


def reciprocal_of_mean_rank(ranks: Ranks) -> Values:
    """1 / realistic rank."""
    return 1.0 / ranks.realistic


def mean_reciprocal_of_ties(ranks: Ranks) -> Values:
    """The mean of 1/k over the positions a … b of the tie block: (H_b − H_{a−1}) / (b − a + 1)."""
    table = harmonic(_largest(ranks.pessimistic))
    return (table[ranks.pessimistic] - table[ranks.above]) / (ranks.tied + 1)


def hits_of_mean_rank(ranks: Ranks, k: int) -> Values:
    """1 where the realistic rank is at most k, else 0."""
    return (ranks.realistic <= k).astype(np.float64)


def mean_hits_of_ties(ranks: Ranks, k: int) -> Values:
    """The share of the tie block's positions that are at most k."""
    return np.clip(k - ranks.above, 0, ranks.tied + 1) / (ranks.tied + 1)


def ceiling(targets: Sets) -> Values:
    """Of each target, the best its query can reach when n targets compete: H_n / n."""
    sizes = targets.sizes
    best = harmonic(_largest(sizes))[sizes] / np.maximum(sizes, 1)
    return best[targets.rows]


def adjusted_mean_rank_index(ranks: Ranks, targets: Sets) -> Values:
    """AMRI of each query: 1 − Σ (rank − 1) / Σ (E[rank] − 1), E[rank] = (candidates + 1) / 2.

    1 is perfect, 0 is chance, below 0 is worse than chance; NaN where a query has no competitor.
    """
    rows = targets.rows
    excess = np.bincount(rows, ranks.realistic - 1, len(targets))
    expected = np.bincount(rows, (ranks.candidates - 1) / 2, len(targets))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(expected > 0, 1 - excess / expected, np.nan)


def average_precision(against: Ranks, among: Ranks, targets: Sets) -> Values:
    """Expected average precision of each query over random orders of ties.

    `against` ranks the targets against the other candidates, `among` against each other. Let t
    candidates, c of them targets, stand above a tie block of n with r targets. A target takes
    position t + i with probability 1/n, and then c + 1 + (i − 1)(r − 1)/(n − 1) targets stand
    there or above in expectation, so each target of the block adds
    (1/n) Σ_{i=1}^{n} (c + 1 + (i − 1)(r − 1)/(n − 1)) / (t + i), summed in closed form.
    """
    t, n = against.above + among.above, against.tied + among.tied + 1
    c, r = among.above, among.tied + 1
    table = harmonic(_largest(t + n))
    inverse = table[t + n] - table[t]
    slope = (r - 1) / np.maximum(n - 1, 1)
    each = ((c + 1) * inverse + slope * (n - (t + 1) * inverse)) / n
    return mean_by_query(each, targets)


def ndcg(against: Ranks, among: Ranks, targets: Sets) -> Values:
    """Expected NDCG of each query: Σ 1/log₂(1 + rank) over the best possible; ties share theirs."""
    t, n = against.above + among.above, against.tied + among.tied + 1
    table = _discounts(1 << max(_largest(t + n), 1).bit_length())
    gained = np.bincount(targets.rows, (table[t + n] - table[t]) / n, len(targets))
    return gained / table[np.maximum(targets.sizes, 1)]


def r_precision(against: Ranks, among: Ranks, targets: Sets) -> Values:
    """Expected share of the R targets that are among the first R positions."""
    t, n = against.above + among.above, against.tied + among.tied + 1
    first = targets.sizes[targets.rows]
    return mean_by_query(np.clip(first - t, 0, n) / n, targets)


def mean_by_query(values: Values, targets: Sets) -> Values:
    """The mean over the targets of each query."""
    return np.bincount(targets.rows, values, len(targets)) / np.maximum(targets.sizes, 1)


def mean(values: Values) -> float | None:
    """The mean of what is defined, or None."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else None


def f1(predicted: Sets, answers: Sets) -> Values:
    """F1 of each predicted set: 2 |P ∩ A| / (|P| + |A|), and 1 where both are empty."""
    total = predicted.sizes + answers.sizes
    return np.where(total > 0, 2 * predicted.shared(answers) / np.maximum(total, 1), 1.0)


def boundary_error(predicted: Sets, answers: Sets, root: Boundary, times: int) -> Values:
    """How many timestamps the boundary of each predicted set is off.

    `after` is bounded by its first timestamp, `before` by its last, `between` by both (the mean of
    the two errors). An empty set is bounded just outside the calendar: first = |T|, last = −1.
    """
    first = np.abs(_first(predicted, times) - _first(answers, times)).astype(np.float64)
    last = np.abs(_last(predicted) - _last(answers)).astype(np.float64)
    return {"after": first, "before": last, "between": (first + last) / 2}[root]


def _first(sets: Sets, times: int) -> Counts:
    return np.append(sets.ids, times)[np.where(sets.sizes > 0, sets.offsets[:-1], len(sets.ids))]


def _last(sets: Sets) -> Counts:
    return np.append(sets.ids, -1)[np.where(sets.sizes > 0, sets.offsets[1:] - 1, len(sets.ids))]


def spearman(one: NDArray, other: NDArray) -> float | None:
    """Spearman's correlation with mean ranks for ties; None where either side is constant."""
    if len(one) < 2:
        return None
    a, b = _mean_ranks(one), _mean_ranks(other)
    a, b = a - a.mean(), b - b.mean()
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / scale if scale > 0 else None


def _mean_ranks(values: NDArray) -> Values:
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[place].astype(np.float64)


def best_threshold(scores: NDArray, answers: Sets) -> float:
    """The θ for which the sets {c : score(c) ≥ θ} have the highest mean F1.

    Lowering θ past one candidate changes the F1 of one query, so the sum over queries is swept
    exactly over all n × candidates scores; θ is put midway to the next lower score.
    """
    columns = scores.shape[1]
    order = np.argsort(-scores, axis=1, kind="stable")
    relevant = np.zeros(scores.shape, bool)
    relevant[answers.rows, answers.ids] = True
    found = np.cumsum(np.take_along_axis(relevant, order, axis=1), axis=1)
    total = np.arange(1, columns + 1) + answers.sizes[:, None]
    change = np.diff(2 * found / total, axis=1, prepend=0.0)
    values = np.take_along_axis(scores, order, axis=1).reshape(-1)
    lowering = np.argsort(-values, kind="stable")
    values, sums = values[lowering], np.cumsum(change.reshape(-1)[lowering])
    last_of_value = np.append(values[1:] < values[:-1], True)
    best = int(np.argmax(np.where(last_of_value, sums, -np.inf)))
    here = float(values[best])
    below = float(values[best + 1]) if best + 1 < len(values) else here
    # Rounded as the scores are, or comparing with it could let the lower score in.
    middle = float(values.dtype.type(here + (below - here) / 2))
    return middle if below < middle < here else here


def _largest(values: Counts) -> int:
    return int(values.max()) if values.size else 0
