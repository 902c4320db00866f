"""The SoME layer: router + frozen experts + key store. Forward routes, computes and collects; it moves
nothing.

Shape letters: T tokens, D model width, O width of an output, E experts, K experts per token."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor, nn

from somelab.core.experts import build_experts
from somelab.core.gravity import Rule, by_depth
from somelab.core.gravity.credit import merits
from somelab.core.keystore import GravityReport, KeyStore
from somelab.core.product import ProductKeyStore, ProductStatistics
from somelab.core.router import Router, Routing, detached
from somelab.core.rows import rms_rows
from somelab.core.seeded import seeded_linear
from somelab.core.seeding import generator
from somelab.core.statistics import RoutingStatistics, all_reduce_
from somelab.errors import ConfigError

if TYPE_CHECKING:
    from somelab.config import ExpertsConfig, GravityConfig, RouterConfig


class LayerOutput(NamedTuple):
    """The output of the layer and how it was computed."""

    mixture: Tensor
    """sum_k g_k expert_k(x), after the mixer if there is one, shaped like x. The surrounding block adds the
    residual."""
    query: Tensor
    """[T, D] the query before normalisation, for the next layer's grounding."""
    routing: Routing
    aux_loss: Tensor


class Passed(NamedTuple):
    """A forward pass whose error, from which credit is computed, is not yet known."""

    input_TD: Tensor
    """The input of the experts."""
    outputs_TKO: Tensor | None
    """Per-expert outputs, or None if not retained."""
    routing: Routing
    step: int
    counted_T: Tensor | None
    token_index_T: Tensor | None


