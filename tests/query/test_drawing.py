"""Computation graphs: the data, Mermaid, and the picture."""

from __future__ import annotations

import json
import re

import pytest

from tests.query.pictures import overlaps, texts_and_shapes
from tests.query.test_describe import Since
from tests.strategies import graph_of
from tflex.query.algebra import Node, Pe, Pt
from tflex.query.drawing import DRAWING, Sketch, Vertex, computation_graph, mermaid
from tflex.query.labels import RelationLabel
from tflex.query.layout import layout
from tflex.query.published import STRUCTURES
from tflex.query.svg import svg, wrapped
from tflex.query.text import parse

EXAMPLE = (
    'And(Pe("China","Make a visit","2014-07-03/2014-07-31"), '
    'Not(Pe("Barack Obama","Make a visit","2014-01-01/2014-12-31")))'
)
SHARED = (
    'T = Pt("a", "r", "b"); X = Pe("c", "shared relation", T);'
    'Or(Pe(X, "first relation", after(T)), Pe(X, "second relation", next(T)),'
    ' Implies(X, Pe(Pe(X, "p", "2014"), "q", T)), And(X, X))'
)
LONG = (
    'Pe(Pe("Head of Government (Latvia)", "Express intent to engage in diplomatic cooperation '
    '(such as policy support)", "2014-08-01"), ~"Donaudampfschifffahrtsgesellschaftskapitän", '
    '{"2014-04-04", "2014-05-01/2014-06-01", "2014-07-01", "2014-08-01"})'
)


def edges(query: Node) -> list[tuple[str, str, str, bool]]:
    """Edges by what their ends are called."""
    drawing = computation_graph(query)
    name = {one.id: one.label or one.kind for one in drawing.vertices}
    return [(name[e.source], name[e.target], e.label, e.dashed) for e in drawing.edges]


def test_an_intersection_with_a_complement() -> None:
    assert edges(parse(EXAMPLE)) == [
        ("China", "entity", "Make a visit", False),
        ("2014-07-03 – 2014-07-31", "entity", "", True),
        ("Barack Obama", "entity", "Make a visit", False),
        ("2014-01-01 – 2014-12-31", "entity", "", True),
        ("entity", "Not", "", False),
        ("entity", "And", "", False),
        ("Not", "And", "", False),
        ("And", "V?", "", False),
    ]


def test_a_projection_at_the_root_is_the_answer() -> None:
    assert edges(parse('Pt("a", ~"r", "b")')) == [
        ("a", "T?", "r⁻¹", False),
        ("b", "T?", "", True),
    ]


def test_an_anchor_alone_and_an_empty_one() -> None:
    assert edges(parse('TimeNot("2014")'))[-1] == ("Not", "T?", "", False)
    assert ("∅", "V?", "r", False) in edges(parse('Pe({}, "r", "2014")'))


def test_a_shared_part_is_one_vertex() -> None:
    drawing = computation_graph(parse('T = Pt("a", "r", "b"); And(after(T), next(T))'))
    assert len([one for one in drawing.vertices if one.role == "set"]) == 1


def test_many_members_are_counted() -> None:
    drawing = computation_graph(parse('Pe({"a", "b", "c", "d", "e"}, "r", "1")'))
    label = drawing.vertices[0].label
    assert label.endswith("2 more") and label.count(",") == 3


def test_names_come_from_the_graph() -> None:
    graph = graph_of([(0, 0, 1, 0, 0, 0)], 2, 1, 3)
    drawing = computation_graph(Pe(0, 1, 2), graph)
    assert [one.label for one in drawing.vertices] == ["China", "2014-01-05", "V?"]
    assert drawing.edges[0].label == "Make a visit⁻¹"


def test_the_data_is_json() -> None:
    data = computation_graph(parse(EXAMPLE)).as_dict()
    assert json.loads(json.dumps(data)) == data
    assert data["vertices"][0] == {
        "id": "n1", "kind": "entity", "role": "anchor", "label": "China",
    }  # fmt: skip


def test_mermaid() -> None:
    assert mermaid(computation_graph(parse('after(Pt("a", "r", "b"))'))).splitlines()[:10] == [
        "flowchart LR",
        '  n1(("a")):::entity',
        '  n2(("b")):::entity',
        '  n3[/" "\\]:::time',
        '  n4["After"]:::operator',
        '  answer[/"T?"\\]:::time',
        '  n1 -->|"r"| n3',
        "  n2 -.-> n3",
        "  n3 --> n4",
        "  n4 --> answer",
    ]


def test_mermaid_reads_no_name_as_its_own() -> None:
    text = mermaid(computation_graph(Pe('"] --> x; %%{', "|`*_#", "1. May")))
    labels = re.findall(r'"([^"]*)"', text)
    assert "#34;#93; --#62; x#59; #37;#37;#123;" in labels and "1#46; May" in labels
    assert "#124;#96;#42;#95;#35;" in labels


@pytest.mark.parametrize("structure", STRUCTURES, ids=lambda one: one.name)
def test_nothing_overlaps_in_a_structure(structure) -> None:  # type: ignore[no-untyped-def]
    picture = svg(computation_graph(structure.body), structure.name)
    texts, _ = texts_and_shapes(picture)
    assert {slot.name for slot in structure.parameters} < {text for text, _ in texts}
    assert overlaps(picture) == []


@pytest.mark.parametrize("query", [EXAMPLE, SHARED, LONG])
def test_nothing_overlaps_in_a_query(query: str) -> None:
    assert overlaps(svg(computation_graph(parse(query)))) == []


def test_arrows_lead_to_the_right() -> None:
    for query in (EXAMPLE, SHARED, LONG):
        for path in layout(computation_graph(parse(query))).paths:
            assert [column for column, _ in path] == list(range(path[0][0], path[-1][0] + 1))


def test_long_names_are_cut_and_kept_whole_for_a_pointer() -> None:
    picture = svg(computation_graph(parse(LONG)))
    assert (
        "<title>Express intent to engage in diplomatic cooperation (such as policy support)"
        in picture
    )
    assert wrapped("short name").lines == ("short name",)
    assert wrapped("w" * 100).lines[0].endswith("…")


def test_any_name_gives_well_formed_xml() -> None:
    name = "".join(map(chr, range(0x300))) + "\ud800\ufffe\U0001f600</text>"
    texts_and_shapes(svg(computation_graph(Pe(name, name, name)), name))
    svg(computation_graph(Pe(name, name, name)), name).encode("utf-8")


def test_a_deep_query_can_be_drawn() -> None:
    query = parse('Pe("a", "r", "1")')
    for _ in range(3000):
        query = Pe(query, "r", "1")
    assert svg(computation_graph(query)).count("<circle") == 3002


def test_an_operator_without_a_drawing_is_a_rectangle() -> None:
    assert ("since", "V?", "", True) in edges(Pe("a", "r", Since(Pt("b", "s", "c"))))


class Era(Since):
    names = ("era",)


def test_an_operator_registers_its_drawing() -> None:
    @DRAWING.rule(Era)
    def era(sketch: Sketch, node: Era, times: Vertex | RelationLabel) -> Vertex:
        return sketch.operator(node, (times,), name="⇥")

    assert edges(Era(Pt("b", "s", "c")))[-1] == ("⇥", "T?", "", False)
