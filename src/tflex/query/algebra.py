"""The typed query algebra: immutable nodes, and `fold`, which interprets them.

A query is a directed acyclic graph of nodes. Nodes compare by identity, so a sub-query used twice
is one node and every interpreter evaluates it once. An interpreter is a table from node type to
rule; a new operator is a node class and its rules, and nothing else changes.

| node | set it denotes (F the facts, V the entities, T the timestamps) |
|---|---|
| `Pe(S, r, Q)` | {o : s∈S, t∈Q, (s,r,o,t)∈F} |
| `Pt(S, r, O)` | {t : s∈S, o∈O, (s,r,o,t)∈F} |
| `And`, `Or`, `Not` | ∩, ∪, complement in V or in T (the sort comes from the arguments) |
| `After(Q)`, `Before(Q)` | {t : t > max Q}, {t : t < min Q}; all of T for an empty Q |
| `Next(Q)` | {t+1 : t∈Q} ∩ T |
| `Between(A, B)` | And(After(A), Before(B)) |
| `Xor(A, B)` | (A∪B) ∩ ¬(A∩B) |
| `Implies(A, B)` | ¬A ∪ B |
| `Equivalent(A, B)` | (A∩B) ∪ (¬A∩¬B) |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any, ClassVar, NamedTuple, TypeVar

from tflex.errors import QueryError, UnsupportedOperator


class Sort(Enum):
    """What a node denotes."""

    ENTITY = "entity set"
    TIME = "time set"
    RELATION = "relation"


class Parameter(NamedTuple):
    """An argument's name, and its sort (None: either set sort, the same for all such arguments)."""

    name: str
    sort: Sort | None


class Node:
    """A part of a query. Subclasses say how they are written and what they take and give."""

    names: ClassVar[tuple[str, ...]] = ()
    """How it is written; the first name is the one that is printed for entity sets."""
    time_name: ClassVar[str | None] = None
    """The spelling that is allowed for time sets alone, such as `TimeAnd`."""
    parameters: ClassVar[tuple[Parameter, ...]] = ()
    variadic: ClassVar[bool] = False
    """Takes one or more arguments like its last parameter."""
    result: ClassVar[Sort | None] = None
    """Its sort; None: the sort of its arguments."""

    arguments: tuple[Node, ...]
    sort: Sort

    def __init__(self, *arguments: Node | str | int | Iterable[str | int]) -> None:
        parameters = self._matched(len(arguments))
        nodes: list[Node] = []
        shared: Sort | None = None
        for position, (parameter, argument) in enumerate(zip(parameters, arguments, strict=True)):
            try:
                node = self._checked(parameter, argument, parameter.sort or shared)
            except QueryError as error:
                error.argument = position if error.argument is None else error.argument
                raise
            if parameter.sort is None:
                shared = node.sort
            nodes.append(node)
        object.__setattr__(self, "arguments", tuple(nodes))
        object.__setattr__(self, "sort", self.result or shared)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable")

    @classmethod
    def _checked(cls, parameter: Parameter, argument: Any, expected: Sort | None) -> Node:
        """The argument as a node, if its sort is the expected one."""
        node = as_node(argument, expected, cls.names[0], parameter.name)
        if expected is None and node.sort is Sort.RELATION:
            raise QueryError(f"{cls.names[0]} expects a set as its argument `{parameter.name}`")
        if expected is not None and node.sort is not expected:
            raise QueryError(
                f"{cls.names[0]} expects {_a(expected)} as its argument `{parameter.name}`, "
                f"not {_a(node.sort)}"
            )
        return node

    @classmethod
    def _matched(cls, count: int) -> list[Parameter]:
        parameters = list(cls.parameters)
        if cls.variadic and count >= len(parameters):
            last = parameters[-1]
            numbered = range(len(parameters), count + 1)
            return parameters[:-1] + [Parameter(f"{last.name}{i}", last.sort) for i in numbered]
        if count != len(parameters):
            wanted = ", ".join(parameter.name for parameter in parameters)
            least, plural = "at least " * cls.variadic, "s" * (len(parameters) != 1)
            raise QueryError(
                f"{cls.names[0]} takes {least}{len(parameters)} argument{plural} ({wanted}), "
                f"not {count}"
            )
        return parameters

    def rebuilt(self, arguments: Iterable[Node]) -> Node:
        """The same operator on other arguments."""
        return type(self)(*arguments)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.arguments))})"


