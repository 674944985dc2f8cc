"""How many held-out facts an answer needs (semantics.md, "Missing facts"): a cost per member.

An atom costs 0 if its fact is in the known view and 1 if it is held out. `Pe` and `Pt` take the
cheapest witness, `And` sums, `Or` takes the minimum, `next` shifts; `Not`, `after` and `before`
cost nothing and set the flag `absence`. Costs are those of the query as a tree: a shared part
counts as often as it is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflex.exact.engine import Engine
from tflex.exact.values import Answers
from tflex.graph.facts import Ids, Level
from tflex.query.algebra import (
    After,
    And,
    Before,
    Interpreter,
    Next,
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
from tflex.sampling import cost_kernels
from tflex.sampling.cost_kernels import NEVER

Costs = NDArray[np.int16]

COSTS = Interpreter("missing facts")


@dataclass(frozen=True, eq=False)
class EntityCosts:
    """A cost for every entity: the listed ones have their own, all others the default."""

    offsets: NDArray[np.int64]
    ids: Ids
    costs: Costs
    default: np.int16

    def parts(self) -> tuple[Any, ...]:
        return self.offsets, self.ids, self.costs, self.default

    def both(self, other: EntityCosts) -> EntityCosts:
        return EntityCosts(*cost_kernels.merge_costs(*self.parts(), *other.parts(), True))

    def either(self, other: EntityCosts) -> EntityCosts:
        return EntityCosts(*cost_kernels.merge_costs(*self.parts(), *other.parts(), False))

    def negate(self) -> EntityCosts:
        return EntityCosts(*cost_kernels.negate_costs(*self.parts()))


@dataclass(frozen=True, eq=False)
class TimeCosts:
    """A cost for every timestamp of every row."""

    costs: Costs

    def both(self, other: TimeCosts) -> TimeCosts:
        return TimeCosts(np.minimum(self.costs + other.costs, NEVER))

    def either(self, other: TimeCosts) -> TimeCosts:
        return TimeCosts(np.minimum(self.costs, other.costs))

    def negate(self) -> TimeCosts:
        return TimeCosts(np.where(self.costs < NEVER, NEVER, np.int16(0)))


class CostBatch:
    """What a rule sees: the indexes, the view, the view that is known, and the anchors."""

    def __init__(self, engine: Engine, known: Level, columns: dict[str, Ids]) -> None:
        self.columns = columns
        self.time_count = engine.view.graph.time_count
        *index, _, level = engine.by_time
        self.index: tuple[Any, ...] = (*index, level, np.uint8(known))


def missing_facts(engine: Engine, known: Level, structure: Structure, anchors: Ids,
                  targets: Answers) -> NDArray[np.int16]:  # fmt: skip
    """The cost of each target; the engine's view must hold the targets."""
    columns = engine.checked_columns(structure, anchors)
    program = COSTS.compile(structure.body)
    found: list[Costs] = []
    size = max(64, engine.chunk // 8)
    for start in range(0, len(anchors), size):
        part = {name: column[start : start + size] for name, column in columns.items()}
        value = program.run(CostBatch(engine, known, part))
        wanted = targets.take(np.arange(start, min(start + size, len(anchors))))
        if isinstance(value, TimeCosts):
            found.append(value.costs[wanted.rows(), wanted.ids])
        else:
            found.append(cost_kernels.look_up_costs(*value.parts(), wanted.offsets, wanted.ids))
    return np.concatenate(found) if found else np.empty(0, np.int16)


def has_absence(structure: Structure) -> bool:
    """Whether an answer may rest on facts that are not there."""
    order = topological(expand(structure.body))
    return any(isinstance(node, Not | After | Before) for node in order)


def atom_counts(structure: Structure) -> tuple[int, int]:
    """The cost of a target all of whose atoms are missing, on the ways with the fewest and most."""
    counts: dict[int, tuple[int, int]] = {}
    order = topological(expand(structure.body))
    for node in order:
        given = [counts[id(argument)] for argument in node.arguments]
        if isinstance(node, Not | After | Before):
            counts[id(node)] = 0, 0
        elif isinstance(node, Or):
            counts[id(node)] = min(few for few, _ in given), max(many for _, many in given)
        else:
            own = int(isinstance(node, Pe | Pt))
            counts[id(node)] = own + sum(few for few, _ in given), own + sum(m for _, m in given)
    return counts[id(order[-1])]


def every_atom_missing(structure: Structure, missing: NDArray[np.int16]) -> NDArray[np.bool_]:
    """Which targets have no known atom.

    None where an absence alone makes an answer, and none where the branches of a union have
    different numbers of atoms, since a cost does not tell which branch it is of.
    """
    fewest, most = atom_counts(structure)
    return (missing >= fewest) & (0 < fewest == most)


@COSTS.rule(Slot)
def _slot(batch: CostBatch, node: Slot) -> EntityCosts | TimeCosts | Ids:
    column = batch.columns[node.name]
    if node.sort is Sort.RELATION:
        return column
    if node.sort is Sort.TIME:
        costs = np.full((len(column), batch.time_count), NEVER, np.int16)
        costs[np.arange(len(column)), column] = 0
        return TimeCosts(costs)
    free = np.zeros(len(column), np.int16)
    return EntityCosts(np.arange(len(column) + 1), column, free, NEVER)


@COSTS.rule(Pe)
def _pe(batch: CostBatch, node: Pe, source: EntityCosts, relation: Ids,
        when: TimeCosts) -> EntityCosts:  # fmt: skip
    offsets, ids, costs = cost_kernels.project_entity_costs(
        *batch.index, *source.parts(), relation, when.costs
    )
    return EntityCosts(offsets, ids, costs, NEVER)


@COSTS.rule(Pt)
def _pt(batch: CostBatch, node: Pt, source: EntityCosts, relation: Ids,
        target: EntityCosts) -> TimeCosts:  # fmt: skip
    return TimeCosts(cost_kernels.project_time_costs(
        *batch.index, *source.parts(), relation, *target.parts(), batch.time_count
    ))  # fmt: skip


@COSTS.rule(And)
def _and(batch: CostBatch, node: And, *sets: Any) -> Any:
    return reduce(lambda a, b: a.both(b), sets)


@COSTS.rule(Or)
def _or(batch: CostBatch, node: Or, *sets: Any) -> Any:
    return reduce(lambda a, b: a.either(b), sets)


@COSTS.rule(Not)
def _not(batch: CostBatch, node: Not, members: Any) -> Any:
    return members.negate()


@COSTS.rule(After)
def _after(batch: CostBatch, node: After, times: TimeCosts) -> TimeCosts:
    return TimeCosts(cost_kernels.beyond_costs(times.costs, True))


@COSTS.rule(Before)
def _before(batch: CostBatch, node: Before, times: TimeCosts) -> TimeCosts:
    return TimeCosts(cost_kernels.beyond_costs(times.costs, False))


@COSTS.rule(Next)
def _next(batch: CostBatch, node: Next, times: TimeCosts) -> TimeCosts:
    shifted = np.full_like(times.costs, NEVER)
    shifted[:, 1:] = times.costs[:, :-1]
    return TimeCosts(shifted)
