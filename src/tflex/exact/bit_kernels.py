"""Bits of 64-bit words and searches in sorted arrays: the smallest compiled primitives."""

# mypy: ignore-errors

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from tflex.compiled import kernel

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


@kernel
def lower_bound(values, first, last, wanted):
    """The first position in [first, last) whose value is not less than the wanted one."""
    while first < last:
        middle = (first + last) >> 1
        if values[middle] < wanted:
            first = middle + 1
        else:
            last = middle
    return first


@kernel
def contains(values, first, last, wanted):
    """Whether sorted values[first:last] hold a value."""
    at = lower_bound(values, first, last, wanted)
    return at < last and values[at] == wanted


@kernel
def test_bit(bits, row, t):
    return (bits[row, t >> 6] >> np.uint64(t & 63)) & ONE != ZERO


@kernel
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


@kernel
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


@kernel
def bounds_of_row(bits, row):
    """The lowest and highest set bit of a row; (1, 0) where none is."""
    words = bits.shape[1]
    first = 0
    while first < words and bits[row, first] == ZERO:
        first += 1
    if first == words:
        return 1, 0
    last = words - 1
    while bits[row, last] == ZERO:
        last -= 1
    low = first * 64 + np.int64(trailing_zeros(bits[row, first]))
    return low, last * 64 + 63 - np.int64(leading_zeros(bits[row, last]))
