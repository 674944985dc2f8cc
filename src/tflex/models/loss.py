"""The negative sampling loss (equation 6), and which candidates may serve as negatives."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import logsigmoid


def query_losses(positive: Tensor, negative: Tensor, allowed: Tensor, margin: float) -> Tensor:
    """L = −log σ(γ − d(v; V_q)) − 1/k Σ_i log σ(d(v'_i; V_q) − γ), per query [n]  (equation 6).

    Distances `positive` [n] and `negative` [n, m]; k counts the negatives that are allowed
    ([n, m], False where the candidate is an answer).
    """
    kept = allowed.to(negative.dtype)
    of_negatives = (logsigmoid(negative - margin) * kept).sum(1) / kept.sum(1).clamp(min=1)
    return -logsigmoid(margin - positive) - of_negatives


def weighted_mean(losses: Tensor, weights: Tensor) -> Tensor:
    """Σ w_q L_q / Σ w_q."""
    return (losses * weights).sum() / weights.sum()


def subsampling_weights(answers: Tensor) -> Tensor:
    """w = 1/√(4 + number of answers): a query with many answers is drawn often enough."""
    return torch.rsqrt(4.0 + answers)


def allowed_negatives(
    negatives: NDArray[np.int64],
    answer_offsets: NDArray[np.int64],
    answers: NDArray[np.int64],
    candidates: int,
) -> NDArray[np.bool_]:
    """Which negatives are not answers, [n, m].

    Query i has the answers `answers[answer_offsets[i]:answer_offsets[i + 1]]`, ids below
    `candidates`. Negatives [m] are shared by all queries; negatives [n, m] are each query's own.
    """
    total = len(answer_offsets) - 1
    owners = np.repeat(np.arange(total), np.diff(answer_offsets))
    if negatives.ndim == 1:
        distinct, place = np.unique(negatives, return_inverse=True)
        column_of = np.full(candidates, -1)
        column_of[distinct] = np.arange(len(distinct))
        columns = column_of[answers]
        hit = columns >= 0
        allowed = np.ones((total, len(distinct)), dtype=bool)
        allowed[owners[hit], columns[hit]] = False
        return allowed[:, place]
    keys = np.sort(owners * candidates + answers)
    wanted = np.arange(total)[:, None] * candidates + negatives
    found = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return keys[found] != wanted if len(keys) else np.ones(wanted.shape, dtype=bool)
