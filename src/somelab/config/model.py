"""The decoder around the feed-forward block: its size, and which of two backbones it has.

`backbone` sets a whole style; each part can be set alone (None: the backbone's value)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from somelab.config.base import Decay, Group, Positive, Size, at_most, refuse

Layers = Annotated[int, Field(ge=1), at_most(1000)]
Length = Annotated[int, Field(ge=1), at_most(2**24)]
Norm = Literal["layer", "rms"]
NormPosition = Literal["post", "pre"]
Positions = Literal["sinusoidal", "rope", "alibi", "none"]
FeedForward = Literal["some", "none", "dense", "frozen_dense", "moe"]

READS_AHEAD = (
    "no causal mask: every token sees the tokens that it is to predict, so losses and perplexities are not "
    "those of a language model"
)
"""What is said of a model with `causal` = false, wherever its figures are shown."""

BACKBONES: dict[str, dict[str, Any]] = {
    "published": {
        "norm": "layer",
        "norm_position": "post",
        "positions": "sinusoidal",
        "bias": True,
        "tied_head": False,
        "final_norm": False,
        "scale_embedding": True,
        "embedding_std": 1.0,
    },
    "modern": {
        "norm": "rms",
        "norm_position": "pre",
        "positions": "rope",
        "bias": False,
        "tied_head": True,
        "final_norm": True,
        "scale_embedding": False,
        "embedding_std": 0.02,
    },
}


class ModelConfig(Group):
    d_model: Size = 256
    """Width of the residual stream (D)."""
    num_layers: Layers = 4
    """Number of blocks (L), each attention + feed-forward."""
    num_heads: Size = 4
    """Attention heads; must divide d_model."""
    seq_len: Length = 256
    """Tokens in a training sequence (T). RoPE and ALiBi models can be evaluated on longer ones."""
    vocab_size: Length = 8192
    """Size of the tokenizer's vocabulary (V)."""
    feed_forward: FeedForward = "some"
    """The feed-forward block: some | none | dense (trained) | frozen_dense (random) | moe (learned router,
    trained experts)."""
    d_dense: Size | None = None
    """Hidden width of the dense baselines. None: top_k x d_ffn, the active size of the SoME layer."""
    dense_gate: bool = False
    """SwiGLU in a dense block: hidden features times silu(W_gate x) in place of GELU. A third matrix, so that
    two thirds of the width train as many weights."""
    dense_norm: bool = False
    """Scale the hidden features of a dense block to rms 1 before GELU, as experts that read the query have
    them. It trains no weight."""
    backbone: Literal["published", "modern"] = "published"
    """published (that of the reports): post-norm LayerNorm, sinusoidal positions, biases, untied head.
    modern: pre-norm RMSNorm, RoPE, no biases, tied head."""
    norm: Norm | None = None
    """Normalisation layer. None: the backbone's."""
    norm_position: NormPosition | None = None
    """post: LN(x + f(x)); pre: x + f(LN(x)). None: the backbone's."""
    positions: Positions | None = None
    """Position encoding. None: the backbone's."""
    bias: bool | None = None
    """Biases in attention, query network, dense blocks and output head. None: the backbone's."""
    tied_head: bool | None = None
    """Output head shares the token embedding. None: the backbone's."""
    final_norm: bool | None = None
    """A last normalisation before the head. None: the backbone's."""
    scale_embedding: bool | None = None
    """Token embedding times sqrt(d_model). None: the backbone's."""
    embedding_std: Positive | None = None
    """Standard deviation of the token embedding at the start. None: the backbone's (1 and 0.02)."""
    causal: bool = True
    """Whether a token attends only to itself and those before it. false: to all tokens, those that it is to
    predict included, as in the first notebooks: losses are then not those of a language model, and generation
    is refused."""
    attention_init: Literal["linear", "xavier"] = "linear"
    """How attention starts. linear: as nn.Linear; xavier: as nn.MultiheadAttention in the reports: queries,
    keys and values Xavier-uniform, the output as nn.Linear, all biases 0."""
    dropout: Decay = 0.0
    """Dropout on embeddings and on the output of attention and feed-forward."""
    rope_base: Positive = 10000.0
    """Base of the rotary angles."""

    def part(self, name: str) -> Any:
        """The value of a backbone part: the field's own, or the backbone's if it is None."""
        value = getattr(self, name)
        return BACKBONES[self.backbone][name] if value is None else value

    @field_validator("backbone", mode="before")
    @classmethod
    def _earlier_name(cls, value: object) -> object:
        """Files of earlier versions call the published backbone `seed`."""
        return "published" if value == "seed" else value

    @model_validator(mode="after")
    def _heads_divide_width(self) -> ModelConfig:
        if self.d_model % self.num_heads:
            divisors = [n for n in range(1, 65) if self.d_model % n == 0]
            refuse(
                "num_heads",
                self.num_heads,
                f"does not divide d_model = {self.d_model}",
                f"choose one of {divisors}",
            )
        if self.part("positions") == "rope" and (self.d_model // self.num_heads) % 2:
            head = self.d_model // self.num_heads
            refuse(
                "num_heads",
                self.num_heads,
                f"RoPE needs an even head width, not {head}",
                "change num_heads or d_model",
            )
        return self
