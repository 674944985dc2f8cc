import numpy as np
import pytest

from tests.evaluation.helpers import published, strict
from tests.evaluation.scalar import Query
from tflex.errors import DataError
from tflex.evaluation import EvaluationQueries, Sets


def query(known: set[int], answers: set[int], relation: int = 0) -> Query:
    return Query(relation, known, answers, [0.0] * 6)


def as_lists(sets: Sets) -> list[list[int]]:
    return [sets[row].tolist() for row in range(len(sets))]


def test_strict_targets_are_new_answers_and_a_shrunken_answer_is_a_retraction():
    queries = strict(
        "Pe_aPt",
        [
            query({1}, {1, 2}),  # one new answer
            query({1, 2}, {1, 2}),  # nothing changed: not evaluated
            query({1, 2, 3}, {1, 3}),  # shrank: retraction, all that is left
            query({1, 2}, set()),  # nothing left: not evaluated
            query({1, 2}, {2, 3}),  # grew and shrank: only the new one, no retraction
        ],
    )
    assert queries.rows.tolist() == [0, 2, 4]
    assert as_lists(queries.targets) == [[2], [1, 3], [3]]
    assert queries.retraction.tolist() == [False, True, False]
    assert as_lists(queries.removed) == as_lists(queries.answers) == [[1, 2], [1, 3], [2, 3]]
    assert queries.anchors[:, 0].tolist() == [0, 2, 4]
    assert (queries.given, queries.skipped) == (5, 2)


def test_published_easy_answers_leave_unless_they_are_as_many_as_the_answers():
    queries = published(
        "e2i",
        [
            query({1}, {1, 2, 3}),  # 1 is easy
            query({1, 2}, {1, 2}),  # all known: all are ranked
            query({1, 2, 3}, {1, 4}),  # more easy than answers: all are ranked
            query({5}, {1, 2}),  # an easy answer that was retracted leaves too
            query(set(), set()),  # nothing to rank
        ],
    )
    assert queries.rows.tolist() == [0, 1, 2, 3]
    assert as_lists(queries.targets) == [[2, 3], [1, 2], [1, 4], [1, 2]]
    assert as_lists(queries.removed) == [[1], [], [], [5]]


def test_published_projections_are_forward_only_and_keep_their_train_answers():
    queries = published(
        "Pe",
        [query({1}, {1, 2}), query({1}, {1, 2}, relation=5), query({1}, {1})],
        relation_count=5,
    )
    assert queries.rows.tolist() == [0]
    assert as_lists(queries.targets) == [[2]]
    assert as_lists(queries.removed) == [[]]


def test_published_projections_ask_for_the_answers_of_the_target_split_alone():
    anchors = np.zeros((1, 3), np.int32)
    train, valid, test = (Sets.from_lists([one]) for one in ({1}, {1, 2}, {1, 2, 3}))
    queries = EvaluationQueries.published(
        "Pt", "time", anchors, train, test, relation_count=5, previous=valid
    )
    assert as_lists(queries.targets) == [[3]]


def test_roots_are_known_by_name_and_can_be_given():
    assert strict("between", [query({1}, {2})]).root == "between"
    assert strict("e2i", [query({1}, {2})]).root is None
    one = Sets.from_lists([{1}])
    mine = EvaluationQueries.strict(
        "mine", "time", np.zeros((1, 3)), Sets.empty(1), one, root="after"
    )
    assert mine.root == "after"


def test_answers_that_do_not_go_with_the_anchors_are_refused():
    with pytest.raises(DataError, match="e2i: 2 known and 1 target"):
        EvaluationQueries.strict("e2i", "entity", np.zeros((1, 6)), Sets.empty(2), Sets.empty(1))


def test_costs_go_with_the_targets():
    queries = strict("e2i", [query({1}, {1, 2, 3})])
    assert queries.with_missing(np.array([1, 2])).missing.tolist() == [1, 2]
    with pytest.raises(ValueError, match="missing"):
        queries.with_missing(np.array([1]))
