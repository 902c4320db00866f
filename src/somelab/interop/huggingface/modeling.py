"""A somelab model as a `PreTrainedModel`: the decoder of the run behind the interface of transformers.

With `somelab.attach` its keys move while the Hugging Face Trainer trains it. Shape letters: B sequences, T
tokens, S slots of the cache and new tokens, D model width, V vocabulary."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn
from transformers import DynamicCache, GenerationMixin, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutputWithPast

from somelab.core.experts import ExpertFamily
from somelab.core.statistics import RoutingStatistics
from somelab.errors import ConfigError, SomelabError
from somelab.interop.huggingface import pools
from somelab.interop.huggingface.configuration import SomelabConfig
from somelab.interop.huggingface.placing import place_padded
from somelab.model.decoder import Decoder, TokenInfo
from somelab.model.precision import compute_dtype

IGNORED = -100
"""The label of tokens that carry no loss, as everywhere in transformers."""


class SomelabForCausalLM(PreTrainedModel, GenerationMixin):
    """A language model with SoME layers, or one of its baselines."""

    config_class = SomelabConfig
    base_model_prefix = "decoder"
    main_input_name = "input_ids"
    supports_gradient_checkpointing = False
    _supports_sdpa = True
    _no_split_modules = ["Block"]
    # Keys, usage and scores are fp32 whatever the rest runs in.
    _keep_in_fp32_modules_strict = ["keystore"]

    def __init__(self, config: SomelabConfig) -> None:
        super().__init__(config)
        self.decoder = Decoder(config.run_config())
        for layer in self.decoder.some_layers():
            layer.credit_from_backward = True  # trainers of others do not pass an error to the layers
        self._frozen = {name for name, weight in self.named_parameters() if not weight.requires_grad}
        drawn = set() if config.stores_pools else pools.drawn_names(self)
        self._keys_to_ignore_on_save = drawn
        self._keys_to_ignore_on_load_missing = {name.replace(".", r"\.") for name in drawn}
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        """Called for what the file does not hold: frozen pools and the statistics of a training step.

        Everything else was drawn by the decoder."""
        if isinstance(module, ExpertFamily) and not any(weight.is_meta for weight in module.parameters()):
            drawn = list(module.drawn_weights())
            if not all(getattr(weight, "_is_hf_initialized", False) for _, weight in drawn):
                pools.draw_(module)
        elif isinstance(module, RoutingStatistics):
            module.materialize_()

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path: Any, *arguments: Any, **options: Any) -> Any:
        """Load a folder or a model of the Hub; frozen pools are drawn again and verified."""
        found: Any = super().from_pretrained(pretrained_model_name_or_path, *arguments, **options)
        model = cast(SomelabForCausalLM, found[0] if isinstance(found, tuple) else found)
        model.freeze_()
        pools.verify(model, model.config.pools)
        return found

    def freeze_(self) -> None:
        """Loading makes every weight trainable; frozen ones are frozen again."""
        for name, weight in self.named_parameters():
            if name in self._frozen:
                weight.requires_grad_(False)

    def save_pretrained(self, save_directory: str | os.PathLike[str], *arguments: Any, **options: Any) -> Any:
        """Write the model and its code. Frozen pools are left out, and described by origin and digest."""
        from somelab.interop.huggingface import shipping

        self.config.pools = pools.describe(self)
        saved = super().save_pretrained(save_directory, *arguments, **options)
        if options.get("is_main_process", True):
            shipping.write_code(Path(save_directory))
        return saved

    @classmethod
    def register_for_auto_class(cls, auto_class: Any = "AutoModel") -> None:
        """Nothing to do: `save_pretrained` writes the code, and the configuration names it."""

    def get_input_embeddings(self) -> nn.Module:
        return self.decoder.embedding

    def set_input_embeddings(self, value: nn.Module) -> None:
        raise SomelabError("a somelab model cannot change its vocabulary; train one with model.vocab_size")

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        past_key_values: Any = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        use_cache: bool | None = None,
        logits_to_keep: int | Tensor = 0,
        output_hidden_states: bool | None = None,
        output_attentions: bool | None = None,
        return_dict: bool | None = None,
        **options: Any,
    ) -> CausalLMOutputWithPast | tuple[Any, ...]:
        """Logits, and with `labels` the loss: cross-entropy of the next token, plus that of routing."""
        if input_ids is None or inputs_embeds is not None:
            raise ConfigError("inputs_embeds", "given", "somelab reads tokens", "pass input_ids")
        if attention_mask is not None and attention_mask.dim() != 2:
            shape = tuple(attention_mask.shape)
            raise ConfigError("attention_mask", shape, "is not [B, S]", "pass 1 for tokens, 0 for padding")
        if use_cache is None:
            use_cache = bool(self.config.use_cache) and not self.training
        if use_cache and past_key_values is None:
            past_key_values = DynamicCache()
        cache = past_key_values if use_cache else None
        decoder, shape = self.decoder, self.decoder.config.model
        dtype = compute_dtype(decoder.embedding.weight)
        placement = place_padded(shape, input_ids, attention_mask, position_ids, cache, dtype)
        info = TokenInfo(_counted(input_ids, attention_mask, labels), None)
        output = decoder.read(decoder.embed(input_ids, placement), placement, info, hidden_only=True)
        kept = slice(-logits_to_keep, None) if isinstance(logits_to_keep, int) else logits_to_keep
        logits_BTV = decoder.head(output.hidden_BTD[:, kept])
        loss: Tensor | None = None
        if labels is not None:
            mean_nats = cast(Callable[..., Tensor], self.loss_function)
            nats = mean_nats(logits_BTV, labels, vocab_size=shape.vocab_size, **options)
            loss = nats + output.aux_loss.to(nats.dtype)
        made = CausalLMOutputWithPast(
            loss=cast(Any, loss), logits=cast(Any, logits_BTV), past_key_values=past_key_values
        )
        if output_hidden_states:
            made["hidden_states"] = (output.hidden_BTD,)
        return made.to_tuple() if return_dict is False else made


def _counted(tokens_BT: Tensor, attended_BS: Tensor | None, labels_BT: Tensor | None) -> Tensor | None:
    """The tokens that the statistics of routing count: those that predict a label, else all but padding."""
    if labels_BT is not None:
        counted_BT = torch.zeros_like(labels_BT, dtype=torch.bool)
        counted_BT[:, :-1] = labels_BT[:, 1:] != IGNORED
        return counted_BT
    return None if attended_BS is None else attended_BS[:, -tokens_BT.shape[1] :].bool()
