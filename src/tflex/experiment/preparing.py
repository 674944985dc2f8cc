"""From queries to what an evaluation asks: answers on the views that protocol and split name."""

from __future__ import annotations

from collections.abc import Callable

from tflex.evaluation import EvaluationQueries, Sets
from tflex.evaluation.queries import AnswerSort, Boundary
from tflex.exact.engine import Engine
from tflex.exact.values import Answers
from tflex.graph.facts import Ids, Level
from tflex.graph.temporal_graph import TemporalGraph
from tflex.query.algebra import After, And, Before, Between, Node, Sort
from tflex.query.structures import Structure
from tflex.sampling.costs import every_atom_missing, missing_facts
from tflex.sampling.sampler import known_level


def boundary_root(query: Node) -> Boundary | None:
    """Of a query whose answers are an end of the calendar, or what lies between two: which."""
    roots: dict[type[Node], Boundary] = {After: "after", Before: "before", Between: "between"}
    if isinstance(query, And) and {type(one) for one in query.arguments} == {After, Before}:
        return "between"  # As it is defined.
    return roots.get(type(query))


class Preparer:
    """Answers queries of a graph on the views that a protocol and a split ask for."""

    def __init__(self, graph: TemporalGraph) -> None:
        self.graph = graph
        self._engines: dict[Level, Engine] = {}

    def engine(self, level: Level) -> Engine:
        if level not in self._engines:
            self._engines[level] = Engine(self.graph.view(level))
        return self._engines[level]

    def answers(self, structure: Structure, anchors: Ids, level: Level) -> Sets:
        found = self.engine(level).answer_batch(structure, anchors)
        return Sets(found.offsets, found.ids)

    def strict(self, structure: Structure, anchors: Ids, level: Level,
               costs: bool = True) -> EvaluationQueries:  # fmt: skip
        """Targets are what the split adds to the view below, with the held-out facts they need."""
        known = known_level(level)
        queries = EvaluationQueries.strict(
            structure.name,
            answer_sort(structure),
            anchors,
            self.answers(structure, anchors, known),
            self.answers(structure, anchors, level),
            boundary_root(structure.body),
        )
        if not costs or queries.root is not None:
            return queries
        targets = Answers(queries.targets.offsets, queries.targets.ids)
        missing = missing_facts(self.engine(level), known, structure, queries.anchors, targets)
        return queries.with_missing(missing, every_atom_missing(structure, missing))

    def published(self, structure: Structure, anchors: Ids, level: Level) -> EvaluationQueries:
        """Answers on the train view are easy; Pe and Pt ask for what the split adds."""
        train = self.answers(structure, anchors, Level.train)
        below = known_level(level)
        previous = None if below is Level.train else self.answers(structure, anchors, below)
        return EvaluationQueries.published(
            structure.name,
            answer_sort(structure),
            anchors,
            train,
            self.answers(structure, anchors, level),
            relation_count=self.graph.relation_count,
            previous=previous,
            root=boundary_root(structure.body),
        )

    def by_protocol(self, name: str) -> Callable[[Structure, Ids, Level], EvaluationQueries]:
        """`strict` or `published`."""
        return {"strict": self.strict, "published": self.published}[name]


def answer_sort(structure: Structure) -> AnswerSort:
    return "entity" if structure.sort is Sort.ENTITY else "time"
