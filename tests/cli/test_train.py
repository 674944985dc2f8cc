"""`tflex train`: a run folder that can be opened, resumed, evaluated; clear errors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tflex.cli import run
from tflex.experiment.embedding import trained_model, trained_structures
from tflex.experiment.run import Run
from tflex.graph.world import demo_world

TINY = ["--set", "model.dim=8", "--set", "model.hidden=[8]", "--set", "batch.size=46",
        "--set", "training.validation_queries=5", "--steps", "6"]  # fmt: skip


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("train") / "world"
    demo_world().save(folder)
    command = ["queries", "sample", str(folder), "--count", "60"]
    assert run(command) == 0
    return folder


def test_train_leaves_a_run_that_opens(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    command = ["train", str(world), "--preset", "tflex-demo", "--out", str(out), *TINY, "--json"]
    assert run(command) == 0
    assert json.loads(capsys.readouterr().out)["step"] == 6
    opened = Run.open(out)
    assert opened.config.model.dim == 8 and opened.graph().content_hash
    assert opened.record["code"]["version"] and opened.record["environment"]["torch"]
    assert len(trained_structures(opened)) == 23
    assert not trained_model(opened).training
    assert run(command) == 2
    assert "holds a run already" in capsys.readouterr().err
    assert run(["train", str(world), "--out", str(out), "--resume", "--steps", "3"]) == 2
    assert run(["train", str(world), "--out", str(out), "--resume"]) == 0


def test_unknown_options_are_errors(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["train", str(world), "--out", str(tmp_path / "x"), "--set"]
    assert run([*command, "model.dimension=3"]) == 2
    assert "did you mean model.dim" in capsys.readouterr().err
    assert run([*command, "training.structures=Pee"]) == 2
    assert "did you mean" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


@pytest.mark.slow
def test_torchrun_trains_with_two_processes(world: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    command = [
        sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--master-port=29611",
        "-m", "tflex.cli", "train", str(world), "--preset", "tflex-demo", "--out", str(out), *TINY,
    ]  # fmt: skip
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = (out / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [6]
    assert done.stdout.count("best strict MRR") == 1
