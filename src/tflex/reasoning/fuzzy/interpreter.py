"""The interpreter over degrees: known facts are certain, missing ones as likely as predicted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tflex.errors import DataError
from tflex.graph.facts import Ids
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
    Slot,
    Sort,
    TimeLiteral,
)
from tflex.reasoning.fuzzy import fuzzy_kernels as kernels
from tflex.reasoning.fuzzy.logic import LOGICS, Degrees, Logic
from tflex.reasoning.fuzzy.predictions import Predictions

FUZZY = Interpreter("fuzzy")


@dataclass(frozen=True)
class FuzzySettings:
    """How degrees are composed, and how many pairs of a projection are predicted for."""

    logic: str = "product"
    beam: int = 8
    """Pairs of a projection, such as (s, t) of Pe, for which missing facts are predicted."""
    pairs: int = 512
    """Pairs of which the expected number of missing facts is looked at to choose the beam."""
    entity_weight: float = 1.0
    """What degrees of missing facts are multiplied with in Pe."""
    time_weight: float = 1.0
    """The same in Pt."""

    def __post_init__(self) -> None:
        if self.logic not in LOGICS:
            raise DataError(f'logic "{self.logic}": there are {", ".join(LOGICS)}')
        if self.beam < 1 or self.pairs < 1:
            raise DataError(f"beam {self.beam} and pairs {self.pairs} must be at least 1")
        if self.entity_weight < 0 or self.time_weight < 0:
            raise DataError("weights of missing facts must not be negative")


class Chosen(NamedTuple):
    """The pairs of a projection for which missing facts were predicted."""

    query: NDArray[np.int64]
    first: Ids
    """Members of the source."""
    second: Ids
    """Timestamps of Pe, targets of Pt."""
    weight: Degrees
    """What the pair itself has as degree."""
    cut: Degrees
    """For each query, a bound on the degree of what was left out: by another pair, or of a member
    that the predictor does not list."""

    def take(self, rows: NDArray) -> Chosen:
        return Chosen(
            self.query[rows], self.first[rows], self.second[rows], self.weight[rows], self.cut
        )


class World:
    """A view and the predictions for it, as the rules need them."""

    def __init__(self, view: View, predictions: Predictions) -> None:
        self.view = view
        self.predictions = predictions
        graph, index = view.graph, view.graph.index
        self.entity_count, self.time_count = graph.entity_count, graph.time_count
        self.relation_count = graph.relation_count
        self.level = np.uint8(view.level)
        self.relations = index.relation_pointer, index.relation_segment
        shared = index.segment_subject, index.segment_pointer, *self.relations
        self.by_time = (*shared, index.time_object, index.time_start, index.time_end,
                        index.time_level, self.level)  # fmt: skip
        self.by_object = (*shared, index.object_object, index.object_start, index.object_end,
                          index.object_level, self.level)  # fmt: skip
        known = np.concatenate(([0], np.cumsum(index.time_level <= self.level)))
        self.segment_known = np.diff(known[index.segment_pointer]).astype(np.float32)

    def activity(self, relations: Ids) -> Degrees:
        """Known facts (s, r, ·, ·) of every entity s, and one hundredth: nothing is excluded."""
        out = np.full((len(relations), self.entity_count), 0.01, np.float32)
        segments = self.view.graph.index.segment_subject
        kernels.known_counts(segments, self.segment_known, *self.relations, relations, out)
        return out


@dataclass
class FuzzyBatch:
    """What a rule sees: the world, the settings, the anchors of each slot, the number of rows."""

    world: World
    settings: FuzzySettings
    count: int
    columns: dict[str, Ids]
    chosen: dict[int, Chosen] = field(default_factory=dict)
    """The pairs that were predicted for, by the id of the projection's node."""

    @property
    def logic(self) -> Logic:
        return LOGICS[self.settings.logic]

    def nothing(self, sort: Sort) -> Degrees:
        width = self.world.entity_count if sort is Sort.ENTITY else self.world.time_count
        return np.zeros((self.count, width), np.float32)

    def choose(self, first: Degrees, second: Degrees, first_weight: Degrees,
               second_weight: Degrees, expected: Callable[[NDArray, Ids, Ids], Degrees],
               scale: float) -> Chosen:  # fmt: skip
        """The pairs with the highest degree of having a missing fact at all.

        Degrees of missing facts are going to be multiplied by `scale`.
        """
        settings = self.settings
        most = max(settings.pairs, settings.beam)
        found = Chosen(*kernels.leading_pairs(
            self.logic.code, first, second, first_weight, second_weight, most
        ))  # fmt: skip
        some = -np.expm1(-expected(found.query, found.first, found.second)).astype(np.float32)
        degrees = self.logic.both(found.weight, some)
        order = np.lexsort((-degrees, found.query))
        query = found.query[order]
        begins = np.searchsorted(query, np.arange(self.count))
        place = np.arange(len(order)) - begins[query]
        beyond = order[place >= settings.beam]
        bounds = self.logic.both(found.weight[beyond], scaled(some[beyond], scale))
        np.maximum.at(found.cut, found.query[beyond], bounds)
        return found.take(order[(place < settings.beam) & (degrees[order] > 0)])