def _a(sort: Sort) -> str:
    return f"{'an' if sort is Sort.ENTITY else 'a'} {sort.value}"


class Leaf(Node):
    """A node without arguments."""

    arguments: tuple[Node, ...] = ()

    def rebuilt(self, arguments: Iterable[Node]) -> Node:
        return self


class Slot(Leaf):
    """A placeholder of a structure, filled by an anchor."""

    def __init__(self, name: str, sort: Sort) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "sort", sort)

    name: str

    def __repr__(self) -> str:
        return self.name


class EntityLiteral(Leaf):
    """Named entities: ids, or names that `bind` will look up."""

    result = Sort.ENTITY
    sort = Sort.ENTITY
    members: tuple[int | str, ...]

    def __init__(self, members: Iterable[int | str]) -> None:
        object.__setattr__(self, "members", tuple(dict.fromkeys(members)))

    def __repr__(self) -> str:
        return _literal(self.members)


class RelationLiteral(Leaf):
    """One relation: its id (`id + |R|` is the inverse) or its name (`~` before it: the inverse)."""

    result = Sort.RELATION
    sort = Sort.RELATION
    value: int | str

    def __init__(self, value: int | str) -> None:
        object.__setattr__(self, "value", value)

    def __repr__(self) -> str:
        return repr(self.value)


class TimeLiteral(Leaf):
    """Named timestamps: ranges of ids (first, last), or texts that `bind` will look up."""

    result = Sort.TIME
    sort = Sort.TIME
    members: tuple[tuple[int, int] | str, ...]

    def __init__(self, members: Iterable[tuple[int, int] | int | str]) -> None:
        spans = ((member, member) if isinstance(member, int) else member for member in members)
        object.__setattr__(self, "members", tuple(dict.fromkeys(spans)))

    def __repr__(self) -> str:
        return _literal(self.members)


def _literal(members: tuple[Any, ...]) -> str:
    return repr(members[0]) if len(members) == 1 else "{" + ", ".join(map(repr, members)) + "}"


def as_node(value: Any, sort: Sort | None, operator: str = "query", argument: str = "") -> Node:
    """A node as it is; a name, an id or a set of them as the literal of the expected sort."""
    if isinstance(value, Node):
        return value
    if sort is None:
        raise QueryError(f"{operator}: the sort of `{argument}` is not clear from a bare {value!r}")
    members = list(value) if isinstance(value, set | frozenset | list | tuple) else [value]
    if any(isinstance(member, bool) or not isinstance(member, str | int) for member in members):
        raise QueryError(f"{operator} cannot take {value!r} as its argument `{argument}`")
    if sort is Sort.ENTITY:
        return EntityLiteral(members)
    if sort is Sort.TIME:
        return TimeLiteral(members)
    if len(members) != 1:
        raise QueryError(
            f"{operator} takes one relation as its argument `{argument}`, not {value!r}"
        )
    return RelationLiteral(members[0])


OPERATORS: dict[str, type[Node]] = {}
"""Every operator by each of its spellings; the text parser reads this table."""

NodeType = TypeVar("NodeType", bound=type[Node])


def operator(node_type: NodeType) -> NodeType:
    """Register a node class, so that queries may use its names."""
    spellings = (*node_type.names, *([node_type.time_name] if node_type.time_name else []))
    for name in spellings:
        if OPERATORS.get(name, node_type) is not node_type:
            raise ValueError(f"an operator named {name} exists already")
        OPERATORS[name] = node_type
    return node_type


