"""The entry point: a table of verbs, the overview of them, and the one place where errors become a line and an exit code.
Only the standard library is imported here, so that `somelab --help` answers at once."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module

from somelab import __version__
from somelab.errors import SomelabError, nearest


@dataclass(frozen=True)
class Verb:
    """A module with a dataclass `Arguments` and a function `run(arguments)`, and how the overview presents it."""

    module: str
    help: str
    group: str


VERBS: dict[str, Verb] = {
    "presets": Verb("somelab.cli.presets", "list the presets: every run of the seeds, baselines, a demo", "configurations"),
    "show": Verb("somelab.cli.show", "print a configuration as YAML, or explain every setting", "configurations"),
    "params": Verb("somelab.cli.params", "count parameters, beside the figures that the seeds give", "configurations"),
    "prepare": Verb("somelab.cli.prepare", "read text and lay its tokens down, ahead of training", "models"),
    "train": Verb("somelab.cli.train", "train a model into a run folder", "models"),
    "resume": Verb("somelab.cli.resume", "continue a run that was stopped or killed", "models"),
    "eval": Verb("somelab.cli.evaluate", "measure a trained run: loss, bits per byte, every layer", "models"),
    "generate": Verb("somelab.cli.generate", "continue a prompt, with the experts of each token", "models"),
    "sweep": Verb("somelab.cli.sweep", "run a series of the seeds over several seeds, into one table", "experiments"),
    "evidence": Verb("somelab.cli.evidence", "test the claims of the seeds, with a verdict and an interval each", "experiments"),
    "report": Verb("somelab.cli.report", "write one page that shows runs from the inside, and figures for papers", "models"),
    "serve": Verb("somelab.cli.serve", "show runs in a browser while they train", "models"),
    "adapt": Verb("somelab.cli.adapt", "read other text while keys move, beside frozen ones", "models"),
    "continual": Verb("somelab.cli.continual", "learn kinds of text one after another, and what is forgotten", "models"),
    "doctor": Verb("somelab.cli.doctor", "say what this machine can do and what is missing", "this machine"),
    "bench": Verb("somelab.cli.bench", "measure speed and memory, beside the notebooks' way and peers", "this machine"),
}

EXAMPLES = (
    ("somelab presets", "what there is to start from"),
    ("somelab show a1 --scale mini", "one of them, made smaller"),
    ("somelab params a1 --experts.num-experts 128", "any setting can be given by its dotted name"),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0, 2 for bad input, 130 when interrupted."""
    argv = list(sys.argv[1:] if argv is None else argv)
    try:
        code = _dispatch(argv)
        sys.stdout.flush()  # a reader that has gone shows here, inside the try, and not when the interpreter ends
        return code
    except SomelabError as error:
        print("somelab:", " ".join(str(error).split()), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("somelab: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader (`| head -1`) has enough: no error. What is left in the buffer must not be tried again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


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
    return "\n".join(lines)


def _dispatch(argv: list[str]) -> int:
    if argv[:1] == ["help"]:
        argv = [*argv[1:2], "--help"]
    if not argv or argv[0] in ("-h", "--help"):
        print(overview())
        return 0
    if argv[0] in ("-V", "--version"):
        print(f"somelab {__version__}")
        return 0
    name, *rest = argv
    if name not in VERBS:
        raise SomelabError(f"{name!r} is not a verb; {nearest(name, VERBS)}")
    from somelab.cli.arguments import parse_arguments

    module = import_module(VERBS[name].module)
    arguments = parse_arguments(module.Arguments, rest, name)
    return 0 if arguments is None else module.run(arguments) or 0


if __name__ == "__main__":
    sys.exit(main())
