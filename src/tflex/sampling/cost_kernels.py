"""Compiled missing-fact costs: sets whose members carry how many held-out facts they need."""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from tflex.compiled import kernel
from tflex.exact.bit_kernels import lower_bound
from tflex.exact.projection_kernels import find_segment

NEVER = np.int16(16_000)
"""The cost of what is no member; twice it still fits into 16 bits."""


@kernel
def cost_of(ids, costs, first, last, default, member):
    at = lower_bound(ids, first, last, member)
    return costs[at] if at < last and ids[at] == member else default


@kernel
def merge_costs(offsets_a, ids_a, costs_a, default_a, offsets_b, ids_b, costs_b, default_b, add):
    """Costs of A∩B (sums) or of A∪B (minima) for every row."""
    count = len(offsets_a) - 1
    size = len(ids_a) + len(ids_b)
    out_offsets = np.zeros(count + 1, np.int64)
    ids, costs = np.empty(size, np.int32), np.empty(size, np.int16)
    default = min(NEVER, default_a + default_b) if add else min(default_a, default_b)
    position = 0
    for row in range(count):
        a, last_a = offsets_a[row], offsets_a[row + 1]
        b, last_b = offsets_b[row], offsets_b[row + 1]
        while a < last_a or b < last_b:
            left, right = default_a, default_b
            from_a = b == last_b or (a < last_a and ids_a[a] <= ids_b[b])
            member = ids_a[a] if from_a else ids_b[b]
            if a < last_a and ids_a[a] == member:
                left = costs_a[a]
                a += 1
            if b < last_b and ids_b[b] == member:
                right = costs_b[b]
                b += 1
            cost = min(NEVER, left + right) if add else min(left, right)
            if cost != default:
                ids[position] = member
                costs[position] = cost
                position += 1
        out_offsets[row + 1] = position
    return out_offsets, ids[:position], costs[:position], default


@kernel
def negate_costs(offsets, ids, costs, default):
    """The complement: what was a member costs NEVER, everything else nothing."""
    count = len(offsets) - 1
    flipped = np.int16(0) if default == NEVER else NEVER
    out_offsets = np.zeros(count + 1, np.int64)
    out_ids, out_costs = np.empty(len(ids), np.int32), np.empty(len(ids), np.int16)
    position = 0
    for row in range(count):
        for at in range(offsets[row], offsets[row + 1]):
            cost = NEVER if costs[at] < NEVER else np.int16(0)
            if cost != flipped:
                out_ids[position] = ids[at]
                out_costs[position] = cost
                position += 1
        out_offsets[row + 1] = position
    return out_offsets, out_ids[:position], out_costs[:position], flipped


@kernel
def _scan(segment_pointer, objects, starts, ends, levels, level, known, segment, base, times, row,
          best, touched, size):  # fmt: skip
    """Lower the cost of each object of a segment by its facts: source + fact + time."""
    for at in range(segment_pointer[segment], segment_pointer[segment + 1]):
        if levels[at] > level:
            continue
        cheapest = NEVER
        for t in range(starts[at], ends[at] + 1):
            cheapest = min(cheapest, times[row, t])
        if cheapest == NEVER:
            continue
        cost = base + cheapest + np.int16(levels[at] > known)
        member = objects[at]
        if best[member] == NEVER:
            touched[size] = member
            size += 1
        best[member] = min(best[member], cost)
    return size


@kernel
def project_entity_costs(table, subject_pointer, segment_subject, segment_relation, segment_pointer,
                         relation_pointer, relation_segment, objects, starts, ends, levels, level,
                         known, offsets, ids, costs, default, relations, times):  # fmt: skip
    """Pe: the minimum over witnesses (s, t) of cost(s) + cost(t) + cost of the fact."""
    count = len(relations)
    entity_count = len(subject_pointer) - 1
    best = np.full(entity_count, NEVER, np.int16)
    touched = np.empty(entity_count, np.int32)
    out_offsets = np.zeros(count + 1, np.int64)
    out_ids, out_costs = np.empty(4 * count + 16, np.int32), np.empty(4 * count + 16, np.int16)
    position = 0
    for row in range(count):
        relation, size = relations[row], 0
        first, last = offsets[row], offsets[row + 1]
        if default == NEVER:
            for at in range(first, last):
                segment = find_segment(
                    table, subject_pointer, segment_subject, segment_relation, ids[at],
                    relation)  # fmt: skip
                if segment >= 0 and costs[at] < NEVER:
                    size = _scan(segment_pointer, objects, starts, ends, levels, level, known,
                                 segment, costs[at], times, row, best, touched, size)  # fmt: skip
        else:
            for listed in range(relation_pointer[relation], relation_pointer[relation + 1]):
                segment = relation_segment[listed]
                base = cost_of(ids, costs, first, last, default, segment_subject[segment])
                if base < NEVER:
                    size = _scan(segment_pointer, objects, starts, ends, levels, level, known,
                                 segment, base, times, row, best, touched, size)  # fmt: skip
        members = touched[:size]
        members.sort()
        while position + size > len(out_ids):
            out_ids = np.concatenate((out_ids, np.empty(len(out_ids), np.int32)))
            out_costs = np.concatenate((out_costs, np.empty(len(out_costs), np.int16)))
        for member in members:
            out_ids[position] = member
            out_costs[position] = best[member]
            best[member] = NEVER
            position += 1
        out_offsets[row + 1] = position
    return out_offsets, out_ids[:position], out_costs[:position]


