"""The content security policy of what the server sends: the page may run its own script and style, which are
allowed by their hashes, and talk to this server; everything else may do nothing."""

from __future__ import annotations

import base64
import hashlib
import re

NOTHING = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
"""For answers that are no page: a browser that is made to show one as a page runs nothing in it."""

SCRIPT = re.compile(r'<script type="module">(.*?)</script>', re.DOTALL)
STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)


def policy_of(page: str) -> str:
    """The policy of the built page. Hashes are computed from the page itself: whatever else gets into it is
    not run."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {_hashes(SCRIPT, page)}",
            f"style-src {_hashes(STYLE, page)}",
            "img-src data:",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )


def _hashes(element: re.Pattern[str], page: str) -> str:
    digests = (hashlib.sha256(found.encode()).digest() for found in element.findall(page))
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests) or "'none'"
