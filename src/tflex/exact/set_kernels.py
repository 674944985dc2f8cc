"""Compiled set operations on batches of entity sets (sorted lists) and time sets (bit rows)."""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from tflex.compiled import kernel
from tflex.exact.bit_kernels import (
    ONE,
    ZERO,
    bounds_of_row,
    contains,
    ones,
    set_range,
    trailing_zeros,
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
def dense_bits(lows, highs, bits, time_count):
    """Time sets as bit rows, whether they were ranges or not."""
    if bits.shape[0] > 0:
        return bits
    count = len(lows)
    out = np.zeros((count, (time_count + 63) // 64), np.uint64)
    for row in range(count):
        set_range(out, row, lows[row], highs[row])
    return out


@kernel
def merge_times(lows_a, highs_a, bits_a, lows_b, highs_b, bits_b, operation, time_count):
    """A∩B or A∪B for every row of two batches of time sets."""
    count = len(lows_a)
    lows, highs = np.empty(count, np.int32), np.empty(count, np.int32)
    if operation == INTERSECTION and bits_a.shape[0] == 0 and bits_b.shape[0] == 0:
        for row in range(count):
            lows[row] = max(lows_a[row], lows_b[row])
            highs[row] = min(highs_a[row], highs_b[row])
        return lows, highs, bits_a
    left = dense_bits(lows_a, highs_a, bits_a, time_count)
    right = dense_bits(lows_b, highs_b, bits_b, time_count)
    out = np.empty(left.shape, np.uint64)
    for row in range(count):
        for word in range(out.shape[1]):
            if operation == INTERSECTION:
                out[row, word] = left[row, word] & right[row, word]
            else:
                out[row, word] = left[row, word] | right[row, word]
        lows[row], highs[row] = bounds_of_row(out, row)
    return lows, highs, out


@kernel
def complement_times(lows, highs, bits, time_count):
    """T − A for every row."""
    dense = dense_bits(lows, highs, bits, time_count)
    every = np.zeros((1, dense.shape[1]), np.uint64)
    set_range(every, 0, 0, time_count - 1)
    count = len(lows)
    out = np.empty(dense.shape, np.uint64)
    low, high = np.empty(count, np.int32), np.empty(count, np.int32)
    for row in range(count):
        for word in range(out.shape[1]):
            out[row, word] = every[0, word] & ~dense[row, word]
        low[row], high[row] = bounds_of_row(out, row)
    return low, high, out


@kernel
def shift_bits(bits, time_count):
    """{t+1 : t∈A} ∩ T for every bit row."""
    out = np.empty(bits.shape, np.uint64)
    count = bits.shape[0]
    lows, highs = np.empty(count, np.int32), np.empty(count, np.int32)
    every = np.zeros((1, bits.shape[1]), np.uint64)
    set_range(every, 0, 0, time_count - 1)
    for row in range(count):
        carry = ZERO
        for word in range(bits.shape[1]):
            out[row, word] = ((bits[row, word] << ONE) | carry) & every[0, word]
            carry = bits[row, word] >> np.uint64(63)
        lows[row], highs[row] = bounds_of_row(out, row)
    return lows, highs, out


@kernel
def list_times(lows, highs, bits):
    """Time sets as sorted lists (offsets, ids)."""
    count = len(lows)
    offsets = np.empty(count + 1, np.int64)
    offsets[0] = 0
    for row in range(count):
        size = max(0, highs[row] - lows[row] + 1)
        if bits.shape[0] > 0:
            size = 0
            for word in range(bits.shape[1]):
                size += np.int64(ones(bits[row, word]))
        offsets[row + 1] = offsets[row] + size
    ids = np.empty(offsets[count], np.int32)
    for row in range(count):
        position = offsets[row]
        if bits.shape[0] == 0:
            for t in range(lows[row], highs[row] + 1):
                ids[position] = t
                position += 1
        else:
            for word in range(bits.shape[1]):
                rest = bits[row, word]
                while rest != ZERO:
                    ids[position] = word * 64 + np.int64(trailing_zeros(rest))
                    position += 1
                    rest &= rest - ONE
    return offsets, ids
