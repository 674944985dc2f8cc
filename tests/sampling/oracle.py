"""What sampled queries must be, by definition: slow, and sharing no code with the sampler."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tflex.exact.reference import Quadruples, answer
from tflex.graph.facts import Level
from tflex.graph.temporal_graph import TemporalGraph
from tflex.query.algebra import (
    After,
    And,
    Before,
    Derived,
    EntityLiteral,
    Leaf,
    Next,
    Node,
    Not,
    Or,
    Pe,
    Pt,
    Slot,
    Sort,
    TimeLiteral,
    topological,
    transform,
)
from tflex.query.structures import Structure, make_structure


@dataclass(frozen=True)
class Views:
    """The facts of the three views, spelled out."""

    graph: TemporalGraph
    facts: dict[Level, Quadruples]

    @classmethod
    def of(cls, graph: TemporalGraph) -> Views:
        return cls(graph, {level: Quadruples(graph.view(level)) for level in Level})


@dataclass(frozen=True)
class Strict:
    """Known answers, answers and targets of a query under the strict protocol."""

    known: set[int]
    answers: set[int]
    targets: set[int]
    retraction: bool


def strict(views: Views, query: Node, level: Level) -> Strict:
    answers = answer(views.facts[level], query)
    if level is Level.train:
        return Strict(set(), answers, answers, False)
    known = answer(views.facts[Level(level - 1)], query)
    new = answers - known
    if new or known == answers:
        return Strict(known, answers, new, False)
    return Strict(known, answers, answers, bool(answers))


def has_empty_part(views: Views, query: Node, level: Level) -> bool:
    return any(
        not answer(views.facts[level], node)
        for node in topological(query)
        if not isinstance(node, Leaf)
    )


class Derivations:
    """The cheapest derivation of an answer: a tree of facts, each known (0) or held out (1)."""

    def __init__(self, views: Views, level: Level) -> None:
        self.facts = views.facts[level]
        self.known = views.facts[Level(level - 1)].holding
        self.found: dict[tuple[int, int], int | None] = {}

    def cheapest(self, node: Node, member: int) -> int | None:
        """None: no derivation, so no member."""
        at = (id(node), member)
        if at not in self.found:
            self.found[at] = min(self.costs(node, member), default=None)
        return self.found[at]

    def costs(self, node: Node, member: int) -> Iterator[int]:
        """The cost of every way to derive a member, parts derived as cheaply as they can be."""
        while isinstance(node, Derived):
            node = node.definition()
        if isinstance(node, Pe | Pt):
            yield from self.witnesses(node, member)
        elif isinstance(node, And):
            parts = [self.cheapest(argument, member) for argument in node.arguments]
            if None not in parts:
                yield sum(part for part in parts if part is not None)
        elif isinstance(node, Or):
            for argument in node.arguments:
                yield from self.costs(argument, member)
        elif isinstance(node, Next):
            yield from self.costs(node.arguments[0], member - 1)
        elif isinstance(node, Not | After | Before | EntityLiteral | TimeLiteral):
            if member in answer(self.facts, node):
                yield 0
        else:
            raise AssertionError(f"the oracle does not know {node!r}")

    def witnesses(self, node: Node, member: int) -> Iterator[int]:
        source, relation, other = node.arguments
        for s, r, o, t in self.facts.holding:
            if r != relation.value or member != (o if isinstance(node, Pe) else t):
                continue
            first = self.cheapest(source, s)
            second = self.cheapest(other, t if isinstance(node, Pe) else o)
            if first is not None and second is not None:
                yield first + second + ((s, r, o, t) not in self.known)


def structure_of(query: Node, name: str = "drawn") -> Structure:
    """A bound query with a placeholder in the place of each anchor; what is shared stays shared."""
    slots: list[Slot] = []

    def change(node: Node) -> Node:
        if not isinstance(node, Leaf):
            return node
        letter = {Sort.ENTITY: "e", Sort.RELATION: "r", Sort.TIME: "t"}[node.sort]
        slots.append(Slot(f"{letter}{len(slots)}", node.sort))
        return slots[-1]

    body = transform(query, change)
    return make_structure(name, slots, body)
