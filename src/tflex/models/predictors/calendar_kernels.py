"""Compiled primitives of the features of every timestamp t for (s, r, o, ?)."""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from tflex.compiled import kernel
from tflex.models.predictors.context_kernels import first_at_least, neighbour_of, relation_group


@kernel
def spread(begun, ended, keep, out):
    """Counts at each timestamp, before and after it, in all and decayed, like `trace_features`.

    `begun[t]` and `ended[t]` count the (weighted) facts that start and end at t; `keep[k]` is
    exp(−1 / width_k).
    """
    widths = len(keep)
    last = len(begun) - 1
    active, before = 0.0, 0.0
    for t in range(last + 1):
        active += begun[t]
        out[t, 0] = max(active, 0.0)
        out[t, 1] = before
        active -= ended[t]
        before += ended[t]
        for k in range(widths):
            out[t, 3 + k] = 0.0 if t == 0 else (out[t - 1, 3 + k] + ended[t - 1]) * keep[k]
    after = 0.0
    for t in range(last, -1, -1):
        out[t, 2] = after
        after += begun[t]
        for k in range(widths):
            column = 3 + widths + k
            out[t, column] = 0.0 if t == last else (out[t + 1, column] + begun[t + 1]) * keep[k]


@kernel
def spread_group(trace, group, left, keep, begun, ended, out):
    """`spread` of one group of a trace, without its fact with the times `left`."""
    begun[:] = 0.0
    ended[:] = 0.0
    if group >= 0:
        for row in range(trace.pointer[group], trace.pointer[group + 1]):
            begun[trace.start[row]] += 1.0
            ended[trace.end[row]] += 1.0
        leave_out(left, 1.0, begun, ended)
    spread(begun, ended, keep, out)


@kernel
def leave_out(left, weight, begun, ended):
    """Take back what the fact with start and end `left` has added; a negative start names none."""
    if left[0] >= 0:
        begun[left[0]] -= weight
        ended[left[1]] -= weight


@kernel
def spread_pair(context, neighbour, relation, left, keep, begun, ended, out):
    """`spread` of the pair's facts of one relation (all for −1)."""
    begun[:] = 0.0
    ended[:] = 0.0
    if neighbour >= 0:
        for row in range(context.pair_pointer[neighbour], context.pair_pointer[neighbour + 1]):
            if relation < 0 or context.pair_relation[row] == relation:
                begun[context.pair_start[row]] += 1.0
                ended[context.pair_end[row]] += 1.0
        leave_out(left, 1.0, begun, ended)
    spread(begun, ended, keep, out)


@kernel
def spread_weighted(context, neighbour, relation, left, keep, width, begun, ended, out):
    """The pair's facts weighted by how often their relation stands beside r: at, before, after."""
    last = len(begun) - 1
    out[:, :3] = 0.0
    if neighbour < 0:
        return
    for side in range(3):
        begun[:] = 0.0
        ended[:] = 0.0
        for row in range(context.pair_pointer[neighbour], context.pair_pointer[neighbour + 1]):
            weight = context.weights[side, relation, context.pair_relation[row]]
            begun[context.pair_start[row]] += weight
            ended[context.pair_end[row]] += weight
        leave_out(left, context.weights[side, relation, relation], begun, ended)
        if side == 0:
            active = 0.0
            for t in range(last + 1):
                active += begun[t]
                out[t, 0] = max(active, 0.0)
                active -= ended[t]
        elif side == 1:
            for t in range(1, last + 1):
                out[t, 1] = (out[t - 1, 1] + ended[t - 1]) * keep[width]
        else:
            for t in range(last - 1, -1, -1):
                out[t, 2] = (out[t + 1, 2] + begun[t + 1]) * keep[width]


