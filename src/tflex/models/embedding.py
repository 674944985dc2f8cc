"""The embedding of a query: V_q = (q_f^e, q_l^e, q_f^t, q_l^t), one contiguous row of width 4d."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from tflex.query.algebra import Sort


class Parts(NamedTuple):
    """The four parts of rows, each [..., d]: features in R, logic (uncertainty) in [0, 1].

    V_q = (q_f^e, q_l^e, q_f^t, q_l^t)  (section 4.1)
    """

    entity_feature: Tensor
    entity_logic: Tensor
    time_feature: Tensor
    time_logic: Tensor

    def rows(self) -> Tensor:
        """The parts side by side, [..., 4d]."""
        return torch.cat(self, dim=-1)


def parts(rows: Tensor) -> Parts:
    """The four parts of rows [..., 4d], as views."""
    return Parts(*rows.chunk(4, dim=-1))


def entity_rows(tokens: Tensor) -> Tensor:
    """Entities as queries without uncertainty: (v, 0, 0, 0), from tokens [n, d]."""
    return functional.pad(tokens, (0, 3 * tokens.shape[-1]))


def time_rows(tokens: Tensor) -> Tensor:
    """Timestamps as queries without uncertainty: (0, 0, t, 0), from tokens [n, d]."""
    dim = tokens.shape[-1]
    return functional.pad(tokens, (2 * dim, dim))


def answer_parts(rows: Tensor, sort: Sort) -> tuple[Tensor, Tensor]:
    """Feature and logic of the sort that a query answers, each [n, d]."""
    entity_feature, entity_logic, time_feature, time_logic = parts(rows)
    if sort is Sort.ENTITY:
        return entity_feature, entity_logic
    return time_feature, time_logic


class Squash(NamedTuple):
    """Keeps rows valid: one function for features, one that maps logic into [0, 1].

    g(x) = [x[0:d]; σ(x[d:2d]); x[2d:3d]; σ(x[3d:4d])]  (equation 2)
    """

    feature: Callable[[Tensor], Tensor]
    logic: Callable[[Tensor], Tensor]

    def __call__(self, rows: Tensor) -> Tensor:
        # Feature and logic alternate, so both sorts are squashed by one call each.
        pairs = rows.unflatten(-1, (2, 2, rows.shape[-1] // 4))
        feature, logic = pairs.unbind(-2)
        return torch.stack((self.feature(feature), self.logic(logic)), dim=-2).flatten(-3)


def identity(values: Tensor) -> Tensor:
    """The values as they are."""
    return values


def steep_sigmoid(values: Tensor) -> Tensor:
    """σ(2x)."""
    return torch.sigmoid(2 * values)


RAW = Squash(identity, identity)
"""Tokens as they are learned."""
EQUATION_2 = Squash(identity, torch.sigmoid)
"""The activation g of the paper."""
PUBLISHED = Squash(torch.tanh, steep_sigmoid)
"""What the published numbers were produced with."""
