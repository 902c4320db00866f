"""What a ledger's store says of itself: the text its runs are trained on, the text of another kind that they
read, and the random seeds it has."""

from __future__ import annotations

import json
from pathlib import Path

from somelab.errors import ConfigError, SomelabError
from somelab.experiments.ledger.records import Records
from somelab.experiments.runner.plan import DEFAULT_SHIFT, text_name


def whole_path(data: str) -> str:
    """A text file by its whole path, so that the store can be continued from any folder."""
    return str(Path(data).resolve()) if Path(data).exists() else data


def stored_data(store: Path) -> str | None:
    """The text that a store was begun with; None where there is no store."""
    texts = _stored_texts(store)
    return None if texts is None else texts["data"]


def stored_shift(store: Path) -> str | None:
    """The text of another kind that a store's runs read; None where none has been yet."""
    return (_stored_texts(store) or {}).get("shift")


def _stored_texts(store: Path) -> dict[str, str] | None:
    try:
        kept = json.loads((store / "ledger.json").read_text(encoding="utf-8"))
        return {"data": str(kept["data"]), **({"shift": str(kept["shift"])} if "shift" in kept else {})}
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SomelabError(
            f"{store}/ledger.json: cannot be read ({error}); restore it, or name another store with --out"
        ) from None


def checked_shift(store: Path, requested: str | None) -> str:
    """The other text of a store: the one it was begun with, since figures on two texts are not comparable."""
    begun = stored_shift(store)
    if requested is not None and begun is not None and text_name(requested) != text_name(begun):
        remedy = "leave --shift out, or name another store with --out"
        raise ConfigError(
            "shift", requested, f"{store} was begun with {text_name(begun)} as its other text", remedy
        )
    return requested or begun or DEFAULT_SHIFT


def stored_seeds(store: Path, scale: str, least: int, records: Records | None = None) -> tuple[int, ...]:
    """All seeds that a store and the record have at a scale, and at least the first ones: verdicts use what
    there is."""
    found = {
        int(path.name.removeprefix("seed-")) for path in (store / scale).glob("*/seed-*") if path.is_dir()
    }
    known = {run.seed for run in (records or Records()).runs.values() if run.scale == scale}
    return tuple(sorted(found | known | set(range(least))))
