"""Guilds: groups of experts that are selected together more often than chance, what they respond to, and the
test against word classes and roles in the sentence. docs/concepts/guilds.md describes the method.

Shape letters: N tokens, K experts per token, E experts, W distinct words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from somelab.analysis.coactivation import companions, pair_counts
from somelab.analysis.communities import communities, modularity
from somelab.analysis.distinctive import Use, distinctive, shares
from somelab.analysis.information import PERMUTATIONS, Information, information
from somelab.analysis.reading import Reading

METHOD = (
    "co-activation above chance (ln lift of pairs that stand out), communities of greatest modularity "
    "(Louvain)"
)
MOST_EXPERTS = 4096
"""Beyond this a layer's pair matrix would take more than 128 MB."""
EXPERT_WORDS, GUILD_WORDS = 6, 12
ALONE = -1


@dataclass(frozen=True)
class GuildProfile:
    experts: list[int]
    share: float
    words: list[Use]
    word_class: str | None
    classes: dict[str, float]


@dataclass(frozen=True)
class LayerStudy:
    """One layer: its guilds, what every expert responds to, and its information about word classes and
    roles."""

    layer: int
    count_EE: NDArray[np.float64]
    guild_E: NDArray[np.int64]
    """-1: alone."""
    modularity: float
    guilds: list[GuildProfile]
    expert_words: list[list[Use]]
    expert_class: list[str | None]
    """The class of at least half of its words."""
    guild_information: Information | None
    expert_information: Information | None
    """With word classes."""
    guild_role_information: Information | None
    expert_role_information: Information | None
    """With the roles of nouns, names and pronouns; None where labels have no roles."""


def study_layer(
    reading: Reading, index: int, *, seed: int = 0, num_permutations: int = PERMUTATIONS
) -> LayerStudy:
    """Everything about routed layer `index` of a reading."""
    experts_NK, num_experts = reading.experts_LNK[index], reading.num_experts
    count_EE = pair_counts(experts_NK, num_experts)
    guild_E, quality = find_guilds(count_EE)
    words_by_expert = _counts(experts_NK, reading.words, num_experts)
    classes_by_expert = _counts(experts_NK, reading.classes, num_experts)
    all_words, all_classes = _total(words_by_expert), _total(classes_by_expert)
    profiles: list[GuildProfile] = []
    use_E = np.diag(count_EE)
    for guild in range(int(guild_E.max(initial=ALONE)) + 1):
        members = sorted(
            np.flatnonzero(guild_E == guild).tolist(), key=lambda expert: (-use_E[expert], expert)
        )
        classes = _total([classes_by_expert[expert] for expert in members])
        profiles.append(
            GuildProfile(
                experts=members,
                share=float(use_E[members].sum() / max(1.0, use_E.sum())),
                words=distinctive(
                    _total([words_by_expert[expert] for expert in members]), all_words, GUILD_WORDS
                ),
                word_class=_leading(classes, all_classes),
                classes=shares(classes),
            )
        )
    class_of = classes_of_words(reading)
    expert_words = [distinctive(counts, all_words, EXPERT_WORDS) for counts in words_by_expert]
    by_class = _information(reading, reading.classes, index, guild_E, seed, num_permutations)
    by_role = _information(reading, reading.roles, index, guild_E, seed, num_permutations)
    return LayerStudy(
        layer=reading.layers[index],
        count_EE=count_EE,
        guild_E=guild_E,
        modularity=quality,
        guilds=profiles,
        expert_words=expert_words,
        expert_class=[class_of_words(uses, class_of) for uses in expert_words],
        guild_information=by_class[0],
        expert_information=by_class[1],
        guild_role_information=by_role[0],
        expert_role_information=by_role[1],
    )


def classes_of_words(reading: Reading) -> dict[str, str]:
    """The commonest class of each word that has one."""
    counts: dict[str, Counter[str]] = {}
    for word, name in zip(reading.words, reading.classes, strict=True):
        if word is not None and name is not None:
            counts.setdefault(word, Counter())[name] += 1
    return {word: found.most_common(1)[0][0] for word, found in counts.items()}


