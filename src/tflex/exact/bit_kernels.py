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
def grown(array, size):
    """An array with room for at least `size` values, its content kept."""
    larger = np.empty(max(2 * len(array), size), array.dtype)
    larger[: len(array)] = array
    return larger


# A time set's words lie together; `origin` is where its word 0 would lie, so that the word of t is
# `words[origin + (t >> 6)]`. Only the words between the set's bounds exist.


@inlined
def test_bit(words, origin, t):
    return (words[origin + (t >> 6)] >> np.uint64(t & 63)) & ONE != ZERO


@inlined
def set_range(words, origin, first, last):
    """Set the bits first … last."""
    left, right = origin + (first >> 6), origin + (last >> 6)
    low = FULL << np.uint64(first & 63)
    high = FULL >> np.uint64(63 - (last & 63))
    if left == right:
        words[left] |= low & high
        return
    words[left] |= low
    for at in range(left + 1, right):
        words[at] = FULL
    words[right] |= high


@inlined
def any_bit(words, origin, first, last):
    """Whether one of the bits first … last is set."""
    left, right = origin + (first >> 6), origin + (last >> 6)
    low = FULL << np.uint64(first & 63)
    high = FULL >> np.uint64(63 - (last & 63))
    if left == right:
        return words[left] & low & high != ZERO
    if words[left] & low != ZERO or words[right] & high != ZERO:
        return True
    for at in range(left + 1, right):  # noqa: SIM110 - numba compiles the loop, not a generator
        if words[at] != ZERO:
            return True
    return False


@inlined
def word_within(words, origins, row, word, low, high):
    """A word of the set with these bounds; without origins the set is a range."""
    if low > high or word < low >> 6 or word > high >> 6:
        return ZERO
    if len(origins) > 0:
        return words[origins[row] + word]
    mask = FULL
    if word == low >> 6:
        mask &= FULL << np.uint64(low & 63)
    if word == high >> 6:
        mask &= FULL >> np.uint64(63 - (high & 63))
    return mask


@inlined
def tight_bounds(words, origin, low, high):
    """The lowest and highest set bit in the words of [low, high]; (1, 0) where none is."""
    first, last = low >> 6, high >> 6
    while first <= last and words[origin + first] == ZERO:
        first += 1
    if first > last:
        return 1, 0
    while words[origin + last] == ZERO:
        last -= 1
    least = first * 64 + np.int64(trailing_zeros(words[origin + first]))
    return least, last * 64 + 63 - np.int64(leading_zeros(words[origin + last]))
