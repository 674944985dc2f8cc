"""What the fuzzy reasoner asks of a predictor of missing facts, and two that answer."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tflex.graph.facts import Ids
from tflex.graph.temporal_graph import View
from tflex.models.predictors.links import LinkPredictor

Degrees = NDArray[np.float32]


class Listed(NamedTuple):
    """For each question some entities with their degrees; row i is `offsets[i]:offsets[i + 1]`."""

    offsets: NDArray[np.int64]
    ids: Ids
    degrees: Degrees
    unlisted: Degrees
    """For each question, a bound on the degree of any entity that is not listed."""


class Predictions(Protocol):
    """Degrees of missing facts, and how many of them to expect, row by row."""

    def expected_objects(self, subject: Ids, relation: Ids, time: Ids) -> Degrees:
        """The expected number of missing facts (s, r, ?, t)."""
        ...

    def expected_times(self, subject: Ids, relation: Ids, object: Ids) -> Degrees:
        """The expected number of missing facts (s, r, o, ?)."""
        ...

    def objects(self, subject: Ids, relation: Ids, time: Ids) -> Listed:
        """Degrees of missing facts (s, r, ?, t)."""
        ...

    def times(self, subject: Ids, relation: Ids, object: Ids) -> Degrees:
        """Degrees of missing facts (s, r, o, ?), [questions, |T|]."""
        ...


class LinkPredictions:
    """A link predictor that is given a view."""

    def __init__(self, predictor: LinkPredictor, view: View) -> None:
        self.predictor = predictor
        self.view = view

    def expected_objects(self, subject: Ids, relation: Ids, time: Ids) -> Degrees:
        return self.predictor.expected_objects(self.view, subject, relation, time)

    def expected_times(self, subject: Ids, relation: Ids, object: Ids) -> Degrees:
        return self.predictor.expected_times(self.view, subject, relation, object)

    def objects(self, subject: Ids, relation: Ids, time: Ids) -> Listed:
        found = self.predictor.objects(self.view, subject, relation, time, known=False)
        return Listed(found.offsets, found.ids, found.degrees, np.minimum(found.unlisted, 1))

    def times(self, subject: Ids, relation: Ids, object: Ids) -> Degrees:
        return self.predictor.times(self.view, subject, relation, object, known=False)


class NothingMissing:
    """The known facts are all that there are."""

    def __init__(self, view: View) -> None:
        self.time_count = view.graph.time_count

    def expected_objects(self, subject: Ids, relation: Ids, time: Ids) -> Degrees:
        return np.zeros(len(subject), np.float32)

    def expected_times(self, subject: Ids, relation: Ids, object: Ids) -> Degrees:
        return np.zeros(len(subject), np.float32)

    def objects(self, subject: Ids, relation: Ids, time: Ids) -> Listed:
        none = np.zeros(len(subject) + 1, np.int64)
        nothing = np.zeros(len(subject), np.float32)
        return Listed(none, np.empty(0, np.int32), np.empty(0, np.float32), nothing)

    def times(self, subject: Ids, relation: Ids, object: Ids) -> Degrees:
        return np.zeros((len(subject), self.time_count), np.float32)
