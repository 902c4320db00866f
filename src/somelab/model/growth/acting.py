"""Experts that act on a model by hooks: before a forward pass keys give the gates, and after each module the
selected experts add to its output. The model's own code is not changed.

Shape letters: B sequences, T tokens, E experts (0 is the model itself), D model width, V vocabulary."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from somelab.errors import ConfigError
from somelab.model.decoder import Decoder
from somelab.model.growth.context import History, context_of_call
from somelab.model.growth.keys import ContextKeys
from somelab.model.growth.parts import LinearPart
from somelab.model.growth.places import Place, key_of
from somelab.model.growth.settings import GrowthSettings


class Acting(nn.Module):
    """Experts with parts at places of a model, and keys that select them."""

    def __init__(
        self, model: nn.Module, places: Sequence[Place], settings: GrowthSettings, seed: int
    ) -> None:
        super().__init__()
        self._models = [model]  # in a list: the model is no submodule of its pool
        self.places, self.settings, self.seed = list(places), settings, seed
        self.keys = ContextKeys(_vocabulary(model), settings)
        self.experts = nn.ModuleList()
        self.gates_BTE: Tensor | None = None
        """Of the last forward pass; None if one expert alone computed all tokens."""
        self._only: list[int] | None = None
        self._active: list[int] = []
        self._histories: WeakKeyDictionary[Any, History] = WeakKeyDictionary()
        self._handles: list[Any] = []
        self._were_trained: list[nn.Parameter] = []

    @property
    def model(self) -> nn.Module:
        return self._models[0]

    def _hook_(self) -> None:
        model = self.model
        if isinstance(model, Decoder) and model.grown_head is not None:
            raise ConfigError("model", "Decoder", "has a grown pool already", "call its `detach_` first")
        self._handles.append(model.register_forward_pre_hook(self._begin, with_kwargs=True))
        for place in self.places:
            module = model.get_submodule(place.path)
            self._handles.append(module.register_forward_hook(partial(self._add, place)))
        if isinstance(model, Decoder):
            model.grown_head = self._head

    def detach_(self) -> None:
        """Take the pool off its model, which is then as it was before `attach`."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._free_()
        if isinstance(self.model, Decoder):
            self.model.grown_head = None

    def _freeze_(self) -> None:
        """No gradients for the model while a generation is trained. Only then: torch may take another kernel
        for a frozen weight, and outputs would differ in their last bits."""
        self._were_trained += [one for one in self.model.parameters() if one.requires_grad]
        for parameter in self._were_trained:
            parameter.requires_grad_(False)

    def _free_(self) -> None:
        for parameter in self._were_trained:
            parameter.requires_grad_(True)
        self._were_trained.clear()

    def _begin(self, model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Before a forward pass of the model: which experts act on its tokens."""
        self.gates_BTE = None
        alone = self._only is not None and len(self._only) == 1
        self._active = [] if self._only is None or not alone else [one for one in self._only if one]
        if not len(self.experts) or (alone and kwargs.get("cache", kwargs.get("past_key_values")) is None):
            return
        context = context_of_call(self._histories, args, kwargs)
        if alone:
            return
        reading = self.keys.read(context.tokens_BS, context.segments_BS)
        gates_BSE = self.keys.gates(reading, self._only)
        self.gates_BTE = context.newest(gates_BSE)
        used_E = (self.gates_BTE > 0).flatten(0, 1).any(0).tolist()
        self._active = [expert for expert in range(1, len(used_E)) if used_E[expert]]

    def _add(self, place: Place, module: nn.Module, args: tuple[Any, ...], output: Any) -> Any:
        """After a module: its output with what the selected experts add. None: as it is."""
        if place.kind == "head":
            return self._extended(place, output) if self._columns() else None
        if not self._active:
            return None
        plain = output.mixture if hasattr(output, "mixture") else output
        x = plain if place.kind == "norm" else args[0]
        total = plain
        for expert in self._active:
            part = self._part(expert, place)
            if part is not None:
                total = total + self._gated(expert, part, x, plain)
        return output._replace(mixture=total) if plain is not output else total

    def _gated(self, expert: int, part: nn.Module, x: Tensor, like: Tensor) -> Tensor:
        """g * part(x), computed only for tokens whose gate is not 0."""
        if self.gates_BTE is None:
            return part(x).to(like.dtype)
        gate_BT = self.gates_BTE[:, -like.shape[1] :, expert]
        rows_N = (gate_BT > 0).flatten().nonzero()[:, 0]
        if 2 * len(rows_N) > gate_BT.numel():
            return (part(x) * gate_BT.unsqueeze(-1)).to(like.dtype)
        added = part(x.flatten(0, 1)[rows_N]) * gate_BT.flatten()[rows_N].unsqueeze(-1)
        total_ND = torch.zeros_like(like).flatten(0, 1)
        return total_ND.index_copy(0, rows_N, added.to(like.dtype)).view_as(like)

    def _columns(self) -> list[int]:
        """The experts whose features follow the hidden state. The same for all passes of a mode: the head is
        applied after the pass."""
        experts = range(1, len(self.experts) + 1) if self._only is None else self._only
        return [one for one in experts if one]

    def _extended(self, place: Place, hidden_BTD: Tensor) -> Tensor:
        """[h, g_1 A_1 h, g_1, g_2 A_2 h, g_2, ...]: logits are its product with [W, U_1, b_1, U_2, b_2,
        ...]."""
        found = [hidden_BTD]
        for expert in self._columns():
            part = self._part(expert, place)
            if not isinstance(part, LinearPart):
                continue
            one_BT1 = torch.ones_like(hidden_BTD[..., :1])
            columns = torch.cat([part.features(hidden_BTD).to(hidden_BTD.dtype), one_BT1], dim=-1)
            if self.gates_BTE is not None:
                columns = columns * self.gates_BTE[..., expert, None].to(columns.dtype)
            found.append(columns)
        return torch.cat(found, dim=-1) if len(found) > 1 else hidden_BTD

    def _head(self, weight_VD: Tensor) -> Tensor:
        """The head's weight with the columns of the experts."""
        found = [weight_VD]
        for place in self.places:
            for expert in self._columns() if place.kind == "head" else []:
                part = self._part(expert, place)
                if isinstance(part, LinearPart):
                    found += [part.weight_OR, part.bias_O.unsqueeze(1)]
        return torch.cat(found, dim=1) if len(found) > 1 else weight_VD

    def _part(self, expert: int, place: Place) -> nn.Module | None:
        parts = self.experts[expert - 1]
        assert isinstance(parts, nn.ModuleDict)
        key = key_of(place)
        return parts[key] if key in parts else None  # noqa: SIM401  # a ModuleDict has no `get`


def _vocabulary(model: nn.Module) -> int:
    """Number of tokens that the model knows."""
    if isinstance(model, Decoder):
        return model.config.model.vocab_size
    for module in model.modules():
        if isinstance(module, nn.Embedding):
            return module.num_embeddings
    remedy = "use a language model whose input are tokens"
    raise ConfigError("model", type(model).__name__, "has no embedding", remedy)
