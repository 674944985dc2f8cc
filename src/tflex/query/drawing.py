"""The computation graph of a query: as data, as Mermaid text, and (in svg.py) as a picture.

As in the paper's figures, sets are circles (entities) and triangles (times), a projection is an
arrow that carries its relation, and every other operator is a rectangle. The second argument of a
projection, its times or its objects, comes in by a dashed arrow.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from tflex.graph.temporal_graph import TemporalGraph
from tflex.query.algebra import (
    COMMUTATIVE,
    After,
    And,
    Before,
    EntityLiteral,
    Equivalent,
    Implies,
    Interpreter,
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
    fold,
)
from tflex.query.labels import Labels, RelationLabel

Kind = Literal["entity", "time"]
KINDS: dict[Sort, Kind] = {Sort.ENTITY: "entity", Sort.TIME: "time"}
MOST_NAMES = 3
"""How many members of a literal are named in a drawing."""


@dataclass(frozen=True)
class Vertex:
    id: str
    kind: Kind
    """What the set holds; of an operator, what its result holds."""
    role: Literal["anchor", "set", "operator", "answer"]
    label: str


@dataclass(frozen=True)
class Edge:
    source: str
    target: str
    kind: Kind
    """What the set it leads to holds."""
    label: str = ""
    dashed: bool = False


@dataclass(frozen=True)
class ComputationGraph:
    """Vertices in evaluation order, edges in the order of arguments; the answer comes last."""

    vertices: tuple[Vertex, ...]
    edges: tuple[Edge, ...]

    @property
    def answer(self) -> Vertex:
        return self.vertices[-1]

    def as_dict(self) -> dict[str, Any]:
        """Plain lists and dictionaries, for JSON."""
        return {"vertices": [asdict(one) for one in self.vertices],
                "edges": [asdict(one) for one in self.edges]}  # fmt: skip


class Sketch:
    """A computation graph in the making; rules of `DRAWING` add to it."""

    def __init__(self, labels: Labels) -> None:
        self.labels = labels
        self.vertices: list[Vertex] = []
        self.edges: list[Edge] = []

    def vertex(self, node: Node, role: Literal["anchor", "set", "operator", "answer"],
               label: str = "") -> Vertex:  # fmt: skip
        made = Vertex(f"n{len(self.vertices) + 1}", KINDS[node.sort], role, label)
        self.vertices.append(made)
        return made

    def edge(self, source: Vertex, target: Vertex, label: str = "", dashed: bool = False) -> None:
        self.edges.append(Edge(source.id, target.id, target.kind, label, dashed))

    def operator(self, node: Node, values: Sequence[Vertex | RelationLabel],
                 words: Sequence[str] = (), name: str = "") -> Vertex:  # fmt: skip
        """A rectangle with an arrow from each argument, labelled where the order matters."""
        relations = [directed(value) for value in values if isinstance(value, RelationLabel)]
        made = self.vertex(node, "operator", " ".join([name or type(node).__name__, *relations]))
        for value, word in zip(values, words or [""] * len(values), strict=True):
            if isinstance(value, Vertex):
                self.edge(value, made, word)
        return made


def directed(relation: RelationLabel) -> str:
    return relation.name + ("⁻¹" if relation.inverse else "")


DRAWING = Interpreter(
    "drawing", fallback=lambda sketch, node, *values: _unknown(sketch, node, values)
)
"""Rules add to a `Sketch` and give the vertex of a set, or a relation's label."""


def computation_graph(query: Node, graph: TemporalGraph | None = None) -> ComputationGraph:
    """The computation graph of a query; with a graph, ids become names."""
    sketch = Sketch(Labels(graph))
    root: Vertex = fold(query, DRAWING, sketch)
    answer = Vertex("answer", root.kind, "answer", "V?" if root.kind == "entity" else "T?")
    if root.role == "set":
        # A projection's own result is the answer.
        vertices = [one for one in sketch.vertices if one is not root]
        edges = [_redirected(edge, root, answer) for edge in sketch.edges]
    else:
        vertices = sketch.vertices
        edges = [*sketch.edges, Edge(root.id, answer.id, answer.kind)]
    return ComputationGraph((*vertices, answer), tuple(edges))


