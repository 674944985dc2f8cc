"""Batches depend on the step alone, keep their composition, and never ask an answer as negative."""

from __future__ import annotations

import numpy as np
import pytest

from tflex.errors import DataError
from tflex.query.algebra import Sort
from tflex.query.published import STRUCTURES
from tflex.training.data import Batch, BatchSource, TrainingQueries

CANDIDATES = {Sort.ENTITY: 9, Sort.TIME: 6}


def queries(name: str, count: int, seed: int) -> TrainingQueries:
    structure, random = STRUCTURES[name], np.random.default_rng(seed)
    universe = CANDIDATES[structure.sort]
    answers = [
        np.sort(random.choice(universe, random.integers(1, 4), replace=False)) for _ in range(count)
    ]
    return TrainingQueries(
        structure,
        random.integers(0, 5, (count, structure.arity)),
        np.cumsum([0, *map(len, answers)]),
        np.concatenate(answers),
    )


def source(**changes) -> BatchSource:
    listed = [queries("Pe", 11, 1), queries("e2i", 7, 2), queries("Pt", 5, 3)]
    return BatchSource(
        listed, CANDIDATES, **{"batch_size": 8, "negatives": 4, "seed": 0, **changes}
    )


def flat(batch: Batch) -> list:
    parts = [anchors.tolist() for _, anchors in batch.groups]
    for side in (batch.entity, batch.time):
        parts.append([one.tolist() for one in side])
    return parts


def test_a_batch_is_a_function_of_the_step() -> None:
    one, other = source(), source()
    wanted = [flat(one.batch(step)) for step in range(9)]
    assert [flat(other.batch(step)) for step in reversed(range(9))] == wanted[::-1]
    assert flat(source(seed=1).batch(0)) != wanted[0]


def test_shares_follow_the_weights() -> None:
    assert source().shares == [3, 3, 2]
    assert source(weights={"Pe": 2.0, "e2i": 1.0, "Pt": 1.0}).shares == [4, 2, 2]
    assert sum(source(batch_size=13, weights={"Pe": 0.01}).shares) == 13


def test_a_batch_too_small_is_refused() -> None:
    assert source(batch_size=3).shares == [1, 1, 1]
    with pytest.raises(DataError, match="a batch of 2 queries is too small for one of each of 3"):
        source(batch_size=2)
    with pytest.raises(DataError, match="too small for 2 processes"):
        source(batch_size=3, ranks=2)


def test_a_pass_asks_every_query_once() -> None:
    drawn = source(batch_size=3)
    asked = [tuple(drawn.batch(step).groups[0][1][0].tolist()) for step in range(11)]
    given = drawn.queries[0].anchors.tolist()
    assert sorted(asked) == sorted(map(tuple, given))


@pytest.mark.parametrize("own", [False, True])
def test_positives_are_answers_and_allowed_negatives_are_not(own: bool) -> None:
    drawn = source(own_negatives=own)
    known = {
        (one.structure.name, *anchors): set(one.answers[one.offsets[row] : one.offsets[row + 1]])
        for one in drawn.queries
        for row, anchors in enumerate(one.anchors.tolist())
    }
    for step in range(20):
        batch = drawn.batch(step)
        rows = {Sort.ENTITY: 0, Sort.TIME: 0}
        for structure, anchors in batch.groups:
            side = batch.entity if structure.sort is Sort.ENTITY else batch.time
            for values in anchors.tolist():
                row = rows[structure.sort]
                answers = known[(structure.name, *values)]
                negatives = side.negatives[row] if own else side.negatives
                assert side.positives[row] in answers and side.answers[row] == len(answers)
                assert side.allowed[row].tolist() == [one not in answers for one in negatives]
                rows[structure.sort] += 1


def test_processes_share_a_batch() -> None:
    whole = source()
    parts = [source(rank=rank, ranks=2) for rank in range(2)]
    for step in range(4):
        wanted = whole.batch(step)
        found = [part.batch(step) for part in parts]
        for number, (structure, anchors) in enumerate(wanted.groups):
            mine = [one.groups[number][1].tolist() for one in found]
            assert sorted(mine[0] + mine[1]) == sorted(anchors.tolist()), structure
        assert sum(len(one.entity.positives) for one in found) == len(wanted.entity.positives)
