"""Tasks of the real lm-evaluation-harness on a run, and bits per byte of any text."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch

import somelab
from somelab.cli.main import main
from somelab.interop.evaluation.making import FOLDER, ITEMS, as_text

LIMIT = 24


@pytest.mark.parametrize("name", ITEMS)
def test_the_items_are_what_the_corpus_gives(name: str) -> None:
    assert (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8") == as_text(name)
    items = [json.loads(line) for line in as_text(name).splitlines()]
    assert len(items) == 200
    for item in items:
        assert len(set(item["choices"])) == len(item["choices"])
        assert 0 <= item["answer"] < len(item["choices"])
        assert item["context"] == item["context"].strip() != ""
    places = [item["answer"] for item in items]
    assert min(places.count(place) for place in set(places)) > 0.6 * len(items) / len(set(places))


def ours(lm: somelab.LanguageModel, item: dict[str, Any]) -> int:
    """The choice of the highest likelihood, computed here from somelab's own logits."""
    scores: list[float] = []
    for choice in item["choices"]:
        # As the harness splits: the tokens of the whole minus those of the context.
        whole, context = (
            lm.tokenizer.encode(f"{item['context']} {choice}"),
            lm.tokenizer.encode(item["context"]),
        )
        answer = whole[len(context) :]
        kept = whole[-(lm.config.model.seq_len + 1) :]
        with torch.no_grad():
            logits = lm.model(torch.tensor([kept[:-1]])).logits_BTV
        assert logits is not None
        likely = logits[0].log_softmax(dim=-1)[-len(answer) :]
        scores.append(float(likely[torch.arange(len(answer)), torch.tensor(answer)].sum()))
    return max(range(len(scores)), key=scores.__getitem__)


def test_the_tasks_through_the_harness(lm: somelab.LanguageModel, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("lm_eval", reason="the extra eval is not installed")
    argv = ["eval", str(lm.path), "--tasks", "story,word_class", "--limit", str(LIMIT), "--json"]
    assert main(argv) == 0
    found = json.loads(capsys.readouterr().out)["tasks"]
    assert found["somelab_story"]["chance"] == 0.25
    for name in ITEMS:
        items = [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text().splitlines()][:LIMIT]
        share = sum(ours(lm, item) == item["answer"] for item in items) / LIMIT
        record = found[f"somelab_{name}"]
        assert record["num_items"] == LIMIT
        # Padding moves logits by a rounding, which may turn one near tie.
        assert abs(record["acc"] - share) <= 1 / LIMIT + 1e-9
        assert record["acc_stderr"] > 0
    assert main(["eval", str(lm.path), "--tasks", "word_class", "--limit", "4"]) == 0
    assert "somelab_word_class" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        pytest.param(["--tasks", "storie"], "did you mean story?", marks=pytest.mark.slow),
        (["--tasks", ""], "names no task"),
        (["--tasks", "story", "--limit", "0"], "choose 1 or more"),
        (["--limit", "3"], "add --tasks"),
        (["--tasks", "story", "--data", "builtin"], "leave --data out"),
    ],
)
def test_bad_input_is_one_line(
    lm: somelab.LanguageModel, flags: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("lm_eval", reason="the extra eval is not installed")
    assert main(["eval", str(lm.path), *flags]) == 2
    complaint = capsys.readouterr().err.splitlines()[-1]
    assert line in complaint


def test_bits_per_byte_of_any_text(lm: somelab.LanguageModel, tmp_path: Path) -> None:
    """The same number from Hugging Face's side: the loss of each token but the first, over its bytes."""
    pytest.importorskip("transformers", reason="the extra hf is not installed")
    from transformers import AutoModelForCausalLM

    file = tmp_path / "own.txt"
    file.write_text("Eva found a wet stone. Gus liked a kite.\n", encoding="utf-8")
    measured = lm.evaluate(file)
    model = AutoModelForCausalLM.from_pretrained(lm.save_pretrained(tmp_path / "model"))
    tokens = [*lm.tokenizer.encode(file.read_text().strip()), 0]
    batch = torch.tensor([tokens])
    with torch.no_grad():
        nats = float(model(batch, labels=batch).loss) * (len(tokens) - 1)
    num_bytes = sum(len(lm.tokenizer.bytes_of_token(token)) for token in tokens[1:])
    assert math.isclose(measured.bits_per_byte, nats / math.log(2) / num_bytes, rel_tol=1e-4)
