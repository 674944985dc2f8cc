"""The fuzzy reasoner: every candidate of a query with the degree to which it is an answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tflex.graph.facts import Ids
from tflex.query.algebra import Node
from tflex.query.published import STRUCTURES
from tflex.query.rewrite import simplify
from tflex.query.structures import Structure, Structures
from tflex.reasoning.fuzzy.interpreter import FUZZY, FuzzyBatch, FuzzySettings, World
from tflex.reasoning.fuzzy.logic import Degrees
from tflex.reasoning.fuzzy.sets import Cuts, members

ROWS, VALUES = 64, 1 << 22
"""Queries evaluated at once, at most, and the degrees of one set of theirs."""
KEPT = 4096
"""Queries whose predicted sets are kept until another structure is asked."""


class FuzzyReasoner:
    """Degrees in [0, 1] of all candidates, composed as the query says."""

    def __init__(self, world: World, settings: FuzzySettings | None = None,
                 structures: Structures = STRUCTURES, cuts: Cuts | None = None,
                 name: str = "fuzzy") -> None:  # fmt: skip
        self.name = name
        self.world = world
        self.settings = settings or FuzzySettings()
        self.structures = structures
        self.cuts = cuts
        self._simplified: dict[str, Structure] = {}
        self._last = ""
        self._sets: dict[bytes, tuple[float, Ids]] = {}
        """Size and set of the queries of the last structure that was asked, by their anchors."""

    def scores(self, structure: str, anchors: NDArray[np.integer]) -> Degrees:
        """Degrees of all entities or timestamps, [n, candidates]."""
        query = self._query(structure)
        found = [np.empty((0, self._empty(query).shape[1]), np.float32)]
        for rows, batch in self._batches(query, anchors):
            degrees = run(batch, query.body)
            self._remember(structure, rows, degrees)
            found.append(degrees)
        return np.concatenate(found)

    def scores_of(self, query: Node) -> Degrees:
        """Degrees of all candidates of one bound query, [candidates]."""
        return run(FuzzyBatch(self.world, self.settings, 1, {}), simplify(query))[0]

    def predicted_sets(
        self, structure: str, anchors: NDArray[np.integer]
    ) -> tuple[NDArray[np.int64], Ids] | None:
        """The candidates from the validated threshold on; None where none was validated."""
        if self.cuts is None:
            return None
        sets = [ids for _, ids in self._sized(structure, anchors)]
        offsets = np.concatenate(([0], np.cumsum([len(one) for one in sets]))).astype(np.int64)
        return offsets, np.concatenate([np.empty(0, np.int32), *sets])

    def sizes(self, structure: str, anchors: NDArray[np.integer]) -> NDArray[np.float64]:
        """The expected number of answers: the sum of all degrees."""
        return np.array([size for size, _ in self._sized(structure, anchors)])

    def _sized(self, structure: str, anchors: NDArray) -> list[tuple[float, Ids]]:
        rows, found = np.ascontiguousarray(anchors, np.int32), []
        for start in range(0, len(rows), ROWS):
            part = rows[start : start + ROWS]
            keys = [row.tobytes() for row in part]
            if structure != self._last or any(key not in self._sets for key in keys):
                self.scores(structure, part)
            found += [self._sets[key] for key in keys]
        return found

    def _remember(self, structure: str, anchors: Ids, degrees: Degrees) -> None:
        if structure != self._last or len(self._sets) + len(degrees) > KEPT:
            self._last, self._sets = structure, {}
        cut = 1.0 if self.cuts is None else self.cuts.threshold(self.structures[structure].body)
        sizes = degrees.sum(1, dtype=np.float64).tolist()
        for row, size, one in zip(anchors, sizes, degrees, strict=True):
            self._sets[row.tobytes()] = size, members(one, cut).astype(np.int32)

    def _query(self, structure: str) -> Structure:
        if structure not in self._simplified:
            found = self.structures[structure]
            self._simplified[structure] = replace(found, body=simplify(found.body))
        return self._simplified[structure]

    def _empty(self, query: Structure) -> Degrees:
        return FuzzyBatch(self.world, self.settings, 0, {}).nothing(query.sort)

    def _batches(self, query: Structure, anchors: NDArray) -> Iterator[tuple[Ids, FuzzyBatch]]:
        size = max(1, min(ROWS, VALUES // self.world.entity_count))
        for start in range(0, len(anchors), size):
            rows = np.ascontiguousarray(anchors[start : start + size], np.int32)
            columns = {
                slot.name: np.ascontiguousarray(rows[:, place])
                for place, slot in enumerate(query.parameters)
            }
            yield rows, FuzzyBatch(self.world, self.settings, len(rows), columns)


def run(batch: FuzzyBatch, query: Node) -> Degrees:
    """The degrees of a query; every shared part is evaluated once."""
    degrees: Degrees = FUZZY.compile(query).run(batch)
    return degrees
