"""The probe `router-precision`: the share of tokens whose set of experts differs between a query network that
runs in bf16 and one that runs in fp32, from the same states."""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean
from typing import TYPE_CHECKING, Any

from somelab.runs import RunFolder

if TYPE_CHECKING:
    from somelab.core.router import Router, Routing
    from somelab.model import Decoder

TOKENS = 16_384


class Differing:
    """Counts, per layer, the tokens whose set of experts differs when the query network is exact."""

    def __init__(self, model: Decoder) -> None:
        self.differing, self.tokens = [0.0] * len(model.some_layers()), 0
        for number, layer in enumerate(model.some_layers()):
            layer.router.register_forward_hook(self._hook(number), with_kwargs=True)

    def _hook(self, number: int) -> Callable[[Router, tuple[Any, ...], dict[str, Any], Routing], None]:
        import torch

        def compare(
            router: Router, inputs: tuple[Any, ...], options: dict[str, Any], rounded: Routing
        ) -> None:
            settings = router.config
            router.config = settings.model_copy(update={"precision": "fp32"})
            exact = router.forward(*inputs, **options)
            router.config = settings
            sets = [routing.indices_TK.sort(dim=1).values for routing in (rounded, exact)]
            same_T = torch.eq(*sets).all(dim=1)
            self.differing[number] += float((~same_T).sum())
            self.tokens += same_T.numel() if number == 0 else 0

        return compare

    def shares(self) -> list[float]:
        return [count / max(1, self.tokens) for count in self.differing]


def router_precision(run: RunFolder) -> dict[str, float]:
    """Share of validation tokens with another set of experts, mean over layers and each layer's, with the
    model in bf16. 0 for a run whose query network is in fp32."""
    import torch

    from somelab.data.prepare import prepare
    from somelab.runs.trained import load_trained
    from somelab.training.evaluate import evaluate, validation

    trained = load_trained(run)
    counter = Differing(trained.model)
    batches = validation(prepare(trained.config), trained.config)
    evaluate(trained.model, batches, dtype=torch.bfloat16, max_tokens=TOKENS)
    shares = counter.shares()
    layers = {f"differing_share_layer_{number}": share for number, share in enumerate(shares)}
    return {"differing_share": fmean(shares) if shares else 0.0, **layers}
