"""The embedding reasoner: scores of any structure by a trained model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from tflex.models.interpreter import single_tokens
from tflex.models.tflex import TflexModel, operator_name
from tflex.query.algebra import Node, Or, topological
from tflex.query.published import STRUCTURES
from tflex.query.rewrite import disjuncts
from tflex.query.structures import Structure, Structures
from tflex.training.plan import Planner

ROWS = 512
"""Queries embedded at once: rows [n, 4d] of every part of a query are held."""


class EmbeddingReasoner:
    """Scores γ − d(candidate; V_q) in fp32.

    A union is taken by disjunctive normal form, a candidate scoring what its best disjunct gives
    it, unless a structure with a union of the same sort was trained.
    """

    def __init__(self, model: TflexModel, trained: Iterable[str] = (),
                 structures: Structures = STRUCTURES) -> None:  # fmt: skip
        self.name = model.name
        self.model = model
        self.structures = structures
        self.trained_unions = {
            name for one in trained if one in structures for name in unions(structures[one].body)
        }
        self._planner = Planner(model)
        self._parts: dict[str, list[Structure]] = {}

    def scores(self, structure: str, anchors: NDArray[np.integer]) -> NDArray[np.float32]:
        """Scores of all entities or timestamps, [n, candidates]."""
        if structure not in self._parts:
            self._parts[structure] = self.disjuncts(self.structures[structure])
        return self._scores(self._parts[structure], anchors)

    def scores_of(self, query: Node) -> NDArray[np.float32]:
        """Scores of all candidates of one bound query, [candidates]."""
        parts = self.disjuncts(Structure("query", (), query))
        return self._scores(parts, np.empty((1, 0), np.int64))[0]

    def disjuncts(self, structure: Structure) -> list[Structure]:
        """What is embedded: the structure, or those whose union it is."""
        body = single_tokens(structure.body)
        if unions(body) <= self.trained_unions:
            return [structure]
        return [replace(structure, body=one) for one in disjuncts(body)]

    def _scores(self, parts: Sequence[Structure], anchors: NDArray) -> NDArray[np.float32]:
        sort = parts[0].sort
        model = self.model
        anchors = np.ascontiguousarray(anchors, np.int64)
        size = max(1, ROWS // len(parts))
        found: list[NDArray[np.float32]] = []
        with torch.inference_mode(), torch.autocast(model.tokens.entity.device.type, enabled=False):
            candidates = model.tokens.features(sort)
            for start in range(0, len(anchors), size):
                rows = anchors[start : start + size]
                embedded = self._planner([(part, rows) for part in parts])
                answers = embedded.entity if len(embedded.entity) else embedded.time
                best = None
                for one in answers.split(len(rows)):
                    distance = model.distances(one, sort, candidates)
                    best = distance if best is None else torch.minimum(best, distance)
                assert best is not None
                found.append((model.settings.margin - best).cpu().numpy())
        if found:
            return np.concatenate(found) if len(found) > 1 else found[0]
        return np.empty((0, len(candidates)), np.float32)


def unions(query: Node) -> set[str]:
    """The union operators of a query: `Or`, `TimeOr`."""
    return {operator_name(node) for node in topological(query) if isinstance(node, Or)}
