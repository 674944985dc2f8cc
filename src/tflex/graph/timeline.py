"""The timestamps of a graph, in time order, and the literals that name them."""

from __future__ import annotations

import calendar
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal, get_args

from tflex.errors import QueryError, UnknownName
from tflex.graph.vocab import Vocabulary

TimeUnit = Literal["day", "month", "year", "raw"]
TIME_UNITS: tuple[TimeUnit, ...] = get_args(TimeUnit)

_ISO = re.compile(r"(-?\d{1,6})(?:-(\d{1,2})(?:-(\d{1,2}))?)?$")

WHOLE = re.compile(r"[+-]?\d{1,18}", re.ASCII)
"""A whole number; `fullmatch` it."""

Period = tuple[tuple[int, int, int], tuple[int, int, int]]


def period(label: str) -> Period | None:
    """First and last day that a (possibly shortened) ISO date names, or None if it is none.

    >>> period("2014-02")
    ((2014, 2, 1), (2014, 2, 28))
    """
    match = _ISO.match(label.strip())
    if match is None:
        return None
    year = int(match[1])
    month = int(match[2]) if match[2] else None
    day = int(match[3]) if match[3] else None
    if month is None:
        return (year, 1, 1), (year, 12, 31)
    if not 1 <= month <= 12:
        return None
    last = month_length(year, month)
    if day is None:
        return (year, month, 1), (year, month, last)
    if not 1 <= day <= last:
        return None
    return (year, month, day), (year, month, day)


def month_length(year: int, month: int) -> int:
    """Days in a month of the proleptic Gregorian calendar, for any year, before Christ too."""
    if month == 2:
        return 29 if calendar.isleap(year) else 28
    return 30 if month in (4, 6, 9, 11) else 31


@dataclass(frozen=True)
class Timeline:
    """Timestamps with their unit. Ids follow time order, so a period is a range of ids."""

    labels: Vocabulary
    unit: TimeUnit

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, id: int) -> str:
        return self.labels[id]

    @cached_property
    def _bounds(self) -> tuple[list[tuple[int, int, int]], list[tuple[int, int, int]]]:
        periods = [period(label) for label in self.labels]
        known = [bounds for bounds in periods if bounds is not None]
        if len(known) != len(periods):
            return [], []
        return [first for first, _ in known], [last for _, last in known]

    @cached_property
    def _numbers(self) -> list[int]:
        """The stamps as whole numbers in their order; none where they are not."""
        if not all(map(WHOLE.fullmatch, self.labels)):
            return []
        numbers = [int(label) for label in self.labels]
        return numbers if all(a < b for a, b in pairwise(numbers)) else []

    def span(self, literal: str) -> tuple[int, int]:
        """The ids (first, last) that a stamp, a coarser ISO date or an interval `a/b` covers.

        An empty range has first > last: a period between two observed stamps holds none.
        """
        if literal in self.labels.ids:
            id = self.labels.ids[literal]
            return id, id
        left, slash, right = literal.partition("/")
        if self.unit == "raw":
            if not slash:
                raise UnknownName("timestamp", literal, self.labels.nearest(literal))
            return self._raw_span(literal, left.strip(), right.strip())
        first, last = period(left), period(right if slash else left)
        if first is None or last is None:
            bad = left if first is None else right
            raise QueryError(
                f'"{bad}" is no ISO date (this graph\'s timestamps run from '
                f'"{self.labels[0]}" to "{self.labels[len(self) - 1]}")'
            )
        if first[0] > last[1]:
            raise QueryError(f'the interval "{literal}" ends before it starts')
        starts, ends = self._bounds
        if last[1] < starts[0] or first[0] > ends[-1]:
            raise self._outside(literal)
        return bisect_left(ends, first[0]), bisect_right(starts, last[1]) - 1

    def _raw_span(self, literal: str, left: str, right: str) -> tuple[int, int]:
        """The same for an interval of raw stamps; bounds among numbers need not be stamps."""
        numbers = self._numbers
        if numbers and WHOLE.fullmatch(left) and WHOLE.fullmatch(right):
            low, high = int(left), int(right)
            first, last = bisect_left(numbers, low), bisect_right(numbers, high) - 1
        else:
            low, high = first, last = self.labels.id(left), self.labels.id(right)
        if low > high:
            raise QueryError(f'the interval "{literal}" ends before it starts')
        if first == len(self) or last < 0:
            raise self._outside(literal)
        return first, last

    def _outside(self, literal: str) -> QueryError:
        return QueryError(
            f'"{literal}" lies outside this graph\'s timestamps, '
            f'"{self.labels[0]}" to "{self.labels[len(self) - 1]}"'
        )

    @classmethod
    def of(cls, labels: Iterable[str], unit: TimeUnit) -> Timeline:
        return cls(Vocabulary("timestamp", labels), unit)
