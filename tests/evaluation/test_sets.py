import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tflex.evaluation import Sets

lists = st.lists(st.sets(st.integers(0, 9), max_size=6), min_size=1, max_size=6)
pairs = st.integers(1, 6).flatmap(
    lambda n: st.tuples(
        *[st.lists(st.sets(st.integers(0, 9)), min_size=n, max_size=n) for _ in range(2)]
    )
)


def as_lists(sets: Sets) -> list[set[int]]:
    return [set(sets[row].tolist()) for row in range(len(sets))]


@given(pairs)
def test_operations_equal_those_of_python_sets(pair):
    left, right = pair
    a, b = Sets.from_lists(left), Sets.from_lists(right)
    assert as_lists(a) == left
    assert as_lists(a.minus(b)) == [x - y for x, y in zip(left, right, strict=True)]
    assert a.shared(b).tolist() == [len(x & y) for x, y in zip(left, right, strict=True)]
    assert as_lists(Sets.join([a, b])) == left + right
    choose = np.arange(len(left)) % 2 == 0
    assert as_lists(a.where(choose, b)) == [
        x if one else y for one, x, y in zip(choose, left, right, strict=True)
    ]


@given(lists, st.data())
def test_take_and_slice(left, data):
    sets = Sets.from_lists(left)
    rows = data.draw(st.lists(st.integers(0, len(left) - 1)))
    assert as_lists(sets.take(np.array(rows, np.int64))) == [left[row] for row in rows]
    start = data.draw(st.integers(0, len(left)))
    stop = data.draw(st.integers(start, len(left)))
    assert as_lists(sets.slice(start, stop)) == left[start:stop]


def test_of_sorts_and_drops_repeats_within_a_set_alone():
    sets = Sets.of(np.array([0, 3, 3, 5]), np.array([4, 1, 4, 4, 0]))
    assert [sets[row].tolist() for row in range(3)] == [[1, 4], [], [0, 4]]


@pytest.mark.parametrize(
    ("offsets", "ids"),
    [
        ([0, 2], [1]),
        ([1, 2], [1, 2]),
        ([0, 2, 1, 2], [1, 2]),
        ([0, 2], [2, 1]),
        ([0, 2], [1, 1]),
        ([0, 0, 2], [2, 1]),
        ([0, 1], [-1]),
    ],
)
def test_malformed_sets_are_refused(offsets, ids):
    with pytest.raises(ValueError, match=r"offsets|ascend|negative"):
        Sets(np.array(offsets, np.int64), np.array(ids, np.int32))
