"""From a command line to a verb's dataclass: positionals may be anywhere, dotted settings go to the
configuration, tyro converts the rest, and every error becomes one SomelabError."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import io
import math
import re
import sys
from collections.abc import Generator, Sequence
from contextlib import redirect_stderr
from difflib import get_close_matches
from importlib import import_module
from itertools import dropwhile, takewhile
from typing import Any, TextIO, TypeVar, get_args, get_origin, get_type_hints

import tyro

from somelab.cli.overrides import EPILOGUE, split_overrides
from somelab.errors import SomelabError

ArgumentsT = TypeVar("ArgumentsT")

# The field that receives dotted settings; a verb without it takes none.
OVERRIDES = "overrides"
# tyro puts a message into a frame, of these characters: a title, perhaps a rule, the message, a rule, a hint.
FRAME = "│╭╮╰╯─|+- "


def parse_arguments(arguments_type: type[ArgumentsT], argv: Sequence[str], verb: str) -> ArgumentsT | None:
    """The verb's arguments, or None if help was requested and printed."""
    takes_settings = OVERRIDES in {field.name for field in dataclasses.fields(_as_dataclass(arguments_type))}
    if any(token in ("-h", "--help") for token in argv):
        _print_help(arguments_type, verb, takes_settings)
        return None
    rest, settings = split_overrides(argv)
    if settings and not takes_settings:
        raise SomelabError(
            f"--{next(iter(settings))} is a setting, and {verb} has no configuration; leave it out"
        )
    arguments = _convert(arguments_type, _arranged(arguments_type, rest, verb), verb)
    return dataclasses.replace(_as_dataclass(arguments), **{OVERRIDES: settings}) if settings else arguments


def _as_dataclass(thing: Any) -> Any:
    assert dataclasses.is_dataclass(thing)
    return thing


def _arranged(arguments_type: type, argv: Sequence[str], verb: str) -> list[str]:
    """Positionals first, then flags: tyro stops reading positionals at the first flag. Unknown flags raise
    here."""
    is_switch = _flags(arguments_type)
    positionals: list[str] = []
    flags: list[str] = []
    waiting = list(argv)
    while waiting:
        token = waiting.pop(0)
        if token == "--":
            positionals += waiting
            break
        if not token.startswith("-") or token == "-":
            positionals.append(token)
            continue
        name, equals, value = token.partition("=")
        name = name.replace("_", "-")
        if name not in is_switch:
            raise SomelabError(
                f"{verb} has no flag {token.partition('=')[0]}; {_flag_remedy(name, list(is_switch))}"
            )
        if is_switch[name]:
            if equals:
                raise SomelabError(
                    f"{name} takes no value, not {value!r}; give {name} alone, or leave it out"
                )
            flags.append(name)
        elif equals:
            flags += [name, value]
        elif waiting and not waiting[0].startswith("--"):
            flags += [name, waiting.pop(0)]
            for _ in range(_num_values(arguments_type, name) - 1):
                flags += [waiting.pop(0)] if waiting and not waiting[0].startswith("--") else []
        else:
            raise SomelabError(f"{name} has no value; see `somelab {verb} --help`")
    most = _most_positionals(arguments_type)
    if len(positionals) > most:
        raise SomelabError(f"{verb} takes no {positionals[int(most)]!r}; see `somelab {verb} --help`")
    return [*positionals, *flags]


def _flags(arguments_type: type) -> dict[str, bool]:
    """The verb's flags, their short forms included, and whether each is a switch."""
    hints, annotated = get_type_hints(arguments_type), get_type_hints(arguments_type, include_extras=True)
    names = [name for name in hints if name != OVERRIDES and name not in _positional_names(arguments_type)]
    flags = {f"--{name.replace('_', '-')}": hints[name] is bool for name in names}
    for name in names:
        for note in getattr(annotated[name], "__metadata__", ()):
            flags |= dict.fromkeys(getattr(note, "aliases", None) or (), hints[name] is bool)
    return flags


