"""The one step of index building that numpy has no word for: rows into buckets."""

from __future__ import annotations

from numpy.typing import NDArray

from tflex.compiled import kernel


@kernel
def scatter(buckets: NDArray, keys: NDArray, position: NDArray, out: NDArray) -> None:
    """Put each key at its bucket's next position."""
    for row in range(len(buckets)):
        bucket = buckets[row]
        out[position[bucket]] = keys[row]
        position[bucket] += 1
