"""Fuzzy reasoning: queries over degrees, from known facts and predictions of missing ones."""

from tflex.reasoning.fuzzy.interpreter import FuzzySettings, World
from tflex.reasoning.fuzzy.logic import LOGICS
from tflex.reasoning.fuzzy.predictions import LinkPredictions, NothingMissing
from tflex.reasoning.fuzzy.reasoner import FuzzyReasoner
from tflex.reasoning.fuzzy.sets import Cuts

__all__ = [
    "LOGICS",
    "Cuts",
    "FuzzyReasoner",
    "FuzzySettings",
    "LinkPredictions",
    "NothingMissing",
    "World",
]
