"""The exact reasoner: what the facts of a view say, and nothing else."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tflex.exact.engine import Engine
from tflex.exact.values import Answers
from tflex.graph.temporal_graph import View
from tflex.query.algebra import Sort
from tflex.query.published import STRUCTURES
from tflex.query.structures import Structures


class ExactReasoner:
    """Score 1 for the answers on a view and 0 for all else; the answers are its predicted set."""

    name = "exact"

    def __init__(self, view: View, structures: Structures = STRUCTURES) -> None:
        self.structures = structures
        self._engine = Engine(view)

    def scores(self, structure: str, anchors: NDArray[np.integer]) -> NDArray[np.float32]:
        """1 for the answers, [n, candidates]."""
        graph = self._engine.view.graph
        entities = self.structures[structure].sort is Sort.ENTITY
        found = self._answers(structure, anchors)
        width = graph.entity_count if entities else graph.time_count
        scores = np.zeros((len(anchors), width), np.float32)
        scores[found.rows(), found.ids] = 1
        return scores

    def predicted_sets(
        self, structure: str, anchors: NDArray[np.integer]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The answers on the view."""
        found = self._answers(structure, anchors)
        return found.offsets, found.ids

    def _answers(self, structure: str, anchors: NDArray[np.integer]) -> Answers:
        return self._engine.answer_batch(self.structures[structure], anchors)