class SomeLayer(nn.Module):
    """A feed-forward layer of frozen experts that tokens select by comparing queries with keys: Tensor ->
    Tensor.

        layer = SomeLayer(256)                                    # the recommended settings
        layer = SomeLayer(256, experts={"num_experts": 64}, gravity={"credit": 0.05})

    Add the residual around it. The keys move once per optimizer step, after backward:
    `somelab.attach(model, optimizer)` does that, or `apply_gravity_()` by hand. Evaluation leaves every
    buffer as it is."""

    def __init__(
        self,
        d_model: int,
        experts: ExpertsConfig | Mapping[str, Any] | None = None,
        router: RouterConfig | Mapping[str, Any] | None = None,
        gravity: GravityConfig | Mapping[str, Any] | None = None,
        *,
        layer: int = 0,
        num_layers: int = 1,
        seed: int = 0,
        bias: bool = True,
        order: Sequence[Rule] | None = None,
    ) -> None:
        """`experts`, `router`, `gravity`: a whole group of settings, or changes to the recommended one.

        `layer` of `num_layers`: its place in the model, on which random draws and settings by depth depend.
        `order`: the rules that move the keys, in order; None: somelab's own."""
        from somelab.config.recommended import layer_settings

        super().__init__()
        experts, router, gravity = layer_settings(d_model, experts, router, gravity)
        moving = gravity.keys == "moved" and not by_depth(gravity.frozen_layers, layer, num_layers)
        self.experts = build_experts(d_model, experts, seed=seed, layer=layer)
        self.router = Router(d_model, experts.top_k, router, seed=seed, layer=layer, bias=bias)
        place: dict[str, Any] = {"seed": seed, "layer": layer, "order": order}
        if problem := router.key_problem(experts.num_experts, d_model):
            raise ConfigError(*problem)
        self.d_model = d_model
        pool = (experts.num_experts, router.key_dim or d_model, gravity)
        product = router.has_product_keys(experts.num_experts)
        make_store, make_statistics = (
            (ProductKeyStore, ProductStatistics) if product else (KeyStore, RoutingStatistics)
        )
        self.keystore = make_store(*pool, num_layers=num_layers, **place)
        self.statistics = make_statistics(*pool, moving=moving, centre=router.centre_queries, **place)
        gain = torch.full((), experts.output_gain)
        self.output_gain = nn.Parameter(gain) if experts.train_output_gain else experts.output_gain
        self.reads_query = experts.reads == "query"
        self.mixer = (
            seeded_linear(d_model, d_model, bias=bias, rng=generator(seed, "mixer", layer))
            if experts.mixer
            else None
        )
        self.collects = True
        """Whether training forwards feed the statistics. Evaluation never does unless `collects_in_eval` is
        set too."""
        self.collects_in_eval = False
        self.keeps_outputs = True
        """Whether per-expert outputs are retained until credit needs them. Otherwise they are computed again,
        to save memory."""
        self.credit_from_backward = gravity.credit_from == "backward"
        """Whether credit is computed from this layer's own gradient; otherwise the model passes its error to
        `credit_`."""
        self.aux_scale = 1.0
        """Factor on the auxiliary loss that `layer(x)` adds to the gradient; 1 / n under accumulation of n
        micro-batches."""
        self.is_driven = False
        """Whether something applies the rules after each step (`somelab.attach`, or a call of
        `apply_gravity_`)."""
        self._passed: Passed | None = None
        self._credited = False
        self._first_version: int | None = None
        self._warned = False

    def forward(
        self,
        x: Tensor,
        *,
        counted: Tensor | None = None,
        token_index: Tensor | None = None,
        previous_query: Tensor | None = None,
        details: bool = False,
    ) -> Tensor | LayerOutput:
        """Route, compute, collect. Returns the mixture, shaped like x; backward through it adds the auxiliary
        loss.

        `counted`: tokens that carry loss; `token_index`: their place in the global batch. `details`: return a
        `LayerOutput` instead, whose `aux_loss` the caller adds to the loss."""
        x_TD = x.reshape(-1, x.shape[-1])
        counted_T = None if counted is None else counted.reshape(-1)
        store = self.keystore
        routing = self.router(x_TD, *store.addresses(), counted_T=counted_T, previous_TD=previous_query)
        input_TD = self._expert_input(x_TD, routing)
        collecting = self._collecting()
        index_T = None if token_index is None else token_index.reshape(-1)
        gates_TK, outputs_TKO = routing.gates_TK, None
        if collecting and self.statistics.wants_credit:
            passed = Passed(input_TD.detach(), None, detached(routing), store.step, counted_T, index_T)
            if self.credit_from_backward and gates_TK.requires_grad:
                gates_TK = gates_TK.view_as(gates_TK)  # its gradient comes from the experts alone
                gates_TK.register_hook(partial(self._credit_gates_, passed))
            else:
                outputs_TKO = self._memory_for_outputs(input_TD, routing.indices_TK)
                self._passed = passed._replace(outputs_TKO=outputs_TKO)
        mixture_TD = self._mixed(input_TD, routing.indices_TK, gates_TK, outputs_TKO)
        if collecting:
            self.statistics.add_(routing, step=store.step, counted_T=counted_T, token_index_T=index_T)
            if self.credit_from_backward and self._passed is not None:
                passed, self._passed = self._passed, None
                if mixture_TD.requires_grad:
                    mixture_TD.register_hook(partial(self._credit_gradient_, passed))
            self._warn_if_undriven()
        mixture = mixture_TD.view_as(x)
        if details:
            return LayerOutput(mixture, routing.raw_queries_TD, routing, routing.aux_loss)
        return (
            _WithLoss.apply(mixture, routing.aux_loss, self.aux_scale)
            if routing.aux_loss.requires_grad
            else mixture
        )

    def _memory_for_outputs(self, input_TD: Tensor, indices_TK: Tensor) -> Tensor | None:
        """Memory for per-expert outputs, if they are retained."""
        retains = self.keeps_outputs and self.experts.retains_outputs
        return self.experts.empty_outputs(input_TD, indices_TK) if retains else None

    def _mixed(
        self, input_TD: Tensor, indices_TK: Tensor, gates_TK: Tensor, outputs_TKO: Tensor | None
    ) -> Tensor:
        """The gated outputs of the experts, scaled and mixed."""
        mixture_TD = self._scaled(self.experts(input_TD, indices_TK, gates_TK, outputs_TKO))
        return mixture_TD if self.mixer is None else self.mixer(mixture_TD)

    def _scaled(self, mixture_TD: Tensor) -> Tensor:
        """Times the output gain; a fixed gain of 1 costs no pass over memory."""
        gain = self.output_gain
        return mixture_TD if isinstance(gain, float) and gain == 1.0 else mixture_TD * gain

    def _expert_input(self, x_TD: Tensor, routing: Routing) -> Tensor:
        """The input of the experts: the token's state, or its query scaled to the rms of a normalised
        token."""
        if not self.reads_query:
            return x_TD
        return rms_rows(routing.raw_queries_TD).to(x_TD.dtype)

    def _collecting(self) -> bool:
        if not self.collects or not (self.training or self.collects_in_eval) or not self.keystore.is_due:
            return False
        # Activation recompute runs forward again inside backward, on tokens that are already counted.
        return torch._C._current_graph_task_id() == -1  # pyright: ignore[reportPrivateUsage]

    @property
    def keys(self) -> Tensor:
        """[E, D] the keys that queries are compared with; product keys are made anew, so that a million of
        them take gigabytes."""
        return self.keystore.routing_keys_ED.detach()

    @property
    def wants_error(self) -> bool:
        """Whether a training step has to pass its error to `credit_`."""
        return self.statistics.wants_credit and not self.credit_from_backward

    @torch.no_grad()
    def _credit_gates_(self, passed: Passed, gradient_TK: Tensor) -> None:
        """Called by backward with the gradient of the gates, <expert_k(x), gradient of the mixture>: minus
        that is how far each expert's output points along the error. No outputs are needed, nor computed
        again."""
        self._take_credit_(passed, merits(-gradient_TK.float(), passed.routing.gates_TK))

    def _credit_gradient_(self, passed: Passed, gradient_TD: Tensor) -> None:
        """Called by backward with the gradient of the layer's output; the error is its negative."""
        self._add_credit_(passed, -gradient_TD)

    @torch.no_grad()
    def credit_(self, error: Tensor) -> None:
        """Compute the credit of the experts of the last forward pass. `error`: shaped like x, the direction
        in which the model's output should have moved; the same for all layers, so that no gradient passes
        through any."""
        if self._passed is None:
            return
        passed, self._passed = self._passed, None
        self._add_credit_(passed, error)

    @torch.no_grad()
    def _add_credit_(self, passed: Passed, error: Tensor) -> None:
        self._take_credit_(passed, self.merits(error, passed.input_TD, passed.routing, passed.outputs_TKO))

    def _take_credit_(self, passed: Passed, merit_TK: Tensor) -> None:
        self._credited = True
        self.statistics.add_credit_(
            passed.routing,
            merit_TK,
            step=passed.step,
            counted_T=passed.counted_T,
            token_index_T=passed.token_index_T,
        )

    @torch.no_grad()
    def merits(
        self, error: Tensor, input_TD: Tensor, routing: Routing, outputs_TKO: Tensor | None = None
    ) -> Tensor:
        """[T, K] what each expert contributed beyond the mean of the token's experts, by a = <M expert(x),
        error>, M the mixer. `input_TD`: the input of the experts; `outputs_TKO`: per-expert outputs, if
        retained."""
        wanted_TD = self._scaled(error.reshape(-1, error.shape[-1]).to(input_TD.dtype))
        if self.mixer is not None:
            wanted_TD = wanted_TD @ self.mixer.weight.to(input_TD.dtype)
        alignment_TK = (
            self.experts.recomputed_alignment(input_TD, routing.indices_TK, wanted_TD)
            if outputs_TKO is None
            else self.experts.alignment(outputs_TKO, wanted_TD)
        )
        return merits(alignment_TK, routing.gates_TK)

    def _warn_if_undriven(self) -> None:
        """Warn once if an optimizer has changed a weight and the keys have not been moved."""
        if self.is_driven or self._warned or torch.compiler.is_compiling():
            return
        weight = next((one for one in self.parameters() if one.requires_grad), None)
        if weight is None or not torch.is_grad_enabled() or not self.training:
            return
        if self._first_version is None:
            self._first_version = weight._version
        elif weight._version != self._first_version:
            self._warned = True
            warnings.warn(
                "this SomeLayer was trained for a step and its keys have not moved: add "
                "somelab.attach(model, optimizer, num_steps=...) before the loop, or call "
                "layer.apply_gravity_() after each optimizer.step()",
                stacklevel=3,
            )

    def set_progress_(self, step: int, num_steps: int) -> None:
        """Set the progress of the run, on which top-k warm-up, annealing and decay's warm-up depend."""
        self.keystore.set_progress_(step, num_steps)
        self.router.set_progress_(step, num_steps)
        config, top_k = self.router.config, self.router.top_k
        # In steps; the small term keeps rounding from delaying a boundary.
        passed = step - config.top_k_warmup * num_steps + 1e-6
        ramp = config.top_k_ramp * num_steps
        if passed < 0:
            self.router.num_active = 1
        elif passed < ramp:
            self.router.num_active = min(top_k, 1 + int(passed / ramp * top_k))
        else:
            self.router.num_active = top_k

    def apply_gravity_(self) -> GravityReport | None:
        """Move the keys by the statistics of this step, then reset them. Call after backward, once per step.

        Over several ranks, sum the statistics first: `somelab.core.statistics.all_reduce_`."""
        self.is_driven = True
        self._warn_if_no_credit()
        report = _applied(self.keystore, self.statistics)
        self.statistics.zero_()
        self._passed, self._credited = None, False
        return report

    def _warn_if_no_credit(self) -> None:
        """Warn once if keys that move by credit have never received any."""
        if self._warned or self._credited or not self.training or not self.statistics.wants_credit:
            return
        if self.keystore.is_due and float(self.statistics.num_tokens) > 0:
            self._warned = True
            remedy = (
                "backward has not reached this layer's output (activation checkpointing with "
                "use_reentrant=True hides it)"
                if self.credit_from_backward
                else 'set gravity.credit_from to "backward", or call layer.credit_(error) before backward'
            )
            warnings.warn(
                f"the keys of this SomeLayer move by credit, and no error arrived: {remedy}", stacklevel=3
            )


def apply_gravity_(
    layers: Sequence[SomeLayer], group: dist.ProcessGroup | None = None
) -> list[GravityReport | None]:
    """Move the keys of all layers, after backward, once per optimizer step. One collective sums the
    statistics of all ranks."""
    if any(layer.keystore.is_due for layer in layers) and dist.is_available() and dist.is_initialized():
        all_reduce_([part for layer in layers for part in layer.statistics.parts()], group)
    return [layer.apply_gravity_() for layer in layers]


def _applied(
    store: KeyStore | ProductKeyStore, seen: RoutingStatistics | ProductStatistics
) -> GravityReport | None:
    if isinstance(store, ProductKeyStore):
        assert isinstance(seen, ProductStatistics)
        return store.apply_(seen)
    assert isinstance(seen, RoutingStatistics)
    return store.apply_(seen)


class _WithLoss(torch.autograd.Function):
    """The identity on x whose backward also adds `scale` times the gradient of a loss."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, loss: Tensor, scale: float) -> Tensor:
        ctx.scale = scale
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        (gradient,) = gradients
        return gradient, torch.full((), ctx.scale, device=gradient.device), None
