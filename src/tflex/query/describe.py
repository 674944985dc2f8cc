"""A query as an English sentence.

A relation's name may be a verb, a noun or a code, so it is quoted and never bent: “visit” links the
subject to the object. Parts that are shared, or that would be ambiguous inside the sentence, come
first under a name: "Let X1 be the times when … . Find the entities …".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tflex.graph.temporal_graph import TemporalGraph
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
    Program,
    Pt,
    RelationLiteral,
    Slot,
    Sort,
    TimeLiteral,
    Xor,
)
from tflex.query.labels import Labels, RelationLabel, listed, shared_steps


@dataclass(frozen=True)
class Phrase:
    """A set in words."""

    clause: str
    """What is true of its members: "to which … links China", after "the entities"."""
    sort: Sort
    noun: str = ""
    """The set itself, where it has a name: "China", "X1"."""
    any: str = ""
    """Some member of it: "China", "any of X1"."""
    all: str = ""
    """Every member of it: "2014-07-03", "all of X1"."""
    when: str = ""
    """For a time set: "on 2014-07-03", "at some time in X1"."""
    negative: bool = False
    """The clause tells of those that are *not* in the set."""

    @property
    def head(self) -> str:
        return "entities" if self.sort is Sort.ENTITY else "times"

    @property
    def text(self) -> str:
        """The clause, whatever its polarity."""
        return f"other than those {self.clause}" if self.negative else self.clause

    def __str__(self) -> str:
        return self.noun or f"the {self.head} {self.text}"

    @property
    def named(self) -> bool:
        return bool(self.noun)

    @property
    def some(self) -> str:
        return self.any or f"any of {self}"

    @property
    def every(self) -> str:
        return self.all or f"all {self.head} {self.text}"

    @property
    def at(self) -> str:
        return self.when or f"at some time {self.text}"


SENTENCE = Interpreter("sentence", fallback=lambda labels, node, *values: _unknown(node, values))
"""Rules give a `Phrase`, or a relation's quoted name with its direction."""

COMPOUND: tuple[type[Node], ...] = (And, Or, Xor, Implies, Equivalent)
"""Operators whose words join clauses, so that a clause within another would be ambiguous."""


def sentence(query: Node, graph: TemporalGraph | None = None) -> str:
    """The query in English; with a graph, ids become names.

    >>> from tflex.query.text import parse
    >>> sentence(parse('Pe("A", "visit", "2014")'))
    'Find the entities to which “visit” links A in 2014.'
    """
    program = SENTENCE.compile(query)
    introduced = _introduced(program)
    labels = Labels(graph)
    opening: list[str] = []
    values: list[Phrase | RelationLabel] = []
    for at, (rule, node, positions) in enumerate(program.steps):
        value = rule(labels, node, *(values[position] for position in positions))
        if at in introduced and isinstance(value, Phrase):
            name = f"X{len(opening) + 1}"
            opening.append(f"Let {name} be {value}. ")
            value = _called(name, value.sort)
        values.append(value)
    return f"{''.join(opening)}Find {values[-1]}."


def _introduced(program: Program) -> set[int]:
    """Positions of the parts that get a name before the sentence."""
    steps = program.steps
    named = shared_steps(program)

    def beneath(position: int) -> int:
        """A complement says no more than what it is of."""
        while isinstance(steps[position].node, Not):
            position = steps[position].positions[0]
        return position

    for step in steps:
        operands = [beneath(position) for position in step.positions]
        if isinstance(step.node, COMPOUND):
            for position in operands:
                if not isinstance(steps[position].node, COMPOUND):
                    named.update(beneath(inner) for inner in steps[position].positions)
        known = isinstance(step.node, Not) or type(step.node) in SENTENCE.rules
        named.update(one for one in operands if isinstance(steps[one].node, COMPOUND) or not known)
    root = len(steps) - 1
    return {one for one in named if one != root and not isinstance(steps[one].node, Leaf)}


def _called(name: str, sort: Sort) -> Phrase:
    return Phrase(
        f"in {name}", sort, name, f"any of {name}", f"all of {name}", f"at some time in {name}"
    )


@SENTENCE.rule(Slot)
def _slot(labels: Labels, node: Slot) -> Phrase | RelationLabel:
    if node.sort is Sort.RELATION:
        return RelationLabel(node.name, False)
    return _exactly(node.name, node.sort, f"at {node.name}")


def _exactly(name: str, sort: Sort, when: str) -> Phrase:
    return Phrase(f"equal to {name}", sort, name, name, name, when)


@SENTENCE.rule(EntityLiteral)
def _entities(labels: Labels, node: EntityLiteral) -> Phrase:
    names = labels.entities(node)
    if len(names) == 1:
        return _exactly(names[0], Sort.ENTITY, "")
    if not names:
        return _nothing(Sort.ENTITY)
    some, every = listed(names, "or"), listed(names)
    return Phrase(f"among {every}", Sort.ENTITY, every, f"any of {some}", every)


