"""The link predictor as a reasoner of single facts: `Pe` and `Pt` of anchors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tflex.errors import UnsupportedOperator
from tflex.graph.temporal_graph import View
from tflex.models.predictors.links import LinkPredictor


class LinkReasoner:
    """Scores a candidate by the probability that it is a fact; those of the view are certain."""

    def __init__(self, predictor: LinkPredictor, view: View, name: str = "links") -> None:
        self.name = name
        self.predictor = predictor
        self.view = view

    def scores(self, structure: str, anchors: NDArray[np.integer]) -> NDArray[np.float32]:
        """Degrees of all entities or timestamps, [n, candidates]."""
        first, second, third = np.asarray(anchors, np.int32).T
        if structure == "Pe":
            found = self.predictor.objects(self.view, first, second, third)
            return found.dense(self.predictor.counts[0])
        if structure == "Pt":
            return self.predictor.times(self.view, first, second, third)
        raise UnsupportedOperator(
            f"the link predictor answers Pe and Pt of anchors, not {structure}; "
            "the fuzzy reasoner composes them"
        )
