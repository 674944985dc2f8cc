"""The fuzzy reasoner: every candidate of a query with the degree to which it is an answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tflex.query.algebra import Node
from tflex.query.published import STRUCTURES
from tflex.query.rewrite import simplify
from tflex.query.structures import Structure, Structures
from tflex.reasoning.fuzzy.interpreter import FUZZY, FuzzyBatch, FuzzySettings, World
from tflex.reasoning.fuzzy.logic import Degrees

ROWS, VALUES = 64, 1 << 22
"""Queries evaluated at once, at most, and the degrees of one set of theirs."""


class FuzzyReasoner:
    """Degrees in [0, 1] of all candidates, composed as the query says."""

    def __init__(self, world: World, settings: FuzzySettings | None = None,
                 structures: Structures = STRUCTURES, name: str = "fuzzy") -> None:  # fmt: skip
        self.name = name
        self.world = world
        self.settings = settings or FuzzySettings()
        self.structures = structures
        self._simplified: dict[str, Structure] = {}

    def scores(self, structure: str, anchors: NDArray[np.integer]) -> Degrees:
        """Degrees of all entities or timestamps, [n, candidates]."""
        if structure not in self._simplified:
            found = self.structures[structure]
            self._simplified[structure] = replace(found, body=simplify(found.body))
        query = self._simplified[structure]
        parts = [run(batch, query.body) for batch in self._batches(query, anchors)]
        width = FuzzyBatch(self.world, self.settings, 0, {}).nothing(query.sort).shape[1]
        return np.concatenate([np.empty((0, width), np.float32), *parts])

    def scores_of(self, query: Node) -> Degrees:
        """Degrees of all candidates of one bound query, [candidates]."""
        return run(FuzzyBatch(self.world, self.settings, 1, {}), simplify(query))[0]

    def _batches(self, query: Structure, anchors: NDArray) -> Iterator[FuzzyBatch]:
        size = max(1, min(ROWS, VALUES // self.world.entity_count))
        for start in range(0, len(anchors), size):
            rows = np.ascontiguousarray(anchors[start : start + size], np.int32)
            columns = {
                slot.name: np.ascontiguousarray(rows[:, place])
                for place, slot in enumerate(query.parameters)
            }
            yield FuzzyBatch(self.world, self.settings, len(rows), columns)


def run(batch: FuzzyBatch, query: Node) -> Degrees:
    """The degrees of a query; every shared part is evaluated once."""
    degrees: Degrees = FUZZY.compile(query).run(batch)
    return degrees
