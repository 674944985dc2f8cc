"""Places for a computation graph: columns from the anchors to the answer, rows without overlap.

A vertex stands one column left of the first thing that uses it, so in a tree every arrow leads to
the next column. An arrow of a shared part that skips columns keeps a row of its own on its way.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tflex.query.drawing import ComputationGraph

Place = tuple[int, float]
"""Column and row."""


@dataclass
class Layout:
    places: dict[str, Place] = field(default_factory=dict)
    """Column and row of each vertex."""
    paths: list[list[Place]] = field(default_factory=list)
    """The places along each edge, one a column, from its source to its target."""
    columns: int = 0
    rows: int = 0


def layout(drawing: ComputationGraph) -> Layout:
    """Columns by the distance to the answer, rows by a walk from it."""
    columns = _columns(drawing)
    rows, lanes, count = _rows(drawing, columns)
    found = Layout(columns=columns[drawing.answer.id] + 1, rows=count)
    found.places = {name: (columns[name], rows[name]) for name in columns}
    for at, edge in enumerate(drawing.edges):
        between = range(columns[edge.source] + 1, columns[edge.target])
        path = [found.places[edge.source], *((column, lanes[at]) for column in between)]
        found.paths.append([*path, found.places[edge.target]])
    return found


def _columns(drawing: ComputationGraph) -> dict[str, int]:
    """The answer last, everything else just left of the first that uses it."""
    distance = {vertex.id: 0 for vertex in drawing.vertices}
    incoming = _incoming(drawing)
    for vertex in reversed(drawing.vertices):
        for at in incoming[vertex.id]:
            source = drawing.edges[at].source
            distance[source] = max(distance[source], distance[vertex.id] + 1)
    furthest = max(distance.values())
    return {name: furthest - steps for name, steps in distance.items()}


def _incoming(drawing: ComputationGraph) -> dict[str, list[int]]:
    incoming: dict[str, list[int]] = {vertex.id: [] for vertex in drawing.vertices}
    for at, edge in enumerate(drawing.edges):
        incoming[edge.target].append(at)
    return incoming


def _rows(drawing: ComputationGraph,
          columns: dict[str, int]) -> tuple[dict[str, float], dict[int, float], int]:  # fmt: skip
    """Rows of the vertices and of the edges that skip columns, and how many rows there are.

    Leaves take the rows from top to bottom in the order of the arguments; what has arguments stands
    in the middle of them. The rows below a vertex are its own, so nothing overlaps.
    """
    incoming = _incoming(drawing)
    rows: dict[str, float] = {}
    lanes: dict[int, float] = {}
    below: dict[str, list[float]] = {vertex.id: [] for vertex in drawing.vertices}
    count = 0
    # A step opens a vertex, follows an edge, or closes a vertex; a stack, as queries may be deep.
    steps: list[tuple[str, str, int]] = [("open", drawing.answer.id, -1)]
    while steps:
        step, name, at = steps.pop()
        if step == "open":
            steps.append(("close", name, -1))
            steps.extend(("follow", name, one) for one in reversed(incoming[name]))
        elif step == "follow":
            source = drawing.edges[at].source
            if source not in rows:
                steps.extend([("arrive", name, at), ("open", source, -1)])
            elif columns[name] - columns[source] > 1:
                lanes[at] = float(count)
                below[name].append(lanes[at])
                count += 1
        elif step == "arrive":
            lanes[at] = rows[drawing.edges[at].source]
            below[name].append(lanes[at])
        elif below[name]:
            rows[name] = (below[name][0] + below[name][-1]) / 2
        else:
            rows[name] = float(count)
            count += 1
    return rows, lanes, count
