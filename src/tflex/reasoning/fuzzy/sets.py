"""From degrees to sets: thresholds that were validated, and conformal ones with stated coverage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import floor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tflex.query.algebra import Node
from tflex.reasoning.fuzzy.logic import Degrees


def kinds_of(query: Node) -> tuple[str, str, str]:
    """What a query is, from narrow to wide: `entity And(Not, Pe)`, `entity And`, `entity`."""

    def name(node: Node) -> str:
        return node.names[0] if node.names else "anchor"

    sort = query.sort.name.lower()
    root = f"{sort} {name(query)}"
    return f"{root}({', '.join(sorted(map(name, query.arguments)))})", root, sort


class Quality(NamedTuple):
    """What the degrees, taken as probabilities, say of a set."""

    size: float
    """Answers that are expected in all."""
    precision: float
    """The share of the set that is expected to be answers."""
    recall: float
    """The share of all expected answers that is in the set."""


@dataclass(frozen=True)
class Cuts:
    """Degrees from which on a candidate is taken for an answer."""

    best: Mapping[str, float] = field(default_factory=dict)
    """By the kinds of a query: the threshold of the best mean F1 on validation queries, which all
    lack an answer or have one too many."""
    usual: Mapping[str, float] = field(default_factory=dict)
    """The same on queries that are grounded on known facts, whose answers may all be known."""
    missing: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """By sort, rising: the degree of one random held-out answer of each validation query."""

    def threshold(self, query: Node, usual: bool = False) -> float:
        """The validated threshold for a query; one half where nothing was validated."""
        found = self.usual if usual else self.best
        return next((found[kind] for kind in kinds_of(query) if kind in found), 0.5)

    def conformal(self, query: Node, coverage: float) -> float:
        """The threshold of sets that hold a missing answer with this probability, or a higher one.

        Split-conformal: of n + 1 exchangeable degrees, the last falls below the k-th smallest of
        the others with a probability of at most k / (n + 1), and k = ⌊(1 − coverage)(n + 1)⌋. For
        k = 0 nothing is left out.
        """
        degrees = self.missing.get(query.sort.name.lower(), ())
        k = floor((1 - coverage) * (len(degrees) + 1) + 1e-9)
        return float(degrees[k - 1]) if k > 0 else 0.0

    def to_json(self) -> dict[str, Any]:
        return {
            "best": dict(self.best),
            "usual": dict(self.usual),
            "missing": {sort: list(degrees) for sort, degrees in self.missing.items()},
        }

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Cuts:
        return cls(values["best"], values["usual"], values["missing"])


def members(degrees: Degrees, threshold: float) -> NDArray[np.int64]:
    """The candidates from a threshold on; nothing of degree 0 unless the threshold is 0."""
    return np.flatnonzero(degrees >= np.float32(threshold))


def quality(degrees: Degrees, chosen: NDArray[np.int64]) -> Quality:
    """What the degrees say of a set of candidates."""
    expected, inside = float(degrees.sum()), float(degrees[chosen].sum())
    return Quality(
        expected,
        inside / len(chosen) if len(chosen) else 1.0,
        inside / expected if expected else 1.0,
    )
