"""The published comparison with a GPT-2-style model: the same backbone with a SoME layer and with a dense
block four times as wide as the model, on two texts."""

from __future__ import annotations

from somelab.config.presets.preset import Preset, make
from somelab.config.presets.v2_v3 import GRAVITY
from somelab.config.versions import NOTEBOOKS, Settings

SERIES = "the comparison with GPT-2"
SOURCE = "the comparison with GPT-2"

SHARED: Settings = {
    "model.d_model": 512,
    "model.num_layers": 8,
    "model.num_heads": 8,
    "model.seq_len": 512,
    "model.vocab_size": 8192,
    "router.temperature": 1.0,
    "router.eval_temperature": 0.5,
    "data.train_subset_size": 20_000,
    "data.val_subset_size": 5_000,
    "train.batch_size": 24,
    "train.epochs": 4,
    "train.learning_rate": 4e-4,
    "train.betas": (0.9, 0.95),
    "train.weight_decay": 0.1,
    "train.clip": 1.0,
    "train.final_lr_fraction": 0.0,
}
SOME: Settings = {
    **SHARED,
    **GRAVITY,
    "experts.num_experts": 128,
    "experts.d_ffn": 1536,
    "experts.top_k": 8,
    "experts.init": "sparse",
}
STORIES = "tinystories"
TEXTBOOKS = "nampdn-ai/tiny-textbooks"
TEXTBOOKS_LOG = (
    "model.vocab_size",
    "data.source",
    "data.train_subset_size",
    "data.val_subset_size",
    "train.epochs",
)
NO_DECAY = "decay is off: the published code brings all keys back to length 1 in the same step"
DENSE = "the same post-norm block, sinusoid and untied head: GPT-2 in name only"
LEAK = "its validation text is a part of its training text, and its tokenizer was trained on TinyStories"


def gpt2_some() -> Preset:
    return _some("gpt2-some", "SoME on TinyStories", STORIES, NO_DECAY)


def gpt2_dense() -> Preset:
    return _dense("gpt2-dense", "the dense model on TinyStories", STORIES, DENSE)


def gpt2_textbooks_some() -> Preset:
    return _some("gpt2-textbooks-some", "SoME on textbooks", TEXTBOOKS, f"{LEAK}; {NO_DECAY}")


def gpt2_textbooks_dense() -> Preset:
    return _dense("gpt2-textbooks-dense", "the dense model on textbooks", TEXTBOOKS, f"{LEAK}; {DENSE}")


def _some(name: str, title: str, text: str, note: str) -> Preset:
    code = {"router.kind": "linear", "gravity.decay": False}
    return _compared(name, title, {**SOME, "data.source": text}, code, note)


def _dense(name: str, title: str, text: str, note: str) -> Preset:
    code = {"model.feed_forward": "dense", "model.d_dense": 2048}
    return _compared(name, title, {**SHARED, "data.source": text}, code, note)


def _compared(name: str, title: str, settings: Settings, code: Settings, note: str) -> Preset:
    # The description of the comparison is that of TinyStories; of the textbooks there is a log.
    logged = TEXTBOOKS_LOG if settings["data.source"] == TEXTBOOKS else settings
    stated = {name: value for name, value in settings.items() if name in logged}
    return make(
        name,
        title,
        series=SERIES,
        source=SOURCE,
        version="v3",
        stated=stated,
        elsewhere={**NOTEBOOKS, **settings, **code},
        note=note,
    )
