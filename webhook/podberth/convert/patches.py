"""Converts the literals of mutations: maps of a GPUPolicy to ``Object{...}`` and ``JSONPatch{...}``, and back.

A GPUPolicy writes a part of a Pod, or a JSON Patch, as maps. A MutatingAdmissionPolicy names the type of each:
``Object.spec.containers{name: 'a'}`` for ``{'name': 'a'}``. Only the literals change; all other text stays as it is.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ..cel.engine import CelProblem, CompileError
from ..cel.parts import CLOSING, Token, tokens_of
from ..kube.json_patch import PatchError, steps_of
from ..kube.paths import FieldPath
from ..kube.schema import PodSchema, Schema
from ..kube.typed import POD_TYPE, MisfitError, step

_OBJECT: Final = "Object"
_PATCH: Final = "JSONPatch"
_TEXT: Final = Schema(kind="string")
_PATCHES: Final = PodSchema(
    {_PATCH: {"op": _TEXT, "path": _TEXT, "from": _TEXT, "value": Schema(kind="any")}},
)
_PATCH_LIST: Final = Schema(kind="array", element=Schema(kind="message", message=_PATCH))
_ANY: Final = Schema(kind="any")
_POD: Final = "object"
_WHOLE: Final[frozenset[FieldPath]] = frozenset({(_POD,)})
# The value of these calls has the type of their argument.
_SAME: Final = frozenset({"of", "orValue"})


@dataclass(slots=True)
class _Bracket:
    """An open bracket: its token, the type of the values in it, and the names of the fields around it."""

    text: str
    kind: Schema
    """The type of a value in the bracket; of a literal with fields the type of the literal itself."""
    path: tuple[str, ...]
    is_fields: bool = False
    key: str = ""
    """The field whose value comes next; empty if a field's name comes next."""


class _Typed:
    """An expression of a GPUPolicy whose map literals get types, as far as the types of the fields around them say."""

    def __init__(self, source: str, schema: PodSchema, kind: Schema) -> None:
        self._source, self._schema = source, schema
        self._open = [_Bracket("", kind, ())]
        self.written: set[FieldPath] = set()
        """The paths in the pod that the literals name, without indexes."""

    def text(self, name: str) -> str:
        """Return the expression with types; ``name`` is the type of the outermost literal.

        Raises:
            CompileError: a literal has a field that its type does not have, or whose name is no literal.
        """
        found, behind, tokens = "", 0, tokens_of(self._source)
        for index, token in enumerate(tokens):
            around = self._open[-1]
            if token.text in CLOSING:
                before = tokens[index - 1].text if index else ""
                made = self._opened(token, before)
                if made.is_fields:
                    found += self._source[behind : token.start] + ".".join((name, *made.path))
                    behind = token.start
                self._open.append(made)
            elif len(self._open) > 1 and token.text == CLOSING[around.text]:
                self._open.pop()
            elif around.is_fields and token.text == ",":
                around.key = ""
            elif around.is_fields and not around.key and token.text not in ("?", ":"):
                around.key = self._field(token, around.kind)
                found += self._source[behind : token.start] + around.key
                behind = token.end
        return found + self._source[behind:]

    def _opened(self, token: Token, before: str) -> _Bracket:
        around = self._open[-1]
        kind, path = self._expected(token, around)
        if token.text == "{":
            is_fields = kind.kind == "message"
            return _Bracket("{", kind if is_fields else _ANY, path, is_fields)
        is_behind_value = before.isidentifier() or before in (")", "]", "}") or before[-1:] in ("'", '"')
        if token.text == "(" and is_behind_value:
            kind = kind if before in _SAME else (kind.element or _ANY) if before == "map" else _ANY
        elif token.text != "(":
            kind = (kind.element or _ANY) if not is_behind_value else _ANY
        return _Bracket(token.text, kind, path)

    def _expected(self, token: Token, around: _Bracket) -> tuple[Schema, tuple[str, ...]]:
        """Return (the type of the value that begins at a token, the names of the fields that lead to it)."""
        if not around.is_fields:
            return around.kind, around.path
        try:
            kind = step(self._schema, around.kind, around.key, "Object")
        except MisfitError as error:
            raise _at(self._source, token, str(error)) from error
        return kind, (*around.path, around.key)

    def _field(self, token: Token, kind: Schema) -> str:
        name = token.text[1:-1]
        if token.text[:1] not in ("'", '"') or not name.isidentifier():
            raise _at(self._source, token, "the name of the field is no literal, and a native policy names each field")
        try:
            below = step(self._schema, kind, name, "Object")
        except MisfitError as error:
            raise _at(self._source, token, str(error)) from error
        if below.kind != "message" and (below.element or _ANY).kind != "message":
            self.written.add((_POD, *self._open[-1].path, name))
        return name


