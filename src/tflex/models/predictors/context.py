"""Context features: counts of known facts around a question, decayed in time.

For (s, r, ?, t) and a candidate o they count, at t and before and after it, the facts between s and
o, those among them of r and of r⁻¹, those weighted by how often their relation stands beside r, the
facts (?, r, o), all facts of o, and pairs of facts s–x–o near t.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tflex.graph.facts import Facts
from tflex.models.predictors import candidate_kernels, context_kernels
from tflex.models.predictors.context_kernels import Context, Trace

WIDTHS = (1.0, 4.0, 15.0, 60.0)
"""Decay widths in timestamps."""
WIDTH_OF_WEIGHTS = 2
"""The width by which facts weighted by their relation decay."""
REACH = 3
"""How near, in timestamps, the two facts of a path s–x–o must start."""
BESIDE = (1, 7)
"""The width by which facts beside a fact decay, and how near they must start."""
POPULAR = 200
"""How many objects of each relation are kept, most frequent first."""
PATHS = 64
"""How many facts of one entity a path follows, and how many candidates paths may add."""
PRIOR = 5.0
"""Facts added to the count of a relation before it divides the co-occurrences."""


def trace_names(name: str) -> list[str]:
    sides = [f"{name} {side} {width:g}" for side in ("before", "after") for width in WIDTHS]
    return [f"{name} at", f"{name} before", f"{name} after", *sides]


CANDIDATE_FEATURES = (
    trace_names("pair") + trace_names("pair r") + trace_names("pair r⁻¹")
    + ["weighted at", "weighted before", "weighted after", "weighted all", "paths at", "paths near"]
    + trace_names("r o") + trace_names("o")
)  # fmt: skip
QUERY_FEATURES = (
    trace_names("s r") + trace_names("s") + trace_names("r")
    + ["s beside at", "s beside before", "s beside after"]
)  # fmt: skip


def build_context(facts: Facts, entity_count: int, relation_count: int, time_count: int) -> Context:
    """Order the known facts for the features."""
    subject, relation, object, start, end, _ = mirrored(facts, relation_count).columns()
    widths = np.array(WIDTHS)

    order = np.lexsort((start, object, subject))
    pairs = subject[order].astype(np.int64) * entity_count + object[order]
    pair_pointer, neighbour_pointer, neighbour = grouped(pairs, entity_count, entity_count)
    weights = np.zeros((4, 2 * relation_count, 2 * relation_count), np.float32)
    pair_rows = relation[order], start[order], end[order]
    context_kernels.relation_weights(
        pair_pointer, *pair_rows, 30, WIDTHS[WIDTH_OF_WEIGHTS], weights
    )
    total = np.bincount(relation, minlength=2 * relation_count).astype(np.float32) + np.float32(
        PRIOR
    )
    weights /= total

    by_entity = np.lexsort((start, subject))
    keys = subject.astype(np.int64) * (2 * relation_count) + relation
    by_relation = np.sort(keys)
    _, relation_pointer, relations = grouped(by_relation, entity_count, 2 * relation_count)
    decay = np.exp(-np.arange(time_count) / widths[:, None]).astype(np.float32)
    of_entity = trace(subject, entity_count, start, end, widths)
    beside = np.zeros((3, 2 * relation_count, 2 * relation_count), np.float32)
    context_kernels.beside_weights(
        of_entity, relation[by_entity], object[by_entity], decay, *BESIDE, beside
    )
    beside /= total
    return Context(
        neighbour_pointer, neighbour, pair_pointer, *pair_rows, relation_pointer, relations,
        of_entity, relation[by_entity], object[by_entity], end[by_entity],
        trace(np.searchsorted(np.unique(by_relation), keys), len(relations), start, end, widths),
        trace(relation, 2 * relation_count, start, end, widths), weights, beside,
        popular_objects(relation, object, entity_count, 2 * relation_count), decay,
    )  # fmt: skip


def popular_objects(relation: NDArray, object: NDArray, entities: int,
                    relations: int) -> NDArray[np.int32]:  # fmt: skip
    """The most frequent objects of each relation, [relations, POPULAR]."""
    unique, times = np.unique(relation.astype(np.int64) * entities + object, return_counts=True)
    relation, object = unique // entities, unique % entities
    order = np.lexsort((object, -times, relation))
    begin = np.searchsorted(relation[order], np.arange(relations))
    place = np.arange(len(order)) - begin[relation[order]]
    table = np.zeros((relations, min(POPULAR, entities)), np.int32)
    kept = place < table.shape[1]
    table[relation[order][kept], place[kept]] = object[order][kept]
    return table


def grouped(keys: NDArray, first_count: int, second_count: int) -> tuple[NDArray, NDArray, NDArray]:
    """Of sorted keys first·second_count + second: pointers of keys, of firsts, and the seconds."""
    unique, begin = np.unique(keys, return_index=True)
    rows = np.append(begin, len(keys)).astype(np.int64)
    pointer = np.searchsorted(unique, np.arange(first_count + 1, dtype=np.int64) * second_count)
    return rows, pointer.astype(np.int64), (unique % second_count).astype(np.int32)


def trace(group: NDArray, groups: int, start: NDArray, end: NDArray, widths: NDArray) -> Trace:
    """The facts of each group in time order with their decayed counts."""
    starts, ends = start[np.lexsort((start, group))], end[np.lexsort((end, group))]
    pointer = np.concatenate(([0], np.cumsum(np.bincount(group, minlength=groups)))).astype(
        np.int64
    )
    later, earlier = (np.empty((len(group), len(widths)), np.float32) for _ in range(2))
    context_kernels.decayed_sums(pointer, starts, ends, widths, later, earlier)
    return Trace(pointer, starts, ends, later, earlier)


@dataclass(frozen=True)
class Asked:
    """Questions (s, r, ?, t) as columns; where `object` ≥ 0 that answer is known and left out."""

    subject: NDArray[np.int32]
    relation: NDArray[np.int32]
    time: NDArray[np.int32]
    object: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.subject)

    def unanswered(self) -> Asked:
        """The questions where no known fact is left out."""
        return Asked.of(self.subject, self.relation, self.time)

    def take(self, rows: NDArray | slice) -> Asked:
        return Asked(self.subject[rows], self.relation[rows], self.time[rows], self.object[rows])

    @classmethod
    def of(cls, subject: NDArray, relation: NDArray, time: NDArray) -> Asked:
        s, r, t = (np.ascontiguousarray(one, np.int32) for one in (subject, relation, time))
        return cls(s, r, t, np.full(len(s), -1, np.int32))


def mirrored(facts: Facts, relation_count: int) -> Facts:
    """The facts, followed by the same facts through the inverse relations."""
    return Facts(
        np.concatenate((facts.subject, facts.object)),
        np.concatenate((facts.relation, facts.relation + np.int32(relation_count))),
        np.concatenate((facts.object, facts.subject)),
        np.tile(facts.start, 2), np.tile(facts.end, 2), np.tile(facts.level, 2),
    )  # fmt: skip


def both_directions(facts: Facts, relation_count: int, generator: np.random.Generator) -> Asked:
    """Each fact asked for its object and for its subject; of an interval, at one of its times."""
    both = mirrored(facts, relation_count)
    time = generator.integers(both.start, both.end + 1).astype(np.int32)
    return Asked(both.subject, both.relation, time, both.object)


def object_candidates(context: Context, asked: Asked, best: NDArray) -> tuple[NDArray, NDArray]:
    """Offsets and ids of candidates: neighbours of s, `best` [batch, K], ends of paths near t."""
    degree = context.neighbour_pointer[asked.subject + 1] - context.neighbour_pointer[asked.subject]
    room = int((degree + best.shape[1] + PATHS).sum())
    offsets, ids = np.zeros(len(asked) + 1, np.int64), np.empty(room, np.int32)
    candidate_kernels.all_object_candidates(
        context, asked.subject, asked.time, best.astype(np.int32), REACH, PATHS, offsets, ids
    )
    return offsets, ids[: offsets[-1]].copy()


def object_features(context: Context, asked: Asked, offsets: NDArray,
                    ids: NDArray) -> tuple[NDArray[np.float32], NDArray[np.float32]]:  # fmt: skip
    """Features of each candidate, [rows, F], and of each question, [batch, Q]."""
    features = np.zeros((len(ids), len(CANDIDATE_FEATURES)), np.float32)
    query = np.zeros((len(asked), len(QUERY_FEATURES)), np.float32)
    candidate_kernels.object_features(
        context, asked.subject, asked.relation, asked.time, asked.object,
        offsets, ids, WIDTH_OF_WEIGHTS, np.array(BESIDE), REACH, PATHS, features, query,
    )  # fmt: skip
    return features, query


def holding(context: Context, asked: Asked, offsets: NDArray, ids: NDArray) -> NDArray[np.bool_]:
    """Which candidates are known answers."""
    found = np.zeros(len(ids), np.bool_)
    candidate_kernels.known_answers(
        context, asked.subject, asked.relation, asked.time, offsets, ids, found
    )
    return found
