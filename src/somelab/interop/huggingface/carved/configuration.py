"""The configuration of a carved model: that of the Llama model it was cut from, and how it was cut."""

from __future__ import annotations

from typing import Any

from transformers import LlamaConfig

MODEL_TYPE = "somelab_carved"
AUTO_MAP = {
    "AutoConfig": "modeling_somelab.CarvedLlamaConfig",
    "AutoModelForCausalLM": "modeling_somelab.CarvedLlamaForCausalLM",
}


class CarvedLlamaConfig(LlamaConfig):
    """`groups_in_use` holds one number for each layer; it can be changed after loading."""

    model_type = MODEL_TYPE
    num_groups: int = 1
    groups_in_use: list[int] | None = None
    linear_rank: int = 0
    by_gates: bool = False

    def __init__(self, **options: Any) -> None:
        self.num_groups = int(options.pop("num_groups", 1))
        given = options.pop("groups_in_use", None)
        self.linear_rank = int(options.pop("linear_rank", 0))
        self.by_gates = bool(options.pop("by_gates", False))
        options["auto_map"] = dict(AUTO_MAP)
        super().__init__(**options)
        self.groups_in_use = given or [self.num_groups] * int(self.num_hidden_layers or 0)
