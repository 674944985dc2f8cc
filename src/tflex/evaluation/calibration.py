"""Are stated probabilities honest? Reliability in bins, and the Brier score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BINS = 15


@dataclass(frozen=True)
class Reliability:
    """Stated probabilities against outcomes, in bins of equal mass, by rising probability."""

    stated: NDArray[np.float64]
    observed: NDArray[np.float64]
    count: NDArray[np.int64]

    @property
    def error(self) -> float:
        """The expected calibration error: Σ_b n_b |stated_b − observed_b| / Σ_b n_b."""
        return float(np.average(np.abs(self.stated - self.observed), weights=self.count))


def reliability(stated: NDArray, outcome: NDArray, bins: int = BINS) -> Reliability:
    """Sort by the stated probability and cut into bins of equally many."""
    order = np.argsort(stated, kind="stable")
    parts = [part for part in np.array_split(order, bins) if len(part)]
    return Reliability(
        np.array([stated[part].mean() for part in parts]),
        np.array([outcome[part].mean() for part in parts]),
        np.array([len(part) for part in parts]),
    )


def brier(stated: NDArray, outcome: NDArray) -> float:
    """The mean of (stated probability − outcome)²."""
    return float(np.mean((np.asarray(stated, float) - outcome) ** 2))
