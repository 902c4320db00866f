"""Checkpoints: everything that is needed to resume a run bit for bit, in tensors-only files.

    checkpoints/step-00000200/model.safetensors      trained weights, keys, usage; never a frozen pool
                              optimizer.safetensors  AdamW's moments by parameter name
                              state.json             step, clock, data position, origins of pools, digests
    checkpoints/last, checkpoints/best               links to such folders

Kept are `best`, `last` and the one before it. If `last` is damaged, the newest sound one stands in. A frozen
pool is a function of its random seed, so only its origin (the key "recipe") and digest are stored; loading
redraws and verifies it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
import shutil
import weakref
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from somelab.core.experts import ExpertFamily, frozen_pools
from somelab.disk import atomic, guarded
from somelab.disk.checked_json import sealed
from somelab.errors import notice
from somelab.runs import RunFolder
from somelab.runs import state as state_file
from somelab.runs.state import LINKS, STATE, CheckpointError, DamagedCheckpoint, RunState, Stored

__all__ = ["CheckpointError", "DamagedCheckpoint", "RunState", "Unsound"]

MODEL, OPTIMIZER = "model.safetensors", "optimizer.safetensors"
LARGEST_WEIGHT = 1e15
"""Of float32: the product of two such numbers, summed over a layer's width, is close to its limit."""


class Unsound(CheckpointError):
    """Tensors that no checkpoint may hold: training has diverged."""


def stored_tensors(model: nn.Module) -> dict[str, Tensor]:
    """The model's state without the pools that can be redrawn."""
    drawn = {
        f"{name}.{weight}" for name, pool in frozen_pools(model).items() for weight, _ in pool.drawn_weights()
    }
    return {name: tensor for name, tensor in model.state_dict().items() if name not in drawn}


def save(run: RunFolder, model: nn.Module, optimizer: torch.optim.Optimizer, state: RunState) -> Path:
    """Write a checkpoint, and point `last` at it, and `best` if it is the best. Until then the previous one
    stays valid. Raises Unsound for tensors that are not finite; then nothing is written."""
    run.check_folder(run.checkpoints)
    tensors, moments = stored_tensors(model), _optimizer_tensors(model, optimizer)
    check_sound(tensors, moments)
    name = state_file.name_of(state.step)
    target, last = run.checkpoints / name, run.checkpoints / "last"

    def described(files: dict[str, str]) -> str:
        stored = Stored(target, state, _pool_digests(model), files)
        return json.dumps(sealed(stored.content()), indent=1)

    def fill(folder: Path) -> None:
        _save_tensors(tensors, folder / MODEL)
        _save_tensors(moments, folder / OPTIMIZER)
        files = {file: _file_digest(run, folder / file) for file in (MODEL, OPTIMIZER)}
        (folder / STATE).write_text(described(files), encoding="utf-8")
        for file in (MODEL, OPTIMIZER):
            # Safetensors writes with permissions for the owner only.
            shutil.copymode(folder / STATE, folder / file)

    # A folder of that name that `last` does not point to is left from a kill, and is replaced. One that it
    # does point to holds the same tensors, and replacing it would leave a moment without a checkpoint: only
    # the state can have changed since, by an evaluation.
    best = [run.checkpoints / "best"] if state.best_step == state.step else []
    # If a kill comes between the links, resuming sets `best` (see `go_back`). A finished run is not resumed:
    # there, `best` is set before anything says that the run is finished.
    if target.exists() and last.resolve() == target.resolve():
        for link in best:
            atomic.point(link, name)
        atomic.write_text(target / STATE, described(state_file.read(run.checkpoints, "last").files))
    else:
        atomic.write_folder(target, fill)
        for link in [*best, last] if state.finished else [last, *best]:
            atomic.point(link, name)
    _prune(run, name)
    return target


def check_sound(tensors: dict[str, Tensor], moments: dict[str, Tensor]) -> None:
    """Raise Unsound for a value that is not finite, or for a weight out of all proportion: its products
    overflow, so that the next loss would not be finite."""
    for name, tensor in {**tensors, **moments}.items():
        if not tensor.is_floating_point() or not tensor.numel():
            continue
        low, high = (float(one) for one in tensor.detach().aminmax())
        if not (math.isfinite(low) and math.isfinite(high)):
            raise Unsound(f"{name} is not finite")
        if name in tensors and max(-low, high) > LARGEST_WEIGHT:
            raise Unsound(f"{name} has grown to {max(-low, high):.1e}")


def _prune(run: RunFolder, last: str) -> None:
    """Remove all checkpoints but `last`, the one before it, and `best`."""
    kept = {last, (run.checkpoints / "best").resolve().name}
    kept.update(_before(run, state_file.step_of(last))[:1])
    for name in state_file.names(run.checkpoints):
        if name not in kept:
            shutil.rmtree(run.checkpoints / name, ignore_errors=True)


def _before(run: RunFolder, step: int) -> list[str]:
    """The checkpoints of earlier steps, newest first."""
    return [name for name in state_file.names(run.checkpoints) if state_file.step_of(name) < step]


