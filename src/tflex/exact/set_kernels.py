"""Compiled set operations on batches of entity sets (sorted lists) and time sets (bit rows)."""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from tflex.compiled import kernel
from tflex.exact.bit_kernels import (
    FULL,
    ONE,
    ZERO,
    contains,
    grown,
    ones,
    tight_bounds,
    trailing_zeros,
    word_within,
)

INTERSECTION, UNION, DIFFERENCE = 0, 1, 2


@kernel
def merge(offsets_a, ids_a, offsets_b, ids_b, operation):
    """A∩B, A∪B or A−B for every row of two batches of sorted lists."""
    count = len(offsets_a) - 1
    out_offsets = np.empty(count + 1, np.int64)
    out_offsets[0] = 0
    out = np.empty(len(ids_a) + (len(ids_b) if operation == UNION else 0), np.int32)
    position = 0
    for row in range(count):
        a, last_a = offsets_a[row], offsets_a[row + 1]
        b, last_b = offsets_b[row], offsets_b[row + 1]
        if operation != UNION and (last_a - a) * 16 < last_b - b:
            while a < last_a:
                if contains(ids_b, b, last_b, ids_a[a]) == (operation == INTERSECTION):
                    out[position] = ids_a[a]
                    position += 1
                a += 1
        while a < last_a:
            if b == last_b or ids_a[a] < ids_b[b]:
                if operation != INTERSECTION:
                    out[position] = ids_a[a]
                    position += 1
                elif b == last_b:
                    break
                a += 1
            elif ids_a[a] > ids_b[b]:
                if operation == UNION:
                    out[position] = ids_b[b]
                    position += 1
                b += 1
            else:
                if operation != DIFFERENCE:
                    out[position] = ids_a[a]
                    position += 1
                a += 1
                b += 1
        if operation == UNION:
            while b < last_b:
                out[position] = ids_b[b]
                position += 1
                b += 1
        out_offsets[row + 1] = position
    return out_offsets, out[:position]


@kernel
def complement_lists(offsets, ids, size):
    """{0 … size-1} − A for every row."""
    count = len(offsets) - 1
    out_offsets = np.empty(count + 1, np.int64)
    out_offsets[0] = 0
    out = np.empty(count * size - len(ids), np.int32)
    position = 0
    for row in range(count):
        at, last = offsets[row], offsets[row + 1]
        for member in range(size):
            if at < last and ids[at] == member:
                at += 1
            else:
                out[position] = member
                position += 1
        out_offsets[row + 1] = position
    return out_offsets, out


@kernel
def merge_times(lows_a, highs_a, origins_a, words_a, lows_b, highs_b, origins_b, words_b,
                operation):  # fmt: skip
    """A∩B or A∪B for every row of two batches of time sets."""
    count = len(lows_a)
    lows, highs = np.empty(count, np.int32), np.empty(count, np.int32)
    if operation == INTERSECTION and len(origins_a) == 0 and len(origins_b) == 0:
        for row in range(count):
            lows[row] = max(lows_a[row], lows_b[row])
            highs[row] = min(highs_a[row], highs_b[row])
        return lows, highs, origins_a, words_a
    origins, words, position = np.empty(count, np.int64), np.empty(count + 16, np.uint64), 0
    for row in range(count):
        low_a, high_a, low_b, high_b = lows_a[row], highs_a[row], lows_b[row], highs_b[row]
        if operation == INTERSECTION:
            low, high = max(low_a, low_b), min(high_a, high_b)
        elif low_a > high_a:
            low, high = low_b, high_b
        elif low_b > high_b:
            low, high = low_a, high_a
        else:
            low, high = min(low_a, low_b), max(high_a, high_b)
        lows[row], highs[row], origins[row] = 1, 0, position
        if low > high:
            continue
        first, last = low >> 6, high >> 6
        if position + last - first >= len(words):
            words = grown(words, position + last - first + 1)
        origin = position - first
        for word in range(first, last + 1):
            left = word_within(words_a, origins_a, row, word, low_a, high_a)
            right = word_within(words_b, origins_b, row, word, low_b, high_b)
            words[origin + word] = left & right if operation == INTERSECTION else left | right
        origins[row] = origin
        lows[row], highs[row] = tight_bounds(words, origin, low, high)
        position += last - first + 1
    return lows, highs, origins, words


@kernel
def complement_times(lows, highs, origins, words, time_count):
    """T − A for every row."""
    count, width = len(lows), (time_count + 63) // 64
    out = np.empty(count * width, np.uint64)
    starts = np.empty(count, np.int64)
    low, high = np.empty(count, np.int32), np.empty(count, np.int32)
    for row in range(count):
        starts[row] = row * width
        for word in range(width):
            held = word_within(words, origins, row, word, lows[row], highs[row])
            out[starts[row] + word] = ~held
        out[starts[row] + width - 1] &= FULL >> np.uint64(63 - ((time_count - 1) & 63))
        low[row], high[row] = tight_bounds(out, starts[row], 0, time_count - 1)
    return low, high, starts, out


@kernel
def shift_times(lows, highs, origins, words, time_count):
    """{t+1 : t∈A} ∩ T for every row of sets with gaps."""
    count = len(lows)
    starts, out, position = np.empty(count, np.int64), np.empty(len(words) + count, np.uint64), 0
    low, high = np.empty(count, np.int32), np.empty(count, np.int32)
    for row in range(count):
        first, last = lows[row] + 1, min(highs[row] + 1, time_count - 1)
        low[row], high[row], starts[row] = 1, 0, position
        if lows[row] > highs[row] or first > last:
            continue
        origin = position - (first >> 6)
        if position + (last >> 6) - (first >> 6) >= len(out):
            out = grown(out, position + (last >> 6) - (first >> 6) + 1)
        for word in range(first >> 6, (last >> 6) + 1):
            shifted = word_within(words, origins, row, word, lows[row], highs[row]) << ONE
            if word > 0:
                below = word_within(words, origins, row, word - 1, lows[row], highs[row])
                shifted |= below >> np.uint64(63)
            out[origin + word] = shifted
        out[origin + (last >> 6)] &= FULL >> np.uint64(63 - (last & 63))
        low[row], high[row] = tight_bounds(out, origin, first, last)
        starts[row] = origin
        position += (last >> 6) - (first >> 6) + 1
    return low, high, starts, out


@kernel
def list_times(lows, highs, origins, words):
    """Time sets as sorted lists (offsets, ids)."""
    count = len(lows)
    offsets = np.empty(count + 1, np.int64)
    offsets[0] = 0
    for row in range(count):
        size = max(0, highs[row] - lows[row] + 1)
        if size > 0 and len(origins) > 0:
            size = 0
            for word in range(lows[row] >> 6, (highs[row] >> 6) + 1):
                size += np.int64(ones(words[origins[row] + word]))
        offsets[row + 1] = offsets[row] + size
    ids = np.empty(offsets[count], np.int32)
    for row in range(count):
        position = offsets[row]
        if len(origins) == 0:
            for at in range(offsets[row + 1] - position):
                ids[position + at] = lows[row] + at
        elif offsets[row + 1] > position:
            for word in range(lows[row] >> 6, (highs[row] >> 6) + 1):
                rest = words[origins[row] + word]
                while rest != ZERO:
                    ids[position] = word * 64 + np.int64(trailing_zeros(rest))
                    position += 1
                    rest &= rest - ONE
    return offsets, ids
