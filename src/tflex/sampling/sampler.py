"""Sampling one structure: blocks are grounded, answered by the engine, filtered, made unique.

The queries of a structure are a pure function of (graph, structure, settings, seed): blocks are
numbered, each has its own seed, and the first in block order wins a duplicate.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tflex.exact.engine import Engine
from tflex.exact.values import Answers
from tflex.graph.facts import Ids, Level
from tflex.graph.temporal_graph import TemporalGraph
from tflex.query.algebra import Node, Pt
from tflex.query.structures import Structure
from tflex.query.text import print_query
from tflex.sampling.costs import atom_counts, missing_facts
from tflex.sampling.grounding import Block, Outline, Pools
from tflex.sampling.grounding_kernels import numbers_below
from tflex.sampling.keys import Keyed, KeySet

LARGEST_BLOCK = 1 << 14
SMALLEST_BLOCK = 1 << 9
PATIENCE = 24
"""How many blocks in a row may yield next to nothing before a structure counts as exhausted."""
NEXT_TO_NOTHING = 1 / 2000


@dataclass(frozen=True)
class SamplingSettings:
    """What decides the queries beside the graph, the structure and the count."""

    seed: int = 0
    missing: dict[int, float] | None = None
    """Shares of evaluation queries by their number of missing facts; None: as they come."""
    largest_answer: int | None = None
    """Queries with more answers are left out."""
    degree: Literal["natural", "flat"] = "natural"
    """Facts are drawn alike (natural), or entities are, and then a fact of theirs (flat)."""
    allow_empty: bool = False
    """Keep queries with a part that is the empty set, such as `after` of nothing."""


@dataclass(frozen=True, eq=False)
class Queries:
    """Queries of one structure. Everything beside the anchors can be computed again."""

    anchors: Ids
    targets: Answers
    known: Answers
    """Answers on the known view; none for training queries."""
    missing: NDArray[np.int16]
    """Held-out facts that each target needs; empty for training queries."""
    retraction: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.anchors)

    def take(self, rows: NDArray) -> Queries:
        where = Answers(self.targets.offsets, np.arange(len(self.targets.ids), dtype=np.int32))
        missing = self.missing[where.take(rows).ids] if len(self.missing) else self.missing
        return Queries(self.anchors[rows], self.targets.take(rows), self.known.take(rows), missing,
                       self.retraction[rows])  # fmt: skip

    @staticmethod
    def joined(parts: list[Queries]) -> Queries:
        """Batches of at least one part, one after the other."""
        return Queries(
            np.concatenate([part.anchors for part in parts]),
            Answers.joined([part.targets for part in parts]),
            Answers.joined([part.known for part in parts]),
            np.concatenate([part.missing for part in parts]),
            np.concatenate([part.retraction for part in parts]),
        )

    def difficulty(self) -> NDArray[np.int64]:
        """Missing facts of the easiest target of each query."""
        return np.minimum.reduceat(self.missing, self.targets.offsets[:-1]).astype(np.int64)


@dataclass
class Supply:
    """How far a structure's queries went."""

    wanted: int
    found: int = 0
    candidates: int = 0
    exhausted: bool = False
    """Fewer were found than wanted, and trying on yields next to none."""
    exact: bool = False
    """Every candidate was tried: `found` is all there are."""


class Sources:
    """Pools and engines of a graph, made once for all structures."""

    def __init__(self, graph: TemporalGraph) -> None:
        self.graph = graph
        self.engines = {level: Engine(graph.view(level)) for level in Level}
        self._pools: dict[Level, Pools] = {}

    def pools(self, level: Level) -> Pools:
        if level not in self._pools:
            self._pools[level] = Pools.of(self.graph, level)
        return self._pools[level]


def known_level(level: Level) -> Level:
    """The view that is known when queries of a split are answered."""
    return Level(max(level - 1, 0))


