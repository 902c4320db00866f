"""A tiny Llama model with random weights, and a tokenizer of letters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

transformers = pytest.importorskip("transformers", reason="the extra hf is not installed")

VOCABULARY = 64


def llama(**changes: Any) -> Any:
    shape = {
        "vocab_size": VOCABULARY,
        "hidden_size": 32,
        "intermediate_size": 96,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 1024,
        "tie_word_embeddings": True,
        "initializer_range": 0.3,
        "bos_token_id": None,
        "eos_token_id": None,
    }
    torch.manual_seed(0)
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**{**shape, **changes})).eval()


def letters() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = {chr(32 + i): i for i in range(VOCABULARY - 1)} | {"<unk>": VOCABULARY - 1}
    made = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, unk_token="<unk>")


@pytest.fixture(scope="session")
def tiny() -> Any:
    return llama()


@pytest.fixture(scope="session")
def tiny_folder(tiny: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiny")
    tiny.save_pretrained(folder)
    letters().save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def rows() -> torch.Tensor:
    return torch.randint(0, VOCABULARY, (3, 300), generator=torch.Generator().manual_seed(1))
