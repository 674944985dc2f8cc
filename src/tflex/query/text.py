"""Queries and structures as text: Python's grammar is read, nothing is ever executed.

    T = Pt("A", "hold office in", "B"); And(Pe("C", "visit", T), Not(Pe("D", "visit", T)))

A query is a last expression after any number of assignments, which share sub-queries. Calls are
operators of the algebra or structures; where both have a name, the number of arguments decides.
"""

from __future__ import annotations

import ast
import json
import warnings
from collections.abc import Iterable
from difflib import get_close_matches
from itertools import count
from pathlib import Path
from typing import Any

from tflex.errors import QueryError, UnknownName
from tflex.graph.temporal_graph import TemporalGraph
from tflex.query.algebra import (
    OPERATORS,
    EntityLiteral,
    Leaf,
    Node,
    RelationLiteral,
    Slot,
    Sort,
    TimeLiteral,
    as_node,
    topological,
    transform,
)
from tflex.query.published import STRUCTURES
from tflex.query.structures import ANNOTATIONS, Structure, Structures, make_structure

MAXIMUM_NODES = 10_000


class _Located(str):
    """A name of the text that knows its column, so that `bind` can point at it."""

    column: int


class _Unsorted:
    """A parameter without annotation; its first use decides what it is."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.slot: Slot | None = None


def parse(
    text: str, graph: TemporalGraph | None = None, structures: Structures = STRUCTURES
) -> Node:
    """Read a query; with a graph, look its names up as well."""
    module = _syntax(text)
    reader = _Reader(text, structures)
    query = as_node(reader.block(module.body, final=ast.Expr), Sort.ENTITY)
    if query.sort is Sort.RELATION:
        raise QueryError("a query is a set: an operator or a structure with its arguments", text, 0)
    if _holds_slots(query):
        raise QueryError("a query has no placeholders", text, 0)
    return query if graph is None else bind(query, graph, text)


def parse_structures(path: str | Path, known: Structures = STRUCTURES) -> list[Structure]:
    """Read the structures of a user's Python file, which is parsed and never executed.

    The file holds functions (annotations optional) and may import; anything else is an error.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise QueryError(f"{path}: cannot be read: {error}") from error
    try:
        module = _syntax(text)
        every = known.copy()
        found = []
        for statement in module.body:
            reader = _Reader(text, every)
            if isinstance(statement, ast.FunctionDef):
                made = reader.structure(statement)
                node_type = OPERATORS.get(made.name) or _installed(made.name)
                if node_type is not None and _takes(node_type, made.arity):
                    raise reader.error(
                        f"{made.name} is the name of an operator; choose another",
                        statement,
                    )
                found.append(every.add(made))
            elif not isinstance(statement, ast.Import | ast.ImportFrom) and not _is_text(statement):
                raise reader.error("a structure file holds functions and imports alone", statement)
    except QueryError as error:
        raise QueryError(f"{path}: {error}") from error
    if not found:
        raise QueryError(f"{path}: holds no structure (a function that returns a query)")
    return found


def parse_structure(text: str) -> Structure:
    """Read a structure as `print_structure` writes it."""
    tree = _syntax(text).body[0]
    if not isinstance(tree, ast.FunctionDef):
        raise QueryError("a structure is a function that returns a query", text, 0)
    return _Reader(text, Structures()).structure(tree)


def print_structure(structure: Structure) -> str:
    """A structure as a typed function of operators alone."""
    words = {sort: name for name, sort in reversed(ANNOTATIONS.items())}
    slots = ", ".join(f"{slot.name}: {words[slot.sort]}" for slot in structure.parameters)
    result = {Sort.ENTITY: "EntitySet", Sort.TIME: "TimeSet"}[structure.sort]
    *assignments, body = print_query(structure.body).split("; ")
    lines = [*assignments, f"return {body}"]
    return "\n    ".join([f"def {structure.name}({slots}) -> {result}:", *lines]) + "\n"


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _holds_slots(query: Node) -> bool:
    return any(isinstance(node, Slot) for node in topological(query))


def _syntax(text: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text.strip("\ufeff"))
    except SyntaxError as error:
        lines = text.split("\n")
        row = min(max((error.lineno or 1) - 1, 0), len(lines) - 1)
        column = sum(len(line) + 1 for line in lines[:row]) + max((error.offset or 1) - 1, 0)
        raise QueryError(
            f"cannot read the query: {error.msg}", text, min(column, len(text))
        ) from error
    except UnicodeEncodeError as error:
        raise QueryError(
            f"cannot read the query: character {error.start + 1} is no valid text"
        ) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise QueryError(f"cannot read the query: {error or 'it nests too deeply'}") from error


