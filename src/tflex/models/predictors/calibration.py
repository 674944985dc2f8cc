"""Temperatures that make the ranker's probabilities honest, fitted on questions it never saw."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tflex.models.predictors.ranker import log_probabilities

STIFFNESS = 50.0
"""How many questions' worth of loss a relation's own temperature must save."""


class Temperatures(nn.Module):
    """z ↦ z · exp(θ_direction + δ_r): one temperature a direction, shrunken ones a relation."""

    def __init__(self, relation_count: int) -> None:
        super().__init__()
        self.direction = nn.Parameter(torch.zeros(2))
        self.relation = nn.Parameter(torch.zeros(2 * relation_count))

    def scale(self, relation: Tensor) -> Tensor:
        direction = (relation >= len(self.relation) // 2).long()
        return (self.direction[direction] + self.relation[relation]).exp()

    def forward(self, relation: Tensor, rows: Tensor, logits: Tensor,
                none: Tensor) -> tuple[Tensor, Tensor]:  # fmt: skip
        """Log-probabilities of candidates and of none of them, after scaling."""
        scale = self.scale(relation)
        return log_probabilities(logits * scale[rows], none * scale, rows)


def fit_temperatures(model: Temperatures, relation: Tensor, rows: Tensor, logits: Tensor,
                     none: Tensor, answer: Tensor) -> None:  # fmt: skip
    """Minimise the cross entropy of questions that no weight was fitted on."""
    finite = logits.clamp_min(-1e4)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=50, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimizer.zero_grad()
        candidates, nothing = model(relation, rows, finite, none)
        chosen = torch.where(answer >= 0, candidates[answer.clamp_min(0)], nothing)
        loss = (STIFFNESS * model.relation.square().sum() - chosen.sum()) / len(relation)
        loss.backward()
        return loss

    optimizer.step(closure)
