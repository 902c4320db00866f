"""A Llama model whose feed-forward blocks are carved: `from_pretrained`, `generate` and `save_pretrained` as
for any other model of transformers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from torch import nn
from transformers import LlamaForCausalLM
from transformers.activations import ACT2FN

from somelab.interop.huggingface.carved.configuration import CarvedLlamaConfig
from somelab.interop.huggingface.carved.feedforward import CarvedFeedForward


class CarvedLlamaForCausalLM(LlamaForCausalLM):
    """Experts are frozen, keys are buffers in fp32."""

    config_class = CarvedLlamaConfig
    _keep_in_fp32_modules_strict = ["mlp.keys", "mlp.offset", "mlp.square"]

    def __init__(self, config: CarvedLlamaConfig) -> None:
        super().__init__(config)
        size = config.intermediate_size // config.num_groups
        for layer, num_used in zip(self.model.layers, config.groups_in_use or [], strict=True):
            act = ACT2FN[config.hidden_act]
            layer.mlp = CarvedFeedForward(
                config.hidden_size, config.num_groups, size, config.linear_rank, act, by_gates=config.by_gates
            )
            layer.mlp.num_used = num_used
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        if not isinstance(module, CarvedFeedForward):
            super()._init_weights(module)

    def blocks(self) -> list[CarvedFeedForward]:
        """The carved blocks, one for each layer."""
        return [layer.mlp for layer in self.model.layers]  # pyright: ignore[reportReturnType]

    def use_(self, groups_in_use: list[int]) -> None:
        """Change how many groups the tokens of each layer use."""
        for block, num_used in zip(self.blocks(), groups_in_use, strict=True):
            block.num_used = num_used
        self.config.groups_in_use = list(groups_in_use)

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path: Any, *arguments: Any, **options: Any) -> Any:
        """Load a folder; loading makes every weight trainable, so groups are frozen again."""
        found: Any = super().from_pretrained(pretrained_model_name_or_path, *arguments, **options)
        model = found[0] if isinstance(found, tuple) else found
        for block in model.blocks():
            block.requires_grad_(False)
        return found

    def save_pretrained(self, save_directory: str | os.PathLike[str], *arguments: Any, **options: Any) -> Any:
        """Write the model and its code."""
        from somelab.interop.huggingface import shipping

        saved = super().save_pretrained(save_directory, *arguments, **options)
        if options.get("is_main_process", True):
            shipping.write_carved_code(Path(save_directory))
        return saved

    @classmethod
    def register_for_auto_class(cls, auto_class: Any = "AutoModel") -> None:
        """Nothing to do: `save_pretrained` writes the code, and the configuration names it."""
