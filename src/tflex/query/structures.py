"""Structures: queries with typed placeholders (the paper's Complex Query Functions).

A structure is a Python function whose parameters are annotated `Entity`, `Relation` or `Time`;
`@structure` calls it once with placeholders and keeps the expression that comes back.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from tflex.errors import QueryError
from tflex.query.algebra import Node, Slot, Sort, as_node, topological, transform

ANNOTATIONS: dict[str, Sort] = {
    "Entity": Sort.ENTITY,
    "Relation": Sort.RELATION,
    "Time": Sort.TIME,
    "EntitySet": Sort.ENTITY,
    "TimeSet": Sort.TIME,
}

# What the annotations mean to a type checker: any part of a query.
Entity: TypeAlias = Any
Relation: TypeAlias = Any
Time: TypeAlias = Any
EntitySet: TypeAlias = Any
TimeSet: TypeAlias = Any


@dataclass(frozen=True, eq=False)
class Structure:
    """A query over placeholders. Called with arguments, it gives the query with them put in."""

    name: str
    parameters: tuple[Slot, ...]
    body: Node
    group: str | None = None
    aliases: tuple[str, ...] = ()

    @property
    def sort(self) -> Sort:
        return self.body.sort

    @property
    def arity(self) -> int:
        return len(self.parameters)

    def __call__(self, *arguments: Any) -> Node:
        if len(arguments) != self.arity:
            names = ", ".join(slot.name for slot in self.parameters)
            raise QueryError(
                f"{self.name} takes {self.arity} argument{'s' * (self.arity != 1)} ({names}), "
                f"not {len(arguments)}"
            )
        filled: dict[int, Node] = {}
        for position, (slot, argument) in enumerate(zip(self.parameters, arguments, strict=True)):
            node = as_node(argument, slot.sort, self.name, slot.name)
            if node.sort is not slot.sort:
                error = QueryError(
                    f"{self.name} expects its argument `{slot.name}` to be of sort "
                    f"{slot.sort.value}, not {node.sort.value}"
                )
                error.argument = position
                raise error
            filled[id(slot)] = node
        return transform(self.body, lambda node: filled.get(id(node), node))

    def __repr__(self) -> str:
        return f"<structure {self.name}({', '.join(slot.name for slot in self.parameters)})>"


def make_structure(name: str, parameters: Iterable[Slot], body: Node, group: str | None = None,
                   aliases: tuple[str, ...] = ()) -> Structure:  # fmt: skip
    """A checked structure: every placeholder is used, and used as declared."""
    slots = tuple(parameters)
    used = {id(node) for node in topological(body)}
    idle = [slot.name for slot in slots if id(slot) not in used]
    if idle:
        raise QueryError(f"structure {name} does not use its parameter {', '.join(idle)}")
    if body.sort is Sort.RELATION:
        raise QueryError(f"structure {name} gives a relation, not a set")
    return Structure(name, slots, body, group, aliases)


class Structures:
    """A collection of structures by name and alias."""

    def __init__(self, structures: Iterable[Structure] = ()) -> None:
        self._by_name: dict[str, Structure] = {}
        self._listed: list[Structure] = []
        for one in structures:
            self.add(one)

    def add(self, structure: Structure) -> Structure:
        for name in (structure.name, *structure.aliases):
            if name in self._by_name:
                raise QueryError(f"a structure named {name} exists already")
            self._by_name[name] = structure
        self._listed.append(structure)
        return structure

    def get(self, name: str) -> Structure | None:
        """A structure by name or alias; `NAME_DM` and `NAME_DNF` are its rewritten forms."""
        found = self._by_name.get(name)
        stem, _, form = name.rpartition("_")
        if found is not None or form not in ("DM", "DNF") or stem not in self._by_name:
            return found
        from tflex.query import rewrite

        return (rewrite.dm if form == "DM" else rewrite.dnf)(self._by_name[stem])

    def __getitem__(self, name: str) -> Structure:
        from difflib import get_close_matches

        found = self.get(name)
        if found is None:
            near = get_close_matches(name, self._by_name, n=3, cutoff=0.5)
            hint = f"; did you mean {', '.join(near)}?" if near else ""
            raise QueryError(f'unknown structure "{name}"{hint}')
        return found

    def __contains__(self, name: str) -> bool:
        return self.get(name) is not None

    def __iter__(self) -> Iterator[Structure]:
        return iter(self._listed)

    def __len__(self) -> int:
        return len(self._listed)

    def names(self) -> list[str]:
        return [structure.name for structure in self._listed]

    def copy(self) -> Structures:
        return Structures(self._listed)


def structure(function: Callable[..., Node], *, group: str | None = None,
              aliases: tuple[str, ...] = ()) -> Structure:  # fmt: skip
    """Make a structure of a typed function."""
    name = function.__name__
    slots = []
    for parameter in inspect.signature(function).parameters.values():
        annotation = parameter.annotation
        if annotation not in ("Entity", "Relation", "Time"):
            raise QueryError(
                f"structure {name}: annotate `{parameter.name}` as Entity, Relation or Time"
                " (under `from __future__ import annotations`)"
            )
        slots.append(Slot(parameter.name, ANNOTATIONS[annotation]))
    body = function(*slots)
    declared = ANNOTATIONS.get(inspect.signature(function).return_annotation)
    if declared is not None and declared is not body.sort:
        raise QueryError(
            f"structure {name} is declared to give {declared.value}, but gives {body.sort.value}"
        )
    return make_structure(name, slots, body, group, aliases)
