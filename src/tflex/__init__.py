"""Multi-hop logical questions over temporal knowledge graphs.

    graph = TemporalGraph.open("scratch/icews14")
    query = parse('Pe("China", "Make a visit", "2014-07")', graph)
    ids = Engine(graph.view("test")).answer(query)
    names = [graph.entities[id] for id in ids]

Every name below is imported on its first use, so that `import tflex` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tflex.errors import (
        DataError,
        QueryError,
        TflexError,
        UnknownName,
        UnsupportedOperator,
    )
    from tflex.exact.engine import Engine
    from tflex.graph.temporal_graph import TemporalGraph
    from tflex.query.algebra import (
        After,
        And,
        Before,
        Between,
        Equivalent,
        Implies,
        Next,
        Not,
        Or,
        Pe,
        Pt,
        Xor,
    )
    from tflex.query.published import STRUCTURES
    from tflex.query.structures import Entity, EntitySet, Relation, Time, TimeSet, structure
    from tflex.query.text import bind, parse, print_query

__all__ = [
    "STRUCTURES",
    "After",
    "And",
    "Before",
    "Between",
    "DataError",
    "Engine",
    "Entity",
    "EntitySet",
    "Equivalent",
    "Implies",
    "Next",
    "Not",
    "Or",
    "Pe",
    "Pt",
    "QueryError",
    "Relation",
    "TemporalGraph",
    "TflexError",
    "Time",
    "TimeSet",
    "UnknownName",
    "UnsupportedOperator",
    "Xor",
    "bind",
    "parse",
    "print_query",
    "structure",
]

_HOMES = {
    "tflex.errors": ("DataError", "QueryError", "TflexError", "UnknownName", "UnsupportedOperator"),
    "tflex.exact.engine": ("Engine",),
    "tflex.graph.temporal_graph": ("TemporalGraph",),
    "tflex.query.algebra": ("After", "And", "Before", "Between", "Equivalent", "Implies", "Next",
                            "Not", "Or", "Pe", "Pt", "Xor"),
    "tflex.query.published": ("STRUCTURES",),
    "tflex.query.structures": ("Entity", "EntitySet", "Relation", "Time", "TimeSet", "structure"),
    "tflex.query.text": ("bind", "parse", "print_query"),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    value = globals()[name] = getattr(import_module(home), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
