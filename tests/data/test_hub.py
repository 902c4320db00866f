"""Datasets by name, from a Hub that is made up here: its splits and columns, and what is said when it is out
of reach."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from somelab.data.holdout import NUM_DRAWS, VAL_FRACTION, draw
from somelab.errors import ConfigError, SomelabError
from tests.data.builders import source_of


class FakeSplit(list[dict[str, Any]]):
    @property
    def column_names(self) -> list[str]:
        return list(self[0])

    def select_columns(self, names: list[str]) -> Iterator[dict[str, Any]]:
        return ({name: row[name] for name in names} for row in self)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> dict[Any, Any]:
    """A Hub with the datasets that a test puts in, by name and configuration; anything else cannot be
    reached."""
    known: dict[Any, Any] = {}

    def load_dataset(name: str, configuration: str | None) -> Any:
        if (name, configuration) not in known:
            raise ConnectionError(f"Couldn't reach '{name}' on the Hub.\nSecond line")
        return known[name, configuration]

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    return known


def rows_of(*texts: Any, column: str = "text") -> FakeSplit:
    return FakeSplit({column: text, "id": number} for number, text in enumerate(texts))


def test_hub_dataset_with_its_own_validation(hub: dict[Any, Any]) -> None:
    hub["roneneldan/TinyStories", None] = {"train": rows_of("a", "", None, "b"), "validation": rows_of("c")}
    source = source_of("tinystories")
    assert (list(source.train()), list(source.val()), list(source.whole())) == (["a", "b"], ["c"], ["c"])


def test_hub_dataset_without_validation_configuration_and_column(hub: dict[Any, Any]) -> None:
    hub["owner/name", "de"] = {"train": rows_of(*map(str, range(100)), column="body")}
    source = source_of("owner/name/de:body")
    train, val = list(source.train()), list(source.val())
    assert sorted(train + val) == sorted(map(str, range(100)))
    assert val == [text for text in map(str, range(100)) if draw(text) < VAL_FRACTION * NUM_DRAWS]
    assert val
    assert len(list(source.whole())) == 100


def test_hub_is_asked_only_when_documents_are_read(hub: dict[Any, Any]) -> None:
    assert source_of("owner/name").identity != source_of("owner/name:body").identity
    hub["owner/name", None] = {"train": rows_of("x", "y")}


@pytest.mark.parametrize(
    ("name", "line"),
    [
        (
            "tinystories",
            (
                "data.source = 'tinystories': cannot be loaded from the Hub (Couldn't reach "
                "'roneneldan/TinyStories' on the Hub); check the name and the network, or give text of your "
                "own: --data FILE.txt"
            ),
        ),
        (
            "owner/missing",
            "data.source = 'owner/missing': is no path here, "
            "and cannot be loaded from the Hub (Couldn't reach 'owner/missing' on the Hub); "
            "check the name and the network, or give text of your own: --data FILE.txt",
        ),
        (
            "owner/columns",
            (
                "data.text_column = 'text': owner/columns has no such column; known: body, id (e.g. --data "
                "owner/columns:COLUMN)"
            ),
        ),
        (
            "owner/columns:id",
            "data.text_column = 'id': owner/columns:id has no text in it; name a column of text",
        ),
        (
            "owner/splits",
            "data.source = 'owner/splits': has no split named train (it has test); choose another dataset",
        ),
        ("owner/empty", "data.source = 'owner/empty': has no documents for training; give more text"),
    ],
)
def test_hub_errors_in_one_line(hub: dict[Any, Any], name: str, line: str) -> None:
    hub["owner/columns", None] = {"train": rows_of("x", column="body")}
    hub["owner/splits", None] = {"test": rows_of("x")}
    hub["owner/empty", None] = {"train": rows_of("", None)}
    with pytest.raises(ConfigError) as caught:
        list(source_of(name).train())
    assert str(caught.value) == line


def test_hub_without_the_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(
        SomelabError,
        match=r"^reading tinystories needs the datasets library; run `pip install 'somelab\[data\]'`, or",
    ):
        list(source_of("tinystories").train())
