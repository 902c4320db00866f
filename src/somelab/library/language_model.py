"""A trained run as an object: generate text, measure a text, look at its layers."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from somelab.config import Config, override
from somelab.core.layer import SomeLayer
from somelab.data.prepare import Progress, prepare, prepare_with
from somelab.data.tokenizer import END_OF_TEXT_ID, Tokenizer
from somelab.errors import ConfigError, SomelabError
from somelab.model import Decoder
from somelab.model.generate import generate
from somelab.model.growth import GrownPool
from somelab.runs import RunFolder
from somelab.runs.packing import reads_of
from somelab.runs.trained import load_trained
from somelab.training.evaluate import Evaluation, evaluate, validation, with_padding_loss
from somelab.training.machine.precision import resolve

if TYPE_CHECKING:
    from somelab.adapt import Adaptation


class LanguageModel:
    """The model of a run folder in evaluation mode, with its tokenizer and configuration."""

    def __init__(
        self, run: RunFolder, which: str = "last", settings: Mapping[str, Any] | None = None
    ) -> None:
        """See `load`."""
        self._trained = trained = load_trained(run, which, settings=settings)
        self.run: RunFolder = run
        self.config: Config = trained.config
        self.model: Decoder = trained.model
        self.tokenizer: Tokenizer = trained.tokenizer
        self.step: int = trained.state.step
        self.is_finished: bool = trained.state.finished
        self.pool: GrownPool | None = trained.pool

    @property
    def path(self) -> Path:
        """The run folder."""
        return self.run.path

    @property
    def layers(self) -> list[SomeLayer]:
        """The SoME layers from first to last, e.g. `lm.layers[0].keys`; none in a baseline."""
        return self.model.some_layers()

    @overload
    def generate(
        self,
        prompt: str,
        *,
        max_new_tokens: int = 100,
        temperature: float = 0.8,
        top_k: int | None = 40,
        top_p: float | None = None,
        seed: int = 0,
    ) -> str: ...

    @overload
    def generate(
        self,
        prompt: list[str],
        *,
        max_new_tokens: int = 100,
        temperature: float = 0.8,
        top_k: int | None = 40,
        top_p: float | None = None,
        seed: int = 0,
    ) -> list[str]: ...

    def generate(
        self,
        prompt: str | list[str],
        *,
        max_new_tokens: int = 100,
        temperature: float = 0.8,
        top_k: int | None = 40,
        top_p: float | None = None,
        seed: int = 0,
    ) -> str | list[str]:
        """The prompt and its continuation, up to the end of the text. A list of prompts gives a list of
        texts."""
        prompts = [prompt] if isinstance(prompt, str) else prompt
        encoded = [self.tokenizer.encode(one) for one in prompts]
        for text, tokens in zip(prompts, encoded):
            if not tokens:
                raise ConfigError("prompt", text, "is empty", "give at least one character")
        made = generate(
            self.model,
            encoded,
            max_new_tokens=max_new_tokens,
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            seed=seed,
            stop_token=END_OF_TEXT_ID,
        )
        texts = [
            self.tokenizer.decode([token for token in row if token != END_OF_TEXT_ID]) for row in made.tokens
        ]
        return texts[0] if isinstance(prompt, str) else texts

    def evaluate(
        self,
        data: str | PathLike[str] | None = None,
        *,
        seq_len: int | None = None,
        progress: Progress | None = None,
    ) -> Evaluation:
        """Loss, perplexity, bits per byte and the measures of every layer on a text; None: the run's
        validation text.

        `data`: a file or folder of text, builtin, tinystories, or a Hub dataset. `seq_len`: length of the
        sequences, if not the trained one. `progress`: called with what is being prepared."""
        config = self.config if seq_len is None else at_length(self.config, seq_len)
        if data is None and (other := reads_of(self.run)) is not None:
            raise SomelabError(
                f"run {self.path}: is packed, without its validation text; name a text to measure it on "
                f"(--data), such as {other}"
            )
        if data is None:
            prepared = prepare(config, progress=progress)
            self.run.check_data(prepared.digest)
        else:
            config = config.model_copy(update={"data": config.data.model_copy(update={"source": str(data)})})
            prepared = prepare_with(self.tokenizer, config, progress=progress, whole=True)
        dtype = resolve(config.train.precision, next(self.model.parameters()).device)
        measured = evaluate(self.model, validation(prepared, config), dtype=dtype)
        return with_padding_loss(measured, self.model, prepared, config, dtype=dtype)

    def adapting(self, **settings: Any) -> Adaptation:
        """Test-time adaptation of the keys:
        `with lm.adapting(rules=("credit",)) as adaptation: adaptation.read(batch)`.

        On exit everything is restored bit for bit, unless `adaptation.keep()` was called. Settings:
        `AdaptationSettings`."""
        from somelab.adapt import adapting

        return adapting(self.model, **settings)

    def grow(
        self,
        data: str | PathLike[str],
        *,
        name: str,
        steps: int | None = None,
        learning_rate: float | None = None,
        experts: int = 1,
        progress: Progress | None = None,
    ) -> LanguageModel:
        """Add experts to the run that learn a new text, while everything else stays as it is to the bit.
        Returns the grown model; its `pool` lists what was grown. `steps`: None: one pass over the text;
        `learning_rate`: None: that of the run."""
        from somelab.adapt.growth import GrowthPlan, grow

        train = self.run.config().train
        rate = train.learning_rate if learning_rate is None else learning_rate
        plan = GrowthPlan(str(data), name, rate, num_steps=steps, num_experts=experts, seed=train.seed)
        grow(self.run, plan, progress=progress)
        return LanguageModel(self.run)

    def save_pretrained(self, folder: str | PathLike[str], *, full_pools: bool = False) -> Path:
        """Write a folder for Hugging Face's transformers: model, tokenizer, model card, code. Needs the extra
        hf.

        `full_pools`: also store frozen experts, which otherwise are drawn again from their random seed."""
        from somelab.interop.huggingface.exporting import export

        return export(self._trained, folder, full_pools=full_pools)

    def push_to_hub(self, repository: str, *, private: bool = False, full_pools: bool = False) -> str:
        """Upload what `save_pretrained` writes to the Hugging Face Hub; returns its address."""
        from somelab.interop.huggingface.exporting import push

        return push(self._trained, repository, private=private, full_pools=full_pools)


def at_length(config: Config, seq_len: int) -> Config:
    """The configuration for reading sequences of another length; a sinusoid does not work beyond the trained
    one."""
    if seq_len > config.model.seq_len and config.model.part("positions") not in ("rope", "alibi"):
        positions = config.model.part("positions")
        problem = f"is beyond the trained {config.model.seq_len}, which {positions} positions do not support"
        raise ConfigError(
            "--seq-len", seq_len, problem, "train with model.positions rope or alibi, or choose less"
        )
    return override(config, {"model.seq_len": seq_len})


def load(
    run: str | PathLike[str] | RunFolder | LanguageModel,
    which: str = "last",
    *,
    settings: Mapping[str, Any] | None = None,
) -> LanguageModel:
    """The trained model of a run folder. `which`: the checkpoint: last, best, or a step such as "200".
    `settings`: changes by dotted name that leave the weights as they are, e.g. {"router.eval_temperature":
    0.5}."""
    path = run.path if isinstance(run, (RunFolder, LanguageModel)) else Path(run)
    return LanguageModel(RunFolder.open(path), which, settings)
