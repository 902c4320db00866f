"""Imports point one way, and heavy packages are imported where they are used. Read from the source, not by
running it.

    core <- model <- training <- {adapt, experiments, interop} <- {pretrained, library} <- cli
    disk <- runs <- analysis <- view
    view never imports training
Imports under `if TYPE_CHECKING:` do not count."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1] / "src" / "somelab"
PACKAGES = [
    "disk",
    "core",
    "native",
    "config",
    "data",
    "model",
    "training",
    "runs",
    "analysis",
    "adapt",
    "experiments",
    "view",
    "interop",
    "pretrained",
    "library",
    "bench",
    "cli",
]
HEAVY = {
    *("sklearn", "umap", "transformers", "datasets", "fastapi", "matplotlib", "ray"),
    *("huggingface_hub", "tensorboard", "trackio", "wandb", "mlflow", "lm_eval", "optuna", "onnxruntime"),
}
SUBCLASSES_OF_HEAVY = {
    *("interop/huggingface/configuration.py", "interop/huggingface/modeling.py"),
    *("interop/huggingface/carved/configuration.py", "interop/huggingface/carved/modeling.py"),
}
"""Files that define subclasses of a heavy package's classes. Others import them inside functions only."""

# What each package may not reach at run time, at module level or inside a function: the packages that build
# on it.
ABOVE_MODEL = {
    *("training", "adapt", "experiments", "analysis", "view", "interop", "pretrained", "library", "bench"),
    "cli",
}
FORBIDDEN = {
    "disk": {"core", "native", "config", "data", "runs", "model", *ABOVE_MODEL},
    "core": {"disk", "native", "data", "runs", "model", *ABOVE_MODEL},
    "native": {"config", "data", "runs", "model", *ABOVE_MODEL},
    "config": {"core", "native", "data", "runs", "model", *ABOVE_MODEL},
    "model": {"native", *ABOVE_MODEL},
    "training": {"adapt", "experiments", "interop", "pretrained", "library", "bench", "cli"},
    "adapt": {"experiments", "interop", "pretrained", "library", "cli"},
    "experiments": {"interop", "pretrained", "library", "cli"},
    "runs": {"training", "analysis", "view", "interop", "pretrained", "library", "cli"},
    "analysis": {"view", "interop", "pretrained", "library", "cli"},
    "view": {"training", "interop", "pretrained", "library", "cli"},
    "interop": {"adapt", "experiments", "view", "pretrained", "library", "bench", "cli"},
    "pretrained": {"experiments", "view", "library", "bench", "cli"},
    "library": {"cli", "bench", "view", "experiments"},
}


class Import(NamedTuple):
    """One imported module. `deferred`: inside a function, so that it costs nothing until it is called."""

    module: str
    line: int
    deferred: bool


def imports_of(path: Path) -> list[Import]:
    return list(_walk(ast.parse(path.read_text()), _package_of(path), deferred=False))


def _package_of(path: Path) -> list[str]:
    return ["somelab", *path.relative_to(ROOT).parent.parts] if path.is_relative_to(ROOT) else []


def _walk(node: ast.AST, package: list[str], *, deferred: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            for other in child.orelse:
                yield from _walk(ast.Module([other], []), package, deferred=deferred)
        elif isinstance(child, ast.Import):
            for name in child.names:
                yield Import(name.name, child.lineno, deferred)
        elif isinstance(child, ast.ImportFrom):
            base = package[: len(package) - child.level + 1] if child.level else []
            source = ".".join([*base, *([child.module] if child.module else [])])
            yield Import(source, child.lineno, deferred)
            # `from somelab import core` names a package after the word import.
            for name in child.names:
                yield Import(f"{source}.{name.name}", child.lineno, deferred)
        else:
            inside = deferred or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
            yield from _walk(child, package, deferred=inside)


def files_of(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def room_of(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if parts[0] == "somelab" and len(parts) > 1 and parts[1] in PACKAGES else None


def broken(package: str, forbidden: set[str]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{found.line} imports {found.module}"
        for path in files_of(package)
        for found in imports_of(path)
        if room_of(found.module) in forbidden
    ]


@pytest.mark.parametrize("package", FORBIDDEN)
def test_packages_import_towards_the_core(package: str) -> None:
    assert not broken(package, FORBIDDEN[package])


def test_the_core_knows_torch_numpy_its_settings_and_itself() -> None:
    known = {"torch", "numpy", *sys.stdlib_module_names}
    files = files_of("core")
    assert len(files) > 20
    strangers: list[str] = []
    for path in files:
        for found in imports_of(path):
            ours = found.module == "somelab" or found.module.startswith(
                ("somelab.core", "somelab.config", "somelab.errors")
            )
            if not ours and found.module.split(".")[0] not in known:
                strangers.append(f"{path.relative_to(ROOT)}:{found.line} imports {found.module}")
    assert not strangers


def test_settings_need_no_torch() -> None:
    """`somelab --help` answers without it, so no file of the config may import torch, not even in a
    function."""
    files = files_of("config")
    assert files
    found = [
        f"{path.name}:{i.line}"
        for path in files
        for i in imports_of(path)
        if i.module.split(".")[0] == "torch"
    ]
    assert not found


def test_heavy_packages_are_imported_where_they_are_used() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{i.line} imports {i.module}"
        for path in sorted(ROOT.rglob("*.py"))
        for i in imports_of(path)
        if not i.deferred
        and i.module.split(".")[0] in HEAVY
        and path.relative_to(ROOT).as_posix() not in SUBCLASSES_OF_HEAVY
    ]
    assert not found


def test_files_with_heavy_subclasses_are_imported_where_they_are_used() -> None:
    heavy = {"somelab." + name.removesuffix(".py").replace("/", ".") for name in SUBCLASSES_OF_HEAVY}
    found = [
        f"{path.relative_to(ROOT)}:{i.line} imports {i.module}"
        for path in sorted(ROOT.rglob("*.py"))
        for i in imports_of(path)
        if not i.deferred
        and i.module in heavy
        and path.relative_to(ROOT).as_posix() not in SUBCLASSES_OF_HEAVY
    ]
    assert not found


def test_every_room_is_known_here() -> None:
    packages = {path.name for path in ROOT.iterdir() if (path / "__init__.py").exists()}
    assert packages <= set(PACKAGES), "a new package needs its place in the direction of imports"


SAMPLE = """
from __future__ import annotations
import numpy as np
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from somelab.training import loop
else:
    import umap
from somelab import cli
from ..model import decoder
from . import pairs
class Thing:
    import sklearn.cluster
    def use(self):
        from matplotlib import pyplot
try:
    import ray
except ImportError:
    ray = None
"""


def test_the_reader_of_imports_reads_them_all() -> None:
    found = {(i.module, i.deferred) for i in _walk(ast.parse(SAMPLE), ["somelab", "core"], deferred=False)}
    now = {
        "numpy",
        "umap",
        "somelab.cli",
        "somelab.model",
        "somelab.model.decoder",
        "somelab.core.pairs",
        "sklearn.cluster",
        "ray",
    }
    assert now <= {module for module, deferred in found if not deferred}
    assert ("matplotlib.pyplot", True) in found
    assert not any("training" in module for module, _ in found)
    assert room_of("somelab.model.decoder") == "model"
    assert room_of("somelab.errors") is None
