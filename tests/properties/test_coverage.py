"""Operators × interpreters: each pair has a rule, a definition to expand, or a reason why not."""

from __future__ import annotations

import pytest

from tests.strategies import LIBRARY_OPERATORS
from tflex.exact.engine import EXACT
from tflex.exact.reference import REFERENCE
from tflex.models.interpreter import interpreter
from tflex.models.tflex import PRESETS, Settings, TflexModel
from tflex.query.algebra import Interpreter, Node
from tflex.query.describe import SENTENCE
from tflex.query.drawing import DRAWING
from tflex.query.formula import FORMULA
from tflex.reasoning.frequency import FREQUENCY
from tflex.reasoning.fuzzy.interpreter import FUZZY
from tflex.sampling.costs import COSTS
from tflex.sampling.grounding import GROUNDING

MODELS = [
    interpreter(TflexModel(spec, Settings(3, 2, 3, 4, (4,), 1.0))) for spec in PRESETS.values()
]
INTERPRETERS = [
    EXACT, REFERENCE, GROUNDING, COSTS, SENTENCE, FORMULA, DRAWING, FREQUENCY, FUZZY, *MODELS,
]  # fmt: skip


@pytest.mark.parametrize("table", INTERPRETERS, ids=lambda one: one.name)
@pytest.mark.parametrize("node_type", LIBRARY_OPERATORS, ids=lambda one: one.names[0])
def test_every_operator_is_known_to_every_interpreter(
    table: Interpreter, node_type: type[Node]
) -> None:
    assert table.supports(node_type) or table.reasons.get(node_type), (
        f"the {table.name} interpreter says nothing of {node_type.__name__}: give it a rule, "
        'or `unsupported(node_type, "why")`'
    )