_SOURCE = Parameter("source", Sort.ENTITY)
_RELATION = Parameter("relation", Sort.RELATION)
_TIMES = Parameter("times", Sort.TIME)


@operator
class Pe(Node):
    """{o : s∈source, t∈when, (s, relation, o, t)∈F}."""

    names = ("Pe",)
    parameters = (_SOURCE, _RELATION, Parameter("when", Sort.TIME))
    result = Sort.ENTITY


@operator
class Pt(Node):
    """{t : s∈source, o∈target, (s, relation, o, t)∈F}."""

    names = ("Pt",)
    parameters = (_SOURCE, _RELATION, Parameter("target", Sort.ENTITY))
    result = Sort.TIME


@operator
class And(Node):
    """Intersection of one or more sets of one sort."""

    names = ("And",)
    time_name = "TimeAnd"
    parameters = (Parameter("set", None),)
    variadic = True


@operator
class Or(Node):
    """Union of one or more sets of one sort."""

    names = ("Or",)
    time_name = "TimeOr"
    parameters = (Parameter("set", None),)
    variadic = True


@operator
class Not(Node):
    """Complement, in V or in T."""

    names = ("Not",)
    time_name = "TimeNot"
    parameters = (Parameter("set", None),)


@operator
class After(Node):
    """{t : t > max times}; all of T for no times."""

    names = ("after", "After")
    time_name = "TimeAfter"
    parameters = (_TIMES,)
    result = Sort.TIME


@operator
class Before(Node):
    """{t : t < min times}; all of T for no times."""

    names = ("before", "Before")
    time_name = "TimeBefore"
    parameters = (_TIMES,)
    result = Sort.TIME


@operator
class Next(Node):
    """{t+1 : t∈times} ∩ T."""

    names = ("next", "Next")
    time_name = "TimeNext"
    parameters = (_TIMES,)
    result = Sort.TIME


class Derived(Node):
    """An operator defined by others; an interpreter without a rule for it folds the definition."""

    def definition(self) -> Node:
        raise TypeError(f"{type(self).__name__} has no definition")

    def expanded(self) -> Node:
        """The definition on these arguments; the same node on every call."""
        cached: Node | None = self.__dict__.get("_expansion")
        if cached is None:
            cached = self.__dict__["_expansion"] = self.definition()
        return cached


@operator
class Between(Derived):
    """And(After(first), Before(second))."""

    names = ("between", "Between")
    time_name = "TimeBetween"
    parameters = (Parameter("first", Sort.TIME), Parameter("second", Sort.TIME))
    result = Sort.TIME

    def definition(self) -> Node:
        first, second = self.arguments
        return And(After(first), Before(second))


class _Pair(Derived):
    parameters = (Parameter("first", None), Parameter("second", None))


@operator
class Xor(_Pair):
    """(A∪B) ∩ ¬(A∩B)."""

    names = ("Xor",)
    time_name = "TimeXor"

    def definition(self) -> Node:
        return And(Or(*self.arguments), Not(And(*self.arguments)))


@operator
class Implies(_Pair):
    """¬A ∪ B."""

    names = ("Implies",)
    time_name = "TimeImplies"

    def definition(self) -> Node:
        first, second = self.arguments
        return Or(Not(first), second)


@operator
class Equivalent(_Pair):
    """(A∩B) ∪ (¬A∩¬B)."""

    names = ("Equivalent",)
    time_name = "TimeEquivalent"

    def definition(self) -> Node:
        first, second = self.arguments
        return Or(And(first, second), And(Not(first), Not(second)))


COMMUTATIVE: tuple[type[Node], ...] = (And, Or, Xor, Equivalent)

Rule = Callable[..., Any]
"""`rule(context, node, *values of the arguments) -> value`"""