def _nothing(sort: Sort) -> Phrase:
    kind = "entity" if sort is Sort.ENTITY else "time"
    return Phrase("in the empty set", sort, f"no {kind}", f"no {kind}", f"no {kind}", "at no time")


@SENTENCE.rule(RelationLiteral)
def _relation(labels: Labels, node: RelationLiteral) -> RelationLabel:
    name, inverse = labels.relation(node)
    return RelationLabel(f"“{name}”", inverse)


@SENTENCE.rule(TimeLiteral)
def _times(labels: Labels, node: TimeLiteral) -> Phrase:
    spans = labels.times(node)
    if not spans:
        return _nothing(Sort.TIME)
    names = [first if first == last else f"{first} to {last}" for first, last in spans]
    if len(spans) == 1:
        first, last = spans[0]
        if first == last:
            return _exactly(first, Sort.TIME, labels.when(first))
        span = f"from {first} to {last}"
        return Phrase(span, Sort.TIME, f"the times {span}", f"any time {span}", f"all times {span}",
                      f"at some time {span}")  # fmt: skip
    every = listed(names)
    return Phrase(f"among {every}", Sort.TIME, f"the times {every}", f"any of {every}",
                  f"all of {every}", f"at some time among {every}")  # fmt: skip


@SENTENCE.rule(Pe)
def _pe(labels: Labels, node: Pe, source: Phrase, relation: RelationLabel, time: Phrase) -> Phrase:
    """The longer of source and time comes last, so that no clause is cut in two."""
    name, inverse = relation
    links = f"links {'to ' if inverse else ''}{source.some}"
    opening = f"that {name}" if inverse else f"to which {name}"
    if source.named:
        return Phrase(f"{opening} {links} {time.at}", node.sort)
    if time.named:
        return Phrase(f"{opening} {time.at} {links}", node.sort)
    return Phrase(f"{opening}, {time.at}, {links}", node.sort)


@SENTENCE.rule(Pt)
def _pt(
    labels: Labels, node: Pt, source: Phrase, relation: RelationLabel, target: Phrase
) -> Phrase:
    name, inverse = relation
    subject, object = (target, source) if inverse else (source, target)
    if subject.named or not object.named:
        subject_text = subject.some if subject.named else f"({subject.some})"
        return Phrase(f"when {name} links {subject_text} to {object.some}", node.sort)
    return Phrase(f"when {name} links to {object.some} {subject.some}", node.sort)


@SENTENCE.rule(After)
def _after(labels: Labels, node: After, times: Phrase) -> Phrase:
    return Phrase(f"later than {times.every}", node.sort)


@SENTENCE.rule(Before)
def _before(labels: Labels, node: Before, times: Phrase) -> Phrase:
    return Phrase(f"earlier than {times.every}", node.sort)


@SENTENCE.rule(Next)
def _next(labels: Labels, node: Next, times: Phrase) -> Phrase:
    before = times.any or f"a time {times.text}"
    return Phrase(f"right after {before}", node.sort)


@SENTENCE.rule(Not)
def _not(labels: Labels, node: Not, members: Phrase) -> Phrase:
    return Phrase(members.clause, node.sort, negative=not members.negative)


@SENTENCE.rule(And)
def _and(labels: Labels, node: And, *operands: Phrase) -> Phrase:
    positive = [operand.clause for operand in operands if not operand.negative]
    negative = [operand.clause for operand in operands if operand.negative]
    if not positive:
        return Phrase(listed(negative, "or"), node.sort, negative=True)
    clause = listed(positive)
    if negative:
        clause += f", but not those {listed(negative, 'or those')}"
    return Phrase(clause, node.sort)


@SENTENCE.rule(Or)
def _or(labels: Labels, node: Or, *operands: Phrase) -> Phrase:
    either = "either " if len(operands) > 1 else ""
    return Phrase(either + listed([operand.text for operand in operands], "or"), node.sort)


@SENTENCE.rule(Xor)
def _xor(labels: Labels, node: Xor, first: Phrase, second: Phrase) -> Phrase:
    return Phrase(f"either {first.text} or {second.text}, but not both", node.sort)


@SENTENCE.rule(Implies)
def _implies(labels: Labels, node: Implies, first: Phrase, second: Phrase) -> Phrase:
    opposite = replace(first, negative=not first.negative)
    return Phrase(f"either {opposite.text} or {second.text}", node.sort)


@SENTENCE.rule(Equivalent)
def _equivalent(labels: Labels, node: Equivalent, first: Phrase, second: Phrase) -> Phrase:
    return Phrase(f"either both {first.text} and {second.text}, or neither", node.sort)


def _unknown(node: Node, values: Sequence[Phrase | RelationLabel]) -> Phrase:
    """An operator without words of its own: its name on its arguments."""
    name = node.names[0] if node.names else type(node).__name__
    texts = (("~" if value.inverse else "") + value.name if isinstance(value, RelationLabel)
             else str(value) for value in values)  # fmt: skip
    return Phrase(f"in {name}({', '.join(texts)})", node.sort)
