"""JSON of files that may be damaged or foreign: whatever is wrong with the text is a ValueError, and an
object can carry a digest of its own content, so that any change of it is detected."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

DIGEST = "digest"
"""The key under which an object carries its digest."""


def loads(text: str | bytes) -> Any:
    """`json.loads`; thousands of nested brackets are a ValueError too."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("is nested too deeply") from None


def content_digest(content: Mapping[str, Any]) -> str:
    """A digest that depends neither on the order of keys nor on white space."""
    try:
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    except RecursionError:
        raise ValueError("is nested too deeply") from None


def sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """The object with its digest."""
    return {**content, DIGEST: content_digest(content)}


def unsealed(content: Any) -> dict[str, Any]:
    """The object without its digest, which has to fit. Raises ValueError."""
    if not isinstance(content, dict):
        raise ValueError("holds no object")
    rest = {name: value for name, value in content.items() if name != DIGEST}
    if content.get(DIGEST) != content_digest(rest):
        raise ValueError("its digest differs")
    return rest
