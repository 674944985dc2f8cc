"""Canonical keys of many queries at once (semantics.md, "Identity of queries").

A key is a 64-bit hash of the query with derived operators expanded, `Pt` with its relation forward
and the arguments of commutative operators sorted. Two different queries may share a key once in
some 10^19 pairs; then one of them is left out as a duplicate, which does no harm.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflex.graph.facts import Ids
from tflex.query.algebra import And, Node, Not, Or, Pt, Slot, expand, topological
from tflex.query.structures import Structure
from tflex.sampling.grounding_kernels import contains_keys, hash_columns, insert_keys

Keys = NDArray[np.uint64]


def _hash(tag: str, columns: list[Keys]) -> Keys:
    return hash_columns(np.uint64(zlib.crc32(tag.encode())), np.stack(columns))


def _pt(relation_count: int, node: Node, source: Keys, relation: Keys, target: Keys) -> Keys:
    backward = relation >= relation_count
    return _hash("Pt", [
        np.where(backward, target, source),
        np.where(backward, relation - np.uint64(relation_count), relation),
        np.where(backward, source, target),
    ])  # fmt: skip


def _sorted(relation_count: int, node: Node, *arguments: Keys) -> Keys:
    if len(arguments) == 1:
        return arguments[0]
    return _hash(node.names[0], list(np.sort(np.stack(arguments), axis=0)))


KEYS: dict[type[Node], Callable[..., Keys]] = {Pt: _pt, And: _sorted, Or: _sorted}
"""Operators whose key is not just that of their arguments in order."""


class Keyed:
    """A structure ready to give keys."""

    def __init__(self, structure: Structure, relation_count: int) -> None:
        self.order = topological(expand(structure.body))
        self.columns = {slot.name: at for at, slot in enumerate(structure.parameters)}
        self.relation_count = relation_count

    def values(self, anchors: Ids) -> dict[int, Keys]:
        """The key of every node in every row."""
        found: dict[int, Keys] = {}
        for node in self.order:
            if isinstance(node, Slot):
                found[id(node)] = anchors[:, self.columns[node.name]].astype(np.uint64)
            else:
                arguments = [found[id(argument)] for argument in node.arguments]
                rule: Any = KEYS.get(type(node))
                found[id(node)] = (
                    _hash(node.names[0], arguments)
                    if rule is None
                    else rule(self.relation_count, node, *arguments)
                )
        return found

    def keys(self, anchors: Ids) -> tuple[Keys, NDArray[np.bool_]]:
        """Keys of queries, and which have a branch that repeats another (negated or not)."""
        values = self.values(anchors)
        repeats = np.zeros(len(anchors), bool)
        for node in self.order:
            if isinstance(node, And | Or) and len(node.arguments) > 1:
                plain = (
                    one.arguments[0] if isinstance(one, Not) else one for one in node.arguments
                )
                branches = np.sort(np.stack([values[id(one)] for one in plain]), axis=0)
                repeats |= (branches[1:] == branches[:-1]).any(axis=0)
        # 0 marks a free place in a set of keys.
        return np.maximum(values[id(self.order[-1])], np.uint64(1)), repeats


class KeySet:
    """A growing set of keys."""

    def __init__(self, expected: int = 0) -> None:
        self._table = np.zeros(max(1 << 12, 1 << (2 * expected).bit_length()), np.uint64)
        self.size = 0

    def __len__(self) -> int:
        return self.size

    def add(self, keys: Keys) -> NDArray[np.bool_]:
        """Add keys; true where one was new."""
        while (self.size + len(keys)) * 2 > len(self._table):
            larger = np.zeros(2 * len(self._table), np.uint64)
            insert_keys(larger, self._table[self._table != 0])
            self._table = larger
        new: NDArray[np.bool_] = insert_keys(self._table, keys)
        self.size += int(new.sum())
        return new

    def contains(self, keys: Keys) -> NDArray[np.bool_]:
        held: NDArray[np.bool_] = contains_keys(self._table, keys)
        return held