def as_object(source: str, schema: PodSchema) -> str:
    """Return an ``applyConfiguration`` of a GPUPolicy as the expression of a native mutation.

    Raises:
        CompileError: a literal has a field that the Pod's schema does not have, or whose name is no literal.
    """
    return _Typed(source, schema, POD_TYPE).text(_OBJECT)


def as_patches(source: str) -> str:
    """Return a ``jsonPatch`` of a GPUPolicy as the expression of a native mutation.

    Raises:
        CompileError: an operation has an unknown field, or one whose name is no literal.
    """
    return _Typed(source, _PATCHES, _PATCH_LIST).text(_PATCH)


def as_maps(source: str) -> str:
    """Return the expression of a native mutation with maps in place of ``Object{...}`` and ``JSONPatch{...}``."""
    tokens = tokens_of(source)
    found, behind = "", 0
    is_fields: list[bool] = []
    for index, token in enumerate(tokens):
        if token.text in CLOSING:
            start = _type_before(tokens, index) if token.text == "{" else None
            if start is not None:
                found += source[behind : tokens[start].start]
                behind = token.start
            is_fields.append(start is not None)
        elif token.text in (")", "]", "}") and is_fields:
            is_fields.pop()
        elif is_fields and is_fields[-1] and _is_key(tokens, index):
            found += f"{source[behind : token.start]}'{token.text.strip('`')}'"
            behind = token.end
    return found + source[behind:]


def written_by_object(source: str, schema: PodSchema) -> frozenset[FieldPath]:
    """Return the paths that an ``applyConfiguration`` of a GPUPolicy may write; ``("object",)`` if it is not known."""
    typed = _Typed(source, schema, POD_TYPE)
    try:
        typed.text(_OBJECT)
    except CompileError:
        return _WHOLE
    return frozenset(typed.written) or _WHOLE


def written_by_patches(source: str) -> frozenset[FieldPath]:
    """Return the paths that a ``jsonPatch`` of a GPUPolicy may write; ``("object",)`` if it is not known.

    A path ends before the first index.
    """
    tokens = tokens_of(source)
    found = {
        (_POD, *_names(_literal(tokens, index + 2)))
        for index, token in enumerate(tokens)
        if token.text[1:-1] in ("path", "from") and _next(tokens, index) == ":"
    }
    return frozenset(found) or _WHOLE


def _literal(tokens: list[Token], index: int) -> str:
    """Return the text literal at a token, up to its last whole step if more is added to it; empty if there is none."""
    text = tokens[index].text if index < len(tokens) else ""
    if text[:1] not in ("'", '"'):
        return ""
    return text[1:-1] if _next(tokens, index) in (",", "}") else text[1:-1].rpartition("/")[0]


def _names(pointer: str) -> Iterator[str]:
    try:
        steps = steps_of(pointer)
    except PatchError:
        return
    for each in steps:
        if each == "-" or each.lstrip("-").isdigit():
            return
        yield each


def _type_before(tokens: list[Token], index: int) -> int | None:
    """Return the index of the first token of the type's name before a bracket; None if there is no such name."""
    start = index - 1
    while start >= 2 and tokens[start - 1].text == "." and tokens[start].text.isidentifier():  # noqa: PLR2004 - a.b
        start -= 2
    is_type = start >= 0 and tokens[start].text in (_OBJECT, _PATCH)
    return start if is_type and (start == 0 or tokens[start - 1].text != ".") else None


def _is_key(tokens: list[Token], index: int) -> bool:
    before = tokens[index - 1].text
    return before in ("{", ",", "?") and _next(tokens, index) == ":" and tokens[index].text[:1] not in ("'", '"')


def _next(tokens: list[Token], index: int) -> str:
    return tokens[index + 1].text if index + 1 < len(tokens) else ""


def _at(source: str, token: Token, why: str) -> CompileError:
    head = source[: token.start]
    return CompileError((CelProblem(head.count("\n") + 1, len(head) - head.rfind("\n"), why),))