def go_back(run: RunFolder, state: RunState) -> None:
    """Make the checkpoint of a state the last one. Later ones are dropped with the next save.

    If a kill came between the two links, `best` is set here as well."""
    run.check_folder(run.checkpoints)
    name = state_file.name_of(state.step)
    for link in LINKS if state.best_step == state.step else ("last",):
        if not _leads_to(run, link, name):
            atomic.point(run.checkpoints / link, name)


def _leads_to(run: RunFolder, link: str, name: str) -> bool:
    try:
        return state_file.folder_of(run.checkpoints, link).name in (name, link)
    except CheckpointError:
        return False


def give_up(run: RunFolder, step: int, *, writes: bool) -> int | None:
    """Training from a state has diverged: if `last` holds that state, the newest sound checkpoint before it
    becomes the last one. The evaluation that made a checkpoint the best has shown that it is sound. Returns
    the step that `last` names now; None: there is no checkpoint. `writes`: whether this process may move
    `last`."""
    try:
        state = read_state(run)
    except CheckpointError:
        return None
    if state.step == step and state.best_step != step:
        for name in _before(run, step):
            with contextlib.suppress(DamagedCheckpoint):
                state = _verified(run, name).state
                if writes:
                    go_back(run, state)
                break
    return state.step


def load(
    run: RunFolder, model: nn.Module, optimizer: torch.optim.Optimizer | None = None, *, which: str = "last"
) -> RunState:
    """Read a checkpoint into a model made from the run's own configuration, and verify every part of it.

    If `last` is missing or damaged, the newest sound one is read instead, with a line on stderr."""
    stored = _sound(run, which)
    tensors = _read_tensors(stored.folder / MODEL)
    _check_names(stored.folder / MODEL, tensors, stored_tensors(model))
    model.load_state_dict(tensors, strict=False)
    _verify_pools(stored.folder, model, stored.pools)
    if optimizer is not None:
        _load_optimizer(stored.folder / OPTIMIZER, model, optimizer)
    return stored.state


def read_state(run: RunFolder, which: str = "last") -> RunState:
    """The state of a run, without its tensors. Instead of a `last` whose state cannot be read, that of the
    newest checkpoint whose state can."""
    try:
        return state_file.read(run.checkpoints, which).state
    except DamagedCheckpoint as error:
        stored = state_file.newest(run.checkpoints) if which == "last" else None
        if stored is None:
            raise _with_remedy(run, which, error) from None
        return stored.state


def is_any(run: RunFolder) -> bool:
    """Whether a checkpoint was ever written, valid or not."""
    return any(os.path.lexists(run.checkpoints / link) for link in LINKS) or bool(
        state_file.names(run.checkpoints)
    )


def _sound(run: RunFolder, which: str) -> Stored:
    """A checkpoint whose files are verified; the newest sound one in place of a damaged `last`."""
    try:
        return _verified(run, which)
    except DamagedCheckpoint as error:
        if which != "last":
            raise _with_remedy(run, which, error) from None
        for name in ("last", *state_file.names(run.checkpoints)):  # `last` may have moved on meanwhile
            with contextlib.suppress(DamagedCheckpoint):
                found = _verified(run, name)
                if name != "last":
                    notice(f"{error}; using step {found.state.step}, the newest sound checkpoint")
                return found
        raise _with_remedy(run, which, error) from None


def _verified(run: RunFolder, which: str) -> Stored:
    stored = state_file.read(run.checkpoints, which)
    if stored.files.keys() != {MODEL, OPTIMIZER}:
        raise DamagedCheckpoint(f"{stored.folder / STATE}: is damaged (it names other files)")
    for file, digest in stored.files.items():
        path = stored.folder / file
        try:
            is_same = _file_digest(run, path) == digest
        except FileNotFoundError:
            raise DamagedCheckpoint(f"{path}: is missing") from None
        except (OSError, guarded.GuardError) as error:
            raise DamagedCheckpoint(f"{path}: cannot be read ({error})") from None
        if not is_same:
            raise DamagedCheckpoint(f"{path}: is damaged (its digest differs)")
    return stored


def _with_remedy(run: RunFolder, which: str, error: CheckpointError) -> CheckpointError:
    """The same with another checkpoint to use, if one can be read."""
    for other in (*LINKS, *state_file.names(run.checkpoints)):
        with contextlib.suppress(CheckpointError):
            if other != which and _verified(run, other):
                return type(error)(f"{error}; use another one with --checkpoint {other}")
    return type(error)(f"{error}; there is no other checkpoint, train again")


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
        if name not in stored or stored[name].get("digest") != described["digest"]:
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
        parameter_name, _, key = name.rpartition("/")
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


def _file_digest(run: RunFolder, path: Path) -> str:
    state = hashlib.sha256()
    with guarded.open_read(path, inside=run.path) as file:
        while block := file.read(1 << 20):
            state.update(block)
    return state.hexdigest()
