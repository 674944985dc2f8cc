"""Presets: configurations by name, with the paper's hyper-parameters per dataset."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from tflex.experiment.config import (
    AnyRun,
    BatchConfig,
    ConfigError,
    EmbeddingConfig,
    FuzzyConfig,
    LinksConfig,
    ModelConfig,
    TrainingConfig,
)
from tflex.graph.temporal_graph import TemporalGraph
from tflex.models.predictors.calendar import CalendarSettings
from tflex.models.predictors.embeddings import EmbeddingSettings
from tflex.models.predictors.existence import ExistenceSettings
from tflex.models.predictors.history import HistorySettings
from tflex.models.predictors.links import LinkSettings
from tflex.models.predictors.ranker import RankerSettings
from tflex.sampling.counts import paper_dataset

PAPER_MARGIN = {"ICEWS14": 15.0, "ICEWS05-15": 30.0, "GDELT-500": 30.0}
"""γ by dataset (the paper's table of hyper-parameters); the rest is the same for all three."""

_PAPER = {
    "tflex": EmbeddingConfig(preset="tflex"),
    "tflex-published": EmbeddingConfig(
        preset="tflex-published", model=ModelConfig(spec="tflex-published")
    ),
}

# Projections carry most of what is learned, and every other structure rests on them. `aPt` and
# `bPt` have half the calendar as answers, and eq. 5 moves their embeddings as far as tokens are
# apart, so that with a full share they pull all timestamps about.
_WEIGHTS = {"Pe": 4.0, "Pt": 4.0, "Pe2": 2.0, "Pe_Pt": 2.0, "aPt": 0.2, "bPt": 0.2}

_CPU = EmbeddingConfig(
    preset="tflex-cpu",
    model=ModelConfig(dim=400, hidden=(400, 400), margin=60.0),
    batch=BatchConfig(negatives=365, weights=_WEIGHTS),
    training=TrainingConfig(
        steps=None, minutes=90, learning_rate=1e-3, schedule="cosine", warm_up=300, clip=5.0,
        loss="softmax", precision="bf16", validate_every=2_500, checkpoint_every=500,
    ),
)  # fmt: skip
"""The best of 2 cores in 90 minutes: a softmax over shared negatives, wider starting tokens."""

_DEMO = EmbeddingConfig(
    preset="tflex-demo",
    threads=1,
    model=ModelConfig(dim=64, hidden=(128, 128), margin=24.0),
    batch=BatchConfig(size=256, negatives=300, weights=_WEIGHTS),
    training=TrainingConfig(
        steps=None, minutes=1.2, learning_rate=3e-3, schedule="cosine", warm_up=100, clip=10.0,
        loss="softmax", validate_every=500, validation_queries=40, checkpoint_every=1_000,
    ),
)  # fmt: skip
"""A small model of a small world, in a minute."""


def _alone(name: str, embedding: EmbeddingSettings) -> LinksConfig:
    """An embedding with nothing beside it, as a baseline of link prediction."""
    links = LinkSettings(embedding, history=None, ranker=None, calendar=None)
    return LinksConfig(preset=name, links=links)


_LINKS = {
    "links": LinksConfig(preset="links"),
    "links-demo": LinksConfig(
        preset="links-demo",
        links=LinkSettings(
            EmbeddingSettings(rank=64, epochs=10, batch=500),
            HistorySettings(dimension=32, hidden=32, window=32, batch=256),
            RankerSettings(hidden=32, rounds=2),
            CalendarSettings(hidden=32, facts=8_000),
            ExistenceSettings(hidden=32, sample=200_000, batch=4_000),
        ),
    ),
    "tntcomplex": _alone("tntcomplex", EmbeddingSettings()),
    "ttranse": _alone("ttranse", EmbeddingSettings("ttranse", rank=200, epochs=20)),
    "hyte": _alone("hyte", EmbeddingSettings("hyte", rank=200, epochs=20)),
}

_OPTIONS: dict[str, list[Any]] = {
    "logic": ["product", "goedel", "lukasiewicz"],
    "entity_weight": [0.5, 2.0],
    "time_weight": [0.5, 2.0],
    "beam": [4, 16],
}

_FUZZY = {
    "fuzzy": FuzzyConfig(preset="fuzzy", options=_OPTIONS),
    "fuzzy-demo": FuzzyConfig(
        preset="fuzzy-demo", links=_LINKS["links-demo"].links, validation_queries=5,
        calibration_queries=20, options={"logic": ["product", "goedel"]},
    ),
}  # fmt: skip

PRESETS: dict[str, AnyRun] = {
    **_PAPER, "tflex-cpu": _CPU, "tflex-demo": _DEMO, **_LINKS, **_FUZZY,
}  # fmt: skip


def preset(name: str, graph: TemporalGraph) -> AnyRun:
    """A preset for a graph; γ is the paper's for the paper's datasets."""
    if name not in PRESETS:
        near = get_close_matches(name, PRESETS, n=2)
        hint = f"; did you mean {', '.join(near)}?" if near else ""
        raise ConfigError(f"unknown preset {name} (there are {', '.join(PRESETS)}){hint}")
    found = PRESETS[name]
    margin = PAPER_MARGIN.get(paper_dataset(graph) or "")
    if isinstance(found, EmbeddingConfig) and name in _PAPER and margin is not None:
        model = found.model.model_copy(update={"margin": margin})
        return found.model_copy(update={"model": model})
    return found
