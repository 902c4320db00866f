"""What the decoder must do for its SoME layers: statistics of the real batch once, gravity once per step over
all layers, progress, grounding, and the sum of their losses.

Shape letters: B sequences, T tokens, E experts, K experts per token."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import Tensor

import somelab.core.layer as layer_module
from somelab.core.layer import LayerOutput
from somelab.core.statistics import all_reduce_
from somelab.model import Decoder
from tests.model.builders import assert_bit_equal, buffers_of, decoder_of, tokens_of


def statistics_of(model: Decoder) -> list[dict[str, Tensor]]:
    return [
        {name: value.clone() for name, value in layer.statistics.named_buffers()}
        for layer in model.some_layers()
    ]


def read(model: Decoder, tokens: Tensor, **given: Any) -> dict[str, Tensor]:
    output = model(tokens, **given)
    (output.logits_BTV.square().mean() + output.aux_loss).backward()
    return {name: p.grad for name, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("grounding", [0.0, 0.1])
def test_recompute_changes_neither_gradients_nor_statistics(grounding: float):
    tokens, counted = tokens_of(3, 10), torch.arange(10).expand(3, 10) < 7
    documents = torch.tensor([[0] * 4 + [1] * 6] * 3)
    router = {"kind": "mlp", "grounding": grounding, "balance_loss": 0.1}
    results = []
    for recompute in (False, True):
        model = decoder_of(router=router, train={"recompute": recompute})
        gradients = read(model, tokens, counted_BT=counted, documents_BT=documents)
        results.append(
            (
                gradients,
                statistics_of(model),
                [report.count_E for report in model.apply_gravity_()],
                buffers_of(model),
            )
        )
    kept, recomputed = results
    torch.testing.assert_close(recomputed[0], kept[0])
    assert len(kept[0]) > 10
    torch.testing.assert_close(recomputed[1], kept[1], rtol=0, atol=0)
    # Counted tokens x K, in both layers.
    assert [int(count_E.sum()) for count_E in recomputed[2]] == [3 * 7 * 2] * 2
    assert_bit_equal(kept[3], recomputed[3])


def test_recompute_gives_the_same_credit_from_backward():
    tokens, gravity = tokens_of(3, 10), {"credit": 0.1, "credit_from": "backward"}
    credits = []
    for recompute in (False, True):
        model = decoder_of(gravity=gravity, router={"temperature": 0.1}, train={"recompute": recompute})
        read(model, tokens)
        credits.append([layer.statistics.credit_ED.clone() for layer in model.some_layers()])
    kept, recomputed = credits
    assert all(float(credit_ED.abs().sum()) > 0 for credit_ED in kept)
    torch.testing.assert_close(recomputed, kept)


def test_recompute_keeps_fewer_tensors_alive():
    """Without recompute the graph holds each block's inner states; with it, little more than its input."""
    sizes = []
    for recompute in (False, True):
        model = decoder_of({"num_layers": 4}, train={"recompute": recompute})
        held: list[int] = []
        with torch.autograd.graph.saved_tensors_hooks(
            lambda tensor, held=held: held.append(tensor.numel()) or tensor, lambda t: t
        ):
            output = model(tokens_of(2, 16), hidden_only=True)
        sizes.append(sum(held) + sum(value.numel() for selection in output.routings for value in selection))
    assert sizes[1] < sizes[0] / 4


def test_gravity_moves_keys_of_every_layer_and_nothing_else():
    model = decoder_of()
    before = buffers_of(model)
    read(model, tokens_of(2, 12))
    collected = statistics_of(model)
    reports = model.apply_gravity_()
    after = buffers_of(model)
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    for layer, report in enumerate(reports):
        assert f"blocks.{layer}.feed_forward.keystore.keys_ED" in changed
        assert torch.equal(report.count_E, collected[layer]["count_E"])
        assert int(report.count_E.sum()) == 2 * 12 * 2
    assert all(".keystore." in name for name in changed)


def test_forward_passes_add_up_until_gravity():
    model, tokens = decoder_of(), tokens_of(4, 8)
    read(model, tokens[:2])
    read(model, tokens[2:])
    halves = statistics_of(model)
    model.apply_gravity_()
    whole = decoder_of()
    read(whole, tokens)
    torch.testing.assert_close(halves, statistics_of(whole))
    assert all(value.count_nonzero() == 0 for layer in statistics_of(model) for value in layer.values())


@pytest.fixture
def one_rank() -> Iterator[None]:
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


@pytest.mark.usefixtures("one_rank")
def test_one_collective_for_all_layers(monkeypatch: pytest.MonkeyPatch):
    calls: list[int] = []

    def watched(statistics: Any, group: Any = None) -> None:
        calls.append(len(statistics))
        all_reduce_(statistics, group)

    monkeypatch.setattr(layer_module, "all_reduce_", watched)
    model = decoder_of({"num_layers": 3}, gravity={"every": 2})
    for _ in range(3):
        read(model, tokens_of(1, 8))
        model.apply_gravity_()
    assert calls == [3, 3]  # steps 0 and 2; step 1 is not due, and so sends nothing


def test_progress_reaches_every_layer():
    model = decoder_of(router={"kind": "mlp", "top_k_warmup": 0.5})
    model.set_progress_(0, 10)
    assert [selection.indices_TK.shape[1] for selection in model(tokens_of(1, 4)).routings] == [1, 1]
    model.set_progress_(5, 10)
    assert [selection.indices_TK.shape[1] for selection in model(tokens_of(1, 4)).routings] == [2, 2]


def test_grounding_hands_each_layer_the_query_before_it():
    model = decoder_of({"num_layers": 3}, router={"kind": "mlp", "grounding": 0.1})
    given: list[Tensor | None] = []
    queries: list[Tensor] = []

    def watch(_: Any, args: Any, kwargs: Any, output: LayerOutput) -> None:
        given.append(kwargs["previous_query"])
        queries.append(output.query)

    for layer in model.some_layers():
        layer.register_forward_hook(watch, with_kwargs=True)
    model(tokens_of(2, 5))
    assert given[0] is None
    assert given[1] is queries[0]
    assert given[2] is queries[1]


def test_without_grounding_no_query_leaves_its_layer():
    model = decoder_of()
    given: list[Tensor | None] = []
    for layer in model.some_layers():
        layer.register_forward_pre_hook(
            lambda _, args, kwargs: given.append(kwargs["previous_query"]), with_kwargs=True
        )
    model(tokens_of(2, 5))
    assert given == [None, None]


def test_losses_of_the_layers_add_up():
    model = decoder_of({"num_layers": 3}, router={"kind": "linear", "balance_loss": 0.5})
    parts: list[Tensor] = []
    for layer in model.some_layers():
        layer.register_forward_hook(lambda _, args, output: parts.append(output.aux_loss))
    output = model(tokens_of(2, 9))
    assert len(parts) == 3
    assert min(part.item() for part in parts) > 0
    torch.testing.assert_close(output.aux_loss, sum(parts))
    assert output.aux_loss.dtype == torch.float32
    assert decoder_of({"feed_forward": "dense"})(tokens_of(1, 3)).aux_loss.item() == 0


def test_routings_are_light_and_without_gradient():
    output = decoder_of()(tokens_of(2, 5))
    for selection in output.routings:
        assert selection.indices_TK.shape == selection.gates_TK.shape == (10, 2)
        assert not selection.gates_TK.requires_grad
        torch.testing.assert_close(selection.gates_TK.sum(dim=1), torch.ones(10))
