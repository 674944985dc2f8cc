"""Why a candidate has its degree: the facts, known or predicted, that support it best."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tflex.query.algebra import (
    After,
    And,
    Before,
    Leaf,
    Next,
    Node,
    Not,
    Or,
    Pe,
    Pt,
    Sort,
)
from tflex.query.rewrite import simplify
from tflex.reasoning.fuzzy.interpreter import FUZZY, FuzzyBatch, FuzzySettings, World
from tflex.reasoning.fuzzy.logic import Degrees

Source = Literal["known", "predicted", "none"]


@dataclass(frozen=True)
class Reason:
    """Why a member has its degree in one part of a query."""

    operator: str
    member: int
    degree: float
    sort: Sort
    """Of the member."""
    fact: tuple[int, int, int, int] | None = None
    """The (s, r, o, t) of a projection that supports the member best, with r as it was asked."""
    probability: float | None = None
    """Of that fact; 1 where it is known."""
    source: Source | None = None
    """Whether that fact is known or predicted; `none`: nothing supports the member."""
    parts: tuple[Reason, ...] = ()
    others: int = 0
    """How many less likely times beyond an `after` or a `before` are not among the parts."""

    def walk(self, depth: int = 0) -> Iterator[tuple[int, Reason]]:
        """This reason and those below it, with their depths."""
        yield depth, self
        for part in self.parts:
            yield from part.walk(depth + 1)


class Explainer:
    """One bound query, evaluated once, of which any member can be explained."""

    def __init__(self, world: World, settings: FuzzySettings, query: Node) -> None:
        self.world = world
        self.batch = FuzzyBatch(world, settings, 1, {})
        self.program = FUZZY.compile(simplify(query))
        self.values = self.program.values(self.batch)

    @property
    def degrees(self) -> Degrees:
        """The degrees of all candidates."""
        found: Degrees = self.values[-1][0]
        return found

    @property
    def cut(self) -> float:
        """A bound on the degree of what any projection of the query has left out."""
        return max((float(one.cut[0]) for one in self.batch.chosen.values()), default=0.0)

    def explain(self, member: int) -> Reason:
        return self._reason(len(self.values) - 1, member)

    def _reason(self, step: int, member: int) -> Reason:
        _, node, positions = self.program.steps[step]
        degree = float(self.values[step][0][member])
        if isinstance(node, Leaf):
            return Reason("given", member, degree, node.sort)
        name = node.names[0]
        if isinstance(node, Pe | Pt):
            return self._projection(step, member, degree)
        if isinstance(node, And):
            return Reason(name, member, degree, node.sort, parts=self._parts(positions, member))
        if isinstance(node, Or):
            best = sorted(positions, key=lambda at: -float(self.values[at][0][member]))
            sure = float(self.values[best[0]][0][member]) == 1
            some = [at for at in best[: 1 if sure else None] if self.values[at][0][member] > 0]
            return Reason(name, member, degree, node.sort, parts=self._parts(some, member))
        (inner,) = positions
        within = self.values[inner][0]
        if isinstance(node, Not):
            some = [inner] if within[member] > 0 else []
            return Reason(name, member, degree, node.sort, parts=self._parts(some, member))
        if isinstance(node, After | Before):
            return self._boundary(node, inner, member, degree)
        parts = self._parts([inner], member - 1) if isinstance(node, Next) and member else ()
        return Reason(name, member, degree, node.sort, parts=parts)

    def _parts(self, steps: Iterable[int], member: int) -> tuple[Reason, ...]:
        """The reasons of a member in parts of a query; what is given needs none."""
        return tuple(self._reason(at, member) for at in steps if not self._is_leaf(at))

    def _boundary(self, node: Node, inner: int, member: int, degree: float) -> Reason:
        """What makes a time come after, or before, all others, and what speaks most against it.

        For it is the last likely time, or the first; against it are times beyond the member.
        """
        within, late = self.values[inner][0], isinstance(node, After)
        likely = np.flatnonzero(within >= max(0.5, float(within.max())) - 1e-6)
        if not len(likely):
            likely = np.array([int(np.argmax(within))])
        end = int(likely[-1 if late else 0])
        beyond = np.arange(member, len(within)) if late else np.arange(member + 1)
        against = beyond[within[beyond] > 0]
        times = [end] if within[end] > 0 else []
        if len(against):
            worst = int(against[np.argmax(within[against])])
            times += [worst] if worst != end else []
        others = len(set(against.tolist()) - set(times))
        parts = tuple(one for time in times for one in self._parts([inner], time))
        return Reason(node.names[0], member, degree, node.sort, parts=parts, others=others)

    def _is_leaf(self, step: int) -> bool:
        return isinstance(self.program.steps[step].node, Leaf)

    def _projection(self, step: int, member: int, degree: float) -> Reason:
        _, node, (first, relation, second) = self.program.steps[step]
        r = int(self.values[relation][0])
        support = max(
            [*self._known(step, member, r), *self._predicted(step, member, r)],
            key=lambda one: one[0], default=None,
        )  # fmt: skip
        if support is None or support[0] <= 0:
            return Reason(node.names[0], member, degree, node.sort, source="none")
        _, (s, o, t), probability, source = support
        wanted = (first, s), (second, t if node.sort is Sort.ENTITY else o)
        parts = [self._reason(at, one) for at, one in wanted if not self._is_leaf(at)]
        fact = (s, r, o, t)
        name, found = node.names[0], tuple(parts)
        return Reason(name, member, degree, node.sort, fact, probability, source, found)

    def _known(self, step: int, member: int, r: int) -> Iterator[Any]:
        """Degree, (s, o, t), probability and source of the known facts that support a member."""
        _, node, (first, _, second) = self.program.steps[step]
        facts, count = self.world.view.graph.facts, self.world.relation_count
        mask = (facts.relation == r % count) & (facts.level <= self.world.level)
        if isinstance(node, Pe):
            mask &= (facts.object if r < count else facts.subject) == member
        else:
            mask &= (facts.start <= member) & (member <= facts.end)
        found = facts.take(mask)
        sources, targets = found.subject, found.object
        if r >= count:
            sources, targets = targets, sources
        one, other = self.values[first][0], self.values[second][0]
        for s, o, start, end in zip(
            sources.tolist(), targets.tolist(), found.start.tolist(), found.end.tolist(),
            strict=True,
        ):  # fmt: skip
            if isinstance(node, Pe):
                t = start + int(np.argmax(other[start : end + 1]))
                yield self._both(one[s], other[t]), (s, o, t), 1.0, "known"
            else:
                yield self._both(one[s], other[o]), (s, o, member), 1.0, "known"

    def _predicted(self, step: int, member: int, r: int) -> Iterator[Any]:
        """The same of the pairs that were predicted for."""
        node = self.program.steps[step].node
        chosen, asked = self.batch.chosen[id(node)], self.world.predictions
        relation = np.full(len(chosen.first), r, np.int32)
        settings = self.batch.settings
        if isinstance(node, Pe):
            offsets, ids, degrees, _ = asked.objects(chosen.first, relation, chosen.second)
            for row, (s, t, weight) in enumerate(self._pairs(chosen)):
                at = slice(offsets[row], offsets[row + 1])
                found = float(degrees[at][ids[at] == member].max(initial=0))
                p = min(found * settings.entity_weight, 1.0)
                yield self._both(weight, p), (s, member, t), p, "predicted"
        else:
            rows = asked.times(chosen.first, relation, chosen.second)
            for row, (s, o, weight) in enumerate(self._pairs(chosen)):
                p = min(float(rows[row, member]) * settings.time_weight, 1.0)
                yield self._both(weight, p), (s, o, member), p, "predicted"

    @staticmethod
    def _pairs(chosen: Any) -> Iterator[tuple[int, int, float]]:
        columns = chosen.first.tolist(), chosen.second.tolist(), chosen.weight.tolist()
        return zip(*columns, strict=True)

    def _both(self, one: float, other: float) -> float:
        both = self.batch.logic.both
        return float(both(np.array([one], np.float32), np.array([other], np.float32))[0])
