"""Rewrites: other ways to write a query, with the same exact answers on every graph.

A rule is a small function from a node, whose arguments are rewritten already, to a node. Rules may
compare nodes by identity, because equal sub-queries are made one node first.

Product logic is not idempotent (μ·μ ≠ μ), so a query that is evaluated on degrees may go through
`simplify`, `push_negations` and `without_unions` alone; `simplify_exactly` and `dnf` are for sets.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import product
from math import prod
from typing import TypeVar

from tflex.errors import QueryError
from tflex.query.algebra import (
    After,
    And,
    Before,
    EntityLiteral,
    Next,
    Node,
    Not,
    Or,
    Pe,
    Pt,
    Sort,
    TimeLiteral,
    expand,
    topological,
    transform,
)
from tflex.query.keys import content
from tflex.query.structures import Structure, make_structure

RewriteRule = Callable[[Node], Node]

MAXIMUM_ATOMS = 4096
"""How many atoms the normal form of a query may have, over all its disjuncts."""
WIDEST = 64
"""How many operands `flatten` gives a node at most."""


def flatten(node: Node) -> Node:
    """And(And(a, b), c) → And(a, b, c); Or alike."""
    if not isinstance(node, And | Or):
        return node
    kind = type(node)
    operands = [
        operand
        for argument in node.arguments
        for operand in (argument.arguments if isinstance(argument, kind) else (argument,))
    ]
    # A shared conjunction in a conjunction doubles the operands, and so on at every level.
    keep = len(operands) > WIDEST or all(not isinstance(one, kind) for one in node.arguments)
    return node if keep else kind(*operands)


def single(node: Node) -> Node:
    """And(a) → a; Or alike."""
    return node.arguments[0] if isinstance(node, And | Or) and len(node.arguments) == 1 else node


def double_negation(node: Node) -> Node:
    """Not(Not(a)) → a."""
    if isinstance(node, Not) and isinstance(node.arguments[0], Not):
        return node.arguments[0].arguments[0]
    return node


def idempotence(node: Node) -> Node:
    """And(a, b, a) → And(a, b); Or alike."""
    if not isinstance(node, And | Or):
        return node
    distinct = {id(argument): argument for argument in node.arguments}
    return type(node)(*distinct.values()) if len(distinct) < len(node.arguments) else node


def absorption(node: Node) -> Node:
    """And(a, Or(a, b)) → a; Or(a, And(a, b)) → a."""
    if not isinstance(node, And | Or):
        return node
    dual = Or if isinstance(node, And) else And
    present = {id(argument) for argument in node.arguments}
    kept = [
        argument
        for argument in node.arguments
        if not (
            isinstance(argument, dual) and any(id(one) in present for one in argument.arguments)
        )
    ]
    return type(node)(*kept) if len(kept) < len(node.arguments) else node


def contradiction(node: Node) -> Node:
    """And(a, Not(a)) → ∅; Or(a, Not(a)) → Not(∅)."""
    if not isinstance(node, And | Or):
        return node
    present = {id(argument) for argument in node.arguments}
    for argument in node.arguments:
        if isinstance(argument, Not) and id(argument.arguments[0]) in present:
            nothing = _empty(node.sort)
            return nothing if isinstance(node, And) else Not(nothing)
    return node


def emptiness(node: Node) -> Node:
    """∅ and its complement: And(a, ∅) → ∅, Or(a, ∅) → a, and no projection leads out of ∅."""
    if isinstance(node, Pe | Pt | Next) and any(_is_empty(one) for one in node.arguments):
        return _empty(node.sort)
    if isinstance(node, And | Or):
        neutral, absorbing = (_is_all, _is_empty) if isinstance(node, And) else (_is_empty, _is_all)
        for argument in node.arguments:
            if absorbing(argument):
                return argument
        kept = [argument for argument in node.arguments if not neutral(argument)]
        if len(kept) < len(node.arguments):
            return type(node)(*kept) if kept else node.arguments[0]
    return node


def _empty(sort: Sort) -> Node:
    return EntityLiteral(()) if sort is Sort.ENTITY else TimeLiteral(())


def _is_empty(node: Node) -> bool:
    return isinstance(node, EntityLiteral | TimeLiteral) and not node.members


def _is_all(node: Node) -> bool:
    return isinstance(node, Not) and _is_empty(node.arguments[0])


SIMPLIFICATIONS: list[RewriteRule] = [flatten, single, double_negation]
"""Safe for degrees too."""
EXACT_SIMPLIFICATIONS: list[RewriteRule] = [
    *SIMPLIFICATIONS, idempotence, absorption, contradiction, emptiness,
]  # fmt: skip


def rewrite(query: Node, rules: Sequence[RewriteRule]) -> Node:
    """Apply rules bottom-up until none changes anything; equal sub-queries become one node."""
    known: dict[Hashable, Node] = {}

    def change(node: Node) -> Node:
        settled = False
        while not settled:
            settled = True
            for rule in rules:
                changed = rule(node)
                if changed is not node:
                    node, settled = changed, False
        return known.setdefault((content(node), *map(id, node.arguments)), node)

    return transform(query, change)


def simplify(query: Node) -> Node:
    """The same query with less in it; safe for degrees too."""
    return rewrite(query, SIMPLIFICATIONS)


def simplify_exactly(query: Node) -> Node:
    """The same answers with less in it, by the laws of sets."""
    return rewrite(query, EXACT_SIMPLIFICATIONS)


def push_negations(query: Node) -> Node:
    """De Morgan inwards: no Not stands before And, Or, Not or a derived operator."""

    def build(node: Node, positive: bool, known: _Known[Node]) -> Node:
        if isinstance(node, Not):
            return known(node.arguments[0], not positive)
        if isinstance(node, And | Or):
            kind = type(node) if positive else _DUAL[type(node)]
            return _renewed(node, kind, [known(one, positive) for one in node.arguments])
        if not positive:
            return Not(known(node, True))
        return _renewed(node, type(node), [known(one, True) for one in node.arguments])

    return _by_polarity(expand(query), build)


_DUAL: dict[type[Node], type[Node]] = {And: Or, Or: And}


def _renewed(node: Node, kind: type[Node], arguments: list[Node]) -> Node:
    """The node itself where nothing changed, so that what was shared stays shared."""
    if kind is not type(node):
        return kind(*arguments)
    kept = all(new is old for new, old in zip(arguments, node.arguments, strict=True))
    return node if kept else node.rebuilt(arguments)


def without_unions(query: Node) -> Node:
    """De Morgan for interpreters that lack a union: Or(a, b) → Not(And(Not(a), Not(b)))."""

    def change(node: Node) -> Node:
        if isinstance(node, Or):
            node = Not(single(And(*(double_negation(Not(one)) for one in node.arguments))))
        return double_negation(node)

    return transform(expand(query), change)


Value = TypeVar("Value")
_Known = Callable[[Node, bool], Value]


def _by_polarity(query: Node, build: Callable[[Node, bool, _Known[Value]], Value]) -> Value:
    """Build each node, and its complement where that is wanted, arguments first.

    And and Or hand what is wanted of them to their arguments, Not hands on the opposite.
    """
    order = topological(query)
    wanted: dict[int, set[bool]] = {id(node): set() for node in order}
    wanted[id(query)].add(True)
    for node in reversed(order):
        mine = wanted[id(node)]
        if isinstance(node, And | Or):
            passed = mine
        elif isinstance(node, Not):
            passed = {not positive for positive in mine}
        else:
            mine.add(True)  # the complement is made of it
            passed = {True}
        for argument in node.arguments:
            wanted[id(argument)] |= passed
    built: dict[tuple[int, bool], Value] = {}
    for node in order:
        for positive in sorted(wanted[id(node)], reverse=True):
            built[id(node), positive] = build(
                node, positive, lambda one, positive: built[id(one), positive]
            )
    return built[id(query), True]


Conjunction = tuple[Node, ...]
"""Atoms, or atoms under Not, that all have to hold."""
NormalForm = list[Conjunction]
"""Disjuncts."""


def disjuncts(query: Node, limit: int = MAXIMUM_ATOMS) -> list[Node]:
    """Queries without Or whose union is the query: its disjunctive normal form.

    And distributes over Or, and so does everything that asks for some member of a set: with A = ∪Aᵢ
    and Q = ∪Qⱼ, Pe(A, r, Q) = ∪ Pe(Aᵢ, r, Qⱼ), Pt alike, next(Q) = ∪ next(Qⱼ). What asks for all
    members turns a union into an intersection, and for ∅ both sides are T: after(Q) = ∩ after(Qⱼ),
    before alike. An operator unknown here is an atom; its arguments have their normal form.
    """
    sharing: dict[Hashable, Node] = {}

    def shared(node: Node) -> Node:
        return sharing.setdefault((content(node), *map(id, node.arguments)), node)

    def build(node: Node, positive: bool, known: _Known[NormalForm]) -> NormalForm:
        if isinstance(node, Not):
            return known(node.arguments[0], not positive)
        if isinstance(node, And | Or):
            forms = [known(one, positive) for one in node.arguments]
            distribute = isinstance(node, And) is positive
            return _all_of(forms, limit) if distribute else _any_of(forms, limit)
        if not positive:
            return _complement(known(node, True), shared)
        return _applied(node, [known(one, True) for one in node.arguments], shared, limit)

    # Atoms are compared by identity, so equal sub-queries have to be one node.
    found = _by_polarity(rewrite(expand(query), [single]), build)
    return [_conjoined(conjunction, shared) for conjunction in found]


def normal_form(query: Node, limit: int = MAXIMUM_ATOMS) -> Node:
    """The disjunctive normal form as one query: Or(And(atoms), …), as far as each is needed."""
    return single(Or(*disjuncts(query, limit)))


def _applied(node: Node, forms: list[NormalForm], shared: RewriteRule, limit: int) -> NormalForm:
    """The normal form of an operator on arguments in normal form."""
    if not node.arguments:
        return [(node,)]
    choices = [[_conjoined(one, shared) for one in form] for form in forms]
    if not isinstance(node, Pe | Pt | Next | After | Before):
        # Nothing is known of this operator, so a union stays a union inside it.
        choices = [[shared(Or(*choice)) if len(choice) > 1 else choice[0]] for choice in choices]
    _check(prod(map(len, choices)), limit)
    atoms = dict.fromkeys(shared(node.rebuilt(chosen)) for chosen in product(*choices))
    if isinstance(node, After | Before):
        return [tuple(atoms)]
    return [(atom,) for atom in atoms]


def _complement(form: NormalForm, shared: RewriteRule) -> NormalForm:
    """Of one conjunction, or of disjuncts of one atom each; `_applied` gives no others."""
    if len(form) == 1:
        return [(shared(Not(atom)),) for atom in form[0]]
    return [tuple(shared(Not(atom)) for (atom,) in form)]


def _all_of(forms: list[NormalForm], limit: int) -> NormalForm:
    """Distribute: one disjunct of each, in every combination."""
    found: NormalForm = [()]
    for form in forms:
        _check(_size(found) * len(form) + _size(form) * len(found), limit)
        found = list(dict.fromkeys(_distinct(left + right) for left, right in product(found, form)))
    return found


def _any_of(forms: list[NormalForm], limit: int) -> NormalForm:
    found = list(dict.fromkeys(one for form in forms for one in form))
    _check(_size(found), limit)
    return found


def _size(form: NormalForm) -> int:
    return sum(map(len, form))


def _check(size: int, limit: int) -> None:
    if size > limit:
        raise QueryError(
            f"the disjunctive normal form of this query needs {size} atoms or more; "
            f"the limit is {limit}"
        )


def _distinct(atoms: Iterable[Node]) -> Conjunction:
    return tuple(dict.fromkeys(atoms))


def _conjoined(conjunction: Conjunction, shared: RewriteRule) -> Node:
    return conjunction[0] if len(conjunction) == 1 else shared(And(*conjunction))


def dm(structure: Structure) -> Structure:
    """The `_DM` form of a structure: its unions as complements of intersections."""
    return _renamed(structure, "DM", without_unions(structure.body))


def dnf(structure: Structure) -> Structure:
    """The `_DNF` form of a structure: a union of structures without unions."""
    return _renamed(structure, "DNF", normal_form(structure.body))


def _renamed(structure: Structure, suffix: str, body: Node) -> Structure:
    return make_structure(f"{structure.name}_{suffix}", structure.parameters, body, structure.group)
