"""A computation graph as an SVG picture, drawn like the paper's."""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

from tflex.query.drawing import ComputationGraph, Vertex
from tflex.query.labels import readable
from tflex.query.layout import Place, layout

ROW = 68.0
RADIUS = 18.0
MARGIN = 16.0
SPACE = 14.0
"""Between a shape, a label and the next shape."""
FONT = 12.0
LINE = 14.0
WIDEST = 150.0
"""Labels wrap at this width."""
MOST_LINES = 3
TRIANGLE = ((0.0, -21.0), (20.0, 14.0), (-20.0, 14.0))

Point = tuple[float, float]
Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""

COLOURS = {"entity": ("#1f5fbf", "#e7f0fd"), "time": ("#1a7f37", "#e6f5ea"),
           "operator": ("#b3261e", "#fdecea")}  # fmt: skip
"""Line and filling."""


@dataclass(frozen=True)
class Label:
    """Wrapped text around its middle."""

    lines: tuple[str, ...]
    whole: str

    @property
    def width(self) -> float:
        return max(map(text_width, self.lines), default=0.0)

    @property
    def height(self) -> float:
        return LINE * len(self.lines)


def text_width(text: str, size: float = FONT) -> float:
    """A little more than the width of a text in common sans-serif fonts."""
    return size * sum(map(_letter_width, text))


def _letter_width(letter: str) -> float:
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.1
    if letter in "iljtfrI.,:;'|!()[]/ ":
        return 0.42
    if letter in "mwMW@%—":
        return 1.0
    return 0.75 if letter.isupper() else 0.65


