"""Measures that were renamed: files of earlier versions hold the old names and are read under the new
ones."""

from __future__ import annotations

RENAMED = {"seed_ppl": "ppl_with_padding", "seed_loss": "loss_with_padding"}


def with_new_names(json_text: str) -> str:
    """JSON text with the new names, as keys, as values and in front of a colon ("seed_loss: a - b").

    Quotes inside a JSON string are escaped, so that text which mentions a name is left as it is."""
    for old, new in RENAMED.items():
        json_text = json_text.replace(f'"{old}"', f'"{new}"').replace(f'"{old}: ', f'"{new}: ')
    return json_text
