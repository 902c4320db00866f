"""What a run has grown: a folder beside its checkpoints, which stay untouched.

    growth/growth.json            the manifest: settings, trunk, generations, a digest of each file
    growth/NAME-DIGEST.safetensors  parts and keys of a generation; `base-...`: the base's key

Files are named by their content and the manifest is replaced as a whole: a killed writer leaves the previous
state, and going back to before a growth is dropping its entry."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from somelab.disk import atomic, guarded
from somelab.disk.checked_json import loads, sealed, unsealed
from somelab.errors import ConfigError, SomelabError, nearest, notice
from somelab.model import Decoder
from somelab.model.growth import GrownPool, GrowthSettings
from somelab.model.growth.record import BASE, Generation, check_name
from somelab.runs.folder import RunFolder

FORMAT = 1
LARGEST = 4 << 30
MANIFEST = "growth.json"


class GrowthError(SomelabError):
    """A grown pool that cannot be read or does not fit its run."""


def folder_of(run: RunFolder) -> Path:
    return run.path / "growth"


def read_manifest(run: RunFolder) -> dict[str, Any] | None:
    """The manifest; None if the run has grown nothing."""
    path = folder_of(run) / MANIFEST
    try:
        content = unsealed(loads(guarded.read_bytes(path, inside=run.path)))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise GrowthError(f"{path}: cannot be read ({error}); restore it, or remove the folder") from None
    if content.get("format") != FORMAT:
        found = content.get("format")
        raise GrowthError(f"{path}: has format {found!r}, this version reads {FORMAT}; use a newer somelab")
    return content


def write(run: RunFolder, pool: GrownPool, step: int, unfinished: Mapping[str, Any] | None = None) -> None:
    """Write a pool as it is. `step`: of the checkpoint that it grew on. `unfinished`: what is needed to go on
    with the newest generation, with its optimizer's tensors under `moments`."""
    folder = folder_of(run)
    with atomic.explained(folder):
        folder.mkdir(exist_ok=True)
    run.check_folder(folder)
    atomic.clear_leftovers(folder)
    going_on = None if unfinished is None else dict(unfinished)
    if going_on is not None:
        going_on["moments"] = _store(folder, "moments", going_on["moments"])
    content = {
        "format": FORMAT,
        "step": step,
        "trunk": pool.trunk_digest(),
        "seed": pool.seed,
        "settings": pool.settings.content(),
        "places": [place.path for place in pool.places],
        "base": _store(folder, BASE, pool.tensors(BASE)),
        "generations": [
            {**record.content(), **_store(folder, record.name, pool.tensors(record.name))}
            for record in pool.generations
        ],
        "unfinished": going_on,
    }
    atomic.write_text(folder / MANIFEST, json.dumps(sealed(content), indent=1) + "\n")
    _prune(folder, content)


def clear(run: RunFolder) -> None:
    """Drop everything that a run has grown."""
    folder = folder_of(run)
    run.check_folder(folder)
    with atomic.explained(folder):
        (folder / MANIFEST).unlink(missing_ok=True)  # first: without it, the files mean nothing
        for file in folder.glob("*.safetensors"):
            file.unlink()


def open_pool(run: RunFolder, model: Decoder, step: int) -> GrownPool | None:
    """Attach what a run has grown to its model, read from the checkpoint of `step`; None if there is nothing,
    or it grew on another checkpoint. A generation that is unfinished is left out."""
    manifest = read_manifest(run)
    if manifest is None:
        return None
    if manifest["step"] != step:
        grew = f"grew on step {manifest['step']}, and are left out at step {step}"
        notice(f"run {run.path}: its experts {grew}")
        return None
    return attach(run, model, manifest)


def attach(
    run: RunFolder, model: Decoder, manifest: dict[str, Any], *, unfinished: bool = False
) -> GrownPool:
    """The pool of a manifest on a model. `unfinished`: with the generation that is being trained."""
    path = folder_of(run) / MANIFEST
    try:
        patterns = [f"^{re.escape(place)}$" for place in manifest["places"]]
        settings = GrowthSettings.of(manifest["settings"])
        pool = GrownPool.attach(model, patterns, settings, seed=manifest["seed"])
        try:
            if pool.trunk_digest() != manifest["trunk"]:
                remedy = f"remove {folder_of(run)}, or restore the checkpoint"
                raise GrowthError(f"{path}: was grown on other weights than the run has now; {remedy}")
            pool.load_(BASE, _fetch(run, manifest["base"]))
            for entry in manifest["generations"]:
                fields = {name: value for name, value in entry.items() if name not in ("file", "digest")}
                if fields["settled"] or unfinished:
                    pool.insert_(Generation(**fields), _fetch(run, entry))
        except BaseException:
            pool.detach_()
            raise
    except (KeyError, TypeError) as error:
        raise GrowthError(f"{path}: is damaged ({error}); restore it, or remove the folder") from None
    return pool


