"""Grounding: choose the anchors of a structure so that its answer is not empty.

Every operator has one rule that *completes* it: given members known of its result and of some of
its arguments, it picks the members that are missing. `Pe` and `Pt` complete a fact, `And` takes one
member for all, `Not` leaves its argument free, `After` an earlier time, and so on. A block of rows
starts at one atom (a `Pe` or `Pt` node) with a fact each, goes up to the root, then down to every
slot. Starting at the root's atom this is the paper's inverse sampling, starting at a deeper one its
bi-directional sampling. Nothing that comes out is trusted: the engine answers it again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflex.errors import QueryError
from tflex.graph.facts import Facts, Ids
from tflex.graph.temporal_graph import TemporalGraph
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
    expand,
    topological,
)
from tflex.query.structures import Structure
from tflex.sampling.grounding_kernels import (
    UNKNOWN,
    complete_facts,
    hash_columns,
    numbers_below,
    numbers_between,
)

Members = Ids | None
"""A wanted member in each row (-1: could not be found), or None: any will do."""

Completed = tuple[Members, list[Members]]
"""The members of a node's result and of its arguments."""

GROUNDING = Interpreter("grounding")
"""`rule(block, node, result, arguments) -> (result, arguments)`; not a fold."""


class FactPool:
    """Directed facts from which a fact can be chosen by subject, by object or by time."""

    def __init__(
        self, facts: Facts, entity_count: int, relation_count: int, time_count: int
    ) -> None:
        both = Facts(
            np.concatenate((facts.subject, facts.object)),
            np.concatenate((facts.relation, facts.relation + np.int32(relation_count))),
            np.concatenate((facts.object, facts.subject)),
            np.tile(facts.start, 2),
            np.tile(facts.end, 2),
            np.tile(facts.level, 2),
        )
        order = np.lexsort((both.start, both.object, both.relation, both.subject))
        rows = both.take(order)
        self.relation_count = relation_count
        self.rows = rows
        pointer = np.searchsorted(rows.subject, np.arange(entity_count + 1))
        by_start = np.argsort(rows.start, kind="stable")
        start_pointer = np.searchsorted(rows.start[by_start], np.arange(time_count + 1))
        ends = np.empty(0, np.int32) if facts.is_points() else rows.end
        self._arrays: tuple[Any, ...] = (
            *(pointer, rows.subject, rows.relation, rows.object, rows.start, ends),
            *(by_start, start_pointer, relation_count),
        )

    def __len__(self) -> int:
        return len(self.rows)

    def complete(self, count: int, subject: Members, relation: Members, object: Members,
                 time: Members, seed: np.uint64) -> tuple[Ids, Ids, Ids, Ids]:  # fmt: skip
        """Facts that agree with what is known; rows without one are -1."""
        free = np.full(count, UNKNOWN, np.int32)
        columns = [
            free.copy() if column is None else column.copy()
            for column in (subject, relation, object, time)
        ]
        failed = np.zeros(count, bool)
        for column in (subject, relation, object, time):
            if column is not None:
                failed |= column == UNKNOWN
        complete_facts(*self._arrays, *columns, seed)
        for column in columns:
            column[failed] = UNKNOWN
        return columns[0], columns[1], columns[2], columns[3]


@dataclass(frozen=True)
class Pools:
    """From what the atoms of a split are grounded: any fact of its view, and its own facts."""

    every: FactPool
    own: FactPool

    @classmethod
    def of(cls, graph: TemporalGraph, level: int) -> Pools:
        """For training queries the two are the same."""
        facts = graph.facts
        sizes = (graph.entity_count, graph.relation_count, graph.time_count)
        every = FactPool(facts.take(facts.level <= level), *sizes)
        own = every if level == 0 else FactPool(facts.take(facts.level == level), *sizes)
        return cls(every, own)