def _redirected(edge: Edge, old: Vertex, new: Vertex) -> Edge:
    target = new.id if edge.target == old.id else edge.target
    return Edge(edge.source, target, edge.kind, edge.label, edge.dashed)


@DRAWING.rule(Slot)
def _slot(sketch: Sketch, node: Slot) -> Vertex | RelationLabel:
    if node.sort is Sort.RELATION:
        return sketch.labels.relation(node)
    return sketch.vertex(node, "anchor", node.name)


@DRAWING.rule(EntityLiteral)
def _entities(sketch: Sketch, node: EntityLiteral) -> Vertex:
    return sketch.vertex(node, "anchor", _listed(sketch.labels.entities(node)))


@DRAWING.rule(TimeLiteral)
def _times(sketch: Sketch, node: TimeLiteral) -> Vertex:
    spans = sketch.labels.times(node)
    names = [first if first == last else f"{first} – {last}" for first, last in spans]
    return sketch.vertex(node, "anchor", _listed(names))


def _listed(names: list[str]) -> str:
    more = [f"{len(names) - MOST_NAMES} more"] if len(names) > MOST_NAMES else []
    return ", ".join([*names[:MOST_NAMES], *more]) if names else "∅"


@DRAWING.rule(RelationLiteral)
def _relation(sketch: Sketch, node: RelationLiteral) -> RelationLabel:
    return sketch.labels.relation(node)


@DRAWING.rule(Pe, Pt)
def _projection(sketch: Sketch, node: Node, source: Vertex, relation: RelationLabel,
                second: Vertex) -> Vertex:  # fmt: skip
    made = sketch.vertex(node, "set")
    sketch.edge(source, made, directed(relation))
    sketch.edge(second, made, dashed=True)
    return made


@DRAWING.rule(And, Or, Not, After, Before, Next, Xor, Equivalent)
def _operator(sketch: Sketch, node: Node, *operands: Vertex) -> Vertex:
    return sketch.operator(node, operands)


@DRAWING.rule(Implies)
def _implies(sketch: Sketch, node: Implies, first: Vertex, second: Vertex) -> Vertex:
    return sketch.operator(node, (first, second), ("if", "then"))


def _unknown(sketch: Sketch, node: Node, values: Sequence[Vertex | RelationLabel]) -> Vertex:
    """An operator without a drawing: a rectangle with its name."""
    words = [parameter.name for parameter in type(node).parameters]
    words += words[-1:] * (len(values) - len(words))
    ordered = len(values) > 1 and not isinstance(node, COMMUTATIVE) and not node.variadic
    return sketch.operator(
        node, values, words if ordered else (), node.names[0] if node.names else ""
    )


_MERMAID_SHAPES = {"entity": ('(("', '"))'), "time": ('[/"', '"\\]')}
_MERMAID_CLASSES = """  classDef entity fill:#e7f0fd,stroke:#1f5fbf,color:#10305f
  classDef time fill:#e6f5ea,stroke:#1a7f37,color:#0f4420
  classDef operator fill:#fdecea,stroke:#b3261e,color:#5f1410"""


def mermaid(drawing: ComputationGraph) -> str:
    """The graph as a Mermaid flowchart."""
    lines = ["flowchart LR"]
    for vertex in drawing.vertices:
        opened, closed = ('["', '"]') if vertex.role == "operator" else _MERMAID_SHAPES[vertex.kind]
        style = "operator" if vertex.role == "operator" else vertex.kind
        label = _mermaid_text(vertex.label) or " "
        lines.append(f"  {vertex.id}{opened}{label}{closed}:::{style}")
    for edge in drawing.edges:
        line = "-.->" if edge.dashed else "-->"
        label = f'|"{_mermaid_text(edge.label)}"|' if edge.label else ""
        lines.append(f"  {edge.source} {line}{label} {edge.target}")
    return "\n".join([*lines, _MERMAID_CLASSES, ""])


def _mermaid_text(text: str) -> str:
    """Text in a quoted label: whatever Mermaid or its Markdown could read becomes a number."""
    safe = re.sub(r"[^\w ,.:()'/?–∅⁻¹-]|_", lambda match: f"#{ord(match[0])};", text)
    return re.sub(
        r"^(\d+)\.|^(-)", lambda match: f"{match[1] or ''}#{46 if match[1] else 45};", safe
    )
