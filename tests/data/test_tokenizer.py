"""Text comes back byte for byte, special tokens cannot be spelt, and training repeats itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from somelab.data.tokenizer import END_OF_TEXT_ID, PAD_ID, Tokenizer
from somelab.errors import ConfigError, SomelabError
from tests.data.builders import byte_tokenizer

ENGLISH = [
    "The cat sat on the mat.\n",
    "The dog and the cat ran to the big red barn.",
    "\tThe end, said the cat.",
] * 20
HARD_TEXTS = [
    "",
    " ",
    "\n\n\t \r\n",
    "emoji 🙂👩‍👩‍👧 and flags 🇩🇪",
    "ß Straße ÅÅ 日本語 عربى \u0000 \u200b \ufeff",
    "<|endoftext|>",
    "a<|pad|>b <|endoftext|> c<|endoftext|><|endoftext|>",
    "Ġthe Ċ Ā",
    "it's   12345  !!!",
]
TOKENIZER = Tokenizer.train([*ENGLISH, *HARD_TEXTS * 3], 400)


@pytest.mark.parametrize("text", HARD_TEXTS)
def test_round_trip_of_hard_texts(text: str) -> None:
    for tokenizer in (TOKENIZER, byte_tokenizer()):
        assert tokenizer.decode(tokenizer.encode(text)) == text


@given(st.text(st.characters(exclude_categories=["Cs"])) | st.text("<|endoftxpad> \n\t'"))
def test_round_trip_and_bytes_of_any_text(text: str) -> None:
    ids = TOKENIZER.encode(text)
    assert TOKENIZER.decode(ids) == TOKENIZER.decode(ids, special=True) == text
    assert b"".join(TOKENIZER.bytes_of_token(token) for token in ids) == text.encode()
    assert TOKENIZER.num_bytes_of_token[ids].sum() == len(text.encode())
    assert not {END_OF_TEXT_ID, PAD_ID} & set(ids)


def test_training_merges_frequent_pairs_only() -> None:
    tokenizer = Tokenizer.train(["aaaa aaaa once"], 300)
    # Merges: a+a, aa+aa; then " "+"aaaa" occurs once only, as everything in "once" does.
    assert tokenizer.vocab_size == 260
    assert len(tokenizer.encode("aaaa")) == 1
    assert [tokenizer.bytes_of_token(token) for token in tokenizer.encode("aaa on")] == [
        b"aa",
        b"a",
        b" ",
        b"o",
        b"n",
    ]


def test_special_tokens_have_their_ids_and_no_bytes() -> None:
    assert TOKENIZER.decode([END_OF_TEXT_ID, PAD_ID]) == ""
    assert TOKENIZER.decode([END_OF_TEXT_ID, PAD_ID], special=True) == "<|endoftext|><|pad|>"
    assert TOKENIZER.num_bytes_of_token[[END_OF_TEXT_ID, PAD_ID]].tolist() == [0, 0]
    assert TOKENIZER.num_bytes_of_token[2:].min() == 1
    assert len(TOKENIZER.num_bytes_of_token) == TOKENIZER.vocab_size <= 400


def test_tokens_that_only_the_model_knows_decode_to_nothing() -> None:
    assert TOKENIZER.decode([*TOKENIZER.encode("cat"), TOKENIZER.vocab_size + 7]) == "cat"
    assert TOKENIZER.bytes_of_token(TOKENIZER.vocab_size + 7) == b""


def test_smallest_vocabulary_is_the_bytes() -> None:
    tokenizer = Tokenizer.train(ENGLISH, 258)
    assert tokenizer.vocab_size == 258
    assert len(tokenizer.encode("The cat 🙂")) == 12
    with pytest.raises(
        ConfigError, match=r"^model.vocab_size = 257: is too small for .*; choose 258 or more$"
    ):
        Tokenizer.train(ENGLISH, 257)


def test_save_and_load(tmp_path: Path) -> None:
    TOKENIZER.save(tmp_path / "tokenizer.json")
    loaded = Tokenizer.load(tmp_path / "tokenizer.json")
    assert loaded.digest == TOKENIZER.digest != byte_tokenizer().digest
    assert np.array_equal(loaded.num_bytes_of_token, TOKENIZER.num_bytes_of_token)
    for text in HARD_TEXTS:
        assert loaded.encode(text) == TOKENIZER.encode(text)
    assert loaded.encode_batch(HARD_TEXTS) == [TOKENIZER.encode(text) for text in HARD_TEXTS]


def test_files_that_are_no_tokenizer(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    with pytest.raises(SomelabError, match="cannot be read"):
        Tokenizer.load(path)
    path.write_text("{}")
    with pytest.raises(SomelabError, match="is not a tokenizer"):
        Tokenizer.load(path)
    path.write_text(TOKENIZER.to_json().replace("<|pad|>", "<|other|>"))
    with pytest.raises(SomelabError, match="does not begin with"):
        Tokenizer.load(path)


def test_half_a_surrogate_pair_is_one_clear_line() -> None:
    with pytest.raises(SomelabError, match="half of a surrogate pair"):
        TOKENIZER.encode("broken \ud83d text")


@pytest.mark.parametrize("threads", ["1", "7"])
def test_training_is_the_same_in_another_process_with_other_threads(threads: str) -> None:
    program = (
        "from tests.data.test_tokenizer import *\n"
        "texts = ENGLISH * 50 + HARD_TEXTS\n"
        "print(Tokenizer.train(texts, 500).digest, Tokenizer.train(reversed(texts), 500).digest)"
    )
    environment = {**os.environ, "RAYON_NUM_THREADS": threads}
    root = Path(__file__).parents[2]
    result = subprocess.run(
        [sys.executable, "-c", program], cwd=root, env=environment, capture_output=True, text=True, check=True
    )
    here = Tokenizer.train(ENGLISH * 50 + HARD_TEXTS, 500).digest
    assert result.stdout.split() == [here, here]
