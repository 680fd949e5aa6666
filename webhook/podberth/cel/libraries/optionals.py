"""The two functions of upstream's optional types that the CEL engine's own extension lacks (cel-go cel/library.go)."""

from .overload import Overload, overload

_UNWRAP = "a.filter(x, x.hasValue()).map(x, x.value())"

OVERLOADS: tuple[Overload, ...] = (
    overload("optional_unwrap", "optional.unwrap(list(optional_type(A))): list(A)", _UNWRAP),
    overload("optional_unwrapOpt", ".unwrapOpt(list(optional_type(A))): list(A)", _UNWRAP),
)
