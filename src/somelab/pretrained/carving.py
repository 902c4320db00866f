"""Carve a pretrained model: cut its feed-forward blocks into groups, set keys without a gradient, move them
by credit, divide the budget among the layers, and fit what stands for the groups that are skipped.

Shape letters: T tokens, D model width, E groups, N neurons per group, F neurons of a block, R rank."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from somelab.errors import ConfigError
from somelab.pretrained.budget import allocate, harm_curve
from somelab.pretrained.calibration import BlockInputs, block_inputs
from somelab.pretrained.groups import grouped_order
from somelab.pretrained.keys import Queries, Router, mean_keys, moved_by_credit

if TYPE_CHECKING:
    from transformers import LlamaForCausalLM

    from somelab.interop.huggingface.carved.feedforward import CarvedFeedForward
    from somelab.interop.huggingface.carved.modeling import CarvedLlamaForCausalLM

ALWAYS = 1 / 6
"""Share of the groups that every token uses: those with the largest contributions. They hold the few neurons
that give some tokens, such as the first, values hundreds of times larger than usual, on which attention
relies; a linear score misses them."""
FOREMOST = 1e6  # offset of those groups, above any score
SHRINKAGE = 0.3  # of the regression that stands for skipped groups
STAND_IN_TOKENS = 8192  # on which it is fitted; with 2,048 it overfits
Progress = Callable[[str], None]


@dataclass(frozen=True)
class CarveSettings:
    """How a model is cut."""

    num_groups: int = 48
    """Groups of each feed-forward block."""
    use: float = 0.75
    """Share of the feed-forward weights that a token reads, over all layers: groups and linear map."""
    common: float = 0.25
    """Share of the groups that hold the neurons with the largest contributions; the rest is clustered."""
    rank: int = 64
    """Rank of the linear map that stands for skipped groups; 0: their mean alone."""
    even: bool = False
    """Use the same number of groups in every layer."""
    by_gates: bool = False
    """Every neuron is a group, chosen by its own gate. All gates are read, a third of the weights."""
    whiten: bool = False
    """Keys are compared with inputs that are whitened by their covariance, which all groups share."""
    seed: int = 0

    @classmethod
    def gates(cls, num_neurons: int, **changes: Any) -> CarveSettings:
        """Settings by gates, for blocks of so many neurons. The linear map is smaller: neurons in use cost
        less, so its weights are better spent on them."""
        settings: dict[str, Any] = {"rank": 32, **changes, "num_groups": num_neurons, "by_gates": True}
        return cls(**settings)

    def check(self, num_neurons: int) -> None:
        if self.num_groups < 2 or num_neurons % self.num_groups:
            near = [e for e in range(2, num_neurons + 1) if num_neurons % e == 0]
            best = min(near, key=lambda e: abs(e - self.num_groups))
            raise ConfigError(
                "--experts", self.num_groups, f"does not divide {num_neurons} neurons", f"try {best}"
            )
        if not 0 < self.use <= 1:
            raise ConfigError("--use", self.use, "is not a share", "choose a value above 0, up to 1")
        self.share_of_groups(self.use, num_neurons // self.num_groups, self.rank)
        if not 0 <= self.common < 1:
            raise ConfigError("--common", self.common, "is not a share", "choose a value from 0 to below 1")
        if self.rank < 0:
            raise ConfigError("--rank", self.rank, "is negative", "choose 0 or more")

    def share_of_groups(self, use: float, group_size: int, rank: int) -> float:
        """What is left of the budget for groups: the linear map reads 2 R D weights, a key D, a neuron 3 D.
        By gates, D of the 3 are read of all neurons."""
        left = use - 2 * rank / (3 * group_size * self.num_groups)
        if not self.by_gates:
            return left - 1 / (3 * group_size)
        if left <= 1 / 3:
            remedy = "choose more than 0.34, or a smaller rank"
            raise ConfigError("--use", use, "is no more than the gates alone", remedy)
        return (left - 1 / 3) * 1.5


class CarvedLayer:
    """One block with what calibration knows about it."""

    def __init__(
        self,
        block: CarvedFeedForward,
        inputs: BlockInputs,
        hidden_TEN: Tensor,
        settings: CarveSettings,
        number: int,
    ) -> None:
        """`hidden_TEN`: the hidden values on the inputs, as deviations from their means."""
        self.block, self.inputs, self.seed, self.number = block, inputs, settings.seed, number
        self.whiten = settings.whiten
        self.importance_TE = importance(hidden_TEN, block.down)
        if not block.by_gates:
            self.queries = Queries.plain(inputs.x_TD)
            self.start = mean_keys(self.queries(inputs.x_TD), self.importance_TE)
        step = max(1, inputs.x_TD.shape[0] // STAND_IN_TOKENS)
        # Copies: a view would keep the values of all tokens alive.
        self.sample_TD, self.hidden_TEN = inputs.x_TD[::step].clone(), hidden_TEN[::step].clone()
        self.regression = Regression(self.sample_TD)

    @property
    def first_router(self) -> Router:
        """The keys before they move."""
        return with_always(self.queries.router(*self.start))

    def moved_router(self, num_used: int, *, whitened: bool = False) -> Router:
        """The keys after credit, for this number of groups in use."""
        always = num_always(self.block.num_groups)
        if num_used <= always:
            return self.first_router
        queries = Queries.of(self.inputs.x_TD) if whitened else self.queries
        q_TD, rest_TE = queries(self.inputs.x_TD), self.importance_TE[:, always:]
        keys_ED, offset_E = mean_keys(q_TD, self.importance_TE) if whitened else self.start
        moved_ED, moved_E = moved_by_credit(
            q_TD,
            rest_TE,
            (keys_ED[always:], offset_E[always:]),
            num_used - always,
            seed=self.seed,
            layer=self.number,
        )
        keys_ED, offset_E = torch.cat([keys_ED[:always], moved_ED]), torch.cat([offset_E[:always], moved_E])
        return with_always(queries.router(keys_ED, offset_E))

    def set_keys_(self) -> None:
        """Keys for the present number of groups in use. Gates are as they are."""
        if not self.block.by_gates:
            self.route_(self.moved_router(self.block.num_used, whitened=self.whiten))

    def harm(self) -> list[float]:
        by_gates, x_TD = self.block.by_gates, self.inputs.x_TD
        score_TE = self.block.score(x_TD) if by_gates else self.first_router.score(x_TD)
        return harm_curve(self.importance_TE, score_TE, self.inputs.residual_T)

    def route_(self, router: Router) -> None:
        """Use these keys."""
        self.block.keys.copy_(router.keys_ED)
        self.block.offset.copy_(router.offset_E)

    def stand_in_(self, rank: int) -> None:
        """Fit the mean and the linear map for what the present choice skips."""
        block = self.block
        block.linear_in.zero_()
        block.linear_out.zero_()
        block.bias.copy_(block.mean_hidden.flatten() @ block.down.flatten(0, 1))
        if block.num_used >= block.num_groups:
            return
        skipped_TE1 = (1 - block.mask(self.sample_TD, self.hidden_TEN))[:, :, None]
        missing_TD = (self.hidden_TEN * skipped_TE1).flatten(1) @ block.down.flatten(0, 1)
        fit_linear_(block, self.regression, missing_TD, rank)


class Regression:
    """Ridge regression on the inputs of a block, with all that does not depend on what is predicted."""

    def __init__(self, x_TD: Tensor) -> None:
        self.mean_D = x_TD.mean(dim=0)
        self.centred_TD = x_TD - self.mean_D
        self.covariance_DD = self.centred_TD.T @ self.centred_TD / x_TD.shape[0]
        penalty = SHRINKAGE * self.covariance_DD.diagonal().mean()
        penalized_DD = self.covariance_DD.double() + penalty * torch.eye(x_TD.shape[1]).double()
        self.factor_DD = torch.linalg.cholesky(penalized_DD)

    def fit(self, target_TO: Tensor) -> Tensor:
        """The coefficients [D, O] for centred targets."""
        together_DO = self.centred_TD.T @ target_TO / self.centred_TD.shape[0]
        return torch.cholesky_solve(together_DO.double(), self.factor_DD).float()


def num_always(num_groups: int) -> int:
    return round(ALWAYS * num_groups)


def with_always(router: Router) -> Router:
    """The router with the first groups in front for every token."""
    offset_E = router.offset_E.clone()
    offset_E[: num_always(len(offset_E))] += FOREMOST
    return Router(router.keys_ED, offset_E)


def importance(hidden_TEN: Tensor, down_END: Tensor) -> Tensor:
    """Length of what each group adds to the block's output, beyond its mean, [T, E]: sqrt(h' D D' h)."""
    if down_END.shape[1] == 1:
        return hidden_TEN[:, :, 0].abs() * down_END[:, 0].norm(dim=1)
    gram_ENM = torch.einsum("end,emd->enm", down_END, down_END)
    square_TE = torch.stack(
        [(hidden_TEN[:, e] @ gram_ENM[e] * hidden_TEN[:, e]).sum(dim=1) for e in range(len(gram_ENM))], dim=1
    )
    return square_TE.clamp(min=0).sqrt()


