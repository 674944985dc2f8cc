"""Fuzzy logic and vector logic as data: what the logic parts of embeddings obey (appendix A)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

import torch
from torch import Tensor

Dyadic = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Logic:
    """The connectives on truth values in [0, 1], element by element; each stays in [0, 1]."""

    name: str
    conjunction: Dyadic
    disjunction: Dyadic
    exclusive_or: Dyadic
    implication: Dyadic
    equivalence: Dyadic

    def negation(self, a: Tensor) -> Tensor:
        """NOT(a) = 1 − a."""
        return 1 - a

    def all_of(self, values: Tensor) -> Tensor:
        """AND of values [k, ...] over their first dimension."""
        return reduce(self.conjunction, values.unbind(0))

    def any_of(self, values: Tensor) -> Tensor:
        """OR of values [k, ...] over their first dimension, one after another: O(k·d)."""
        return reduce(self.disjunction, values.unbind(0))


def _vector_or(a: Tensor, b: Tensor) -> Tensor:
    # a + b − ab, in the form that rounding cannot push above 1.
    return 1 - (1 - a) * (1 - b)


def _vector_xor(a: Tensor, b: Tensor) -> Tensor:
    # a + b − 2ab
    return a * (1 - b) + b * (1 - a)


VECTOR_LOGIC = Logic(
    name="vector",
    conjunction=torch.mul,
    disjunction=_vector_or,
    exclusive_or=_vector_xor,
    implication=lambda a, b: 1 - a * (1 - b),
    equivalence=lambda a, b: a * b + (1 - a) * (1 - b),
)
"""Vector logic (equation 7): AND = αα′, OR = α + α′ − αα′, IMPL = 1 − α(1 − α′),
XOR = α + α′ − 2αα′. E, which the paper names without a formula, is NOT(XOR)."""

FUZZY_LOGIC = Logic(
    name="fuzzy",
    conjunction=torch.minimum,
    disjunction=torch.maximum,
    exclusive_or=lambda a, b: torch.minimum(a, 1 - b) + torch.minimum(1 - a, b),
    implication=lambda a, b: torch.maximum(1 - a, b),
    equivalence=lambda a, b: torch.minimum(a, b) + torch.minimum(1 - a, 1 - b),
)
"""Fuzzy logic (appendix A.1): AND = min, OR = max, XOR = min(a, 1 − b) + min(1 − a, b),
IMPL = max(1 − a, b). The printed equivalence min(a, b) + max(1 − a, 1 − b) is 1 for all a and b;
here its second term is a minimum, as in the exclusive or."""