@dataclass
class StructureSampler:
    """Draws the queries of one structure; splits drawn later avoid those drawn before."""

    sources: Sources
    structure: Structure
    settings: SamplingSettings
    taken: KeySet = field(default_factory=KeySet)

    def __post_init__(self) -> None:
        self.outline = Outline.of(self.structure)
        self.keyed = Keyed(self.structure, self.sources.graph.relation_count)

    def generator(self, level: Level, number: int) -> np.random.Generator:
        """The randomness of one block."""
        name = f"{self.structure.name} {print_query(self.structure.body)} {level.name} {number}"
        digest = hashlib.sha256(f"{self.settings.seed} {name}".encode()).digest()
        return np.random.default_rng(np.frombuffer(digest, np.uint32))

    def batches(self, level: Level, count: int, supply: Supply) -> Iterator[Queries]:
        """Accepted queries, block by block, until there are enough or no more."""
        pool = self.sources.pools(level).own
        if not len(pool) or count <= 0:
            supply.exhausted = supply.exact = count > 0
            return
        # A power of two near the count: small sets stay cheap, large ones come in large blocks.
        size = int(np.clip(1 << max(count - 1, 1).bit_length(), SMALLEST_BLOCK, LARGEST_BLOCK))
        quota = self._quota(level, count)
        starts = self.outline.growing_atoms
        order = self.generator(level, -1).permutation(len(pool))
        pass_length = -(-len(pool) // size)
        poor, number = 0, 0
        while supply.found < count:
            turn, start = number // len(starts), starts[number % len(starts)]
            seeds = np.take(order, np.arange(turn * size, (turn + 1) * size), mode="wrap")
            queries = self._block(level, number, start, seeds, self._held_out(number, start, quota))
            supply.candidates += size
            accepted = self._accepted(queries, quota, count - supply.found)
            supply.found += len(accepted)
            number += 1
            if len(accepted):
                yield accepted
            if self._is_enumerable() and turn + 1 >= pass_length:
                supply.exact = supply.exhausted = supply.found < count
                return
            poor = 0 if len(accepted) > size * NEXT_TO_NOTHING else poor + 1
            if poor >= PATIENCE * len(starts):
                supply.exhausted = supply.found < count
                return

    def _is_enumerable(self) -> bool:
        """Whether a pass over the facts meets every query: its anchors are all parts of one."""
        if self.settings.degree != "natural" or self.settings.allow_empty:
            return False
        if len(self.outline.atoms) != 1:
            return False
        atom = self.outline.atoms[0]
        # A fact that lasts is met at one of its times alone.
        definite = isinstance(atom, Pt) or self.sources.graph.index.is_points
        parts = {id(argument) for argument in atom.arguments}
        return definite and all(id(slot) in parts for slot in self.structure.parameters)

    def _quota(self, level: Level, count: int) -> dict[int, int] | None:
        """How many queries of each number of missing facts; the last takes the rest."""
        if self.settings.missing is None or level is Level.train:
            return None
        limit = atom_counts(self.structure)[0]
        if limit == 0:
            return None  # No target of such a structure can miss a fact.
        shares: dict[int, float] = {}
        for missing, share in sorted(self.settings.missing.items()):
            shares[min(missing, limit)] = shares.get(min(missing, limit), 0.0) + share
        total = sum(shares.values())
        bounds = np.round(np.cumsum(list(shares.values())) / total * count).astype(int)
        return dict(zip(shares, np.diff(bounds, prepend=0).tolist(), strict=True))

    def _held_out(self, number: int, start: Node, quota: dict[int, int] | None) -> frozenset[int]:
        """Which atoms besides the first stand on facts of the split itself."""
        if quota is None:
            return frozenset()
        open_numbers = [missing for missing, left in quota.items() if left > 0] or [1]
        missing = open_numbers[number // len(self.outline.growing_atoms) % len(open_numbers)]
        others = [atom for atom in self.outline.growing_atoms if atom is not start]
        shift = number % max(len(others), 1)
        return frozenset(id(atom) for atom in [*others[shift:], *others[:shift]][: missing - 1])

    def _block(self, level: Level, number: int, start: Node, seeds: NDArray,
               held_out: frozenset[int]) -> Queries:  # fmt: skip
        """Ground a block and keep what is new, well-formed and answered as it should be."""
        pools = self.sources.pools(level)
        block = Block(
            pools, self.sources.graph, len(seeds), self.generator(level, number), held_out
        )
        anchors = self.outline.ground(block, start, self._facts(block, seeds))
        sound = (anchors >= 0).all(axis=1) & ~block.repeats_a_fact()
        anchors = anchors[sound]
        keys, repeats = self.keyed.keys(anchors)
        anchors, keys = anchors[~repeats], keys[~repeats]
        # The first row of each key that no earlier query has.
        fresh = ~self.taken.contains(keys)
        fresh &= KeySet(len(keys)).add(keys)
        return self.answered(level, anchors[fresh])

    def _facts(self, block: Block, seeds: NDArray) -> tuple[Ids, Ids, Ids, Ids]:
        """The facts on which the first atom stands."""
        pool = block.pools.own
        rows = pool.rows
        if self.settings.degree == "flat":
            present = np.unique(rows.subject)
            subject = present[numbers_below(len(present), block.count, block.seed())]
            return pool.complete(block.count, subject, None, None, None, block.seed())
        subject, relation, object = rows.subject[seeds], rows.relation[seeds], rows.object[seeds]
        start, end = rows.start[seeds], rows.end[seeds]
        length = (end - start + 1).astype(np.float64)
        time = start + (block.generator.random(block.count) * length).astype(np.int32)
        return subject, relation, object, np.minimum(time, end)

    def answered(self, level: Level, anchors: Ids) -> Queries:
        """The queries that qualify for a split, with their answers from the engine."""
        engines, known = self.sources.engines, known_level(level)
        answers, empty = engines[level].answer_and_check(self.structure, anchors)
        kept = answers.sizes() > 0
        if not self.settings.allow_empty:
            kept &= ~empty
        if self.settings.largest_answer is not None:
            kept &= answers.sizes() <= self.settings.largest_answer
        rows = np.flatnonzero(kept)
        anchors, answers = anchors[rows], answers.take(rows)
        if level is Level.train:
            nothing = Answers(np.zeros(len(rows) + 1, np.int64), np.empty(0, np.int32))
            return Queries(
                anchors, answers, nothing, np.empty(0, np.int16), np.zeros(len(rows), bool)
            )
        before = engines[known].answer_batch(self.structure, anchors)
        targets, retraction = strict_targets(before, answers)
        rows = np.flatnonzero(targets.sizes() > 0)
        anchors, targets = anchors[rows], targets.take(rows)
        missing = missing_facts(engines[level], known, self.structure, anchors, targets)
        return Queries(anchors, targets, before.take(rows), missing, retraction[rows])

    def _accepted(self, queries: Queries, quota: dict[int, int] | None, wanted: int) -> Queries:
        """The queries that are still wanted, now taken."""
        rows = np.arange(len(queries))
        if quota is not None and len(queries):
            difficulty = queries.difficulty()
            chosen = []
            for missing, left in quota.items():
                chosen.append(np.flatnonzero(difficulty == missing)[:left])
                quota[missing] -= len(chosen[-1])
            rows = np.sort(np.concatenate(chosen))
        accepted = queries.take(rows[:wanted])
        self.taken.add(self.keyed.keys(accepted.anchors)[0])
        return accepted


def strict_targets(known: Answers, answers: Answers) -> tuple[Answers, NDArray[np.bool_]]:
    """Targets under the strict protocol (none: the query is not evaluated), and retractions."""
    new = answers.without(known)
    # Where nothing is new, answers ⊆ known, so the sets differ if and only if their sizes do.
    retraction = (new.sizes() == 0) & (answers.sizes() > 0) & (known.sizes() != answers.sizes())
    rows = np.arange(len(answers))
    both = Answers.joined([new, answers])
    return both.take(np.where(retraction, rows + len(answers), rows)), retraction
