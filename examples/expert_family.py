"""A kind of experts of your own: each is one random rotation of the input's coordinates and a sign, no matrix
at all. It registers itself by its name, and routing, credit, parameter counts and checkpoints work with
it."""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

import somelab
from somelab.config import Config, ExpertsConfig, override
from somelab.core.seeding import generator
from somelab.model.count import count_parameters


class Shuffles(somelab.ExpertFamily, name="shuffles"):
    """expert(x)_d = s_d relu(x[p_d]): p a permutation and s signs, both drawn from the random seed."""

    def __init__(self, d_model: int, config: ExpertsConfig, *, seed: int, layer: int) -> None:
        super().__init__(d_model, config, seed=seed, layer=layer)
        self.place_ED, self.sign_ED = (
            nn.Parameter(torch.empty(config.num_experts, d_model), requires_grad=False) for _ in range(2)
        )
        self.reset_()

    def drawn_weights(self) -> Iterator[tuple[str, nn.Parameter]]:
        yield from (("place_ED", self.place_ED), ("sign_ED", self.sign_ED))

    @torch.no_grad()
    def draw_one_(self, expert: int) -> None:
        rng = generator(self.origin.seed, "expert", self.origin.layer, expert)
        self.place_ED[expert].copy_(torch.randperm(self.origin.d_model, generator=rng))
        self.sign_ED[expert].copy_(torch.randint(2, (self.origin.d_model,), generator=rng) * 2 - 1)

    def forward(
        self, x_TD: Tensor, indices_TK: Tensor, gates_TK: Tensor, outputs_TKO: Tensor | None = None
    ) -> Tensor:
        place_TKD = self.place_ED[indices_TK].long()
        each_TKD = self.sign_ED[indices_TK] * x_TD[:, None].expand_as(place_TKD).gather(2, place_TKD).relu()
        if outputs_TKO is not None:
            outputs_TKO.copy_(each_TKD.detach())
        return (each_TKD * gates_TK[:, :, None]).sum(dim=1)

    def num_products(self) -> int:
        return 0


if __name__ == "__main__":
    layer = somelab.SomeLayer(64, {"family": "shuffles", "num_experts": 256})
    print(layer(torch.randn(2, 10, 64)).shape)
    for family in ("dense", "shuffles"):
        count = count_parameters(override(Config(), {"experts.family": family}))
        print(f"{family}: {count.frozen:,} frozen weights, {count.flops_per_token:,} FLOPs a token")
