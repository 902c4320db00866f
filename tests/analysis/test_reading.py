"""A trained model reads labelled text: experts as `generate` traces them, classes as the corpus has them,
guilds of the reading."""

from __future__ import annotations

import shutil
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from somelab.analysis.compare import likeness, spread
from somelab.analysis.distinctive import Use
from somelab.analysis.guilds import class_of_words, classes_of_words, role_note, study_layer
from somelab.analysis.reading import Reading, ReadingError, read_validation, route
from somelab.analysis.traces import prompt_trace, sample_traces, token_texts, validation_traces
from somelab.config import Config, override
from somelab.data.corpus import documents
from somelab.data.sources import BUILTIN_SEEDS
from somelab.errors import ConfigError
from somelab.experiments.probes import probes
from somelab.model.generate import generate
from somelab.runs import RunFolder
from somelab.runs.trained import TrainedModel, load_trained


@pytest.fixture(scope="session")
def trained(some_run: Path) -> TrainedModel:
    return load_trained(RunFolder(some_run))


@pytest.fixture(scope="session")
def reading(trained: TrainedModel) -> Reading:
    return read_validation(trained, 300)


def test_routes_are_those_that_generate_traces(trained: TrainedModel) -> None:
    """Two ways to the same experts: one pass over padded texts, and token by token with a cache."""
    texts = [
        trained.tokenizer.encode(text) for text in ("Once upon a time", "The dog was very happy and ran", "A")
    ]
    layers, experts_LNK, gates_LNK = route(trained.model, texts)
    assert layers == [0, 1, 2]
    start = 0
    for text in texts:
        made = generate(trained.model, text, max_new_tokens=1, temperature=0, trace=True)
        assert made.traces is not None
        wanted = made.traces[0].experts_NLK[: len(text)].permute(1, 0, 2).numpy()
        found = experts_LNK[:, start : start + len(text)]
        assert np.array_equal(np.sort(found, axis=2), np.sort(wanted, axis=2))
        start += len(text)
    assert start == experts_LNK.shape[1]
    assert (np.diff(gates_LNK, axis=2) <= 0).all()
    np.testing.assert_allclose(gates_LNK.sum(axis=2), 1, rtol=1e-5)


def test_the_reading_stops_at_its_budget_and_labels_by_the_grammar(
    trained: TrainedModel, reading: Reading
) -> None:
    assert reading.num_tokens == 300
    assert reading.labels == "builtin"
    first = next(documents(BUILTIN_SEEDS["val"], ["story"]))
    words = [(first.text[word.start : word.end].lower(), word.word_class.value) for word in first.words]
    ends = np.flatnonzero(reading.ends_word_N & (reading.document_N == 0))
    assert [(reading.words[place], reading.classes[place]) for place in ends] == words[: len(ends)]
    nominal = ("noun", "proper_noun", "pronoun")
    roles = [word.role.value if word.word_class.value in nominal else None for word in first.words]
    assert [reading.roles[place] for place in ends] == roles[: len(ends)]
    assert len(ends) >= 15
    assert reading.experts_LNK.shape == (3, 300, 2)


def test_texts_are_cut_to_the_models_length(trained: TrainedModel) -> None:
    long = read_validation(trained, 10_000)
    assert max(len(text.tokens) for text in long.texts) == trained.config.model.seq_len
    assert len(long.texts) == 20  # all of the validation text, and no more


