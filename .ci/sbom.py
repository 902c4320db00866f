"""A bill of materials in CycloneDX's format: somelab and everything that its install brings, with versions,
licences and dependencies, as they are in this environment. `python .ci/sbom.py > sbom.json`"""

from __future__ import annotations

import json
import sys
from importlib import metadata
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import somelab


def needed(name: str, extras: frozenset[str] = frozenset()) -> list[Requirement]:
    """What a distribution requires here, with the extras that are asked for."""
    found: list[Requirement] = []
    for line in metadata.requires(name) or ():
        requirement = Requirement(line)
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in (*extras, "")):
            found.append(requirement)
    return found


def closure(start: str = "somelab") -> dict[str, set[str]]:
    """Every distribution that an install brings, and which of the others it requires."""
    graph: dict[str, set[str]] = {}
    waiting: list[tuple[str, frozenset[str]]] = [(start, frozenset())]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        name, extras = waiting.pop()
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        graph.setdefault(name, set())
        for requirement in needed(name, extras):
            other = canonicalize_name(requirement.name)
            try:
                metadata.version(other)
            except metadata.PackageNotFoundError:
                continue  # for another machine
            graph[name].add(other)
            waiting.append((other, frozenset(requirement.extras)))
    return graph


def component(name: str) -> dict[str, Any]:
    described: Any = metadata.metadata(name)
    # The version of the source, not of an older install of it.
    version = somelab.__version__ if name == "somelab" else metadata.version(name)
    licence = described.get("License-Expression") or described.get("License") or ""
    kept: dict[str, Any] = {
        "type": "library",
        "name": name,
        "version": version,
        "purl": f"pkg:pypi/{name}@{version.split('+')[0]}",
        "bom-ref": name,
    }
    if licence and len(licence) < 80 and "\n" not in licence:
        kept["licenses"] = [{"license": {"name": licence}}]
    return kept


def bill() -> dict[str, Any]:
    graph = closure()
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {**component("somelab"), "type": "application"}},
        "components": [component(name) for name in sorted(graph) if name != "somelab"],
        "dependencies": [{"ref": name, "dependsOn": sorted(graph[name])} for name in sorted(graph)],
    }


if __name__ == "__main__":
    json.dump(bill(), sys.stdout, indent=1)
    print()
