"""The compiled kernel of attention equals torch's: alone against float64, and inside a decoder, gradients
included. Where it cannot serve, torch does.

Shape letters: N tokens, D model width, H heads, C head width, G documents."""

from __future__ import annotations

from unittest.mock import patch

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from somelab.model import attention, placing
from somelab.model.attention import kernel_for
from somelab.model.positions import Rotation, rotate
from somelab.native.table import NativeKernels
from tests.model.builders import decoder_of, tokens_of
from tests.model.test_attention_by_document import PACKINGS, answers


def expected(qkv_N3D: Tensor, lengths: list[int], num_heads: int, causal: bool) -> Tensor:
    """Document by document, by torch."""
    mixed: list[Tensor] = []
    for of_document in qkv_N3D.split(lengths):
        heads_3HNC = of_document.unflatten(-1, (3, num_heads, -1)).permute(1, 2, 0, 3)
        mixed_HNC = F.scaled_dot_product_attention(*heads_3HNC, is_causal=causal)
        mixed.append(mixed_HNC.transpose(0, 1).flatten(1))
    return torch.cat(mixed)


@given(
    lengths=st.lists(st.integers(1, 70), min_size=1, max_size=5),
    num_heads=st.integers(1, 3),
    head_width=st.integers(1, 64),
    causal=st.booleans(),
    seed=st.integers(0, 99),
)
def test_equals_float64(
    compiled: NativeKernels, lengths: list[int], num_heads: int, head_width: int, causal: bool, seed: int
) -> None:
    rng = torch.Generator().manual_seed(seed)
    width = num_heads * head_width
    qkv_N3D = 3 * torch.randn(sum(lengths), 3 * width, generator=rng)
    grad_ND = torch.randn(sum(lengths), width, generator=rng)
    exact = qkv_N3D.double().requires_grad_()
    truth = expected(exact, lengths, num_heads, causal)
    truth.backward(grad_ND.double())
    assert exact.grad is not None
    kernel, lengths_G = compiled.attention, torch.tensor(lengths)
    out_ND, log_sums_NH = kernel.forward(qkv_N3D, lengths_G, num_heads, causal=causal)
    grad_N3D = kernel.backward(qkv_N3D, lengths_G, out_ND, log_sums_NH, grad_ND, causal=causal)
    torch.testing.assert_close(out_ND.double(), truth.detach(), rtol=1e-4, atol=2e-5)
    torch.testing.assert_close(grad_N3D.double(), exact.grad, rtol=1e-3, atol=2e-4)


@given(
    num_heads=st.integers(1, 3),
    pairs=st.integers(1, 20),
    period=st.integers(1, 9),
    rows=st.integers(1, 3),
    seed=st.integers(0, 99),
)
def test_rotation_and_its_gradient(
    compiled: NativeKernels, num_heads: int, pairs: int, period: int, rows: int, seed: int
) -> None:
    """Tables of one row for all sequences, as torch's rotation broadcasts them."""
    rng = torch.Generator().manual_seed(seed)
    width = 2 * pairs * num_heads
    qkv_N3D = torch.randn(rows * period, 3 * width, generator=rng).requires_grad_()
    grad_N3D = torch.randn(qkv_N3D.shape, generator=rng)
    angles_PC = torch.randn(period, pairs, generator=rng)
    rotation = Rotation(angles_PC.cos()[None, None], angles_PC.sin()[None, None])
    heads_3BHTC = qkv_N3D.view(rows, period, 3, num_heads, -1).permute(2, 0, 3, 1, 4)
    turned = torch.stack([rotate(heads_3BHTC[0], rotation), rotate(heads_3BHTC[1], rotation), heads_3BHTC[2]])
    wanted_N3D = turned.permute(1, 3, 0, 2, 4).reshape(qkv_N3D.shape)
    got_N3D = attention._Rotated.apply(  # pyright: ignore[reportPrivateUsage]
        qkv_N3D, angles_PC.cos(), angles_PC.sin(), num_heads, compiled.attention
    )
    torch.testing.assert_close(got_N3D, wanted_N3D)
    (got,) = torch.autograd.grad(got_N3D, qkv_N3D, grad_N3D)
    (wanted,) = torch.autograd.grad(wanted_N3D, qkv_N3D, grad_N3D)
    torch.testing.assert_close(got, wanted)


def test_threads_do_not_change_a_bit(compiled: NativeKernels) -> None:
    qkv_N3D = torch.randn(600, 3 * 64, generator=torch.Generator().manual_seed(0))
    lengths_G, grad_ND = torch.tensor([200, 1, 99, 300]), qkv_N3D[:, :64].contiguous()
    kernel, found = compiled.attention, list[tuple[Tensor, ...]]()
    for threads in (1, 2):
        torch.set_num_threads(threads)
        out_ND, log_sums_NH = kernel.forward(qkv_N3D, lengths_G, 4, causal=True)
        grad_N3D = kernel.backward(qkv_N3D, lengths_G, out_ND, log_sums_NH, grad_ND, causal=True)
        found.append((out_ND, log_sums_NH, grad_N3D))
    torch.set_num_threads(1)
    assert all(torch.equal(one, two) for one, two in zip(*found, strict=True))


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("positions", ["sinusoidal", "rope", "none"])
@pytest.mark.parametrize("rows", PACKINGS.values(), ids=PACKINGS)
def test_a_decoder_computes_the_same(
    compiled: NativeKernels, rows: list[list[int]], positions: str, causal: bool
) -> None:
    model = decoder_of({"positions": positions, "feed_forward": "dense", "causal": causal})
    tokens, documents = tokens_of(2, 12), torch.tensor(rows)
    with patch.object(attention, "kernel_for") as asked, patch.object(placing, "kernel_for") as placed:
        asked.return_value = placed.return_value = None
        without, gradients_without = answers(model, tokens, documents)
        asked.return_value = placed.return_value = compiled.attention
        found, gradients = answers(model, tokens, documents)
    torch.testing.assert_close(found, without, rtol=1e-5, atol=2e-5)
    torch.testing.assert_close(gradients, gradients_without, rtol=1e-4, atol=1e-4)


def test_it_serves_packed_documents_of_any_length(native_kernels: NativeKernels) -> None:
    """Even where one call of torch's per document would not pay."""
    model, tokens = decoder_of({"positions": "rope"}), tokens_of(2, 12)
    with patch.object(attention.F, "scaled_dot_product_attention") as torchs, torch.no_grad():
        model(tokens, documents_BT=torch.tensor(PACKINGS["several"]))
        model(tokens)
    assert torchs.call_count == 0


def test_where_torch_does_the_work(native_kernels: NativeKernels) -> None:
    assert kernel_for("cpu", torch.float32, 64) is not None
    assert kernel_for("cpu", torch.float32, 65) is None
    assert kernel_for("cpu", torch.bfloat16, 16) is None
    assert kernel_for("cuda", torch.float32, 16) is None
    model, tokens = decoder_of({"positions": "alibi"}), tokens_of(2, 12)
    plain = F.scaled_dot_product_attention
    with patch.object(attention.F, "scaled_dot_product_attention", side_effect=plain) as torchs:
        model(tokens)
    assert torchs.call_count == 2, "a bias by distance is a mask"
