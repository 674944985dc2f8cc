"""The operators on embeddings (section 4.2, appendix A.3), each a small module with its equation.

Every operator maps rows to rows [n, 4d] and keeps logic parts in [0, 1]. Projections take three
arguments of rows; the others take their arguments stacked, [k, n, 4d], so that each argument is
contiguous in memory. `multiply_adds(arity)` counts one row's matrix products in a forward pass.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import skip_init

from tflex.models.embedding import EQUATION_2, Squash, parts
from tflex.models.logic import Logic
from tflex.query.algebra import Sort


class Mlp(nn.Module):
    """A perceptron: x ↦ W_m·ReLU(… W_1·ReLU(W_0·x + b_0) + b_1 …) + b_m, hidden layers in ReLU."""

    def __init__(self, widths: Sequence[int]) -> None:
        super().__init__()
        # The model initialises all weights from its own generator.
        self.layers = nn.ModuleList(skip_init(nn.Linear, a, b) for a, b in pairwise(widths))

    def forward(self, x: Tensor) -> Tensor:
        *hidden, last = self.layers
        for layer in hidden:
            x = torch.relu_(layer(x))
        return last(x)

    def multiply_adds(self) -> int:
        return sum(layer.in_features * layer.out_features for layer in self.layers)


class Borrowed:
    """A module used by one that does not own it: its weights are saved and counted once."""

    def __init__(self, module: nn.Module) -> None:
        self.module = module

    def __call__(self, *inputs: Tensor) -> Any:
        return self.module(*inputs)

    def multiply_adds(self, arity: int) -> int:
        return self.module.multiply_adds(arity)


class Projection(nn.Module):
    """P_e(V_q, r, V_t) = g(MLP_0^e(V_q + r + V_t)),
    P_t(V_q1, r, V_q2) = g(MLP_0^t(V_q1 + r + V_q2))  (equation 1).

    The two differ in their weights alone, so `Pe` and `Pt` are two instances of this module.
    """

    def __init__(self, dim: int, hidden: Sequence[int], squash: Squash = EQUATION_2) -> None:
        super().__init__()
        self.squash = squash
        self.mlp = Mlp((4 * dim, *hidden, 4 * dim))

    def forward(self, source: Tensor, relation: Tensor, other: Tensor) -> Tensor:
        return self.squash(self.mlp(source + relation + other))

    def multiply_adds(self, arity: int = 3) -> int:
        return self.mlp.multiply_adds()


class Attention(nn.Module):
    """How much of each argument's feature to keep, per coordinate (equation 3):

    α_i = exp(MLP_1([q_i,f^e; q_i,l^e])) / Σ_j exp(MLP_1([q_j,f^e; q_j,l^e])),
    β_i the same with MLP_2 on the time parts; the weights of k rows [k, n, 4d] are [k, n, d].
    """

    def __init__(self, dim: int, hidden: Sequence[int]) -> None:
        super().__init__()
        self.entity = Mlp((2 * dim, *hidden, dim))
        self.time = Mlp((2 * dim, *hidden, dim))

    def forward(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        count, total, width = rows.shape
        entity_half, time_half = rows.flatten(0, 1).chunk(2, dim=-1)
        alpha = self.entity(entity_half).view(count, total, width // 4)
        beta = self.time(time_half).view(count, total, width // 4)
        return torch.softmax(alpha, dim=0), torch.softmax(beta, dim=0)

    def multiply_adds(self, arity: int) -> int:
        return arity * (self.entity.multiply_adds() + self.time.multiply_adds())


class Dyadic(nn.Module, ABC):
    """An operator on k sets of one sort, generated from a logical connective:

    (Σ α_i q_i,f^e, CONNECTIVE{q_i,l^e}, Σ β_i q_i,f^t, AND{q_i,l^t})  for entity sets;
    for time sets the connective and the AND change places (the alignment rule).
    """

    def __init__(self, sort: Sort, attention: Attention | Borrowed, logic: Logic) -> None:
        super().__init__()
        self.sort = sort
        self.attention = attention
        self.logic = logic

    @abstractmethod
    def connective(self, logic: Tensor) -> Tensor:
        """The logic part [n, d] of the operator's own sort, from [k, n, d]."""

    def forward(self, rows: Tensor) -> Tensor:
        entity_feature, entity_logic, time_feature, time_logic = parts(rows)
        alpha, beta = self.attention(rows)
        own, aligned = self.connective, self.logic.all_of
        entity, time = (own, aligned) if self.sort is Sort.ENTITY else (aligned, own)
        mixed = (
            (alpha * entity_feature).sum(0),
            entity(entity_logic),
            (beta * time_feature).sum(0),
            time(time_logic),
        )
        return torch.cat(mixed, dim=-1)

    def multiply_adds(self, arity: int) -> int:
        return self.attention.multiply_adds(arity)


class Intersection(Dyadic):
    """I_e = I_t = (Σ α_i q_i,f^e, AND{q_i,l^e}, Σ β_i q_i,f^t, AND{q_i,l^t})
    (section 4.2, the display before equation 3)."""

    def connective(self, logic: Tensor) -> Tensor:
        return self.logic.all_of(logic)