def fit_linear_(block: CarvedFeedForward, regression: Regression, missing_TD: Tensor, rank: int) -> None:
    """missing ~ bias + x A B: ridge regression in closed form, cut to the rank that explains most."""
    mean_missing_D = missing_TD.mean(dim=0)
    block.bias += mean_missing_D
    if not rank:
        return
    fitted_DD = regression.fit(missing_TD - mean_missing_D)
    _, directions_DD = torch.linalg.eigh(fitted_DD.T @ regression.covariance_DD @ fitted_DD)
    best_DR = directions_DD[:, -rank:]
    block.linear_in[: best_DR.shape[1]] = (fitted_DD @ best_DR).T
    block.linear_out[: best_DR.shape[1]] = best_DR.T
    block.bias -= block.linear(regression.mean_D[None])[0]


class Carving:
    """A carved model and its layers."""

    def __init__(self, model: CarvedLlamaForCausalLM, layers: list[CarvedLayer], settings: CarveSettings):
        self.model, self.layers, self.settings = model, layers, settings
        self.curves = [layer.harm() for layer in layers]
        self.rank = model.config.linear_rank

    def groups_for(self, use: float) -> list[int]:
        """How many groups each layer uses at this share of the weights."""
        if use >= 1:
            return [self.settings.num_groups] * len(self.layers)
        size = self.layers[0].block.down.shape[1]
        share = self.settings.share_of_groups(use, size, self.rank)
        if self.settings.even:
            return [max(1, round(share * self.settings.num_groups))] * len(self.layers)
        return allocate(self.curves, share)

    @torch.no_grad()
    def use_(self, use: float, *, progress: Progress | None = None) -> None:
        """Set keys and stand-ins for this share of the weights."""
        self.model.use_(self.groups_for(use))
        for layer in self.layers:
            layer.block.scores = None
            layer.set_keys_()
            layer.stand_in_(self.rank)
            if progress is not None:
                progress(f"keys of layer {layer.number + 1} of {len(self.layers)}")


