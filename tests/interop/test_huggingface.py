"""Exported runs in the real transformers: the same logits, generation, one line to load, small files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import somelab
from somelab.cli.main import main
from somelab.errors import SomelabError
from tests.model.builders import BACKBONES, decoder_of, tokens_of

transformers = pytest.importorskip("transformers", reason="the extra hf is not installed")

ROUNDING = 2e-6


@pytest.fixture(scope="module")
def folder(lm: somelab.LanguageModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lm.save_pretrained(tmp_path_factory.mktemp("export") / "model")


@pytest.fixture(scope="module")
def loaded(folder: Path) -> Any:
    return transformers.AutoModelForCausalLM.from_pretrained(folder)


@pytest.fixture(scope="module")
def tokenizer(folder: Path) -> Any:
    return transformers.AutoTokenizer.from_pretrained(folder)


def encoded(lm: somelab.LanguageModel, text: str = "Ann saw a red dog. Ben") -> Tensor:
    return torch.tensor([lm.tokenizer.encode(text)])


def test_logits_are_those_of_the_run(lm: somelab.LanguageModel, loaded: Any) -> None:
    tokens_BT = encoded(lm)
    with torch.no_grad():
        assert torch.equal(loaded(tokens_BT).logits, lm.model(tokens_BT).logits_BTV)


def test_trained_and_frozen_weights_are_those_of_the_run(lm: somelab.LanguageModel, loaded: Any) -> None:
    ours = {f"decoder.{name}": weight.requires_grad for name, weight in lm.model.named_parameters()}
    assert {name: weight.requires_grad for name, weight in loaded.named_parameters()} == ours
    for name, tensor in lm.model.state_dict().items():
        assert torch.equal(loaded.state_dict()[f"decoder.{name}"], tensor), name


@pytest.mark.parametrize("feed_forward", ["some", "dense", "frozen_dense", "moe", "none"])
@pytest.mark.parametrize("backbone", BACKBONES)
def test_padding_and_cache_change_nothing(tmp_path: Path, backbone: str, feed_forward: str) -> None:
    """Rows with padding on the left, and tokens that come one after the other, for every kind of model."""
    from somelab.interop.huggingface.configuration import SomelabConfig
    from somelab.interop.huggingface.modeling import SomelabForCausalLM

    decoder = decoder_of({**BACKBONES[backbone], "feed_forward": feed_forward}).eval()
    wrapped = SomelabForCausalLM(SomelabConfig(decoder.config.model_dump(mode="json"))).eval()
    wrapped.decoder.load_state_dict(decoder.state_dict())
    wrapped.save_pretrained(tmp_path)
    loaded = SomelabForCausalLM.from_pretrained(tmp_path)
    tokens_BT = tokens_of(2, 12)
    attended_BT = torch.ones_like(tokens_BT)
    attended_BT[0, :4] = 0
    with torch.no_grad():
        wanted = decoder(tokens_BT).logits_BTV
        shorter = decoder(tokens_BT[:1, 4:]).logits_BTV
        padded = loaded(tokens_BT, attention_mask=attended_BT)
        assert torch.allclose(padded.logits[0, 4:], shorter[0], atol=ROUNDING)
        assert torch.allclose(padded.logits[1], wanted[1], atol=ROUNDING)
        first = loaded(tokens_BT[:, :8], attention_mask=attended_BT[:, :8], use_cache=True)
        second = loaded(
            tokens_BT[:, 8:11], attention_mask=attended_BT[:, :11], past_key_values=first.past_key_values
        )
        last = loaded(tokens_BT[:, 11:], attention_mask=attended_BT, past_key_values=second.past_key_values)
        made = torch.cat([first.logits, second.logits, last.logits], dim=1)
    assert torch.allclose(made[0, 4:], shorter[0], atol=ROUNDING)
    assert torch.allclose(made[1], wanted[1], atol=ROUNDING)


def test_greedy_generation_is_ours(lm: somelab.LanguageModel, loaded: Any, tokenizer: Any) -> None:
    text = lm.generate("Ann saw", max_new_tokens=12, temperature=0)
    batch = tokenizer("Ann saw", return_tensors="pt")
    for use_cache in (True, False):
        made = loaded.generate(**batch, max_new_tokens=12, do_sample=False, use_cache=use_cache)
        assert tokenizer.decode(made[0], skip_special_tokens=True) == text


def test_a_batch_of_prompts_is_padded_on_the_left(
    lm: somelab.LanguageModel, loaded: Any, tokenizer: Any
) -> None:
    prompts = ["Ann saw a red", "Ben"]
    batch = tokenizer(prompts, return_tensors="pt", padding=True)
    made = loaded.generate(**batch, max_new_tokens=8, do_sample=False)
    texts = tokenizer.batch_decode(made, skip_special_tokens=True)
    assert texts == lm.generate(prompts, max_new_tokens=8, temperature=0)


def test_beams_find_text_at_least_as_likely_as_greedy(loaded: Any, tokenizer: Any) -> None:
    batch = tokenizer("Ann saw", return_tensors="pt")
    same: dict[str, Any] = {"max_new_tokens": 6, "min_new_tokens": 6, "do_sample": False}

    def nats(tokens_1T: Tensor) -> float:
        with torch.no_grad():
            return float(loaded(tokens_1T, labels=tokens_1T).loss)

    beams = loaded.generate(**batch, num_beams=4, **same)
    greedy = loaded.generate(**batch, **same)
    assert beams.shape == greedy.shape
    assert nats(beams) <= nats(greedy) + ROUNDING


def test_sampling_follows_the_seed(loaded: Any, tokenizer: Any) -> None:
    batch = tokenizer("Ann saw", return_tensors="pt")

    def drawn(seed: int) -> list[int]:
        torch.manual_seed(seed)
        return loaded.generate(**batch, max_new_tokens=20, do_sample=True, top_k=40)[0].tolist()

    assert drawn(1) == drawn(1) != drawn(2)


def test_the_pipeline(folder: Path, lm: somelab.LanguageModel) -> None:
    generate = transformers.pipeline("text-generation", model=str(folder))
    (made,) = generate("Ann saw", max_new_tokens=6, do_sample=False)
    assert made["generated_text"] == lm.generate("Ann saw", max_new_tokens=6, temperature=0)


def test_the_tokenizer_is_ours(lm: somelab.LanguageModel, tokenizer: Any) -> None:
    for text in ("Ann saw a red dog.", "naïve café 🙂\n\ttabs", "<|endoftext|> is only text"):
        tokens = lm.tokenizer.encode(text)
        assert tokenizer(text)["input_ids"] == tokens
        assert tokenizer.decode(tokens) == text
    assert tokenizer.is_fast
    assert (tokenizer.eos_token_id, tokenizer.pad_token_id) == (0, 1)


def test_the_loss_is_the_mean_over_labels(lm: somelab.LanguageModel, loaded: Any) -> None:
    tokens_BT = encoded(lm)
    labels_BT = tokens_BT.clone()
    labels_BT[:, :3] = -100
    with torch.no_grad():
        logits = lm.model(tokens_BT).logits_BTV
        assert logits is not None
        wanted = torch.nn.functional.cross_entropy(logits[0, 2:-1], tokens_BT[0, 3:])
        assert torch.allclose(loaded(tokens_BT, labels=labels_BT).loss, wanted, atol=ROUNDING)


def test_bfloat16_leaves_the_keys_alone(folder: Path, lm: somelab.LanguageModel) -> None:
    narrow = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16)
    assert narrow.decoder.embedding.weight.dtype == torch.bfloat16
    for layer, ours in zip(narrow.decoder.some_layers(), lm.layers, strict=True):
        assert torch.equal(layer.keys, ours.keys)
        assert layer.keys.dtype == torch.float32
    tokens_BT = encoded(lm)
    with torch.no_grad():
        close = (narrow(tokens_BT).logits.float() - lm.model(tokens_BT).logits_BTV).abs().max()
    assert close < 0.1


def test_frozen_pools_are_a_seed_and_a_digest(text: Path, tmp_path: Path) -> None:
    """A run whose pool is far larger than what is trained; the folder is small, and its model the same."""
    from tests.training.builders import SMALL

    large = {
        **SMALL,
        "experts.family": "dense",
        "experts.num_experts": 128,
        "experts.d_ffn": 128,
        "train.steps": 2,
    }
    lm = somelab.train("demo", data=text, out=tmp_path / "run", settings=large)
    small = lm.save_pretrained(tmp_path / "small")
    full = lm.save_pretrained(tmp_path / "full", full_pools=True)

    def size(folder: Path) -> int:
        return sum(file.stat().st_size for file in folder.glob("*.safetensors"))

    assert size(small) * 15 < size(full)
    tokens_BT = encoded(lm)
    with torch.no_grad():
        wanted = lm.model(tokens_BT).logits_BTV
        for folder in (small, full):
            loaded = transformers.AutoModelForCausalLM.from_pretrained(folder)
            assert torch.equal(loaded(tokens_BT).logits, wanted)


def test_pools_that_are_drawn_differently_are_refused(folder: Path, tmp_path: Path) -> None:
    copied = tmp_path / "model"
    copied.mkdir()
    for file in folder.iterdir():
        (copied / file.name).write_bytes(file.read_bytes())
    config = json.loads((copied / "config.json").read_text())
    next(iter(config["pools"].values()))["digest"] = "0" * 32
    (copied / "config.json").write_text(json.dumps(config))
    with pytest.raises(SomelabError, match=r"drawn differently .*--full-pools"):
        transformers.AutoModelForCausalLM.from_pretrained(copied)


def test_a_loaded_model_can_be_moved(folder: Path) -> None:
    """Trainers move a model before its first step, when statistics of a step do not exist yet."""
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).to("cpu").train()
    tokens_BT = torch.arange(2, 14).view(2, 6)
    model(tokens_BT, labels=tokens_BT).loss.backward()
    for layer in model.decoder.some_layers():
        assert float(layer.statistics.num_tokens) == 10  # the last token of a row predicts nothing
        assert float(layer.statistics.count_E.sum()) == 10 * 2


def test_a_loaded_model_can_be_saved_again(folder: Path, loaded: Any, tmp_path: Path) -> None:
    loaded.save_pretrained(tmp_path)
    for name in ("model.safetensors", "config.json", "modeling_somelab.py", "somelab_source.py"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes(), name


def test_the_card_tells_what_the_run_folder_knows(lm: somelab.LanguageModel, folder: Path) -> None:
    card = (folder / "README.md").read_text()
    final = lm.run.records("metrics")[-1]
    assert f"| {final['val_loss']:.4f} |" in card
    assert f"| trained | {lm.run.facts()['parameters']['trainable']:,} |" in card
    assert lm.run.records("samples")[-1]["text"][:40] in card
    assert "## Collapse" in card
    assert "short.txt" in card
    written = card + (folder / "config.json").read_text()
    assert str(lm.path.parent) not in written, "a path of the author's machine"
    import yaml

    assert yaml.safe_load(card.split("---")[1])["pipeline_tag"] == "text-generation"


WITHOUT_SOMELAB = """
import sys
from pathlib import Path
sys.path = [path for path in sys.path if not (Path(path or ".") / "somelab").is_dir()]
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
folder = sys.argv[1]
model = AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=True)
tokenizer = AutoTokenizer.from_pretrained(folder)
batch = tokenizer("Ann saw a red dog.", return_tensors="pt")
torch.save(model(**batch).logits.detach(), sys.argv[2])
made = model.generate(**batch, max_new_tokens=4, do_sample=False)
model.save_pretrained(sys.argv[3])
import somelab.core.layer
assert not hasattr(somelab.core.layer, "__file__"), somelab.core.layer.__file__
"""


def test_the_shipped_code_works_without_somelab(
    folder: Path, lm: somelab.LanguageModel, tmp_path: Path
) -> None:
    """In a process that cannot find somelab: the same logits, and the folder can be written again."""
    import os

    arguments = [str(folder), str(tmp_path / "logits.pt"), str(tmp_path / "again")]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["HF_MODULES_CACHE"] = str(tmp_path / "modules")
    environment["OMP_NUM_THREADS"] = "1"
    script = tmp_path / "script.py"
    script.write_text(WITHOUT_SOMELAB)
    command = [sys.executable, str(script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    with torch.no_grad():
        wanted = lm.model(encoded(lm, "Ann saw a red dog.")).logits_BTV
    assert wanted is not None
    assert torch.allclose(torch.load(arguments[1]), wanted, atol=ROUNDING)
    again = tmp_path / "again" / "somelab_source.py"
    assert again.read_bytes() == (folder / "somelab_source.py").read_bytes()


@pytest.mark.parametrize("first", ["somelab", "transformers"])
def test_importing_both_registers_the_classes(first: str) -> None:
    second = {"somelab": "transformers", "transformers": "somelab"}[first]
    code = (
        f"import {first}, {second}\nfrom transformers import AutoConfig\n"
        "assert AutoConfig.for_model('somelab').model_type == 'somelab'"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_verb(lm: somelab.LanguageModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "model"
    assert main(["export", str(lm.path), str(out), "--to", "hf", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["files"].keys() == {file.name for file in out.iterdir()}
    assert record["step"] == lm.step
    assert main(["export", str(lm.path), str(out)]) == 2
    assert "exists and is not empty; choose another one" in capsys.readouterr().err
    assert main(["export", str(tmp_path), str(tmp_path / "x")]) == 2
    assert "has no run.json" in capsys.readouterr().err
    assert main(["export", str(lm.path), str(tmp_path / "y"), "--to", "keras"]) == 2
    assert not (tmp_path / "y").exists()


def test_what_cannot_be_read_is_refused_in_a_line(loaded: Any) -> None:
    with pytest.raises(SomelabError, match="pass input_ids"):
        loaded(inputs_embeds=torch.zeros(1, 3, 32))
    with pytest.raises(SomelabError, match=r"is not \[B, S\]"):
        loaded(torch.zeros(1, 3, dtype=torch.long), attention_mask=torch.ones(1, 1, 3, 3))
