"""Distances between a query and its candidate answers (section 4.3), and the L1 norm under them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

BLOCK = 1_600_000
"""Differences held at a time by `l1`: about what the second-level caches hold."""
CANDIDATES = 512


def l1(points: Tensor, candidates: Tensor) -> Tensor:
    """‖p − c‖₁ in fp32 of points [n, d] to candidates.

    Candidates [m, d] are shared by all points; candidates [n, k, d] belong to one point each.
    """
    points, candidates = points.float(), candidates.float()
    if candidates.dim() == 3:
        return (candidates - points.unsqueeze(1)).abs().sum(-1)
    if points.device.type == "cpu":
        return _PairwiseL1.apply(points, candidates)
    return torch.cdist(points, candidates, p=1)


class _PairwiseL1(torch.autograd.Function):
    """‖p_i − c_j‖₁ block by block: three to four times `torch.cdist(p=1)` on CPUs, same memory."""

    @staticmethod
    def forward(ctx: Any, points: Tensor, candidates: Tensor) -> Tensor:
        ctx.save_for_backward(points, candidates)
        out = points.new_empty(len(points), len(candidates))
        for rows, columns, differences in _blocks(points, candidates):
            torch.sum(differences.abs_(), -1, out=out[rows, columns])
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        """∂/∂p_i = Σ_j g_ij sign(p_i − c_j), and ∂/∂c_j its negative, summed over i."""
        (gradient,) = gradients
        points, candidates = ctx.saved_tensors
        of_points, of_candidates = torch.zeros_like(points), torch.zeros_like(candidates)
        for rows, columns, differences in _blocks(points, candidates):
            signs = differences.sign_()
            weights = gradient[rows, columns]
            of_points[rows] += torch.bmm(weights.unsqueeze(1), signs).squeeze(1)
            of_candidates[columns] -= signs.mul_(weights.unsqueeze(2)).sum(0)
        return of_points, of_candidates


def _blocks(points: Tensor, candidates: Tensor) -> Any:
    """Row slice, column slice and p_i − c_j [rows, columns, d] of each block, in one buffer."""
    width = max(1, min(CANDIDATES, len(candidates)))
    height = max(1, min(BLOCK // (width * max(1, points.shape[1])), len(points)))
    buffer = points.new_empty(height * width * points.shape[1])
    for j in range(0, len(candidates), width):
        columns = slice(j, min(j + width, len(candidates)))
        for i in range(0, len(points), height):
            rows = slice(i, min(i + height, len(points)))
            shape = (rows.stop - i, columns.stop - j, points.shape[1])
            differences = buffer[: shape[0] * shape[1] * shape[2]].view(shape)
            torch.sub(points[rows].unsqueeze(1), candidates[columns], out=differences)
            yield rows, columns, differences


class FeatureDistance(nn.Module):
    """d(v; V_q) = ‖v_f − q_f‖₁ + w·‖q_l‖₁  (section 4.3, of the sort that is answered).

    The paper adds the vector q_l to the norm; its norm is meant, since the term is to reduce
    uncertainty. It does not depend on the candidate, so it shapes the loss and not the ranking.
    """

    def __init__(self, logic_weight: float) -> None:
        super().__init__()
        self.logic_weight = logic_weight

    def forward(self, feature: Tensor, logic: Tensor, candidates: Tensor) -> Tensor:
        """Distances of queries [n, d] to candidates [m, d] or [n, k, d]."""
        uncertainty = logic.float().abs().sum(-1, keepdim=True)
        return l1(feature, candidates) + self.logic_weight * uncertainty


class BoxDistance(nn.Module):
    """d(v; V_q) = λ·(outer + 0.02·inner), of the box with centre q_f and half-width q_l ≥ 0:

    outer = ‖max(|v − q_f| − q_l, 0)‖₁,  inner = ‖min(|v − q_f|, q_l)‖₁  (not in the paper; λ is
    learned).

    With inner = ‖v − q_f‖₁ − outer and max(|x| − h, 0) = (|x − h| + |x + h|)/2 − h this is
    0.02·‖v − q_f‖₁ + 0.49·(‖v − q_f − q_l‖₁ + ‖v − q_f + q_l‖₁) − 0.98·‖q_l‖₁, times λ.
    """

    inside = 0.02

    def __init__(self, scale: float) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(scale))

    def forward(self, feature: Tensor, logic: Tensor, candidates: Tensor) -> Tensor:
        """Distances of queries [n, d] to candidates [m, d] or [n, k, d]."""
        feature, logic = feature.float(), logic.float()
        both_sides = l1(feature + logic, candidates) + l1(feature - logic, candidates)
        outer = both_sides / 2 - logic.sum(-1, keepdim=True)
        return self.scale * (self.inside * l1(feature, candidates) + (1 - self.inside) * outer)
