"""The base class of the policy models, and types of text fields in the models (names, messages, expressions).

Each type validates a single field.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, WithJsonSchema
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from ..cel.types import Want
from ..kube.object_names import MAX_LABEL, MAX_SUBDOMAIN, NAME, SUBDOMAIN, is_label_value, is_qualified, is_subdomain
from ..kube.shape import shown

# cel.go's identifiers
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# IsEnvVarName: the names that every version accepts; since 1.34 any printable character but "=" is valid
_ENV_NAME = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")
_LONGEST = 80
"""The length of the longest list that a message writes in CEL."""
# A dash and eight digits are appended to the template's name (claim_template).
MAX_TEMPLATE_NAME = MAX_SUBDOMAIN - 9


class DocumentPart(BaseModel):
    """The base class of all parts of a document. Documents have fields in camelCase; unknown fields are refused."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=False, defer_build=True
    )


def _expression(value: object) -> object:
    if not isinstance(value, str):
        hint = f"; put it in quotes: {shown(value)!r}" if isinstance(value, bool | int | float) else ""
        if isinstance(value, list | dict):
            hint = f'; put the whole in quotes: "{_as_cel(value)}"'
        raise PydanticCustomError("cel", f"got {shown(value)}, want a CEL expression as a string{hint}")
    if not value.strip():
        raise PydanticCustomError("cel", "got an empty string, want a CEL expression")
    return value


def _as_cel(value: object) -> str:
    """Return the source text of a list or an object in CEL; three dots in place of a long one."""
    source = _constant(value)
    return source if len(source) <= _LONGEST else f"{source[0]}...{source[-1]}"


def _constant(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_constant, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_constant(key)}: {_constant(each)}' for key, each in value.items())}}}"
    is_quoted = isinstance(value, str) and len(value) > 1 and value[0] == value[-1] == "'"
    return str(value) if is_quoted else repr(value) if isinstance(value, str) else shown(value)


def _of_text(value: object) -> object:
    """Refuse a number or a boolean as the expression of a text: in quotes for YAML alone it is none either.

    A list or an object is refused without the advice to write it in CEL, because its value would be no text.
    """
    if isinstance(value, list | dict):
        raise PydanticCustomError(
            "cel", f"got {shown(value)}, want a CEL expression as a string, whose value is a text"
        )
    if isinstance(value, bool | int | float):
        text = shown(value)
        message = f"got {text}, want a CEL expression as a string; for the text {text} write \"'{text}'\""
        raise PydanticCustomError("cel", message)
    return value


def named(is_valid: Callable[[str], object], want: str) -> AfterValidator:
    """Return the validator of a name.

    ``is_valid`` returns whether a text is a valid name, and ``want`` describes valid names in messages.
    """

    def check(value: str) -> str:
        if not is_valid(value):
            raise PydanticCustomError("name", f"got {value!r}, want {want}")
        return value

    return AfterValidator(check)


def _subdomain(most: int) -> AfterValidator:
    """Return the validator of a DNS-1123 subdomain of at most ``most`` characters."""
    wanted = f"lower-case letters, digits, '-' and '.', at most {most} characters"
    return named(partial(is_subdomain, most=most), f"a DNS-1123 subdomain: {wanted}")


_LETTERS = "letters, digits, '-', '_' and '.'"
_QUALIFIED = named(
    is_qualified, f"a qualified name: [prefix/]name, the name of {_LETTERS}, at most {MAX_LABEL} characters"
)
_LABEL_VALUE = named(
    is_label_value,
    f"the value of a label: {_LETTERS}, a letter or digit at both ends, at most {MAX_LABEL} characters",
)
_ENV = named(_ENV_NAME.fullmatch, f"the name of an environment variable: {_LETTERS}, no digit first")
_CEL_NAME = named(_IDENTIFIER.fullmatch, "a CEL identifier: letters, digits and '_', no digit first")


def _message(value: str) -> str:
    if not value.strip():
        raise PydanticCustomError("message", "got an empty message; remove it, or say what is wrong")
    if "\n" in value:
        raise PydanticCustomError("message", "got a message with a line break, want one line")
    return value


def _like(pattern: str) -> WithJsonSchema:
    """Return the JSON Schema of a text that matches a pattern; the validator of the field checks lengths, too."""
    return WithJsonSchema({"type": "string", "pattern": pattern})


ExpressionText: TypeAlias = Annotated[str, BeforeValidator(_expression), _like(r"\S")]
"""The source text of a CEL expression of any type."""


@dataclass(frozen=True, slots=True)
class Gives:
    """The type that the values of a field's CEL expressions must have.

    The type is checked when a policy is compiled.
    """

    want: Want
    may_be_null: bool = False
    """Whether a null value counts as if the expression were absent; otherwise, an entry with a null value writes
    nothing."""


def gives(field: FieldInfo) -> Gives | None:
    """Return the type that a field's CEL expressions must have; None if the field holds no expression."""
    return _gives((field.annotation, *field.metadata))


def _gives(parts: Iterable[object]) -> Gives | None:
    for part in parts:
        inner = (*getattr(part, "__args__", ()), *getattr(part, "__metadata__", ()))
        found = part if isinstance(part, Gives) else _gives(inner)
        if found:
            return found
    return None


BoolExpression: TypeAlias = Annotated[ExpressionText, Gives(Want.BOOL)]
StringExpression: TypeAlias = Annotated[ExpressionText, BeforeValidator(_of_text), Gives(Want.STRING)]
IntExpression: TypeAlias = Annotated[ExpressionText, Gives(Want.INT)]
NullableStringExpression: TypeAlias = Annotated[
    ExpressionText, BeforeValidator(_of_text), Gives(Want.STRING, may_be_null=True)
]
NullableIntExpression: TypeAlias = Annotated[ExpressionText, Gives(Want.INT, may_be_null=True)]
MapExpression: TypeAlias = Annotated[ExpressionText, Gives(Want.MAP)]
MapsExpression: TypeAlias = Annotated[ExpressionText, Gives(Want.LIST_OF_MAPS)]
Subdomain: TypeAlias = Annotated[str, _subdomain(MAX_SUBDOMAIN), _like(f"^{SUBDOMAIN}$")]
QualifiedName: TypeAlias = Annotated[str, _QUALIFIED, _like(f"^({SUBDOMAIN}/)?{NAME}$")]
ClaimTemplateName: TypeAlias = Annotated[str, _subdomain(MAX_TEMPLATE_NAME), _like(f"^{SUBDOMAIN}$")]
LabelValue: TypeAlias = Annotated[str, _LABEL_VALUE, _like(f"^({NAME})?$")]
"""A valid label value; a policy that selects any other value would never apply."""
Key: TypeAlias = Annotated[str, _QUALIFIED]
"""A qualified name. The schema only declares a string, because the name's pattern would be too expensive there."""
EnvName: TypeAlias = Annotated[str, _ENV, _like(f"^{_ENV_NAME.pattern}$")]
Identifier: TypeAlias = Annotated[str, _CEL_NAME, _like(f"^{_IDENTIFIER.pattern}$")]
Message: TypeAlias = Annotated[str, AfterValidator(_message), _like(r"^[^\n]*\S[^\n]*$")]
