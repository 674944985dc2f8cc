"""Fuzzy reasoning: queries over degrees, from known facts and predictions of missing ones."""

from tflex.reasoning.fuzzy.interpreter import FuzzySettings, World
from tflex.reasoning.fuzzy.logic import LOGICS
from tflex.reasoning.fuzzy.predictions import LinkPredictions, NothingMissing
from tflex.reasoning.fuzzy.reasoner import FuzzyReasoner

__all__ = [
    "LOGICS",
    "FuzzyReasoner",
    "FuzzySettings",
    "LinkPredictions",
    "NothingMissing",
    "World",
]
