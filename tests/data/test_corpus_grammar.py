"""The data files of the corpus: every choice fits its values, and mistakes are named with their line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from somelab.data.corpus import KINDS
from somelab.data.corpus.chance import Chance
from somelab.data.corpus.generator import GRAMMAR
from somelab.data.corpus.grammar import FOLDER, Grammar
from somelab.data.corpus.lexicon import BAGS, read_words
from somelab.data.corpus.lines import GrammarError, read_lines
from somelab.data.corpus.page import Page
from somelab.data.corpus.pattern import Alternatives, Choices, Draw, Fixed, Nodes, Pattern
from somelab.data.corpus.phrase import join
from somelab.data.corpus.referents import number


class CheckedPage(Page):
    """A page that looks at every choice it is offered, and not only at the one that it takes."""

    def __init__(self, grammar: Grammar, chance: Chance, seen: set[Pattern]) -> None:
        super().__init__(grammar, chance)
        self.seen = seen

    def say(self, choices: str | Choices | Pattern, lead: Pattern | None = None) -> None:
        offered = GRAMMAR.lists[choices] if isinstance(choices, str) else choices
        for pattern in (offered,) if isinstance(offered, Pattern) else offered:
            self.check(pattern)
        super().say(choices, lead)

    def write(self, pattern: Pattern) -> None:
        self.check(pattern)
        super().write(pattern)

    def choice(self, name: str, but: Pattern | None = None) -> Pattern:
        for pattern in GRAMMAR.lists[name]:
            self.check(pattern)
        return super().choice(name, but)

    def check(self, pattern: Pattern) -> None:
        self.seen.add(pattern)
        self.check_nodes(pattern.nodes, pattern)

    def check_nodes(self, nodes: Nodes, pattern: Pattern) -> None:
        is_open = GRAMMAR.patterns.get((pattern.source, True)) is pattern or pattern.where == "phrase(...)"
        for node in nodes:
            if isinstance(node, Fixed):
                continue
            if isinstance(node, Alternatives):
                for option in node.options:
                    self.check_nodes(option, pattern)
                continue
            if isinstance(node, Draw):
                referents: Sequence[Any] = BAGS[node.bag]
                if node.keep:
                    self.values.setdefault(node.keep, BAGS[node.bag][0])
            else:
                assert node.name in self.values, (node, pattern.where, pattern.source)
                value = self.values[node.name]
                if isinstance(value, dict):  # A row: what fits it must fit the others of its table.
                    rows = next(table for table in GRAMMAR.tables.values() if value in table)
                    for row in rows:
                        self.check(row[node.form])
                    continue
                if isinstance(value, Pattern):
                    self.check(value)
                    continue
                referents = [value]
            for referent in referents:
                forms = number(referent) if type(referent) is int else referent.forms
                assert node.form in forms, (node, pattern.where, pattern.source)
                has_roles = node.role is not None or all(piece.role for piece in forms[node.form])
                assert is_open or has_roles, (node, pattern.where, pattern.source)


def test_every_choice_fits_the_values_that_it_names() -> None:
    seen: set[Pattern] = set()
    for kind in KINDS:
        for index in range(240):
            page = CheckedPage(GRAMMAR, Chance("check", kind, index), seen)
            page.do(kind)
            join(page.pieces)
            page.values.clear()
    # Lists that are named inside patterns are compiled into them; all others are offered as a whole.
    every = set(GRAMMAR.patterns.values())
    inside = {name for name in GRAMMAR.lists for pattern in every if f"{{{name}" in pattern.source}
    expected = every - {pattern for name in inside for pattern in GRAMMAR.lists[name]}
    assert [f"{pattern.where}: {pattern.source}" for pattern in expected - seen] == []
    assert len(seen) > 1500


def test_every_pattern_compiles() -> None:
    assert len(GRAMMAR.patterns) > 1500
    for pattern in GRAMMAR.patterns.values():
        assert isinstance(pattern.nodes, tuple)


def test_what_a_task_needs_comes_back_in_its_steps() -> None:
    for header in (line for line in read_lines(FOLDER) if line.file == "howto_tasks.txt"):
        before = [line.text for line in header.children if line.text.partition(" ")[2].startswith("= ")]
        drawn = [text.partition(" ")[0] for text in before]
        later = " ".join(choice.text for line in header.children for choice in line.children)
        assert drawn
        assert sum(f"{{{name}" in later for name in drawn) >= len(drawn) - 1, header.where


SCRIPT = "kind note 1 to 9 words\n\nscript note\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "scrpt note\n  - Hello !",
            "a.txt:1: not `script X`, `choices X`, `table X` or `kind X 60 to 180 words`: scrpt note",
        ),
        ("  - Hello !", "a.txt:1: an indented line without a header: - Hello !"),
        ("choices empty\n\nchoices other\n  - Hello !", "a.txt:1: nothing follows it: choices empty"),
        (
            "choices x\n  - Oh !\nchoices x\n  - Oh !",
            "a.txt:3: a block of this name exists already: choices x",
        ),
        ("kind note 1 to 9 words", "a.txt:1: 'note' is not defined: kind note 1 to 9 words"),
        (SCRIPT + "  say hello", "a.txt:4: 'hello' is not defined: say hello"),
        (SCRIPT + "  do hello", "a.txt:4: 'hello' is not defined: do hello"),
        (SCRIPT + "  shout:\n    - Oh !", "a.txt:4: 'shout' is not defined: shout:"),
        (SCRIPT + "  - Oh , {who@recipient} !", "a.txt:4: 'who' is not defined: - Oh , {who@recipient} !"),
        (SCRIPT + "  - Oh , <whom@recipient> !", "a.txt:4: 'whom' is not defined: - Oh , <whom@recipient> !"),
        (SCRIPT + "  n = 3\n  m = n + k", "a.txt:5: 'k' is not defined: m = n + k"),
        (SCRIPT + "  n = 3 +", "a.txt:4: invalid syntax: n = 3 +"),
        (
            SCRIPT + "  if chance(50):\n  - Oh !",
            "a.txt:5: expected an indented block after 'if' statement on line 4",
        ),
        (SCRIPT + "  hello there", "a.txt:4: this is not a statement: hello there"),
        (SCRIPT + "  if n: hello you", "a.txt:4: this is not a statement: if n: hello you"),
        (SCRIPT + "  draw = 3", "a.txt:4: 'draw' is also the name of a list or a function: draw = 3"),
        ("choices x\n  + y\nchoices y\n  + x", "a.txt:4: the list 'x' contains itself: + x"),
        ("choices x\n  + y", "a.txt:2: 'y' is not a list of choices: + y"),
        ("choices x\n  Oh !", "a.txt:2: a line in a list of choices begins with - or +: Oh !"),
        (
            "table x\n  row:\n    size = big",
            "a.txt:3: a field of a row is `name = number or 'text'` or `name: pattern`: size = big",
        ),
    ],
)
def test_a_mistake_in_the_grammar_is_named_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    with pytest.raises(GrammarError) as failure:
        Grammar(tmp_path)
    assert str(failure.value).startswith(message)


def test_a_mistake_in_a_pattern_or_an_expression_is_named_when_it_is_used(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("script one\n  - the zzz@topic .\n\nscript two\n  n = 'x'\n  m = n + 1\n")
    (tmp_path / "b.txt").write_text("script three\n  town = draw('town')\n  - {town.many@place} .\n")
    page = Page(Grammar(tmp_path), Chance("x"))
    with pytest.raises(
        GrammarError,
        match=r"^a.txt:2: the class of 'zzz' is unclear \(not in the lexicon\) in: the zzz@topic \.",
    ):
        page.do("one")
    with pytest.raises(GrammarError, match=r"^b.txt:3: no value or form 'many' for: \{town.many@place\} \."):
        page.do("three")
    with pytest.raises(TypeError) as failure:
        page.do("two")
    place = failure.traceback[-1]
    assert (place.frame.code.raw.co_filename, place.lineno + 1) == ("a.txt", 6)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nown animal\n  fox", "w.txt:1: no such kind of words: nown animal"),
        ("noun animal\n  fox,, bear", "w.txt:1: an entry is empty"),
        ("noun animal\n  fox\nnoun animal\n  bear", "w.txt:3: a second list of this name"),
    ],
)
def test_a_mistake_in_the_words_is_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "w.txt").write_text(text, encoding="utf-8")
    with pytest.raises(GrammarError) as failure:
        read_words(tmp_path)
    assert str(failure.value).startswith(message)


def test_a_small_grammar_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text(
        """
# Every statement once.
kind note 1 to 99 words

script note
  hero = someone(draw('female'), 'she')
  start, step = sample(2, 3, 3)
  coins = measure(start + step - 2, 'coin')
  place := in the (garden@place)
  wish: a (ball@patient)
  index = 0
  while index < 2:
    index = index + 1
    if index == 1: say greetings
    else if index == 2:
      - {hero@experiencer} has/v {coins} {place} .
    else: write ¶
  for word in (1, 2):
    twice:
      - {hero.he@experiencer} wants {wish} .

choices greetings
  + short_greetings

choices short_greetings
  - Hello !

script twice
  write ¶
  say {given} after lead
""".replace("    twice:", "    lead = rows('leads')[word - 1]\n    twice:")
        + "\nchoices leads\n  - then\n  -\n",
        encoding="utf-8",
    )
    page = Page(Grammar(tmp_path), Chance("own"))
    page.do("note")
    name = page.values["hero"].forms[""][0].text
    lines = [f"Hello! {name} has four coins in the garden.", "Then she wants a ball.", "She wants a ball."]
    assert join(page.pieces)[0].split("\n") == lines
