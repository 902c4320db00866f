"""How a process that computes is set up. Freed memory stays in it, counted in page faults, in processes of
their own, with the setting and without; numbers too small to matter are zero; and every verb that computes
does both."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from somelab.cli.main import main
from somelab.errors import SomelabError
from somelab.training.machine import process
from somelab.training.machine.allocator import _is_glibc, is_decided
from somelab.training.machine.waiting import DECIDING, wait_shortly_

ROUNDS, BLOCK = 8, 64 << 20
PAGES = BLOCK // 4096
COUNT = f"""
import ctypes, json, resource
from somelab.training.machine.allocator import keep_freed_memory
done = KEEP and keep_freed_memory()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range({ROUNDS}):
    block = libc.malloc(ctypes.c_size_t({BLOCK}))
    ctypes.memset(ctypes.c_void_p(block), 1, {BLOCK})
    libc.free(block)
print(json.dumps([done, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before]))
"""

glibc = pytest.mark.skipif(not _is_glibc(), reason="malloc is another one here")


def count(keep: bool, **variables: str) -> tuple[bool, int]:
    """Whether it was set, and the page faults of eight times 64 MB."""
    environment = {name: value for name, value in os.environ.items() if not is_decided({name: value})}
    command = [sys.executable, "-c", COUNT.replace("KEEP", str(keep))]
    done = subprocess.run(
        command, env={**environment, **variables}, capture_output=True, text=True, check=True
    )
    applied, faults = json.loads(done.stdout)
    return applied, faults


@glibc
def test_a_block_that_is_freed_and_taken_again_costs_no_new_pages() -> None:
    applied, faults = count(keep=True)
    _, plain = count(keep=False)
    assert applied
    assert faults < 1.5 * PAGES, "touched once, and kept"
    assert plain > (ROUNDS - 1) * PAGES, (
        "without the setting every round touches fresh pages: the test can tell"
    )


@glibc
def test_what_the_user_has_set_stays() -> None:
    applied, faults = count(keep=True, MALLOC_MMAP_THRESHOLD_="131072")
    assert not applied
    assert faults > (ROUNDS - 1) * PAGES


@pytest.mark.parametrize(
    ("environment", "decided"),
    [
        ({}, False),
        ({"LD_PRELOAD": "/usr/lib/libgomp.so"}, False),
        ({"LD_PRELOAD": "/usr/lib/libjemalloc.so.2"}, True),
        ({"LD_PRELOAD": "/opt/libTCMalloc.so /x.so"}, True),
        ({"MALLOC_ARENA_MAX": "2"}, True),
        ({"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}, True),
        ({"GLIBC_TUNABLES": "glibc.pthread.rseq=0"}, False),
    ],
)
def test_who_has_decided(environment: dict[str, str], decided: bool) -> None:
    assert is_decided(environment) is decided


SMALL = """
import torch
from somelab.training.machine.process import prepare_process
if PREPARE:
    prepare_process()
least = torch.full((200_000,), torch.finfo(torch.float32).tiny)
print(int((least / 2).count_nonzero()))
"""


@pytest.mark.parametrize(("prepare", "nonzero"), [(True, 0), (False, 200_000)])
def test_denormal_numbers_are_zero_in_every_thread(prepare: bool, nonzero: int) -> None:
    command = [sys.executable, "-c", SMALL.replace("PREPARE", str(prepare))]
    done = subprocess.run(
        command, env={**os.environ, "OMP_NUM_THREADS": "2"}, capture_output=True, text=True, check=True
    )
    assert int(done.stdout) == nonzero


VERBS = [
    "train",
    "resume nowhere",
    "eval nowhere",
    "bench layer",
    "generate nowhere",
    "adapt nowhere --data builtin",
]


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_that_computes_does_it(
    verb: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def reached() -> None:
        raise SomelabError("the process was prepared")

    monkeypatch.setattr(process, "prepare_process", reached)
    assert main(verb.split()) == 2
    assert "the process was prepared" in capsys.readouterr().err


WAITS = "from somelab.cli.main import main; main(['presets']); import torch; torch.ones(1)"


@pytest.mark.parametrize(
    ("variables", "rounds"), [({}, 1000), ({"OMP_WAIT_POLICY": "PASSIVE"}, 0), ({"GOMP_SPINCOUNT": "5"}, 5)]
)
def test_the_command_lets_threads_wait_shortly_unless_the_user_has_decided(
    variables: dict[str, str], rounds: int
) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in DECIDING}
    done = subprocess.run(
        [sys.executable, "-c", WAITS],
        env={**environment, **variables, "OMP_DISPLAY_ENV": "VERBOSE"},
        capture_output=True,
        text=True,
        check=True,
    )
    if "GOMP_SPINCOUNT" not in done.stderr:
        pytest.skip("this OpenMP runtime is not that of GNU")
    # What the runtime itself has read, when torch was imported.
    assert f"GOMP_SPINCOUNT = '{rounds}'" in done.stderr


def test_a_process_that_has_torch_is_left_alone() -> None:
    assert "torch" in sys.modules
    environment: dict[str, str] = {}
    assert not wait_shortly_(environment)
    assert environment == {}
