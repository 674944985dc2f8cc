"""Known facts in the order of the context features, and the compiled primitives that build it."""

# mypy: ignore-errors

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tflex.compiled import kernel

Floats = NDArray[np.float32]


class Trace(NamedTuple):
    """For each group of facts their starts and their ends in time order, with decayed counts."""

    pointer: NDArray[np.int64]
    start: NDArray[np.int32]
    end: NDArray[np.int32]
    later: Floats
    """later[i, k] = Σ exp(−(start_j − start_i) / width_k) over the group's rows j ≥ i."""
    earlier: Floats
    """earlier[i, k] = Σ exp(−(end_i − end_j) / width_k) over the group's rows j ≤ i."""


class Context(NamedTuple):
    """Known facts, each in both directions, ordered for the features."""

    neighbour_pointer: NDArray[np.int64]
    """Neighbours of entity s: `neighbour[neighbour_pointer[s] … neighbour_pointer[s + 1]]`."""
    neighbour: NDArray[np.int32]
    pair_pointer: NDArray[np.int64]
    """Rows of the pair with its neighbour n: `pair_pointer[n] … pair_pointer[n + 1]`."""
    pair_relation: NDArray[np.int32]
    pair_start: NDArray[np.int32]
    pair_end: NDArray[np.int32]
    relation_pointer: NDArray[np.int64]
    """Relations of entity s, and with them its groups in `by_relation`."""
    relation: NDArray[np.int32]
    by_entity: Trace
    entity_relation: NDArray[np.int32]
    """Relation, other entity and end of the rows of `by_entity`, in the order of its starts."""
    entity_object: NDArray[np.int32]
    entity_end: NDArray[np.int32]
    by_relation: Trace
    """Groups (entity, relation)."""
    of_relation: Trace
    """Groups relation."""
    weights: Floats
    """weights[c, r, r']: how often r occurs on a pair beside r', with r' at the same time (c = 0),
    earlier (1), later (2), at any time (3)."""
    beside: Floats
    """beside[c, r, r']: how often r occurs at an entity near r' with another entity, both starting
    together (c = 0), r' earlier (1), r' later (2)."""
    popular: NDArray[np.int32]
    """popular[r]: the most frequent objects of r, most frequent first."""
    decay: Floats
    """decay[k, gap] = exp(−gap / width_k)."""


@kernel
def decayed_sums(pointer, start, end, widths, later, earlier):
    """Fill the decayed counts of a trace."""
    for group in range(len(pointer) - 1):
        first, last = pointer[group], pointer[group + 1]
        for k in range(len(widths)):
            total = 0.0
            for row in range(first, last):
                if row > first:
                    total *= np.exp(-(end[row] - end[row - 1]) / widths[k])
                total += 1.0
                earlier[row, k] = total
            total = 0.0
            for row in range(last - 1, first - 1, -1):
                if row < last - 1:
                    total *= np.exp(-(start[row + 1] - start[row]) / widths[k])
                total += 1.0
                later[row, k] = total


@kernel
def first_at_least(values, first, last, wanted):
    """The first position in the sorted values[first:last] that holds `wanted` or more."""
    while first < last:
        middle = (first + last) >> 1
        if values[middle] < wanted:
            first = middle + 1
        else:
            last = middle
    return first


@kernel
def relation_group(context, entity, relation):
    """The group of (entity, relation) in `by_relation`, or −1."""
    first, last = context.relation_pointer[entity], context.relation_pointer[entity + 1]
    at = first_at_least(context.relation, first, last, relation)
    return at if at < last and context.relation[at] == relation else -1


@kernel
def neighbour_of(context, subject, object):
    """The place of object among the neighbours of subject, or −1."""
    first, last = context.neighbour_pointer[subject], context.neighbour_pointer[subject + 1]
    at = first_at_least(context.neighbour, first, last, object)
    return at if at < last and context.neighbour[at] == object else -1


@kernel
def near_range(trace, group, time, reach):
    """Rows of a group that start within `reach` of a time."""
    first, last = trace.pointer[group], trace.pointer[group + 1]
    return (first_at_least(trace.start, first, last, time - reach),
            first_at_least(trace.start, first, last, time + reach + 1))  # fmt: skip


@kernel
def relation_weights(pair_pointer, relation, start, end, reach, scale, weights):
    """Count, over facts e ≠ e' of one pair, how often r(e) stands beside r(e'): see `Context`."""
    for pair in range(len(pair_pointer) - 1):
        first, last = pair_pointer[pair], pair_pointer[pair + 1]
        for row in range(first, last):
            for other in range(first, last):
                if row == other:
                    continue
                weights[3, relation[row], relation[other]] += 1.0 / (last - first - 1)
                if end[other] < start[row]:
                    gap = start[row] - end[other]
                    if gap <= reach:
                        weights[1, relation[row], relation[other]] += np.exp(-gap / scale)
                elif start[other] > end[row]:
                    gap = start[other] - end[row]
                    if gap <= reach:
                        weights[2, relation[row], relation[other]] += np.exp(-gap / scale)
                else:
                    weights[0, relation[row], relation[other]] += 1.0


@kernel
def beside_weights(trace, relation, object, decay, width, reach, weights):
    """Count, over facts of one entity with two others that start near each other, how often r
    stands beside r'; see `Context.beside`."""
    for entity in range(len(trace.pointer) - 1):
        last = trace.pointer[entity + 1]
        for row in range(trace.pointer[entity], last):
            for other in range(row + 1, last):
                gap = trace.start[other] - trace.start[row]
                if gap > reach:
                    break
                if object[row] == object[other]:
                    continue
                if gap == 0:
                    weights[0, relation[row], relation[other]] += 1.0
                    weights[0, relation[other], relation[row]] += 1.0
                else:
                    weights[2, relation[row], relation[other]] += decay[width, gap]
                    weights[1, relation[other], relation[row]] += decay[width, gap]
