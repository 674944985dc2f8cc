"""What literals of times cover, and which are errors."""

from __future__ import annotations

import pytest

from tflex.errors import QueryError
from tflex.graph.timeline import Timeline

DAYS = Timeline.of(["2014-01-01", "2014-01-05", "2014-02-01"], "day")
NUMBERS = Timeline.of(["0", "5", "17"], "raw")
WORDS = Timeline.of(["early", "middle", "late"], "raw")


@pytest.mark.parametrize(
    ("timeline", "literal", "span"),
    [
        (DAYS, "2014-01", (0, 1)),
        (DAYS, "2014-01-05/2015", (1, 2)),
        (DAYS, "2014-01-02/2014-01-04", (1, 0)),
        (NUMBERS, "1/9", (1, 1)),
        (NUMBERS, "-3 / 5", (0, 1)),
        (NUMBERS, "6/9", (2, 1)),
        (WORDS, "early/late", (0, 2)),
    ],
)
def test_a_literal_covers_a_range(timeline: Timeline, literal: str, span: tuple[int, int]) -> None:
    assert timeline.span(literal) == span


@pytest.mark.parametrize(
    ("timeline", "literal", "message"),
    [
        (DAYS, "2015", "lies outside"),
        (DAYS, "2015-01-01/2015-02-01", "lies outside"),
        (DAYS, "2013/2013-12-31", "lies outside"),
        (DAYS, "2014-02/2014-01", "ends before it starts"),
        (NUMBERS, "18/30", 'lies outside this graph\'s timestamps, "0" to "17"'),
        (NUMBERS, "17/5", "ends before it starts"),
        (NUMBERS, "7", "unknown timestamp"),
        (WORDS, "late/early", "ends before it starts"),
        (WORDS, "1/9", "unknown timestamp"),
    ],
)
def test_a_literal_that_covers_nothing_for_sure_is_an_error(
    timeline: Timeline, literal: str, message: str
) -> None:
    with pytest.raises(QueryError, match=message):
        timeline.span(literal)
