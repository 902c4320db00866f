"""The documents as data: the files in `grammar/` hold scripts, lists and tables; this file reads them.
grammar/README.md describes their syntax. Every script becomes Python code that runs on a page."""

from __future__ import annotations

import ast
import re
from collections import ChainMap
from collections.abc import Collection, Sequence
from pathlib import Path
from types import CodeType
from typing import Any

from somelab.data.corpus.lexicon import BAGS
from somelab.data.corpus.lines import Line, read_lines
from somelab.data.corpus.page import CHANCES, FUNCTIONS, METHODS
from somelab.data.corpus.pattern import Choices, Pattern

FOLDER = Path(__file__).parent / "grammar"
_FUNCTIONS = {*FUNCTIONS, *METHODS, *CHANCES, "_"}
_HEADER = re.compile(r"(script|choices|table) (\w+)|kind (?P<kind>\w+) (?P<least>\d+) to (?P<most>\d+) words")
_STATEMENT = re.compile(
    r"(?P<head>(?:if|else if|while|for) [^:]+:|else:)(?: (?P<inline>.+))?"
    r"|(?P<act>say|do) (?:(?P<name>\w+)|\{(?P<variable>\w+)\})(?: after (?P<lead>\w+))?"
    r"|write (?P<written>.+)"
    r"|(?P<call>\w+):"
    r"|(?P<targets>\w+(?:, \w+)*) = (?P<expression>.+)"
    r"|(?P<target>\w+)(?P<sign> :=|:) (?P<pattern>.+)"
)
_SLOT = re.compile(r"\{(?P<value>\w+)|<(?P<bag>\w+)(?:=(?P<keep>\w+))?")