class Interpreter:
    """A table of rules by node type, and what it says about operators that it lacks."""

    def __init__(self, name: str, fallback: Rule | None = None) -> None:
        self.name = name
        self.fallback = fallback
        """The rule of primitive operators that have none of their own, where one can be given."""
        self.rules: dict[type[Node], Rule] = {}
        self.reasons: dict[type[Node], str] = {}

    def rule(self, *node_types: type[Node]) -> Callable[[Rule], Rule]:
        """Register a function as the rule of one or several node types."""

        def register(function: Rule) -> Rule:
            for node_type in node_types:
                self.rules[node_type] = function
            return function

        return register

    def unsupported(self, node_type: type[Node], reason: str) -> None:
        """Say why this interpreter has no rule for an operator."""
        self.reasons[node_type] = reason

    def supports(self, node_type: type[Node]) -> bool:
        known = node_type in self.rules or issubclass(node_type, Derived)
        return known or (self.fallback is not None and node_type not in self.reasons)

    def compile(self, query: Node) -> Program:
        """Order the nodes, look up their rules, expand derived operators that have none."""
        positions: dict[int, int] = {}
        steps: list[Step] = []
        stack = [query]
        while stack:
            node = stack[-1]
            if id(node) in positions:
                stack.pop()
                continue
            rule = self.rules.get(type(node))
            if type(node) in self.reasons:
                rule = self.rule_of(node)
            if rule is None and isinstance(node, Derived):
                wanted: tuple[Node, ...] = (node.expanded(),)
            else:
                wanted = node.arguments
            missing = [argument for argument in wanted if id(argument) not in positions]
            if missing:
                stack.extend(reversed(missing))
                continue
            stack.pop()
            if rule is None and isinstance(node, Derived):
                positions[id(node)] = positions[id(wanted[0])]
                continue
            rule = self.rule_of(node)
            positions[id(node)] = len(steps)
            steps.append(Step(rule, node, tuple(positions[id(argument)] for argument in wanted)))
        return Program(tuple(steps))

    def rule_of(self, node: Node) -> Rule:
        """The rule of a node; an operator without one is an error that names it."""
        reason = self.reasons.get(type(node))
        rule = self.rules.get(type(node), self.fallback if reason is None else None)
        if rule is None:
            name = node.names[0] if node.names else type(node).__name__
            raise UnsupportedOperator(
                f"the {self.name} interpreter does not support {name}: "
                + (reason or "it has no rule for it")
            )
        return rule


class Step(NamedTuple):
    rule: Rule
    node: Node
    positions: tuple[int, ...]


class Program(NamedTuple):
    """A query in evaluation order for one interpreter."""

    steps: tuple[Step, ...]

    def run(self, context: Any = None) -> Any:
        """Evaluate every node once, arguments first; the value of the last is the query's."""
        return self.values(context)[-1]

    def values(self, context: Any = None) -> list[Any]:
        """The value of every step."""
        values: list[Any] = []
        for rule, node, positions in self.steps:
            values.append(rule(context, node, *[values[position] for position in positions]))
        return values


def fold(query: Node, interpreter: Interpreter, context: Any = None) -> Any:
    """Interpret a query, evaluating each node once however often it is used."""
    return interpreter.compile(query).run(context)


def topological(query: Node) -> list[Node]:
    """Every node once, arguments before the nodes that use them."""
    order: list[Node] = []
    seen: set[int] = set()
    stack = [(query, False)]
    while stack:
        node, ready = stack.pop()
        if ready:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((argument, False) for argument in reversed(node.arguments))
    return order


def transform(query: Node, change: Callable[[Node], Node]) -> Node:
    """Rebuild a query bottom-up through `change`; what is shared stays shared."""
    done: dict[int, Node] = {}
    for node in topological(query):
        arguments = tuple(done[id(argument)] for argument in node.arguments)
        same = all(new is old for new, old in zip(arguments, node.arguments, strict=True))
        done[id(node)] = change(node if same else node.rebuilt(arguments))
    return done[id(query)]


def expand(query: Node) -> Node:
    """A query without derived operators."""

    def change(node: Node) -> Node:
        while isinstance(node, Derived):
            node = node.expanded()
        return node

    return transform(query, change)
