"""What an evaluation found: results per structure, and their means over groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from tflex.query.paper import ENTITY_GROUPS, groups, published_mrr

MEANS = ("AVG", "AVG_e")


@dataclass(frozen=True)
class Score:
    """The metrics of some queries and targets; None where a metric is undefined on them."""

    queries: int
    targets: int
    metrics: dict[str, float | None]


@dataclass(frozen=True)
class StructureResult:
    """One structure: the score over its evaluable queries, and over parts of them."""

    structure: str
    ranked: bool
    overall: Score
    skipped: int
    retractions: int
    breakdowns: dict[str, dict[str, Score]] = field(default_factory=dict)


@dataclass(frozen=True)
class Report:
    """One reasoner under one protocol on one query set, given the facts of one view."""

    reasoner: str
    protocol: str
    dataset: str
    split: str
    view: str
    minimum_queries: int
    """A structure with fewer evaluable queries stays out of the means."""
    structures: dict[str, StructureResult]

    def score(self, structure: str, breakdown: str | None = None, part: str = "") -> Score | None:
        """The score of a structure over all its queries, or over one part of a breakdown."""
        result = self.structures.get(structure)
        if result is None:
            return None
        if breakdown is None:
            return result.overall
        return result.breakdowns.get(breakdown, {}).get(part)

    def value(self, structure: str, metric: str, breakdown: str | None = None,
              part: str = "") -> float | None:  # fmt: skip
        """A metric of a structure; None where it is undefined or has too few queries to count."""
        score = self.score(structure, breakdown, part)
        if score is None or score.queries < self.minimum_queries:
            return None
        return score.metrics.get(metric)

    def values(self, metric: str, breakdown: str | None = None, part: str = "") -> dict[str, float]:
        """The metric of every ranked structure that counts."""
        found = {
            name: self.value(name, metric, breakdown, part)
            for name, result in self.structures.items()
            if result.ranked
        }
        return {name: value for name, value in found.items() if value is not None}

    def means(self, metric: str, breakdown: str | None = None, part: str = "") -> dict[str, float]:
        """The metric of every group, AVG over the groups, AVG_e over the three entity groups."""
        return group_means(self.values(metric, breakdown, part))

    def metrics(self) -> list[str]:
        """Every metric that some structure has."""
        found: dict[str, None] = {}
        for result in self.structures.values():
            found.update(dict.fromkeys(result.overall.metrics))
        return list(found)

    def paper(self, model: str = "TFLEX") -> dict[str, float]:
        """The paper's MRR for exactly the structures that count here, and its means over them."""
        printed = published_mrr(self.dataset, model)
        present = {name: printed[name] for name in self.values("mrr") if name in printed}
        return {**present, **group_means(present)}

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data; metrics are fractions in [0, 1], errors are timestamps."""
        means = {metric: self.means(metric) for metric in self.metrics()}
        return {
            **asdict(self),
            "means": {metric: found for metric, found in means.items() if found},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Report:
        structures = {
            name: StructureResult(
                one["structure"],
                one["ranked"],
                Score(**one["overall"]),
                one["skipped"],
                one["retractions"],
                {
                    breakdown: {part: Score(**score) for part, score in parts.items()}
                    for breakdown, parts in one["breakdowns"].items()
                },
            )
            for name, one in data["structures"].items()
        }
        names = ("reasoner", "protocol", "dataset", "split", "view", "minimum_queries")
        return cls(**{name: data[name] for name in names}, structures=structures)


def group_means(values: Mapping[str, float]) -> dict[str, float]:
    """The mean of each group over the structures present, then AVG and AVG_e over the groups."""
    means = {
        group: _mean(values[name] for name in members if name in values)
        for group, members in groups().items()
        if any(name in values for name in members)
    }
    entity = [means[group] for group in ENTITY_GROUPS if group in means]
    if means:
        means["AVG"] = _mean(means.values())
    if entity:
        means["AVG_e"] = _mean(entity)
    return means


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return sum(listed) / len(listed)
