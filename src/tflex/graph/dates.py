"""How a written time becomes a range of numbers in time order, and back into a label.

A *clock* reads texts into ranges `(low, high)` of ordinals: days, months or years since 1970 on the
proleptic Gregorian calendar (year 0 exists, years before are negative), whole numbers as they are,
or ranks of any other text. What is unknown in a date widens its range, and what is finer than the
unit is cut off.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tflex.graph.timeline import WHOLE, TimeUnit, month_length

Range = tuple[int, int]

_HOUR = r"(?:[01]?\d|2[0-4]):[0-5]\d(?::[0-6]\d(?:[.,]\d+)?)?"
_ZONE = r"(?:Z|UTC|[+-]\d{2}(?::?\d{2})?)?"
_YEAR = r"([-+]?)(\d{1,6}|\d{1,5}#{1,5})"
_DATE = re.compile(
    rf"{_YEAR}(?:([-/])(\d+|#+)(?:\3(\d+|#+)(?:[T ]\s*{_HOUR}\s*{_ZONE})?)?)?", re.ASCII
)
_COMPACT = re.compile(r"(\d{4})(\d\d)(\d\d)", re.ASCII)
_UNKNOWN = re.compile(r"-?#+(?:[-/]#+){0,2}")
_PART = r"(?:0?[1-9]|[12]\d|3[01])"
_AMBIGUOUS = re.compile(
    rf"(?:{_PART}([-/.]){_PART}\1(?:\d{{4}}|\d\d)|\d\d([-/]){_PART}\2{_PART}|{_PART}[-/]\d{{4}})"
    r"(?:[T ,].*)?",
    re.ASCII,
)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,2})?", re.ASCII)
LIKELY_YEARS = range(1000, 3000)
"""Whole numbers that are taken for years where nothing else tells what they are."""


def is_unknown(text: str) -> bool:
    """Whether a text says that the time is not known: nothing at all, or `####-##-##`."""
    return not text or _UNKNOWN.fullmatch(text) is not None


def is_ambiguous(text: str) -> bool:
    """Whether a text is a date in which day, month or a short year may come first: `1/2/20`."""
    return _AMBIGUOUS.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Date:
    """A date as written: a range of years, then month and day, each known, open or unreadable."""

    years: Range
    month: int | None
    day: int | None
    unreadable: TimeUnit | None = None
    """The coarsest part that is no part of a calendar; everything before it reads."""

    @property
    def precision(self) -> TimeUnit:
        if self.month is None:
            return "year"
        return "month" if self.day is None else "day"


def read_date(text: str) -> Date | None:
    """The date that a text writes, or None where not even its year reads.

    >>> read_date("195#-##-##").years
    (1950, 1959)
    """
    compact = _COMPACT.fullmatch(text)
    if compact is not None:
        date = _date((int(compact[1]),) * 2, compact[2], compact[3])
        return None if date.day is None else date
    match = _DATE.fullmatch(text)
    if match is None:
        return None
    if not match[1] and len(match[2]) <= 2 and (match[4] or "").isdigit() and "#" not in match[2]:
        return None  # As likely a day or a month.
    low, high = int(match[2].replace("#", "0")), int(match[2].replace("#", "9"))
    return _date((-high, -low) if match[1] == "-" else (low, high), match[4], match[5])


def _date(years: Range, month_text: str | None, day_text: str | None) -> Date:
    low, high = years
    if low != high or month_text is None or _is_open(month_text):
        return Date(years, None, None)
    month = int(month_text)
    if not 1 <= month <= 12:
        return Date(years, None, None, "month")
    if day_text is None or _is_open(day_text):
        return Date(years, month, None)
    day = int(day_text)
    if not 1 <= day <= month_length(low, month):
        return Date(years, month, None, "day")
    return Date(years, month, day)


def _is_open(part: str) -> bool:
    """Whether a month or day is left open: `##`, or `00` as in Wikidata."""
    return "#" in part or part == "00"


class Clock(Protocol):
    """Texts to ranges of ordinals and ordinals to labels, in one unit."""

    @property
    def unit(self) -> TimeUnit: ...

    def read(self, text: str) -> Range | None: ...

    def irregular(self, text: str) -> bool:
        """Whether a text that reads has a part finer than the unit that does not."""
        ...

    def labels(self, ordinals: NDArray[np.int64]) -> list[str]: ...


@dataclass(frozen=True)
class Calendar:
    """Days, months or years since 1970."""

    unit: TimeUnit

    def read(self, text: str) -> Range | None:
        date = read_date(text)
        if date is None or not self._readable(date):
            return None
        (first, last), month, day = date.years, date.month, date.day
        if self.unit == "year":
            return first - 1970, last - 1970
        low, high = _months(first, month or 1), _months(last, month or 12)
        if self.unit == "month":
            return low, high
        return _days(low, day or 1), _days(high, day or month_length(last, month or 12))

    def _readable(self, date: Date) -> bool:
        finer = {"year": (None, "month", "day"), "month": (None, "day"), "day": (None,)}
        return date.unreadable in finer[self.unit]

    def irregular(self, text: str) -> bool:
        date = read_date(text)
        return date is not None and date.unreadable is not None

    def labels(self, ordinals: NDArray[np.int64]) -> list[str]:
        if self.unit == "year":
            return [str(year + 1970) for year in ordinals.tolist()]
        code = {"day": "D", "month": "M"}[self.unit]
        return [str(text) for text in np.datetime_as_string(ordinals.astype(f"datetime64[{code}]"))]


def _months(year: int, month: int) -> int:
    return (year - 1970) * 12 + month - 1


def _days(months: int, day: int) -> int:
    return int(np.datetime64(months, "M").astype("datetime64[D]").astype(np.int64)) + day - 1


@dataclass(frozen=True)
class Numbers:
    """Whole numbers, each a unit of its own."""

    unit: TimeUnit = "raw"

    def read(self, text: str) -> Range | None:
        return (int(text), int(text)) if WHOLE.fullmatch(text) else None

    def irregular(self, text: str) -> bool:
        return False

    def labels(self, ordinals: NDArray[np.int64]) -> list[str]:
        return [str(number) for number in ordinals.tolist()]


@dataclass(frozen=True)
class Stamps:
    """Texts in an order that is known: ordinals are their ranks."""

    order: Sequence[str]
    unit: TimeUnit = "raw"
    guessed: bool = False
    """Whether the order is that of the letters and nobody has asked for it."""

    @cached_property
    def ranks(self) -> dict[str, int]:
        return {text: rank for rank, text in enumerate(self.order)}

    def read(self, text: str) -> Range | None:
        rank = self.ranks.get(text)
        return None if rank is None else (rank, rank)

    def irregular(self, text: str) -> bool:
        return False

    def labels(self, ordinals: NDArray[np.int64]) -> list[str]:
        return [self.order[rank] for rank in ordinals.tolist()]


def choose_clock(texts: Mapping[str, int], unit: TimeUnit | None = None) -> Clock:
    """The clock of a graph whose times are these texts (each with the number of its uses).

    Without a unit: dates where at least half of the uses are dates, in the unit that most of them
    are written in; otherwise raw. Raw times are numbers where at least half are, and otherwise
    stand in the order of their texts; ambiguous dates, for which that order is wrong, are no times
    unless raw was asked for.
    """
    known = {text: uses for text, uses in texts.items() if not is_unknown(text)}
    half = sum(known.values()) / 2
    asked, unit = unit is not None, unit or detect_unit(known)
    if unit != "raw":
        return Calendar(unit)
    numbers = [text for text in known if _NUMBER.fullmatch(text)]
    if _uses(known, numbers) >= half:
        if all(map(WHOLE.fullmatch, numbers)):
            return Numbers()
        return Stamps(sorted(numbers, key=lambda text: (float(text), text)))
    return Stamps(
        sorted(text for text in known if asked or not is_ambiguous(text)), guessed=not asked
    )


def detect_unit(texts: Mapping[str, int]) -> TimeUnit:
    """The unit that most of the dates are written in; raw where most texts are no dates."""
    whole = [text for text in texts if WHOLE.fullmatch(text)]
    votes: Counter[TimeUnit] = Counter()
    for text in texts.keys() - whole:
        date = read_date(text)
        if date is not None:
            votes[date.precision] += texts[text]
    bare, half = _uses(texts, whole), sum(texts.values()) / 2
    if bare > votes.total():
        compact = [text for text in whole if _COMPACT.fullmatch(text) and read_date(text)]
        if _uses(texts, compact) >= half:
            return "day"
        # Numbers that are not years reach far: half of 0 … 4,016 would pass for years.
        return "year" if all(int(text) in LIKELY_YEARS for text in whole) else "raw"
    votes["year"] += bare
    if votes.total() < half:
        return "raw"
    finest_first: tuple[TimeUnit, ...] = ("day", "month", "year")
    return max(finest_first, key=lambda unit: votes[unit])


def _uses(texts: Mapping[str, int], some: Iterable[str]) -> int:
    return sum(texts[text] for text in some)
