"""Checkpoints: all that a run needs to go on as if nothing had happened, in tensors-only files.

    checkpoints/step-00000200/model.safetensors      trained weights, keys, usage; never a frozen pool
                              optimizer.safetensors  AdamW's moments by parameter name
                              state.json             step, clock, data position, pool recipes and digests, file digests
    checkpoints/last, checkpoints/best               links to such folders

A frozen pool is a function of its seed, so its recipe and digest stand in for it; loading rebuilds and verifies."""

from __future__ import annotations

import hashlib
import json
import shutil
import weakref
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from somelab.core.experts import ExpertPool
from somelab.errors import SomelabError
from somelab.runs import RunFolder, atomic

MODEL, OPTIMIZER, STATE = "model.safetensors", "optimizer.safetensors", "state.json"


class CheckpointError(SomelabError):
    """A checkpoint that cannot be trusted."""


@dataclass
class RunState:
    """Where a run stands, beside its tensors."""

    step: int = 0
    tokens: int = 0
    """Counted tokens trained on."""
    seconds: float = 0.0
    best_val_loss: float | None = None
    loader: dict[str, Any] | None = None
    journals: dict[str, int] | None = None
    """Length of each journal in bytes."""


def frozen_pools(model: nn.Module) -> dict[str, ExpertPool]:
    """Pools whose weights follow from a recipe."""
    pools = {name: module for name, module in model.named_modules() if isinstance(module, ExpertPool)}
    return {name: pool for name, pool in pools.items() if not pool.down_EFD.requires_grad}


def stored_tensors(model: nn.Module) -> dict[str, Tensor]:
    """The model's state without what can be drawn again."""
    drawn = {f"{name}.{weight}" for name, pool in frozen_pools(model).items() for weight, _ in pool.drawn_weights()}
    return {name: tensor for name, tensor in model.state_dict().items() if name not in drawn}


def save(run: RunFolder, model: nn.Module, optimizer: torch.optim.Optimizer, state: RunState, *, best: bool = False) -> Path:
    """Write a checkpoint and let `last` (and `best`) name it. Until then, the previous one stays what it was."""
    name = f"step-{state.step:08d}"
    digests = _pool_digests(model)

    def fill(folder: Path) -> None:
        _save_tensors(stored_tensors(model), folder / MODEL)
        _save_tensors(_optimizer_tensors(model, optimizer), folder / OPTIMIZER)
        files = {file: _file_digest(folder / file) for file in (MODEL, OPTIMIZER)}
        content = {"state": asdict(state), "pools": digests, "files": files}
        (folder / STATE).write_text(json.dumps(content, indent=1), encoding="utf-8")

    target, last = run.checkpoints / name, run.checkpoints / "last"
    # A folder of that name that `last` does not point to is the leftover of a kill, and is replaced. The one that it
    # does point to is this very step, written a moment ago: replacing it would leave an instant without a checkpoint.
    if not target.exists() or last.resolve() != target.resolve():
        atomic.write_folder(target, fill)
        atomic.point(last, name)
    if best:
        atomic.point(run.checkpoints / "best", name)
    _prune(run)
    return target


def _prune(run: RunFolder) -> None:
    """Keep what `last` and `best` name."""
    kept = {(run.checkpoints / link).resolve().name for link in ("last", "best")}
    for folder in run.checkpoints.glob("step-*"):
        if folder.name not in kept:
            shutil.rmtree(folder, ignore_errors=True)


