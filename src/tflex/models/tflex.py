"""TFLEX: a model is a set of operator modules, token tables and a distance; presets are data.

A variant replaces one part:

    NO_TANH = replace(TFLEX, name="no-tanh", operators={
        **TFLEX.operators,
        "Not": lambda s, _: Complement(Sort.ENTITY, s.dim, s.hidden, VECTOR_LOGIC, identity),
    })
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from tflex.errors import UnsupportedOperator
from tflex.models.distance import BoxDistance, FeatureDistance
from tflex.models.embedding import (
    EQUATION_2,
    PUBLISHED,
    RAW,
    Squash,
    answer_parts,
    entity_rows,
    identity,
    time_rows,
)
from tflex.models.logic import FUZZY_LOGIC, VECTOR_LOGIC, Logic
from tflex.models.operators import (
    After,
    Attention,
    Before,
    Between,
    Borrowed,
    Complement,
    Dyadic,
    Equivalent,
    Implies,
    Intersection,
    Projection,
    Union,
    Xor,
)
from tflex.query.algebra import Node, Sort


@dataclass(frozen=True)
class Settings:
    """The numbers that fix every shape of a model."""

    entities: int
    relations: int
    """Without inverses; the table has twice as many rows."""
    timestamps: int
    dim: int = 800
    hidden: tuple[int, ...] = (800, 800)
    """Widths of the hidden layers of every perceptron."""
    margin: float = 15.0
    logic_weight: float | None = None
    """w of the feature distance; none: 1/d, so that the term is the mean of q_l."""

    @property
    def token_range(self) -> float:
        """Tokens start uniform in ±(γ + 2)/d."""
        return (self.margin + 2) / self.dim


Built = Mapping[str, nn.Module]
OperatorFactory = Callable[[Settings, Built], nn.Module]
"""Makes an operator from the settings and the operators made before it."""
Activation = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class ModelSpec:
    """A model as data: factories of its parts. Operators are addressed by `operator_name`."""

    name: str
    operators: Mapping[str, OperatorFactory]
    token_squash: Squash
    distance: Callable[[Settings], nn.Module]


def operator_name(node: Node) -> str:
    """The node's type, with `Time` before it where one type serves both sorts: `TimeAnd`."""
    name = type(node).__name__
    return f"Time{name}" if node.result is None and node.sort is Sort.TIME else name


class Tokens(nn.Module):
    """The learned tables: entities [V, d], timestamps [T, d], relations and inverses [2R, 4d]."""

    def __init__(self, settings: Settings, squash: Squash) -> None:
        super().__init__()
        dim = settings.dim
        self.squash = squash
        self.entity = nn.Parameter(torch.empty(settings.entities, dim))
        self.time = nn.Parameter(torch.empty(settings.timestamps, dim))
        self.relation = nn.Parameter(torch.empty(2 * settings.relations, 4 * dim))

    def features(self, sort: Sort, ids: Tensor | None = None) -> Tensor:
        """Features [..., d] of entities or timestamps, rows of relations; all without `ids`."""
        table = {Sort.ENTITY: self.entity, Sort.TIME: self.time, Sort.RELATION: self.relation}[sort]
        chosen = table if ids is None else nn.functional.embedding(ids, table)
        return self.squash(chosen) if sort is Sort.RELATION else self.squash.feature(chosen)

    def rows(self, sort: Sort, ids: Tensor) -> Tensor:
        """Rows [n, 4d] of entities, timestamps or relations."""
        return as_rows(sort, self.features(sort, ids))


def as_rows(sort: Sort, features: Tensor) -> Tensor:
    """Tokens as queries, [n, 4d]; in the precision of autocast where it is on."""
    device = features.device.type
    if torch.is_autocast_enabled(device):
        features = features.to(torch.get_autocast_dtype(device))
    if sort is Sort.RELATION:
        return features
    return entity_rows(features) if sort is Sort.ENTITY else time_rows(features)