def test_other_data_than_the_runs_own_are_refused(some_run: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(some_run, tmp_path / "copy", symlinks=True)
    path = copy / "samples.jsonl"
    prompt = next(iter(documents(BUILTIN_SEEDS["val"], ["story"]))).text[:8]
    assert prompt in path.read_text()
    records = RunFolder(copy).records("samples")
    path.unlink()
    for record in records:
        record["prompt"] = record["prompt"].replace(prompt, "Zebras a")
        RunFolder(copy).journal("samples").append(record)
    with pytest.raises(ReadingError, match="not the one that the run was trained with"):
        read_validation(load_trained(RunFolder(copy)), 100)


def test_a_layer_is_studied(reading: Reading) -> None:
    found = study_layer(reading, 1, num_permutations=20)
    assert found.layer == 1
    assert np.diag(found.count_EE).sum() == 600
    assert len(found.expert_words) == len(found.expert_class) == 8
    class_of = classes_of_words(reading)
    for uses, name in zip(found.expert_words, found.expert_class, strict=True):
        listed = [class_of.get(use.word) for use in uses]
        assert name is None or 2 * listed.count(name) >= len(listed)
    assert found.expert_information is not None
    assert 0 <= found.expert_information.value <= 1
    assert found.expert_information.num_tokens == int(
        (reading.ends_word_N & np.array([name is not None for name in reading.classes])).sum()
    )
    members = sorted(expert for guild in found.guilds for expert in guild.experts)
    assert members == np.flatnonzero(found.guild_E >= 0).tolist()
    assert study_layer(reading, 1, num_permutations=20).expert_information == found.expert_information


def test_guilds_that_follow_classes_are_seen_to(reading: Reading) -> None:
    """Experts chosen by word class on purpose, two to a guild: information near 1, and each guild's class is
    its own."""
    classes = sorted({name for name in reading.classes if name is not None})[:4]
    which = np.array([classes.index(name) if name in classes else 3 for name in reading.classes])
    experts = np.stack([2 * which, 2 * which + 1], axis=1)
    planted = Reading(
        **{**vars(reading), "experts_LNK": np.repeat(experts[None].astype(np.int32), 3, axis=0)}
    )
    found = study_layer(planted, 0, num_permutations=50)
    assert found.guild_information is not None
    assert (
        found.guild_information.value == found.expert_information.value if found.expert_information else False
    )
    assert found.guild_information.low > found.guild_information.by_word_high
    for guild in found.guilds:
        assert sorted(guild.experts) == [min(guild.experts), min(guild.experts) + 1]
        if guild.experts[0] // 2 < 3:
            assert guild.word_class == classes[guild.experts[0] // 2]


def test_guilds_that_follow_roles_are_seen_to(reading: Reading) -> None:
    """Experts chosen by role on purpose, two to a guild; words without a role go to two others."""
    roles = ["agent", "experiencer", "patient"]
    which = np.array([roles.index(role) if role in roles else 3 for role in reading.roles])
    experts = np.stack([2 * which, 2 * which + 1], axis=1).astype(np.int32)
    planted = Reading(**{**vars(reading), "experts_LNK": np.repeat(experts[None], 3, axis=0)})
    found = study_layer(planted, 0, num_permutations=50)
    about_roles = found.guild_role_information
    assert about_roles is not None
    assert about_roles.low > about_roles.by_word_high
    has_role_N = np.array([role is not None for role in reading.roles])
    assert about_roles.num_tokens == int((reading.ends_word_N & has_role_N).sum())
    assert f"the guild predicts the role in the sentence with NMI {about_roles.value:.3f}" in role_note(found)


def test_text_without_roles_has_no_figure_for_them(reading: Reading) -> None:
    plain = Reading(**{**vars(reading), "roles": [None] * reading.num_tokens})
    found = study_layer(plain, 0, num_permutations=5)
    assert (found.guild_role_information, found.expert_role_information) == (None, None)
    assert found.expert_information is not None
    assert role_note(found) == ""


def test_the_probe_tells_of_classes_and_roles(trained: TrainedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "READING_TOKENS", 300)
    figures = probes.guild_meaning(trained.run)
    endings = ("", "_beyond_shuffled", "_beyond_words")
    assert list(figures) == [name + ending for name in ("guild_nmi", "guild_role_nmi") for ending in endings]
    for name in ("guild_nmi", "guild_role_nmi"):
        assert 0 <= figures[name] <= 1
        assert figures[f"{name}_beyond_shuffled"] <= figures[name]


def test_samples_are_followed_newest_first(trained: TrainedModel, reading: Reading) -> None:
    traces = sample_traces(trained)
    steps = [trace.step for trace in traces]
    assert steps == sorted(steps, reverse=True)
    assert steps[0] == 24
    assert all(trace.read_at_step == 24 for trace in traces)
    for trace in traces:
        assert len(trace.tokens) == len(trace.classes) == trace.experts_LNK.shape[1]
        assert 0 < trace.num_prompt_tokens <= len(trace.tokens)
    of_text = validation_traces(trained, reading, most=1)[0]
    text = next(islice(documents(BUILTIN_SEEDS["val"], ["story"]), 1)).text
    assert text.startswith("".join(of_text.tokens))
    assert of_text.classes == reading.classes[: len(of_text.tokens)]


def test_a_prompt_is_followed(trained: TrainedModel) -> None:
    trace = prompt_trace(trained, "The cat", max_new_tokens=5, seed=1)
    assert "".join(trace.tokens).startswith("The cat")
    assert trace.num_prompt_tokens < len(trace.tokens) <= trace.num_prompt_tokens + 5
    again = prompt_trace(trained, "The cat", max_new_tokens=5, seed=1)
    assert np.array_equal(again.experts_LNK, trace.experts_LNK)
    with pytest.raises(ConfigError, match="is empty"):
        prompt_trace(trained, "")


def test_half_a_character_shows_as_one(trained: TrainedModel) -> None:
    tokens = trained.tokenizer.encode("é€")
    assert "\ufffd" in "".join(token_texts(trained.tokenizer, tokens[:1]))


def test_runs_are_alike_whatever_the_seed() -> None:
    base = Config()
    assert likeness(base, "d") == likeness(override(base, {"train.seed": 7}), "d")
    assert likeness(base, "d") != likeness(override(base, {"gravity.alpha": 0.5}), "d")
    assert likeness(base, "d") != likeness(base, "e")


def test_a_spread_needs_two_values() -> None:
    found = spread([1.0, None, 3.0])
    assert found.mean == 2.0
    assert found.low == pytest.approx(2 - 12.706, abs=1e-3)  # t(0.975, 1) = 12.706, s / sqrt 2 = 1
    assert found.values == [1.0, None, 3.0]
    alone = spread([4.0])
    assert (alone.mean, alone.low, alone.high) == (4.0, None, None)
    assert spread([None, float("nan")]).mean is None


def test_the_class_of_an_expert_can_be_read_off_its_words() -> None:
    uses = [Use("dog", 9, 3.0), Use("cat", 5, 2.0), Use("ran", 4, 2.0), Use("zzz", 3, 2.0)]
    classes = {"dog": "noun", "cat": "noun", "ran": "verb"}
    assert class_of_words(uses, classes) == "noun"
    assert class_of_words(uses[1:], classes) is None  # no class has half of cat, ran, zzz
    assert class_of_words([], classes) is None