class _Reader:
    """Turns a syntax tree into nodes."""

    def __init__(self, text: str, structures: Structures) -> None:
        self.text = text
        self.structures = structures
        self.names: dict[str, Any] = {}
        self.count = 0
        self._lines = text.split("\n")

    def column(self, tree: ast.AST) -> int:
        """Where a tree starts in the text; Python counts bytes within a line."""
        row, offset = getattr(tree, "lineno", 1) - 1, getattr(tree, "col_offset", 0)
        before = sum(len(line) + 1 for line in self._lines[:row])
        return before + len(self._lines[row].encode()[:offset].decode(errors="ignore"))

    def error(self, message: str, tree: ast.AST) -> QueryError:
        return QueryError(message, self.text, self.column(tree))

    def block(self, statements: list[ast.stmt], final: type[ast.Expr] | type[ast.Return]) -> Any:
        """Assignments, then the query itself."""
        if not statements:
            raise QueryError("the query is empty", self.text, 0)
        for statement in statements[:-1]:
            if not isinstance(statement, ast.Assign) or not isinstance(
                statement.targets[0], ast.Name
            ):
                raise self.error("before the query itself only `name = part` may stand", statement)
            if len(statement.targets) > 1:
                raise self.error("one name an assignment", statement)
            self.names[statement.targets[0].id] = self.value(statement.value)
        last = statements[-1]
        if not isinstance(last, final) or last.value is None:
            end = "an expression" if final is ast.Expr else "`return` and the query"
            raise self.error(f"the query itself is missing: end with {end}", last)
        return self.value(last.value)

    def value(self, tree: ast.expr, expected: Sort | None = None) -> Any:
        """A node, or a name, id or set whose sort its place will tell."""
        self.count += 1
        if self.count > MAXIMUM_NODES:
            raise QueryError(f"the query has more than {MAXIMUM_NODES} parts")
        try:
            return self._value(tree, expected)
        except RecursionError:
            raise QueryError("cannot read the query: it nests too deeply") from None

    def _value(self, tree: ast.expr, expected: Sort | None) -> Any:
        if isinstance(tree, ast.Call):
            return self.call(tree, expected)
        if isinstance(tree, ast.Name):
            if tree.id not in self.names:
                raise self.error(f"unknown name {tree.id}{_near(tree.id, self.names)}", tree)
            return self.names[tree.id]
        if isinstance(tree, ast.Constant):
            return self.constant(tree, tree.value)
        if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Invert):
            inner = tree.operand
            if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
                return RelationLiteral(self.constant(tree, "~" + inner.value))
            raise self.error("`~` stands before a relation's name alone", tree)
        if isinstance(tree, ast.Set):
            return [self.member(member) for member in tree.elts]
        if isinstance(tree, ast.Dict) and not tree.keys:
            return []
        raise self.error(
            "expected an operator, a structure, a name in quotes, an id or a set", tree
        )

    def constant(self, tree: ast.expr, value: Any) -> Any:
        if isinstance(value, str):
            if not _is_encodable(value):
                raise self.error(f"{value!r} is no valid text", tree)
            located = _Located(value)
            located.column = self.column(tree)
            return located
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        raise self.error(f"{value!r} is neither a name nor an id", tree)

    def member(self, tree: ast.expr) -> Any:
        if not isinstance(tree, ast.Constant):
            raise self.error("a set holds names or ids", tree)
        return self.constant(tree, tree.value)

    def call(self, tree: ast.Call, expected: Sort | None) -> Node:
        if not isinstance(tree.func, ast.Name):
            raise self.error("expected the name of an operator or a structure", tree)
        if tree.keywords:
            raise self.error("arguments are given by position", tree.keywords[0])
        name, size = tree.func.id, len(tree.args)
        node_type = OPERATORS.get(name) or _installed(name)
        made = self.structures.get(name)
        if node_type is None and made is None:
            known = [*OPERATORS, *self.structures.names()]
            raise self.error(f"unknown operator or structure {name}{_near(name, known)}", tree)
        if made is not None and (node_type is None or not _takes(node_type, size)):
            sorts: list[Sort | None] = [slot.sort for slot in made.parameters]
            return self.build(made, name, self.arguments(tree, sorts, None), None, tree)
        assert node_type is not None
        sorts = [parameter.sort for parameter in node_type.parameters]
        forced = Sort.TIME if name == node_type.time_name else None
        arguments = self.arguments(tree, sorts, forced or expected)
        return self.build(node_type, name, arguments, forced, tree)

    def arguments(
        self, tree: ast.Call, sorts: list[Sort | None], expected: Sort | None
    ) -> list[Any]:
        """The arguments of a call; where the sort is open, its arguments or its place decide."""
        if not sorts:
            return [self.value(argument) for argument in tree.args]
        wanted = [sorts[min(at, len(sorts) - 1)] for at in range(len(tree.args))]
        found = [
            self.value(argument, sort or expected)
            for argument, sort in zip(tree.args, wanted, strict=True)
        ]
        told = [node.sort for node in found if isinstance(node, Node)]
        # Sets of bare names and ids are entities unless something says that they are times.
        open_sort = (told[0] if told else None) or expected or Sort.ENTITY
        return [
            self.sorted(argument, sort or open_sort)
            for argument, sort in zip(found, wanted, strict=True)
        ]

    def build(
        self, make: Any, name: str, arguments: list[Any], forced: Sort | None, tree: ast.Call
    ) -> Node:
        """Make the node; a wrong argument is reported where it stands."""
        try:
            node: Node = make(*arguments)
        except QueryError as error:
            if error.text is not None:
                raise
            at = error.argument
            place = tree.args[at] if at is not None and at < len(tree.args) else tree
            raise self.error(error.reason, place) from None
        if forced is not None and node.sort is not forced:
            raise self.error(f"{name} is for time sets; this is an {node.sort.value}", tree.args[0])
        return node

    def sorted(self, argument: Any, sort: Sort) -> Any:
        """A bare literal, or a parameter without annotation, as a node of its place's sort."""
        if not isinstance(argument, _Unsorted):
            bare = not isinstance(argument, Node) and sort is not Sort.RELATION
            return as_node(argument, sort) if bare else argument
        if argument.slot is None:
            argument.slot = Slot(argument.name, sort)
        return argument.slot

    def structure(self, tree: ast.FunctionDef) -> Structure:
        """A function as a structure: parameters (annotated or not), assignments, return."""
        given = tree.args
        if given.vararg or given.kwarg or given.kwonlyargs or given.defaults or given.posonlyargs:
            raise self.error(f"structure {tree.name}: parameters are plain names", tree)
        for parameter in given.args:
            self.names[parameter.arg] = self.parameter(parameter)
        declared = list(self.names.values())
        statements = tree.body[1:] if _is_text(tree.body[0]) and len(tree.body) > 1 else tree.body
        body = self.block(statements, final=ast.Return)
        slots = [one.slot if isinstance(one, _Unsorted) else one for one in declared]
        if not isinstance(body, Node) or any(slot is None for slot in slots):
            raise self.error(
                f"structure {tree.name} does not use all its parameters in a query", tree
            )
        if any(isinstance(node, Leaf) and not isinstance(node, Slot) for node in topological(body)):
            raise self.error(
                f"structure {tree.name} holds a literal; every anchor is a parameter", tree
            )
        wanted = self.annotation(tree.returns)
        if wanted is not None and wanted is not body.sort:
            raise self.error(
                f"structure {tree.name} gives {body.sort.value}, not {wanted.value}", tree
            )
        try:
            return make_structure(tree.name, [slot for slot in slots if slot is not None], body)
        except QueryError as error:
            raise self.error(error.reason, tree) from None

    def parameter(self, tree: ast.arg) -> Slot | _Unsorted:
        sort = self.annotation(tree.annotation)
        return _Unsorted(tree.arg) if sort is None else Slot(tree.arg, sort)

    def annotation(self, tree: ast.expr | None) -> Sort | None:
        if tree is None:
            return None
        name = tree.id if isinstance(tree, ast.Name) else getattr(tree, "attr", None)
        if isinstance(tree, ast.Constant):
            name = tree.value
        if name not in ANNOTATIONS:
            raise self.error(f"annotations are {', '.join(ANNOTATIONS)}", tree)
        return ANNOTATIONS[name]


