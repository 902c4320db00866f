"""Writes src/schema.ts from the models of `somelab.view`: what Python promises is what the page is checked
against. `python ui/schema.py` writes the file, `python ui/schema.py --check` only compares."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from somelab.core.meanings import MEANINGS
from somelab.view.live import messages as live_messages
from somelab.view.schema import page as schema

TARGET = Path(__file__).parent / "src" / "schema.ts"
HEADER = "// Generated from somelab.view by `python ui/schema.py`; a test holds it equal. Do not edit.\n"
ROOTS: list[type[BaseModel]] = [
    schema.Page,
    live_messages.RunList,
    live_messages.TraceRequest,
    live_messages.TraceResponse,
    live_messages.Increment,
    live_messages.Problem,
]


def typescript() -> str:
    """All models that the page meets, as interfaces, in the order of their names."""
    _, definitions = models_json_schema([(model, "serialization") for model in ROOTS])
    models: dict[str, Any] = definitions["$defs"]
    return (
        HEADER
        + "".join(_interface(name, models[name]) for name in sorted(models))
        + f"\nexport const FORMAT = {schema.FORMAT};\n"
        + _meanings()
    )


def _meanings() -> str:
    """The measures in words, for explanations where no run is at hand."""
    lines = [
        f"  {name}: {{ title: {json.dumps(meaning.title)}, text: {json.dumps(meaning.text)} }},"
        for name, meaning in MEANINGS.items()
    ]
    head = ["", "/** What each measure means: a title, and a phrase. */", "export const MEANINGS = {"]
    return "\n".join([*head, *lines, "} as const;", ""])


def _interface(name: str, model: dict[str, Any]) -> str:
    lines = ["", *_comment(model.get("description"), ""), f"export interface {name} {{"]
    for field, described in model.get("properties", {}).items():
        lines += _comment(described.get("description"), "  ")
        lines.append(f"  {field}: {_type(described)};")
    return "\n".join([*lines, "}", ""])


def _comment(text: str | None, indent: str) -> list[str]:
    return [] if not text else [f"{indent}/** {' '.join(text.split())} */"]


def _type(described: dict[str, Any]) -> str:
    if "$ref" in described:
        return described["$ref"].rsplit("/", 1)[1]
    if "anyOf" in described:
        return " | ".join(_type(option) for option in described["anyOf"])
    if "const" in described:
        return f'"{described["const"]}"'
    if "enum" in described:
        return " | ".join(f'"{value}"' for value in described["enum"])
    kind = described.get("type")
    if kind == "array":
        inner = _type(described["items"])
        return f"({inner})[]" if "|" in inner else f"{inner}[]"
    if kind == "object":
        return f"Record<string, {_type(described['additionalProperties'])}>"
    return {
        "integer": "number",
        "number": "number",
        "string": "string",
        "boolean": "boolean",
        "null": "null",
    }[kind or ""]


def main(arguments: list[str]) -> int:
    wanted = typescript()
    if arguments == ["--check"]:
        same = TARGET.read_text(encoding="utf-8") == wanted
        print(
            "src/schema.ts is up to date"
            if same
            else "src/schema.ts differs from the models; run `python ui/schema.py`"
        )
        return 0 if same else 1
    TARGET.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
