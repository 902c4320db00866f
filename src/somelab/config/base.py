"""What every group of the config tree shares: frozen, strict about names, documented by its docstrings."""

from __future__ import annotations

from typing import Annotated, NoReturn

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

Count = Annotated[int, Field(ge=1)]
Rate = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Fraction = Annotated[float, Field(ge=0, le=1)]
Decay = Annotated[float, Field(ge=0, lt=1)]


class Group(BaseModel):
    """One group of settings. A field's docstring is its help text, its documentation and its tooltip."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        use_attribute_docstrings=True,
        validate_default=True,
        protected_namespaces=(),
    )


def refuse(field: str, value: object, problem: str, remedy: str) -> NoReturn:
    """Raise from a validator with value, problem and remedy. `field` is relative to the group."""
    raise PydanticCustomError(
        "somelab",
        "{problem}; {remedy}",
        {"field": field, "value": value, "problem": problem, "remedy": remedy},
    )