@kernel
def _scan_times(segment_pointer, objects, starts, ends, levels, level, known, segment, base, ids,
                costs, first, last, default, out, row):  # fmt: skip
    """Lower the cost of each time of a segment's facts: source + fact + target."""
    for at in range(segment_pointer[segment], segment_pointer[segment + 1]):
        if levels[at] > level:
            continue
        cost = cost_of(ids, costs, first, last, default, objects[at])
        if cost == NEVER:
            continue
        total = base + cost + np.int16(levels[at] > known)
        for t in range(starts[at], ends[at] + 1):
            out[row, t] = min(out[row, t], total)


@kernel
def project_time_costs(table, subject_pointer, segment_subject, segment_relation, segment_pointer,
                       relation_pointer, relation_segment, objects, starts, ends, levels, level,
                       known, offsets, ids, costs, default, relations, target_offsets, target_ids,
                       target_costs, target_default, time_count):  # fmt: skip
    """Pt: the minimum over witnesses (s, o) of cost(s) + cost(o) + cost of the fact."""
    count = len(relations)
    inverse = (len(relation_pointer) - 1) // 2
    out = np.full((count, time_count), NEVER, np.int16)
    for row in range(count):
        relation = relations[row]
        first, last = offsets[row], offsets[row + 1]
        t0, t1 = target_offsets[row], target_offsets[row + 1]
        if default == NEVER and (target_default != NEVER or last - first <= t1 - t0):
            for at in range(first, last):
                segment = find_segment(
                    table, subject_pointer, segment_subject, segment_relation, ids[at],
                    relation)  # fmt: skip
                if segment >= 0 and costs[at] < NEVER:
                    _scan_times(segment_pointer, objects, starts, ends, levels, level, known,
                                segment, costs[at], target_ids, target_costs, t0, t1,
                                target_default, out, row)  # fmt: skip
        elif target_default == NEVER:
            backward = relation - inverse if relation >= inverse else relation + inverse
            for at in range(t0, t1):
                segment = find_segment(
                    table, subject_pointer, segment_subject, segment_relation, target_ids[at],
                    backward)  # fmt: skip
                if segment >= 0 and target_costs[at] < NEVER:
                    _scan_times(segment_pointer, objects, starts, ends, levels, level, known,
                                segment, target_costs[at], ids, costs, first, last, default,
                                out, row)  # fmt: skip
        else:
            for listed in range(relation_pointer[relation], relation_pointer[relation + 1]):
                segment = relation_segment[listed]
                base = cost_of(ids, costs, first, last, default, segment_subject[segment])
                if base < NEVER:
                    _scan_times(segment_pointer, objects, starts, ends, levels, level, known,
                                segment, base, target_ids, target_costs, t0, t1,
                                target_default, out, row)  # fmt: skip
    return out


@kernel
def beyond_costs(times, later):
    """Costs of after (or before): nothing beyond the last (first) member, all of T for none."""
    count, size = times.shape
    out = np.full((count, size), NEVER, np.int16)
    for row in range(count):
        if later:
            bound = size - 1
            while bound >= 0 and times[row, bound] == NEVER:
                bound -= 1
            out[row, bound + 1 :] = 0
        else:
            bound = 0
            while bound < size and times[row, bound] == NEVER:
                bound += 1
            out[row, :bound] = 0
    return out


@kernel
def look_up_costs(offsets, ids, costs, default, wanted_offsets, wanted):
    """The cost of each wanted member of each row."""
    out = np.empty(len(wanted), np.int16)
    for row in range(len(offsets) - 1):
        for at in range(wanted_offsets[row], wanted_offsets[row + 1]):
            out[at] = cost_of(ids, costs, offsets[row], offsets[row + 1], default, wanted[at])
    return out
