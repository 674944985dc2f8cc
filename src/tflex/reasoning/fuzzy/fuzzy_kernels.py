"""The compiled projections over degrees: known facts in full, predictions of chosen pairs.

Every row is one query, with its degrees of all entities and all timestamps.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from tflex.compiled import inlined, kernel


@inlined
def conjoined(code, a, b):
    """And of two degrees by the number of the logic: product, Gödel, Łukasiewicz."""
    if code == 0:
        return a * b
    if code == 1:
        return min(a, b)
    return max(a + b - np.float32(1), np.float32(0))


@kernel
def highest_levels(degrees):
    """Level k holds the highest of the 2ᵏ degrees from each timestamp on."""
    count = len(degrees)
    depth = 1
    while (1 << depth) <= count:
        depth += 1
    levels = np.zeros((depth, count), np.float32)
    levels[0] = degrees
    for level in range(1, depth):
        half = 1 << (level - 1)
        for time in range(count - 2 * half + 1):
            levels[level, time] = max(levels[level - 1, time], levels[level - 1, time + half])
    return levels


@inlined
def highest(levels, start, end):
    """The highest degree of the timestamps from start to end."""
    level = 0
    while (2 << level) <= end - start + 1:
        level += 1
    return max(levels[level, start], levels[level, end - (1 << level) + 1])


@kernel
def known_objects(
    segment_subject,
    segment_pointer,
    relation_pointer,
    relation_segment,
    row_object,
    row_start,
    row_end,
    row_level,
    level,
    code,
    sources,
    relations,
    times,
    out,
):
    """out[row, o] = max over known (s, r, o, [a, b]) of μ_S(s) ∧ max over [a, b] of μ_Q."""
    for query in range(len(relations)):
        levels = highest_levels(times[query])
        relation = relations[query]
        for place in range(relation_pointer[relation], relation_pointer[relation + 1]):
            segment = relation_segment[place]
            source = sources[query, segment_subject[segment]]
            if source <= 0:
                continue
            for row in range(segment_pointer[segment], segment_pointer[segment + 1]):
                if row_level[row] > level:
                    continue
                degree = conjoined(code, source, highest(levels, row_start[row], row_end[row]))
                if degree > out[query, row_object[row]]:
                    out[query, row_object[row]] = degree


@kernel
def known_times(
    segment_subject,
    segment_pointer,
    relation_pointer,
    relation_segment,
    row_object,
    row_start,
    row_end,
    row_level,
    level,
    code,
    sources,
    relations,
    targets,
    out,
):
    """out[row, t] = max over known (s, r, o, [a, b]) with t in [a, b] of μ_S(s) ∧ μ_O(o)."""
    for query in range(len(relations)):
        relation = relations[query]
        for place in range(relation_pointer[relation], relation_pointer[relation + 1]):
            segment = relation_segment[place]
            source = sources[query, segment_subject[segment]]
            if source <= 0:
                continue
            for row in range(segment_pointer[segment], segment_pointer[segment + 1]):
                target = targets[query, row_object[row]]
                if row_level[row] > level or target <= 0:
                    continue
                degree = conjoined(code, source, target)
                for time in range(row_start[row], row_end[row] + 1):
                    if degree > out[query, time]:
                        out[query, time] = degree


@kernel
def scatter_lists(code, queries, weights, lists, offsets, ids, degrees, out):
    """out[query, o] = max with weight ∧ degree, over the lists that the pairs point to."""
    for pair in range(len(queries)):
        query, weight, one = queries[pair], weights[pair], lists[pair]
        for at in range(offsets[one], offsets[one + 1]):
            degree = conjoined(code, weight, degrees[at])
            if degree > out[query, ids[at]]:
                out[query, ids[at]] = degree


@kernel
def scatter_rows(code, queries, weights, lists, degrees, out):
    """out[query, t] = max with weight ∧ degree, over the dense rows that the pairs point to."""
    for pair in range(len(queries)):
        query, weight, one = queries[pair], weights[pair], lists[pair]
        for time in range(degrees.shape[1]):
            degree = conjoined(code, weight, degrees[one, time])
            if degree > out[query, time]:
                out[query, time] = degree


@kernel
def leading(degrees, weights, count, out):
    """Positions of the highest degree·weight among the positive degrees, at most `count`.

    In rising order of positions; the highest degree that was left out is returned beside.
    """
    found = 0
    for at in range(len(degrees)):
        if degrees[at] > 0:
            out[found] = at
            found += 1
    if found <= count:
        return found, np.float32(0)
    members = out[:found].copy()
    order = np.argsort(-(degrees[members] * weights[members]), kind="mergesort")
    left_out = np.float32(0)
    for rank in range(count, found):
        left_out = max(left_out, degrees[members[order[rank]]])
    out[:count] = np.sort(members[order[:count]])
    return count, left_out


@kernel
def leading_pairs(code, first, second, first_weight, second_weight, most):
    """For every row at most `most` pairs of members, by their degrees and weights.

    Where there are more, the first set keeps at least √most members, or as many as the second
    leaves room for. Also a bound on the degree of any pair that was left out.
    """
    rows = len(first)
    query = np.empty(rows * most, np.int64)
    one, other = np.empty(rows * most, np.int32), np.empty(rows * most, np.int32)
    weight = np.empty(rows * most, np.float32)
    left_out = np.zeros(rows, np.float32)
    some, others = np.empty(first.shape[1], np.int64), np.empty(second.shape[1], np.int64)
    root = int(np.sqrt(most))
    count = 0
    for row in range(rows):
        members = 0
        for at in range(second.shape[1]):
            members += second[row, at] > 0
        if members == 0:
            continue
        room = max(root, most // members)
        taken, first_left = leading(first[row], first_weight[row], room, some)
        if taken == 0:
            continue
        kept, second_left = leading(second[row], second_weight[row], most // taken, others)
        left_out[row] = max(
            conjoined(code, first_left, second[row].max()),
            conjoined(code, first[row].max(), second_left),
        )
        for i in range(taken):
            for j in range(kept):
                degree = conjoined(code, first[row, some[i]], second[row, others[j]])
                if degree > 0:
                    query[count] = row
                    one[count], other[count] = some[i], others[j]
                    weight[count] = degree
                    count += 1
    return query[:count], one[:count], other[:count], weight[:count], left_out


@kernel
def known_counts(segment_subject, segment_known, relation_pointer, relation_segment, relations,
                 out):  # fmt: skip
    """out[row, s] = the number of known facts (s, r, ·, ·)."""
    for query in range(len(relations)):
        relation = relations[query]
        for place in range(relation_pointer[relation], relation_pointer[relation + 1]):
            segment = relation_segment[place]
            out[query, segment_subject[segment]] += segment_known[segment]
