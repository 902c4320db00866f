"""Makes somelab's models known to the Auto classes of transformers, without `trust_remote_code`.

`import somelab` calls `watch`, which loads nothing: the classes are registered when transformers is imported,
or at once if it already is."""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

TRANSFORMERS = "transformers"


def watch() -> None:
    """Register now if transformers is loaded, else as soon as it is."""
    if TRANSFORMERS in sys.modules:
        _register_or_warn()
    elif not any(isinstance(finder, _Watcher) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Watcher())


def register() -> None:
    """Tell AutoConfig and AutoModelForCausalLM about model types `somelab` and `somelab_carved`."""
    from transformers import AutoConfig, AutoModelForCausalLM

    from somelab.interop.huggingface.carved.configuration import MODEL_TYPE as CARVED
    from somelab.interop.huggingface.carved.configuration import CarvedLlamaConfig
    from somelab.interop.huggingface.carved.decoding import load_with_
    from somelab.interop.huggingface.carved.modeling import CarvedLlamaForCausalLM
    from somelab.interop.huggingface.configuration import MODEL_TYPE, SomelabConfig
    from somelab.interop.huggingface.modeling import SomelabForCausalLM

    AutoConfig.register(MODEL_TYPE, SomelabConfig, exist_ok=True)
    AutoModelForCausalLM.register(SomelabConfig, SomelabForCausalLM, exist_ok=True)
    AutoConfig.register(CARVED, CarvedLlamaConfig, exist_ok=True)
    AutoModelForCausalLM.register(CarvedLlamaConfig, CarvedLlamaForCausalLM, exist_ok=True)
    load_with_(_load_kernels)


def _load_kernels() -> None:
    """Not at import: compiling takes seconds, once per machine. By name, so that a model's own copy of the
    code (`shipping`) leaves the kernels out; torch does the work there."""
    with contextlib.suppress(ModuleNotFoundError):
        import_module("somelab.native").load()


def _register_or_warn() -> None:
    try:
        register()
    except Exception as error:  # someone else's import must not fail because of us
        warnings.warn(
            f"somelab's models are not known to AutoModelForCausalLM ({' '.join(str(error).split())}); "
            "pip install --upgrade 'somelab[hf]'",
            stacklevel=2,
        )


class _Watcher(importlib.abc.MetaPathFinder):
    """Finds transformers as Python does, and has it followed by the registration."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != TRANSFORMERS:
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Followed(spec.loader)
        return spec


class _Followed(importlib.abc.Loader):
    """A loader, and what comes after it."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        # Code that asks the module for its loader, such as for resources, gets the real one.
        module.__loader__ = self.loader
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        _register_or_warn()
