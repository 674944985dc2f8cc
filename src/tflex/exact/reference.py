"""Exact answers by Python sets over the list of all quadruples: obvious, slow, the oracle."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from itertools import chain
from typing import Any

from tflex.graph.temporal_graph import View
from tflex.query.algebra import (
    After,
    And,
    Before,
    EntityLiteral,
    Interpreter,
    Next,
    Node,
    Not,
    Or,
    Pe,
    Pt,
    RelationLiteral,
    Sort,
    TimeLiteral,
    fold,
)

REFERENCE = Interpreter("reference")


class Quadruples:
    """V, T and F of a view, spelled out: every (s, r, o, t), each also through its inverse."""

    def __init__(self, view: View) -> None:
        graph = view.graph
        self.entities = set(range(graph.entity_count))
        self.times = set(range(graph.time_count))
        self.holding: set[tuple[int, int, int, int]] = set()
        for s, r, o, start, end, level in zip(
            *(column.tolist() for column in graph.facts.columns()), strict=True
        ):
            if level <= view.level:
                for t in range(start, end + 1):
                    self.holding.add((s, r, o, t))
                    self.holding.add((o, r + graph.relation_count, s, t))

    def all(self, sort: Sort) -> set[int]:
        return self.entities if sort is Sort.ENTITY else self.times


def answer(view: View | Quadruples, query: Node) -> set[int]:
    """The answers of a bound query by definition."""
    facts = view if isinstance(view, Quadruples) else Quadruples(view)
    return set(fold(query, REFERENCE, facts))


@REFERENCE.rule(EntityLiteral)
def _entities(facts: Quadruples, node: EntityLiteral) -> set[Any]:
    return set(node.members)


@REFERENCE.rule(RelationLiteral)
def _relation(facts: Quadruples, node: RelationLiteral) -> int | str:
    return node.value


@REFERENCE.rule(TimeLiteral)
def _times(facts: Quadruples, node: TimeLiteral) -> set[int]:
    spans: Iterable[Any] = node.members
    return set(chain.from_iterable(range(first, last + 1) for first, last in spans))


@REFERENCE.rule(Pe)
def _pe(facts: Quadruples, node: Pe, source: set[int], relation: int, when: set[int]) -> set[int]:
    return {o for s, r, o, t in facts.holding if s in source and r == relation and t in when}


@REFERENCE.rule(Pt)
def _pt(facts: Quadruples, node: Pt, source: set[int], relation: int, target: set[int]) -> set[int]:
    return {t for s, r, o, t in facts.holding if s in source and r == relation and o in target}


@REFERENCE.rule(And)
def _and(facts: Quadruples, node: And, *sets: set[int]) -> set[int]:
    return reduce(set.intersection, sets)


@REFERENCE.rule(Or)
def _or(facts: Quadruples, node: Or, *sets: set[int]) -> set[int]:
    return reduce(set.union, sets)


@REFERENCE.rule(Not)
def _not(facts: Quadruples, node: Not, members: set[int]) -> set[int]:
    return facts.all(node.sort) - members


@REFERENCE.rule(After)
def _after(facts: Quadruples, node: After, times: set[int]) -> set[int]:
    return {t for t in facts.times if all(t > other for other in times)}


@REFERENCE.rule(Before)
def _before(facts: Quadruples, node: Before, times: set[int]) -> set[int]:
    return {t for t in facts.times if all(t < other for other in times)}


@REFERENCE.rule(Next)
def _next(facts: Quadruples, node: Next, times: set[int]) -> set[int]:
    return {t + 1 for t in times} & facts.times
