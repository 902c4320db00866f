"""Compares the Triton kernels with torch in Triton's interpreter. A program of its own: the interpreter is
chosen when Triton is imported. Prints the largest difference of each case."""

from __future__ import annotations

import os
from itertools import product

os.environ["TRITON_INTERPRET"] = "1"

import torch

from somelab.core.dispatch.hadamard import HadamardPool, next_power_of_two
from somelab.native.hadamard_triton import TritonHadamard
from tests.native.test_hadamard_kernels import load_of, results

# tokens, D, blocks: no tokens, narrower than a word, filled up, several blocks and words
CASES = ((0, 8, 1), (3, 2, 3), (3, 12, 5), (2, 64, 2), (2, 100, 1), (2, 128, 2))

for (num_tokens, d_model, blocks), modulated in product(CASES, (False, True)):
    load = load_of(num_tokens, d_model, blocks, num_experts=1000, modulated=modulated)
    assert load.pool == HadamardPool(5, 1000, d_model, blocks * next_power_of_two(d_model), modulated)
    worst = 0.0
    for got, wanted in zip(results(load, TritonHadamard()), results(load, None), strict=True):
        assert got.shape == wanted.shape
        assert got.dtype == wanted.dtype
        worst = max([worst, *(got - wanted).abs().flatten().tolist()])
    print(num_tokens, d_model, blocks, modulated, worst)
load = load_of(2, 12, 1)
bf16 = results(load, TritonHadamard(), torch.bfloat16)
assert bf16[0].dtype == bf16[1].dtype == torch.bfloat16
for got, wanted in zip(bf16, results(load, None, torch.bfloat16), strict=True):
    torch.testing.assert_close(got.float(), wanted.float(), rtol=2e-2, atol=2e-2)
