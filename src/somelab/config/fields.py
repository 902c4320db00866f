"""Every setting of the tree as one flat list: dotted name, what it takes, default and help text.
Error messages, YAML comments, `somelab show --fields` and the command line all read this list."""

from __future__ import annotations

import re
import types
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from somelab.config.model import BACKBONES
from somelab.config.tree import Config
from somelab.errors import nearest

WORDS = {bool: "true | false", int: "integer", float: "number", str: "text"}
# Names that the reports use for settings which have another name here.
REPORT_NAMES = {
    "lr": "train.learning_rate",
    "init_method": "experts.init",
    "training_temp": "router.temperature",
    "use_alpha": "gravity.attraction",
    "use_beta": "gravity.peer_pull",
    "use_delta": "gravity.decay",
    "ema": "gravity.ema_decay",
    "wd": "train.weight_decay",
}


@dataclass(frozen=True)
class Field:
    """One setting. `base` is its type without null: bool, int, float, str, tuple or dict."""

    name: str
    base: type
    kind: str
    nullable: bool
    choices: tuple[str, ...]
    default: Any
    doc: str

    @property
    def group(self) -> str:
        return self.name.partition(".")[0]

    @property
    def key(self) -> str:
        return self.name.partition(".")[2]

    @property
    def remedy(self) -> str:
        """The remedy for an invalid value."""
        options = ("true", "false") if self.base is bool else self.choices
        if options:
            return f"choose one of {', '.join((*options, 'null') if self.nullable else options)}"
        article = "" if self.base is str else "an " if self.base is int else "a "
        return f"give {article}{self.kind}"

    def short(self, limit: int) -> str:
        """Help in one line of `limit` characters: what the setting is, and its options if it has any.

        >>> fields()["router.kind"].short(60)
        'Query network: none | linear | mlp'
        """
        sentence = re.split(r"\. (?=[A-Z])", self.doc, maxsplit=1)[0].rstrip(".")
        if self.choices:
            head = sentence.partition(":")[0]
            options = " | ".join(self.choices)
            named = head.split(" ")[0] in self.choices
            sentence = options if named or len(head) + len(options) + 2 > limit else f"{head}: {options}"
        while (
            len(sentence) > limit
            and (cut := max(sentence.rfind(mark) for mark in ("; ", ": ", ", e.g. "))) > 0
        ):
            sentence = sentence[:cut]
            if sentence.count("(") > sentence.count(")"):
                sentence = sentence[: sentence.rfind(" (")]
        return (
            sentence
            if len(sentence) <= limit
            else sentence[: limit - 3].rsplit(" ", 1)[0].rstrip(",.") + "..."
        )


@cache
def fields() -> dict[str, Field]:
    """All settings by dotted name, in the order of the tree."""
    found = {}
    for group, group_info in Config.model_fields.items():
        group_type = group_info.annotation
        assert isinstance(group_type, type)
        assert issubclass(group_type, BaseModel)
        for key, info in group_type.model_fields.items():
            found[f"{group}.{key}"] = _field(f"{group}.{key}", info)
    return found


def group_docs() -> dict[str, str]:
    """The six groups with their descriptions."""
    return {name: info.description or "" for name, info in Config.model_fields.items()}


def value_of(config: Config, name: str) -> Any:
    """The value of a setting by its dotted name."""
    group, _, key = name.partition(".")
    return getattr(getattr(config, group), key)


def unknown_remedy(name: str) -> str:
    """The remedy for an unknown name: the same key in another group, else the most similar name."""
    name = name.lower().replace("-", "_")
    group, _, key = name.rpartition(".")
    if name in group_docs():
        return (
            "did you mean one of its settings, such as "
            f"{next(known for known in fields() if known.startswith(name))}?"
        )
    if key in REPORT_NAMES:
        return f"did you mean {REPORT_NAMES[key]}?"
    if not group and get_close_matches(key, group_docs(), n=1, cutoff=0.8):
        return nearest(key, group_docs())
    own = [field.key for field in fields().values() if field.group == group]
    for keys in (
        [key],
        get_close_matches(key, own, n=1),
        get_close_matches(key, [f.key for f in fields().values()], n=1),
    ):
        meant = [known for known, field in fields().items() if field.key in keys]
        meant = [known for known in meant if known.startswith(f"{group}.")] or meant
        if meant:
            return f"did you mean {' or '.join(meant)}?"
    return "`somelab show --fields` lists all settings"


def backbone_gives(config: Config, name: str) -> Any:
    """The backbone's value of a part that is left at null; None if the name is no such part."""
    group, _, key = name.partition(".")
    return BACKBONES[config.model.backbone].get(key) if group == "model" else None


def _field(name: str, info: FieldInfo) -> Field:
    inner, nullable = _without_null(info.annotation)
    bounds = list(info.metadata)
    inner, more = _without_annotated(inner)
    origin = get_origin(inner)
    choices = get_args(inner) if origin is Literal else ()
    base: Any = str if origin is Literal else origin or inner
    doc = " ".join((info.description or "").split())
    kind = _kind(inner, [*bounds, *more]) + (" or null" if nullable else "")
    return Field(name, base, kind, nullable, choices, info.get_default(call_default_factory=True), doc)


def _kind(annotation: Any, bounds: Iterable[Any] = ()) -> str:
    """A type in words: `integer >= 1`, `seed | modern`, `list of number >= 0`."""
    annotation, more = _without_annotated(annotation)
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return " | ".join(inner)
    if origin is tuple:
        number = "" if Ellipsis in inner else f"{len(inner)} "
        return f"list of {number}{_kind(inner[0]).replace('number', 'numbers')}"
    if origin is dict:
        return f"mapping of {_kind(inner[0])} to {_kind(inner[1])}"
    signs = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}
    limits = [
        f"{sign} {getattr(bound, name):g}"
        for bound in [*bounds, *more]
        for name, sign in signs.items()
        if getattr(bound, name, None) is not None
    ]
    return " ".join([WORDS[annotation], " and ".join(limits)]).strip()


def _without_null(annotation: Any) -> tuple[Any, bool]:
    if get_origin(annotation) not in (Union, types.UnionType):
        return annotation, False
    rest = [part for part in get_args(annotation) if part is not type(None)]
    assert len(rest) == 1, f"a setting is of one type, or null: {annotation}"
    return rest[0], True


def _without_annotated(annotation: Any) -> tuple[Any, list[Any]]:
    """The bare type and its bounds; pydantic keeps those of a nested Annotated inside a FieldInfo."""
    if get_origin(annotation) is not Annotated:
        return annotation, []
    bare, *notes = get_args(annotation)
    return bare, [
        bound for note in notes for bound in (note.metadata if isinstance(note, FieldInfo) else [note])
    ]
