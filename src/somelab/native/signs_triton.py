"""In Triton, what experts without matrices have in common: signs by a hash, the Walsh-Hadamard transform and
GELU's two factors."""

# Triton has no types, and its kernels are not Python: they are compiled from this source.
# pyright: basic, reportMissingImports=false
# pyright: reportAttributeAccessIssue=false, reportArgumentType=false, reportIndexIssue=false
# pyright: reportCallIssue=false, reportOperatorIssue=false, reportGeneralTypeIssues=false

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def signs(key, word, shift, WORDS: tl.constexpr, BITS: tl.constexpr):
    """-1 and 1 by the bits of WORDS hashes from counter `word` on: splitmix64, as `seeding.hashed`."""
    counter = (word + tl.arange(0, WORDS)).to(tl.uint64)
    state = (counter + 1) * 0x9E3779B97F4A7C15 + key.to(tl.uint64)
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9
    state = (state ^ (state >> 27)) * 0x94D049BB133111EB
    state = state ^ (state >> 31)
    place = (shift + tl.arange(0, BITS)).to(tl.uint64)
    bits = (state[:, None] >> place[None, :]) & 1
    return tl.reshape(1.0 - 2.0 * bits.to(tl.float32), (WORDS * BITS,))


@triton.jit
def transform(x, WIDTH: tl.constexpr, STAGES: tl.constexpr):
    """The Walsh-Hadamard transform with entries 1 and -1: sums and differences of pairs, stage by stage."""
    for stage in tl.static_range(STAGES):
        pairs = tl.permute(tl.reshape(x, (WIDTH // (2 << stage), 2, 1 << stage)), (0, 2, 1))
        first, second = tl.split(pairs)
        x = tl.reshape(tl.permute(tl.join(first + second, first - second), (0, 2, 1)), (WIDTH,))
    return x


@triton.jit
def below(z):
    """The share of a normal distribution below z: GELU is z below(z)."""
    return 0.5 + 0.5 * tl.erf(z * 0.7071067811865476)


@triton.jit
def slope(z, below_z):
    """The derivative of GELU."""
    return below_z + z * tl.exp(-0.5 * z * z) * 0.3989422804014327
