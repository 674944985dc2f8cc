"""What stands where in an SVG picture, read back from its text."""

from __future__ import annotations

from xml.etree import ElementTree

from tflex.query.svg import FONT, text_width

SVG = "{http://www.w3.org/2000/svg}"
Box = tuple[float, float, float, float]


def texts_and_shapes(picture: str) -> tuple[list[tuple[str, Box]], list[Box]]:
    """Lines of text with their boxes; boxes of circles, triangles and rectangles."""
    root = ElementTree.fromstring(picture)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    texts: list[tuple[str, Box]] = []
    shapes: list[Box] = []
    for element in root:
        name, at = element.tag.removeprefix(SVG), element.attrib
        if name == "text":
            for row in element.findall(f"{SVG}tspan"):
                line = row.text or ""
                x, y, wide = float(row.attrib["x"]), float(row.attrib["y"]), text_width(line)
                left = x - wide if at["text-anchor"] == "end" else x - wide / 2
                texts.append((line, (left, y - FONT * 0.8, left + wide, y + FONT * 0.2)))
        elif name == "circle":
            x, y, r = (float(at[key]) for key in ("cx", "cy", "r"))
            shapes.append((x - r, y - r, x + r, y + r))
        elif name == "rect" and "stroke" in at:
            x, y, w, h = (float(at[key]) for key in ("x", "y", "width", "height"))
            shapes.append((x, y, x + w, y + h))
        elif name == "polygon" and "stroke" in at:
            points = [tuple(map(float, pair.split(","))) for pair in at["points"].split()]
            xs, ys = [x for x, _ in points], [y for _, y in points]
            shapes.append((min(xs), min(ys), max(xs), max(ys)))
    for left, top, right, bottom in [*(box for _, box in texts), *shapes]:
        assert left >= 0 and top >= 0 and right <= width + 1 and bottom <= height + 1
    return texts, shapes


def overlaps(picture: str) -> list[str]:
    """Texts that meet another text or cut the rim of a shape, and shapes that meet."""
    texts, shapes = texts_and_shapes(picture)
    found = [
        f"{texts[i][0]} on {texts[j][0]}"
        for i in range(len(texts))
        for j in range(i)
        if _meet(texts[i][1], texts[j][1])
    ]
    found += [
        f"{text} on a shape"
        for text, box in texts
        for shape in shapes
        if _meet(box, shape) and not _within(box, shape)
    ]
    found += [
        f"shapes {i} and {j}"
        for i in range(len(shapes))
        for j in range(i)
        if _meet(shapes[i], shapes[j])
    ]
    return found


def _meet(first: Box, second: Box) -> bool:
    return (first[0] < second[2] and second[0] < first[2]
            and first[1] < second[3] and second[1] < first[3])  # fmt: skip


def _within(inner: Box, outer: Box) -> bool:
    return (inner[0] >= outer[0] and inner[1] >= outer[1]
            and inner[2] <= outer[2] and inner[3] <= outer[3])  # fmt: skip
