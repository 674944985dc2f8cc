"""Queries ready for evaluation: anchors, answers, and the targets that a protocol asks for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tflex.errors import DataError
from tflex.evaluation.sets import Sets
from tflex.query.paper import canonical_name

AnswerSort = Literal["entity", "time"]
Boundary = Literal["after", "before", "between"]

BOUNDARY_ROOTS: dict[str, Boundary] = {"aPt": "after", "bPt": "before", "between": "between"}
"""The structures of the paper whose root gives an end of the calendar."""

FORWARD_ONLY = ("Pe", "Pt")
"""The structures that the published evaluation asks in the forward direction alone."""

RELATION_POSITION = 1
"""Where Pe(s, r, t) and Pt(s, r, o) hold their relation."""


@dataclass(frozen=True, eq=False)
class EvaluationQueries:
    """The evaluable queries of one structure under one protocol; row i of a field is query i."""

    structure: str
    answer_sort: AnswerSort
    protocol: str
    anchors: NDArray[np.int32]
    known: Sets
    """The answers on the view that the protocol counts as known."""
    answers: Sets
    """The answers on the target view."""
    targets: Sets
    """The answers to be found."""
    removed: Sets
    """The candidates that no target is ranked against."""
    retraction: NDArray[np.bool_]
    """Queries whose answers only shrank, so that their targets are all that is left."""
    rows: NDArray[np.int64]
    """Which of the given queries each one is."""
    given: int
    """How many queries were given."""
    root: Boundary | None = None
    missing: NDArray[np.int32] | None = None
    """The cost of each target (missing facts), along `targets.ids`."""
    every_atom_missing: NDArray[np.bool_] | None = None
    """Whether each target has no known atom at all, along `targets.ids`."""

    def __post_init__(self) -> None:
        for name in ("known", "answers", "targets", "removed", "retraction", "rows"):
            if len(getattr(self, name)) != len(self.anchors):
                raise ValueError(f"{self.structure}: {name} has another number of queries")
        for name in ("missing", "every_atom_missing"):
            values = getattr(self, name)
            if values is not None and len(values) != len(self.targets.ids):
                raise ValueError(f"{self.structure}: {name} has another number of targets")
        if (self.targets.sizes == 0).any():
            raise ValueError(f"{self.structure}: a query without targets cannot be evaluated")

    def __len__(self) -> int:
        return len(self.anchors)

    @property
    def skipped(self) -> int:
        """Given queries that the protocol does not evaluate."""
        return self.given - len(self)

    @classmethod
    def strict(cls, structure: str, answer_sort: AnswerSort, anchors: NDArray, known: Sets,
               answers: Sets, root: Boundary | None = None) -> EvaluationQueries:  # fmt: skip
        """Targets = A_target − A_known, each against the non-answers.

        Where nothing is new but A_target ≠ A_known, the targets are A_target and the query is
        marked as a retraction; where nothing changed or nothing is left, it is not evaluated.
        """
        anchors = _checked(structure, anchors, known, answers)
        new = answers.minus(known)
        changed = (new.sizes > 0) | (known.minus(answers).sizes > 0)
        retraction = changed & (new.sizes == 0)
        rows = np.flatnonzero(changed & (answers.sizes > 0))
        kept = answers.take(rows)
        return cls(
            structure, answer_sort, "strict", anchors[rows], known.take(rows), kept,
            answers.where(retraction, new).take(rows), kept, retraction[rows], rows, len(anchors),
            root or BOUNDARY_ROOTS.get(canonical_name(structure)),
        )  # fmt: skip

    @classmethod
    def published(cls, structure: str, answer_sort: AnswerSort, anchors: NDArray, train: Sets,
                  answers: Sets, *, relation_count: int, previous: Sets | None = None,
                  root: Boundary | None = None) -> EvaluationQueries:  # fmt: skip
        """Easy = A_train leaves the ranking, the other answers compete with each other.

        If |A_train| ≥ |A_target| then easy := ∅ and known answers are targets too. Pe and Pt are
        asked forward only, for the answers that the target split adds: those absent from
        `previous`, the view just below (A_train when validating, A_valid when testing; the default
        is A_train); nothing leaves their ranking.
        """
        anchors = _checked(structure, anchors, train, answers)
        asked = np.ones(len(anchors), bool)
        if canonical_name(structure) in FORWARD_ONLY:
            asked = anchors[:, RELATION_POSITION] < relation_count
            easy = Sets.empty(len(anchors))
            targets = answers.minus(train if previous is None else previous)
        else:
            all_known = train.sizes >= answers.sizes
            easy = Sets.empty(len(anchors)).where(all_known, train)
            targets = answers.minus(easy)
        rows = np.flatnonzero(asked & (targets.sizes > 0))
        return cls(
            structure, answer_sort, "published", anchors[rows], train.take(rows),
            answers.take(rows), targets.take(rows), easy.take(rows), np.zeros(len(rows), bool),
            rows, len(anchors), root or BOUNDARY_ROOTS.get(canonical_name(structure)),
        )  # fmt: skip

    def with_missing(
        self, missing: NDArray, every_atom: NDArray | None = None
    ) -> EvaluationQueries:
        """The same queries with the cost of each target, along `targets.ids`."""
        return replace(
            self,
            missing=np.asarray(missing, np.int32),
            every_atom_missing=None if every_atom is None else np.asarray(every_atom, bool),
        )


def _checked(structure: str, anchors: NDArray, known: Sets, answers: Sets) -> NDArray[np.int32]:
    anchors = np.ascontiguousarray(anchors, np.int32)
    if anchors.ndim != 2 or not len(anchors) == len(known) == len(answers):
        raise DataError(
            f"{structure}: {len(known)} known and {len(answers)} target answer sets do not go "
            f"with anchors of shape {anchors.shape}"
        )
    return anchors
