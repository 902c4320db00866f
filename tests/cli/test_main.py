"""The entry point: help without heavy imports, verbs, exit codes, pipes that close."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from somelab import __version__
from somelab.cli import main as command
from somelab.cli.main import VERBS, main
from somelab.cli.overrides import EPILOGUE

HEAVY = ("torch", "pydantic", "tyro", "rich", "yaml", "numpy")


@pytest.mark.parametrize("argv", [[], ["--help"], ["-h"], ["help"], ["--version"]])
def test_the_overview_imports_nothing_heavy(argv: list[str]) -> None:
    program = (
        "import sys\n"
        "from somelab.cli.main import main\n"
        f"code = main({argv!r})\n"
        f"heavy = [name for name in {HEAVY!r} if name in sys.modules]\n"
        "sys.exit(f'imported {heavy}' if heavy else code)\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "somelab" in result.stdout


@pytest.mark.parametrize(
    "argv", [["evidence", "--list"], ["sweep", "--list"], ["presets"], ["params", "--all"]]
)
def test_lists_do_not_import_torch(argv: list[str], tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from somelab.cli.main import main\n"
        f"code = main({argv!r})\n"
        "sys.exit('torch' in sys.modules or code)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert result.returncode == 0, result.stderr
    assert len(result.stdout.splitlines()) > 5


@pytest.mark.parametrize("verb", [*VERBS])
def test_help_of_a_verb_does_not_import_torch(verb: str) -> None:
    program = (
        "import sys\n"
        "from somelab.cli.main import main\n"
        f"main(['{verb}', '--help'])\n"
        "sys.exit('torch' in sys.modules)\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(f"usage: somelab {verb}")


def test_the_overview_names_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    printed = capsys.readouterr().out
    for name, verb in VERBS.items():
        assert f"  {name} " in printed
        assert verb.help in printed
    assert max(len(line) for line in printed.splitlines()) <= 100


@pytest.mark.parametrize("verb", [*VERBS])
def test_a_verb_is_a_module_with_arguments_and_run(verb: str) -> None:
    module = import_module(VERBS[verb].module)
    assert callable(module.run)
    assert module.Arguments.__dataclass_params__.frozen
    assert module.Arguments.__doc__


def test_help_ends_with_how_settings_are_given(capsys: pytest.CaptureFixture[str]) -> None:
    for argv in (["show", "--help"], ["show", "a1", "-h"], ["help", "show"], ["params", "--help"]):
        assert main(argv) == 0
        printed = capsys.readouterr().out
        assert printed.rstrip().endswith("`somelab show --fields` explains every setting.")
        assert EPILOGUE in printed
    assert max(len(line) for line in EPILOGUE.splitlines()) <= 100
    assert main(["presets", "--help"]) == 0
    assert "--fields" not in capsys.readouterr().out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"somelab {__version__}\n"


def test_an_interrupt_is_one_line_and_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(argv: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "_dispatch", interrupted)
    assert main(["show"]) == 130
    assert capsys.readouterr().err == "somelab: interrupted\n"


def test_our_own_mistakes_keep_their_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(argv: list[str]) -> int:
        raise ZeroDivisionError

    monkeypatch.setattr(command, "_dispatch", broken)
    with pytest.raises(ZeroDivisionError):
        main(["show"])


@pytest.mark.parametrize("argv", [["presets"], ["presets", "--json"], ["show", "a1"], ["show", "--fields"]])
def test_a_reader_that_leaves_early_is_no_error(argv: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        result = subprocess.run(
            [sys.executable, "-m", "somelab.cli.main", *argv],
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(writer)
    assert (result.returncode, result.stderr) == (0, "")


def test_the_package_is_the_command() -> None:
    command = [sys.executable, "-m", "somelab", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("somelab 0.")
