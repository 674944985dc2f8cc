"""A tiny fuzzy reasoner, which is a link predictor too, on the demo world."""

from __future__ import annotations

from pathlib import Path

import pytest

from tflex.cli import run
from tflex.graph.world import demo_world

TINY = {
    "links.embedding.rank": 8, "links.embedding.epochs": 1, "links.history.epochs": 1,
    "links.ranker.epochs": 1, "links.ranker.rounds": 1, "links.calendar.epochs": 1,
    "links.calendar.facts": 300, "links.existence.epochs": 1, "links.existence.sample": 3000,
    "threads": 1,
    "validation_queries": 2, "calibration_queries": 3, "options.logic": '["goedel"]',
}  # fmt: skip


def tiny(*sections: str) -> list[str]:
    """The options of some sections, for the command line."""
    chosen = {key: value for key, value in TINY.items() if key.split(".")[0] in sections}
    return [word for key, value in chosen.items() for word in ("--set", f"{key}={value}")]


@pytest.fixture(scope="session")
def queried_world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo world with a few queries of every structure."""
    folder = tmp_path_factory.mktemp("fuzzy") / "world"
    demo_world().save(folder)
    assert run(["queries", "sample", str(folder), "--count", "25"]) == 0
    return folder


@pytest.fixture(scope="session")
def fuzzy_run(queried_world: Path) -> Path:
    """A finished run of the fuzzy reasoner."""
    out = queried_world.parent / "fuzzy"
    options = tiny("links", "threads", "validation_queries", "calibration_queries", "options")
    command = ["train", str(queried_world), "--preset", "fuzzy-demo", "--out", str(out), *options]
    assert run(command) == 0
    return out
