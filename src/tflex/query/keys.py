"""When two queries are one: structural equality, and the canonical key of a grounded query."""

from __future__ import annotations

from collections.abc import Hashable
from hashlib import blake2b

from tflex.errors import QueryError
from tflex.query.algebra import (
    COMMUTATIVE,
    And,
    Derived,
    EntityLiteral,
    Node,
    Or,
    Pt,
    RelationLiteral,
    Slot,
    TimeLiteral,
    expand,
    topological,
)

_NOT_CONTENT = frozenset(("arguments", "_expansion"))


def content(node: Node) -> Hashable:
    """What a node says beside its arguments: its operator, or a literal's members."""
    own = ((name, value) for name, value in vars(node).items() if name not in _NOT_CONTENT)
    return (type(node), *sorted(own, key=lambda pair: pair[0]))


def same(first: Node, second: Node) -> bool:
    """Whether two queries are written alike, however their sub-queries are shared."""
    numbers: dict[Hashable, int] = {}
    known: dict[int, int] = {}
    for query in (first, second):
        for node in topological(query):
            parts = tuple(known[id(argument)] for argument in node.arguments)
            known[id(node)] = numbers.setdefault((content(node), parts), len(numbers))
    return known[id(first)] == known[id(second)]


def key(query: Node, relation_count: int) -> str:
    """The canonical key of a grounded query: equal for two ways to write one query.

    `Pt` stands with its relation forward, as Pt(s, r⁻¹, o) = Pt(o, r, s); the arguments of
    commutative operators are sorted, And and Or of one argument are that argument; derived
    operators are expanded; literals are sets.
    """
    digests: dict[int, bytes] = {}
    order = topological(query)
    if any(isinstance(node, Derived) for node in order):
        order = topological(expand(query))
    for node in order:
        parts = [digests[id(argument)] for argument in node.arguments]
        if isinstance(node, And | Or) and len(parts) == 1:
            digests[id(node)] = parts[0]
            continue
        if isinstance(node, COMMUTATIVE):
            parts.sort()
        elif isinstance(node, Pt) and _is_inverse(node.arguments[1], relation_count):
            forward = RelationLiteral(_bound(node.arguments[1]) - relation_count)
            parts = [parts[2], _digest(_canonical(forward), []), parts[0]]
        digests[id(node)] = _digest(_canonical(node), parts)
    return digests[id(order[-1])].hex()


def _digest(own: str, parts: list[bytes]) -> bytes:
    # A digest instead of the text itself, whose length doubles with every level of sharing.
    return blake2b(b"".join((*parts, own.encode())), digest_size=16).digest()


def _is_inverse(relation: Node, relation_count: int) -> bool:
    return isinstance(relation, RelationLiteral) and _bound(relation) >= relation_count


def _bound(relation: Node) -> int:
    value = relation.value if isinstance(relation, RelationLiteral) else None
    if not isinstance(value, int):
        raise QueryError(f"{relation!r} is not bound: a key needs a query of ids")
    return value


def _canonical(node: Node) -> str:
    """A node's content as text, the same for literals that denote the same set."""
    if isinstance(node, EntityLiteral):
        return f"entities {sorted(set(_ids(node)))}"
    if isinstance(node, TimeLiteral):
        return f"times {_merged(node)}"
    if isinstance(node, RelationLiteral):
        return f"relation {_bound(node)}"
    if isinstance(node, Slot):
        raise QueryError(f"{node.name} is not filled: a key needs a grounded query")
    name = f"{type(node).__module__}.{type(node).__qualname__} {len(node.arguments)}"
    if len(vars(node)) == 2:  # arguments and sort, as for every operator of the library
        return name
    return f"{name} {content(node)}"


def _ids(node: EntityLiteral) -> list[int]:
    ids = [member for member in node.members if isinstance(member, int)]
    if len(ids) != len(node.members):
        raise QueryError(f"{node!r} is not bound: a key needs a query of ids")
    return ids


def _merged(node: TimeLiteral) -> list[tuple[int, int]]:
    """The spans of a literal in order, those that touch as one."""
    spans = [span for span in node.members if isinstance(span, tuple)]
    if len(spans) != len(node.members):
        raise QueryError(f"{node!r} is not bound: a key needs a query of ids")
    merged: list[tuple[int, int]] = []
    for first, last in sorted(span for span in spans if span[0] <= span[1]):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return merged