def read_moments(run: RunFolder, manifest: dict[str, Any]) -> dict[str, Tensor]:
    """The optimizer's tensors of an unfinished growth."""
    return _fetch(run, manifest["unfinished"]["moments"])


def _store(folder: Path, name: str, tensors: Mapping[str, Tensor]) -> dict[str, str]:
    """Write tensors into a file that is named by its content, unless it is there."""
    content = save({path: tensor.detach().cpu().contiguous() for path, tensor in tensors.items()})
    digest = hashlib.sha256(content).hexdigest()
    file = folder / f"{name}-{digest[:12]}.safetensors"
    if not file.exists() or hashlib.sha256(file.read_bytes()).hexdigest() != digest:
        atomic.write_bytes(file, content)
    return {"file": file.name, "digest": digest}


def _fetch(run: RunFolder, entry: Mapping[str, Any]) -> dict[str, Tensor]:
    path = folder_of(run) / Path(str(entry["file"])).name
    remedy = "restore it, or remove the generation with --remove"
    try:
        content = guarded.read_bytes(path, limit=LARGEST, inside=run.path)
    except OSError as error:
        raise GrowthError(f"{path}: cannot be read ({error.strerror}); {remedy}") from None
    if hashlib.sha256(content).hexdigest() != entry["digest"]:
        raise GrowthError(f"{path}: is damaged (its digest differs); {remedy}")
    try:
        return load(content)
    except SafetensorError as error:
        raise GrowthError(f"{path}: is damaged ({error}); {remedy}") from None


def _prune(folder: Path, content: dict[str, Any]) -> None:
    """Remove files that the manifest does not name."""
    kept = {content["base"]["file"], *(entry["file"] for entry in content["generations"])}
    if content["unfinished"] is not None:
        kept.add(content["unfinished"]["moments"]["file"])
    for file in folder.glob("*.safetensors"):
        if file.name not in kept:
            file.unlink(missing_ok=True)


def remove(run: RunFolder, name: str) -> None:
    """Take a generation out of a run. A generation that is unfinished goes with what is needed to go on."""
    manifest, entry = _entry(run, name)
    manifest["generations"].remove(entry)
    if not entry["settled"]:
        manifest["unfinished"] = None
    _rewrite(run, manifest)


def rename(run: RunFolder, old: str, new: str) -> None:
    manifest, entry = _entry(run, old)
    _check_new(manifest, new)
    entry["name"] = new
    _rewrite(run, manifest)


def undo(run: RunFolder) -> str:
    """Go back to before the newest growth; returns its name."""
    manifest = read_manifest(run)
    if manifest is None or not manifest["generations"]:
        raise GrowthError(f"run {run.path}: has grown nothing that could be undone")
    name = manifest["generations"][-1]["name"]
    remove(run, name)
    return name


def take(run: RunFolder, other: RunFolder, name: str) -> None:
    """Copy a generation from a run with the same trunk."""
    theirs, entry = _entry(other, name)
    if not entry["settled"]:
        raise GrowthError(f"run {other.path}: {name} is unfinished; finish it with the same `somelab grow`")
    own = read_manifest(run)
    if own is None:
        raise GrowthError(
            f"run {run.path}: has grown nothing yet, so its base has no key; grow something first"
        )
    for field, what in (
        ("trunk", "another trunk"),
        ("settings", "other settings"),
        ("places", "other places"),
    ):
        if theirs[field] != own[field]:
            remedy = "take from a run with the same base checkpoint, grown with the same settings"
            raise GrowthError(f"run {other.path}: {name} was grown on {what}; {remedy}")
    _check_new(own, name)
    tensors = _fetch(other, entry)
    own["generations"].append({**entry, **_store(folder_of(run), name, tensors)})
    _rewrite(run, own)


def _entry(run: RunFolder, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    manifest = read_manifest(run)
    entries = [] if manifest is None else manifest["generations"]
    for entry in entries:
        if entry["name"] == name:
            assert manifest is not None
            return manifest, entry
    raise ConfigError(
        "generation", name, f"is not in {run.path}", nearest(name, [one["name"] for one in entries])
    )


def _check_new(manifest: dict[str, Any], name: str) -> None:
    check_name(name, [entry["name"] for entry in manifest["generations"]])


def _rewrite(run: RunFolder, manifest: dict[str, Any]) -> None:
    folder = folder_of(run)
    run.check_folder(folder)
    atomic.write_text(folder / MANIFEST, json.dumps(sealed(manifest), indent=1) + "\n")
    _prune(folder, manifest)
