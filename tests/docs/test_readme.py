"""What the README shows is true: its code runs, its links lead somewhere, its commands exist, its two
commands are targets."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

from somelab.cli.main import VERBS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_the_code_runs() -> None:
    (code,) = blocks("python")
    names: dict[str, object] = {}
    exec(compile(code, "README.md", "exec"), names)
    model: Any = names["model"]
    assert model[1].keystore.step == 100
    assert float(model[1].keystore.usage_E.sum()) > 0


def test_links_and_pictures_exist() -> None:
    targets = re.findall(r"\]\(([^)#]+)\)", README)
    assert len(targets) >= 5
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_commands_exist() -> None:
    lines = [line.split("#")[0].strip() for block in blocks("sh") for line in block.splitlines()]
    commands = [shlex.split(line) for line in lines if line]
    verbs = {words[1] for words in commands if words[0] == "somelab"}
    assert verbs >= {"train", "resume", "eval", "generate", "presets", "params", "show"}
    assert verbs <= set(VERBS)
    targets = {words[1] for words in commands if words[0] == "make"}
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert targets == {"demo", "test"}
    assert all(re.search(rf"^{target}:", makefile, flags=re.MULTILINE) for target in targets)
