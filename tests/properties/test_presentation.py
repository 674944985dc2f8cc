"""Whatever the query, it can be told and drawn."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.query.pictures import overlaps
from tests.strategies import graphs, queries
from tflex.query.describe import sentence
from tflex.query.drawing import computation_graph, mermaid
from tflex.query.svg import svg


@given(st.data())
def test_every_query_has_a_sentence(data: st.DataObject) -> None:
    graph = data.draw(graphs())
    text = sentence(data.draw(queries(graph)), graph)
    assert "Find " in text and text.endswith(".")


@settings(deadline=None)
@given(st.data())
def test_no_labels_meet_in_a_drawing(data: st.DataObject) -> None:
    graph = data.draw(graphs())
    drawing = computation_graph(data.draw(queries(graph)), graph)
    assert overlaps(svg(drawing)) == []
    lines = mermaid(drawing).splitlines()
    assert len(lines) == 1 + len(drawing.vertices) + len(drawing.edges) + 3
