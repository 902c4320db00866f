"""Byte-level BPE: every text is encoded and decoded byte for byte, and no text can produce a special token.
Training is deterministic: the same documents give the same file, whatever the number of threads."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import tokenizers
from numpy.typing import NDArray
from tokenizers import decoders, models, pre_tokenizers, trainers

from somelab.disk import guarded
from somelab.errors import ConfigError, SomelabError

END_OF_TEXT, PAD = "<|endoftext|>", "<|pad|>"
END_OF_TEXT_ID, PAD_ID = 0, 1
LARGEST_FILE = 256 << 20
SMALLEST_VOCABULARY = 256 + 2
# A pair that occurs once is not merged: the merge would only memorise that place.
SMALLEST_PAIR_COUNT = 2


def _byte_of_letter() -> dict[str, int]:
    """The printable letter by which a byte-level vocabulary writes each byte, reversed.

    Printable Latin-1 stands for itself; the other bytes take the letters from U+0100 on, in order."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {
        chr(0x100 + place): byte for place, byte in enumerate(others)
    }


_BYTES = _byte_of_letter()


def check_vocab_size(vocab_size: int) -> None:
    if vocab_size < SMALLEST_VOCABULARY:
        remedy = f"choose {SMALLEST_VOCABULARY} or more"
        raise ConfigError(
            "model.vocab_size", vocab_size, "is too small for the 256 bytes and 2 special tokens", remedy
        )


class Tokenizer:
    """Text to tokens and back. Ids 0 and 1 are the end of a text and padding; they come from `prepare` and
    the loader only."""

    def __init__(self, inner: tokenizers.Tokenizer) -> None:
        if (inner.token_to_id(END_OF_TEXT), inner.token_to_id(PAD)) != (END_OF_TEXT_ID, PAD_ID):
            raise SomelabError(
                f"the tokenizer does not begin with {END_OF_TEXT} and {PAD}; use one that somelab has trained"
            )
        # Without this, text that spells "<|endoftext|>" would end a document. The setting is not saved in the
        # file.
        inner.encode_special_tokens = True
        self._inner = inner

    @classmethod
    def train(cls, documents: Iterable[str], vocab_size: int) -> Tokenizer:
        """A vocabulary of at most `vocab_size` tokens; fewer if the text is too short."""
        check_vocab_size(vocab_size)
        inner = tokenizers.Tokenizer(models.BPE())
        inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        inner.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=vocab_size,
            min_frequency=SMALLEST_PAIR_COUNT,
            special_tokens=[END_OF_TEXT, PAD],
            initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
            show_progress=False,
        )
        inner.train_from_iterator(documents, trainer)
        return cls(inner)

    def encode(self, text: str) -> list[int]:
        """The tokens of a text, without the end token."""
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of many texts, on all cores."""
        try:
            return [encoding.ids for encoding in self._inner.encode_batch_fast(list(texts))]
        except TypeError:  # raised for half a surrogate pair, which has no UTF-8
            broken = next(
                (text for text in texts if any("\ud800" <= letter <= "\udfff" for letter in text)), None
            )
            if broken is None:
                raise
            raise SomelabError(
                f"the text {broken[:40]!r} holds half of a surrogate pair, not Unicode text; remove it"
            ) from None

    def decode(self, ids: Iterable[int], special: bool = False) -> str:
        """The text of tokens; special tokens are left out unless requested. A cut character shows as
        U+FFFD."""
        return self._inner.decode([int(token) for token in ids], skip_special_tokens=not special)

    @property
    def vocab_size(self) -> int:
        return self._inner.get_vocab_size()

    def bytes_of_token(self, token: int) -> bytes:
        """The bytes of a token, possibly part of a character; empty for special and unknown tokens."""
        if token in (END_OF_TEXT_ID, PAD_ID):
            return b""
        return bytes(_BYTES[letter] for letter in self._inner.id_to_token(token) or "")

    @cached_property
    def num_bytes_of_token(self) -> NDArray[np.int64]:
        """UTF-8 bytes of each token by id, for bits per byte."""
        return np.array([len(self.bytes_of_token(token)) for token in range(self.vocab_size)], dtype=np.int64)

    @cached_property
    def digest(self) -> str:
        """Twelve hexadecimal digits that identify the tokenizer."""
        return hashlib.blake2b(self.to_json().encode(), digest_size=6).hexdigest()

    def to_json(self) -> str:
        """The content of `tokenizer.json`, which the `tokenizers` library reads too."""
        return self._inner.to_str(pretty=True)

    def save(self, path: Path) -> None:
        path.write_text(self.to_json(), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Tokenizer:
        try:
            return cls.from_json(guarded.read_text(path, limit=LARGEST_FILE))
        except OSError as error:
            raise SomelabError(
                f"tokenizer {path} cannot be read ({error.strerror}); give the path of a tokenizer.json"
            ) from None
        except ValueError:
            raise SomelabError(f"{path} is not a tokenizer; give the path of a tokenizer.json") from None

    @classmethod
    def from_json(cls, text: str) -> Tokenizer:
        try:
            return cls(tokenizers.Tokenizer.from_str(text))
        except SomelabError:
            raise
        except Exception as error:  # the library raises bare Exception if parsing fails
            raise ValueError(str(error)) from None