def scaled(degrees: Degrees, scale: float) -> Degrees:
    """Degrees multiplied, and at most 1."""
    return np.minimum(degrees * np.float32(scale), 1)


def distinct(*columns: NDArray) -> tuple[list[Ids], NDArray[np.int64]]:
    """Rows without repetitions, and where each given row is among them."""
    rows, place = np.unique(np.stack(columns, 1), axis=0, return_inverse=True)
    return [np.ascontiguousarray(column, np.int32) for column in rows.T], place.reshape(-1)


@FUZZY.rule(Slot)
def _slot(batch: FuzzyBatch, node: Slot) -> Degrees | Ids:
    column = batch.columns[node.name]
    if node.sort is Sort.RELATION:
        return column
    out = batch.nothing(node.sort)
    out[np.arange(batch.count), column] = 1
    return out


@FUZZY.rule(EntityLiteral)
def _entities(batch: FuzzyBatch, node: EntityLiteral) -> Degrees:
    out = batch.nothing(Sort.ENTITY)
    out[:, np.array(node.members, np.int64)] = 1
    return out


@FUZZY.rule(RelationLiteral)
def _relation(batch: FuzzyBatch, node: RelationLiteral) -> Ids:
    return np.full(batch.count, node.value, np.int32)


@FUZZY.rule(TimeLiteral)
def _times(batch: FuzzyBatch, node: TimeLiteral) -> Degrees:
    out = batch.nothing(Sort.TIME)
    spans: list[Any] = list(node.members)
    for first, last in spans:
        out[:, first : last + 1] = 1
    return out


@FUZZY.rule(Pe)
def _pe(batch: FuzzyBatch, node: Pe, source: Degrees, relation: Ids, when: Degrees) -> Degrees:
    """Pe(S,r,Q)(o) = max over s, t of μ_S(s) ∧ μ_Q(t) ∧ P(o | s, r, t); known facts have P = 1."""
    world, code = batch.world, batch.logic.code
    out = batch.nothing(Sort.ENTITY)
    kernels.known_objects(*world.by_time, code, source, relation, when, out)
    asked, scale = world.predictions, batch.settings.entity_weight
    chosen = batch.choose(
        source, when, world.activity(relation), np.ones_like(when),
        lambda query, s, t: asked.expected_objects(s, relation[query], t), scale,
    )  # fmt: skip
    batch.chosen[id(node)] = chosen
    questions, place = distinct(chosen.first, relation[chosen.query], chosen.second)
    offsets, ids, degrees, unlisted = asked.objects(*questions)
    degrees = scaled(degrees, scale)
    kernels.scatter_lists(code, chosen.query, chosen.weight, place, offsets, ids, degrees, out)
    bounds = batch.logic.both(chosen.weight, scaled(unlisted[place], scale))
    np.maximum.at(chosen.cut, chosen.query, bounds)
    return out


@FUZZY.rule(Pt)
def _pt(batch: FuzzyBatch, node: Pt, source: Degrees, relation: Ids, target: Degrees) -> Degrees:
    """Pt(S,r,O)(t) = max over s, o of μ_S(s) ∧ μ_O(o) ∧ P(t | s, r, o); known facts have P = 1."""
    world, code = batch.world, batch.logic.code
    out = batch.nothing(Sort.TIME)
    kernels.known_times(*world.by_object, code, source, relation, target, out)
    asked, scale = world.predictions, batch.settings.time_weight
    inverse = (relation + world.relation_count) % np.int32(2 * world.relation_count)
    chosen = batch.choose(
        source, target, world.activity(relation), world.activity(inverse),
        lambda query, s, o: asked.expected_times(s, relation[query], o), scale,
    )  # fmt: skip
    batch.chosen[id(node)] = chosen
    questions, place = distinct(chosen.first, relation[chosen.query], chosen.second)
    degrees = scaled(asked.times(*questions), scale)
    kernels.scatter_rows(code, chosen.query, chosen.weight, place, degrees, out)
    return out


@FUZZY.rule(And)
def _and(batch: FuzzyBatch, node: And, *sets: Degrees) -> Degrees:
    return batch.logic.conjunction(list(sets))


@FUZZY.rule(Or)
def _or(batch: FuzzyBatch, node: Or, *sets: Degrees) -> Degrees:
    return batch.logic.disjunction(list(sets))


@FUZZY.rule(Not)
def _not(batch: FuzzyBatch, node: Node, members: Degrees) -> Degrees:
    return 1 - members


@FUZZY.rule(After)
def _after(batch: FuzzyBatch, node: Node, times: Degrees) -> Degrees:
    return batch.logic.after(times)


@FUZZY.rule(Before)
def _before(batch: FuzzyBatch, node: Node, times: Degrees) -> Degrees:
    return batch.logic.before(times)


@FUZZY.rule(Next)
def _next(batch: FuzzyBatch, node: Node, times: Degrees) -> Degrees:
    out = np.zeros_like(times)
    out[:, 1:] = times[:, :-1]
    return out
