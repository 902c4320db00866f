"""How long, how fast and in which precision a model is trained."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from somelab.config.base import Count, Decay, Fraction, Group, Positive, Rate, Size, Whole, refuse


class TrainConfig(Group):
    batch_size: Size = 32
    """Sequences in one optimizer step, over all ranks and micro-batches."""
    micro_batch_size: Size | None = None
    """Sequences in one forward pass; gradients accumulate to batch_size. None: as many as give 8,192 tokens
    or less."""
    epochs: Positive | None = 4
    """Passes over the training data. One of epochs, steps and minutes is set."""
    steps: Count | None = None
    """Optimizer steps."""
    minutes: Positive | None = None
    """Time budget, the last evaluation included; the schedule follows the clock."""
    learning_rate: Positive = 6e-4
    """Peak learning rate of AdamW."""
    embedding_rate: Positive = 1.0
    """Learning rate of the token embedding and the output head, as a multiple of `learning_rate`."""
    warmup_fraction: Fraction = 0.04
    """Share of the run in which the learning rate rises from 0."""
    final_lr_fraction: Fraction = 0.0
    """Learning rate at the end of the cosine, as a share of the peak."""
    betas: tuple[Decay, Decay] = (0.9, 0.95)
    """AdamW's two decay factors."""
    weight_decay: Rate = 0.1
    """AdamW's weight decay, on matrices only."""
    clip: Positive | None = 1.0
    """Largest norm of the gradient. None: no clipping."""
    precision: Literal["auto", "bf16", "fp32"] = "auto"
    """Compute type of everything but keys, usage and scores, which stay fp32.
    auto: bf16 where the hardware multiplies it natively."""
    compile: bool = False
    """torch.compile the model after `compile_after` steps; on CUDA in the mode that reduces launch
    overhead."""
    compile_after: Count = 50
    """Steps before compiling, so that shapes and routing have settled."""
    recompute: bool = False
    """Recompute activations in backward instead of keeping them: less memory, about a third more time."""
    eval_every: Count | None = None
    """Steps between evaluations. None: ten in a run, or fewer in a short time budget: with samples and
    snapshots they take at most 15 % of it."""
    eval_tokens: Count | None = 16384
    """Validation tokens per evaluation during training; the last one uses all. None: always all."""
    eval_with_padding: bool = False
    """Measure the loss with padding included at every evaluation, as v1 to v4 did; the last one always
    does."""
    checkpoint_every: Count | None = None
    """Steps between checkpoints. None: every two minutes. One is written at each evaluation and at the end,
    too."""
    snapshot_every: Count | None = None
    """Steps between key snapshots. None: fifty in a run, or fewer in a short time budget."""
    seed: Whole = 0
    """The random seed of a run."""

    @model_validator(mode="after")
    def _possible(self) -> TrainConfig:
        given = [name for name in ("epochs", "steps", "minutes") if getattr(self, name) is not None]
        if len(given) != 1:
            refuse(
                given[-1] if given else "epochs",
                getattr(self, given[-1]) if given else None,
                f"exactly one of epochs, steps, minutes must be set; set are: {given or 'none'}",
                "set the other two to null",
            )
        if self.micro_batch_size is not None and self.batch_size % self.micro_batch_size:
            refuse(
                "micro_batch_size",
                self.micro_batch_size,
                f"does not divide batch_size = {self.batch_size}",
                "choose a divisor of it",
            )
        return self
