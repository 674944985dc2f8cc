"""The exact engine: an interpreter of queries on batched set values over the indexes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflex.exact.projection_kernels import project_entities, project_times, segment_table
from tflex.exact.values import Answers, EntitySets, TimeSets
from tflex.graph.facts import Ids
from tflex.graph.index import Index
from tflex.graph.temporal_graph import View
from tflex.query.algebra import (
    After,
    And,
    Before,
    Derived,
    EntityLiteral,
    Interpreter,
    Leaf,
    Next,
    Node,
    Not,
    Or,
    Pe,
    Program,
    Pt,
    RelationLiteral,
    Slot,
    Sort,
    TimeLiteral,
    topological,
)
from tflex.query.structures import Structure

EXACT = Interpreter("exact")

Sets = EntitySets | TimeSets

CHUNK = 4096
"""A batch is evaluated in chunks of so many queries, whose sets stay in the processor's cache."""

LARGEST_TABLE = 1 << 20


class Batch:
    """What a rule sees: the engine, the number of rows, and the anchors of each slot."""

    def __init__(self, engine: Engine, count: int, columns: dict[str, Ids]) -> None:
        self.engine = engine
        self.count = count
        self.columns = columns

    @property
    def entity_count(self) -> int:
        return self.engine.view.graph.entity_count

    @property
    def time_count(self) -> int:
        return self.engine.view.graph.time_count


class Engine:
    """Answers queries exactly on one view of a graph."""

    def __init__(self, view: View) -> None:
        self.view = view
        index = view.graph.index
        shared = (
            _table(index),
            index.subject_pointer,
            index.segment_subject,
            index.segment_relation,
            index.segment_pointer,
            index.relation_pointer,
            index.relation_segment,
        )
        level = np.uint8(view.level)
        self.by_time = (*shared, index.time_object, index.time_start, index.time_end,
                        index.time_level, index.is_points, level)  # fmt: skip
        self.by_object = (*shared, index.object_object, index.object_start, index.object_end,
                          index.object_level, level)  # fmt: skip
        self.chunk = CHUNK

    def answer(self, query: Node) -> Ids:
        """The answers of one bound query, sorted."""
        return self.prepare(query)()

    def prepare(self, query: Node) -> Callable[[], Ids]:
        """A query ready to be answered again and again; its anchors are looked up once."""
        batch = Batch(self, 1, {})
        program = EXACT.compile(query)
        # Evaluating the leaves here leaves the operators alone to each run.
        steps = [
            step._replace(rule=_constant(step.rule(batch, step.node)))
            if isinstance(step.node, Leaf)
            else step
            for step in program.steps
        ]
        prepared = Program(tuple(steps))

        def run() -> Ids:
            value: Sets = prepared.run(batch)
            return value.answers().ids

        return run

    def answer_batch(self, structure: Structure, anchors: NDArray[np.integer]) -> Answers:
        """The answers of many queries of one structure; a row of anchors is a query."""
        program = EXACT.compile(structure.body)
        return Answers.joined(
            [program.run(batch).answers() for _, batch in self._chunks(structure, anchors)]
        )

    def answer_and_check(
        self, structure: Structure, anchors: NDArray[np.integer]
    ) -> tuple[Answers, NDArray[np.bool_]]:
        """The answers, and which queries have a part (or a whole) that is the empty set.

        The parts are those that the structure is written with; what the definition of a derived
        operator does inside is its own affair.
        """
        program, parts = EXACT.compile(structure.body), []
        empty = np.zeros(len(anchors), bool)
        written = {id(_evaluated(node)) for node in topological(structure.body)}
        for rows, batch in self._chunks(structure, anchors):
            values = program.values(batch)
            for step, value in zip(program.steps, values, strict=True):
                if id(step.node) in written and not isinstance(step.node, Leaf):
                    empty[rows] |= value.is_empty()
            parts.append(values[-1].answers())
        return Answers.joined(parts), empty

    def _chunks(
        self, structure: Structure, anchors: NDArray[np.integer]
    ) -> Iterator[tuple[slice, Batch]]:
        """The queries in chunks, each with its rows."""
        columns = self.checked_columns(structure, anchors)
        for start in range(0, len(anchors), self.chunk):
            rows = slice(start, min(start + self.chunk, len(anchors)))
            part = {name: column[rows] for name, column in columns.items()}
            yield rows, Batch(self, rows.stop - start, part)

    def checked_columns(self, structure: Structure, anchors: NDArray[np.integer]) -> dict[str, Ids]:
        """The anchors of each slot, every id within its vocabulary."""
        graph = self.view.graph
        sizes = {
            Sort.ENTITY: graph.entity_count,
            Sort.TIME: graph.time_count,
            Sort.RELATION: 2 * graph.relation_count,
        }
        anchors = np.asarray(anchors)
        if anchors.ndim != 2 or anchors.shape[1] != structure.arity:
            raise ValueError(
                f"{structure.name} takes anchors of shape (queries, {structure.arity}), "
                f"not {anchors.shape}"
            )
        columns = {}
        for slot, column in zip(structure.parameters, anchors.T, strict=True):
            if len(column) and not (column.min() >= 0 and column.max() < sizes[slot.sort]):
                raise ValueError(f"{structure.name}: an anchor of {slot.name} is out of range")
            columns[slot.name] = np.ascontiguousarray(column, np.int32)
        return columns


