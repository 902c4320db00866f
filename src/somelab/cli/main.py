"""The entry point: a table of verbs, the overview of them, and the one place where errors become a line and
an exit code. Only the standard library is imported here, so that `somelab --help` is fast."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module

from somelab import __version__
from somelab.cli.failures import one_line, was_interrupted
from somelab.errors import SomelabError, nearest


@dataclass(frozen=True)
class Verb:
    """A module with a dataclass `Arguments` and a function `run(arguments)`, and how the overview presents
    it."""

    module: str
    help: str
    group: str


VERBS: dict[str, Verb] = {
    "demo": Verb(
        "somelab.cli.demo.demo",
        "three minutes: a SoME model and a dense one learn to write, with a page at the end",
        "start here",
    ),
    "play": Verb(
        "somelab.cli.models.play", "open the model that comes with somelab in the browser", "start here"
    ),
    "presets": Verb(
        "somelab.cli.about.presets",
        "list the presets: every published run, baselines, a demo",
        "configurations",
    ),
    "show": Verb(
        "somelab.cli.about.show", "print a configuration as YAML, or explain every setting", "configurations"
    ),
    "params": Verb(
        "somelab.cli.about.params", "count parameters, beside the published figures", "configurations"
    ),
    "prepare": Verb("somelab.cli.models.prepare", "tokenize text ahead of training", "models"),
    "train": Verb("somelab.cli.models.train", "train a model into a run folder", "models"),
    "resume": Verb("somelab.cli.models.resume", "continue a run that was stopped or killed", "models"),
    "eval": Verb(
        "somelab.cli.models.evaluate", "measure a trained run: loss, bits per byte, every layer", "models"
    ),
    "generate": Verb(
        "somelab.cli.models.generate", "continue a prompt, with the experts of each token", "models"
    ),
    "export": Verb(
        "somelab.cli.models.export", "write a run for other tools: Hugging Face transformers", "models"
    ),
    "sweep": Verb(
        "somelab.cli.lab.sweep", "run a published series, each arm with several random seeds", "experiments"
    ),
    "evidence": Verb(
        "somelab.cli.lab.evidence",
        "test the claims of the reports, each with verdict and interval",
        "experiments",
    ),
    "reproduce": Verb(
        "somelab.cli.lab.reproduce", "train a published run, and compare it epoch by epoch", "experiments"
    ),
    "report": Verb(
        "somelab.cli.models.report",
        "write one page that shows runs from the inside, and figures for papers",
        "models",
    ),
    "serve": Verb("somelab.cli.models.serve", "show runs in a browser while they train", "models"),
    "pack": Verb("somelab.cli.models.pack", "copy a trained run into a small folder to ship", "models"),
    "adapt": Verb("somelab.cli.lab.adapt", "test-time adaptation: read other text while keys move", "models"),
    "grow": Verb(
        "somelab.cli.models.grow", "add experts to a trained run, trained alone on new text", "models"
    ),
    "carve": Verb(
        "somelab.cli.lab.carve", "cut a pretrained model into experts, and use some of them", "models"
    ),
    "continual": Verb(
        "somelab.cli.lab.continual", "learn kinds of text one after another, and what is forgotten", "models"
    ),
    "doctor": Verb(
        "somelab.cli.about.doctor", "report what this machine can do and what is missing", "this machine"
    ),
    "bench": Verb(
        "somelab.cli.lab.bench",
        "measure speed and memory, compared with other implementations",
        "this machine",
    ),
}

COMPLETION = "--tyro-print-completion"
"""The flag that tyro's programs have for it."""

EXAMPLES = (
    ("somelab demo", "three minutes from nothing to a page"),
    ("somelab presets", "list the presets"),
    ("somelab show a1 --scale mini", "print one, scaled down"),
    ("somelab params a1 --experts.num-experts 128", "any setting can be given by its dotted name"),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0, 2 for bad input, 130 when interrupted."""
    argv = list(sys.argv[1:] if argv is None else argv)
    try:
        code = _dispatch(argv)
        sys.stdout.flush()  # a closed pipe raises here, inside the try, and not at interpreter exit
        return code
    except KeyboardInterrupt:
        _complain("interrupted")
        return 130
    except BrokenPipeError:  # the reader (`| head -1`) has closed the pipe: no error
        _drop_output()
        return 0
    except Exception as error:
        if was_interrupted(error):
            _complain("interrupted")
            return 130
        line = one_line(error)
        if line is None:
            raise
        _complain(line)
        if isinstance(error, OSError):
            _drop_output()
        return 2


def _complain(line: str) -> None:
    with contextlib.suppress(OSError):  # nobody listens
        print("somelab:", line, file=sys.stderr)


def _drop_output() -> None:
    """What is left in the buffer cannot be written, and must not be tried again at exit."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()
        return
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def overview() -> str:
    """What `somelab --help` prints."""
    lines = [
        "somelab: SoME, the self-organizing mixture of experts: a library, a command and a visual lab",
        "",
        "usage: somelab VERB [ARGUMENTS] [--GROUP.SETTING VALUE ...]",
    ]
    width = max(len(name) for name in VERBS)
    for group in dict.fromkeys(verb.group for verb in VERBS.values()):
        lines += ["", f"{group}:"]
        lines += [f"  {name:<{width}}  {verb.help}" for name, verb in VERBS.items() if verb.group == group]
    width = max(len(command) for command, _ in EXAMPLES)
    lines += ["", "examples:", *(f"  {command:<{width}}  # {meaning}" for command, meaning in EXAMPLES)]
    lines += ["", "`somelab VERB --help` explains a verb, `somelab show --fields` every setting."]
    lines += [f"`somelab {COMPLETION} bash` (or zsh) prints a completion script for the shell."]
    return "\n".join(lines)


def _dispatch(argv: list[str]) -> int:
    _ready_output()
    for argument in argv:
        if not _is_text(argument):
            raise SomelabError(
                f"the argument {ascii(argument)[:80]} is not UTF-8 text without NULs; rename that file, or "
                "correct it"
            )
    if argv[:1] == ["help"]:
        argv = [*argv[1:2], "--help"]
    if not argv or argv[0] in ("-h", "--help"):
        print(overview())
        return 0
    if argv[0] in ("-V", "--version"):
        print(f"somelab {__version__}")
        return 0
    if COMPLETION in argv:
        from somelab.cli.completion import print_completion

        print_completion(argv)
        return 0
    name, *rest = argv
    if name not in VERBS:
        raise SomelabError(f"{name!r} is not a verb; {nearest(name, VERBS)}")
    from somelab.cli.arguments import parse_arguments
    from somelab.training.machine.waiting import wait_shortly_

    wait_shortly_(os.environ)  # before a verb imports torch
    module = import_module(VERBS[name].module)
    arguments = parse_arguments(module.Arguments, rest, name)
    return 0 if arguments is None else module.run(arguments) or 0


def _is_text(argument: str) -> bool:
    """Bytes of a command line that are no UTF-8 arrive as halves of surrogate pairs."""
    return "\0" not in argument and not any("\ud800" <= letter <= "\udfff" for letter in argument)


def _ready_output() -> None:
    """Output that was closed (`>&-`) is dropped, and characters that the terminal's encoding lacks are
    printed as escapes."""
    if sys.stdout is None or sys.stderr is None:  # pyright: ignore[reportUnnecessaryComparison]
        while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
            pass  # a file that is opened later must not be taken for an output
        os.close(descriptor)
        sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115
        sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    sys.exit(main())
