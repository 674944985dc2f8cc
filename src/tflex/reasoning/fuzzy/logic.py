"""Logics over degrees in [0, 1], as data: a t-norm, and what follows from it.

Or is the dual of And, Not is 1 − x, and And over many is the fold of And over two.
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
    running: Callable[[Degrees], Degrees]
    """And of each row's degrees up to each column, that column included."""

    def conjunction(self, parts: list[Degrees]) -> Degrees:
        return reduce(self.both, parts)

    def disjunction(self, parts: list[Degrees]) -> Degrees:
        """The dual of And: 1 − And(1 − x, …)."""
        return parts[0] if len(parts) == 1 else 1 - self.conjunction([1 - one for one in parts])

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
        Logic("product", PRODUCT, np.multiply, lambda x: np.cumprod(x, axis=1, dtype=np.float32)),
        Logic("goedel", GOEDEL, np.minimum, lambda x: np.minimum.accumulate(x, axis=1)),
        Logic(
            "lukasiewicz",
            LUKASIEWICZ,
            lambda a, b: np.maximum(a + b - 1, 0),
            _bounded_sum,
        ),
    )
}
