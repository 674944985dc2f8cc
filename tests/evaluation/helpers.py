"""A reasoner that reads its scores from a table, and queries made of the scalar ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tests.evaluation.scalar import Query
from tflex.evaluation import EvaluationQueries, Sets


class Lookup:
    """The first anchor of a query is its row in the table of its structure."""

    def __init__(self, name: str, tables: dict[str, NDArray]) -> None:
        self.name = name
        self.tables = tables

    def scores(self, structure: str, anchors: NDArray) -> NDArray:
        return self.tables[structure][anchors[:, 0]]


class SetLookup(Lookup):
    """One that also predicts the candidates that score above one half."""

    def predicted_sets(self, structure: str, anchors: NDArray) -> tuple[NDArray, NDArray]:
        sets = Sets.from_mask(self.scores(structure, anchors) > 0.5)
        return sets.offsets, sets.ids


def anchors_of(queries: list[Query]) -> NDArray[np.int32]:
    rows = [[number, query.relation, 0] for number, query in enumerate(queries)]
    return np.array(rows, np.int32).reshape(-1, 3)


def strict(structure: str, queries: list[Query], sort: str = "entity") -> EvaluationQueries:
    known = Sets.from_lists(query.known for query in queries)
    answers = Sets.from_lists(query.answers for query in queries)
    return EvaluationQueries.strict(structure, sort, anchors_of(queries), known, answers)


def published(structure: str, queries: list[Query], relation_count: int = 5,
              sort: str = "entity") -> EvaluationQueries:  # fmt: skip
    train = Sets.from_lists(query.known for query in queries)
    answers = Sets.from_lists(query.answers for query in queries)
    return EvaluationQueries.published(
        structure, sort, anchors_of(queries), train, answers, relation_count=relation_count
    )


def table(queries: list[Query]) -> NDArray[np.float32]:
    return np.array([query.scores for query in queries], np.float32)


def random_queries(generator: np.random.Generator, count: int, candidates: int,
                   levels: int = 4) -> list[Query]:  # fmt: skip
    """Small answer sets that grow and shrink, and scores with many ties."""
    made = []
    for _ in range(count):
        draw = generator.random((2, candidates)) < generator.choice([0.0, 0.2, 0.5, 1.0])
        answers = {int(one) for one in np.flatnonzero(draw[0])}
        known = {one for one in answers if generator.random() < 0.6}
        if generator.random() < 0.3:
            known |= {int(one) for one in np.flatnonzero(draw[1])}
        scores = [float(one) for one in generator.integers(0, levels, candidates)]
        made.append(Query(int(generator.integers(0, 10)), known, answers, scores))
    return made
