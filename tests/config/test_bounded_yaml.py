"""The one reader of YAML: whatever conversions raise is one line; size, depth and aliases are bounded."""

from __future__ import annotations

import os
from io import BytesIO
from pathlib import Path

import pytest

from somelab.config import from_yaml, override, preset, to_yaml
from somelab.config.bounded_yaml import (
    DEEPEST,
    LARGEST_TEXT,
    MOST_VALUES,
    YamlProblem,
    read_yaml,
    read_yaml_file,
)
from somelab.disk import guarded
from somelab.errors import ConfigError

# Nine entries, each nine times the one before: 9^9 values in 400 bytes.
BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi")
)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("2026-99-99", "timestamp '2026-99-99' cannot be read"),
        ("0x_", "int '0x_' cannot be read"),
        ("9" * 5000, "cannot be read"),
        ("0x" + "f" * 5000, "is too large a number"),
        ("!!int abc", "int 'abc' cannot be read"),
        ("!!bool maybe", "bool 'maybe' cannot be read"),
        ("!!timestamp x", "timestamp 'x' cannot be read"),
        ("2026-01-01T00:00:00+99:99", "cannot be read"),
        ("!!map x", "expected a mapping node"),
        ("!!python/object:os.system x", "could not determine a constructor"),
        ("[" * 100_000, f"nested more than {DEEPEST} deep"),
        ("- " * 5000, f"nested more than {DEEPEST} deep"),
        (BOMB, f"more than {MOST_VALUES:,} values"),
        (
            BOMB.replace("[", "{<<: [").replace("]", "]}").replace("x", "{k: 1}"),
            f"more than {MOST_VALUES:,} values",
        ),
        ("a: 1\n" * MOST_VALUES, "more than"),
        ("&a [*a]", "*a is inside of what it stands for"),
        ("a: 1\na: 2", "line 2: a is given twice"),
        ("a\0b", "special characters are not allowed"),
        ("\ta: 1", "cannot start any token"),
        ("a\ud800b", "special characters are not allowed"),
        ("x" * (LARGEST_TEXT + 1), f"has more than {LARGEST_TEXT:,} bytes"),
        ("é" * (LARGEST_TEXT // 2 + 1), f"has more than {LARGEST_TEXT:,} bytes"),
        ("!" * 100_000, "..."),
    ],
)
def test_every_mistake_is_one_short_line(text: str, problem: str) -> None:
    with pytest.raises(YamlProblem) as caught:
        read_yaml(text)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_what_is_meant_well_is_read() -> None:
    assert read_yaml("a: &a [1, 2]\nb: *a\nc: {<<: {d: 1}, e: 2}\n") == {
        "a": [1, 2],
        "b": [1, 2],
        "c": {"d": 1, "e": 2},
    }
    assert read_yaml("[1_000, 0x10, 1.5, ~, yes, text, '1']") == [1000, 16, 1.5, None, True, "text", "1"]
    assert read_yaml("") is None


@pytest.mark.parametrize("value", ["2026-99-99", "0x_", "9" * 5000, "!!int abc", "[" * 5000, "&a [*a]"])
def test_a_setting_names_field_value_and_remedy(value: str) -> None:
    with pytest.raises(ConfigError) as caught:
        override(preset("a1").config, {"gravity.alpha": value})
    line = str(caught.value)
    assert line.startswith(f"gravity.alpha = {value[:20]!r}"[:30])
    assert line.endswith("cannot be read; give a number >= 0")
    assert len(line) < 200


def test_a_number_that_cannot_be_printed_is_refused_all_the_same() -> None:
    """Python prints no whole number of more than 4,300 digits, not even in a message."""
    with pytest.raises(ConfigError, match=r"^train.seed = a number too large to show: is too large a number"):
        override(preset("a1").config, {"train.seed": 10**5000})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("model.num_layers", 10**9),
        ("model.d_model", 10**12),
        ("experts.num_experts", 10**12),
        ("train.batch_size", 10**12),
        ("train.seed", 2**64),
        ("train.steps", 10**15),
    ],
)
def test_sizes_beyond_every_machine_are_refused(name: str, value: int) -> None:
    with pytest.raises(ConfigError, match=rf"^{name} = {value}: is beyond [0-9,]+; choose a smaller number$"):
        override(preset("a1").config, {name: value})


def test_what_is_no_file_of_text(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.yaml")
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    (tmp_path / "huge.yaml").write_bytes(b"#" * (LARGEST_TEXT + 1))
    (tmp_path / "latin.yaml").write_bytes(b"a: \xff")
    problems = {
        "fifo.yaml": "is not a regular file, and is not opened",
        "loop.yaml": "cannot be read (Too many levels of symbolic links)",
        "huge.yaml": f"has more than {LARGEST_TEXT:,} bytes, and is not read",
        "latin.yaml": "is not UTF-8 text (byte 3)",
        "none.yaml": "there is no such file",
        "": "cannot be read (Is a directory)",
    }
    for name, problem in problems.items():
        with pytest.raises(ConfigError) as caught:
            from_yaml(tmp_path / name)
        assert f": {problem}; " in str(caught.value)
    for path, problem in {"/dev/zero": "is not a regular file", "a\0b": "is not a path"}.items():
        with pytest.raises(ConfigError) as caught:
            read_yaml_file(Path(path), "plan", "give another")
        assert problem in str(caught.value)


def test_a_file_that_has_nothing_to_read_right_now(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """/proc/kmsg is a regular file by its kind, and reads as None while the kernel has nothing to say."""

    class Silent(BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            return None  # type: ignore[return-value]

    monkeypatch.setattr(guarded, "open_read", lambda path, inside=None: Silent())
    with pytest.raises(ConfigError, match="is not a file that ends, and is not read"):
        from_yaml(tmp_path / "x.yaml")


def test_every_preset_is_far_inside_the_limits() -> None:
    text = to_yaml(preset("some").config)
    assert len(text) * 10 < LARGEST_TEXT
    assert override(preset("some").config, {}) == preset("some").config
    assert isinstance(read_yaml(text), dict)
