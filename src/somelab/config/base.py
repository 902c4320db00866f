"""What every group of the config tree shares: frozen, strict about names, documented by its docstrings."""

from __future__ import annotations

from typing import Annotated, NoReturn

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError


def refuse(field: str, value: object, problem: str, remedy: str) -> NoReturn:
    """Raise from a validator with value, problem and remedy. `field` is relative to the group, or to the
    field in the validator of one ("")."""
    raise PydanticCustomError(
        "somelab",
        "{problem}; {remedy}",
        {"field": field, "value": value, "problem": problem, "remedy": remedy},
    )


def at_most(limit: int) -> AfterValidator:
    """A bound far beyond every machine, which keeps products of sizes inside 63 bits and loops over them
    finite. Not part of the help: nobody meets it but by mistake."""

    def checked(value: int) -> int:
        if abs(value) > limit:
            refuse("", value, f"is beyond {limit:,}", "choose a smaller number")
        return value

    return AfterValidator(checked)


Whole = Annotated[int, at_most(2**63 - 1)]
Count = Annotated[int, Field(ge=1), at_most(2**40)]
Size = Annotated[int, Field(ge=1), at_most(2**18)]
"""A width or a batch: two of them and a number of experts are multiplied."""
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