class Block:
    """The state of one block of rows while it is grounded; what the rules see."""

    def __init__(self, pools: Pools, graph: TemporalGraph, count: int,
                 generator: np.random.Generator, held_out: frozenset[int]) -> None:  # fmt: skip
        self.pools = pools
        self.graph = graph
        self.count = count
        self.generator = generator
        self.held_out = held_out
        """Identities of the atoms that are grounded on the split's own facts."""
        self.fact_keys: list[NDArray[np.uint64]] = []

    def seed(self) -> np.uint64:
        return np.uint64(self.generator.integers(0, 2**63))

    def complete_fact(self, node: Node, subject: Members, relation: Members, object: Members,
                      time: Members) -> tuple[Ids, Ids, Ids, Ids]:  # fmt: skip
        """A fact for an atom, from the pool that the atom is due."""
        pool = self.pools.own if id(node) in self.held_out else self.pools.every
        fact = pool.complete(self.count, subject, relation, object, time, self.seed())
        self.remember(*fact)
        return fact

    def remember(self, subject: Ids, relation: Ids, object: Ids, time: Ids) -> None:
        """Keep which fact an atom stands on, whichever way round it was read."""
        count = self.graph.relation_count
        backward = relation >= count
        columns = np.stack((
            np.where(backward, object, subject),
            np.where(backward, relation - count, relation),
            np.where(backward, subject, object),
            time,
        ))  # fmt: skip
        self.fact_keys.append(hash_columns(np.uint64(0), columns.astype(np.uint64)))

    def repeats_a_fact(self) -> NDArray[np.bool_]:
        """Rows of which two atoms stand on one fact."""
        if len(self.fact_keys) < 2:
            return np.zeros(self.count, bool)
        keys = np.sort(np.stack(self.fact_keys), axis=0)
        return (keys[1:] == keys[:-1]).any(axis=0)

    def random_members(self, sort: Sort) -> Ids:
        """Members as facts have them: the object or the time of a fact of the view."""
        rows = self.pools.every.rows
        at = numbers_below(len(rows), self.count, self.seed())
        return rows.object[at] if sort is Sort.ENTITY else rows.start[at]


@dataclass(frozen=True, eq=False)
class Outline:
    """A structure in the form in which it is grounded: derived operators expanded."""

    structure: Structure
    body: Node
    order: tuple[Node, ...]
    """Nodes, arguments first."""

    @classmethod
    def of(cls, structure: Structure) -> Outline:
        body = expand(structure.body)
        outline = cls(structure, body, tuple(topological(body)))
        for node in outline.order:
            if not isinstance(node, Slot):
                GROUNDING.rule_of(node)
        if not outline.atoms:
            raise QueryError(f"{structure.name} asks for no fact: it has neither Pe nor Pt")
        return outline

    @cached_property
    def atoms(self) -> list[Node]:
        return [node for node in self.order if isinstance(node, Pe | Pt)]

    @cached_property
    def growing_atoms(self) -> list[Node]:
        """The atoms whose new facts can only add answers; all atoms where there is none.

        An atom below a negation, `after` or `before` takes answers away.
        """
        positive: set[int] = {id(self.body)}
        for node in reversed(self.order):
            if id(node) in positive and not isinstance(node, Not | After | Before):
                positive.update(id(argument) for argument in node.arguments)
        return [atom for atom in self.atoms if id(atom) in positive] or self.atoms

    def path_to_root(self, start: Node) -> list[Node]:
        """The nodes above a node, nearest first, along the first use of each."""
        path: list[Node] = []
        below = start
        while below is not self.body:
            below = next(
                node for node in self.order if any(argument is below for argument in node.arguments)
            )
            path.append(below)
        return path

    def ground(self, block: Block, start: Node, facts: tuple[Ids, Ids, Ids, Ids]) -> Ids:
        """Anchors [rows, slots] with the start atom on the given facts; -1 where none was found."""
        members: dict[int, Members] = {}
        done: set[int] = set()

        def settle(node: Node, completed: Completed) -> None:
            result, arguments = completed
            members[id(node)] = result
            for argument, value in zip(node.arguments, arguments, strict=True):
                if members.get(id(argument)) is None:
                    members[id(argument)] = value
            done.add(id(node))

        def complete(node: Node) -> None:
            known = [members.get(id(argument)) for argument in node.arguments]
            rule = GROUNDING.rule_of(node)
            settle(node, rule(block, node, members.get(id(node)), known))

        subject, relation, object, time = facts
        block.remember(*facts)
        if isinstance(start, Pe):
            settle(start, (object, [subject, relation, time]))
        else:
            settle(start, (time, [subject, relation, object]))
        for node in self.path_to_root(start):
            complete(node)
        for node in reversed(self.order):
            if id(node) not in done and not isinstance(node, Slot):
                complete(node)
        return np.stack(
            [
                self._anchor(block, slot, members.get(id(slot)))
                for slot in self.structure.parameters
            ],
            axis=1,
        )

    @staticmethod
    def _anchor(block: Block, slot: Slot, value: Members) -> Ids:
        if value is not None:
            return value
        if slot.sort is Sort.RELATION:
            rows = block.pools.every.rows
            return rows.relation[numbers_below(len(rows), block.count, block.seed())]
        return block.random_members(slot.sort)


