"""The numbers of the paper's tables as printed (`paper.json`), and its groups of structures."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib import resources
from typing import Any

ALIASES = {"Pe_e2i_Pe_NPe": "Pe_e2i_N", "Pe_t2i_PtPe_NPt": "Pe_t2i_N"}
"""Names of the published query files that differ from those of the published tables."""

ENTITY_GROUPS = ("avg_e", "avg_e_not", "avg_e_union")
"""The groups that a model without time can answer: AVG_e is their mean."""


def canonical_name(structure: str) -> str:
    """The name that the published tables use."""
    return ALIASES.get(structure, structure)


@cache
def _numbers() -> dict[str, Any]:
    text = resources.files("tflex.query").joinpath("paper.json").read_text("utf-8")
    numbers: dict[str, Any] = json.loads(text)
    return numbers


def groups() -> dict[str, list[str]]:
    """The seven groups with their structures, in the paper's order."""
    return dict(_numbers()["groups"])


def published_mrr(dataset: str, model: str = "TFLEX") -> dict[str, float]:
    """The printed MRR of each structure as a fraction; empty where the paper has no such table."""
    wanted = _plain(dataset)
    for name, models in _numbers()["mrr"].items():
        if _plain(name) == wanted:
            printed = models.get(model, {})
            names = [one for group in groups().values() for one in group]
            return {name: printed[name] / 100 for name in names if name in printed}
    return {}


def query_counts(dataset: str, split: str) -> dict[str, int]:
    """How many queries the paper has of each structure."""
    return _by_structure("query_counts", dataset, split)


def average_answers(dataset: str, split: str) -> dict[str, float]:
    """The mean number of answers of the paper's queries of each structure."""
    return _by_structure("average_answers", dataset, split)


def printed_links(dataset: str) -> dict[str, dict[str, float | None]]:
    """MRR and Hits@1, 3 and 10 of each method in the paper's table of link prediction."""
    wanted, keys = _plain(dataset), ("mrr", "hits1", "hits3", "hits10")
    return {
        method: {key: None if one[key] is None else one[key] / 100 for key in keys}
        for method, datasets in _numbers()["link_prediction"].items()
        for name, one in datasets.items()
        if _plain(name) == wanted and one["mrr"] is not None
    }


def _by_structure(table: str, dataset: str, split: str) -> dict[str, Any]:
    wanted = _plain(dataset)
    return {
        structure: splits[split]
        for structure, datasets in _numbers()[table].items()
        for name, splits in datasets.items()
        if _plain(name) == wanted and splits.get(split) is not None
    }


def _plain(dataset: str) -> str:
    return re.sub(r"[^a-z0-9]", "", dataset.lower())
