"""Times as they are written: what they mean in each unit, and which unit a file is in."""

from __future__ import annotations

import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tflex.graph.dates import Calendar, Numbers, Stamps, choose_clock, detect_unit, is_unknown
from tflex.graph.timeline import TimeUnit


def span(text: str, unit: TimeUnit) -> tuple[str, str] | None:
    """The labels of the first and last unit that a text means."""
    clock = Calendar(unit)
    range = clock.read(text)
    if range is None:
        return None
    first, last = clock.labels(np.array(range))
    return first, last


@pytest.mark.parametrize(
    ("text", "unit", "first", "last"),
    [
        ("2014-02-03", "day", "2014-02-03", "2014-02-03"),
        ("2014-02-03", "month", "2014-02", "2014-02"),
        ("2014-02-03", "year", "2014", "2014"),
        ("2014-02", "day", "2014-02-01", "2014-02-28"),
        ("2012-02-##", "day", "2012-02-01", "2012-02-29"),
        ("1952-##-##", "day", "1952-01-01", "1952-12-31"),
        ("1952-##-##", "month", "1952-01", "1952-12"),
        ("1952-##-##", "year", "1952", "1952"),
        ("195#-##-##", "year", "1950", "1959"),
        ("19##-##-##", "year", "1900", "1999"),
        ("19##", "day", "1900-01-01", "1999-12-31"),
        ("-431-##-##", "year", "-431", "-431"),
        ("-43#-##-##", "year", "-439", "-430"),
        ("-431-03-01", "day", "-431-03-01", "-431-03-01"),
        ("97-##-##", "year", "97", "97"),
        ("360-07-04", "day", "0360-07-04", "0360-07-04"),
        ("2014-01-01T10:00:00", "day", "2014-01-01", "2014-01-01"),
        ("2014-01-01 23:59:59.123+02:00", "day", "2014-01-01", "2014-01-01"),
        ("2014-01-01T10:00Z", "month", "2014-01", "2014-01"),
        ("2014/1/5", "day", "2014-01-05", "2014-01-05"),
        ("20140105", "day", "2014-01-05", "2014-01-05"),
        ("+1952-03-04T00:00:00Z", "day", "1952-03-04", "1952-03-04"),
        ("+1955-00-00T00:00:00Z", "day", "1955-01-01", "1955-12-31"),
        ("0012-05-20", "month", "0012-05", "0012-05"),
        ("-44-03-15", "month", "-044-03", "-044-03"),
        ("307-13047-09", "year", "307", "307"),
        ("2014-02-30", "month", "2014-02", "2014-02"),
    ],
)
def test_a_date_means_a_range_of_units(text: str, unit: TimeUnit, first: str, last: str) -> None:
    assert span(text, unit) == (first, last)


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("2014-02-30", "day"),
        ("2014-13-01", "day"),
        ("2014-13-01", "month"),
        ("307-13047-09", "day"),
        ("2014-01-01T25:00", "day"),
        ("20141301", "year"),
        ("2014-01/01", "day"),
        ("1/5/2014", "day"),
        ("12/5/20", "year"),
        ("25/12/2020", "year"),
        ("25-12-2020", "month"),
        ("12-05", "year"),
        ("20140000", "year"),
        ("soon", "year"),
        ("2014-01-01-01", "year"),
        ("1#5#-##-##", "year"),
        ("٢٠١٤", "year"),
    ],
)
def test_a_text_that_is_no_date_does_not_read(text: str, unit: TimeUnit) -> None:
    assert Calendar(unit).read(text) is None


def test_an_unreadable_part_is_irregular_but_an_open_one_is_not() -> None:
    clock = Calendar("year")
    assert clock.irregular("307-13047-09")
    assert clock.irregular("1963-64-65")
    assert not clock.irregular("1963-##-##")
    assert not clock.irregular("1963-12-31")


@given(st.dates())
def test_days_agree_with_the_calendar_of_the_standard_library(day: datetime.date) -> None:
    expected = (day - datetime.date(1970, 1, 1)).days
    assert Calendar("day").read(day.isoformat()) == (expected, expected)
    assert Calendar("day").labels(np.array([expected])) == [day.isoformat()]


@given(st.integers(-9999, 9999), st.sampled_from(["day", "month", "year"]))
def test_labels_read_back(ordinal: int, unit: TimeUnit) -> None:
    clock = Calendar(unit)
    (label,) = clock.labels(np.array([ordinal]))
    assert clock.read(label) == (ordinal, ordinal)


def test_unknown_times() -> None:
    assert all(map(is_unknown, ["", "####-##-##", "####", "##"]))
    assert not any(map(is_unknown, ["1952-##-##", "-", "?", "#1"]))


@pytest.mark.parametrize(
    ("uses", "unit"),
    [
        ({"2014-01-01": 3, "2014": 1}, "day"),
        ({"2014-01-01": 1, "1952-##-##": 2}, "year"),
        ({"2014-01": 2, "2014-01-05": 1}, "month"),
        ({"2014": 1, "1066": 1}, "year"),
        ({"0": 1, "24": 1, "2014": 1}, "raw"),
        ({"20140101": 1, "20141231": 1}, "day"),
        ({"2014-01-01": 9, "soon": 1}, "day"),
        ({"soon": 9, "2014-01-01": 1}, "raw"),
        ({"2014-01-01": 5, "2014": 3, "12": 1}, "day"),
        ({"0": 5, "1": 5, "oops": 1}, "raw"),
    ],
)
def test_the_unit_is_the_one_most_times_are_written_in(uses: dict[str, int], unit: str) -> None:
    assert detect_unit(uses) == unit


def test_raw_times_are_numbers_where_most_are() -> None:
    assert isinstance(choose_clock({"2": 1, "10": 1, "x": 1}, "raw"), Numbers)
    assert choose_clock({"2.5": 1, "10.5": 1}) == Stamps(["2.5", "10.5"])
    assert choose_clock({"3": 1, "10": 1, "2.5": 1}) == Stamps(["2.5", "3", "10"])
    assert choose_clock({"b": 1, "a": 2, "": 9}, "raw") == Stamps(["a", "b"])


def test_texts_are_no_times_where_they_are_ambiguous_dates() -> None:
    texts = (
        "b",
        "1/2/20",
        "25.12.2020",
        "12/2020",
        "99-12-31",
        "1.0.10",
        "10-20-30-40",
        "40/50/60",
    )
    order = ["1.0.10", "10-20-30-40", "40/50/60", "b"]
    assert choose_clock(dict.fromkeys(texts, 1)) == Stamps(order, guessed=True)
    assert choose_clock(dict.fromkeys(texts, 1), "raw") == Stamps(sorted(texts))