@torch.no_grad()
def carve(
    model: LlamaForCausalLM, rows_BS: Tensor, settings: CarveSettings, *, progress: Progress | None = None
) -> Carving:
    """Cut the model. The result has feed-forward blocks of its own and shares all other weights with it."""
    config: Any = model.config
    if config.model_type != "llama":
        raise ConfigError("MODEL", config.model_type, "is carved already", "give the model it was cut from")
    settings.check(config.intermediate_size)
    inputs = block_inputs(model, rows_BS)
    return carve_from(model, inputs, settings, progress=progress)


@torch.no_grad()
def carve_from(
    model: LlamaForCausalLM,
    inputs: list[BlockInputs],
    settings: CarveSettings,
    *,
    progress: Progress | None = None,
) -> Carving:
    """The same from what the blocks have read."""
    from somelab.interop.huggingface.carved.configuration import CarvedLlamaConfig
    from somelab.interop.huggingface.carved.modeling import CarvedLlamaForCausalLM

    config: Any = model.config
    shape = {**config.to_dict(), "num_groups": settings.num_groups, "linear_rank": settings.rank}
    shape["by_gates"] = settings.by_gates
    shape.pop("model_type", None)
    shape.pop("architectures", None)
    with torch.device("meta"):
        carved = CarvedLlamaForCausalLM(CarvedLlamaConfig(**shape))
    layers: list[CarvedLayer] = []
    for number, (layer, seen) in enumerate(zip(list(model.model.layers), inputs, strict=True)):
        block, hidden_TEN = cut(layer.mlp, seen.x_TD, settings, number)
        carved.model.layers[number].mlp = block
        layers.append(CarvedLayer(block, seen, hidden_TEN, settings, number))
        if progress is not None:
            progress(f"groups of layer {number + 1} of {len(inputs)}")
    _share_others_(carved, model)
    made = Carving(carved.eval(), layers, settings)
    made.use_(settings.use, progress=progress)
    return made


