"""Checkpoints: everything that is needed to resume a run bit for bit, in tensors-only files.

    checkpoints/step-00000200/model.safetensors      trained weights, keys, usage; never a frozen pool
                              optimizer.safetensors  AdamW's moments by parameter name
                              state.json             step, clock, data position, origins of pools, digests
    checkpoints/last, checkpoints/best               links to such folders

A frozen pool is a function of its random seed, so only its origin (the key "recipe") and digest are stored;
loading redraws and verifies it."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import weakref
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from somelab.core.experts import ExpertFamily
from somelab.disk import atomic
from somelab.errors import SomelabError
from somelab.runs import RunFolder

MODEL, OPTIMIZER, STATE = "model.safetensors", "optimizer.safetensors", "state.json"


class CheckpointError(SomelabError):
    """A checkpoint that is missing, damaged or of another configuration."""


@dataclass
class RunState:
    """The state of a run, without its tensors."""

    step: int = 0
    tokens: int = 0
    """Counted tokens trained on."""
    seconds: float = 0.0
    best_val_loss: float | None = None
    best_step: int | None = None
    """The step that `best` names."""
    loader: dict[str, Any] | None = None
    journals: dict[str, int] | None = None
    """Length of each journal in bytes."""
    finished: bool = False
    """Whether the last evaluation has been made, so that the run is complete."""


def frozen_pools(model: nn.Module) -> dict[str, ExpertFamily]:
    """Pools whose weights `origin` determines."""
    pools = {name: module for name, module in model.named_modules() if isinstance(module, ExpertFamily)}
    return {name: pool for name, pool in pools.items() if pool.is_frozen}


def stored_tensors(model: nn.Module) -> dict[str, Tensor]:
    """The model's state without the pools that can be redrawn."""
    drawn = {
        f"{name}.{weight}" for name, pool in frozen_pools(model).items() for weight, _ in pool.drawn_weights()
    }
    return {name: tensor for name, tensor in model.state_dict().items() if name not in drawn}


def save(run: RunFolder, model: nn.Module, optimizer: torch.optim.Optimizer, state: RunState) -> Path:
    """Write a checkpoint, then point `last` at it, and `best` if it is the best. Until then the previous one
    stays valid."""
    name = f"step-{state.step:08d}"
    target, last = run.checkpoints / name, run.checkpoints / "last"

    def described(files: dict[str, str]) -> str:
        content = {"state": asdict(state), "pools": _pool_digests(model), "files": files}
        return json.dumps({**content, "digest": _content_digest(content)}, indent=1)

    def fill(folder: Path) -> None:
        _save_tensors(stored_tensors(model), folder / MODEL)
        _save_tensors(_optimizer_tensors(model, optimizer), folder / OPTIMIZER)
        files = {file: _file_digest(folder / file) for file in (MODEL, OPTIMIZER)}
        (folder / STATE).write_text(described(files), encoding="utf-8")
        for file in (MODEL, OPTIMIZER):
            # Safetensors writes with permissions for the owner only.
            shutil.copymode(folder / STATE, folder / file)

    # A folder of that name that `last` does not point to is left from a kill, and is replaced. One that it
    # does point to holds the same tensors, and replacing it would leave a moment without a checkpoint: only
    # the state can have changed since, by an evaluation.
    if target.exists() and last.resolve() == target.resolve():
        atomic.write_text(target / STATE, described(_read_state(run, "last")["files"]))
    else:
        atomic.write_folder(target, fill)
        atomic.point(last, name)
    if state.best_step == state.step:
        atomic.point(run.checkpoints / "best", name)
    _prune(run)
    return target


def _prune(run: RunFolder) -> None:
    """Remove all checkpoints but `last` and `best`."""
    kept = {(run.checkpoints / link).resolve().name for link in ("last", "best")}
    for folder in run.checkpoints.glob("step-*"):
        if folder.name not in kept:
            shutil.rmtree(folder, ignore_errors=True)


def go_back(run: RunFolder, which: str) -> None:
    """Make a checkpoint the last one. Later ones are dropped.

    If a kill came between the two links, `best` is set here as well."""
    name, state = (run.checkpoints / which).resolve().name, read_state(run, which)
    for link in ("last", "best") if state.best_step == state.step else ("last",):
        if (run.checkpoints / link).resolve().name != name:
            atomic.point(run.checkpoints / link, name)


def load(
    run: RunFolder, model: nn.Module, optimizer: torch.optim.Optimizer | None = None, *, which: str = "last"
) -> RunState:
    """Read a checkpoint into a model made from the run's own configuration, and verify every part of it."""
    folder, content = run.checkpoints / which, _read_state(run, which)
    for file, digest in content["files"].items():
        if not (folder / file).is_file():
            raise CheckpointError(f"{folder / file}: is missing; {_other(run, which)}")
        if _file_digest(folder / file) != digest:
            raise CheckpointError(f"{folder / file}: is damaged (its digest differs); {_other(run, which)}")
    tensors = _read_tensors(folder / MODEL)
    _check_names(folder / MODEL, tensors, stored_tensors(model))
    model.load_state_dict(tensors, strict=False)
    _verify_pools(folder, model, content["pools"])
    if optimizer is not None:
        _load_optimizer(folder / OPTIMIZER, model, optimizer)
    return RunState(**content["state"])


