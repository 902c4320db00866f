"""Write reference/api.md from signatures and docstrings: `python docs/reference/api.py`. A test compares.

The source is parsed, not inspected: annotations and defaults appear as written, on any version of Python."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import somelab
from somelab.cli.main import VERBS

PAGE = Path(__file__).parent / "api.md"
ROOT = Path(__file__).parents[2]
WIDTH = 108
BESIDE = {
    "Evaluation": "somelab.training.evaluate",
    "GravityReport": "somelab.core.keystore",
    "Preset": "somelab.config",
    "Routing": "somelab.core.router",
    "StepRecord": "somelab.training.callbacks",
}
"""Types that the public names return or pass on, and where to import them from."""
HOOKS = ("extra_repr",)
"""Methods that torch calls and users do not."""
INTRODUCTION = """\
# API reference

Written by `python docs/reference/api.py` from the docstrings; do not edit it here. Everything in the first
table is imported from `somelab`. All settings have [a page of their own](config.md).

In names of tensors and in docstrings, T is the number of tokens, D the width of the model, E the number of
experts, K the number of selected experts per token. A function whose name ends in `_` changes its object in
place.
"""


class Found(NamedTuple):
    """A definition in the source: the file, its text, and the node of the class or function."""

    path: Path
    text: str
    node: ast.ClassDef | ast.FunctionDef


def api_page() -> str:
    """The whole page."""
    found = {name: definition(name, getattr(somelab, name)) for name in somelab.__all__}
    beside = {name: definition(name, getattr(import_module(home), name)) for name, home in BESIDE.items()}
    parts = [INTRODUCTION, "## Names\n" + _table(found), *(section(name, one) for name, one in found.items())]
    parts += ["## Types that these use\nThey are returned or passed on, and rarely made by hand.\n"]
    parts += [section(name, one, home=BESIDE[name]) for name, one in beside.items()]
    return "\n".join([*parts, commands()])


def definition(name: str, value: object) -> Found:
    """Where a class or function is defined."""
    path = Path(inspect.getsourcefile(value) or "")  # pyright: ignore[reportArgumentType]
    text = path.read_text(encoding="utf-8")
    named = (node for node in ast.parse(text).body if isinstance(node, ast.ClassDef | ast.FunctionDef))
    return Found(path, text, [node for node in named if node.name == name][-1])


def section(name: str, found: Found, home: str = "somelab") -> str:
    """A heading, the signature, the docstring, and the members of a class."""
    node, text = found.node, found.text
    place = found.path.relative_to(ROOT).as_posix()
    link = f"[`{place.removeprefix('src/')}`](../../{place})"
    head = f"## {name}\n" if home == "somelab" else f"### {name}\n"
    if isinstance(node, ast.FunctionDef):
        return f"{head}{_code(f'{home}.{name}', node, text)}\n{_doc(node)}\n\nSource: {link}\n"
    methods = {one.name: one for one in node.body if isinstance(one, ast.FunctionDef)}
    start = methods.get("__init__")
    if start is not None:
        head += _code(f"class {home}.{name}", start, text, skip=1) + "\n"
    else:
        head += f"```py\nclass {home}.{name}\n```\n"
    parts = [f"{head}{_doc(node)}\n"]
    if start is not None and ast.get_docstring(start):
        parts.append(f"{_doc(start)}\n")
    if members := [*_fields(node, text), *(_attributes(start, text) if start else ())]:
        parts.append("\n".join(["Attributes:", "", *members, ""]))
    parts += list(_methods(node, text))
    return "\n".join([*parts, f"Source: {link}\n"])


def commands() -> str:
    """The verbs of the command, group by group."""
    lines = ["## The command", "`somelab VERB --help` explains each verb and its arguments.", ""]
    lines += ["| verb | what it does |", "|---|---|"]
    groups = list(dict.fromkeys(verb.group for verb in VERBS.values()))
    for name, verb in sorted(VERBS.items(), key=lambda item: groups.index(item[1].group)):
        lines.append(f"| `somelab {name}` | {verb.help} |")
    return "\n".join(lines) + "\n"


def _table(found: dict[str, Found]) -> str:
    rows = [f"| [{name}](#{name.lower()}) | {_first(one.node)} |" for name, one in found.items()]
    return "\n".join(["| name | what it is |", "|---|---|", *rows]) + "\n"


def _first(node: ast.AST) -> str:
    """The first sentence of a docstring."""
    doc = " ".join(_docstring(node).split("\n\n")[0].split())
    sentence = re.match(r"(.*?[.:])(?: |$)", doc)
    return (sentence[1] if sentence else doc).rstrip(":").replace("|", "\\|")


def _docstring(node: ast.AST) -> str:
    assert isinstance(node, ast.ClassDef | ast.FunctionDef)
    return ast.get_docstring(node) or ""


def _doc(node: ast.AST, before: str = "") -> str:
    """A docstring with its paragraphs wrapped; indented examples stay as they are."""
    return "\n\n".join(_paragraphs(f"{before} {_docstring(node)}".strip()))


def _paragraphs(doc: str) -> Iterator[str]:
    for paragraph in doc.split("\n\n"):
        lines = paragraph.splitlines()
        if any(line.startswith("    ") for line in lines):
            yield paragraph
        else:
            yield _wrapped(" ".join(lines))


def _wrapped(text: str, indent: str = "") -> str:
    """Text in lines. Code spans stay on one line; outside of them, < is no tag."""
    parts = re.split(r"(`[^`]+`)", text)
    parts[1::2] = [span.replace(" ", "\0") for span in parts[1::2]]
    parts[::2] = [words.replace("<", "\\<") for words in parts[::2]]
    options: dict[str, bool] = {"break_long_words": False, "break_on_hyphens": False}
    lines = textwrap.wrap("".join(parts), WIDTH, subsequent_indent=indent, **options)
    return "\n".join(lines).replace("\0", " ")


def _code(start: str, node: ast.FunctionDef, text: str, skip: int = 0) -> str:
    parameters = list(_parameters(node.args, text))[skip:]
    returned = f" -> {_source(node.returns, text)}" if node.returns and node.name != "__init__" else ""
    line = f"{start}({', '.join(parameters)}){returned}"
    if len(line) > WIDTH:
        line = "\n".join([f"{start}(", *(f"    {one}," for one in parameters), f"){returned}"])
    return f"```py\n{line}\n```"


def _parameters(arguments: ast.arguments, text: str) -> Iterator[str]:
    """Every parameter as it is written in the source, with the marks for keyword-only ones."""
    places = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(places) - len(arguments.defaults)) + list(arguments.defaults)
    for argument, default in zip(places, defaults):
        yield _parameter(argument, default, text)
    if arguments.vararg:
        yield "*" + _parameter(arguments.vararg, None, text)
    elif arguments.kwonlyargs:
        yield "*"
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults):
        yield _parameter(argument, default, text)
    if arguments.kwarg:
        yield "**" + _parameter(arguments.kwarg, None, text)


def _parameter(argument: ast.arg, default: ast.expr | None, text: str) -> str:
    kind = f": {_source(argument.annotation, text)}" if argument.annotation else ""
    if default is None:
        return f"{argument.arg}{kind}"
    return f"{argument.arg}{kind}{' = ' if kind else '='}{_constant(_source(default, text), text)}"


def _constant(value: str, text: str) -> str:
    """What a constant of the module stands for, if that is a literal."""
    found = re.search(rf"^{re.escape(value)} = (.+)$", text, re.MULTILINE) if value.isupper() else None
    return found[1] if found else value


def _source(node: ast.expr, text: str) -> str:
    return " ".join((ast.get_source_segment(text, node) or "").split())


def _fields(node: ast.ClassDef, text: str) -> Iterator[str]:
    """Annotated names of the class body, each with its default and the docstring below it."""
    for one, after in zip(node.body, [*node.body[1:], None]):
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name) and one.target.id[0] != "_":
            value = f" = {_source(one.value, text)}" if one.value else ""
            value = "" if value.startswith(" = field(") else value
            kind = re.sub(r"^ClassVar\[(.*)\]$", r"\1", _source(one.annotation, text))
            yield _item(f"`{one.target.id}: {kind}{value}`", _words(after))


def _attributes(start: ast.FunctionDef, text: str) -> Iterator[str]:
    """What `__init__` sets on the object: public names that are annotated or have a docstring."""
    for one, after in zip(start.body, [*start.body[1:], None]):
        if isinstance(one, ast.AnnAssign):
            target, kind = one.target, f": {_source(one.annotation, text)}"
        elif isinstance(one, ast.Assign) and _words(after):
            target, kind = one.targets[0], ""
        else:
            continue
        owner, _, name = ast.unparse(target).rpartition(".")
        if owner == "self" and name[0] != "_":
            yield _item(f"`{name}{kind}`", _words(after))


def _words(node: ast.stmt | None) -> str:
    """The docstring of the statement before, if this is one."""
    value = node.value if isinstance(node, ast.Expr) else None
    is_text = isinstance(value, ast.Constant) and isinstance(value.value, str)
    return " ".join(inspect.cleandoc(value.value).split()) if is_text else ""


def _methods(node: ast.ClassDef, text: str) -> Iterator[str]:
    """Public methods and properties that the class itself defines; of overloads, the implementation."""
    for one in node.body:
        if not isinstance(one, ast.FunctionDef) or one.name[0] == "_" or one.name in HOOKS:
            continue
        marks = {ast.unparse(decorator).rpartition(".")[2] for decorator in one.decorator_list}
        if "overload" in marks:
            continue
        if "property" in marks:
            returned = f" -> {_source(one.returns, text)}" if one.returns else ""
            head = f"```py\n{node.name}.{one.name}{returned}    # property\n```"
        else:
            head = _code(f"{node.name}.{one.name}", one, text, skip=1)
        doc = _doc(one, "To be implemented." if "abstractmethod" in marks else "")
        yield f"{head}\n{doc}\n" if doc else f"{head}\n"


def _item(term: str, words: str) -> str:
    return _wrapped(f"- {term}: {words}" if words else f"- {term}", indent="  ")


if __name__ == "__main__":
    PAGE.write_text(api_page(), encoding="utf-8")
