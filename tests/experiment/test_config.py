"""Configurations: presets are complete, unknown options are errors, values are checked."""

from __future__ import annotations

import pytest

from tflex.experiment.config import ConfigError, EmbeddingConfig, changed
from tflex.experiment.presets import PRESETS, preset
from tflex.graph.world import build_world, demo_world


def test_presets_name_themselves() -> None:
    assert {name: one.preset for name, one in PRESETS.items()} == {name: name for name in PRESETS}


def test_the_papers_margin_goes_with_its_datasets() -> None:
    assert preset("tflex", build_world("icews14")).model.margin == 15
    assert preset("tflex-cpu", demo_world()).model.margin == PRESETS["tflex-cpu"].model.margin
    with pytest.raises(ConfigError, match="did you mean tflex"):
        preset("tflexx", demo_world())


def test_options_are_set_by_path() -> None:
    found = changed(
        EmbeddingConfig(preset="x"),
        ["model.dim=64", "training.loss=softmax", "batch.weights.Pe=3", "model.hidden=[8,8]"],
    )
    assert (found.model.dim, found.training.loss, found.batch.weights) == (64, "softmax", {"Pe": 3})
    assert found.model.hidden == (8, 8)


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("model.dimm=3", "unknown option model.dimm; did you mean model.dim"),
        ("modle.dim=3", "unknown option modle.dim"),
        ("model.dim=-3", r"model.dim: .*got -3"),
        ("training.loss=hinge", "training.loss"),
        ("model.dim", "key=value"),
    ],
)
def test_wrong_options_are_errors(assignment: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        changed(EmbeddingConfig(preset="x"), [assignment])
