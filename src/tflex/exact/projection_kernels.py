"""The compiled projections `Pe` and `Pt` over batches of sets.

A row is one query. Entity sets come as (offsets, ids), ids sorted and unique, and may stand for
their complement. Time sets come as bounds (low, high), with words of bits where they have gaps.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from tflex.compiled import inlined, kernel
from tflex.exact.bit_kernels import (
    ONE,
    ZERO,
    any_bit,
    contains,
    grown,
    lower_bound,
    set_range,
    test_bit,
    trailing_zeros,
)


@inlined
def place_of(subject, relation, size):
    """Where the search for a segment begins in a table whose size is a power of two."""
    key = np.uint64(subject) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(relation)
    return np.int64(((key * np.uint64(0xBF58476D1CE4E5B9)) >> np.uint64(32)) & np.uint64(size - 1))


@kernel
def segment_table(segment_subject, segment_relation, size):
    """An open-addressing table of segments by (subject, relation); -1 marks a free place."""
    table = np.full(size, -1, np.int32)
    for segment in range(len(segment_subject)):
        at = place_of(segment_subject[segment], segment_relation[segment], size)
        while table[at] >= 0:
            at = (at + 1) & (size - 1)
        table[at] = segment
    return table


@inlined
def find_segment(table, subject_pointer, segment_subject, segment_relation, subject, relation):
    """The segment of (subject, relation), or -1; by search where the table is empty."""
    if len(table) == 0:
        last = subject_pointer[subject + 1]
        at = lower_bound(segment_relation, subject_pointer[subject], last, relation)
        return at if at < last and segment_relation[at] == relation else -1
    at = place_of(subject, relation, len(table))
    while True:
        segment = np.int64(table[at])
        if segment < 0 or (
            segment_subject[segment] == subject and segment_relation[segment] == relation
        ):
            return segment
        at = (at + 1) & (len(table) - 1)


@inlined
def segments_of(table, subject_pointer, segment_subject, segment_relation, offsets, ids,
                relations):  # fmt: skip
    """The segment of each id with the relation of its row, or -1.

    A loop that does nothing else lets the processor fetch many rows' places at a time.
    """
    segments = np.empty(len(ids), np.int64)
    for row in range(len(relations)):
        relation = relations[row]
        for at in range(offsets[row], offsets[row + 1]):
            segments[at] = find_segment(
                table, subject_pointer, segment_subject, segment_relation, ids[at],
                relation)  # fmt: skip
    return segments


@kernel
def sort_unique(out, first, last, words):
    """Sort out[first:last] and drop repetitions; the end of what remains.

    Many members are marked in `words` (zero before and after) and read off in order.
    """
    ascending = first + 1
    while ascending < last and out[ascending - 1] < out[ascending]:
        ascending += 1
    if ascending == last:
        # The objects of one subject at one time are in order as they lie.
        return last
    if last - first > 32 + len(words) // 8:
        low, high = len(words), -1
        for at in range(first, last):
            word = out[at] >> 6
            words[word] |= ONE << np.uint64(out[at] & 63)
            low, high = min(low, word), max(high, word)
        for word in range(low, high + 1):
            rest = words[word]
            words[word] = ZERO
            while rest != ZERO:
                out[first] = word * 64 + np.int64(trailing_zeros(rest))
                first += 1
                rest &= rest - ONE
        return first
    if last - first > 32:
        out[first:last].sort()
    else:
        for at in range(first + 1, last):
            value = out[at]
            before = at - 1
            while before >= first and out[before] > value:
                out[before + 1] = out[before]
                before -= 1
            out[before + 1] = value
    kept = first + 1
    for at in range(first + 1, last):
        if out[at] != out[kept - 1]:
            out[kept] = out[at]
            kept += 1
    return kept


@kernel
def project_entities(table, subject_pointer, segment_subject, segment_relation, segment_pointer,
                     relation_pointer, relation_segment, time_object, time_start, time_end,
                     time_level, points, level, offsets, ids, complement, relations,
                     lows, highs, origins, time_words):  # fmt: skip
    """Pe(S, r, Q) = {o : s∈S, t∈Q, (s,r,o,t)∈F} for every row."""
    count = len(relations)
    gaps = len(origins) > 0
    out_offsets = np.empty(count + 1, np.int64)
    out_offsets[0] = 0
    out = np.empty(4 * count + 16, np.int32)
    words = np.zeros(len(subject_pointer) // 64 + 1, np.uint64)
    position = 0
    segments, begins = np.empty(0, np.int64), np.empty(0, np.int64)
    if not complement:
        segments = segments_of(table, subject_pointer, segment_subject, segment_relation, offsets,
                               ids, relations)  # fmt: skip
        begins = np.empty(len(ids), np.int64)
        for row in range(count):
            for at in range(offsets[row], offsets[row + 1]):
                segment = segments[at]
                begins[at] = segment_pointer[segment] if segment >= 0 else -1
                if points and segment >= 0:
                    last = segment_pointer[segment + 1]
                    begins[at] = lower_bound(time_start, begins[at], last, lows[row])
    for row in range(count):
        low, high, relation = lows[row], highs[row], relations[row]
        origin = origins[row] if gaps else 0
        first, last = offsets[row], offsets[row + 1]
        sources_first, sources_last = first, last
        if complement:
            sources_first = relation_pointer[relation]
            sources_last = relation_pointer[relation + 1]
        size = position
        for source in range(sources_first, sources_last if low <= high else sources_first):
            if complement:
                segment = np.int64(relation_segment[source])
                if contains(ids, first, last, segment_subject[segment]):
                    continue
                begin, end = segment_pointer[segment], segment_pointer[segment + 1]
                if points:
                    begin = lower_bound(time_start, begin, end, low)
            else:
                segment, begin = segments[source], begins[source]
                if segment < 0:
                    continue
                end = segment_pointer[segment + 1]
            for fact in range(begin, end):
                start = time_start[fact]
                if start > high:
                    break
                if time_level[fact] > level:
                    continue
                if points:
                    if gaps and not test_bit(time_words, origin, start):
                        continue
                else:
                    stop = time_end[fact]
                    if stop < low:
                        continue
                    if gaps and not any_bit(time_words, origin, max(start, low), min(stop, high)):
                        continue
                if size == len(out):
                    larger = np.empty(2 * size, np.int32)
                    larger[:size] = out
                    out = larger
                out[size] = time_object[fact]
                size += 1
        if size - position > 1:
            size = sort_unique(out, position, size, words)
        position = size
        out_offsets[row + 1] = position
    return out_offsets, out[:position]


@inlined
def _rows_of_segment(segment_pointer, object_object, segment, targets, first, last, complement,
                     found, size):  # fmt: skip
    """Append the rows of a segment whose object is in targets[first:last]."""
    begin, end = segment_pointer[segment], segment_pointer[segment + 1]
    driven = not complement and (last - first == 1 or (last - first) * 8 < end - begin)
    known, holds = -1, driven
    # Few targets are looked up one by one; many are tested at each fact.
    for wanted in range(first, last if driven else first + 1):
        at = begin
        if driven:
            at = lower_bound(object_object, begin, end, targets[wanted])
        while at < end:
            if driven:
                if object_object[at] != targets[wanted]:
                    break
            elif object_object[at] != known:
                known = object_object[at]
                holds = contains(targets, first, last, known) != complement
            if holds:
                if size == len(found):
                    found = grown(found, size + 1)
                found[size] = at
                size += 1
            at += 1
    return found, size


@kernel
def _times_of_pairs(table, subject_pointer, segment_subject, segment_relation, segment_pointer,
                    object_object, object_start, object_end, object_level, level, offsets, sources,
                    relations, targets, time_count):  # fmt: skip
    """Pt of one subject and one object a row: one run of facts, sorted by their start."""
    count = len(relations)
    segments = segments_of(table, subject_pointer, segment_subject, segment_relation, offsets,
                           sources, relations)  # fmt: skip
    begins = np.zeros(count, np.int64)
    for row in range(count):
        if segments[row] >= 0:
            first, last = segment_pointer[segments[row]], segment_pointer[segments[row] + 1]
            begins[row] = lower_bound(object_object, first, last, targets[row])
    origins, words, position = np.empty(count, np.int64), np.empty(count + 16, np.uint64), 0
    lows, highs = np.empty(count, np.int32), np.empty(count, np.int32)
    for row in range(count):
        lows[row], highs[row], origins[row] = time_count, -1, position
        if segments[row] < 0:
            continue
        begin, end, target = begins[row], segment_pointer[segments[row] + 1], targets[row]
        low, high, stop = time_count, -1, begin
        while stop < end and object_object[stop] == target:
            if object_level[stop] <= level:
                low, high = min(low, object_start[stop]), max(high, object_end[stop])
            stop += 1
        lows[row], highs[row] = low, high
        if low > high:
            continue
        origin, span = position - (low >> 6), (high >> 6) - (low >> 6) + 1
        origins[row] = origin
        if position + span > len(words):
            words = grown(words, position + span)
        for at in range(position, position + span):
            words[at] = ZERO
        position += span
        # Starts ascend, so a word is put together in a register and written once.
        place, word = np.int64(low >> 6), ZERO
        for fact in range(begin, stop):
            if object_level[fact] > level:
                continue
            start, last = object_start[fact], object_end[fact]
            if start != last:
                set_range(words, origin, start, last)
                continue
            if start >> 6 != place:
                words[origin + place] |= word
                place, word = np.int64(start >> 6), ZERO
            word |= ONE << np.uint64(start & 63)
        words[origin + place] |= word
    return lows, highs, origins, words


@kernel
def project_times(table, subject_pointer, segment_subject, segment_relation, segment_pointer,
                  relation_pointer, relation_segment, object_object, object_start, object_end,
                  object_level, level, source_offsets, source_ids, source_complement, relations,
                  target_offsets, target_ids, target_complement, time_count):  # fmt: skip
    """Pt(S, r, O) = {t : s∈S, o∈O, (s,r,o,t)∈F} for every row."""
    count = len(relations)
    inverse = (len(relation_pointer) - 1) // 2
    if not source_complement and not target_complement:
        singles = True
        for row in range(count):
            singles &= source_offsets[row + 1] - source_offsets[row] == 1
            singles &= target_offsets[row + 1] - target_offsets[row] == 1
        if singles:
            return _times_of_pairs(
                table, subject_pointer, segment_subject, segment_relation, segment_pointer,
                object_object, object_start, object_end, object_level, level, source_offsets,
                source_ids, relations, target_ids, time_count)  # fmt: skip
    origins, words, position = np.empty(count, np.int64), np.empty(count + 16, np.uint64), 0
    lows, highs = np.empty(count, np.int32), np.empty(count, np.int32)
    found = np.empty(64, np.int64)
    for row in range(count):
        relation = relations[row]
        s0, s1 = source_offsets[row], source_offsets[row + 1]
        o0, o1 = target_offsets[row], target_offsets[row + 1]
        # The smaller side drives: from an object, facts are read through the inverse relation.
        swapped = source_complement or (not target_complement and o1 - o0 < s1 - s0)
        every = source_complement and target_complement
        first, last = (o0, o1) if swapped else (s0, s1)
        if every:
            first, last, swapped = relation_pointer[relation], relation_pointer[relation + 1], False
        drivers, others = (target_ids, source_ids) if swapped else (source_ids, target_ids)
        other0, other1 = (s0, s1) if swapped else (o0, o1)
        complement = source_complement if swapped else target_complement
        if swapped:
            relation = relation - inverse if relation >= inverse else relation + inverse
        size = 0
        for at in range(first, last):
            if every:
                segment = np.int64(relation_segment[at])
                if contains(source_ids, s0, s1, segment_subject[segment]):
                    continue
            else:
                segment = find_segment(
                    table, subject_pointer, segment_subject, segment_relation, drivers[at],
                    relation)  # fmt: skip
                if segment < 0:
                    continue
            found, size = _rows_of_segment(
                segment_pointer, object_object, segment, others, other0, other1, complement,
                found, size)  # fmt: skip
        # The bounds come first, so that only the words between them are made.
        low, high = time_count, -1
        for at in range(size):
            fact = found[at]
            if object_level[fact] <= level:
                low, high = min(low, object_start[fact]), max(high, object_end[fact])
        lows[row], highs[row], origins[row] = low, high, position
        if low > high:
            continue
        origin, span = position - (low >> 6), (high >> 6) - (low >> 6) + 1
        origins[row] = origin
        if position + span > len(words):
            words = grown(words, position + span)
        for at in range(position, position + span):
            words[at] = ZERO
        position += span
        for at in range(size):
            fact = found[at]
            if object_level[fact] <= level:
                start, stop = object_start[fact], object_end[fact]
                if start == stop:
                    words[origin + (start >> 6)] |= ONE << np.uint64(start & 63)
                else:
                    set_range(words, origin, start, stop)
    return lows, highs, origins, words
