"""The context features by their definitions, in plain Python over lists of facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import exp, sqrt

import numpy as np

from tflex.graph.facts import Facts
from tflex.models.predictors.context import (
    BESIDE,
    PRIOR,
    REACH,
    WIDTH_OF_WEIGHTS,
    WIDTHS,
    trace_names,
)

Event = tuple[int, int, int, int, int]
"""(subject, relation, object, start, end); each fact stands in both directions."""
Span = tuple[int, int]
NEAR_WEIGHTS = 30
ALIKE_REACH = 4


def tail(gap: int, width: int = WIDTH_OF_WEIGHTS) -> float:
    return exp(-gap / WIDTHS[width])


def side(time: int, start: int, end: int) -> int:
    """0: the event holds at the time; 1: it ended before; 2: it starts after."""
    return 1 if end < time else 2 if start > time else 0


def gap(time: int, start: int, end: int) -> int:
    return max(time - end, start - time, 0)


def trace(spans: Iterable[Span], time: int) -> list[float]:
    """At, before and after the time; before it by each width, after it by each width."""
    spans = list(spans)
    sides = [side(time, *span) for span in spans]
    found = [float(sides.count(which)) for which in range(3)]
    for which in (1, 2):
        found += [
            sum(
                exp(-gap(time, *one) / width)
                for one, at in zip(spans, sides, strict=True)
                if at == which
            )
            for width in WIDTHS
        ]
    return found


@dataclass
class Scalar:
    """Facts in both directions with the tables of which relations stand beside which."""

    facts: Facts
    relation_count: int
    events: list[Event] = field(init=False)

    def __post_init__(self) -> None:
        rows = list(zip(*(column.tolist() for column in self.facts.columns()[:5]), strict=True))
        count = self.relation_count
        self.events = [(s, r, o, a, b) for s, r, o, a, b in rows]
        self.events += [(o, r + count, s, a, b) for s, r, o, a, b in rows]
        self.total = Counter(event[1] for event in self.events)
        self.weights: Counter[tuple[int, int, int]] = Counter()
        self.beside: Counter[tuple[int, int, int]] = Counter()
        numbered = list(enumerate(self.events))
        for i, (s, r, o, a, b) in numbered:
            pair = [e for j, e in numbered if j != i and (e[0], e[2]) == (s, o)]
            for _, other, _, start, end in pair:
                self.weights[3, r, other] += 1 / len(pair)
                which = 1 if end < a else 2 if start > b else 0
                apart = {0: 0, 1: a - end, 2: start - b}[which]
                if apart <= NEAR_WEIGHTS:
                    self.weights[which, r, other] += tail(apart) if which else 1
            for j, (subject, other, object, start, _) in numbered:
                if j != i and subject == s and object != o and abs(start - a) <= BESIDE[1]:
                    which = 0 if start == a else 1 if start < a else 2
                    share = tail(abs(start - a), BESIDE[0]) if which else 1
                    self.beside[which, r, other] += share

    def weight(self, table: Counter[tuple[int, int, int]], which: int, r: int, other: int) -> float:
        return table[which, r, other] / (self.total[other] + PRIOR)

    def inverse(self, relation: int) -> int:
        return (relation + self.relation_count) % (2 * self.relation_count)

    def without(self, fact: tuple[int, int, int, int] | None) -> list[Event]:
        """The events without a fact (s, r, o, t) that holds at t, in either direction."""
        if fact is None:
            return self.events
        s, r, o, t = fact
        gone = {(s, r, o), (o, self.inverse(r), s)}
        return [e for e in self.events if (e[0], e[1], e[2]) not in gone or not e[3] <= t <= e[4]]

    def weighted(self, pair: list[Event], relation: int, time: int) -> list[float]:
        found = [0.0, 0.0, 0.0]
        for _, r, _, start, end in pair:
            which = side(time, start, end)
            share = tail(gap(time, start, end)) if which else 1
            found[which] += self.weight(self.weights, which, relation, r) * share
        return found

    def candidate(self, s: int, r: int, t: int, o: int,
                  left: tuple[int, int, int, int] | None = None) -> dict[str, float]:  # fmt: skip
        """Features of the candidate o for (s, r, ?, t), where `left` is a fact to leave out."""
        events = self.without(left)
        pair = [e for e in events if (e[0], e[2]) == (s, o)]
        found = self.pair(pair, r, t)
        found["weighted all"] = sum(self.weight(self.weights, 3, r, e[1]) for e in pair)
        at, near = 0.0, 0.0
        for _, _, middle, start, _ in (e for e in events if e[0] == s):
            if abs(start - t) > REACH:
                continue
            ends = [e for e in self.events if e[0] == middle and abs(e[3] - t) <= REACH]
            for _, _, end, second, _ in ends:
                if end == o:
                    at += (start == second == t) / sqrt(len(ends))
                    near += tail(abs(start - t), 0) * tail(abs(second - t), 0) / sqrt(len(ends))
        found |= {"paths at": at, "paths near": near}
        inverse = self.inverse(r)
        found |= named("r o", [e[3:] for e in events if e[:2] == (o, inverse)], t)
        return found | named("o", [e[3:] for e in events if e[0] == o], t)

    def pair(self, pair: list[Event], r: int, t: int) -> dict[str, float]:
        found = named("pair", [e[3:] for e in pair], t)
        found |= named("pair r", [e[3:] for e in pair if e[1] == r], t)
        found |= named("pair r⁻¹", [e[3:] for e in pair if e[1] == self.inverse(r)], t)
        weighted = self.weighted(pair, r, t)
        return found | dict(
            zip(("weighted at", "weighted before", "weighted after"), weighted, strict=True)
        )

    def question(self, s: int, r: int, t: int,
                 left: tuple[int, int, int, int] | None = None) -> dict[str, float]:  # fmt: skip
        """Features of (s, r, ?, t)."""
        events = self.without(left)
        found = named("s r", [e[3:] for e in events if e[:2] == (s, r)], t)
        found |= named("s", [e[3:] for e in events if e[0] == s], t)
        found |= named("r", [e[3:] for e in events if e[1] == r], t)
        beside = [0.0, 0.0, 0.0]
        for _, other, _, start, _ in (e for e in events if e[0] == s):
            if abs(start - t) <= BESIDE[1]:
                which = 0 if start == t else 1 if start < t else 2
                share = tail(abs(start - t), BESIDE[0]) if which else 1
                beside[which] += self.weight(self.beside, which, r, other) * share
        names = ("s beside at", "s beside before", "s beside after")
        return found | dict(zip(names, beside, strict=True))

    def moment(self, s: int, r: int, o: int, t: int, alike: np.ndarray,
               left: Span | None = None) -> dict[str, float]:  # fmt: skip
        """Features of the timestamp t for (s, r, o, ?), without the fact of these bounds."""
        events = self.events
        if left is not None:
            events = self.without((s, r, o, left[0]))
        inverse = self.inverse(r)
        found = self.pair([e for e in events if (e[0], e[2]) == (s, o)], r, t)
        at, near = 0.0, 0.0
        for _, _, middle, start, _ in (e for e in self.events if e[0] == s and e[2] not in (s, o)):
            for _, _, _, second, _ in (e for e in self.events if (e[0], e[2]) == (o, middle)):
                if abs(start - second) <= REACH:
                    at += start == second == t
                    near += 0.5 * tail(abs(start - second), 0) * ((start == t) + (second == t))
        found |= {"paths at": at, "paths near": near}
        found |= named("s r", [e[3:] for e in events if e[:2] == (s, r)], t)
        found |= named("r o", [e[3:] for e in events if e[:2] == (o, inverse)], t)
        found |= named("s", [e[3:] for e in events if e[0] == s], t)
        found |= named("o", [e[3:] for e in events if e[0] == o], t)
        found |= self.alike("o", s, o, r, t, alike)
        found |= self.alike("s", o, s, inverse, t, alike)
        return found | named("r", [e[3:] for e in events if e[1] == r], t)

    def alike(self, name: str, entity: int, other: int, relation: int, t: int,
              alike: np.ndarray) -> dict[str, float]:  # fmt: skip
        at = same = near = 0.0
        for _, r, end, first, last in (e for e in self.events if e[0] == entity and e[2] != other):
            likeness = max(float(alike[other] @ alike[end]), 0.0) ** 2
            apart = gap(t, first, last)
            at += likeness * (apart == 0)
            same += likeness * (apart == 0 and r == relation)
            near += likeness * tail(apart, 0) * (apart <= ALIKE_REACH)
        return {f"{name} alike at": at, f"{name} alike at r": same, f"{name} alike near": near}


def named(name: str, spans: Iterable[Span], time: int) -> dict[str, float]:
    return dict(zip(trace_names(name), trace(spans, time), strict=True))
