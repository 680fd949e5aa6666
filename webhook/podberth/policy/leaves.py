"""The expressions of an entry of ``mutations``, read from the types of its model's fields."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from ..cel.engine import Want
from ..kube.positions import Path
from .fields import Gives, gives
from .model import CONCERNS, Mutation


@dataclass(frozen=True, slots=True)
class Leaf:
    """One CEL expression of a mutation: its name for the builder, its place below the entry, its source and type."""

    name: str
    path: Path
    source: str
    want: Want
    may_be_null: bool = False
    """Whether the entry applies even if the value is null; if not, an entry with a null is skipped."""


def leaves_of(item: Mutation) -> tuple[Sequence[Leaf], Mapping[str, Any]]:
    """Return the expressions and the literals of a mutation entry, without the fields that it does not have."""
    concern, value = next(iter(item.written.items()))
    if isinstance(value, BaseModel):
        fields = list(_fields(value))
        leaves = [
            Leaf(name, (concern, name), source, of.want, of.may_be_null)
            for name, source, of in fields
            if of is not None
        ]
        return leaves, {name: literal for name, literal, of in fields if of is None}
    of = gives(Mutation.model_fields[CONCERNS[concern]])
    want = Want.ANY if of is None else of.want
    if isinstance(value, dict):
        # A null leaves out its own key, and no other.
        return [Leaf(key, (concern, key), source, want, may_be_null=True) for key, source in value.items()], {}
    return [Leaf("", (concern,), value, want)], {}


def _fields(value: BaseModel) -> Iterator[tuple[str, Any, Gives | None]]:
    """Yield the fields that a part of a mutation has: name, value, and the type that an expression must give."""
    for name, field in type(value).model_fields.items():
        given = getattr(value, name)
        if given is not None:
            yield field.alias or name, given, gives(field)