def class_of_words(uses: Sequence[Use], class_of: Mapping[str, str]) -> str | None:
    """The class of at least half of the words, so that it can be read off their list; None if they are
    mixed."""
    found = Counter(class_of[use.word] for use in uses if use.word in class_of).most_common(1)
    return found[0][0] if found and 2 * found[0][1] >= len(uses) else None


def role_note(study: LayerStudy) -> str:
    """The result for roles as a sentence; empty if labels have no roles."""
    found, group = study.guild_role_information or study.expert_role_information, "the guild"
    if found is None:
        return ""
    if study.guild_role_information is None:
        group = "the strongest expert"
    return (
        f"of nouns, names and pronouns {group} predicts the role in the sentence with NMI {found.value:.3f} "
        f"(95 %: {found.low:.3f} to {found.high:.3f}); word forms alone reach {found.by_word_low:.3f} to "
        f"{found.by_word_high:.3f}, shuffled tokens {found.shuffled_mean:.3f}"
    )


def find_guilds(count_EE: NDArray[np.float64]) -> tuple[NDArray[np.int64], float]:
    """The guild of each expert, numbered by use (the busiest is 0; -1: alone), and the modularity of the
    division."""
    graph_EE = companions(count_EE)
    found_E = communities(graph_EE)
    use_E = np.diag(count_EE)
    sizes = np.bincount(found_E)
    use = np.bincount(found_E, weights=use_E)
    real = [int(group) for group in np.argsort(-use, kind="stable") if sizes[group] > 1]
    number = np.full(len(sizes), ALONE)
    number[real] = np.arange(len(real))
    return number[found_E], modularity(graph_EE, found_E)


def _information(
    reading: Reading,
    label_of: list[str | None],
    index: int,
    guild_E: NDArray[np.int64],
    seed: int,
    num_permutations: int,
) -> tuple[Information | None, Information | None]:
    """NMI with the label of a token's guild and of its expert, both by the strongest expert. Every word
    counts once, at its last token. An expert without a guild is a group of one; without any guild there is
    nothing to test."""
    labelled = reading.ends_word_N & np.array([name is not None for name in label_of], dtype=np.bool_)
    places = np.flatnonzero(labelled)
    labels, words = ([names[place] for place in places] for names in (label_of, reading.words))
    if len(set(labels)) < 2:
        return None, None
    expert_N = reading.experts_LNK[index][labelled, 0]
    document_N = reading.document_N[labelled]
    alone_E = len(guild_E) + np.arange(len(guild_E))
    guild_N = np.where(guild_E == ALONE, alone_E, guild_E)[expert_N]
    by_expert = information(expert_N, labels, words, document_N, seed=seed, num_permutations=num_permutations)
    if (guild_E == ALONE).all():
        return None, by_expert
    return information(
        guild_N, labels, words, document_N, seed=seed, num_permutations=num_permutations
    ), by_expert


def _counts(experts_NK: NDArray[Any], names: list[str | None], num_experts: int) -> list[Counter[str]]:
    """How often each expert was selected for each name."""
    known = sorted({name for name in names if name is not None})
    number = {name: place for place, name in enumerate(known)}
    which_N = np.array([number[name] if name is not None else -1 for name in names])
    counts: list[Counter[str]] = [Counter() for _ in range(num_experts)]
    codes = (experts_NK.astype(np.int64) * max(1, len(known)) + which_N[:, None])[which_N >= 0]
    found, times = np.unique(codes, return_counts=True)
    for code, count in zip(found.tolist(), times.tolist(), strict=True):
        expert, place = divmod(code, len(known))
        counts[expert][known[place]] = count
    return counts


def _total(counts: list[Counter[str]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for count in counts:
        total.update(count)
    return total


def _leading(classes: Counter[str], everything: Counter[str]) -> str | None:
    """The most distinctive class of a group; None if its classes are distributed as in all tokens."""
    first = distinctive(classes, everything, 1)
    return first[0].word if first else None
