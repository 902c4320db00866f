"""Datasets of the Hugging Face Hub, by name: `owner/name`, `owner/name/configuration`, each with `:column` if
need be. Every failure becomes one line with a remedy."""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

from somelab.errors import ConfigError, SomelabError, nearest


class HubName(NamedTuple):
    """A parsed name. `column` is None if the name has none."""

    dataset: str
    configuration: str | None
    column: str | None

    @classmethod
    def parse(cls, name: str) -> HubName:
        """
        >>> HubName.parse("owner/name/de:body")
        HubName(dataset='owner/name', configuration='de', column='body')
        """
        address, _, column = name.partition(":")
        owner, dataset, *rest = address.split("/")
        return cls(f"{owner}/{dataset}", rest[0] if rest else None, column or None)


def load_splits(source: str, name: HubName) -> Mapping[str, Any]:
    """The dataset's splits by name, downloaded on first use and kept by the `datasets` library."""
    try:
        import datasets  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise SomelabError(
            f"reading {source} needs the datasets library; run `pip install 'somelab[data]'`, or give "
            "--data FILE.txt"
        ) from None
    try:
        with _without_warnings("huggingface_hub"):
            return cast(Mapping[str, Any], datasets.load_dataset(name.dataset, name.configuration))
    except (OSError, ValueError, RuntimeError) as error:  # no network, no such dataset, no such configuration
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:160].rstrip(" .:")
        raise ConfigError(
            "data.source",
            source,
            f"{'is no path here, and ' if '/' in source else ''}cannot be loaded from the Hub ({reason})",
            "check the name and the network, or give text of your own: --data FILE.txt",
        ) from None


@contextmanager
def _without_warnings(library: str) -> Generator[None]:
    """Without network the library logs every attempt; one error at the end is enough."""
    logger = logging.getLogger(library)
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def read_split(splits: Mapping[str, Any], split: str, source: str, column: str) -> Iterator[str]:
    """The documents of one split in their order; empty ones are left out."""
    rows = splits[split]
    if column not in rows.column_names:
        remedy = f"{nearest(column, rows.column_names)} (e.g. --data {source.partition(':')[0]}:COLUMN)"
        raise ConfigError("data.text_column", column, f"{source} has no such column", remedy)
    for text in (row[column] for row in rows.select_columns([column])):
        if text is not None and not isinstance(text, str):
            raise ConfigError(
                "data.text_column", column, f"{source} has no text in it", "name a column of text"
            )
        if text and text.strip():
            yield text
