"""Every engine equals the oracle, outputs and gradients, whatever is trained and however skewed the routing
is. The oracle itself equals a loop over single tokens.

Shape letters: T tokens, D model width, E experts, K experts per token."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, nn

from somelab.config import ExpertsConfig
from somelab.core.dispatch import ENGINES
from somelab.core.dispatch.rows import arrange
from somelab.core.dispatch.weights import can_be_frozen
from somelab.core.experts import DenseExperts
from somelab.errors import ConfigError
from tests.core.builders import random, tokens_of

TRAINABILITY = ["frozen", "gains", "readout", "lora", "full"]
FROZEN_ONLY = ("frozen", "native")
EXACT = [name for name in ENGINES if name != "int8"]  # it rounds rows: tests/core/test_int8.py


def engines(trainability: str) -> list[str]:
    """The engines that can compute such experts."""
    return [name for name in EXACT if name not in FROZEN_ONLY or trainability in ("frozen", "readout")]


EACH = [(kind, name) for kind in TRAINABILITY for name in engines(kind)]
EACH_FAST = [(kind, name) for kind, name in EACH if name != "reference"]
D_MODEL, D_FFN = 16, 24


class Case(NamedTuple):
    """A routing: which experts each token goes to."""

    num_experts: int
    top_k: int
    choose: Callable[[int, int], Tensor]


def uniform(num_tokens: int) -> Callable[[int, int], Tensor]:
    def choose(num_experts: int, top_k: int) -> Tensor:
        return torch.rand(num_tokens, num_experts, generator=random(1)).topk(top_k, dim=1).indices

    return choose


def zipf(num_tokens: int) -> Callable[[int, int], Tensor]:
    """Expert i is chosen with probability proportional to 1 / (i + 1): a few do most of the work."""

    def choose(num_experts: int, top_k: int) -> Tensor:
        share_E = 1 / torch.arange(1, num_experts + 1).float()
        return torch.multinomial(share_E.expand(num_tokens, -1), top_k, generator=random(2))

    return choose


def all_the_same(num_tokens: int) -> Callable[[int, int], Tensor]:
    """Every token goes to the last K experts; the rest have none."""

    def choose(num_experts: int, top_k: int) -> Tensor:
        return torch.arange(num_experts - top_k, num_experts).flip(0).repeat(num_tokens, 1)

    return choose


CASES = {
    "uniform": Case(8, 3, uniform(40)),
    "skewed": Case(16, 4, zipf(60)),
    "more rows than a bucket": Case(3, 2, zipf(150)),
    "all tokens the same experts": Case(8, 3, all_the_same(33)),
    "every expert": Case(5, 5, uniform(20)),
    "one expert a token": Case(8, 1, zipf(30)),
    "sixteen experts a token": Case(32, 16, zipf(10)),
    "hundreds of experts, most without tokens": Case(512, 2, zipf(12)),
    "one token": Case(8, 3, uniform(1)),
}


def make_pool(case: Case, trainability: str, **settings: Any) -> DenseExperts:
    """A pool whose biases and trained parts are away from their neutral start, so that each of them is
    felt."""
    config = ExpertsConfig(
        num_experts=case.num_experts,
        top_k=case.top_k,
        d_ffn=D_FFN,
        init="unit",
        trainability=trainability,  # pyright: ignore[reportArgumentType]
        lora_rank=3,
        **settings,
    )
    pool = DenseExperts(D_MODEL, config, seed=0, layer=0)
    rng = random(3)
    with torch.no_grad():
        for name, weight in pool.named_parameters():
            if name not in ("down_EFD", "up_EDF"):
                weight.add_(0.3 * torch.randn(weight.shape, generator=rng))
    return pool


class Outcome(NamedTuple):
    output: Tensor
    gradients: dict[str, Tensor]


def run(
    pool: DenseExperts, engine_name: str, case: Case, *, autocast: bool = False, naive: bool = False
) -> Outcome:
    """Forward, and backward from a random probe. Gradients of x, the gates and all that is trained."""
    indices_TK = case.choose(case.num_experts, case.top_k)
    num_tokens = indices_TK.shape[0]
    x_TD = tokens_of(num_tokens, D_MODEL, seed=4).requires_grad_()
    gates_TK = torch.rand(indices_TK.shape, generator=random(5)).requires_grad_()
    pool.config = pool.config.model_copy(update={"engine": engine_name})
    pool.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
        output = (
            token_by_token(pool, x_TD, indices_TK, gates_TK) if naive else pool(x_TD, indices_TK, gates_TK)
        )
    (output.float() * torch.randn(output.shape, generator=random(6))).sum().backward()
    gradients = {"x": x_TD.grad, "gates": gates_TK.grad}
    gradients |= {name: weight.grad for name, weight in pool.named_parameters() if weight.requires_grad}
    assert all(gradient is not None for gradient in gradients.values()), gradients
    return Outcome(output.detach(), {name: g.clone() for name, g in gradients.items() if g is not None})


def token_by_token(pool: DenseExperts, x_TD: Tensor, indices_TK: Tensor, gates_TK: Tensor) -> Tensor:
    """W_up (gains * gelu(W_down x + b_down)) + b_up for one token and one expert at a time, in float64."""
    outputs: list[Tensor] = []
    for x, experts, gates in zip(x_TD.double(), indices_TK.tolist(), gates_TK.double()):
        total: Tensor | float = 0.0
        for e, gate in zip(experts, gates):
            down, bias = pool.down_EFD[e].double(), pool.down_bias_EF[e].double()
            hidden = down @ x + bias
            if pool.lora_down_in_ERD is not None and pool.lora_down_out_EFR is not None:
                hidden = hidden + pool.lora_down_out_EFR[e].double() @ (pool.lora_down_in_ERD[e].double() @ x)
            hidden = 0.5 * hidden * (1 + torch.erf(hidden / 2**0.5))
            if pool.gains_EF is not None:
                hidden = hidden * pool.gains_EF[e].double()
            answer = hidden
            if pool.readout_DF is not None:
                answer = pool.readout_DF.double() @ hidden
            if pool.up_EDF is not None and pool.up_bias_ED is not None:
                answer = pool.up_EDF[e].double() @ hidden + pool.up_bias_ED[e].double()
            if pool.lora_up_in_ERF is not None and pool.lora_up_out_EDR is not None:
                answer = answer + pool.lora_up_out_EDR[e].double() @ (
                    pool.lora_up_in_ERF[e].double() @ hidden
                )
            total = total + gate * answer
        assert isinstance(total, Tensor)
        outputs.append(total)
    return torch.stack(outputs)


def assert_alike(got: Outcome, wanted: Outcome, error: float) -> None:
    """Relative to the size of each tensor: single elements near zero say nothing about rounding."""
    assert got.gradients.keys() == wanted.gradients.keys()
    pairs = {"output": (got.output, wanted.output)}
    pairs |= {name: (got.gradients[name], wanted.gradients[name]) for name in wanted.gradients}
    for name, (a, b) in pairs.items():
        assert a.shape == b.shape, name
        assert b.norm() > 0, f"{name}: nothing to compare"
        distance = float((a.double() - b.double()).norm() / b.double().norm())
        assert distance < error, f"{name}: relative distance {distance:.2e}"


@pytest.mark.parametrize("trainability", TRAINABILITY)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_the_oracle_equals_a_loop_over_tokens(case: Case, trainability: str) -> None:
    pool = make_pool(case, trainability)
    assert_alike(run(pool, "reference", case), run(pool, "reference", case, naive=True), error=2e-6)


@pytest.mark.parametrize(("trainability", "name"), EACH_FAST)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_engines_equal_the_oracle(case: Case, trainability: str, name: str) -> None:
    pool = make_pool(case, trainability)
    assert_alike(run(pool, name, case), run(pool, "reference", case), error=2e-6)


@pytest.mark.parametrize("autocast", [False, True])
@pytest.mark.parametrize(("trainability", "name"), EACH)
def test_per_expert_outputs_are_available_beside_their_sum(
    trainability: str, name: str, autocast: bool
) -> None:
    """The memory for per-expert outputs is filled, and the sum and its gradients do not change."""
    case = CASES["skewed"]
    pool = make_pool(case, trainability, engine=name)
    indices_TK = case.choose(case.num_experts, case.top_k)
    x_TD, gates_TK = (
        tokens_of(len(indices_TK), D_MODEL, seed=4),
        torch.rand(indices_TK.shape, generator=random(5)).requires_grad_(),
    )
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
        outputs_TKO = pool.empty_outputs(x_TD, indices_TK).fill_(torch.nan)
        beside, without = pool(x_TD, indices_TK, gates_TK, outputs_TKO), pool(x_TD, indices_TK, gates_TK)
        ones_T1 = torch.ones(len(x_TD), 1)
        alone = torch.stack(
            [pool(x_TD, chosen_T[:, None], ones_T1).detach() for chosen_T in indices_TK.T], dim=1
        )
    assert not outputs_TKO.requires_grad
    assert torch.equal(beside, without)
    slopes = [torch.autograd.grad(output.float().square().sum(), gates_TK)[0] for output in (beside, without)]
    assert torch.equal(*slopes)
    for seed in (6, 7):
        wanted_TD = tokens_of(len(x_TD), D_MODEL, seed=seed)
        direct_TK = (alone.float() * wanted_TD[:, None]).sum(dim=2)
        assert (pool.alignment(outputs_TKO, wanted_TD) - direct_TK).norm() < (
            2e-2 if autocast else 2e-6
        ) * direct_TK.norm()


@pytest.mark.parametrize("storage", ["float32", "bfloat16"])
@pytest.mark.parametrize(("trainability", "name"), EACH)
def test_bf16_compute_stays_near_the_fp32_oracle(trainability: str, name: str, storage: str) -> None:
    case = CASES["skewed"]
    pool = make_pool(case, trainability, storage=storage)
    wanted = run(pool, "reference", case)
    got = run(pool, name, case, autocast=True)
    # bf16 keeps 8 bits: 0.4 % a rounding, a few roundings in a row.
    assert_alike(got, wanted, error=2e-2)


@pytest.mark.parametrize("name", EXACT)
def test_bf16_storage_with_fp32_compute_is_exact_to_fp32(name: str) -> None:
    """Frozen weights are rounded once, when drawn; after that, computing in fp32 loses nothing more."""
    case = CASES["uniform"]
    pool = make_pool(case, "frozen", storage="bfloat16")
    assert pool.down_EFD.dtype == torch.bfloat16
    assert_alike(run(pool, name, case), run(pool, name, case, naive=True), error=2e-6)


@pytest.mark.parametrize("autocast", [False, True])
@pytest.mark.parametrize(("trainability", "name"), EACH)
def test_no_tokens_give_no_outputs_and_zero_gradients(trainability: str, name: str, autocast: bool) -> None:
    """A rank may be left without tokens: its backward still has to reach every trained weight, as DDP waits
    for them."""
    pool = make_pool(CASES["uniform"], trainability, engine=name)
    x_TD, gates_TK = torch.zeros(0, D_MODEL, requires_grad=True), torch.zeros(0, 3, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
        output = pool(x_TD, torch.zeros(0, 3, dtype=torch.int64), gates_TK)
    assert output.shape == (0, D_MODEL)
    output.float().sum().backward()
    assert x_TD.grad is not None
    assert gates_TK.grad is not None
    for weight in pool.parameters():
        assert (weight.grad is not None) == weight.requires_grad
        assert weight.grad is None or not weight.grad.any()


@pytest.mark.parametrize(("trainability", "name"), EACH)
def test_frozen_weights_get_no_gradient_and_no_optimizer_state(trainability: str, name: str) -> None:
    pool = make_pool(CASES["uniform"], trainability)
    trainable = [weight for weight in pool.parameters() if weight.requires_grad]
    drawn = [weight for _, weight in pool.drawn_weights()]
    before = [weight.detach().clone() for weight in drawn]
    optimizer = torch.optim.AdamW(trainable or [nn.Parameter(torch.zeros(1))], lr=0.1)
    run(pool, name, CASES["uniform"])
    optimizer.step()
    if trainability == "full":
        assert {id(weight) for weight in drawn} == {id(weight) for weight in trainable}
        assert all(not torch.equal(weight, old) for weight, old in zip(drawn, before))
    else:
        assert all(weight.grad is None for weight in drawn)
        assert not {id(weight) for weight in drawn} & {id(weight) for weight in optimizer.state}
        assert all(torch.equal(weight, old) for weight, old in zip(drawn, before))
    assert len(optimizer.state) == len(trainable)
    assert len(trainable) == {"frozen": 0, "gains": 1, "readout": 1, "lora": 4, "full": 4}[trainability]


@pytest.mark.parametrize("name", engines("full"))
def test_experts_without_tokens_get_zero_gradient(name: str) -> None:
    case = CASES["all tokens the same experts"]
    gradient = run(make_pool(case, "full"), name, case).gradients["down_EFD"]
    assert not gradient[:5].any()
    assert all(gradient[e].any() for e in range(5, 8))


@pytest.mark.parametrize("name", FROZEN_ONLY)
@pytest.mark.parametrize("trainability", ["gains", "lora", "full"])
@pytest.mark.usefixtures("native_kernels")
def test_engines_for_frozen_experts_refuse_trained_ones(trainability: str, name: str) -> None:
    with pytest.raises(ConfigError, match=rf"experts\.engine = '{name}': these experts are trained"):
        run(make_pool(CASES["uniform"], trainability), name, CASES["uniform"])


def test_grouped_mm_names_the_widths_that_it_cannot_do() -> None:
    config = ExpertsConfig(num_experts=4, d_ffn=20, top_k=2, engine="grouped_mm")
    pool = DenseExperts(16, config, seed=0, layer=0)
    with pytest.raises(
        ConfigError, match=r"experts\.engine = 'grouped_mm'.*d_ffn = 20 must be multiples of 8; .*grouped"
    ):
        pool(torch.zeros(2, 16), torch.tensor([[0, 1], [1, 2]]), torch.ones(2, 2))


@pytest.mark.parametrize(
    ("trainability", "name"), [case for case in EACH_FAST if case[0] in ("frozen", "readout")]
)
@pytest.mark.parametrize(("x_needs", "gates_need"), [(True, False), (False, True), (False, False)])
def test_gradients_may_be_wanted_for_one_input_only(
    name: str, trainability: str, x_needs: bool, gates_need: bool
) -> None:
    """Tokens without gradient (a first layer that is not trained), gates without (one expert), or neither
    (generation)."""
    case = CASES["skewed"]
    pool = make_pool(case, trainability, engine=name)
    whole = run(pool, name, case)
    indices_TK = case.choose(case.num_experts, case.top_k)
    x_TD = tokens_of(indices_TK.shape[0], D_MODEL, seed=4).requires_grad_(x_needs)
    gates_TK = torch.rand(indices_TK.shape, generator=random(5)).requires_grad_(gates_need)
    output = pool(x_TD, indices_TK, gates_TK)
    torch.testing.assert_close(output.detach(), whole.output, rtol=0, atol=1e-6)
    with torch.no_grad():
        torch.testing.assert_close(pool(x_TD, indices_TK, gates_TK), whole.output, rtol=0, atol=1e-6)
    if x_needs or gates_need:
        (output * torch.randn(output.shape, generator=random(6))).sum().backward()
    for needs, value, wanted in (
        (x_needs, x_TD, whole.gradients["x"]),
        (gates_need, gates_TK, whole.gradients["gates"]),
    ):
        assert (value.grad is not None) == needs
        if value.grad is not None:
            torch.testing.assert_close(value.grad, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("trainability", TRAINABILITY)
def test_auto_takes_the_short_way_where_nothing_is_trained(trainability: str) -> None:
    weights = make_pool(CASES["uniform"], trainability).weights()
    assert can_be_frozen(weights) == (trainability in ("frozen", "readout"))


@pytest.mark.parametrize(("num_tokens", "bucket"), [(1, 1), (3, 4), (40, 64), (200, 64)])
def test_rows_fill_the_buckets_of_the_experts_that_have_tokens(num_tokens: int, bucket: int) -> None:
    indices_TK = zipf(num_tokens)(6, 2)
    rows = arrange(indices_TK, 6)
    counts = torch.bincount(indices_TK.flatten(), minlength=6).tolist()
    assert [expert for expert, _, _ in rows.spans] == [e for e in range(6) if counts[e]]
    sizes = {expert: end - begin for expert, begin, end in rows.spans}
    assert all(sizes[e] == -(-counts[e] // bucket) * bucket for e in sizes)
    gates_TK = torch.rand(indices_TK.shape, generator=random(7)) + 0.1
    gate_P = rows.gates(gates_TK)
    assert int((gate_P > 0).sum()) == indices_TK.numel(), "filling rows have gate 0"
    assert sorted(gate_P[gate_P > 0].tolist()) == sorted(gates_TK.flatten().tolist())
    for expert, begin, end in rows.spans:
        real = gate_P[begin:end] > 0
        tokens = rows.token_P[begin:end][real].tolist()
        assert tokens == (indices_TK == expert).any(dim=1).nonzero()[:, 0].tolist()
