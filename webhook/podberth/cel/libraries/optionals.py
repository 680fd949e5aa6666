"""The two functions of upstream's optional types that the engine's own extension lacks (cel-go cel/library.go)."""

from .overload import Overload, rows

_UNWRAP = "a.filter(x, x.hasValue()).map(x, x.value())"
_OPTIONALS = ("list(optional_type(A))",)

OVERLOADS: tuple[Overload, ...] = (
    *rows("optional.unwrap", ("optional_unwrap", _OPTIONALS, "list(A)", _UNWRAP), is_member=False),
    *rows("unwrapOpt", ("optional_unwrapOpt", _OPTIONALS, "list(A)", _UNWRAP)),
)