def read_state(run: RunFolder, which: str = "last") -> RunState:
    """The state of a run, without its tensors."""
    return RunState(**_read_state(run, which)["state"])


def is_any(run: RunFolder) -> bool:
    """Whether a checkpoint was ever written, valid or not."""
    return any(os.path.lexists(run.checkpoints / link) for link in ("last", "best"))


def _read_state(run: RunFolder, which: str) -> dict[str, Any]:
    folder = run.checkpoints / which
    if not folder.is_dir():
        raise CheckpointError(f"{folder}: there is no such checkpoint; {_other(run, which)}")
    try:
        content: Any = json.loads((folder / STATE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CheckpointError(f"{folder / STATE}: is missing; {_other(run, which)}") from None
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{folder / STATE}: is damaged ({error}); {_other(run, which)}") from None
    if not isinstance(content, dict) or content.pop("digest", None) != _content_digest(content):
        raise CheckpointError(f"{folder / STATE}: is damaged (its digest differs); {_other(run, which)}")
    return content


def _content_digest(content: dict[str, Any]) -> str:
    """Digest of the rest of state.json, which holds the digests of the tensors: any flipped bit is
    detected."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _other(run: RunFolder, which: str) -> str:
    for other in ("last", "best"):
        path = run.checkpoints / other
        if path.is_dir() and path.resolve() != (run.checkpoints / which).resolve():
            return f"use another one with --checkpoint {other}"
    return "there is no other checkpoint, train again"


def _check_names(path: Path, tensors: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    for name, tensor in expected.items():
        if name not in tensors:
            raise CheckpointError(f"{path}: has no {name}; it belongs to another configuration")
        if tensors[name].shape != tensor.shape:
            shapes = f"{tuple(tensors[name].shape)} instead of {tuple(tensor.shape)}"
            raise CheckpointError(f"{path}: {name} has shape {shapes}; it belongs to another configuration")
    if extra := sorted(tensors.keys() - expected.keys()):
        raise CheckpointError(
            f"{path}: holds {extra[0]}, which this model has not; it belongs to another configuration"
        )


_DIGESTS: weakref.WeakKeyDictionary[ExpertFamily, str] = weakref.WeakKeyDictionary()


def _pool_digests(model: nn.Module) -> dict[str, Any]:
    """Origin and digest of each frozen pool. A pool never changes, so its digest is computed once."""
    described: dict[str, Any] = {}
    for name, pool in frozen_pools(model).items():
        if pool not in _DIGESTS:
            _DIGESTS[pool] = pool.digest()
        described[name] = {"recipe": pool.origin._asdict(), "digest": _DIGESTS[pool]}
    return described


def _verify_pools(folder: Path, model: nn.Module, stored: dict[str, Any]) -> None:
    for name, described in _pool_digests(model).items():
        if name not in stored or stored[name]["digest"] != described["digest"]:
            raise CheckpointError(
                f"{folder}: the frozen experts of {name} are drawn differently here than when the run "
                f"was trained (origin {described['recipe']}); use the torch version of environment.json"
            )


def _optimizer_tensors(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    tensors: dict[str, Tensor] = {}
    for name, parameter in model.named_parameters():
        for key, value in optimizer.state.get(parameter, {}).items():
            tensors[f"{name}/{key}"] = value if isinstance(value, Tensor) else torch.tensor(value)
    return tensors


def _load_optimizer(path: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    parameters = dict(model.named_parameters())
    for name, tensor in _read_tensors(path).items():
        parameter_name, key = name.rsplit("/", 1)
        if parameter_name not in parameters:
            raise CheckpointError(
                f"{path}: holds {name}, which this model has not; it belongs to another configuration"
            )
        # AdamW keeps its step count on the CPU unless it is fused on an accelerator; the moments follow the
        # parameter.
        device = parameters[parameter_name].device
        optimizer.state[parameters[parameter_name]][key] = tensor.to(device)


def _save_tensors(tensors: dict[str, Tensor], path: Path) -> None:
    try:
        save_file(
            {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}, path
        )
    except SafetensorError as error:
        # safetensors reports a full disk as text only; as an OSError it gets the usual message.
        if found := re.search(r"os error (\d+)", str(error)):
            raise OSError(int(found[1]), os.strerror(int(found[1]))) from None
        raise


def _read_tensors(path: Path) -> dict[str, Tensor]:
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(
            f"{path}: cannot be read ({error}); use another one with --checkpoint"
        ) from None


def _file_digest(path: Path) -> str:
    state = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            state.update(block)
    return state.hexdigest()
