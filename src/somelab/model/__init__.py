"""The decoder around a feed-forward block, its baselines, generation, loss and parameter counts."""

from somelab.model.count import ParameterCount, count_parameters
from somelab.model.decoder import Decoder, DecoderOutput
from somelab.model.generate import Generation, generate
from somelab.model.loss import LossSum, next_token_loss, token_nats

__all__ = [
    "Decoder",
    "DecoderOutput",
    "Generation",
    "LossSum",
    "ParameterCount",
    "count_parameters",
    "generate",
    "next_token_loss",
    "token_nats",
]
