"""The compiled projections `Pe` and `Pt` over batches of sets.

A row is one query. Entity sets come as (offsets, ids), ids sorted and unique, and may stand for
their complement. Time sets come as bounds (low, high), with a bit row where they have gaps.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from tflex.compiled import kernel
from tflex.exact.bit_kernels import (
    ZERO,
    any_bit,
    bounds_of_row,
    contains,
    lower_bound,
    set_range,
    test_bit,
    trailing_zeros,
)


@kernel
def find_segment(subject_pointer, segment_relation, subject, relation):
    """The segment of (subject, relation), or -1."""
    last = subject_pointer[subject + 1]
    at = lower_bound(segment_relation, subject_pointer[subject], last, relation)
    return at if at < last and segment_relation[at] == relation else -1


@kernel
def _collect(segment_pointer, time_object, time_start, time_end, time_level, points, level,
             segment, low, high, bits, row, buffer, size):  # fmt: skip
    """Append the objects of a segment whose time meets the row's time set."""
    first, last = segment_pointer[segment], segment_pointer[segment + 1]
    if points:
        first = lower_bound(time_start, first, last, low)
    gaps = bits.shape[0] > 0
    for at in range(first, last):
        start = time_start[at]
        if start > high:
            break
        if time_level[at] > level:
            continue
        if points:
            if gaps and not test_bit(bits, row, start):
                continue
        else:
            end = time_end[at]
            if end < low:
                continue
            if gaps and not any_bit(bits, row, max(start, low), min(end, high)):
                continue
        if size == len(buffer):
            larger = np.empty(2 * size, np.int32)
            larger[:size] = buffer
            buffer = larger
        buffer[size] = time_object[at]
        size += 1
    return buffer, size


