"""Sets from degrees: conformal coverage, validated thresholds, expected quality."""

from __future__ import annotations

import numpy as np
import pytest

from tflex.query.published import STRUCTURES
from tflex.reasoning.fuzzy.sets import Cuts, kinds_of, members, quality

ENTITY = STRUCTURES["e2i"].body
TIME = STRUCTURES["t2i"].body


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9, 0.95])
@pytest.mark.parametrize("count", [30, 400])
def test_conformal_sets_cover_exchangeable_answers(coverage: float, count: int) -> None:
    random = np.random.default_rng(0)
    covered, rounds = 0, 4000
    for _ in range(rounds):
        # Many degrees are tied at 0, as those of answers that no prediction lists.
        degrees = random.random(count + 1) * (random.random(count + 1) < 0.9)
        cut = Cuts(missing={"entity": sorted(degrees[:-1])}).conformal(ENTITY, coverage)
        covered += degrees[-1] >= cut
    # Three standard errors below what is promised; not far above it either, unless ties are.
    error = 3 * np.sqrt(coverage * (1 - coverage) / rounds)
    assert coverage - error <= covered / rounds
    if coverage < 0.9:
        assert covered / rounds <= coverage + error + 1 / count


def test_too_few_queries_leave_nothing_out() -> None:
    cuts = Cuts(missing={"entity": [0.2, 0.3, 0.4]})
    assert cuts.conformal(ENTITY, 0.9) == 0
    assert cuts.conformal(ENTITY, 0.75) == 0.2
    assert cuts.conformal(ENTITY, 0.5) == 0.3
    assert cuts.conformal(TIME, 0.5) == 0


def test_thresholds_by_operators_then_by_sort() -> None:
    cuts = Cuts({"entity And(Not, Pe)": 0.2, "entity And": 0.3, "entity": 0.4}, {"entity": 0.6})
    assert kinds_of(ENTITY) == ("entity And(Pe, Pe)", "entity And", "entity")
    assert kinds_of(STRUCTURES["Pt"].body)[0] == "time Pt(anchor, anchor, anchor)"
    assert cuts.threshold(STRUCTURES["e2i_N"].body) == 0.2
    assert cuts.threshold(ENTITY) == 0.3
    assert cuts.threshold(STRUCTURES["Pe"].body) == 0.4
    assert cuts.threshold(TIME) == 0.5
    assert cuts.threshold(ENTITY, usual=True) == 0.6
    assert Cuts.from_json(cuts.to_json()) == cuts


def test_quality_of_a_set() -> None:
    degrees = np.array([1.0, 0.5, 0.5, 0.0], np.float32)
    chosen = members(degrees, 0.6)
    assert chosen.tolist() == [0]
    assert quality(degrees, chosen) == (2.0, 1.0, 0.5)
    assert quality(degrees, members(degrees, 0.5)) == (2.0, pytest.approx(2 / 3), 1.0)
    assert quality(np.zeros(3, np.float32), members(np.zeros(3, np.float32), 0.5)) == (0, 1, 1)
