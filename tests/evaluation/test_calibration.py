"""Reliability and Brier scores by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tflex.evaluation.calibration import brier, reliability


def test_reliability_by_hand() -> None:
    found = reliability(np.array([0.9, 0.1, 0.3, 0.7]), np.array([1, 0, 1, 0]), bins=2)
    assert found.stated.tolist() == pytest.approx([0.2, 0.8])
    assert found.observed.tolist() == pytest.approx([0.5, 0.5])
    assert found.count.tolist() == [2, 2]
    assert found.error == pytest.approx(0.3)


def test_honest_probabilities_have_a_small_error() -> None:
    draw = np.random.default_rng(0)
    stated = draw.random(20_000)
    outcome = draw.random(20_000) < stated
    assert reliability(stated, outcome).error < 0.02
    assert reliability(stated**2, outcome).error > 0.1


def test_fewer_questions_than_bins() -> None:
    assert reliability(np.array([0.5, 0.5]), np.array([1, 0])).count.tolist() == [1, 1]


def test_brier_by_hand() -> None:
    assert brier(np.array([0.5, 1.0]), np.array([0, 1])) == pytest.approx(0.125)
