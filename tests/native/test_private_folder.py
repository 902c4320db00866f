"""Compiled kernels are loaded only if this user, and nobody else, can have written them: planted, damaged and
cut libraries are never loaded, but built again or left alone."""

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
from somelab.native.private_folder import NotPrivate, PrivateFolder

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="libraries are loaded on Linux only")


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("SOMELAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("SOMELAB_NATIVE")
    load.cache_clear()
    yield
    load.cache_clear()
    register_(None)


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """A compiler that is quick and writes the same nonsense each time; where it worked is noted."""
    made: list[Path] = []

    def compile_(compiler: str, runtime: Path, workspace: Path) -> bytes:
        made.append(workspace.resolve())
        return b"library"

    monkeypatch.setattr(building, "_compile", compile_)
    monkeypatch.setattr(building, "find_compiler", lambda: "/usr/bin/true")
    monkeypatch.setattr(building, "_run", lambda command: "true 1.0")
    return made


def native_of(root: Path) -> Path:
    return root / f"native-{os.geteuid()}"


def test_a_library_is_built_in_a_private_folder_and_kept(tmp_path: Path, builds: list[Path]) -> None:
    previous = os.umask(0)  # the mode must not depend on it
    try:
        path, content = building.library()
    finally:
        os.umask(previous)
    assert content == b"library"
    assert path.parent == native_of(tmp_path / "cache")
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert all(file.stat().st_mode & 0o077 == 0 for file in path.parent.iterdir())
    assert builds[0].parent == path.parent
    record = json.loads(path.with_suffix(".json").read_text())
    assert record["library"] == building._digest(content)
    assert building.library() == (path, content)
    assert len(builds) == 1


@pytest.mark.parametrize("damage", ["changed", "cut", "empty", "record", "no record", "writable", "link"])
def test_what_is_not_what_was_built_is_built_again(tmp_path: Path, builds: list[Path], damage: str) -> None:
    path, content = building.library()
    record = path.with_suffix(".json")
    match damage:
        case "changed":
            path.write_bytes(b"planted")
        case "cut":
            path.write_bytes(content[:3])
        case "empty":
            path.write_bytes(b"")
        case "record":
            record.write_text("{")
        case "no record":
            record.unlink()
        case "writable":
            path.chmod(0o666)
        case _:
            (tmp_path / "elsewhere.so").write_bytes(content)
            path.unlink()
            path.symlink_to(tmp_path / "elsewhere.so")
    assert building.library() == (path, b"library")
    assert len(builds) == 2
    assert path.read_bytes() == b"library"
    assert not path.is_symlink()


def plant(folder: Path) -> None:
    """A library with a record that fits it, as an attacker would leave it."""
    folder.mkdir(parents=True)
    origin = building._origin("/usr/bin/true", building.find_runtime())
    name = building._digest(json.dumps(origin, sort_keys=True).encode())[:24]
    (folder / f"{name}.so").write_bytes(b"planted")
    record = {"library": building._digest(b"planted"), "origin": origin}
    (folder / f"{name}.json").write_text(json.dumps(record))


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o755, 0o1777])
def test_a_folder_that_others_reach_is_left_for_the_home_folder(
    tmp_path: Path, builds: list[Path], mode: int
) -> None:
    folder = native_of(tmp_path / "cache")
    plant(folder)
    folder.chmod(mode)
    path, content = building.library()
    assert content == b"library", "the planted one must not be read"
    assert path.parent == native_of(tmp_path / "home" / ".cache" / "somelab")
    assert folder.stat().st_mode & 0o7777 == mode, "and it is not tidied up: what is inside would stay"


def test_a_folder_of_another_user_is_refused(
    tmp_path: Path, builds: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(native_of(tmp_path / "cache"))
    native_of(tmp_path / "cache").chmod(0o700)
    # To belong to another user from the first look on: the name is of this user, the owner is not.
    own = os.geteuid()
    native_of(tmp_path / "cache").rename(tmp_path / "cache" / f"native-{own + 1}")
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    with pytest.raises(NotPrivate, match=f"belongs to user {own}, not to {own + 1}"):
        building.library()
    assert builds == []


def test_a_file_of_another_user_in_it_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = os.geteuid()
    with PrivateFolder.opened(tmp_path / "private") as folder:
        folder.write("x", b"x")
        assert folder.read("x") == b"x"
        monkeypatch.setattr(os, "geteuid", lambda: own + 1)
        with pytest.raises(NotPrivate, match="may have been written by others"):
            folder.read("x")


@pytest.mark.parametrize("kind", ["link", "file", "fifo"])
def test_what_is_no_folder_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "private"
    if kind == "link":
        (tmp_path / "real").mkdir(mode=0o700)
        path.symlink_to(tmp_path / "real")
    elif kind == "file":
        path.write_text("")
    else:
        os.mkfifo(path)
    with pytest.raises(NotPrivate, match="is not a folder of this user"), PrivateFolder.opened(path):
        pass


def test_a_folder_that_is_swapped_is_written_and_read_all_the_same(tmp_path: Path) -> None:
    """Whoever can rename the parents puts another folder into the path, not into the descriptor."""
    path = tmp_path / "private"
    with PrivateFolder.opened(path) as folder:
        folder.write("x", b"ours")
        path.rename(tmp_path / "moved")
        path.mkdir()
        (path / "x").write_bytes(b"planted")
        assert folder.read("x") == b"ours"
        folder.write("y", b"ours")
    assert not (path / "y").exists()


def test_leftovers_of_killed_builders_are_removed(tmp_path: Path) -> None:
    with PrivateFolder.opened(tmp_path / "private") as folder:
        left = tmp_path / "private" / ".building-1-dead"
        left.mkdir()
        (left / "kernels.o").write_text("half")
        with folder.locked():
            assert not left.exists()


def test_without_a_private_folder_torch_does_the_work_and_it_is_said_once(
    tmp_path: Path, builds: list[Path], capfd: pytest.CaptureFixture[str]
) -> None:
    for root in (tmp_path / "cache", tmp_path / "home" / ".cache" / "somelab"):
        native_of(root).mkdir(parents=True)
        native_of(root).chmod(0o777)
    status = load()
    assert not status.ready
    assert registered() is None
    assert load() == status
    said = capfd.readouterr().err
    assert said.count("compiled kernels are not used: ") == 1
    assert "is open to others (mode 777, not 700)" in said
    assert said.count("\n") == 1
    assert builds == []


@pytest.mark.usefixtures("compiled")
def test_a_library_that_is_cut_after_it_was_loaded_still_works() -> None:
    """Mapped from the file, the next call would end the process with SIGBUS."""
    code = (
        "import os, torch\n"
        "from somelab.native import building, loading\n"
        "from somelab.native.table import NativeKernels\n"
        "path, content = building.library()\n"
        "kernels = NativeKernels(loading.opened(content))\n"
        "os.truncate(path, 10)\n"
        "out = torch.empty(4, 8)\n"
        "kernels.activate(torch.ones(4, 8), torch.zeros(8), out)\n"
        "assert loading._agrees(kernels)\n"
        "print(building.library().content == content)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout.strip()) == (0, "True"), done.stderr
    assert "memfd" not in done.stderr


def test_what_is_no_library_is_an_error_and_not_the_end_of_the_process(builds: list[Path]) -> None:
    with pytest.raises(OSError, match=r"."):
        loading.opened(b"\x7fELF" + b"\0" * 60)
    status = load()
    assert not status.ready
    assert "cannot be loaded" in status.reason