def wrapped(text: str) -> Label:
    """Text in at most three lines; what is more ends in an ellipsis."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and text_width(longer) > WIDEST:
            lines.append(word)
        else:
            lines[-1] = longer
    if len(lines) > MOST_LINES:
        lines = [*lines[: MOST_LINES - 1], f"{lines[MOST_LINES - 1]} …"]
    return Label(tuple(_cut(line) for line in lines if line), text)


def _cut(line: str) -> str:
    """A line that fits, though one word may be too long."""
    if text_width(line) <= WIDEST * 1.15:
        return line
    while line and text_width(line + "…") > WIDEST * 1.15:
        line = line[:-1]
    return line.rstrip(" …") + "…"


def svg(drawing: ComputationGraph, title: str = "") -> str:
    """The picture as the text of an SVG file; `title` is what a screen reader says."""
    return _Picture(drawing).text(title)


class _Picture:
    def __init__(self, drawing: ComputationGraph) -> None:
        self.drawing = drawing
        self.layout = layout(drawing)
        self.vertices = {vertex.id: vertex for vertex in drawing.vertices}
        self.names = {vertex.id: wrapped(vertex.label) for vertex in drawing.vertices}
        self.relations = [wrapped(edge.label) for edge in drawing.edges]
        self.slots = self._slots()
        self.centres, self.zones, self.width = self._columns()
        self.height = (self.layout.rows - 1) * ROW + 2 * (MARGIN + ROW / 2)

    def _slots(self) -> list[int]:
        """Which place a label takes among those of the arrows that leave one point together."""
        taken: Counter[Place] = Counter()
        slots = []
        for path, label in zip(self.layout.paths, self.relations, strict=True):
            slots.append(taken[path[-2]])
            taken[path[-2]] += bool(label.lines)
        return slots

    def _columns(self) -> tuple[list[float], list[float], float]:
        """The middle of each column, where the arrows' labels behind it start, and the width.

        Between two columns stand, from left to right, the labels of the arrows and those of the
        anchors, so that no label meets another.
        """
        count = self.layout.columns
        half, anchors, arrows = [RADIUS] * count, [0.0] * count, [SPACE] * count
        for vertex in self.drawing.vertices:
            column = self.layout.places[vertex.id][0]
            half[column] = max(half[column], self.half_size(vertex)[0])
            if vertex.role == "anchor":
                anchors[column] = max(anchors[column], self.names[vertex.id].width + SPACE / 2)
        for path, label, slot in zip(self.layout.paths, self.relations, self.slots, strict=True):
            column = path[-2][0]
            arrows[column] = max(arrows[column], (slot + 1) * (label.width + SPACE))
        centres, zones, x = [], [], MARGIN
        for column in range(count):
            centres.append(x + anchors[column] + half[column])
            zones.append(centres[-1] + half[column] + SPACE)
            x = zones[-1] + arrows[column] + SPACE * 1.5
        return centres, zones, centres[-1] + half[-1] + MARGIN

    def half_size(self, vertex: Vertex) -> Point:
        """Half the width and height of a shape."""
        if vertex.role != "operator":
            return RADIUS, RADIUS
        name = self.names[vertex.id]
        return max(RADIUS, name.width / 2 + 10), max(15.0, name.height / 2 + 6)

    def at(self, place: Place) -> Point:
        return self.centres[place[0]], MARGIN + ROW / 2 + place[1] * ROW

    def text(self, title: str) -> str:
        """The whole file."""
        lines = [self.line(at) for at in range(len(self.drawing.edges))]
        labels, bottom = self.arrow_labels(lines)
        width, height = f"{self.width:.0f}", f"{max(self.height, bottom + MARGIN):.0f}"
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" role="img" '
            f'font-family="Helvetica, Arial, sans-serif" font-size="{FONT:.0f}">',
            f"<title>{_safe(title)}</title>" if title else "<title>computation graph</title>",
            '<rect width="100%" height="100%" rx="8" fill="#ffffff"/>',
            *map(self.arrow, range(len(lines)), lines),
            *map(self.shape, self.drawing.vertices),
            *map(self.anchor_label, self.drawing.vertices),
            *labels,
            "</svg>\n",
        ])  # fmt: skip

    def line(self, at: int) -> list[Point]:
        """The corners of an arrow, from the rim of one shape to the rim of another."""
        edge = self.drawing.edges[at]
        points = [self.at(place) for place in self.layout.paths[at]]
        start = self.rim(self.vertices[edge.source], points[0], points[1], 2.0)
        end = self.rim(self.vertices[edge.target], points[-1], points[-2], 3.0)
        return [start, *points[1:-1], end]

    def rim(self, vertex: Vertex, centre: Point, toward: Point, gap: float) -> Point:
        """Where a line from the centre leaves a shape."""
        length = math.dist(centre, toward)
        x, y = (toward[0] - centre[0]) / length, (toward[1] - centre[1]) / length
        reach = RADIUS
        if vertex.role == "operator":
            half, tall = self.half_size(vertex)
            reach = min(half / max(abs(x), 1e-9), tall / max(abs(y), 1e-9))
        elif vertex.kind == "time":
            reach = _reach((x, y))
        return centre[0] + x * (reach + gap), centre[1] + y * (reach + gap)

    def arrow(self, at: int, line: list[Point]) -> str:
        edge = self.drawing.edges[at]
        colour = COLOURS[edge.kind][0]
        dashes = ' stroke-dasharray="5 4"' if edge.dashed else ""
        return (
            f'<polyline points="{_points(line)}" fill="none" stroke="{colour}" '
            f'stroke-width="1.6"{dashes}/>'
            f'<polygon points="{_points(_head(line[-2], line[-1]))}" fill="{colour}"/>'
        )

    def shape(self, vertex: Vertex) -> str:
        x, y = self.at(self.layout.places[vertex.id])
        operator, answer = vertex.role == "operator", vertex.role == "answer"
        colour, filling = COLOURS["operator" if operator else vertex.kind]
        style = f'fill="{filling}" stroke="{colour}" stroke-width="{3 if answer else 1.8}"'
        if operator:
            half, tall = self.half_size(vertex)
            drawn = (f'<rect x="{x - half:.1f}" y="{y - tall:.1f}" width="{2 * half:.1f}" '
                     f'height="{2 * tall:.1f}" rx="4" {style}/>')  # fmt: skip
        elif vertex.kind == "entity":
            drawn = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{RADIUS:.0f}" {style}/>'
        else:
            corners = [(x + dx, y + dy) for dx, dy in TRIANGLE]
            drawn = f'<polygon points="{_points(corners)}" stroke-linejoin="round" {style}/>'
        if not (operator or answer):
            return drawn
        # The middle of a triangle lies below the middle of its height.
        lower = 3 if vertex.kind == "time" and answer else 0
        return drawn + _text(self.names[vertex.id], x, y + lower, colour)

    def anchor_label(self, vertex: Vertex) -> str:
        if vertex.role != "anchor":
            return ""
        label = self.names[vertex.id]
        x, y = self.at(self.layout.places[vertex.id])
        right = x - RADIUS - SPACE / 2
        box = (right - label.width, y - label.height / 2, right, y + label.height / 2)
        return _on_white(_text(label, right, y, "#1c1c1c", "end"), box)

    def arrow_labels(self, lines: list[list[Point]]) -> tuple[list[str], float]:
        """Each relation on the last stretch of its arrow, lower where another is in the way.

        Also the lowest point of all.
        """
        taken: dict[int, list[Box]] = {}
        drawn, bottom = [], 0.0
        for at, label in enumerate(self.relations):
            if not label.lines:
                continue
            (x1, y1), (x2, y2) = lines[at][-2:]
            column = self.layout.paths[at][-2][0]
            wide, tall = label.width / 2, label.height / 2
            x = self.zones[column] + self.slots[at] * (label.width + SPACE) + wide
            y = y1 + (y2 - y1) * (x - x1) / (x2 - x1)
            others = taken.setdefault(column, [])
            while any(_meet((x - wide, y - tall, x + wide, y + tall), other) for other in others):
                y += 2.0
            others.append((x - wide, y - tall, x + wide, y + tall))
            bottom = max(bottom, y + tall)
            text = _text(label, x, y, COLOURS[self.drawing.edges[at].kind][0])
            drawn.append(_on_white(text, others[-1]))
        return drawn, bottom


def _meet(first: Box, second: Box) -> bool:
    return (first[0] < second[2] and second[0] < first[2]
            and first[1] < second[3] and second[1] < first[3])  # fmt: skip


def _reach(direction: Point) -> float:
    """How far it is from the centre of the triangle to its rim."""
    x, y = direction
    for (ax, ay), (bx, by) in zip(TRIANGLE, (*TRIANGLE[1:], TRIANGLE[0]), strict=True):
        turn = x * (by - ay) - y * (bx - ax)
        if abs(turn) < 1e-9:
            continue
        reach = (ax * (by - ay) - ay * (bx - ax)) / turn
        along = (ax * y - ay * x) / turn
        if reach > 0 and -1e-9 <= along <= 1 + 1e-9:
            return reach
    return RADIUS


def _head(start: Point, end: Point) -> list[Point]:
    """The head of an arrow."""
    length = math.dist(start, end) or 1.0
    x, y = (end[0] - start[0]) / length, (end[1] - start[1]) / length
    back = (end[0] - 9 * x, end[1] - 9 * y)
    return [end, (back[0] - 4 * y, back[1] + 4 * x), (back[0] + 4 * y, back[1] - 4 * x)]


def _points(points: Iterable[Point]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _text(label: Label, x: float, y: float, colour: str, anchor: str = "middle") -> str:
    """Lines of text around the height y."""
    first = y - (len(label.lines) - 1) * LINE / 2 + FONT * 0.35
    rows = "".join(
        f'<tspan x="{x:.1f}" y="{first + LINE * at:.1f}">{_safe(line)}</tspan>'
        for at, line in enumerate(label.lines)
    )
    whole = f"<title>{_safe(label.whole)}</title>" if "…" in "".join(label.lines) else ""
    return f'<text text-anchor="{anchor}" fill="{colour}">{whole}{rows}</text>'


def _on_white(text: str, box: Box) -> str:
    """A label on a white ground, which parts it from arrows below."""
    left, top, right, bottom = box
    return (f'<rect x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" '
            f'height="{bottom - top:.1f}" fill="#ffffff"/>{text}')  # fmt: skip


def _safe(text: str) -> str:
    return escape(readable(text))
