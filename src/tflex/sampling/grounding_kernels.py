"""Compiled choices of facts: complete a partly known fact (s, r, o, t) at random."""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from tflex.compiled import kernel
from tflex.exact.bit_kernels import lower_bound

TRIES = 24
"""How many random rows are tried for a condition that no index answers."""

UNKNOWN = -1


@kernel
def mix(value):
    """A 64-bit finaliser (splitmix64): each bit of the result depends on every bit of the value."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@kernel
def draw(seed, row, step, size):
    """A number in [0, size) that depends on nothing but (seed, row, step)."""
    word = mix(seed + np.uint64(row) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(step))
    # The high half times the size, shifted down, is uniform without a division.
    return np.int64(((word >> np.uint64(32)) * np.uint64(size)) >> np.uint64(32))


@kernel
def _range(pointer, relation_column, subject, relation):
    """Rows of a subject, of one relation where it is known."""
    first, last = pointer[subject], pointer[subject + 1]
    if relation != UNKNOWN:
        first = lower_bound(relation_column, first, last, relation)
        last = lower_bound(relation_column, first, last, relation + 1)
    return first, last


@kernel
def complete_facts(pointer, subject_column, relation_column, object_column, start_column,
                   end_column, by_start, start_pointer, relation_count, subject, relation, object,
                   time, seed):  # fmt: skip
    """Fill what is unknown (-1) of facts (s, r, o, t); rows that match no fact become -1.

    Rows of the pool are directed: each fact stands forward and through its inverse relation.
    """
    for row in range(len(subject)):
        s, r, o, t = subject[row], relation[row], object[row], time[row]
        known_subject = s != UNKNOWN
        first, last, wanted = 0, len(relation_column), UNKNOWN
        timed = False
        if known_subject:
            first, last = _range(pointer, relation_column, s, r)
            wanted = o
        elif o != UNKNOWN:
            backward = r
            if r != UNKNOWN:
                backward = r - relation_count if r >= relation_count else r + relation_count
            first, last = _range(pointer, relation_column, o, backward)
        elif t != UNKNOWN:
            timed = True
            last = start_pointer[t + 1]
            # Facts that start at t are a range; longer ones are found among all earlier ones.
            if len(end_column) == 0:
                first = start_pointer[t]
        found = -1
        if last > first:
            for step in range(TRIES):
                at = first + draw(seed, row, step, last - first)
                if timed:
                    at = by_start[at]
                if wanted != UNKNOWN and object_column[at] != wanted:
                    continue
                if timed and r != UNKNOWN and relation_column[at] != r:
                    continue
                start = start_column[at]
                end = start if len(end_column) == 0 else end_column[at]
                if t != UNKNOWN and not (start <= t <= end):
                    continue
                found = at
                break
        if found < 0:
            subject[row] = relation[row] = object[row] = time[row] = UNKNOWN
            continue
        if t == UNKNOWN:
            t = start_column[found]
            if len(end_column) > 0:
                t += draw(seed, row, TRIES, end_column[found] - t + 1)
        time[row] = t
        if known_subject or o == UNKNOWN:
            subject[row] = subject_column[found]
            relation[row] = relation_column[found]
            object[row] = object_column[found]
        else:
            backward = relation_column[found]
            subject[row] = object_column[found]
            relation[row] = (
                backward - relation_count
                if backward >= relation_count
                else backward + relation_count
            )
            object[row] = o


@kernel
def numbers_below(limit, count, seed):
    """One random number in [0, limit) a row."""
    out = np.empty(count, np.int32)
    for row in range(count):
        out[row] = draw(seed, row, 0, limit)
    return out


@kernel
def numbers_between(low, high, seed):
    """One random number in [low, high] a row; -1 where the range is empty or unknown."""
    out = np.empty(len(low), np.int32)
    for row in range(len(low)):
        if low[row] < 0 or high[row] < low[row]:
            out[row] = UNKNOWN
        else:
            out[row] = low[row] + draw(seed, row, 0, high[row] - low[row] + 1)
    return out


@kernel
def hash_columns(tag, columns):
    """One 64-bit hash a row of several 64-bit columns, in order."""
    out = np.empty(columns.shape[1], np.uint64)
    for row in range(columns.shape[1]):
        value = mix(tag)
        for column in range(columns.shape[0]):
            value = mix(value * np.uint64(0x9E3779B97F4A7C15) + columns[column, row])
        out[row] = value
    return out


@kernel
def contains_keys(table, keys):
    """Whether each key is in an open-addressing table (0 marks a free place)."""
    out = np.empty(len(keys), np.bool_)
    mask = np.uint64(len(table) - 1)
    for row in range(len(keys)):
        key = keys[row]
        at = mix(key) & mask
        while table[at] != np.uint64(0) and table[at] != key:
            at = (at + np.uint64(1)) & mask
        out[row] = table[at] == key
    return out


@kernel
def insert_keys(table, keys):
    """Put keys into a table; true where a key was new."""
    out = np.empty(len(keys), np.bool_)
    mask = np.uint64(len(table) - 1)
    for row in range(len(keys)):
        key = keys[row]
        at = mix(key) & mask
        while table[at] != np.uint64(0) and table[at] != key:
            at = (at + np.uint64(1)) & mask
        out[row] = table[at] == np.uint64(0)
        table[at] = key
    return out
