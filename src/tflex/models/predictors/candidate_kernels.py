"""Compiled features of candidates: what the known facts near (s, r, ?, t) say of each."""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from tflex.compiled import kernel
from tflex.models.predictors.context_kernels import (
    first_at_least,
    near_range,
    neighbour_of,
    relation_group,
)


@kernel
def trace_features(trace, decay, group, time, out):
    """Counts of a group at `time`; before it and after it, in all and per width: 3 + 2·widths."""
    widths = decay.shape[0]
    if group < 0:
        out[: 3 + 2 * widths] = 0.0
        return
    first, last = trace.pointer[group], trace.pointer[group + 1]
    ended = first_at_least(trace.end, first, last, time)
    begun = first_at_least(trace.start, first, last, time + 1)
    out[0] = begun - ended
    out[1] = ended - first
    out[2] = last - begun
    for k in range(widths):
        out[3 + k] = (
            trace.earlier[ended - 1, k] * decay[k, time - trace.end[ended - 1]]
            if ended > first
            else 0.0
        )
        out[3 + widths + k] = (
            trace.later[begun, k] * decay[k, trace.start[begun] - time] if begun < last else 0.0
        )


@kernel
def count_event(decay, start, end, time, out):
    """Add one fact to the numbers that `trace_features` gives for a group."""
    widths = decay.shape[0]
    if end < time:
        out[1] += 1.0
        for k in range(widths):
            out[3 + k] += decay[k, time - end]
    elif start > time:
        out[2] += 1.0
        for k in range(widths):
            out[3 + widths + k] += decay[k, start - time]
    else:
        out[0] += 1.0


@kernel
def pair_features(context, relation, inverse, time, neighbour, width, out):
    """Counts on the pair: all facts, those of r, of r⁻¹, and weighted by relation."""
    size = 3 + 2 * context.decay.shape[0]
    for row in range(context.pair_pointer[neighbour], context.pair_pointer[neighbour + 1]):
        other, start, end = (
            context.pair_relation[row],
            context.pair_start[row],
            context.pair_end[row],
        )
        count_event(context.decay, start, end, time, out[:size])
        if other == relation:
            count_event(context.decay, start, end, time, out[size : 2 * size])
        elif other == inverse:
            count_event(context.decay, start, end, time, out[2 * size : 3 * size])
        weights = context.weights[:, relation, other]
        if end < time:
            out[3 * size + 1] += weights[1] * context.decay[width, time - end]
        elif start > time:
            out[3 * size + 2] += weights[2] * context.decay[width, start - time]
        else:
            out[3 * size] += weights[0]
        out[3 * size + 3] += weights[3]


@kernel
def add_paths(context, subject, relation, time, own, reach, cap, slot, out, column):
    """Weigh the ends of two facts s–x–o that start near `time`: those at it, and decayed by gap.

    A middle with n facts near the time gives each 1/√n. The fact (s, r, own) is no first step.
    """
    decay = context.decay
    trace = context.by_entity
    first, last = near_range(trace, subject, time, reach)
    for row in range(first, min(last, first + cap)):
        middle = context.entity_object[row]
        gap = abs(trace.start[row] - time)
        holds = trace.start[row] <= time <= context.entity_end[row]
        if middle == own and context.entity_relation[row] == relation and holds:
            continue
        begin, stop = near_range(trace, middle, time, reach)
        stop = min(stop, begin + cap)
        degree = np.sqrt(max(stop - begin, 1))
        for second in range(begin, stop):
            candidate = slot[context.entity_object[second]]
            if candidate >= 0:
                other = abs(trace.start[second] - time)
                if gap == 0 and other == 0:
                    out[candidate, column] += 1.0 / degree
                out[candidate, column + 1] += decay[0, gap] * decay[0, other] / degree


@kernel
def add_beside(context, entity, relation, time, other, width, reach, out):
    """Weigh facts of an entity that start near `time` by how often r stands beside their relation.

    The fact with `other` that holds at the time is left out.
    """
    trace = context.by_entity
    begin, stop = near_range(trace, entity, time, reach)
    for row in range(begin, stop):
        start = trace.start[row]
        near = context.entity_relation[row]
        if (
            near == relation
            and context.entity_object[row] == other
            and start <= time <= context.entity_end[row]
        ):
            continue
        if start == time:
            out[0] += context.beside[0, relation, near]
        elif start < time:
            out[1] += context.beside[1, relation, near] * context.decay[width, time - start]
        else:
            out[2] += context.beside[2, relation, near] * context.decay[width, start - time]


