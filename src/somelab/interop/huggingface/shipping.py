"""The code of an exported model, for machines without somelab: `trust_remote_code=True` then is enough.

Two files: `modeling_somelab.py`, which transformers imports, and `somelab_source.py`, which holds the source
of the modules that the model needs, as text that can be read and compared with a release."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import somelab

ENTRY = "somelab.interop.huggingface.modeling"
CARVED_ENTRY = "somelab.interop.huggingface.carved.modeling"
MODELING, SOURCE = "modeling_somelab.py", "somelab_source.py"
AUTO_MAP = {
    "AutoConfig": "modeling_somelab.SomelabConfig",
    "AutoModelForCausalLM": "modeling_somelab.SomelabForCausalLM",
}
MODELING_TEXT = '''\
"""The model class of this folder. An installed somelab is used; without one, the copy in somelab_source.py.
It also needs the package pydantic (pip install pydantic)."""

import importlib
import importlib.util

import pydantic  # noqa: F401  (here, so that transformers names it if it is missing)

from .somelab_source import install

if importlib.util.find_spec("somelab") is None:
    install()
try:
    SomelabConfig = importlib.import_module("somelab.interop.huggingface.configuration").SomelabConfig
    SomelabForCausalLM = importlib.import_module("somelab.interop.huggingface.modeling").SomelabForCausalLM
except ModuleNotFoundError as error:
    if not (error.name or "").startswith("somelab"):
        raise
    raise ImportError(
        "the installed somelab is too old for this model; pip install --upgrade 'somelab[hf]'"
    ) from error
'''
CARVED_MODELING_TEXT = '''\
"""The model class of this folder. An installed somelab is used; without one, the copy beside it."""

import importlib
import importlib.util

from .somelab_source import install

if importlib.util.find_spec("somelab") is None:
    install()
try:
    CarvedLlamaConfig = importlib.import_module(
        "somelab.interop.huggingface.carved.configuration"
    ).CarvedLlamaConfig
    CarvedLlamaForCausalLM = importlib.import_module(
        "somelab.interop.huggingface.carved.modeling"
    ).CarvedLlamaForCausalLM
except ModuleNotFoundError as error:
    if not (error.name or "").startswith("somelab"):
        raise
    raise ImportError(
        "the installed somelab is too old for this model; pip install --upgrade 'somelab[hf]'"
    ) from error
'''
SOURCE_HEAD = '''\
"""The modules of somelab {version} that this model needs, as text. `install` makes them importable where
somelab is not installed. MIT licence."""

import importlib.abc
import importlib.util
import sys


class _Shipped(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    def find_spec(self, fullname, path=None, target=None):
        if fullname not in SOURCES:
            return None
        return importlib.util.spec_from_loader(fullname, self, is_package=self.is_package(fullname))

    def is_package(self, fullname):
        return any(name.startswith(fullname + ".") for name in SOURCES)

    def get_source(self, fullname):
        return SOURCES[fullname]


def install():
    if not any(type(finder).__name__ == "_Shipped" for finder in sys.meta_path):
        sys.meta_path.append(_Shipped())


SOURCES = {{}}
'''


def write_code(folder: Path) -> None:
    """Write both files into the folder of an exported model."""
    _write(folder, MODELING_TEXT, ENTRY)


def write_carved_code(folder: Path) -> None:
    """The same for a carved model."""
    _write(folder, CARVED_MODELING_TEXT, CARVED_ENTRY)


def _write(folder: Path, modeling: str, entry: str) -> None:
    (folder / MODELING).write_text(modeling, encoding="utf-8")
    parts = [SOURCE_HEAD.format(version=somelab.__version__)]
    for name, text in sorted(sources(entry).items()):
        plain = text.replace("\\", "\\\\").replace("'''", "\\'\\'\\'")
        parts.append(f"\nSOURCES[{name!r}] = '''\\\n{plain}'''\n")
    (folder / SOURCE).write_text("".join(parts), encoding="utf-8")


def sources(entry: str = ENTRY) -> dict[str, str]:
    """The source of a module and of everything of somelab that it imports, by name."""
    found: dict[str, str] = {}
    pending = [entry]
    while pending:
        name = pending.pop()
        if name in found or (text := _source(name)) is None:
            continue
        found[name] = text
        pending += [".".join(name.split(".")[:end]) for end in range(1, name.count(".") + 1)]
        pending += _imported(ast.parse(text))
    return found


def _source(name: str) -> str | None:
    """The source of a module; None if there is no such module."""
    try:
        spec = find_spec(name)
    except ModuleNotFoundError:
        return None
    return None if spec is None or spec.loader is None else spec.loader.get_source(name)  # pyright: ignore


def _imported(node: ast.AST) -> Iterator[str]:
    """The modules of somelab that a source imports, wherever it does. Type checkers' imports do not count."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        if isinstance(child, ast.Import):
            yield from (one.name for one in child.names if one.name.split(".")[0] == "somelab")
        elif isinstance(child, ast.ImportFrom) and (child.module or "").split(".")[0] == "somelab":
            assert child.module is not None
            yield child.module
            yield from (f"{child.module}.{one.name}" for one in child.names)
        else:
            yield from _imported(child)
