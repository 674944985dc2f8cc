"""The paper's formula of a query: q[V?] = V?, ∃ Va, r1(e1, Va, t1) ∧ r2(Va, V?, t2).

Read as first-order logic it denotes exactly the answers, so where a set is asked for all its
members the formula says ∀: after(Q) is ∀ Ta (Q(Ta) → After(Ta, T?)), which holds for no Ta too.
`After(t1, t2)` means that t2 is after t1 (paper, section 3). A shared sub-query is a predicate of
its own, defined after "where". Placeholders are numbered by sort (e1, r1, t1), as in the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tflex.query.algebra import (
    After,
    And,
    Before,
    EntityLiteral,
    Equivalent,
    Implies,
    Interpreter,
    Leaf,
    Next,
    Node,
    Not,
    Or,
    Pe,
    Pt,
    RelationLiteral,
    Slot,
    Sort,
    TimeLiteral,
    Xor,
)
from tflex.query.labels import shared_steps


@dataclass(frozen=True, eq=False)
class Variable:
    """Stands for an entity or a timestamp; it gets its letter when the formula is written."""

    sort: Sort


Term = Variable | Leaf | str
"""A variable, an anchor, or the name of a defined set."""


@dataclass(frozen=True)
class Atom:
    """A relation (or After, Before, Next, a defined set) of terms."""

    predicate: Node | str
    terms: tuple[Term, ...]


@dataclass(frozen=True)
class Member:
    """The variable is one of a literal's members."""

    variable: Term
    literal: Leaf


@dataclass(frozen=True)
class Junction:
    """Parts joined by ∧, ∨, →, ↔ or ⊕."""

    sign: str
    parts: tuple[Formula, ...]


@dataclass(frozen=True)
class Negation:
    part: Formula


@dataclass(frozen=True)
class Quantified:
    sign: str
    variables: tuple[Variable, ...]
    part: Formula


Formula = Atom | Member | Junction | Negation | Quantified


class Definition(NamedTuple):
    """The set of all values of a variable for which a formula holds."""

    variable: Variable
    holds: Formula


@dataclass
class LogicalForm:
    """A query as a formula, with the shared sets it uses, by name."""

    query: Definition
    sets: dict[str, Definition] = field(default_factory=dict)


@dataclass(frozen=True)
class SetFormula:
    """What an interpreter's rule gives for a set: when a term is in it."""

    sort: Sort
    holds: Callable[[Term], Formula]
    term: Term | None = None
    """Its only member, where it is one anchor."""

    def some(self) -> tuple[Term, list[Formula]]:
        """A member, and what has to hold for it."""
        if self.term is not None:
            return self.term, []
        variable = Variable(self.sort)
        return variable, [self.holds(variable)]


def exists(terms: Sequence[Term], parts: Sequence[Formula]) -> Formula:
    """∃ of the variables among the terms; quantifiers of the parts move to the front."""
    found = _joined("∧", parts)
    variables = tuple(term for term in terms if isinstance(term, Variable))
    inner, body = _opened(found)
    ordered = (*inner, *variables)
    return Quantified("∃", ordered, body) if ordered else body


def _opened(formula: Formula) -> tuple[tuple[Variable, ...], Formula]:
    if isinstance(formula, Quantified) and formula.sign == "∃":
        return formula.variables, formula.part
    return (), formula


def _joined(sign: str, parts: Sequence[Formula]) -> Formula:
    """∧ or ∨ of parts, flat, every ∃ in front: a variable is bound once, so none clashes."""
    variables: list[Variable] = []
    flat: list[Formula] = []
    for part in parts:
        bound, body = _opened(part)
        variables.extend(bound)
        if isinstance(body, Junction) and body.sign == sign:
            flat.extend(body.parts)
        else:
            flat.append(body)
    body = flat[0] if len(flat) == 1 else Junction(sign, tuple(flat))
    return Quantified("∃", tuple(variables), body) if variables else body


class _Sets:
    """Sets that were given a name."""

    def __init__(self) -> None:
        self.named: dict[str, Definition] = {}

    def define(self, members: SetFormula) -> str:
        variable = Variable(members.sort)
        holds = members.holds(variable)
        name = f"S{len(self.named) + 1}"
        self.named[name] = Definition(variable, holds)
        return name


FORMULA = Interpreter("formula", fallback=lambda sets, node, *values: _unknown(sets, node, values))
"""Rules give a `SetFormula`, or a relation's node."""


def logical_form(query: Node) -> LogicalForm:
    """The formula of a query as data."""
    program = FORMULA.compile(query)
    shared = shared_steps(program)
    sets = _Sets()
    values: list[SetFormula | Node] = []
    for at, (rule, node, positions) in enumerate(program.steps):
        value = rule(sets, node, *(values[position] for position in positions))
        if at in shared and isinstance(value, SetFormula):
            value = _called(sets.define(value), value.sort)
        values.append(value)
    answer = Variable(query.sort)
    root = values[-1]
    assert isinstance(root, SetFormula)
    return LogicalForm(Definition(answer, root.holds(answer)), sets.named)


