"""What evaluation asks of a reasoner: scores, and sets or sizes where it has them."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from numpy.typing import NDArray


class Reasoner(Protocol):
    """Anything that scores every candidate of a query."""

    @property
    def name(self) -> str: ...

    def scores(self, structure: str, anchors: NDArray) -> NDArray:
        """A score for each query and candidate, [n, candidates]; higher is better.

        `anchors` is int32 [n, k] in the argument order of the structure. The candidates are all
        entities or all timestamps by id, as the answer sort of the structure says.
        """
        ...


@runtime_checkable
class PredictsSets(Protocol):
    """A reasoner that also says which candidates it takes for answers."""

    def predicted_sets(self, structure: str, anchors: NDArray) -> tuple[NDArray, NDArray] | None:
        """Offsets [n + 1] and ids of the predicted sets, or None where it predicts none."""
        ...


@runtime_checkable
class PredictsSizes(Protocol):
    """A reasoner that also says how many answers it expects."""

    def sizes(self, structure: str, anchors: NDArray) -> NDArray | None:
        """The expected number of answers of each query, [n], or None where it has no opinion."""
        ...
