"""Evaluation of any reasoner by two protocols: ranks, metrics, and tables beside the paper's."""

from tflex.evaluation.protocols import (
    PROTOCOLS,
    PUBLISHED,
    STRICT,
    Protocol,
    evaluate,
    fit_thresholds,
)
from tflex.evaluation.queries import EvaluationQueries
from tflex.evaluation.ranks import Ranks, rank, rank_among
from tflex.evaluation.reasoner import PredictsSets, PredictsSizes, Reasoner
from tflex.evaluation.report import Report, Score, StructureResult
from tflex.evaluation.sets import Sets
from tflex.query.paper import average_answers, groups, published_mrr, query_counts

__all__ = [
    "PROTOCOLS",
    "PUBLISHED",
    "STRICT",
    "EvaluationQueries",
    "PredictsSets",
    "PredictsSizes",
    "Protocol",
    "Ranks",
    "Reasoner",
    "Report",
    "Score",
    "Sets",
    "StructureResult",
    "average_answers",
    "evaluate",
    "fit_thresholds",
    "groups",
    "published_mrr",
    "query_counts",
    "rank",
    "rank_among",
]
