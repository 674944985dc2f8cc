"""Hypothesis strategies: small temporal graphs, and bound queries over them that are DAGs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from hypothesis import note
from hypothesis import strategies as st

from tflex.graph.facts import Facts
from tflex.graph.temporal_graph import TemporalGraph
from tflex.graph.timeline import Timeline, TimeUnit
from tflex.graph.vocab import Vocabulary
from tflex.query.algebra import (
    OPERATORS,
    EntityLiteral,
    Node,
    RelationLiteral,
    Sort,
    TimeLiteral,
)

LIBRARY_OPERATORS: tuple[type[Node], ...] = tuple(
    dict.fromkeys(one for one in OPERATORS.values() if one.__module__.startswith("tflex."))
)
"""Every operator of the library, without those that test modules register."""

# Names that a printer, a parser, an escaper and a suggestion all have to survive.
ENTITY_NAMES = (
    "China",
    'the "Big" One',
    "back\\slash",
    "Łódź, PL",
    "<a & b>",
    "it's",
    "é/è",
    "{7}",
)
RELATION_NAMES = ("Make a visit", "<isMarriedTo>", "P39", "host (a visit)")
LABELS: dict[TimeUnit, Callable[[int], str]] = {
    "day": lambda id: f"2014-01-{2 * id + 1:02}",
    "month": lambda id: f"2014-{id + 1:02}",
    "year": lambda id: str(1990 + id),
    "raw": lambda id: f"stamp {id}",
}


@st.composite
def graphs(draw: st.DrawFn, intervals: bool | None = None, max_facts: int = 30) -> TemporalGraph:
    """A graph of few names and facts, of all levels; with points, intervals, or either (None)."""
    entity_count = draw(st.integers(1, len(ENTITY_NAMES)))
    relation_count = draw(st.integers(1, len(RELATION_NAMES)))
    time_count = draw(st.integers(1, 10))
    unit = draw(st.sampled_from(tuple(LABELS)))
    spread = draw(st.booleans()) if intervals is None else intervals
    entity, time = st.integers(0, entity_count - 1), st.integers(0, time_count - 1)
    row = st.tuples(entity, st.integers(0, relation_count - 1), entity, time,
                    time if spread else st.none(), st.integers(0, 2))  # fmt: skip
    # The number is drawn first, because a free list is short nearly always.
    fact_count = draw(st.integers(0, max_facts))
    rows = draw(st.lists(row, min_size=fact_count, max_size=fact_count))
    # A second time is a bound of the interval, in whichever order the two were drawn.
    facts = [
        (s, r, o, min(a, a if b is None else b), max(a, a if b is None else b), level)
        for s, r, o, a, b, level in rows
    ]
    note(f"facts (s, r, o, start, end, level) over {time_count} timestamps: {facts}")
    return graph_of(facts, entity_count, relation_count, time_count, unit)


Row = tuple[int, int, int, int, int, int]


def graph_of(facts: Sequence[Row], entity_count: int, relation_count: int, time_count: int,
             unit: TimeUnit = "day") -> TemporalGraph:  # fmt: skip
    """A graph of rows (subject, relation, object, start, end, level) of ids."""
    columns = np.array(facts, np.int64).reshape(-1, 6).T
    return TemporalGraph.from_facts(
        Facts.of(*columns),
        Vocabulary("entity", ENTITY_NAMES[:entity_count]),
        Vocabulary("relation", RELATION_NAMES[:relation_count]),
        Timeline.of([LABELS[unit](id) for id in range(time_count)], unit),
    )


@st.composite
def literals(draw: st.DrawFn, graph: TemporalGraph, sort: Sort) -> Node:
    """An anchor by id: often one member, sometimes several or none; relations either way."""
    if sort is Sort.RELATION:
        return RelationLiteral(draw(st.integers(0, 2 * graph.relation_count - 1)))
    if sort is Sort.ENTITY:
        entity = st.integers(0, graph.entity_count - 1)
        return EntityLiteral(draw(_few(entity)))
    bound = st.integers(0, graph.time_count - 1)
    span = st.tuples(bound, bound).map(lambda pair: (min(pair), max(pair)))
    return TimeLiteral(draw(_few(st.one_of(bound, span))))


def _few(member: st.SearchStrategy) -> st.SearchStrategy:
    one = st.lists(member, min_size=1, max_size=1)
    return st.one_of(one, one, st.lists(member, max_size=4))


@st.composite
def queries(draw: st.DrawFn, graph: TemporalGraph, sort: Sort | None = None,
            max_operators: int = 10,
            operators: Sequence[type[Node]] = LIBRARY_OPERATORS) -> Node:  # fmt: skip
    """A bound query (ids, no names) of the given set sort whose sub-queries may be shared."""
    wanted = sort or draw(st.sampled_from((Sort.ENTITY, Sort.TIME)))
    pool = [draw(literals(graph, Sort.ENTITY)), draw(literals(graph, Sort.TIME))]
    for _ in range(draw(st.integers(0, max_operators))):
        made = draw(st.sampled_from(operators))
        sort_made = made.result or draw(st.sampled_from((Sort.ENTITY, Sort.TIME)))
        pool.append(_application(draw, graph, made, sort_made, pool))
    if draw(st.integers(0, 9)) == 0:
        return next(node for node in reversed(pool) if node.sort is wanted)
    roots = [one for one in operators if one.result in (None, wanted)]
    return _application(draw, graph, draw(st.sampled_from(roots)), wanted, pool)


def _application(draw: st.DrawFn, graph: TemporalGraph, node_type: type[Node], shared: Sort,
                 pool: Sequence[Node]) -> Node:  # fmt: skip
    """An operator on sub-queries of the pool, so that one may be used by several, or on anchors."""
    sorts = [parameter.sort or shared for parameter in node_type.parameters]
    if node_type.variadic:
        sorts += [sorts[-1]] * draw(st.integers(0, 2))
    return node_type(*(_argument(draw, graph, sort, pool) for sort in sorts))


def _argument(draw: st.DrawFn, graph: TemporalGraph, sort: Sort, pool: Sequence[Node]) -> Node:
    # The latest first: the query then tends to be deep, and it shrinks to a shallow one.
    known = [node for node in reversed(pool) if node.sort is sort]
    if not known or draw(st.integers(0, 4)) == 4:
        return draw(literals(graph, sort))
    return draw(st.sampled_from(known[:3]))
