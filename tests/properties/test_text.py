"""Printing and parsing are inverse, and no text whatever ends in anything but a clear error."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import graphs, queries
from tflex.errors import QueryError, TflexError
from tflex.exact.engine import Engine
from tflex.graph.temporal_graph import TemporalGraph
from tflex.query.algebra import Leaf, Node, topological
from tflex.query.published import STRUCTURES
from tflex.query.text import parse, print_query


def shape(query: Node) -> list[object]:
    """A query's nodes in order, with the positions of their arguments: equal for equal DAGs."""
    order = [node for node in topological(query) if not isinstance(node, Leaf)]
    position = {id(node): at for at, node in enumerate(order)}
    return [
        (
            type(node),
            [
                position[id(one)] if id(one) in position else (type(one), vars(one))
                for one in node.arguments
            ],
        )
        for node in order
    ]


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_parse_of_print_is_identity(data: st.DataObject) -> None:
    graph = data.draw(graphs())
    query = data.draw(queries(graph))
    text = print_query(query, graph)
    again = parse(text, graph)
    assert print_query(again, graph) == text
    view = graph.view("test")
    assert Engine(view).answer(again).tolist() == Engine(view).answer(query).tolist()


@pytest.mark.parametrize("structure", STRUCTURES, ids=lambda one: one.name)
def test_structures_print_and_parse(structure) -> None:
    names = [f'"{slot.name}"' for slot in structure.parameters]
    query = structure(*[name.strip('"') for name in names])
    again = parse(print_query(query))
    assert shape(again) == shape(query)


SEEDS = [
    'T = Pt("e1", "r1", "e2"); And(Pe("e3", ~"r1", T), Not(Pe("e4", "r2", T)))',
    'Pe(And("e1", {"e2", "e3"}), "r0", "1010/1020")',
    "between(Pt(0, 1, 2), Pt(3, 4, 5))",
    "between(0, 1, 2, 3, 4, 5)",
    'TimeOr(after("1005"), TimeNot(next(Pt("e1", "r2", "e0"))))',
    "e2i(1, 2, 3, 4, 5, 6)",
    'Xor(Pe("é", "r1", 3), Implies("e1", Equivalent({"e2"}, {})))',
]
PIECES = [
    *"()[]{},;~\"'\\=.:#\n\t\0é😀 ",
    *("Pe", "And", "Not", "after", "r1", "lambda: 0", "99999999999", "-1", "**", "if", "f''"),
    *("__import__('os')", "x for x in y", "(" * 300, "~" * 200, "\ufeff"),
]


def mutated(text: str, source: random.Random) -> str:
    for _ in range(source.randint(1, 4)):
        at = source.randint(0, len(text))
        kind = source.random()
        if kind < 0.4:
            text = text[:at] + source.choice(PIECES) + text[at:]
        elif kind < 0.8:
            text = text[:at] + text[at + source.randint(1, 6) :]
        else:
            other = source.choice(SEEDS)
            text = text[:at] + other[source.randint(0, len(other)) :]
    return text


@pytest.mark.slow
def test_ten_thousand_mutated_queries_end_in_an_answer_or_a_clear_error(
    small_graph: TemporalGraph,
) -> None:
    source = random.Random(5)
    engine = Engine(small_graph.view("test"))
    answered = 0
    for _ in range(10_000):
        text = mutated(source.choice(SEEDS), source)
        try:
            query = parse(text, small_graph)
        except QueryError as error:
            assert str(error).strip()
        else:
            engine.answer(query)
            answered += 1
    assert 100 < answered < 9_000


def test_errors_point_at_the_column(small_graph: TemporalGraph) -> None:
    cases = {
        'Pe("e1", "r1", "nonsense")': 15,
        'And(Pe("e1", "r1", 1), Pt("e1", "r1", "e2"))': 23,
        'Pe("e1",\n  "rr1", 1)': 11,
        'Ned("e1")': 0,
        'TimeAnd(Pe("e1", "r1", 1))': 8,
        'é = "e1"; ö(é)': 10,
        "And(1, Pt(1, 1, 1), Pe(1, 1, 1))": 20,
    }
    for text, column in cases.items():
        with pytest.raises(TflexError) as caught:
            parse(text, small_graph)
        assert caught.value.column == column, text  # type: ignore[attr-defined]


def test_unknown_names_come_with_suggestions(small_graph: TemporalGraph) -> None:
    with pytest.raises(QueryError, match='did you mean "r1"'):
        parse('Pe("e1", "R1", 1)', small_graph)
    with pytest.raises(QueryError, match="did you mean after"):
        parse("aftr(Pt(0, 0, 0))", small_graph)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("And()", r"And takes at least 1 argument \(set\), not 0\n"),
        ("Not(1, 2)", r"takes 1 argument \("),
        ("Pe(1, 2)", r"Pe takes 3 arguments \(s, r, t\), not 2"),
        ("Pe(1, 2, x)", r"\^ column 10$"),
        ("T = Pt(0, 0, 0)\n\nPe(1, 2, x)", r"\n  Pe\(1, 2, x\)\n {11}\^ line 3, column 10$"),
        ('Pe("\\ud800", 1, 2)', "is no valid text"),
        ('Pe("\udcff", 1, 2)', "character 5 is no valid text"),
    ],
)
def test_messages(text: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        parse(text)