def _num_values(arguments_type: type, flag: str) -> int:
    """How many values a flag takes: more than one where its type is a tuple of a fixed length."""
    hint = get_type_hints(arguments_type).get(flag.lstrip("-").replace("-", "_"))
    return max((len(get_args(one)) for one in (hint, *get_args(hint)) if get_origin(one) is tuple), default=1)


def _positional_names(arguments_type: type) -> set[str]:
    hints = get_type_hints(arguments_type, include_extras=True)
    return {name for name, hint in hints.items() if tyro.conf.Positional in getattr(hint, "__metadata__", ())}


def _most_positionals(arguments_type: type) -> float:
    hints = get_type_hints(arguments_type)
    return sum(
        math.inf if get_origin(hints[name]) is tuple else 1 for name in _positional_names(arguments_type)
    )


def _flag_remedy(name: str, known: list[str]) -> str:
    close = get_close_matches(name, known, n=1)
    if close:
        return f"did you mean {close[0]}?"
    from somelab.config.fields import unknown_remedy

    setting = unknown_remedy(name.lstrip("-"))
    if setting.startswith("did you mean "):
        return re.sub(
            r"\w+(\.\w+)?(?=[ ?]|$)", lambda match: f"--{match[0]}" if match[1] else match[0], setting
        )
    return f"it has {', '.join(known)}"


def _convert(arguments_type: type[ArgumentsT], argv: list[str], verb: str) -> ArgumentsT:
    errors = io.StringIO()
    try:
        with redirect_stderr(errors):
            return tyro.cli(
                arguments_type, args=argv, prog=f"somelab {verb}", config=(tyro.conf.FlagCreatePairsOff,)
            )
    except SystemExit:
        raise SomelabError(f"{_message(errors.getvalue())}; see `somelab {verb} --help`") from None


def _message(framed: str) -> str:
    """The sentence inside one of tyro's framed error messages."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", framed)
    body = [line.strip("│| ") for line in plain.splitlines()[1:]]
    text = dropwhile(_is_frame, body)
    return (
        " ".join(takewhile(lambda line: not _is_frame(line), text)).rstrip(" .")
        or "these arguments cannot be read"
    )


def _is_frame(line: str) -> bool:
    return not line.strip(FRAME)


def _print_help(arguments_type: type, verb: str, takes_settings: bool) -> None:
    screen = _Screen(sys.stdout)
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(screen), _whole_paragraphs():
        tyro.cli(
            arguments_type, args=["--help"], prog=f"somelab {verb}", config=(tyro.conf.FlagCreatePairsOff,)
        )
    for line in screen.getvalue().splitlines():
        _print_wrapped(line)
    if takes_settings:
        print(f"\n{EPILOGUE}")
    sys.stdout.flush()


class _Screen(io.StringIO):
    """Collects what is printed, and looks like the output that it stands for, so that colours and frames
    stay."""

    def __init__(self, output: TextIO) -> None:
        super().__init__()
        self._output = output

    @property
    def encoding(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return getattr(self._output, "encoding", None) or "utf-8"

    def isatty(self) -> bool:
        return self._output.isatty()


def _print_wrapped(line: str) -> None:
    """tyro leaves usage and description as long as they are, and a terminal would break them in a word."""
    from rich.text import Text

    from somelab.cli.terminal import console

    out = console()
    if not out.is_terminal or (text := Text.from_ansi(line)).cell_len <= out.width:
        print(line)
        return
    out.print(text)


@contextlib.contextmanager
def _whole_paragraphs() -> Generator[None]:
    """The second line of a field's docstring is indented, which tyro takes for a new paragraph."""
    strings: Any = import_module("tyro._strings")
    before = strings.remove_single_line_breaks

    def cleaned(text: str) -> str:
        return before(inspect.cleandoc(text))

    strings.remove_single_line_breaks = cleaned
    try:
        yield
    finally:
        strings.remove_single_line_breaks = before
