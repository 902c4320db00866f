"""What is published: the content of wheel and sdist, their metadata, and a wheel that works by itself."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path
from typing import Any

import pytest
import yaml

import somelab

pytest.importorskip("hatchling", reason="the extra dev is not installed")
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A wheel and an sdist of this source."""
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (wheel,), (sdist,) = out.glob("*.whl"), out.glob("*.tar.gz")
    return wheel, sdist


def source_files() -> set[str]:
    """The package as git has it, so that nothing that lies around is expected."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "src/somelab"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    return {name.removeprefix("src/") for name in listed.stdout.splitlines() if (ROOT / name).exists()}


def test_the_wheel_has_the_package_and_nothing_else(built: tuple[Path, Path]) -> None:
    names = {name for name in zipfile.ZipFile(built[0]).namelist() if not name.endswith("/")}
    inside = {name for name in names if ".dist-info/" not in name}
    assert inside == {name for name in source_files() if not name.startswith("somelab/bench/")}
    for needed in (
        "somelab/py.typed",
        "somelab/view/static/index.html",
        "somelab/native/kernels.cpp",
        "somelab/experiments/ledger/evidence.json",
        "somelab/interop/evaluation/tasks/story.jsonl",
        "somelab/interop/evaluation/tasks/somelab_story.yaml",
    ):
        assert needed in inside
    assert built[0].stat().st_size < 6_000_000


def test_the_sdist_has_the_source_and_what_describes_it(built: tuple[Path, Path]) -> None:
    with tarfile.open(built[1]) as archive:
        names = {member.name.split("/", 1)[1] for member in archive if member.isfile()}
    outside = {name for name in names if not name.startswith("src/somelab/")}
    described = {"README.md", "CHANGELOG.md", "CITATION.cff", "LICENSE", "SECURITY.md", "constraints.txt"}
    assert outside == {*described, "pyproject.toml", "PKG-INFO", ".gitignore"}
    assert {name.removeprefix("src/") for name in names - outside} == source_files()


def test_the_metadata(built: tuple[Path, Path]) -> None:
    archive = zipfile.ZipFile(built[0])
    (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    found: Message = Parser().parsestr(archive.read(name).decode())
    assert found["Version"] == somelab.__version__
    assert found["License-Expression"] == "MIT"
    classifiers = found.get_all("Classifier") or []
    for version in ("3.10", "3.11", "3.12", "3.13"):
        assert f"Programming Language :: Python :: {version}" in classifiers
    base = [line for line in found.get_all("Requires-Dist") or [] if "extra ==" not in line]
    assert len(base) == 8, "the base install stays small"
    assert not found.get_all("Project-URL"), "give only addresses that exist, and test them here"
    from trove_classifiers import classifiers as known

    assert set(classifiers) <= known


def test_versions_agree() -> None:
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == somelab.__version__
    headings = re.findall(r"^## (\S+) \((.+)\)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0][0] == somelab.__version__
    assert all(re.fullmatch(r"unreleased|\d{4}-\d\d-\d\d", date) for _, date in headings)


def test_the_workflow_publishes_what_was_tested() -> None:
    flow: dict[Any, Any] = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())
    assert flow[True]["push"]["tags"] == ["v*"]  # YAML reads the key `on` as true
    assert flow["jobs"]["publish"]["needs"] == "install"
    assert flow["jobs"]["install"]["needs"] == "build"
    assert flow["jobs"]["publish"]["permissions"] == {"id-token": "write"}


def test_the_bill_of_materials_has_every_dependency() -> None:
    bill = runpy.run_path(str(ROOT / ".ci/sbom.py"))["bill"]()
    named = {part["name"]: part for part in bill["components"]}
    assert {"torch", "numpy", "pydantic", "pydantic-core", "tokenizers", "rich"} <= named.keys()
    assert "pytest" not in named
    assert "transformers" not in named
    assert re.fullmatch(r"pkg:pypi/torch@[\d.]+", named["torch"]["purl"])
    graph = {one["ref"]: one["dependsOn"] for one in bill["dependencies"]}
    assert set(graph) == {*named, "somelab"}
    assert all(other in graph for others in graph.values() for other in others)
    assert "torch" in graph["somelab"]


@pytest.mark.slow
def test_the_wheel_works_by_itself_in_an_empty_folder(built: tuple[Path, Path], tmp_path: Path) -> None:
    """In a fresh environment, with the dependencies of this one: train, measure, export."""
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    binaries = tmp_path / "venv/bin"
    install = [binaries / "pip", "install", "--quiet", "--no-deps", "--no-index", built[0]]
    subprocess.run(install, check=True, capture_output=True)
    empty = tmp_path / "empty"
    empty.mkdir()
    # Folders on this path are not searched for .pth files, so that an editable install is not found.
    shared = {"PYTHONPATH": sysconfig.get_paths()["purelib"], "SOMELAB_CACHE": str(tmp_path / "cache")}
    environment = {**os.environ, **shared, "OMP_NUM_THREADS": "1", "SOMELAB_NATIVE": "0"}

    def run(*command: str) -> str:
        done = subprocess.run(command, cwd=empty, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    where = run(str(binaries / "python"), "-c", "import somelab; print(somelab.__file__)")
    assert where.startswith(str(tmp_path / "venv"))
    somelab_ = str(binaries / "somelab")
    assert run(somelab_, "--version").strip() == f"somelab {somelab.__version__}"
    run(somelab_, "train", "demo", "--scale", "micro", "--steps", "5", "--out", "run")
    assert "bits_per_byte" in run(somelab_, "eval", "run", "--json")
    assert "story" in run(somelab_, "eval", "--help")
    run(somelab_, "report", "run", "--tokens", "0", "--maps", "pca", "-o", "page.html")