class Union(Dyadic):
    """U_e = (Σ α_i q_i,f^e, OR{q_i,l^e}, Σ β_i q_i,f^t, AND{q_i,l^t}),
    U_t = (Σ α_i q_i,f^e, AND{q_i,l^e}, Σ β_i q_i,f^t, OR{q_i,l^t})  (appendix A.3)."""

    def connective(self, logic: Tensor) -> Tensor:
        return self.logic.any_of(logic)


class Implies(Dyadic):
    """L_e = (Σ α_i q_i,f^e, IMPL(q_1,l^e, q_2,l^e), Σ β_i q_i,f^t, AND{q_i,l^t}),
    L_t alike with the sorts exchanged  (appendix A.3)."""

    def connective(self, logic: Tensor) -> Tensor:
        first, second = logic.unbind(0)
        return self.logic.implication(first, second)


class Xor(Dyadic):
    """X_e = (Σ α_i q_i,f^e, XOR(q_1,l^e, q_2,l^e), Σ β_i q_i,f^t, AND{q_i,l^t}),
    X_t alike with the sorts exchanged  (appendix A.3: generated in the same way)."""

    def connective(self, logic: Tensor) -> Tensor:
        first, second = logic.unbind(0)
        return self.logic.exclusive_or(first, second)


class Equivalent(Dyadic):
    """E_e = (Σ α_i q_i,f^e, E(q_1,l^e, q_2,l^e), Σ β_i q_i,f^t, AND{q_i,l^t}),
    E_t alike with the sorts exchanged  (appendix A.3: generated in the same way)."""

    def connective(self, logic: Tensor) -> Tensor:
        first, second = logic.unbind(0)
        return self.logic.equivalence(first, second)


class Complement(nn.Module):
    """C_e(V_q) = (f_not^e, NOT(q_l^e), q_f^t, q_l^t),
    C_t(V_q) = (q_f^e, q_l^e, f_not^t, NOT(q_l^t)),
    f_not^e = tanh(MLP_3([q_f^e; q_l^e])),  f_not^t = tanh(MLP_4([q_f^t; q_l^t]))  (equation 4).
    """

    def __init__(
        self,
        sort: Sort,
        dim: int,
        hidden: Sequence[int],
        logic: Logic,
        activation: Callable[[Tensor], Tensor] = torch.tanh,
    ) -> None:
        super().__init__()
        self.sort = sort
        self.logic = logic
        self.activation = activation
        self.mlp = Mlp((2 * dim, *hidden, dim))

    def forward(self, rows: Tensor) -> Tensor:
        (rows,) = rows.unbind(0)
        entity_half, time_half = rows.chunk(2, dim=-1)
        if self.sort is Sort.ENTITY:
            return torch.cat((*self.negated(entity_half), time_half), dim=-1)
        return torch.cat((entity_half, *self.negated(time_half)), dim=-1)

    def negated(self, half: Tensor) -> tuple[Tensor, Tensor]:
        """Feature and logic of the complement, from [q_f; q_l]."""
        logic = half.chunk(2, dim=-1)[1]
        return self.activation(self.mlp(half)), self.logic.negation(logic)

    def multiply_adds(self, arity: int = 1) -> int:
        return self.mlp.multiply_adds()


class After(nn.Module):
    """A_t(V_q) = (q_f^e, q_l^e, q_f^t + (1 + q_l^t)/2, (1 − q_l^t)/2)  (equation 5).

    The time part is an interval of centre q_f^t and half-length q_l^t < 1; this is what lies above
    it in the interval of half-length 1.
    """

    def forward(self, rows: Tensor) -> Tensor:
        return _beside(rows, 1)

    def multiply_adds(self, arity: int = 1) -> int:
        return 0


class Before(nn.Module):
    """B_t(V_q) = (q_f^e, q_l^e, q_f^t − (1 + q_l^t)/2, (1 − q_l^t)/2)  (equation 5)."""

    def forward(self, rows: Tensor) -> Tensor:
        return _beside(rows, -1)

    def multiply_adds(self, arity: int = 1) -> int:
        return 0


def _beside(rows: Tensor, side: int) -> Tensor:
    (rows,) = rows.unbind(0)
    entity_half, time_half = rows.chunk(2, dim=-1)
    feature, logic = time_half.chunk(2, dim=-1)
    moved = feature + side * ((1 + logic) / 2)
    return torch.cat((entity_half, moved, (1 - logic) / 2), dim=-1)


class Between(nn.Module):
    """D_t(V_q1, V_q2) = I_t(A_t(V_q1), B_t(V_q2))  (section 4.2, after equation 5)."""

    def __init__(self, intersection: Intersection) -> None:
        super().__init__()
        self.intersection = Borrowed(intersection)
        self.after = After()
        self.before = Before()

    def forward(self, rows: Tensor) -> Tensor:
        first, second = rows.split(1)
        return self.intersection(torch.stack((self.after(first), self.before(second))))

    def multiply_adds(self, arity: int = 2) -> int:
        return self.intersection.multiply_adds(2)
