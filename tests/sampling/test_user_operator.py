"""An operator of a user's own is sampled once it has its rules; without one, its name is said."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.properties.test_sampling import DRAWN, sampled
from tests.sampling.oracle import Views, strict
from tflex.errors import UnsupportedOperator
from tflex.exact.engine import EXACT, Batch
from tflex.exact.reference import REFERENCE, Quadruples
from tflex.exact.values import TimeSets
from tflex.graph.world import demo_world
from tflex.query.algebra import Node, Parameter, Pe, Pt, Slot, Sort
from tflex.query.structures import Structure, make_structure
from tflex.sampling.cost_kernels import NEVER
from tflex.sampling.costs import COSTS, CostBatch, TimeCosts
from tflex.sampling.grounding import GROUNDING, Block, Completed, Members, Outline
from tflex.sampling.sampler import SamplingSettings


class Earliest(Node):
    """{min times}."""

    names = ("earliest",)
    parameters = (Parameter("times", Sort.TIME),)
    result = Sort.TIME


def exactly(batch: Batch, node: Earliest, times: TimeSets) -> TimeSets:
    highs = np.where(times.is_empty(), times.highs, times.lows)
    return TimeSets.ranges(times.lows, highs, times.universe)


def by_definition(facts: Quadruples, node: Earliest, times: set[int]) -> set[int]:
    return {min(times)} if times else set()


def grounded(block: Block, node: Earliest, result: Members, arguments: list[Members]) -> Completed:
    """A member is often the earliest; where it is not, the engine throws the query out."""
    member = arguments[0] if result is None else result
    return member, [member]


def costs(batch: CostBatch, node: Earliest, times: TimeCosts) -> TimeCosts:
    earlier = np.cumsum(times.costs < NEVER, axis=1) > 1
    return TimeCosts(np.where(earlier, NEVER, times.costs))


RULES: dict[Any, Any] = {
    EXACT: exactly, REFERENCE: by_definition, GROUNDING: grounded, COSTS: costs,
}  # fmt: skip


@pytest.fixture
def rules() -> Iterator[None]:
    for interpreter, rule in RULES.items():
        interpreter.rule(Earliest)(rule)
    yield
    for interpreter in RULES:
        del interpreter.rules[Earliest]


def at_first() -> Structure:
    """Whom s met when it first did r to o."""
    entities = [Slot(name, Sort.ENTITY) for name in ("s", "s2", "o")]
    relations = [Slot(name, Sort.RELATION) for name in ("r", "r2")]
    (s, s2, o), (r, r2) = entities, relations
    return make_structure("at_first", [s, r, s2, r2, o], Pe(s, r, Earliest(Pt(s2, r2, o))))


def test_it_is_sampled(rules: None) -> None:
    graph, structure = demo_world(), at_first()
    views, splits = Views.of(graph), sampled(graph, structure, 20, SamplingSettings(seed=4))
    for level in DRAWN:
        queries = splits[level]
        assert len(queries) == 20
        for row in range(4):
            wanted = strict(views, structure(*queries.anchors[row].tolist()), level)
            assert wanted.targets
            assert set(queries.targets[row].tolist()) == wanted.targets


def test_it_is_named_where_it_has_no_rule() -> None:
    with pytest.raises(UnsupportedOperator, match=r"grounding .* does not support earliest"):
        Outline.of(at_first())