def load(run: RunFolder, model: nn.Module, optimizer: torch.optim.Optimizer | None = None, *, which: str = "last") -> RunState:
    """Read a checkpoint into a model made from the run's own configuration, and verify every part of it."""
    folder = run.checkpoints / which
    if not folder.exists():
        raise CheckpointError(f"{folder}: there is no such checkpoint; train for longer, or name another with --checkpoint")
    content = _read_state(folder)
    for file, digest in content["files"].items():
        if not (folder / file).exists() or _file_digest(folder / file) != digest:
            raise CheckpointError(f"{folder / file}: is damaged (its digest differs); {_other(run, which)}")
    tensors = _read_tensors(folder / MODEL)
    expected = stored_tensors(model)
    _check_names(folder / MODEL, tensors, expected)
    model.load_state_dict(tensors, strict=False)
    _verify_pools(folder, model, content["pools"])
    if optimizer is not None:
        _load_optimizer(model, optimizer, _read_tensors(folder / OPTIMIZER))
    return RunState(**content["state"])


def _read_state(folder: Path) -> dict[str, Any]:
    try:
        content = json.loads((folder / STATE).read_text(encoding="utf-8"))
        if not isinstance(content, dict) or not {"state", "pools", "files"} <= content.keys():
            raise ValueError("it is not the state of a somelab run")
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{folder / STATE}: cannot be read ({error}); use another checkpoint with --checkpoint") from None
    return content


def _other(run: RunFolder, which: str) -> str:
    for other in ("best", "last"):
        path = run.checkpoints / other
        if path.exists() and path.resolve() != (run.checkpoints / which).resolve():
            return f"--checkpoint {other} names an older one"
    return "no other checkpoint is left, train again"


def _check_names(path: Path, tensors: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    for name, tensor in expected.items():
        if name not in tensors:
            raise CheckpointError(f"{path}: has no {name}; it belongs to another configuration")
        if tensors[name].shape != tensor.shape:
            shapes = f"{tuple(tensors[name].shape)} instead of {tuple(tensor.shape)}"
            raise CheckpointError(f"{path}: {name} has shape {shapes}; it belongs to another configuration")
    if extra := sorted(tensors.keys() - expected.keys()):
        raise CheckpointError(f"{path}: holds {extra[0]}, which this model has not; it belongs to another configuration")


_DIGESTS: weakref.WeakKeyDictionary[ExpertPool, str] = weakref.WeakKeyDictionary()


def _pool_digests(model: nn.Module) -> dict[str, Any]:
    """Recipe and digest of each frozen pool. A pool never changes, so its digest is taken once and kept."""
    described: dict[str, Any] = {}
    for name, pool in frozen_pools(model).items():
        if pool not in _DIGESTS:
            _DIGESTS[pool] = pool.digest()
        described[name] = {"recipe": pool.recipe._asdict(), "digest": _DIGESTS[pool]}
    return described


def _verify_pools(folder: Path, model: nn.Module, stored: dict[str, Any]) -> None:
    for name, described in _pool_digests(model).items():
        if name not in stored or stored[name]["digest"] != described["digest"]:
            raise CheckpointError(
                f"{folder}: the frozen experts of {name} come out differently here than when they were trained with "
                f"(recipe {described['recipe']}); use the torch version of environment.json"
            )


def _optimizer_tensors(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    tensors: dict[str, Tensor] = {}
    for name, parameter in model.named_parameters():
        for key, value in optimizer.state.get(parameter, {}).items():
            tensors[f"{name}/{key}"] = value if isinstance(value, Tensor) else torch.tensor(value)
    return tensors


def _load_optimizer(model: nn.Module, optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    parameters = dict(model.named_parameters())
    for name, tensor in tensors.items():
        parameter_name, key = name.rsplit("/", 1)
        # AdamW keeps its step count on the CPU unless it is fused on an accelerator; the moments follow the parameter.
        device = parameters[parameter_name].device
        optimizer.state[parameters[parameter_name]][key] = tensor.to(device)


def _save_tensors(tensors: dict[str, Tensor], path: Path) -> None:
    save_file({name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}, path)


def _read_tensors(path: Path) -> dict[str, Tensor]:
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{path}: cannot be read ({error}); use another checkpoint with --checkpoint") from None


def _file_digest(path: Path) -> str:
    state = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            state.update(block)
    return state.hexdigest()