@kernel
def leave_out_of_pair(context, relation, size, out):
    """Take back what the asked fact itself has added to `pair_features`."""
    out[0] -= 1.0
    out[size] -= 1.0
    out[3 * size] -= context.weights[0, relation, relation]
    out[3 * size + 3] -= context.weights[3, relation, relation]


@kernel
def object_features(
    context, subjects, relations, times, own, offsets, ids, width, beside, reach, cap, out, query
):
    """Features of each candidate (rows of `out`) and of each asked (s, r, t) (rows of `query`).

    Where own[i] ≥ 0, (s, r, own, t) is a known fact, and the features are those without it.
    """
    size = 3 + 2 * context.decay.shape[0]
    relation_count = context.weights.shape[1] // 2
    slot = np.full(len(context.neighbour_pointer) - 1, -1, np.int32)
    for row in range(len(subjects)):
        subject, relation, time = subjects[row], relations[row], times[row]
        inverse = (
            relation - relation_count if relation >= relation_count else relation + relation_count
        )
        first, last = offsets[row], offsets[row + 1]
        block = out[first:last]
        for at in range(last - first):
            slot[ids[first + at]] = at
        for neighbour in range(
            context.neighbour_pointer[subject], context.neighbour_pointer[subject + 1]
        ):
            at = slot[context.neighbour[neighbour]]
            if at >= 0:
                pair_features(context, relation, inverse, time, neighbour, width, block[at])
        column = 3 * size + 4
        add_paths(context, subject, relation, time, own[row], reach, cap, slot, block, column)
        column += 2
        for at in range(last - first):
            candidate = ids[first + at]
            slot[candidate] = -1
            group = relation_group(context, candidate, inverse)
            trace_features(context.by_relation, context.decay, group, time, block[at, column:])
            trace_features(
                context.by_entity, context.decay, candidate, time, block[at, column + size :]
            )
            if candidate == own[row]:
                leave_out_of_pair(context, relation, size, block[at])
                block[at, column] -= 1.0
                block[at, column + size] -= 1.0
        asked = query[row]
        trace_features(
            context.by_relation,
            context.decay,
            relation_group(context, subject, relation),
            time,
            asked,
        )
        trace_features(context.by_entity, context.decay, subject, time, asked[size:])
        trace_features(context.of_relation, context.decay, relation, time, asked[2 * size :])
        add_beside(
            context, subject, relation, time, own[row], beside[0], beside[1], asked[3 * size :]
        )
        if own[row] >= 0:
            asked[0] -= 1.0
            asked[size] -= 1.0
            asked[2 * size] -= 1.0


@kernel
def object_candidates(context, subject, time, best, reach, cap, ids):
    """Candidates for (s, ?, t), each once: neighbours of s, the best, and ends of two near steps.

    Returns how many; `ids` has room for all of them. The order is that of discovery.
    """
    seen = np.zeros(len(context.neighbour_pointer) - 1, np.bool_)
    count = 0
    for at in range(context.neighbour_pointer[subject], context.neighbour_pointer[subject + 1]):
        ids[count] = context.neighbour[at]
        seen[context.neighbour[at]] = True
        count += 1
    for candidate in best:
        if not seen[candidate]:
            seen[candidate] = True
            ids[count] = candidate
            count += 1
    trace = context.by_entity
    first, last = near_range(trace, subject, time, reach)
    room = count + cap
    for row in range(first, min(last, first + cap)):
        begin, stop = near_range(trace, context.entity_object[row], time, reach)
        for second in range(begin, min(stop, begin + cap)):
            candidate = context.entity_object[second]
            if not seen[candidate] and candidate != subject and count < room:
                seen[candidate] = True
                ids[count] = candidate
                count += 1
    return count


@kernel
def all_object_candidates(context, subjects, times, best, reach, cap, offsets, ids):
    """`object_candidates` of many rows, one after the other."""
    offsets[0] = 0
    for row in range(len(subjects)):
        found = object_candidates(
            context, subjects[row], times[row], best[row], reach, cap, ids[offsets[row] :]
        )
        offsets[row + 1] = offsets[row] + found


@kernel
def known_answers(context, subjects, relations, times, offsets, ids, found):
    """Mark the candidates o for which (s, r, o, t) is a known fact."""
    for row in range(len(subjects)):
        for at in range(offsets[row], offsets[row + 1]):
            neighbour = neighbour_of(context, subjects[row], ids[at])
            if neighbour < 0:
                continue
            for pair in range(context.pair_pointer[neighbour], context.pair_pointer[neighbour + 1]):
                if (
                    context.pair_relation[pair] == relations[row]
                    and context.pair_start[pair] <= times[row] <= context.pair_end[pair]
                ):
                    found[at] = True
                    break
