"""A value of a tuned setting (a number, a truth value, a word or null) as text and as a folder's name."""

from __future__ import annotations

import hashlib
import re
from typing import Any

Value = Any
"""int, float, bool, str or None: what a configuration holds for a setting that is no list and no mapping."""
SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")
CONSTANTS = {True: "true", False: "false", None: "null"}


def is_number(value: Value) -> bool:
    """Whether a value lies on an axis. True and False do not, although Python counts them as integers."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def shown(value: Value) -> str:
    """A value for people, as it is written on a command line.

    >>> shown(0.0006), shown(True), shown(None), shown("fixed")
    ('0.0006', 'true', 'null', 'fixed')
    """
    if is_number(value):
        return f"{value:g}"
    return CONSTANTS[value] if value is None or isinstance(value, bool) else str(value)


def folder_name(value: Value) -> str:
    """The name of the run folder of a value. Of a word with unsafe characters: its safe part and a digest.

    >>> folder_name(0.0006), folder_name("owner/name")
    ('0.0006', 'owner-name-3bed6a3d')
    """
    text = shown(value)
    if SAFE_NAME.fullmatch(text) or is_number(value):
        return text
    safe = re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-")[:40] or "value"
    return f"{safe}-{hashlib.blake2b(text.encode(), digest_size=4).hexdigest()}"
