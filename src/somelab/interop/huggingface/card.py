"""The model card of an exported run: what it is, how to use it, and what was measured, all read from the run
folder."""

from __future__ import annotations

from typing import Any

import yaml

from somelab.runs.packing import name_of_source
from somelab.runs.trained import TrainedModel

MAX_SAMPLES = 2
MAX_LETTERS = 600
FIGURES = (
    ("val_loss", "validation loss, nats per token, without padding", ".4f"),
    ("val_ppl", "validation perplexity", ".2f"),
    ("bits_per_byte", "bits per byte, comparable across tokenizers", ".4f"),
    ("ppl_with_padding", "perplexity that counts padding, as some reports do", ".2f"),
)
USE = """\
## Use
```python
import somelab  # pip install 'somelab[hf]'; without it, pass trust_remote_code=True below
from transformers import pipeline

text = pipeline("text-generation", model="{name}")
print(text("Once upon a time", max_new_tokens=60, do_sample=True, temperature=0.8, top_k=40))
```
`AutoModelForCausalLM.from_pretrained` and `AutoTokenizer.from_pretrained` load the parts. Texts begin without
a start token and end with `<|endoftext|>`.
"""


def card_of(trained: TrainedModel, *, full_pools: bool = False) -> str:
    """The card as Markdown."""
    facts = trained.run.facts()
    name = str(facts.get("name") or trained.run.path.name)
    evaluation = _evaluation(trained)
    parts = [
        _front_matter(evaluation),
        f"# {name}\n\n{_what(trained, facts)}\n",
        USE.format(name=name),
        _section("Data", _data(facts)),
        _section("Parameters", _parameters(trained, facts, full_pools)),
        _section("Training", _training(trained)),
        _section("Evaluation", _figures(evaluation)),
        _section("Collapse", _verdict(trained, evaluation)),
        _section("Samples", _samples(trained)),
        _section("Made with", _versions(trained)),
    ]
    return "\n".join(part for part in parts if part)


def _front_matter(evaluation: dict[str, Any]) -> str:
    matter: dict[str, Any] = {
        "library_name": "transformers",
        "pipeline_tag": "text-generation",
        "tags": ["somelab", "mixture-of-experts", "self-organization"],
    }
    if "val_loss" in evaluation:
        matter["metrics"] = ["perplexity"]
    return f"---\n{yaml.safe_dump(matter, sort_keys=False)}---\n"


def _section(title: str, body: str) -> str:
    return f"## {title}\n{body}\n" if body else ""


def _what(trained: TrainedModel, facts: dict[str, Any]) -> str:
    config = trained.config
    shape, experts = config.model, config.experts
    kinds = {
        "some": f"SoME layers: {experts.num_experts} experts each, of which {experts.top_k} per token",
        "dense": "dense feed-forward blocks, a baseline",
        "frozen_dense": "frozen dense feed-forward blocks, a baseline",
        "moe": f"a learned-router mixture of {experts.num_experts} experts per layer, a baseline",
        "none": "no feed-forward blocks, a baseline",
    }
    preset = facts.get("preset")
    scale = facts.get("scale")
    origin = f" Preset `{preset}`" + (f" at scale `{scale}`." if scale not in (None, "full") else ".")
    return (
        f"A language model trained with somelab: {shape.num_layers} layers of width {shape.d_model}, "
        f"{shape.num_heads} attention heads, sequences of {shape.seq_len} tokens, "
        f"{kinds[shape.feed_forward]}." + (origin if preset else "")
    )


def _data(facts: dict[str, Any]) -> str:
    data = facts.get("data")
    if not isinstance(data, dict):
        return ""
    source = name_of_source(str(data.get("source", "unknown")))
    rows = [("source", f"`{source}`"), ("digest of the tokens", f"`{data.get('digest')}`")]
    rows += [
        (f"{part} {unit}", f"{data[f'{part}_{unit}']:,}")
        for part in ("train", "val")
        for unit in ("documents", "tokens", "bytes")
        if isinstance(data.get(f"{part}_{unit}"), int)
    ]
    return _table(rows)


def _parameters(trained: TrainedModel, facts: dict[str, Any], full_pools: bool) -> str:
    counted = facts.get("parameters")
    if not isinstance(counted, dict):
        return ""
    rows = [
        (label, f"{counted[name]:,}")
        for name, label in (
            ("total", "all"),
            ("trainable", "trained"),
            ("frozen", "frozen at random values"),
            ("active", "used per token"),
        )
        if isinstance(counted.get(name), int)
    ]
    text = _table(rows)
    if counted.get("frozen") and not full_pools:
        text += (
            "\n\nFrozen experts are not stored: loading draws them again from their random seed "
            f"({trained.model.seed}) and compares their digest with the one in `config.json`."
        )
    return text


def _training(trained: TrainedModel) -> str:
    train, state = trained.config.train, trained.state
    rows = [
        ("optimizer steps", f"{state.step:,}" + ("" if state.finished else ", not finished")),
        ("tokens", f"{state.tokens:,}"),
        ("sequences per step", f"{train.batch_size:,}"),
        ("learning rate", f"{train.learning_rate:g}"),
        ("random seed", str(train.seed)),
    ]
    return _table(rows)


def _evaluation(trained: TrainedModel) -> dict[str, Any]:
    """The last evaluation up to the checkpoint's step."""
    found = [
        record
        for record in trained.run.records("metrics")
        if "val_loss" in record and record.get("step", 0) <= trained.state.step
    ]
    return found[-1] if found else {}


def _figures(evaluation: dict[str, Any]) -> str:
    rows = [
        (meaning, f"{evaluation[name]:{form}}")
        for name, meaning, form in FIGURES
        if isinstance(evaluation.get(name), (int, float))
    ]
    if not rows:
        return ""
    return f"On held-out text, after step {evaluation['step']:,}:\n\n{_table(rows)}"


def _verdict(trained: TrainedModel, evaluation: dict[str, Any]) -> str:
    layers = evaluation.get("layers")
    if not layers:
        return ""
    findings = list(evaluation.get("findings", ()))
    if findings:
        verdict = "somelab's checks found:\n\n" + "\n".join(f"- {sentence}" for sentence in findings)
    else:
        verdict = "No sign of collapse: every layer is within somelab's thresholds."
    columns = ("gini", "effective_experts", "dead_share", "crowding")
    head = "| layer | Gini of use | experts in effect | never selected | crowding of keys |"
    rows = [
        f"| {number} | " + " | ".join(f"{layer.get(name, float('nan')):.3f}" for name in columns) + " |"
        for number, layer in enumerate(layers)
    ]
    return "\n".join([verdict, "", head, "|---|---|---|---|---|", *rows])


def _samples(trained: TrainedModel) -> str:
    found = [one for one in trained.run.records("samples") if one.get("step", 0) <= trained.state.step]
    shown = [str(one.get("text", ""))[:MAX_LETTERS].replace("```", "'''") for one in found[-MAX_SAMPLES:]]
    blocks = [f"```text\n{text}\n```" for text in shown]
    return "\n\n".join(["As drawn during training, not selected:", *blocks]) if blocks else ""


def _versions(trained: TrainedModel) -> str:
    packages = trained.run.read_json("environment.json").get("packages")
    if not isinstance(packages, dict):
        return ""
    return ", ".join(f"{name} {version}" for name, version in packages.items()) + "."


def _table(rows: list[tuple[str, str]]) -> str:
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows)])