def _evaluated(node: Node) -> Node:
    """The node that stands for this one where its definition is evaluated in its place."""
    while isinstance(node, Derived) and type(node) not in EXACT.rules:
        node = node.expanded()
    return node


def _table(index: Index) -> Ids:
    """The hash table of segments; none for a graph whose table the caches would not hold."""
    count = len(index.segment_subject)
    if not 0 < count <= LARGEST_TABLE:
        return np.empty(0, np.int32)
    size = 1 << (2 * count - 1).bit_length()
    table: Ids = segment_table(index.segment_subject, index.segment_relation, size)
    return table


def _constant(value: Any) -> Callable[..., Any]:
    return lambda *_: value


@EXACT.rule(Slot)
def _slot(batch: Batch, node: Slot) -> Sets | Ids:
    column = batch.columns[node.name]
    if node.sort is Sort.ENTITY:
        return EntitySets.single(column, batch.entity_count)
    if node.sort is Sort.TIME:
        return TimeSets.ranges(column, column, batch.time_count)
    return column


@EXACT.rule(EntityLiteral)
def _entities(batch: Batch, node: EntityLiteral) -> EntitySets:
    members = np.unique(np.array(node.members, np.int32))
    return EntitySets.repeated(members, batch.count, batch.entity_count)


@EXACT.rule(RelationLiteral)
def _relation(batch: Batch, node: RelationLiteral) -> Ids:
    return np.full(batch.count, node.value, np.int32)


@EXACT.rule(TimeLiteral)
def _times(batch: Batch, node: TimeLiteral) -> TimeSets:
    spans: list[Any] = list(node.members)
    return TimeSets.repeated(spans, batch.count, batch.time_count)


@EXACT.rule(Pe)
def _pe(batch: Batch, node: Pe, source: EntitySets, relation: Ids, when: TimeSets) -> EntitySets:
    offsets, ids = project_entities(
        *batch.engine.by_time, source.offsets, source.ids, source.complement, relation,
        *when.parts())  # fmt: skip
    return EntitySets(offsets, ids, False, source.universe)


@EXACT.rule(Pt)
def _pt(batch: Batch, node: Pt, source: EntitySets, relation: Ids, target: EntitySets) -> TimeSets:
    made = project_times(
        *batch.engine.by_object, source.offsets, source.ids, source.complement, relation,
        target.offsets, target.ids, target.complement, batch.time_count)  # fmt: skip
    return TimeSets.of(made, batch.time_count)


@EXACT.rule(And)
def _and(batch: Batch, node: And, *sets: Any) -> Sets:
    return reduce(lambda a, b: a.intersect(b), sets)


@EXACT.rule(Or)
def _or(batch: Batch, node: Or, *sets: Any) -> Sets:
    return reduce(lambda a, b: a.unite(b), sets)


@EXACT.rule(Not)
def _not(batch: Batch, node: Not, members: Any) -> Sets:
    return members.negate()


@EXACT.rule(After)
def _after(batch: Batch, node: After, times: TimeSets) -> TimeSets:
    return times.after()


@EXACT.rule(Before)
def _before(batch: Batch, node: Before, times: TimeSets) -> TimeSets:
    return times.before()


@EXACT.rule(Next)
def _next(batch: Batch, node: Next, times: TimeSets) -> TimeSets:
    return times.next()
