"""A model without a causal mask, as in the first notebooks: it reads the answer, cannot generate, and says so
wherever its figures are shown."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import pytest
import torch

from somelab.cli.main import main
from somelab.config import override, preset
from somelab.errors import ConfigError
from somelab.experiments.runner.plan import Arm
from somelab.experiments.sweeps.table import Row
from somelab.model import Decoder
from somelab.model.generate import generate
from somelab.runs import RunFolder
from somelab.view.page.payload import run_of
from tests.training.builders import SMALL, config_of, flags_of, trainer_of, write_text

ALONE: dict[str, Any] = {**SMALL, "model.causal": False}
SENTENCE = "no causal mask: every token sees the tokens that it is to predict"


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_text(tmp_path_factory.mktemp("mask") / "short.txt")


@pytest.fixture(scope="module")
def run(text: Path) -> Path:
    out = text.with_name("run")
    assert main(["train", "demo", "--data", str(text), "--out", str(out), *flags_of(ALONE)]) == 0
    return out


@pytest.mark.parametrize("positions", ["sinusoidal", "rope", "alibi"])
@pytest.mark.parametrize("packed", [True, False])
@torch.no_grad()
def test_only_without_a_mask_does_the_future_matter(positions: str, packed: bool) -> None:
    """Change the last token of the first of two documents: earlier tokens of that document notice, and no
    other."""
    tokens = torch.randint(3, 500, (1, 12), generator=torch.Generator().manual_seed(0))
    changed = tokens.clone()
    changed[0, 6] = 1 + tokens[0, 6] % 400
    documents = torch.tensor([[0] * 7 + [1] * 5]) if packed else None
    settings = {**SMALL, "model.positions": positions}
    for causal in (True, False):
        model = Decoder(override(preset("demo").config, {**settings, "model.causal": causal})).eval()
        before, after = (model(x, documents_BT=documents).hidden_BTD[0] for x in (tokens, changed))
        moved = [not torch.equal(one, other) for one, other in zip(before, after, strict=True)]
        later = [not packed] * 5
        assert moved == ([False] * 6 + [True, *later] if causal else [True] * 7 + later)


def test_masks_and_calls_per_document_agree() -> None:
    """Long rows are read document by document, short ones with a mask: the same without causality."""
    from somelab.model import placing

    config = override(preset("demo").config, ALONE)
    tokens = torch.randint(3, 500, (2, 16), generator=torch.Generator().manual_seed(0))
    documents = torch.tensor([[0] * 9 + [1] * 7, [0] * 4 + [1] * 12])
    found: list[torch.Tensor] = []
    for by_document in (True, False):
        with pytest.MonkeyPatch.context() as patch, torch.no_grad():
            patch.setattr(placing, "pays_by_document", lambda *_, answer=by_document: answer)
            found.append(Decoder(config).eval()(tokens, documents_BT=documents).hidden_BTD)
    torch.testing.assert_close(*found)


def test_it_cannot_generate(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = Decoder(override(preset("demo").config, ALONE))
    for use_cache in (True, False):
        with pytest.raises(ConfigError, match=r"model.causal = False: each token has seen"):
            generate(model, [3, 4], max_new_tokens=2, use_cache=use_cache)
    assert main(["generate", str(run), "--prompt", "Ann"]) == 2
    assert "train with model.causal = true" in capsys.readouterr().err


def test_it_says_so_everywhere(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = RunFolder(run).records("metrics")
    warnings = [record["sentence"] for record in records if record["kind"] == "warning"]
    assert warnings[0].startswith(SENTENCE.upper())
    assert records[-1]["kind"] == "final"
    assert records[-1]["findings"][0].startswith(SENTENCE)
    assert RunFolder(run).records("samples") == []
    assert main(["eval", str(run)]) == 0
    assert f"! {SENTENCE}" in capsys.readouterr().out
    page = run_of(run)
    assert page.verdict.startswith(SENTENCE.upper())
    assert page.warnings[0].kind == "no causal mask"
    arm = Arm("mine", RunFolder(run).config())
    assert Row(arm, (), {}, {}).label == "mine *no causal mask: reads the answer*"


def test_a_causal_run_says_nothing_of_it(text: Path, tmp_path: Path) -> None:
    trainer = trainer_of(config_of(text, train__steps=2), tmp_path / "run")
    evaluation = trainer.fit().evaluation
    assert evaluation is not None
    assert not any("mask" in sentence for sentence in evaluation.findings)


def test_it_reads_the_answer(tmp_path: Path) -> None:
    """One and the same small model on words in random order, which cannot be predicted. Without a mask it
    learns to look one token ahead."""
    chance = random.Random(0)
    words = [f"{first}{last}" for first in "bdfgklmnprst" for last in ("a", "e", "i", "o", "u")]
    stories = [" ".join(chance.choices(words, k=24)) for _ in range(400)]
    (tmp_path / "words.txt").write_text("\n<|endoftext|>\n".join(stories) + "\n")
    losses: dict[bool, float] = {}
    for causal in (True, False):
        settings = {
            **SMALL,
            "model.causal": causal,
            "model.vocab_size": 400,
            "model.feed_forward": "none",
            "model.backbone": "modern",  # learns to look ahead sooner
            "train.steps": 200,
            "train.learning_rate": 1e-2,
            "train.batch_size": 16,
            "train.eval_every": 1000,
        }
        trainer = trainer_of(config_of(tmp_path / "words.txt", settings), tmp_path / f"run-{causal}")
        evaluation = trainer.fit().evaluation
        assert evaluation is not None
        losses[causal] = evaluation.val_loss
    assert losses[True] > 0.9 * math.log(len(words))
    assert losses[False] < losses[True] - 1
