"""The loss against plain Python; answers are never negatives."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tflex.models.loss import (
    allowed_negatives,
    query_losses,
    subsampling_weights,
    weighted_mean,
)

from . import scalar


def test_loss() -> None:
    generator = torch.Generator().manual_seed(0)
    positive = torch.rand(4, generator=generator) * 10
    negative = torch.rand(4, 5, generator=generator) * 10
    allowed = torch.rand(4, 5, generator=generator) > 0.4
    allowed[3] = False
    losses = query_losses(positive, negative, allowed, 6.0)
    expected = [
        scalar.loss(
            positive[i].item(),
            [d for d, kept in zip(negative[i].tolist(), allowed[i].tolist(), strict=True) if kept],
            6.0,
        )
        for i in range(4)
    ]
    assert losses.tolist() == pytest.approx(expected, rel=1e-5)
    answers = torch.tensor([1, 5, 12, 0])
    weights = [1 / (4 + n) ** 0.5 for n in answers.tolist()]
    mean = sum(w * v for w, v in zip(weights, expected, strict=True)) / sum(weights)
    assert weighted_mean(losses, subsampling_weights(answers)).item() == pytest.approx(mean)


def test_a_masked_negative_has_no_gradient() -> None:
    negative = torch.tensor([[2.0, 3.0]], requires_grad=True)
    allowed = torch.tensor([[True, False]])
    query_losses(torch.tensor([1.0]), negative, allowed, 6.0).sum().backward()
    assert negative.grad is not None
    assert negative.grad[0, 0] != 0
    assert negative.grad[0, 1] == 0


@pytest.mark.parametrize("own", [False, True], ids=["shared", "own"])
@pytest.mark.parametrize("seed", range(5))
def test_answers_are_never_negatives(own: bool, seed: int) -> None:
    random = np.random.default_rng(seed)
    answers = [random.choice(9, size=size, replace=False) for size in (3, 0, 9, 1)]
    offsets = np.cumsum([0, *map(len, answers)])
    negatives = random.integers(9, size=(4, 6) if own else 6)
    allowed = allowed_negatives(negatives, offsets, np.concatenate(answers), 9)
    for i in range(4):
        mine = negatives[i] if own else negatives
        assert allowed[i].tolist() == [int(v) not in answers[i] for v in mine]


@pytest.mark.parametrize("shape", [(3,), (2, 3)])
def test_queries_without_answers_allow_everything(shape: tuple[int, ...]) -> None:
    nothing = np.zeros(0, dtype=np.int64)
    allowed = allowed_negatives(np.zeros(shape, dtype=np.int64), np.array([0, 0, 0]), nothing, 4)
    assert allowed.shape == (2, 3)
    assert allowed.all()
