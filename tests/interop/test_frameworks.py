"""The recipes of docs/guides/frameworks.md with the real packages. tests/docs runs those of packages that
every test environment has; here runs the one for PEFT, after what it builds on."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs/guides/frameworks.md"
BLOCK = re.compile(r"^```(?:python|py)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_a_lora_on_the_trained_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("peft", reason="the extra frameworks is not installed")
    monkeypatch.chdir(tmp_path)
    begin, trainer, accelerate, _, peft = (block[1] for block in BLOCK.finditer(PAGE.read_text()))
    collator = re.search(r"^collator = .*$", trainer, re.MULTILINE)
    assert collator is not None
    names: dict[str, Any] = {}
    more = f"import torch\nfrom transformers import DataCollatorForSeq2Seq\n{collator[0]}\n"
    exec(begin + more, names)
    keys = [
        layer.keys.clone()
        for layer in names["AutoModelForCausalLM"].from_pretrained("out").decoder.some_layers()
    ]
    exec(peft, names)
    assert accelerate.startswith("import torch")
    trained, total = names["adapted"].get_nb_trainable_parameters()
    assert 0 < trained < total / 5
    trainable = {name for name, weight in names["adapted"].named_parameters() if weight.requires_grad}
    assert any("router.linears" in name for name in trainable)
    assert all("lora_" in name for name in trainable)
    for layer, before in zip(names["base"].decoder.some_layers(), keys, strict=True):
        assert layer.keys.equal(before)
        assert layer.experts.is_frozen
    size = sum(file.stat().st_size for file in Path("adapter").glob("*.safetensors"))
    assert size < Path("out/model.safetensors").stat().st_size / 4
