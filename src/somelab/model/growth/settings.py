"""Settings of a grown pool: the sizes of an expert's parts, and how contexts are compared with keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from somelab.errors import ConfigError, nearest


@dataclass(frozen=True)
class GrowthSettings:
    """Sizes of 0 leave a part out; a rank as large as the smaller side of a matrix stores it whole."""

    width: int = 64
    """Hidden units of a feed-forward part."""
    rank: int = 16
    """Rank of the addition to a linear module, such as a projection of attention."""
    embedding_rank: int = 32
    """Rank of the addition to the embedding."""
    head_rank: int = 32
    """Rank of the addition to the head."""
    norms: bool = True
    """Whether an expert has gains and offsets of its own in the norms."""
    num_pairs: int = 65_536
    """Buckets into which a key hashes pairs of tokens."""
    smoothing: float = 10.0
    """Weight of a key's single tokens in its estimate of pairs, in tokens."""
    sharpness: float = 1.0
    """Factor on the evidence; 1: the evidence of each token counts in full."""
    smallest_gate: float = 0.01
    """Gates below this are set to 0, so that most tokens are computed by one expert."""

    def __post_init__(self) -> None:
        for name in ("width", "rank", "embedding_rank", "head_rank"):
            if getattr(self, name) < 0:
                raise ConfigError(name, getattr(self, name), "is no size", "choose 0 or more")
        if self.num_pairs < 1:
            raise ConfigError("num_pairs", self.num_pairs, "leaves no bucket", "choose 1 or more")
        for name in ("smoothing", "sharpness"):
            if not getattr(self, name) > 0:
                raise ConfigError(name, getattr(self, name), "must be positive", "choose a number above 0")
        if not 0 <= self.smallest_gate < 0.5:
            remedy = "choose 0 or more, and less than 0.5"
            raise ConfigError("smallest_gate", self.smallest_gate, "could drop every gate", remedy)

    def content(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return asdict(self)

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> GrowthSettings:
        """From plain values; an unknown name raises."""
        known = [field.name for field in fields(cls)]
        for name in content:
            if name not in known:
                raise ConfigError("growth", name, "is no setting of a grown pool", nearest(name, known))
        return cls(**content)
