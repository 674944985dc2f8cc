"""Frequency baselines: the objects and timestamps that are most common for a relation.

A query is folded over vectors of degrees. `Pe(S, r, Q)` is how often each entity is the object of
r, `Pt(S, r, O)` how often r holds at each timestamp, as shares that sum to 1, whatever S, Q and O
are. With `by="subject"` and an anchor as S, counts of (s, r) replace those of r as far as there
are any: (n_sr(x) + P(x | r)) / (n_sr + 1); `Pt` with an anchor as O alone is read backwards, as
`Pt(O, r⁻¹, S)`.

`And` multiplies, `Or` takes the maximum, `Not` is 1 − x. Over a time drawn in proportion to the
degrees of Q, `after(Q)(t)` is the chance that it is before t, `before(Q)(t)` that it is after t;
`next` shifts.
"""

from __future__ import annotations

from functools import reduce
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tflex.graph.facts import Ids
from tflex.graph.temporal_graph import View
from tflex.query.algebra import (
    After,
    And,
    Before,
    Interpreter,
    Next,
    Node,
    Not,
    Or,
    Pe,
    Pt,
    Slot,
    Sort,
)
from tflex.query.published import STRUCTURES
from tflex.query.structures import Structures

Degrees = NDArray[np.float32]
By = Literal["relation", "subject"]

FREQUENCY = Interpreter("frequency")

ROWS = 256
"""Queries evaluated at once: every part of a query is a dense matrix of degrees."""


class FrequencyReasoner:
    """Ranks by how common an object or timestamp is for r, or for (s, r), in a view."""

    def __init__(self, view: View, by: By = "relation",
                 structures: Structures = STRUCTURES) -> None:  # fmt: skip
        self.name = {"relation": "frequency (r)", "subject": "frequency (s, r)"}[by]
        self.structures = structures
        self.graph = view.graph
        facts = view.graph.facts
        facts = facts.take(facts.level <= view.level)
        count = view.graph.relation_count
        both = np.concatenate
        relation = both([facts.relation, facts.relation + np.int32(count)])
        subject = both([facts.subject, facts.object])
        columns = (both([facts.object, facts.subject]), both([facts.start] * 2),
                   both([facts.end] * 2))  # fmt: skip
        self.by_relation = _Groups.of(relation.astype(np.int64), *columns)
        pair = subject.astype(np.int64) * (2 * count) + relation
        self.by_pair = _Groups.of(pair, *columns) if by == "subject" else None

    def scores(self, structure: str, anchors: NDArray[np.integer]) -> Degrees:
        """Degrees of all entities or timestamps, [n, candidates]."""
        query = self.structures[structure]
        program = FREQUENCY.compile(query.body)
        found = []
        for start in range(0, len(anchors), ROWS):
            rows = np.asarray(anchors[start : start + ROWS], np.int32)
            columns = {slot.name: rows[:, i] for i, slot in enumerate(query.parameters)}
            batch = _Batch(self, len(rows), columns)
            found.append(batch.degrees(query.body, program.run(batch)))
        return np.concatenate(found) if found else np.empty((0, self.width(query.sort)), np.float32)

    def width(self, sort: Sort) -> int:
        return self.graph.entity_count if sort is Sort.ENTITY else self.graph.time_count

    def common(self, sort: Sort, relation: Ids, subject: Ids | None) -> Degrees:
        """P(x | r), or with subjects (n_sr(x) + P(x | r)) / (n_sr + 1)."""
        counts = self.by_relation.counts(relation, sort, self.width(sort))
        shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
        if self.by_pair is None or subject is None:
            return shares
        pair = subject.astype(np.int64) * (2 * self.graph.relation_count) + relation
        counts = self.by_pair.counts(pair, sort, self.width(sort))
        return (counts + shares) / (counts.sum(1, keepdims=True) + 1)