def cut(mlp: Any, x_TD: Tensor, settings: CarveSettings, number: int) -> tuple[CarvedFeedForward, Tensor]:
    """One block in groups, all of them in use, and its hidden values less their means, [T, E, N]."""
    from somelab.interop.huggingface.carved.feedforward import CarvedFeedForward

    gate_FD, up_FD, down_DF = (
        mlp.gate_proj.weight.detach(),
        mlp.up_proj.weight.detach(),
        mlp.down_proj.weight.detach(),
    )
    gate_TF, up_TF = mlp.act_fn(x_TD @ gate_FD.T), x_TD @ up_FD.T
    hidden_TF = gate_TF * up_TF
    mean_F = hidden_TF.mean(dim=0)
    hidden_TF = hidden_TF - mean_F
    contribution_TF = hidden_TF.abs() * down_DF.norm(dim=0)
    num_groups = settings.num_groups
    num_common = num_groups if settings.by_gates else round(settings.common * num_groups)
    order_F = grouped_order(contribution_TF, num_groups, num_common, seed=settings.seed, layer=number)
    num_neurons, width = gate_FD.shape
    size = num_neurons // num_groups
    block = CarvedFeedForward(width, num_groups, size, settings.rank, mlp.act_fn, by_gates=settings.by_gates)
    if settings.by_gates:
        block.square.copy_(expected_square(up_TF, mean_F, down_DF.norm(dim=0))[:, order_F])
    both = [weight[order_F].view(num_groups, size, width) for weight in (gate_FD, up_FD)]
    block.gate_up.data = torch.stack(both, dim=1).contiguous()
    block.down.data = down_DF.T[order_F].reshape(num_groups, size, width).contiguous()
    block.mean_hidden.copy_(mean_F[order_F].view(num_groups, size))
    block.bias.copy_(down_DF @ mean_F)
    return block, hidden_TF[:, order_F].view(-1, num_groups, size)


def expected_square(up_TF: Tensor, mean_F: Tensor, length_F: Tensor) -> Tensor:
    """The coefficients of |d|^2 E[(g u - m)^2 | g] = |d|^2 (E[u^2] g^2 - 2 m E[u] g + m^2), [3, F]: what a
    neuron adds beyond its mean m, where its gate g is known and u is not."""
    square_F = length_F.square()
    parts = (up_TF.square().mean(dim=0), -2 * mean_F * up_TF.mean(dim=0), mean_F.square())
    return torch.stack([square_F * part for part in parts])


def _share_others_(carved: Any, model: Any) -> None:
    """Everything but the feed-forward blocks: the modules of the model itself."""
    carved.model.embed_tokens, carved.model.norm = model.model.embed_tokens, model.model.norm
    carved.model.rotary_emb, carved.lm_head = model.model.rotary_emb, model.lm_head
    for mine, theirs in zip(carved.model.layers, model.model.layers, strict=True):
        mine.self_attn, mine.input_layernorm = theirs.self_attn, theirs.input_layernorm
        mine.post_attention_layernorm = theirs.post_attention_layernorm
    carved.generation_config = model.generation_config
