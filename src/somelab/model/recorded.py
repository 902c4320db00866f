"""Writes the counts of all presets into the package: `python -m somelab.model.recorded`, after a preset or
what is counted has changed."""

from __future__ import annotations

import json
from dataclasses import asdict

from somelab.config import PRESETS, digest_of_changes, preset
from somelab.config.counts import record_file
from somelab.model.count import count_parameters


def counts_of_presets() -> dict[str, dict[str, int]]:
    """Counted anew, by the digest of each preset's configuration."""
    configs = [preset(name).config for name in PRESETS]
    return {digest_of_changes(config): asdict(count_parameters(config)) for config in configs}


def main() -> None:
    entries = (f'"{name}": {json.dumps(counts)}' for name, counts in sorted(counts_of_presets().items()))
    record_file().write_text("{\n" + ",\n".join(entries) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