def _is_encodable(text: str) -> bool:
    """Whether a text can be written at all; half of a surrogate pair cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _takes(node_type: type[Node], size: int) -> bool:
    wanted = len(node_type.parameters)
    return size >= wanted if node_type.variadic else size == wanted


def _near(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, list(known), n=3, cutoff=0.5)
    return f"; did you mean {', '.join(near)}?" if near else ""


def _installed(name: str) -> type[Node] | None:
    """An operator of an installed package that registers itself under `tflex.operators`."""
    from importlib.metadata import entry_points

    for entry in entry_points(group="tflex.operators"):
        entry.load()
    return OPERATORS.get(name)


def bind(query: Node, graph: TemporalGraph, text: str | None = None) -> Node:
    """Replace the names in a query by the ids of a graph."""

    def change(node: Node) -> Node:
        if isinstance(node, EntityLiteral):
            return EntityLiteral(_id(one, "entity", graph, text) for one in node.members)
        if isinstance(node, RelationLiteral):
            return RelationLiteral(_id(node.value, "relation", graph, text))
        if isinstance(node, TimeLiteral):
            spans = (_span(member, graph, text) for member in node.members)
            return TimeLiteral(span for span in spans if span[0] <= span[1])
        return node

    return transform(query, change)


def _id(value: int | str, kind: str, graph: TemporalGraph, text: str | None) -> int:
    if isinstance(value, int):
        size = graph.entity_count if kind == "entity" else 2 * graph.relation_count
        if not 0 <= value < size:
            raise QueryError(f"{kind} id {value} is not in 0 … {size - 1}")
        return value
    look_up = graph.entities.id if kind == "entity" else graph.relation_id
    return _placed(look_up, value, text)


def _span(member: tuple[int, int] | str, graph: TemporalGraph, text: str | None) -> tuple[int, int]:
    if isinstance(member, str):
        return _placed(graph.timeline.span, member, text)
    if not (member[0] >= 0 and member[1] < graph.time_count):
        raise QueryError(f"timestamp id {member[0]} is not in 0 … {graph.time_count - 1}")
    return member


def _placed(look_up: Any, name: str, text: str | None) -> Any:
    """Look a name up; an error points at its column."""
    try:
        return look_up(str(name))
    except UnknownName as error:
        column = getattr(name, "column", None)
        if column is None or text is None:
            raise
        raise UnknownName(error.kind, error.name, error.suggestions, text, column) from None
    except QueryError as error:
        column = getattr(name, "column", None)
        if column is None or text is None:
            raise
        raise QueryError(error.reason, text, column) from None


def print_query(query: Node, graph: TemporalGraph | None = None) -> str:
    """The text of a query; sub-queries used more than once are assigned first."""
    uses: dict[int, int] = {}
    order = topological(query)
    for node in order:
        for argument in node.arguments:
            uses[id(argument)] = uses.get(id(argument), 0) + 1
    taken = {node.name for node in order if isinstance(node, Slot)}
    free = (name for name in map("x{}".format, count(1)) if name not in taken)
    texts: dict[int, str] = {}
    assignments: list[str] = []
    for node in order:
        text = _print_node(node, [texts[id(argument)] for argument in node.arguments], graph)
        if uses.get(id(node), 0) > 1 and not isinstance(node, Leaf):
            name = next(free)
            assignments.append(f"{name} = {text}")
            text = name
        texts[id(node)] = text
    text = texts[id(query)]
    # A literal alone would be read as entities.
    alone = isinstance(query, TimeLiteral)
    return "; ".join([*assignments, f"TimeAnd({text})" if alone else text])


def _print_node(node: Node, arguments: list[str], graph: TemporalGraph | None) -> str:
    if isinstance(node, Slot):
        return node.name
    if isinstance(node, EntityLiteral):
        return _set(_named(one, graph.entities if graph else None) for one in node.members)
    if isinstance(node, RelationLiteral):
        name = (
            graph.relation_name(node.value) if graph and isinstance(node.value, int) else node.value
        )
        if isinstance(name, str) and name.startswith("~"):
            return "~" + _quoted(name[1:])
        return _quoted(name)
    if isinstance(node, TimeLiteral):
        return _set(_print_span(member, graph) for member in node.members)
    timed = node.result is None and node.sort is Sort.TIME and node.time_name
    return f"{timed or node.names[0]}({', '.join(arguments)})"


def _named(value: int | str, names: Any) -> str:
    return _quoted(names[value] if names is not None and isinstance(value, int) else value)


def _quoted(value: int | str) -> str:
    return str(value) if isinstance(value, int) else json.dumps(value, ensure_ascii=False)


def _print_span(member: tuple[int, int] | str, graph: TemporalGraph | None) -> str:
    if isinstance(member, str):
        return _quoted(member)
    first, last = member
    if graph is None:
        # Without a timeline a range has no text, so its ids are listed.
        return ", ".join(str(id) for id in range(first, last + 1))
    if first == last:
        return _quoted(graph.timeline[first])
    return _quoted(f"{graph.timeline[first]}/{graph.timeline[last]}")


def _set(members: Iterable[str]) -> str:
    listed = ", ".join(members)
    single = listed and (", " not in listed or _is_one_literal(listed))
    return listed if single else "{" + listed + "}"


def _is_one_literal(text: str) -> bool:
    try:
        return isinstance(ast.literal_eval(text), str | int)
    except (ValueError, SyntaxError):
        return False