class _Groups(NamedTuple):
    """Facts in groups of one key: group g is rows `pointer[g]:pointer[g + 1]`."""

    keys: NDArray[np.int64]
    pointer: NDArray[np.int64]
    object: Ids
    start: Ids
    end: Ids

    @classmethod
    def of(cls, key: NDArray[np.int64], *columns: Ids) -> _Groups:
        order = np.argsort(key, kind="stable")
        keys, first = np.unique(key[order], return_index=True)
        return cls(keys, np.append(first, len(key)), *(column[order] for column in columns))

    def counts(self, wanted: NDArray, sort: Sort, width: int) -> Degrees:
        """How often each entity is the object, or how many facts hold at each timestamp."""
        distinct, place = np.unique(wanted, return_inverse=True)
        group = np.searchsorted(self.keys, distinct)
        there = np.append(self.keys, -1)[group] == distinct
        sizes = np.where(there, np.diff(self.pointer, append=0)[group], 0)
        row = np.repeat(np.arange(len(distinct)), sizes)
        offsets = np.cumsum(sizes) - sizes
        fact = np.repeat(self.pointer[group] - offsets, sizes) + np.arange(sizes.sum())
        shape = (len(distinct), width + 1)

        def tally(column: Ids) -> NDArray[np.int64]:
            return np.bincount(row * shape[1] + column[fact], minlength=shape[0] * shape[1])

        if sort is Sort.ENTITY:
            table = tally(self.object)
        else:
            # A fact holds from its start on, and no more from the stamp after its end on.
            table = (tally(self.start) - tally(self.end + 1)).reshape(shape).cumsum(1)
        return table.reshape(shape)[place, :width].astype(np.float32)


class _Batch(NamedTuple):
    """What a rule sees: the reasoner, the number of rows, and the anchors of each slot."""

    reasoner: FrequencyReasoner
    size: int
    columns: dict[str, Ids]

    def degrees(self, node: Node, value: Any) -> Degrees:
        """The value of a set as degrees; anchors have degree 1."""
        if value.ndim == 2:
            return value
        made = np.zeros((self.size, self.reasoner.width(node.sort)), np.float32)
        made[np.arange(self.size), value] = 1
        return made

    def projected(self, node: Node, source: Any, relation: Ids) -> Degrees:
        """An anchor as source is still a column of ids."""
        return self.reasoner.common(node.sort, relation, source if source.ndim == 1 else None)


@FREQUENCY.rule(Slot)
def _slot(batch: _Batch, node: Slot) -> Ids:
    return batch.columns[node.name]


@FREQUENCY.rule(Pe)
def _pe(batch: _Batch, node: Pe, source: Any, relation: Ids, when: Any) -> Degrees:
    return batch.projected(node, source, relation)


@FREQUENCY.rule(Pt)
def _pt(batch: _Batch, node: Pt, source: Any, relation: Ids, target: Any) -> Degrees:
    if source.ndim == 2 and target.ndim == 1:
        count = batch.reasoner.graph.relation_count
        return batch.projected(node, target, (relation + count) % (2 * count))
    return batch.projected(node, source, relation)


@FREQUENCY.rule(And)
def _and(batch: _Batch, node: And, *sets: Any) -> Degrees:
    return reduce(np.multiply, (batch.degrees(node, one) for one in sets))


@FREQUENCY.rule(Or)
def _or(batch: _Batch, node: Or, *sets: Any) -> Degrees:
    return reduce(np.maximum, (batch.degrees(node, one) for one in sets))


@FREQUENCY.rule(Not)
def _not(batch: _Batch, node: Not, members: Any) -> Degrees:
    return 1 - batch.degrees(node, members)


@FREQUENCY.rule(After)
def _after(batch: _Batch, node: After, times: Any) -> Degrees:
    return _cumulated(batch.degrees(node, times))


@FREQUENCY.rule(Before)
def _before(batch: _Batch, node: Before, times: Any) -> Degrees:
    return _cumulated(batch.degrees(node, times)[:, ::-1])[:, ::-1]


@FREQUENCY.rule(Next)
def _next(batch: _Batch, node: Next, times: Any) -> Degrees:
    shifted = np.zeros_like(degrees := batch.degrees(node, times))
    shifted[:, 1:] = degrees[:, :-1]
    return shifted


def _cumulated(degrees: Degrees) -> Degrees:
    """The share of the degrees that stands before each column; 1 where there is none at all."""
    total = degrees.sum(1, keepdims=True)
    before = np.cumsum(degrees, axis=1) - degrees
    return np.where(total > 0, before / np.where(total > 0, total, 1), 1).astype(np.float32)
