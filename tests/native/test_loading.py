"""Finding, building and loading the compiled kernels, and all that may stand in the way: then torch does the
work and says why."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from somelab.core.dispatch.kernels import register_, registered
from somelab.native import building, load, loading
from somelab.native.table import NativeKernels


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing built, nothing loaded, nothing switched off."""
    monkeypatch.setenv("SOMELAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))  # where libraries go if others can write that cache
    monkeypatch.delenv("SOMELAB_NATIVE")
    load.cache_clear()
    yield
    load.cache_clear()
    register_(None)


@pytest.mark.usefixtures("compiled")
def test_built_once_loaded_and_registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status = load()
    assert status.ready, status.reason
    library = Path(status.reason)
    assert library.is_relative_to(tmp_path / "cache")
    assert sorted(path.suffix for path in library.parent.iterdir()) == ["", ".json", ".so"]
    assert library.parent.stat().st_mode & 0o777 == 0o700
    assert isinstance(registered(), NativeKernels)
    load.cache_clear()

    def never(*_: object) -> None:
        raise AssertionError("it is there already")

    monkeypatch.setattr(building, "_compile", never)
    assert load() == status


@pytest.mark.usefixtures("compiled")
def test_there_is_one_openmp_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    before = building.loaded_runtimes()
    assert load().ready
    assert building.loaded_runtimes() == before
    assert building.find_runtime() in before  # other packages of this process may have brought theirs
    load.cache_clear()
    register_(None)
    seen = iter([before, before, [*before, Path("/usr/lib/libgomp.so.1")]])
    monkeypatch.setattr(building, "loaded_runtimes", lambda: next(seen))
    assert load() == (False, "the library brought a second OpenMP runtime into the process")
    assert registered() is None


def test_several_runtimes_and_none_of_them_torch_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        building, "loaded_runtimes", lambda: [Path("/a/libgomp.so.1"), Path("/b/libiomp5.so")]
    )
    assert not load().ready
    assert load().reason.startswith(
        "cannot tell which OpenMP runtime torch computes with (found: /a/libgomp.so.1, /b/libiomp5.so)"
    )


@pytest.mark.parametrize("name", ["libgomp.so.1", "libgomp-a34b3233.so.1", "libiomp5.so", "libomp.so.5"])
def test_names_of_runtimes(name: str) -> None:
    assert building.RUNTIME.search(f"/somewhere/{name}")
    assert not building.RUNTIME.search(f"/somewhere/{name.replace('lib', 'libx')}")


def test_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOMELAB_NATIVE", "0")
    assert load() == (False, "SOMELAB_NATIVE=0")
    assert registered() is None


def test_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CXX", raising=False)
    assert load() == (False, "no C++ compiler found (g++, c++, clang++)")
    load.cache_clear()
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert load() == (False, "no C++ compiler found (no-such-compiler)")


def fake_compiler(path: Path, script: str) -> str:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def test_a_compiler_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = 'test "$1" = --version && echo broken 1.0 && exit; '
    script += 'echo "kernels.cpp:7:1: error: no such luck" >&2; exit 1'
    compiler = fake_compiler(tmp_path / "broken", script)
    monkeypatch.setenv("CXX", compiler)
    assert load() == (False, f"{compiler} failed: kernels.cpp:7:1: error: no such luck")
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.suffix in (".so", ".o")], (
        "nothing half made is left"
    )


def test_a_library_that_cannot_be_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = 'for last; do :; done; test "$1" = --version && echo odd 1.0 || echo nonsense > "$last"'
    monkeypatch.setenv("CXX", fake_compiler(tmp_path / "odd", script))
    status = load()
    assert not status.ready
    assert ".so cannot be loaded" in status.reason
    assert "\n" not in status.reason


def test_a_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("SOMELAB_CACHE", str(tmp_path / "file"))
    status = load()
    assert not status.ready
    assert "SOMELAB_CACHE" in status.reason


@pytest.mark.usefixtures("compiled")
def test_wrong_numbers_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NativeKernels, "activate", lambda self, product, bias, out: out.copy_(product))
    status = load()
    assert not status.ready
    assert "computes wrong numbers" in status.reason
    assert registered() is None


@pytest.mark.usefixtures("compiled")
def test_the_key_follows_source_compiler_and_runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler, runtime = building.find_compiler(), building.find_runtime()
    origin = building._origin(compiler, runtime)
    assert building._origin(compiler, runtime) == origin
    assert {"source", "compiler", "flags", "torch"} <= set(origin)
    other = fake_compiler(tmp_path / "other", "echo other 1.0")
    changed = [building._origin(other, runtime), building._origin(compiler, Path("/elsewhere/libgomp.so.1"))]
    source = tmp_path / "kernels.cpp"
    source.write_text(building.SOURCES[0].read_text() + "\n")
    monkeypatch.setattr(building, "SOURCES", (source, *building.SOURCES[1:]))
    changed.append(building._origin(compiler, runtime))
    assert len({json.dumps(one) for one in (origin, *changed)}) == 4


@pytest.mark.usefixtures("compiled")
def test_two_processes_at_once(tmp_path: Path) -> None:
    code = "import json; from somelab.native import load; print(json.dumps(load()))"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=dict(os.environ)
        )
        for _ in range(2)
    ]
    first, second = (json.loads(process.communicate(timeout=300)[0]) for process in processes)
    assert first == second
    assert first[0] is True
    folder = tmp_path / "cache" / f"native-{os.geteuid()}"
    assert sorted(path.suffix for path in folder.iterdir() if path.name != ".lock") == [".json", ".so"]


def test_importing_builds_nothing() -> None:
    code = "import sys, somelab.native; print('torch' in sys.modules, 'subprocess' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split()[0] == "False"
    assert loading.VARIABLE == "SOMELAB_NATIVE"
