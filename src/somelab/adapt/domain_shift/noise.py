"""The control: keys moved as far as adaptation moved them, at the same times, but each in a random direction.
A gain here is not due to the direction of movement. Shape letters: D model width, E experts."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from somelab.adapt.reading.mode import Adaptation
from somelab.adapt.reading.movement import angles
from somelab.core.seeding import generator

Step = list[tuple[Tensor, Tensor]]
"""Per layer: the angle of each key to its home, and its length."""


def step_of(adaptation: Adaptation) -> Step:
    """The present angles and lengths, without directions."""
    stores = [(place.store.keys_ED.detach(), place.home.keys_ED) for place in adaptation.places]
    return [(angles(keys_ED, home_ED).float(), keys_ED.norm(dim=1)) for keys_ED, home_ED in stores]


class KeyNoise:
    """A fixed random direction for each key, in which it is turned by a given angle."""

    def __init__(self, adaptation: Adaptation, seed: int) -> None:
        self.adaptation = adaptation
        self._aside: list[Tensor] = []
        for number, place in enumerate(adaptation.places):
            home_ED = F.normalize(place.home.keys_ED, dim=1)
            drawn_ED = torch.randn(home_ED.shape, generator=generator(seed, "key noise", number)).to(home_ED)
            aside_ED = drawn_ED - (drawn_ED * home_ED).sum(dim=1, keepdim=True) * home_ED
            self._aside.append(F.normalize(aside_ED, dim=1))

    @torch.no_grad()
    def apply_(self, step: Step) -> None:
        """k <- |k| (cos(angle) home + sin(angle) aside). The end of the adaptation restores the keys."""
        for place, aside_ED, (angle_E, length_E) in zip(
            self.adaptation.places, self._aside, step, strict=True
        ):
            home_ED, store = F.normalize(place.home.keys_ED, dim=1), place.store
            turned_ED = angle_E.cos()[:, None] * home_ED + angle_E.sin()[:, None] * aside_ED
            store.keys_ED.copy_(length_E[:, None] * turned_ED)
            if store.config.key_ema:
                store.average_ED.copy_(store.keys_ED)
