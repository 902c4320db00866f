"""Opens a page in the browser where there is a screen. Elsewhere (over SSH, in a container, in a pipe) the
caller prints where the page is."""

from __future__ import annotations

import os
import sys


def has_display() -> bool:
    """Whether a browser would appear before the person who typed the command."""
    if not sys.stdout.isatty():
        return False
    if sys.platform in ("darwin", "win32"):
        return "SSH_CONNECTION" not in os.environ
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def open_page(address: str) -> bool:
    """Open an address; whether that worked."""
    import webbrowser

    try:
        return has_display() and webbrowser.open(address)
    except webbrowser.Error:
        return False
