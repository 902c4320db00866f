"""What all tests share: one thread, property tests that try the same cases on every machine, and no compiled
kernels unless a test asks for them. A failing case must fail again when it is run again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, settings

from somelab.core.dispatch.kernels import register_
from somelab.native.building import CannotBuild, library
from somelab.native.loading import opened
from somelab.native.table import NativeKernels
from somelab.training.machine import amx
from tests.training.builders import write_text

os.environ["SOMELAB_NATIVE"] = (
    "0"  # for the commands that tests start, too: their numbers follow from torch alone
)
torch.set_num_threads(1)  # the sizes here are too small for more, and pytest-xdist already uses every core

settings.register_profile(
    "somelab",
    deadline=None,
    derandomize=True,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
settings.load_profile("somelab")


@pytest.fixture(autouse=True)
def small_numbers() -> Iterator[None]:
    """A verb that a test calls in this process flushes denormal numbers; the next test has them again."""
    yield
    torch.set_flush_denormal(False)


@pytest.fixture(autouse=True)
def no_width() -> None:
    """Libraries that a test imports may set the width of the terminal for the rest of the process."""
    os.environ.pop("COLUMNS", None)


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Prepared data go to a folder of this session, and never to the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOMELAB_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
        amx.is_usable()  # a broken unit would end this process, and the commands that tests start
        yield


@pytest.fixture(scope="session")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One small text for all. Do not change it."""
    return write_text(tmp_path_factory.mktemp("text") / "short.txt")


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> NativeKernels:
    """The compiled kernels, from a cache of this session. Without a compiler there are none to test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOMELAB_CACHE", str(tmp_path_factory.mktemp("native-cache")))
        try:
            return NativeKernels(opened(library().content))
        except CannotBuild as reason:
            pytest.skip(str(reason))


@pytest.fixture
def native_kernels(compiled: NativeKernels) -> Iterator[NativeKernels]:
    """The same, known to the dispatch engines for the length of a test."""
    register_(compiled)
    yield compiled
    register_(None)
