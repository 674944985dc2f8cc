import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.evaluation.scalar import Query, best_f1_threshold, whole_ranking
from tflex.evaluation import Ranks, Sets, metrics, rank, rank_among

CANDIDATES = 6
queries = st.builds(
    lambda targets, others, scores: (Query(0, set(), targets | others, scores), targets),
    st.sets(st.integers(0, CANDIDATES - 1), min_size=1),
    st.sets(st.integers(0, CANDIDATES - 1)),
    st.lists(st.sampled_from([0.0, 1.0, 2.0]), min_size=CANDIDATES, max_size=CANDIDATES),
)


@settings(deadline=None, max_examples=60)
@given(st.lists(queries, min_size=1, max_size=3))
def test_whole_ranking_metrics_are_the_mean_over_every_order_of_ties(batch):
    scores = np.array([query.scores for query, _ in batch])
    targets = Sets.from_lists(targets for _, targets in batch)
    removed = Sets.from_lists(query.answers for query, _ in batch)
    against, among = rank(scores, targets, removed), rank_among(scores, targets)
    expected = [whole_ranking(query, chosen) for query, chosen in batch]
    for name in ("average_precision", "ndcg", "r_precision"):
        found = getattr(metrics, name)(against, among, targets)
        assert found == pytest.approx([one[name] for one in expected]), name


def test_hand_computed_whole_ranking():
    # Order: target, other, other, target.
    scores = np.array([[4.0, 3.0, 2.0, 1.0]])
    targets = Sets.from_lists([{0, 3}])
    ranks = rank(scores, targets, targets), rank_among(scores, targets), targets
    assert metrics.average_precision(*ranks) == pytest.approx([(1 / 1 + 2 / 4) / 2])
    gained, best = 1 + 1 / math.log2(5), 1 + 1 / math.log2(3)
    assert metrics.ndcg(*ranks) == pytest.approx([gained / best])
    assert metrics.r_precision(*ranks) == pytest.approx([0.5])


def test_hand_computed_ties():
    block = Ranks(np.array([1]), np.array([2]), np.array([9]))  # positions 2, 3, 4
    assert metrics.reciprocal_of_mean_rank(block) == pytest.approx([1 / 3])
    assert metrics.mean_reciprocal_of_ties(block) == pytest.approx([(1 / 2 + 1 / 3 + 1 / 4) / 3])
    assert metrics.hits_of_mean_rank(block, 3).tolist() == [1.0]
    assert metrics.mean_hits_of_ties(block, 3) == pytest.approx([2 / 3])
    assert metrics.mean_hits_of_ties(block, 1).tolist() == [0.0]
    assert metrics.mean_hits_of_ties(block, 10).tolist() == [1.0]


def test_ceiling_is_the_harmonic_number_over_the_number_of_targets():
    targets = Sets.from_lists([{0}, {1, 2, 3}, set()])
    third = (1 + 1 / 2 + 1 / 3) / 3
    assert metrics.ceiling(targets) == pytest.approx([1, third, third, third])


def test_amri_is_one_when_perfect_zero_by_constant_scores_and_minus_one_when_last():
    scores = np.array([[9.0, 1.0, 2.0], [1.0, 1.0, 1.0], [0.0, 1.0, 2.0]])
    targets = Sets.from_lists([{0}, {0}, {0}])
    ranks = rank(scores, targets, targets)
    assert metrics.adjusted_mean_rank_index(ranks, targets) == pytest.approx([1, 0, -1])


def test_amri_is_undefined_without_a_competitor():
    targets = Sets.from_lists([{0, 1}])
    ranks = rank(np.zeros((1, 2)), targets, targets)
    assert np.isnan(metrics.adjusted_mean_rank_index(ranks, targets)).all()


def test_amri_of_random_scores_is_about_zero():
    generator = np.random.default_rng(0)
    scores = generator.random((2000, 50))
    targets = Sets.from_mask(generator.random((2000, 50)) < 0.1)
    ranks = rank(scores, targets, targets)
    amri = metrics.mean(metrics.adjusted_mean_rank_index(ranks, targets))
    assert amri == pytest.approx(0, abs=0.02)


def test_f1_of_sets():
    predicted = Sets.from_lists([{1, 2}, set(), {1}, set()])
    answers = Sets.from_lists([{2, 3, 4}, {1}, {1}, set()])
    assert metrics.f1(predicted, answers) == pytest.approx([2 / 5, 0, 1, 1])


@pytest.mark.parametrize(
    ("root", "errors"), [("after", [2, 6]), ("before", [3, 6]), ("between", [2.5, 6])]
)
def test_boundary_error_counts_timestamps(root, errors):
    answers = Sets.from_lists([{4, 5, 6}, {4, 5}])
    predicted = Sets.from_lists([{2, 3, 7, 9}, set()])
    assert metrics.boundary_error(predicted, answers, root, 10).tolist() == errors


def test_spearman_with_ties_and_without_spread():
    assert metrics.spearman(np.array([1, 2, 3]), np.array([10, 20, 30])) == pytest.approx(1)
    assert metrics.spearman(np.array([1, 2, 3]), np.array([3, 2, 1])) == pytest.approx(-1)
    # Mean ranks 1.5 1.5 3 against 1 2 3: covariance 1.5, variances 1.5 and 2.
    found = metrics.spearman(np.array([7, 7, 9]), np.array([1, 2, 3]))
    assert found == pytest.approx(1.5 / math.sqrt(1.5 * 2))
    assert metrics.spearman(np.array([5, 5]), np.array([1, 2])) is None


@given(
    st.lists(
        st.tuples(
            st.lists(st.integers(0, 4).map(float), min_size=5, max_size=5),
            st.sets(st.integers(0, 4), min_size=1),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_the_threshold_reaches_the_best_f1_that_any_threshold_reaches(batch):
    scores = np.array([row for row, _ in batch], np.float32)
    answers = Sets.from_lists(truth for _, truth in batch)
    threshold = metrics.best_threshold(scores, answers)
    reached = metrics.f1(Sets.from_mask(scores >= threshold), answers).mean()
    best = best_f1_threshold([row for row, _ in batch], [truth for _, truth in batch])
    assert reached == pytest.approx(best)


def test_a_threshold_between_neighbouring_floats_keeps_the_lower_out():
    low = np.float32(1.0)
    scores = np.array([[low, np.nextafter(low, np.float32(2.0))]])
    threshold = metrics.best_threshold(scores, Sets.from_lists([{1}]))
    assert (scores >= threshold).tolist() == [[False, True]]
