import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.evaluation.scalar import Query, strict_rank, tie_block
from tflex.errors import DataError
from tflex.evaluation import Sets, rank, rank_among
from tflex.evaluation.metrics import mean_reciprocal_of_ties

CANDIDATES = 8
score = st.sampled_from([-np.inf, -1.5, -0.0, 0.0, 1.0, np.inf])
one_query = st.builds(
    lambda answers, targets, scores: Query(0, set(), answers | targets, scores),
    st.sets(st.integers(0, CANDIDATES - 1)),
    st.sets(st.integers(0, CANDIDATES - 1), min_size=1),
    st.lists(score, min_size=CANDIDATES, max_size=CANDIDATES),
)
batches = st.lists(st.tuples(one_query, st.randoms()), min_size=1, max_size=5)


def test_hand_computed_ranks():
    scores = np.array([[3.0, 2.0, 2.0, 2.0, 1.0, 5.0]])
    target, answers = Sets.from_lists([{1}]), Sets.from_lists([{1, 2, 5}])
    ranks = rank(scores, target, answers)  # against 3, 2, 1: one above, one tied
    assert (ranks.optimistic, ranks.realistic, ranks.pessimistic) == (2, 2.5, 3)
    assert ranks.candidates == 4
    easy = Sets.from_lists([{5}])
    ranks = rank(scores, target, easy)  # against 3, 2, 2, 1
    assert (ranks.optimistic, ranks.realistic, ranks.pessimistic) == (2, 3, 4)
    assert ranks.candidates == 5
    among = rank_among(scores, answers)
    assert among.optimistic.tolist() == [2, 2, 1]
    assert among.pessimistic.tolist() == [3, 3, 1]


@given(batches)
def test_batched_ranks_equal_the_scalar_ones(batch):
    queries = [query for query, _ in batch]
    chosen = [sorted(rng.sample(sorted(q.answers), rng.randint(1, len(q.answers))))
              for q, rng in batch]  # fmt: skip
    scores = np.array([query.scores for query in queries], np.float32)
    targets = Sets.from_lists(chosen)
    answers = Sets.from_lists(query.answers for query in queries)
    strict = rank(scores, targets, answers)
    expected = [strict_rank(t, q) for q, row in zip(queries, chosen, strict=True) for t in row]
    assert strict.realistic.tolist() == expected

    easy = [q.answers - set(row) for q, row in zip(queries, chosen, strict=True)]
    competing = rank(scores, targets, Sets.from_lists(easy))
    blocks = [
        tie_block(target, query, gone)
        for query, row, gone in zip(queries, chosen, easy, strict=True)
        for target in row
    ]
    assert competing.optimistic.tolist() == [block[0] for block in blocks]
    assert competing.pessimistic.tolist() == [block[-1] for block in blocks]
    reciprocal = [sum(1 / k for k in block) / len(block) for block in blocks]
    assert mean_reciprocal_of_ties(competing) == pytest.approx(reciprocal)


def test_a_score_that_is_no_number_is_refused_with_its_place():
    scores = np.zeros((3, 4), np.float32)
    scores[2, 1] = np.nan
    sets = Sets.from_lists([{0}, {0}, {0}])
    with pytest.raises(DataError, match="query 2, candidate 1"):
        rank(scores, sets, sets)


def test_an_answer_beyond_the_candidates_is_refused():
    sets = Sets.from_lists([{4}])
    with pytest.raises(DataError, match="id 4, but 4 candidates"):
        rank(np.zeros((1, 4)), sets, sets)
