"""`graft`: SoME layers in the feed-forward places of models that know nothing of them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from somelab import SomeLayer, attach, graft
from somelab.errors import ConfigError

transformers: Any = pytest.importorskip("transformers")

SMALL = {"num_experts": 8, "top_k": 2}


def gpt2() -> Any:
    torch.manual_seed(0)
    config = transformers.GPT2Config(vocab_size=50, n_positions=32, n_embd=16, n_layer=3, n_head=2)
    return transformers.GPT2LMHeadModel(config)


def llama(dtype: torch.dtype = torch.float32) -> Any:
    torch.manual_seed(0)
    sizes = {"hidden_size": 24, "intermediate_size": 40, "num_hidden_layers": 2, "num_attention_heads": 2}
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(vocab_size=50, **sizes)).to(dtype)


class Plain(nn.Module):
    """A model of torch alone."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Linear(12, 40), nn.GELU(), nn.Linear(40, 12)) for _ in range(2)
        )
        self.odd = nn.Sequential(nn.GELU())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = x + block(x)
        return x


def test_a_gpt2_of_hugging_face_trains_with_keys_that_move() -> None:
    model = gpt2()
    layers = graft(model, "transformer.h.*.mlp", experts=SMALL)
    assert [layer.keys.shape for layer in layers] == [(8, 16)] * 3
    assert [layer.keystore.layer for layer in layers] == [0, 1, 2]
    assert model.transformer.h[1].mlp is layers[1]
    before = [layer.keys.clone() for layer in layers]
    optimizer = torch.optim.AdamW([weight for weight in model.parameters() if weight.requires_grad], lr=1e-2)
    attach(model, optimizer, num_steps=20)
    tokens = torch.randint(50, (4, 16), generator=torch.Generator().manual_seed(1))
    losses: list[float] = []
    for _ in range(20):
        loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    assert losses[-1] < 0.7 * losses[0]
    assert all(float((layer.keys - start).norm(dim=1).min()) > 0 for layer, start in zip(layers, before))
    text = model.generate(tokens[:1, :4], max_new_tokens=3, do_sample=False, pad_token_id=0)
    assert text.shape == (1, 7)


def test_layers_take_over_type_and_mode() -> None:
    model = llama(torch.bfloat16).eval()
    layers = graft(model, "model.layers.*.mlp", experts={**SMALL, "family": "dense"})
    assert [layer.keys.shape[1] for layer in layers] == [24, 24]
    assert layers[0].experts.down_EFD.dtype == torch.bfloat16
    assert layers[0].keys.dtype == torch.float32
    assert not layers[0].training
    assert model(input_ids=torch.tensor([[1, 2, 3]])).logits.dtype == torch.bfloat16


def test_a_model_of_torch_and_several_patterns() -> None:
    model = Plain()
    layers = graft(model, ["blocks.0", "blocks.1"], experts=SMALL, seed=5)
    assert model(torch.randn(3, 12)).shape == (3, 12)
    again = graft(Plain(), "blocks.*", experts=SMALL, seed=5)  # * does not go on into what it has matched
    assert [one.keystore.digest() for one in layers] == [one.keystore.digest() for one in again]
    regrafted = graft(model, "blocks.*", experts=SMALL, seed=6)
    assert regrafted[0].keystore.digest() != layers[0].keystore.digest()


def test_what_cannot_be_grafted_is_refused_before_anything_changes() -> None:
    model = Plain()
    with pytest.raises(
        ConfigError, match=r"^where = 'block\.\*': matches no module of this model; did you mean"
    ):
        graft(model, "block.*")
    with pytest.raises(
        ConfigError, match=r"^where = 'odd': Sequential has no linear map that gives its width; give d_model"
    ):
        graft(model, ["blocks.0", "odd"])
    assert not any(isinstance(module, SomeLayer) for module in model.modules())
    (layer,) = graft(model, "odd", d_model=12, experts=SMALL)
    assert layer.keys.shape == (8, 12)


def test_the_trainer_of_hugging_face(tmp_path: Any) -> None:
    """Its loop, its accumulation; nothing but `attach` on the optimizer that it is given."""
    pytest.importorskip("accelerate")
    model = gpt2()
    layers = graft(model, "transformer.h.*.mlp", experts=SMALL)
    optimizer = torch.optim.AdamW([weight for weight in model.parameters() if weight.requires_grad], lr=1e-2)
    attachment = attach(model, optimizer, num_steps=6, accumulation=2)
    rows = torch.randint(50, (48, 16), generator=torch.Generator().manual_seed(1)).tolist()
    data = [{"input_ids": row, "labels": row} for row in rows]
    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path),
        max_steps=6,
        per_device_train_batch_size=4,
        gradient_accumulation_steps=2,
        report_to=[],
        save_strategy="no",
        disable_tqdm=True,
        use_cpu=True,
        logging_strategy="no",
    )
    before = [layer.keys.clone() for layer in layers]
    transformers.Trainer(model, arguments, train_dataset=data, optimizers=(optimizer, None)).train()
    assert attachment.step == 6
    assert all(not torch.equal(layer.keys, start) for layer, start in zip(layers, before))
    (report, *_) = attachment.reports
    assert report is not None
    assert float(report.count_E.sum()) == 2 * 4 * 16 * 2  # micro-batches, rows, tokens, experts per token


def test_accelerate() -> None:
    """The prepared optimizer steps at the end of an accumulation only, and so do the keys."""
    accelerate: Any = pytest.importorskip("accelerate")
    accelerator = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=2)
    model = Plain()
    graft(model, "blocks.*", experts=SMALL)
    optimizer = torch.optim.AdamW([weight for weight in model.parameters() if weight.requires_grad], lr=1e-2)
    model, optimizer = accelerator.prepare(model, optimizer)
    attachment = attach(model, optimizer, num_steps=3, accumulation=2)
    for batch in range(6):
        with accelerator.accumulate(model):
            x = torch.randn(5, 12, generator=torch.Generator().manual_seed(batch))
            accelerator.backward(F.mse_loss(model(x), x.roll(1, dims=1)))
            optimizer.step()
            optimizer.zero_grad()
    assert attachment.step == 3


def test_lightning(tmp_path: Any) -> None:
    """`attach` in `configure_optimizers`."""
    lightning: Any = pytest.importorskip("lightning")

    class Module(lightning.LightningModule):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.model = Plain()
            graft(self.model, "blocks.*", experts=SMALL)

        def training_step(self, batch: Any, _: int) -> torch.Tensor:
            return F.mse_loss(self.model(batch), batch.roll(1, dims=1))

        def configure_optimizers(self) -> torch.optim.Optimizer:
            optimizer = torch.optim.AdamW(
                [weight for weight in self.parameters() if weight.requires_grad], lr=1e-2
            )
            self.attachment = attach(self, optimizer, num_steps=self.trainer.estimated_stepping_batches)
            return optimizer

    module = Module()
    trainer = lightning.Trainer(
        max_steps=4,
        accelerator="cpu",
        devices=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=str(tmp_path),
    )
    trainer.fit(module, torch.utils.data.DataLoader(torch.randn(20, 12), batch_size=5))
    assert module.attachment.step == 4
    assert module.attachment.num_steps == 4
    assert all(report is not None and report.count_E.sum() == 5 * 2 for report in module.attachment.reports)