@kernel
def spread_paths(context, subject, object, reach, out):
    """Pairs of facts s–x–o that start together, and those within `reach`, decayed by their gap."""
    out[:, :2] = 0.0
    trace = context.by_entity
    few, many = subject, object
    if trace.pointer[few + 1] - trace.pointer[few] > trace.pointer[many + 1] - trace.pointer[many]:
        few, many = object, subject
    for row in range(trace.pointer[few], trace.pointer[few + 1]):
        middle = context.entity_object[row]
        if middle in (many, few):
            continue
        neighbour = neighbour_of(context, many, middle)
        if neighbour < 0:
            continue
        start = trace.start[row]
        first, last = context.pair_pointer[neighbour], context.pair_pointer[neighbour + 1]
        for other in range(first_at_least(context.pair_start, first, last, start - reach), last):
            gap = context.pair_start[other] - start
            if gap > reach:
                break
            if gap == 0:
                out[start, 0] += 1.0
            weight = 0.5 * context.decay[0, abs(gap)]
            out[start, 1] += weight
            out[context.pair_start[other], 1] += weight


@kernel
def spread_alike(context, entity, other, relation, likeness, out):
    """Facts of `entity` weighted by how alike their other end is to `other`: all, of r, decayed."""
    out[:, :3] = 0.0
    trace = context.by_entity
    reach = 4
    last = len(out) - 1
    for row in range(trace.pointer[entity], trace.pointer[entity + 1]):
        if context.entity_object[row] == other:
            continue
        weight = max(likeness[context.entity_object[row]], 0.0) ** 2
        start, end = trace.start[row], context.entity_end[row]
        same = context.entity_relation[row] == relation
        for t in range(max(start - reach, 0), min(end + reach, last) + 1):
            gap = max(start - t, t - end, 0)
            if gap == 0:
                out[t, 0] += weight
                if same:
                    out[t, 1] += weight
            out[t, 2] += weight * context.decay[0, gap]


@kernel
def calendar_features(
    context, subject, relation, object, left, likeness, keep, width, reach, begun, ended, out
):
    """Features of each timestamp, [|T|, features], for one (s, r, o)."""
    size = 3 + 2 * len(keep)
    relation_count = context.weights.shape[1] // 2
    inverse = relation - relation_count if relation >= relation_count else relation + relation_count
    neighbour = neighbour_of(context, subject, object)
    none = np.array([-1, -1], np.int32)
    spread_pair(context, neighbour, -1, left, keep, begun, ended, out)
    spread_pair(context, neighbour, relation, left, keep, begun, ended, out[:, size:])
    spread_pair(context, neighbour, inverse, none, keep, begun, ended, out[:, 2 * size :])
    column = 3 * size
    spread_weighted(context, neighbour, relation, left, keep, width, begun, ended, out[:, column:])
    spread_paths(context, subject, object, reach, out[:, column + 3 :])
    column += 5
    group = relation_group(context, subject, relation)
    spread_group(context.by_relation, group, left, keep, begun, ended, out[:, column:])
    column += size
    group = relation_group(context, object, inverse)
    spread_group(context.by_relation, group, left, keep, begun, ended, out[:, column:])
    column += size
    spread_group(context.by_entity, subject, left, keep, begun, ended, out[:, column:])
    column += size
    spread_group(context.by_entity, object, left, keep, begun, ended, out[:, column:])
    column += size
    spread_alike(context, subject, object, relation, likeness[1], out[:, column:])
    spread_alike(context, object, subject, inverse, likeness[0], out[:, column + 3 :])
    column += 6
    spread_group(context.of_relation, relation, left, keep, begun, ended, out[:, column:])


@kernel
def all_calendar_features(
    context, subjects, relations, objects, left, likeness, keep, width, reach, out
):
    """`calendar_features` of many questions, [batch, |T|, features].

    `likeness[i]` holds how alike the i-th subject and the i-th object are to each entity.
    """
    begun = np.zeros(out.shape[1], np.float32)
    ended = np.zeros(out.shape[1], np.float32)
    for row in range(len(subjects)):
        calendar_features(context, subjects[row], relations[row], objects[row], left[row],
                          likeness[row], keep, width, reach, begun, ended, out[row])  # fmt: skip
