"""The configuration of an exported model: somelab's own, whole, beside the names that transformers' tools
read."""

from __future__ import annotations

from typing import Any

from transformers import PreTrainedConfig

from somelab.config import Config
from somelab.interop.huggingface.shipping import AUTO_MAP

MODEL_TYPE = "somelab"


class SomelabConfig(PreTrainedConfig):
    """`somelab` is the configuration of the run, `pools` the origin and digest of each frozen pool."""

    model_type = MODEL_TYPE
    keys_to_ignore_at_inference = ["past_key_values"]

    def __init__(
        self,
        somelab: dict[str, Any] | None = None,
        pools: dict[str, dict[str, Any]] | None = None,
        stores_pools: bool = False,
        **others: Any,
    ) -> None:
        """`stores_pools`: the weights of frozen pools are saved, too, instead of being drawn again."""
        self.somelab = Config.model_validate(somelab or {}).model_dump(mode="json")
        self.pools = pools or {}
        self.stores_pools = stores_pools
        shape = self.run_config().model
        self.vocab_size = shape.vocab_size
        self.hidden_size = shape.d_model
        self.num_hidden_layers = shape.num_layers
        self.num_attention_heads = shape.num_heads
        self.max_position_embeddings = shape.seq_len
        self.use_cache = others.pop("use_cache", True)
        derived = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads")
        others = {name: value for name, value in others.items() if name not in derived}
        others.pop("max_position_embeddings", None)
        # The decoder ties its head itself: there is no second weight for transformers to tie.
        others["tie_word_embeddings"] = False
        others["auto_map"] = dict(AUTO_MAP)
        super().__init__(**others)

    @classmethod
    def register_for_auto_class(cls, auto_class: Any = "AutoConfig") -> None:
        """Nothing to do: `auto_map` always names the code that is saved with a model."""

    def run_config(self) -> Config:
        """As somelab's own tree."""
        return Config.model_validate(self.somelab)
