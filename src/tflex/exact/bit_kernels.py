"""Bits of 64-bit words and searches in sorted arrays: the smallest compiled primitives."""

# mypy: ignore-errors

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from tflex.compiled import inlined

ONE = np.uint64(1)
ZERO = np.uint64(0)
FULL = np.uint64(0xFFFFFFFFFFFFFFFF)


@intrinsic
def trailing_zeros(typing_context: Any, word: Any) -> Any:
    """How many zero bits stand below the lowest set bit of a word that is not zero."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


@intrinsic
def leading_zeros(typing_context: Any, word: Any) -> Any:
    """How many zero bits stand above the highest set bit of a word that is not zero."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


@intrinsic
def ones(typing_context: Any, word: Any) -> Any:
    """How many bits of a word are set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@inlined
def lower_bound(values, first, last, wanted):
    """The first position in [first, last) whose value is not less than the wanted one."""
    while first < last:
        middle = (first + last) >> 1
        if values[middle] < wanted:
            first = middle + 1
        else:
            last = middle
    return first


@inlined
def contains(values, first, last, wanted):
    """Whether sorted values[first:last] hold a value."""
    at = lower_bound(values, first, last, wanted)
    return at < last and values[at] == wanted


@inlined
def test_bit(bits, row, t):
    return (bits[row, t >> 6] >> np.uint64(t & 63)) & ONE != ZERO


@inlined
def set_range(bits, row, first, last):
    """Set the bits first … last of a row."""
    if first > last:
        return
    left, right = first >> 6, last >> 6
    low = FULL << np.uint64(first & 63)
    high = FULL >> np.uint64(63 - (last & 63))
    if left == right:
        bits[row, left] |= low & high
        return
    bits[row, left] |= low
    for word in range(left + 1, right):
        bits[row, word] = FULL
    bits[row, right] |= high


@inlined
def any_bit(bits, row, first, last):
    """Whether one of the bits first … last of a row is set."""
    if first > last:
        return False
    left, right = first >> 6, last >> 6
    low = FULL << np.uint64(first & 63)
    high = FULL >> np.uint64(63 - (last & 63))
    if left == right:
        return bits[row, left] & low & high != ZERO
    if bits[row, left] & low != ZERO or bits[row, right] & high != ZERO:
        return True
    for word in range(left + 1, right):  # noqa: SIM110 - numba compiles the loop, not a generator
        if bits[row, word] != ZERO:
            return True
    return False


@inlined
def clear_beyond(bits, row, low, high, first, last):
    """Clear the words of [first, last] that the words of [low, high] do not hold."""
    if low > high:
        for word in range(first >> 6, (last >> 6) + 1):
            bits[row, word] = ZERO
        return
    for word in range(first >> 6, low >> 6):
        bits[row, word] = ZERO
    for word in range((high >> 6) + 1, (last >> 6) + 1):
        bits[row, word] = ZERO


@inlined
def word_within(bits, row, word, low, high):
    """A word of the set with these bounds; its row has no bits (is a range) where bits is empty."""
    if low > high or word < low >> 6 or word > high >> 6:
        return ZERO
    if bits.shape[0] > 0:
        return bits[row, word]
    mask = FULL
    if word == low >> 6:
        mask &= FULL << np.uint64(low & 63)
    if word == high >> 6:
        mask &= FULL >> np.uint64(63 - (high & 63))
    return mask


@inlined
def tight_bounds(bits, row, low, high):
    """The lowest and highest set bit in the words of [low, high]; (1, 0) where none is."""
    first, last = low >> 6, high >> 6
    while first <= last and bits[row, first] == ZERO:
        first += 1
    if first > last:
        return 1, 0
    while bits[row, last] == ZERO:
        last -= 1
    least = first * 64 + np.int64(trailing_zeros(bits[row, first]))
    return least, last * 64 + 63 - np.int64(leading_zeros(bits[row, last]))