class Grammar:
    """Everything that the files of a folder define. An error names the file and line."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self.kinds: dict[str, range] = {}
        """How many words a document of each kind may have; the script of its name writes one."""
        self.lists: dict[str, Choices] = {}
        self.tables: dict[str, list[dict[str, Any]]] = {}
        self.scripts: dict[str, CodeType] = {}
        self.patterns: dict[tuple[str, bool], Pattern] = {}
        self.constants: list[Pattern | Choices] = []
        """As the code of the scripts refers to them."""
        self._headers: dict[tuple[str, str], Line] = {}
        self._assigned: dict[str, Line] = {}
        self._used: list[tuple[Collection[str], str, Line]] = []
        """Names in use: where each must be defined when all is read, and the line that uses it."""
        for line in read_lines(folder):
            found = _HEADER.fullmatch(line.text)
            if found is None:
                raise line.error("not `script X`, `choices X`, `table X` or `kind X 60 to 180 words`")
            if found["kind"]:
                self.kinds[found["kind"]] = range(int(found["least"]), int(found["most"]) + 1)
                self._used.append((self.scripts, found["kind"], line))
            elif self._headers.setdefault((found[1], found[2]), line) is not line:
                raise line.error("a block of this name exists already")
            elif not line.children:
                raise line.error("nothing follows it")
        for (what, name), line in self._headers.items():
            if what == "choices":
                self._list(name, line)
            elif what == "table":
                self.tables[name] = [self._row(row) for row in line.children]
            else:
                self.scripts[name] = self._script(line)
        for known, name, line in self._used:
            if name not in known:
                raise line.error(f"{name!r} is not defined")
        for name in (_FUNCTIONS | set(self.lists)) & set(self._assigned):
            raise self._assigned[name].error(f"{name!r} is also the name of a list or a function")

    def pattern(self, source: str, line: Line | None = None, is_open: bool = False) -> Pattern:
        """One object per source, so that a page can record which patterns it has used."""
        key = (source, is_open)
        if key not in self.patterns:
            self.patterns[key] = Pattern(source, line.where if line else "phrase(...)", self.lists, is_open)
            if line:
                self._note_names(source, line)
        return self.patterns[key]

    def _note_names(self, source: str, line: Line) -> None:
        values = ChainMap[str, Any](self.lists, self._assigned)
        for found in _SLOT.finditer(source):
            self._used.append((BAGS, found["bag"], line) if found["bag"] else (values, found["value"], line))
            if found["keep"]:
                self._assigned[found["keep"]] = line

    def _list(self, name: str, line: Line) -> Choices:
        if ("choices", name) not in self._headers:
            raise line.error(f"{name!r} is not a list of choices")
        if name not in self.lists:
            header = self._headers["choices", name]
            lines, header.children = header.children, []
            if not lines:
                raise line.error(f"the list {name!r} contains itself")
            self.lists[name] = self._choices(lines)
        return self.lists[name]

    def _choices(self, lines: Sequence[Line]) -> Choices:
        """`- pattern` is a choice, `+ name` stands for all those of a list."""
        choices: list[Pattern] = []
        for line in lines:
            sign, text = line.text[0], line.text[1:].strip()
            if sign not in "-+":
                raise line.error("a line in a list of choices begins with - or +")
            choices += self._list(text, line) if sign == "+" else [self.pattern(text, line)]
        return tuple(choices)

    def _row(self, line: Line) -> dict[str, Any]:
        row: dict[str, Any] = {}
        for entry in line.children:
            found = _STATEMENT.fullmatch(entry.text)
            try:
                if found and found["targets"]:
                    row[found["targets"]] = ast.literal_eval(found["expression"])
                    continue
            except (SyntaxError, ValueError):
                found = None
            if not found or found["sign"] != ":":
                raise entry.error("a field of a row is `name = number or 'text'` or `name: pattern`")
            row[found["target"]] = self.pattern(found["pattern"], entry)
        return row

    def _script(self, header: Line) -> CodeType:
        """Python code, line for line, so that Python's messages give the line of the data file."""
        code: dict[int, tuple[str, Line]] = {}
        self._translate(header.children, "", code)
        try:
            tree = ast.parse("\n".join(code.get(number, ("",))[0] for number in range(1, max(code) + 1)))
        except SyntaxError as problem:
            last = max(number for number in code if number <= (problem.lineno or 0))
            raise code[last][1].error(problem.msg) from None
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                self._assigned[node.id] = code[node.lineno][1]
            elif isinstance(node, ast.Name) and node.id not in _FUNCTIONS:
                self._used.append((self._assigned, node.id, code[node.lineno][1]))
        return compile(tree, header.file, "exec")

    def _translate(self, lines: Sequence[Line], indent: str, code: dict[int, tuple[str, Line]]) -> None:
        group: list[Line] = []
        for line, following in zip(lines, [*lines[1:], None]):
            if line.text[0] in "-+":
                group.append(line)
                # An empty line, or another statement, ends a group of choices.
                if following is None or following.after_gap or following.text[0] not in "-+":
                    code[group[0].number] = f"{indent}say({self._constant(self._choices(group))})", line
                    group = []
                continue
            found = _STATEMENT.fullmatch(line.text)
            if found and found["head"]:
                inline = self._simple(found["inline"], line) if found["inline"] else ""
                code[line.number] = f"{indent}{found['head'].replace('else if', 'elif')} {inline}", line
                self._translate(line.children, indent + " ", code)
            else:
                code[line.number] = f"{indent}{self._simple(line.text, line)}", line

    def _simple(self, text: str, line: Line) -> str:
        """The Python of a statement that has no others below it."""
        found = _STATEMENT.fullmatch(text)
        if found is None or found["head"]:
            raise line.error("this is not a statement")
        name = found["name"] or found["call"]
        if name:
            self._used.append((self.lists if found["act"] == "say" else self.scripts, name, line))
        if found["act"]:
            lead = f", {found['lead']}" if found["lead"] else ""
            return f"{found['act']}({repr(name) if name else found['variable']}{lead})"
        if found["call"]:
            return f"given = {self._constant(self._choices(line.children))}; do({name!r})"
        if found["targets"]:
            return f"{found['targets']} = {found['expression']}"
        is_open = found["sign"] == " :="
        pattern = self._constant(self.pattern(found["written"] or found["pattern"], line, is_open))
        if found["written"]:
            return f"write({pattern})"
        return f"{found['target']} = {f'phrase({pattern})' if is_open else pattern}"

    def _constant(self, value: Pattern | Choices) -> str:
        self.constants.append(value)
        return f"_[{len(self.constants) - 1}]"