@kernel
def _emit(buffer, size, words, entity_count, out, position):
    """Append the distinct members of a buffer in order."""
    if position + size > len(out):
        larger = np.empty(max(2 * len(out), position + size), np.int32)
        larger[:position] = out[:position]
        out = larger
    if size > 32 + entity_count // 512:
        if len(words) == 0:
            words = np.zeros(entity_count // 64 + 1, np.uint64)
        low, high = len(words), -1
        for at in range(size):
            word = buffer[at] >> 6
            words[word] |= np.uint64(1) << np.uint64(buffer[at] & 63)
            low, high = min(low, word), max(high, word)
        for word in range(low, high + 1):
            rest = words[word]
            words[word] = ZERO
            while rest != ZERO:
                out[position] = word * 64 + np.int64(trailing_zeros(rest))
                position += 1
                rest &= rest - np.uint64(1)
        return words, out, position
    if size > 32:
        buffer[:size].sort()
    else:
        for at in range(1, size):
            value = buffer[at]
            before = at - 1
            while before >= 0 and buffer[before] > value:
                buffer[before + 1] = buffer[before]
                before -= 1
            buffer[before + 1] = value
    for at in range(size):
        if at == 0 or buffer[at] != buffer[at - 1]:
            out[position] = buffer[at]
            position += 1
    return words, out, position


@kernel
def project_entities(subject_pointer, segment_subject, segment_relation, segment_pointer,
                     relation_pointer, relation_segment, time_object, time_start, time_end,
                     time_level, points, level, offsets, ids, complement, relations,
                     lows, highs, bits):  # fmt: skip
    """Pe(S, r, Q) = {o : s∈S, t∈Q, (s,r,o,t)∈F} for every row."""
    count = len(relations)
    entity_count = len(subject_pointer) - 1
    out_offsets = np.empty(count + 1, np.int64)
    out_offsets[0] = 0
    out = np.empty(4 * count + 16, np.int32)
    buffer = np.empty(64, np.int32)
    words = np.zeros(0, np.uint64)
    position = 0
    for row in range(count):
        low, high, relation = lows[row], highs[row], relations[row]
        first, last = offsets[row], offsets[row + 1]
        size = 0
        if low <= high:
            if complement:
                for listed in range(relation_pointer[relation], relation_pointer[relation + 1]):
                    segment = relation_segment[listed]
                    if not contains(ids, first, last, segment_subject[segment]):
                        buffer, size = _collect(
                            segment_pointer, time_object, time_start, time_end, time_level, points,
                            level, segment, low, high, bits, row, buffer, size)  # fmt: skip
            else:
                for at in range(first, last):
                    segment = find_segment(subject_pointer, segment_relation, ids[at], relation)
                    if segment >= 0:
                        buffer, size = _collect(
                            segment_pointer, time_object, time_start, time_end, time_level, points,
                            level, segment, low, high, bits, row, buffer, size)  # fmt: skip
        if size > 0:
            words, out, position = _emit(buffer, size, words, entity_count, out, position)
        out_offsets[row + 1] = position
    return out_offsets, out[:position]


@kernel
def _mark(object_start, object_end, object_level, level, at, bits, row):
    """Set the times of one fact."""
    if object_level[at] <= level:
        set_range(bits, row, object_start[at], object_end[at])


@kernel
def _mark_segment(segment_pointer, object_object, object_start, object_end, object_level, level,
                  segment, targets, first, last, complement, bits, row):  # fmt: skip
    """Set the times at which a segment's facts have an object in targets[first:last]."""
    at, end = segment_pointer[segment], segment_pointer[segment + 1]
    if not complement and (last - first) * 8 < end - at:
        for wanted in range(first, last):
            target = targets[wanted]
            at = lower_bound(object_object, at, end, target)
            while at < end and object_object[at] == target:
                _mark(object_start, object_end, object_level, level, at, bits, row)
                at += 1
        return
    known, holds = -1, False
    for fact in range(at, end):
        if object_object[fact] != known:
            known = object_object[fact]
            holds = contains(targets, first, last, known) != complement
        if holds:
            _mark(object_start, object_end, object_level, level, fact, bits, row)


@kernel
def project_times(subject_pointer, segment_subject, segment_relation, segment_pointer,
                  relation_pointer, relation_segment, object_object, object_start, object_end,
                  object_level, level, source_offsets, source_ids, source_complement, relations,
                  target_offsets, target_ids, target_complement, time_count):  # fmt: skip
    """Pt(S, r, O) = {t : s∈S, o∈O, (s,r,o,t)∈F} for every row."""
    count = len(relations)
    inverse = (len(relation_pointer) - 1) // 2
    bits = np.zeros((count, (time_count + 63) // 64), np.uint64)
    lows, highs = np.empty(count, np.int32), np.empty(count, np.int32)
    for row in range(count):
        relation = relations[row]
        s0, s1 = source_offsets[row], source_offsets[row + 1]
        o0, o1 = target_offsets[row], target_offsets[row + 1]
        if source_complement and target_complement:
            for listed in range(relation_pointer[relation], relation_pointer[relation + 1]):
                segment = relation_segment[listed]
                if not contains(source_ids, s0, s1, segment_subject[segment]):
                    _mark_segment(segment_pointer, object_object, object_start, object_end,
                                  object_level, level, segment, target_ids, o0, o1, True, bits,
                                  row)  # fmt: skip
        elif source_complement or (not target_complement and o1 - o0 < s1 - s0):
            # The smaller side drives: (s, r, o, t) is read from o through the inverse relation.
            backward = relation - inverse if relation >= inverse else relation + inverse
            for at in range(o0, o1):
                segment = find_segment(subject_pointer, segment_relation, target_ids[at], backward)
                if segment >= 0:
                    _mark_segment(segment_pointer, object_object, object_start, object_end,
                                  object_level, level, segment, source_ids, s0, s1,
                                  source_complement, bits, row)  # fmt: skip
        else:
            for at in range(s0, s1):
                segment = find_segment(subject_pointer, segment_relation, source_ids[at], relation)
                if segment >= 0:
                    _mark_segment(segment_pointer, object_object, object_start, object_end,
                                  object_level, level, segment, target_ids, o0, o1,
                                  target_complement, bits, row)  # fmt: skip
        lows[row], highs[row] = bounds_of_row(bits, row)
    return lows, highs, bits