class TflexModel(nn.Module):
    """Token tables, operator modules and a distance, made by a specification."""

    def __init__(
        self, spec: ModelSpec, settings: Settings, generator: torch.Generator | None = None
    ) -> None:
        super().__init__()
        self.name = spec.name
        self.settings = settings
        self.tokens = Tokens(settings, spec.token_squash)
        self.operators = nn.ModuleDict()
        built: dict[str, nn.Module] = {}
        for name, factory in spec.operators.items():
            built[name] = self.operators[name] = factory(settings, built)
        self.distance = spec.distance(settings)
        self.initialise(generator)

    def initialise(self, generator: torch.Generator | None) -> None:
        """Tokens uniform in ±(γ + 2)/d; layers by Glorot's rule, without bias."""
        bound = self.settings.token_range
        for table in self.tokens.parameters():
            nn.init.uniform_(table, -bound, bound, generator=generator)
        for module in self.operators.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight, generator=generator)
                nn.init.zeros_(module.bias)

    def operator(self, name: str) -> Any:
        """The module of an operator, by `operator_name`; raises if the model has none."""
        if name not in self.operators:
            raise UnsupportedOperator(f"the model {self.name} has no operator {name}")
        return self.operators[name]

    def distances(self, rows: Tensor, sort: Sort, candidates: Tensor) -> Tensor:
        """Distances of queries [n, 4d] to token features: shared [m, d], or each its own [n, k, d].

        Either way the result is [n, m] or [n, k], in fp32.
        """
        feature, logic = answer_parts(rows, sort)
        return self.distance(feature, logic, candidates)

    def scores(self, rows: Tensor, sort: Sort, ids: Tensor | None = None) -> Tensor:
        """γ − d for all entities or timestamps, or those of `ids` ([m] or [n, k])."""
        return self.settings.margin - self.distances(rows, sort, self.tokens.features(sort, ids))


def _operators(logic: Logic, squash: Squash, negated: Activation) -> dict[str, OperatorFactory]:
    """Every operator of the paper."""

    def projection(settings: Settings, built: Built) -> nn.Module:
        return Projection(settings.dim, settings.hidden, squash)

    return {
        "Pe": projection,
        "Pt": projection,
        **_set_operators(Sort.ENTITY, "", logic, negated),
        **_set_operators(Sort.TIME, "Time", logic, negated),
        "After": lambda settings, built: After(),
        "Before": lambda settings, built: Before(),
        "Between": lambda settings, built: Between(built["TimeAnd"]),
    }


def _set_operators(
    sort: Sort, prefix: str, logic: Logic, negated: Activation
) -> dict[str, OperatorFactory]:
    """The operators on sets of one sort. The derived ones borrow the intersection's attention,
    since no training structure contains them."""

    def owning(operator: type[Dyadic]) -> OperatorFactory:
        return lambda settings, built: operator(
            sort, Attention(settings.dim, settings.hidden), logic
        )

    def borrowing(operator: type[Dyadic]) -> OperatorFactory:
        return lambda settings, built: operator(
            sort, Borrowed(built[f"{prefix}And"].attention), logic
        )

    return {
        f"{prefix}And": owning(Intersection),
        f"{prefix}Or": owning(Union),
        f"{prefix}Not": lambda settings, built: Complement(
            sort, settings.dim, settings.hidden, logic, negated
        ),
        f"{prefix}Xor": borrowing(Xor),
        f"{prefix}Implies": borrowing(Implies),
        f"{prefix}Equivalent": borrowing(Equivalent),
    }


def _feature_distance(settings: Settings) -> nn.Module:
    weight = settings.logic_weight
    return FeatureDistance(1 / settings.dim if weight is None else weight)


def _box_distance(settings: Settings) -> nn.Module:
    # Squashed features spread over about ±1: half the token range brings distances near the margin.
    return BoxDistance(settings.token_range / 2)


TFLEX = ModelSpec(
    name="tflex",
    operators=_operators(VECTOR_LOGIC, EQUATION_2, torch.tanh),
    token_squash=RAW,
    distance=_feature_distance,
)
"""The equations of the paper."""

TFLEX_PUBLISHED = ModelSpec(
    name="tflex-published",
    operators=_operators(FUZZY_LOGIC, PUBLISHED, identity),
    token_squash=PUBLISHED,
    distance=_box_distance,
)
"""What the published numbers were produced with."""

PRESETS: dict[str, ModelSpec] = {spec.name: spec for spec in (TFLEX, TFLEX_PUBLISHED)}
