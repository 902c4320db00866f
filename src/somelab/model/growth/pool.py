"""A pool that grows on a frozen model: every growth adds experts with parts at many places of the model,
which are trained, then frozen for good. Keys alone, without gradients, decide which acts on a token.

Shape letters: B sequences, T tokens, E experts (0 is the model itself), D model width, V vocabulary."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from somelab.core.seeding import generator
from somelab.errors import ConfigError, SomelabError, nearest
from somelab.model.growth.acting import Acting
from somelab.model.growth.context import context_of
from somelab.model.growth.places import Place, chosen_places, key_of
from somelab.model.growth.record import BASE, Generation, check_name
from somelab.model.growth.settings import GrowthSettings


class GrownPool(Acting):
    """Experts added to a frozen model:

        pool = GrownPool.attach(model)
        pool.read_(tokens)                       # the base's key: what it was trained on
        pool.grow_(name="verse")                 # a generation of one expert, which adds nothing yet
        with pool.only("verse"): ...             # train pool.open_parameters() on new text
        pool.read_(new_tokens); pool.settle_()   # the expert's key; then it is frozen for good

    Without a generation the model's outputs are bit-equal to those without a pool."""

    def __init__(
        self, model: nn.Module, places: Sequence[Place], settings: GrowthSettings, seed: int
    ) -> None:
        super().__init__(model, places, settings, seed)
        self.generations: list[Generation] = []

    @classmethod
    def attach(
        cls,
        model: nn.Module,
        places: list[str] | None = None,
        settings: GrowthSettings | Mapping[str, Any] | None = None,
        *,
        seed: int = 0,
    ) -> GrownPool:
        """A pool without experts on a model, which nothing here ever changes. `places`: regular expressions
        for the modules to add to; None: all that are known."""
        if not isinstance(settings, GrowthSettings):
            settings = GrowthSettings.of(settings or {})
        pool = cls(model, chosen_places(model, places), settings, seed)
        pool.to(next(model.parameters()).device)
        pool._hook_()
        return pool

    # Growth

    @property
    def names(self) -> list[str]:
        """Of all experts, the base first; several experts of a generation are numbered."""
        found = [BASE]
        for one in self.generations:
            several = one.num_experts > 1
            found += [f"{one.name}.{number}" if several else one.name for number in range(one.num_experts)]
        return found

    def grow_(self, num: int = 1, *, name: str | None = None, start_from: str | None = None) -> Generation:
        """Add a generation of `num` experts, which add nothing yet and whose keys are nowhere. `start_from`:
        the expert whose parts they begin as copies of; None or `base`: new parts."""
        if num < 1:
            raise ConfigError("experts", num, "adds nothing", "choose 1 or more")
        self.settle_()
        name = self._new_name(name)
        source = 0 if start_from is None else self._expert(start_from)
        first = len(self.experts)
        for number in range(num):
            expert = self._drawn(first + number)
            if source:
                expert.load_state_dict(self.experts[source - 1].state_dict())
            self.experts.append(expert)
            self.keys.add_()
        self._freeze_()
        record = Generation(name, num, 0, 0, start_from=self.names[source] if source else BASE)
        self.generations.append(record)
        return self.note_(num_parameters=self._num_parameters(name), num_bytes=self._num_bytes(name))

    def settle_(self) -> None:
        """Freeze the newest generation for good."""
        if self.generations and not self.generations[-1].settled:
            for parameter in self.open_parameters():
                parameter.requires_grad_(False)
                parameter.grad = None
            self.note_(settled=True)
            self._free_()

    def open_parameters(self) -> list[nn.Parameter]:
        """What may be trained: the parts of the newest generation, until it is settled."""
        if not self.generations or self.generations[-1].settled:
            return []
        experts = self.experts_of(self.generations[-1].name)
        return [one for expert in experts for one in self.experts[expert - 1].parameters()]

    def note_(self, **changes: Any) -> Generation:
        """Change the record of the newest generation."""
        self.generations[-1] = replace(self.generations[-1], **changes)
        return self.generations[-1]

    @torch.no_grad()
    def read_(
        self,
        tokens_BT: Tensor,
        documents_BT: Tensor | None = None,
        counted_BT: Tensor | None = None,
        nats_BT: Tensor | None = None,
    ) -> None:
        """Attract the keys of the newest generation, or the base's before the first growth, to these
        contexts. Of several experts, the one that fits a document best wins it; keys that are nowhere yet
        begin at documents of high loss (`nats_BT`)."""
        reading = self.keys.read(*context_of(tokens_BT, documents_BT))
        weight_BT = torch.ones_like(tokens_BT) if counted_BT is None else counted_BT
        if not self.generations:
            self.keys.attract_(0, reading, weight_BT)
            return
        if self.generations[-1].settled:
            remedy = "call `grow_` first"
            raise ConfigError("generation", self.generations[-1].name, "is settled and keeps its key", remedy)
        experts = self.experts_of(self.generations[-1].name)
        if len(experts) == 1:
            self.keys.attract_(experts[0], reading, weight_BT)
        else:
            won_BTE = self.keys.winners(reading, experts, nats_BT)
            for expert in experts:
                self.keys.attract_(expert, reading, weight_BT * won_BTE[..., expert])
        self.note_(num_tokens=self.generations[-1].num_tokens + int(weight_BT.sum()))

    def remove_(self, name: str) -> None:
        """Take a generation out. All others, and their outputs where it was not selected, stay as they
        are."""
        record = self.generation(name)
        for expert in reversed(self.experts_of(name)):
            del self.experts[expert - 1]
            self.keys.remove_(expert)
        self.generations.remove(record)
        if not record.settled:
            self._free_()

    def rename_(self, old: str, new: str) -> None:
        record = self.generation(old)
        self.generations[self.generations.index(record)] = replace(record, name=self._new_name(new))

    def take_(self, other: GrownPool, name: str) -> Generation:
        """Copy a settled generation from a pool on the same trunk."""
        if other.trunk_digest() != self.trunk_digest():
            remedy = "take from a model with the same base checkpoint"
            raise ConfigError(
                "take", name, "was grown on another trunk, where its parts mean nothing", remedy
            )
        if other.settings != self.settings or other.places != self.places:
            raise ConfigError("take", name, "was grown with other settings", "grow both with the same")
        return self.insert_(replace(other.generation(name), settled=True), other.tensors(name))

    # Storage

    def tensors(self, name: str) -> dict[str, Tensor]:
        """Parts and keys of a generation by name, or the base's key: all that a file has to keep."""
        found: dict[str, Tensor] = {}
        for number, expert in enumerate([0] if name == BASE else self.experts_of(name)):
            modules: dict[str, nn.Module] = {"keys": self.keys.keys[expert]}
            if expert:
                modules["parts"] = self.experts[expert - 1]
            for kind, module in modules.items():
                for path, tensor in module.state_dict().items():
                    found[f"{number}.{kind}.{path}"] = tensor.detach()
        return found

    def insert_(self, record: Generation, tensors: Mapping[str, Tensor]) -> Generation:
        """Add a generation that is given by its record and tensors."""
        name = self._new_name(record.name)
        first = len(self.experts)
        for number in range(record.num_experts):
            self.experts.append(self._drawn(first + number))
            self.keys.add_()
        self.generations.append(replace(record, name=name))
        self.load_(name, tensors)
        if record.settled:
            for expert in self.experts_of(name):
                self.experts[expert - 1].requires_grad_(False)
        else:
            self._freeze_()
        return self.generations[-1]

    def load_(self, name: str, tensors: Mapping[str, Tensor]) -> None:
        """Set parts and keys of a generation, or the base's key. Names and shapes must be those of
        `tensors`."""
        own = self.tensors(name)
        for path in own.keys() | tensors.keys():
            if path not in own or path not in tensors or own[path].shape != tensors[path].shape:
                raise SomelabError(f"{name}: its {path} does not fit this pool; it has other settings")
        with torch.no_grad():
            for path, tensor in own.items():
                tensor.copy_(tensors[path])
        self.keys.changed_()

    def trunk_digest(self) -> str:
        """Of names, shapes and bits of the model's state: parts fit only the trunk they were grown on."""
        found = hashlib.sha256()
        for path, tensor in sorted(self.model.state_dict().items()):
            found.update(f"{path} {tuple(tensor.shape)} {tensor.dtype}\n".encode())
            flat = tensor.detach().cpu().contiguous().flatten().view(torch.uint8)
            found.update(flat.numpy().tobytes())
        return found.hexdigest()

    # Selection

    def generation(self, name: str) -> Generation:
        for record in self.generations:
            if record.name == name:
                return record
        known = [record.name for record in self.generations]
        raise ConfigError("generation", name, "is not in this pool", nearest(name, known))

    def experts_of(self, name: str) -> list[int]:
        """The experts of a generation, as indices of gates."""
        first = 1
        for record in self.generations:
            if record.name == name:
                return list(range(first, first + record.num_experts))
            first += record.num_experts
        self.generation(name)
        raise AssertionError

    @contextmanager
    def only(self, name: str) -> Generator[None]:
        """Forward passes use this generation or expert alone, for all tokens; `base`: the model without
        additions."""
        known = [record.name for record in self.generations]
        before, self._only = self._only, self.experts_of(name) if name in known else [self._expert(name)]
        try:
            yield
        finally:
            self._only = before

    def _expert(self, name: str) -> int:
        if name not in self.names:
            raise ConfigError("expert", name, "is not in this pool", nearest(name, self.names))
        return self.names.index(name)

    @torch.no_grad()
    def gates(self, tokens_BT: Tensor, documents_BT: Tensor | None = None) -> Tensor:
        """[B, T, E]: how much of each expert acts on each token."""
        return self.keys.gates(self.keys.read(*context_of(tokens_BT, documents_BT)), self._only)

    # Details

    def _drawn(self, number: int) -> nn.ModuleDict:
        """New parts, a function of the seed and the number of the expert."""
        found = nn.ModuleDict()
        for index, place in enumerate(self.places):
            part = place.build(self.settings, generator(self.seed, "grown part", index, number))
            if part is not None:
                found[key_of(place)] = part
        return found.to(self.keys.device)

    def _new_name(self, name: str | None) -> str:
        known = {record.name for record in self.generations}
        if name is None:
            number = len(known) + 1
            while f"growth-{number}" in known:
                number += 1
            return f"growth-{number}"
        check_name(name, known)
        return name

    def _num_parameters(self, name: str) -> int:
        experts = self.experts_of(name)
        return sum(one.numel() for expert in experts for one in self.experts[expert - 1].parameters())

    def _num_bytes(self, name: str) -> int:
        return sum(one.numel() * one.element_size() for one in self.tensors(name).values())
