"""Inputs that no one should give, drawn from a random number generator: values, paths, YAML files, plans of
sweeps and files of text."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

from somelab.config.fields import fields

VALUES = [
    *("", " ", "0", "1", "-1", "1e400", "-1e400", "1e-400", "1e308", "nan", ".nan", ".inf", "-.inf"),
    *("inf", "2026-99-99", "2026-01-01", "2026-01-01T99:00:00Z", "0x_", "0b_", "0x", "0o9", "1_", "_"),
    *("1:2", "9:99.9", "9" * 300, "9" * 5000, "0x" + "f" * 5000, "-" + "9" * 400, "1:" * 400 + "1"),
    *("1_" * 400 + "1", "!!int abc", "!!float x", "!!bool maybe", "!!timestamp x", "!!binary ///"),
    *("!!null x", "!!set {a}", "!!omap 1", "!!python/object:os.system x", "!!map x", "!!seq x"),
    *("!!str {a: 1}", "!x 1", "!", "!!", "&a [*a]", "*a", "&a", "[" * 40, "{" * 40, "[" * 4000),
    *("{a: " * 300, "- " * 300, "? " * 300, "[1", "{", "}", "]", "[]", "{}", "[[]]", "<<: 1"),
    *("{<<: {a: 1}}", "{<<: *a}", "{a: 1, a: 2}", "? [1]\n: 2", "a: 1\na: 2", "a:\n\tb: 1", "\t", "\ta"),
    *("null", "~", "None", "true", "yes", "on", "off", "y", "=", "|", ">", "'", '"', "'''", "%", "@"),
    *("`", "#", "---", "--- 1\n--- 2", "%YAML 9.9\n---\n1", "a\0b", "\0", "\x7f", "\x1b[31m", "\u2028"),
    *("\ufeff1", "\ud800", "\udcff", "é", "日本", "🙂" * 50, "x" * 3000, "x" * 100_000, "1,2", "1,,2", ","),
    *("1,x", "[1, 2, 3]", "0.5,1.2", "a,b,c", "4294967296", "9223372036854775807"),
    *("9223372036854775808", "1000000", "1000001", "0.0000001", "1e-9", "2", "../../etc/passwd", "/"),
    *("/dev/null", "/dev/zero", "/proc/self/status", "~", "~nouser/x.txt", "//", ".", "..", "con"),
    *("{wind: 0.1}", "{a: nan}", "{1: 2}", "{a: {b: 1}}", "{null: 1}", "{a: 9e999}", "1.5", "-0.0"),
    *("+1", ".5", "5."),
]  # fmt: skip


def nasty(rng: Random) -> str:
    """One of the values, two of them, or letters at random."""
    match rng.randrange(8):
        case 0:
            return "".join(
                rng.choice("01-_:.,e[]{}!&*#?|'\"\\ \n\t~xX%@`<>=\0é") for _ in range(rng.randrange(30))
            )
        case 1:
            return rng.choice(VALUES) + rng.choice(("", " ", ",", "\n", ": ")) + rng.choice(VALUES)
        case _:
            return rng.choice(VALUES)


def fitting(rng: Random, name: str) -> str:
    """A value of the right type, often an extreme one."""
    field = fields()[name]
    if field.choices:
        return rng.choice(field.choices)
    if field.base is bool:
        return rng.choice(("true", "false"))
    number = rng.choice(
        ("0", "1", "2", "3", "7", "16", "64", "1000", "262144", "16777216", "1e-300", "0.5", "1e300")
    )
    return (
        f"{number},{number}" if field.base is tuple else f"{{x: {number}}}" if field.base is dict else number
    )


def nasty_path(rng: Random, folder: Path) -> str:
    """What is given where a file or folder is expected; all of them lead to nothing that could be used."""
    made = folder / "paths"
    if not made.exists():
        (made / "folder.txt").mkdir(parents=True)
        (made / "folder.yaml").mkdir()
        (made / "empty").mkdir()
        (made / "file").write_text("x")
        (made / "empty.yaml").write_text("")
        (made / "empty.txt").write_text("")
        (made / "loop.txt").symlink_to("loop.txt")
        (made / "dangling.txt").symlink_to("nowhere.txt")
        (made / "zero.txt").symlink_to("/dev/zero")
        for name in ("fifo.txt", "fifo.yaml", "fifo.jsonl", "fifo"):
            os.mkfifo(made / name)
    inside = [str(path) for path in sorted(made.iterdir())]
    others = [
        "x" * 300,
        "x/" * 3000,
        "a\0b.txt",
        "\udcff.txt",
        "~nouser/x.txt",
        "/dev/zero",
        "/proc/self/status",
        "",
        " ",
    ]
    others += ["/dev/null", "/proc/self/mem", "-", "nowhere.yaml", str(made / "file" / "x.txt"), "🙂.txt"]
    return rng.choice([*inside, *others])


def mutated(rng: Random, text: str) -> bytes:
    """A text with some lines and letters changed; sometimes another text altogether."""
    lines = text.splitlines()
    for _ in range(rng.randrange(1, 4)):
        place = rng.randrange(len(lines))
        key, colon, _ = lines[place].partition(":")
        match rng.randrange(9):
            case 0:
                del lines[place]
                lines = lines or [""]
            case 1:
                lines.insert(place, rng.choice(lines))
            case 2:
                lines[place] = rng.choice((" ", "\t", "    ", "- ", "? ", "&a ", "*a ", "!x ")) + lines[place]
            case 3:
                lines[place] = lines[place].lstrip()
            case 4:
                lines.insert(place, nasty(rng))
            case 5:
                lines[place] = f"{key}{colon} &a [{nasty(rng)}, *a]"
            case _:
                lines[place] = f"{key}{colon or ':'} {nasty(rng)}"
    content = "\n".join(lines).encode("utf-8", "surrogatepass")
    match rng.randrange(12):
        case 0:
            return content[: rng.randrange(len(content) + 1)]
        case 1:
            place = rng.randrange(len(content) + 1)
            return content[:place] + rng.randbytes(rng.randrange(1, 9)) + content[place:]
        case 2:
            return nasty(rng).encode("utf-8", "surrogatepass")
        case 3:
            return content * rng.randrange(2, 40)
        case _:
            return content


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefghi", "bcdefghij")
)


WHOLE_FILES = [
    *(BOMB, BOMB.replace("[", "{<<: [").replace("]", "]}"), "[" * 200_000, "- " * 100_000),
    *("a: 1\n" * 60_000, "x" * 300_000, "\0" * 1000, "", "\n" * 200_000, "#", "model: *model"),
    *("model: &m\n  d_model: *m", "1: 2", "model:\n  <<: {d_model: 64}\n", "? {a: 1}\n: 2", "null"),
    *("[]", "model: []", "model: 3", "null: null", "2026-01-01: 1"),
]  # fmt: skip


PLAN = """\
name: mine
title: experts and rates
preset: a1
scale: micro
seeds: [0, 1]
settings:
  train.steps: 10
