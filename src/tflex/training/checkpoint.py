"""Checkpoints: safetensors for weights and optimizer, JSON for the rest, complete or not there."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from tflex.errors import DataError

WEIGHTS = "weights.safetensors"
OPTIMIZER = "optimizer.safetensors"
STATE = "state.json"
POINTER = "latest.json"


def save_weights(module: nn.Module, path: Path) -> None:
    """Weights alone, for use; written beside and moved into place."""
    draft = path.with_suffix(".draft")
    weights = module.state_dict().items()
    save_file({name: one.detach().contiguous().cpu() for name, one in weights}, draft)
    draft.replace(path)


def load_weights(module: nn.Module, path: Path) -> None:
    try:
        module.load_state_dict(load_file(path))
    except (OSError, RuntimeError, SafetensorError) as error:
        raise DataError(f"{path}: cannot load the weights: {error}") from error


def save_checkpoint(folder: Path, module: nn.Module, optimizer: torch.optim.Optimizer,
                    state: dict[str, Any]) -> None:  # fmt: skip
    """A step's weights, optimizer and state; the pointer moves when all of it is on disk."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"step-{state['step']:08d}"
    draft = folder / f".{name}"
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir()
    save_weights(module, draft / WEIGHTS)
    save_file(optimizer_tensors(module, optimizer), draft / OPTIMIZER)
    (draft / STATE).write_text(json.dumps(state, indent=1) + "\n")
    target = folder / name
    shutil.rmtree(target, ignore_errors=True)
    draft.replace(target)
    pointer = folder / f".{POINTER}"
    pointer.write_text(json.dumps({"checkpoint": name}) + "\n")
    pointer.replace(folder / POINTER)
    for old in folder.glob("step-*"):
        if old.name != name:
            shutil.rmtree(old, ignore_errors=True)


def load_checkpoint(folder: Path, module: nn.Module,
                    optimizer: torch.optim.Optimizer) -> dict[str, Any] | None:  # fmt: skip
    """Restore the latest checkpoint and give its state; None where there is none."""
    pointer = folder / POINTER
    if not pointer.is_file():
        return None
    try:
        latest = folder / json.loads(pointer.read_text())["checkpoint"]
        state: dict[str, Any] = json.loads((latest / STATE).read_text())
        load_weights(module, latest / WEIGHTS)
        restore_optimizer(module, optimizer, load_file(latest / OPTIMIZER))
    except (OSError, ValueError, KeyError) as error:
        raise DataError(f"{folder}: the checkpoint is damaged: {error}") from error
    return state


def optimizer_tensors(module: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimizer's state by parameter name."""
    found = {}
    for name, parameter in module.named_parameters():
        for key, value in optimizer.state.get(parameter, {}).items():
            found[f"{name}/{key}"] = torch.as_tensor(value).detach().contiguous().cpu()
    return found


def restore_optimizer(module: nn.Module, optimizer: torch.optim.Optimizer,
                      tensors: dict[str, Tensor]) -> None:  # fmt: skip
    for name, parameter in module.named_parameters():
        prefix = f"{name}/"
        state = {
            # Fused updates read the count of steps, too, where the weights are.
            key.removeprefix(prefix): value.to(parameter.device)
            for key, value in tensors.items()
            if key.startswith(prefix)
        }
        if state:
            optimizer.state[parameter] = state
