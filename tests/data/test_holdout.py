"""What is held out for validation when the source does not say: a share of the documents, by their text."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from somelab.data.holdout import NUM_DRAWS, VAL_FRACTION, draw, find_cut
from tests.data.builders import source_of, write_rows

USUAL_CUT = int(VAL_FRACTION * NUM_DRAWS)


def test_five_percent_are_held_out_by_their_text(tmp_path: Path) -> None:
    texts = [f"document number {number}" for number in range(4000)]
    source = source_of(write_rows(tmp_path / "a.jsonl", texts))
    train, val = list(source.train()), list(source.val())
    assert sorted(train + val) == sorted(texts)
    assert 150 < len(val) < 250
    # Copies are on one side, and a document stays on its side whatever stands around it.
    other = source_of(write_rows(tmp_path / "b.jsonl", [*reversed(texts), *val, *train]))
    assert set(other.val()) == set(val)
    assert set(other.train()) == set(train)


@given(st.sets(st.text("abc", min_size=1), min_size=2, max_size=8))
def test_both_sides_have_a_document(texts: set[str]) -> None:
    cut = find_cut(texts, "x")
    held_out = [text for text in texts if draw(text) < cut]
    assert 0 < len(held_out) < len(texts)
    if min(map(draw, texts)) >= USUAL_CUT:
        assert held_out == [min(texts, key=draw)]


def test_documents_that_would_all_be_held_out() -> None:
    rare = list(islice((str(number) for number in range(10_000) if draw(str(number)) < USUAL_CUT), 3))
    cut = find_cut(rare, "x")
    assert [text for text in rare if draw(text) >= cut] == [max(rare, key=draw)]
