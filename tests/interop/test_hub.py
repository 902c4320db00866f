"""Uploading to the Hub: the real client, against a Hub in a local folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import somelab
from somelab.errors import SomelabError
from tests.interop.local_hub import TOKEN, local_hub

transformers = pytest.importorskip("transformers", reason="the extra hf is not installed")


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    from huggingface_hub import constants

    with local_hub(tmp_path / "hub") as address:
        monkeypatch.setattr(constants, "ENDPOINT", address)
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        yield tmp_path / "hub"


def test_a_run_is_uploaded_whole(
    hub: Path, lm: somelab.LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    assert "me/small" in lm.push_to_hub("me/small")
    folder = hub / "me" / "small"
    assert {"README.md", "config.json", "model.safetensors", "tokenizer.json", "somelab_source.py"} <= {
        file.name for file in folder.iterdir()
    }
    loaded = transformers.AutoModelForCausalLM.from_pretrained(folder)
    tokens_BT = torch.tensor([lm.tokenizer.encode("Ann saw")])
    with torch.no_grad():
        assert torch.equal(loaded(tokens_BT).logits, lm.model(tokens_BT).logits_BTV)


def test_without_a_login_there_is_a_line(
    hub: Path, lm: somelab.LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "wrong")
    with pytest.raises(SomelabError, match=r"was not uploaded .*log in with `hf auth login`") as caught:
        lm.push_to_hub("me/small")
    assert "\n" not in str(caught.value)
    with pytest.raises(SomelabError, match="give USER/NAME"):
        lm.push_to_hub("not a name!")