def _called(name: str, sort: Sort) -> SetFormula:
    return SetFormula(sort, lambda term: Atom(name, (term,)))


@FORMULA.rule(Slot)
def _slot(sets: _Sets, node: Slot) -> SetFormula | Node:
    return node if node.sort is Sort.RELATION else _anchor(node)


@FORMULA.rule(RelationLiteral)
def _relation(sets: _Sets, node: RelationLiteral) -> Node:
    return node


@FORMULA.rule(EntityLiteral, TimeLiteral)
def _literal(sets: _Sets, node: EntityLiteral | TimeLiteral) -> SetFormula:
    return _anchor(node)


def _anchor(node: Leaf) -> SetFormula:
    return SetFormula(
        node.sort, lambda term: Member(term, node), node if _is_single(node) else None
    )


def _is_single(node: Leaf) -> bool:
    if isinstance(node, EntityLiteral):
        return len(node.members) == 1
    if isinstance(node, TimeLiteral) and len(node.members) == 1:
        member = node.members[0]
        return "/" not in member if isinstance(member, str) else member[0] == member[1]
    return isinstance(node, Slot)


@FORMULA.rule(Pe)
def _pe(sets: _Sets, node: Pe, source: SetFormula, relation: Node, time: SetFormula) -> SetFormula:
    def holds(term: Term) -> Formula:
        subject, of_subject = source.some()
        stamp, of_stamp = time.some()
        fact = Atom(relation, (subject, term, stamp))
        return exists((subject, stamp), (*of_subject, *of_stamp, fact))

    return SetFormula(node.sort, holds)


@FORMULA.rule(Pt)
def _pt(
    sets: _Sets, node: Pt, source: SetFormula, relation: Node, target: SetFormula
) -> SetFormula:
    def holds(term: Term) -> Formula:
        subject, of_subject = source.some()
        object, of_object = target.some()
        fact = Atom(relation, (subject, object, term))
        return exists((subject, object), (*of_subject, *of_object, fact))

    return SetFormula(node.sort, holds)


@FORMULA.rule(And)
def _and(sets: _Sets, node: And, *operands: SetFormula) -> SetFormula:
    return SetFormula(node.sort, lambda term: _joined("∧", [one.holds(term) for one in operands]))


@FORMULA.rule(Or)
def _or(sets: _Sets, node: Or, *operands: SetFormula) -> SetFormula:
    return SetFormula(node.sort, lambda term: _joined("∨", [one.holds(term) for one in operands]))


@FORMULA.rule(Not)
def _not(sets: _Sets, node: Not, members: SetFormula) -> SetFormula:
    return SetFormula(node.sort, lambda term: Negation(members.holds(term)))


@FORMULA.rule(Xor, Implies, Equivalent)
def _pair(sets: _Sets, node: Node, first: SetFormula, second: SetFormula) -> SetFormula:
    sign = "⊕" if isinstance(node, Xor) else "→" if isinstance(node, Implies) else "↔"

    def holds(term: Term) -> Formula:
        return Junction(sign, (first.holds(term), second.holds(term)))

    return SetFormula(node.sort, holds)


@FORMULA.rule(After, Before)
def _beyond(sets: _Sets, node: Node, times: SetFormula) -> SetFormula:
    """Beyond every member, so ∀."""
    name = type(node).__name__

    def holds(term: Term) -> Formula:
        stamp, of_stamp = times.some()
        beyond = Atom(name, (stamp, term))
        if not of_stamp or not isinstance(stamp, Variable):
            return beyond
        return Quantified("∀", (stamp,), Junction("→", (_joined("∧", of_stamp), beyond)))

    return SetFormula(node.sort, holds)


@FORMULA.rule(Next)
def _next(sets: _Sets, node: Next, times: SetFormula) -> SetFormula:
    def holds(term: Term) -> Formula:
        stamp, of_stamp = times.some()
        return exists((stamp,), (*of_stamp, Atom("Next", (stamp, term))))

    return SetFormula(node.sort, holds)


def _unknown(sets: _Sets, node: Node, values: Sequence[SetFormula | Node]) -> SetFormula:
    """An operator without a formula: a predicate of its arguments and the member."""
    name = node.names[0] if node.names else type(node).__name__
    arguments = [_argument(sets, value) for value in values]
    return SetFormula(node.sort, lambda term: Atom(name, (*arguments, term)))


def _argument(sets: _Sets, value: SetFormula | Node) -> Term:
    if isinstance(value, SetFormula):
        return sets.define(value) if value.term is None else value.term
    assert isinstance(value, Leaf)
    return value
