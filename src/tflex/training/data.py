"""Training queries as arrays, and batches of them that depend on nothing but (seed, step).

Because a batch is a function of the step, a resumed run continues with exactly the batches that
the undisturbed one would have seen, and no state of a random generator needs to be kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tflex.errors import DataError
from tflex.models.loss import allowed_negatives
from tflex.query.algebra import Sort
from tflex.query.structures import Structure

Ids = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TrainingQueries:
    """The training queries of one structure: anchors [n, k], and answers as sorted lists."""

    structure: Structure
    anchors: Ids
    offsets: Ids
    answers: Ids

    def __len__(self) -> int:
        return len(self.anchors)


class Side(NamedTuple):
    """The queries of a batch that answer one sort."""

    positives: Ids
    """One answer of each query, [n]."""
    negatives: Ids
    """Candidates [m] shared by all, or [n, m], each query's own."""
    allowed: NDArray[np.bool_]
    """[n, m]: the candidate is no answer."""
    answers: Ids
    """How many answers each query has, [n]."""


class Batch(NamedTuple):
    """Structures with their anchors, and what the loss compares their embeddings with."""

    groups: tuple[tuple[Structure, Ids], ...]
    entity: Side
    time: Side


@dataclass
class BatchSource:
    """Draws batches of a fixed composition."""

    queries: Sequence[TrainingQueries]
    candidates: dict[Sort, int]
    """How many entities and timestamps there are."""
    batch_size: int
    negatives: int
    seed: int
    own_negatives: bool = False
    weights: dict[str, float] | None = None
    """Share of a batch by structure name; structures without a weight have 1."""
    rank: int = 0
    ranks: int = 1
    """With several processes, each takes every `ranks`-th row of the batch from its own rank on."""
    _orders: dict[tuple[int, int], Ids] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.queries = [one for one in self.queries if len(one)]
        self.shares = self._shares()
        if max(self.shares, default=self.ranks) < self.ranks:
            raise DataError(
                f"a batch of {self.batch_size} queries is too small for {self.ranks} processes: "
                "each takes its part of the queries of every structure"
            )

    def _shares(self) -> list[int]:
        """Rows of each structure: by weight, summing to the batch size, at least one each."""
        given = self.weights or {}
        weights = np.array([given.get(one.structure.name, 1.0) for one in self.queries])
        exact = weights / weights.sum() * self.batch_size
        shares = np.maximum(np.floor(exact), weights > 0).astype(int)
        if shares.sum() > self.batch_size:
            raise DataError(
                f"a batch of {self.batch_size} queries is too small for one of each of "
                f"{len(self.queries)} structures with these weights"
            )
        # What rounding left goes to the largest remainders.
        for position in np.argsort(shares - exact, kind="stable")[: self.batch_size - shares.sum()]:
            shares[position] += 1
        return shares.tolist()

    def batch(self, step: int) -> Batch:
        """The batch of a step."""
        generator = np.random.default_rng((self.seed, step))
        chosen = [self._rows(number, step) for number in range(len(self.queries))]
        negatives = {sort: self._negatives(generator, sort) for sort in (Sort.ENTITY, Sort.TIME)}
        picks = generator.random(sum(map(len, chosen)))
        parts = np.split(picks, np.cumsum([len(rows) for rows in chosen])[:-1])
        groups: list[tuple[Structure, Ids]] = []
        found: dict[Sort, list[tuple[Ids, Ids, Ids]]] = {Sort.ENTITY: [], Sort.TIME: []}
        for queries, rows, pick in zip(self.queries, chosen, parts, strict=True):
            mine = slice(self.rank, None, self.ranks)
            rows, pick = rows[mine], pick[mine]
            if not len(rows):
                continue
            groups.append((queries.structure, queries.anchors[rows]))
            first, size = queries.offsets[rows], queries.offsets[rows + 1] - queries.offsets[rows]
            positives = queries.answers[first + (pick * size).astype(np.int64)]
            every = np.repeat(first - np.cumsum(size) + size, size) + np.arange(size.sum())
            found[queries.structure.sort].append((positives, size, queries.answers[every]))
        entity, time = (self._side(sort, found[sort], negatives[sort]) for sort in found)
        return Batch(tuple(groups), entity, time)

    def _negatives(self, generator: np.random.Generator, sort: Sort) -> Ids:
        count = self.candidates[sort]
        if self.own_negatives:
            return generator.integers(count, size=(self.batch_size, self.negatives))
        if self.negatives >= count:
            return np.arange(count)
        return generator.integers(count, size=self.negatives)

    def _side(self, sort: Sort, found: list[tuple[Ids, Ids, Ids]], negatives: Ids) -> Side:
        nothing = np.empty(0, np.int64)
        positives, sizes, answers = (
            np.concatenate([nothing, *(one[column] for one in found)]) for column in range(3)
        )
        if self.own_negatives:
            negatives = negatives[: len(positives)]
        offsets = np.concatenate(([0], np.cumsum(sizes)))
        allowed = allowed_negatives(negatives, offsets, answers, self.candidates[sort])
        return Side(positives, negatives, allowed, sizes)

    def _rows(self, number: int, step: int) -> Ids:
        """The next rows of a structure; each pass over its queries is in an order of its own."""
        size, share = len(self.queries[number]), self.shares[number]
        first = step * share
        rows = []
        for position in range(first, first + share):
            order = self._order(number, position // size)
            rows.append(order[position % size])
        return np.array(rows, np.int64)

    def _order(self, number: int, epoch: int) -> Ids:
        key = (number, epoch)
        if key not in self._orders:
            # A batch reaches into one pass, or over the end of one into the next.
            for old in [one for one in self._orders if one[0] == number and one[1] < epoch - 1]:
                del self._orders[old]
            generator = np.random.default_rng((self.seed, number, epoch, 1))
            self._orders[key] = generator.permutation(len(self.queries[number]))
        return self._orders[key]
