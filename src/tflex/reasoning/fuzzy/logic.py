"""Logics over degrees in [0, 1], as data: And and Or of two, and what follows from them.

Or is the dual of And, 1 − And(1 − x, 1 − y), written so that small degrees are not rounded away;
Not is 1 − x; And and Or over many are folds of those over two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

Degrees = NDArray[np.float32]

PRODUCT, GOEDEL, LUKASIEWICZ = range(3)


@dataclass(frozen=True)
class Logic:
    """A t-norm on arrays; `code` is its number for the compiled projections."""

    name: str
    code: int
    both: Callable[[Degrees, Degrees], Degrees]
    """And of two."""
    either: Callable[[Degrees, Degrees], Degrees]
    """Or of two."""
    running: Callable[[Degrees], Degrees]
    """And of each row's degrees up to each column, that column included."""

    def conjunction(self, parts: list[Degrees]) -> Degrees:
        return reduce(self.both, parts)

    def disjunction(self, parts: list[Degrees]) -> Degrees:
        return reduce(self.either, parts)

    def after(self, times: Degrees) -> Degrees:
        """after(Q)(t) = And over t' ≥ t of 1 − μ_Q(t'); of ∅ it is all of T."""
        return self.running(1 - times[:, ::-1])[:, ::-1]

    def before(self, times: Degrees) -> Degrees:
        """before(Q)(t) = And over t' ≤ t of 1 − μ_Q(t')."""
        return self.running(1 - times)


def _bounded_sum(degrees: Degrees) -> Degrees:
    lacking = np.cumsum(1 - degrees, axis=1, dtype=np.float32)
    return np.maximum(1 - lacking, 0)


LOGICS = {
    logic.name: logic
    for logic in (
        Logic(
            "product",
            PRODUCT,
            np.multiply,
            lambda a, b: a + b * (1 - a),
            lambda x: np.cumprod(x, axis=1, dtype=np.float32),
        ),
        Logic(
            "goedel",
            GOEDEL,
            np.minimum,
            np.maximum,
            lambda x: np.minimum.accumulate(x, axis=1),
        ),
        Logic(
            "lukasiewicz",
            LUKASIEWICZ,
            lambda a, b: np.maximum(a + b - 1, 0),
            lambda a, b: np.minimum(a + b, 1),
            _bounded_sum,
        ),
    )
}