@GROUNDING.rule(Pe)
def _pe(block: Block, node: Pe, result: Members, arguments: list[Members]) -> Completed:
    source, relation, when = arguments
    s, r, o, t = block.complete_fact(node, source, relation, result, when)
    return o, [s, r, t]


@GROUNDING.rule(Pt)
def _pt(block: Block, node: Pt, result: Members, arguments: list[Members]) -> Completed:
    source, relation, target = arguments
    s, r, o, t = block.complete_fact(node, source, relation, target, result)
    return t, [s, r, o]


@GROUNDING.rule(And)
def _and(block: Block, node: And, result: Members, arguments: list[Members]) -> Completed:
    member = next((one for one in (result, *arguments) if one is not None), None)
    if member is None:
        member = block.random_members(node.sort)
    return member, [member] * len(arguments)


@GROUNDING.rule(Or)
def _or(block: Block, node: Or, result: Members, arguments: list[Members]) -> Completed:
    known = [at for at, one in enumerate(arguments) if one is not None]
    if known:
        return arguments[known[0]] if result is None else result, arguments
    # One branch holds the wanted member; the others are free, so that a union is of different sets.
    chosen = int(block.generator.integers(len(arguments)))
    member = block.random_members(node.sort) if result is None else result
    return member, [member if at == chosen else None for at in range(len(arguments))]


@GROUNDING.rule(Not)
def _not(block: Block, node: Not, result: Members, arguments: list[Members]) -> Completed:
    return result, arguments


@GROUNDING.rule(After)
def _after(block: Block, node: After, result: Members, arguments: list[Members]) -> Completed:
    if arguments[0] is None:
        result = block.random_members(Sort.TIME) if result is None else result
        earlier = numbers_between(np.minimum(result, 0), result - np.int32(1), block.seed())
        return result, [earlier]
    if result is None:
        last = np.full(block.count, block.graph.time_count - 1, np.int32)
        low = np.where(arguments[0] < 0, UNKNOWN, arguments[0] + 1).astype(np.int32)
        result = numbers_between(low, last, block.seed())
    return result, arguments


@GROUNDING.rule(Before)
def _before(block: Block, node: Before, result: Members, arguments: list[Members]) -> Completed:
    if arguments[0] is None:
        result = block.random_members(Sort.TIME) if result is None else result
        low = np.where(result < 0, UNKNOWN, result + 1).astype(np.int32)
        last = np.full(block.count, block.graph.time_count - 1, np.int32)
        return result, [numbers_between(low, last, block.seed())]
    if result is None:
        earliest = np.minimum(arguments[0], 0)
        result = numbers_between(earliest, arguments[0] - np.int32(1), block.seed())
    return result, arguments


@GROUNDING.rule(Next)
def _next(block: Block, node: Next, result: Members, arguments: list[Members]) -> Completed:
    if arguments[0] is None:
        result = block.random_members(Sort.TIME) if result is None else result
        return result, [np.maximum(result - np.int32(1), np.int32(UNKNOWN))]
    if result is None:
        following = arguments[0] + np.int32(1)
        late = (following >= block.graph.time_count) | (following == 0)
        result = np.where(late, UNKNOWN, following).astype(np.int32)
    return result, arguments
