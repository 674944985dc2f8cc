"""Distances against plain Python; the blocked L1 norm and its gradient against autograd."""

from __future__ import annotations

import pytest
import torch

from tflex.models import distance
from tflex.models.distance import BoxDistance, FeatureDistance, l1

from . import scalar


def uniform(*shape: int, seed: int) -> torch.Tensor:
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("own", [False, True], ids=["shared", "own"])
@pytest.mark.parametrize("kind", ["feature", "box"])
def test_distance(kind: str, own: bool) -> None:
    feature, logic = uniform(3, 5, seed=0) * 4 - 2, uniform(3, 5, seed=1)
    candidates = uniform(*((3, 4, 5) if own else (4, 5)), seed=2) * 4 - 2
    module = FeatureDistance(0.3) if kind == "feature" else BoxDistance(0.3)
    plain = scalar.feature_distance if kind == "feature" else scalar.box_distance
    result = module(feature, logic, candidates)
    for i in range(3):
        of_query = candidates[i] if own else candidates
        for j in range(4):
            expected = plain(feature[i].tolist(), logic[i].tolist(), of_query[j].tolist(), 0.3)
            assert result[i, j].item() == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (7, 5), (3, 11)])
def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch, n: int, m: int) -> None:
    monkeypatch.setattr(distance, "BLOCK", 40)
    monkeypatch.setattr(distance, "CANDIDATES", 4)
    points = (uniform(n, 3, seed=3) - 0.5).requires_grad_()
    candidates = (uniform(m, 3, seed=4) - 0.5).requires_grad_()
    weights = uniform(n, m, seed=5) - 0.5
    expected = (points[:, None] - candidates).abs().sum(-1)
    result = l1(points, candidates)
    torch.testing.assert_close(result, expected)
    wanted = torch.autograd.grad((expected * weights).sum(), (points, candidates))
    torch.testing.assert_close(
        torch.autograd.grad((result * weights).sum(), (points, candidates)), wanted
    )


def test_box_gradients_equal_those_of_the_definition() -> None:
    feature = (uniform(4, 6, seed=6) * 3).requires_grad_()
    logic = uniform(4, 6, seed=7).requires_grad_()
    candidates = (uniform(5, 6, seed=8) * 3).requires_grad_()
    away = (feature[:, None] - candidates).abs()
    outer, inner = (away - logic[:, None]).relu(), torch.minimum(away, logic[:, None])
    module = BoxDistance(0.7)
    expected = module.scale * (outer + 0.02 * inner).sum(-1)
    inputs = (feature, logic, candidates, module.scale)
    wanted = torch.autograd.grad(expected.square().sum(), inputs)
    result = torch.autograd.grad(module(feature, logic, candidates).square().sum(), inputs)
    torch.testing.assert_close(result, wanted, rtol=1e-4, atol=1e-4)