grid:
  experts.num_experts: [16, 32]
  gravity.beta: [0, 0.001]
list:
  - a2
  - {name: wide, preset: a1, settings: {model.d_model: 64}}
pairs:
  - base: a1
    variants:
      - {name: still, settings: {gravity.keys: fixed}}
"""


def data_file(rng: Random) -> tuple[str, bytes]:
    """The suffix and the content of a file of text, seldom a good one."""
    words = [
        *("a", "the cat", "sat", "été", "🙂", "\0", "<|endoftext|>", "<|pad|>", " ", "\r", "\t", "\x0b"),
        *("\u2028", "x" * 500),
    ]  # fmt: skip
    lines = [" ".join(rng.choice(words) for _ in range(rng.randrange(8))) for _ in range(rng.randrange(60))]
    text = rng.choice(("\n", "\n\n", "\r\n", "\n<|endoftext|>\n")).join(lines)
    content = text.encode()
    if rng.random() < 0.3:
        place = rng.randrange(len(content) + 1)
        content = content[:place] + rng.randbytes(rng.randrange(1, 5)) + content[place:]
    if rng.random() < 0.1:
        content = rng.choice(
            (b"", b" ", b"\n\n \n", b"\xef\xbb\xbf", b"\xff\xfe", b"\0" * 3000, rng.randbytes(2000))
        )
    if rng.random() < 0.6:
        return ".txt", content
    rows = [
        *('{"text": "one"}', '{"text": "two"}', '{"text": null}', '{"text": 7}', '{"text": "\\ud83d"}'),
        *("[1]", "{", '{"other": "x"}', "[" * 5000, '{"text": "' + "x" * 5000 + '"}'),
        *('{"n": ' + "9" * 5000 + "}", "NaN", "", '{"text": "a", "text": "b"}'),
        *("{" + ", ".join(f'"c{i}": 1' for i in range(3000)) + "}", "\0", '{"' + "k" * 20_000 + '": 1}'),
    ]  # fmt: skip
    good = [f'{{"text": "row {number}"}}' for number in range(rng.randrange(20))]
    bad = rng.sample(rows, rng.choice((0, 0, 1, 2)))
    return ".jsonl", "\n".join([*good, *bad]).encode()
