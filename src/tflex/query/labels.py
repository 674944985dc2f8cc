"""How the anchors of a query are called when it is shown to a person."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from typing import NamedTuple

from tflex.graph.temporal_graph import TemporalGraph
from tflex.query.algebra import (
    EntityLiteral,
    Leaf,
    Node,
    Program,
    RelationLiteral,
    Slot,
    TimeLiteral,
)


def readable(name: str) -> str:
    """A name without the dress of its dataset: YAGO's "<Angela_Merkel>" is Angela Merkel."""
    if len(name) > 2 and name.startswith("<") and name.endswith(">"):
        name = name[1:-1].replace("_", " ")
    return "".join(
        " " if unicodedata.category(letter).startswith(("C", "Z")) else letter for letter in name
    )


class RelationLabel(NamedTuple):
    name: str
    inverse: bool


class Labels:
    """Names for the members of literals: from the graph for ids, else as they were written."""

    def __init__(self, graph: TemporalGraph | None = None) -> None:
        self.graph = graph

    def entities(self, node: EntityLiteral) -> list[str]:
        return [self._entity(member) for member in node.members]

    def _entity(self, member: int | str) -> str:
        if isinstance(member, str):
            return readable(member)
        return readable(self.graph.entities[member]) if self.graph else f"entity {member}"

    def relation(self, node: Node) -> RelationLabel:
        """Name and direction; a placeholder goes by its own name."""
        if isinstance(node, Slot):
            return RelationLabel(node.name, False)
        value = node.value if isinstance(node, RelationLiteral) else repr(node)
        if isinstance(value, int):
            if self.graph is None:
                return RelationLabel(f"relation {value}", False)
            value = self.graph.relation_name(value)
        inverse = value.startswith("~")
        return RelationLabel(readable(value[1:] if inverse else value), inverse)

    def times(self, node: TimeLiteral) -> list[tuple[str, str]]:
        """First and last stamp of each span."""
        return [self._span(member) for member in node.members]

    def _span(self, member: tuple[int, int] | str) -> tuple[str, str]:
        if isinstance(member, str):
            first, slash, last = member.partition("/")
            return readable(first), readable(last if slash else first)
        first, last = (
            readable(self.graph.timeline[id]) if self.graph else f"time {id}" for id in member
        )
        return first, last

    def when(self, stamp: str) -> str:
        """A stamp with its preposition: on a day, in a month or year, at anything else."""
        if self.graph is None or self.graph.timeline.unit != "raw":
            if re.fullmatch(r"-?\d+-\d\d-\d\d", stamp):
                return f"on {stamp}"
            if re.fullmatch(r"-?\d+(-\d\d)?", stamp):
                return f"in {stamp}"
        return f"at {stamp}"


def listed(names: list[str], word: str = "and") -> str:
    """a; a and b; a, b and c."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"


def shared_steps(program: Program) -> set[int]:
    """Positions of the steps whose value several others use, literals aside."""
    used = Counter(position for step in program.steps for position in step.positions)
    return {
        position
        for position, count in used.items()
        if count > 1 and not isinstance(program.steps[position].node, Leaf)
    }
