"""Finds fields that an object's type does not have, and values that a field does not take.

The API server drops such fields, and kubectl refuses them: kubectl asks for strict decoding unless ``--validate`` says
otherwise (k8s.io/kubectl pkg/cmd/util/helpers.go AddValidateFlags). The API server refuses values of another type, and
those that are none of the few that a field takes.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from ..words import listed
from .paths import Path
from .positions import render_path
from .schema import Definitions, Schema
from .shape import type_name

# The name of each type, and the types of Python that a value of the type has.
_TYPES: Final[Mapping[str, tuple[str, frozenset[type]]]] = {
    "array": ("list", frozenset({list})),
    "boolean": ("boolean", frozenset({bool})),
    "integer": ("integer", frozenset({int})),
    "map": ("object", frozenset({dict})),
    "message": ("object", frozenset({dict})),
    "number": ("number", frozenset({int, float})),
    "string": ("string", frozenset({str})),
}
_JSON: Final = frozenset(each for _, types in _TYPES.values() for each in types)
# A misspelt name has nearly all letters of the right one. difflib's own limit of 0.6 takes "labels" for "volumes".
_NEAR: Final = 0.75
# The parts of an object that have most of its fields: an unknown field of the object may belong in one of them.
_PARTS: Final = ("metadata", "spec", "template", "resources", "securityContext")
# A pod and a container each have a securityContext, with different fields.
_PARTS_OF_ANY: Final = ("securityContext",)
# An unknown field of a pod may be meant for its containers.
_OF_CONTAINERS: Final[Mapping[str, tuple[str, str]]] = {
    "io.k8s.api.core.v1.PodSpec": ("io.k8s.api.core.v1.Container", "a container"),
    "io.k8s.api.core.v1.PodSecurityContext": (
        "io.k8s.api.core.v1.SecurityContext",
        "the securityContext of a container",
    ),
}
_SHOWN: Final = 60
# A name that ends with so many letters of another is a part of it.
_LONG_ENDING: Final = 4
# A message lists as many values that a field takes, and no more.
_FEW: Final = 8

_NEWEST: Final = "1.37"
"""The newest version of Kubernetes whose fields podberth knows."""
# The fields that other versions have besides those of the packaged 1.36: of 1.32 to 1.37, by the types of
# k8s.io/client-go applyconfigurations/internal/internal.go.
_OTHER_VERSIONS: Final[Mapping[str, frozenset[str]]] = {
    "io.k8s.api.batch.v1.JobSpec": frozenset({"scheduling"}),
    "io.k8s.api.core.v1.ClusterTrustBundleProjection": frozenset({"user"}),
    "io.k8s.api.core.v1.ConfigMapVolumeSource": frozenset({"defaultUser"}),
    "io.k8s.api.core.v1.DownwardAPIVolumeFile": frozenset({"user"}),
    "io.k8s.api.core.v1.DownwardAPIVolumeSource": frozenset({"defaultUser"}),
    "io.k8s.api.core.v1.EmptyDirVolumeSource": frozenset({"mode"}),
    "io.k8s.api.core.v1.GRPCAction": frozenset({"mode"}),
    "io.k8s.api.core.v1.HTTPGetAction": frozenset({"protocol"}),
    "io.k8s.api.core.v1.KeyToPath": frozenset({"user"}),
    "io.k8s.api.core.v1.PodCertificateProjection": frozenset({"user"}),
    "io.k8s.api.core.v1.PodSpec": frozenset({"evictionResponders", "workloadRef"}),
    "io.k8s.api.core.v1.ProjectedVolumeSource": frozenset({"defaultUser"}),
    "io.k8s.api.core.v1.SecretVolumeSource": frozenset({"defaultUser"}),
    "io.k8s.api.core.v1.ServiceAccountTokenProjection": frozenset({"user"}),
    "io.k8s.api.core.v1.VolumeMount": frozenset({"bindMountOptions"}),
}


# Fields of alpha versions that public manifests still have, by type and name, each with the message about it.
_FORMER: Final[Mapping[tuple[str, str], str]] = {
    # k8s.io/api core/v1 types.go PodResourceClaim, v0.30 and v0.31
    ("io.k8s.api.core.v1.PodResourceClaim", "source"): (
        "got source, which a PodResourceClaim has not had since Kubernetes 1.31; write what is in it beside the name"
    ),
}


class Unknown(NamedTuple):
    """A field that the type of its object does not have, or a value that the field does not take."""

    path: Path
    message: str
    """The message: what is unknown, and the name, the value or the place that the author meant, if one is likely."""
    former: bool = False
    """Whether an earlier version of the type had the field; podberth still reads pods that have it."""
    value: str | None = None
    """The value, if the field does not take it; empty for a value that is no text. None: the field is unknown."""
    mistyped: bool = False
    """Whether the value is of another type than the field."""


@dataclass(frozen=True, slots=True)
class Typed:
    """A value of a document, with the type that the value should have."""

    kind: Schema
    value: Any
    path: Path = ()
    """The path from the document's root to the value."""
    others: frozenset[str] = frozenset()
    """The names of fields that the value may have besides those of its type."""


class _Found(NamedTuple):
    path: Path
    message: str
    """The name of the type that does not have the field; empty for a value."""
    value: Any = None
    kind: Schema | None = None
    """The type of the field that does not take the value."""


def unknown_fields(definitions: Definitions, root: Typed) -> Iterator[Unknown]:
    """Yield the unknown fields and values of a value and of all its parts, in the document's order."""
    found: list[_Found] = []
    _walk(definitions, root.kind, root.value, root.path, found)
    for path, message, value, kind in found:
        if kind is not None:
            text = value if isinstance(value, str) else ""
            yield Unknown(path, _said_of(value, kind), value=text, mistyped=_is_mistyped(kind, value))
            continue
        others = root.others if path[:-1] == root.path else frozenset()
        if path[-1] not in others and path[-1] not in _OTHER_VERSIONS.get(message, ()):
            former = _FORMER.get((message, str(path[-1])))
            yield Unknown(path, former or _said(definitions, root, path, message), former is not None)


def _walk(definitions: Definitions, kind: Schema, value: Any, path: Path, found: list[_Found]) -> None:
    """Append to ``found`` each unknown field and value."""
    if type(value) not in _JSON or kind.kind == "any":  # null, and what stands for a value that is not there
        return
    if _is_mistyped(kind, value):
        found.append(_Found(path, "", value, kind))
    elif kind.kind == "message":
        fields = definitions[kind.message]
        for key, child in value.items():
            below = fields.get(key)
            if below is None:
                found.append(_Found((*path, key), kind.message))
            else:
                _walk(definitions, below, child, (*path, key), found)
    elif kind.element is not None:
        for key, child in enumerate(value) if kind.kind == "array" else value.items():
            _walk(definitions, kind.element, child, (*path, key), found)
    # The API server takes an empty text for an absent one, in nearly all fields
    elif kind.values and value and value not in kind.values:
        found.append(_Found(path, "", value, kind))


def _is_mistyped(kind: Schema, value: Any) -> bool:
    if kind.kind == "integer" and type(value) is float:  # JSON has one type for both, and kubectl sends 2.0 as 2
        return not value.is_integer()
    return type(value) not in _TYPES[kind.kind][1]


# ---- the words -------------------------------------------------------------------------------------------------------


def _said(definitions: Definitions, root: Typed, path: Path, message: str) -> str:
    key = str(path[-1])
    name = message.rpartition(".")[2]
    got = f"got {key[:_SHOWN]}, which {_article(name)} {name}"
    if place := _place(definitions, root, path):
        return f"{got} does not have; it belongs in {place}"
    if near := nearest(key, definitions[message]):
        return f"{got} does not have; did you mean {near}?"
    return f"{got} of Kubernetes {_NEWEST} does not have"


def _said_of(value: Any, kind: Schema) -> str:
    if _is_mistyped(kind, value):
        want = _TYPES[kind.kind][0]
        advice = "; put it in quotes" if want == "string" and type(value) in (bool, int, float) else ""
        return f"got {type_name(value)}, want {want}{advice}"
    got = f"got {value[:_SHOWN]!r}"
    if near := nearest(value, kind.values):
        return f"{got}; did you mean {near}?"
    few = len(kind.values) <= _FEW
    return (
        f"{got}, want {listed([*filter(None, kind.values)], 'or')}" if few else f"{got}, which the field does not take"
    )


def _article(name: str) -> str:
    """Return the indefinite article (``a`` or ``an``) for a type's name; acronyms are read letter by letter."""
    return "an" if name[0] in ("AEFHILMNORSX" if name[:2].isupper() else "AEIOU") else "a"


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the name in ``known`` that is most similar to ``name``; empty if none is similar."""
    by_letters = {each.lower(): each for each in known}
    plain = name.lower().replace("_", "").replace("-", "")
    if plain in by_letters:
        return by_letters[plain]
    ending = [each for each in by_letters if each.endswith(plain)]
    if len(ending) == 1 and len(plain) >= _LONG_ENDING:  # name instead of claimName
        return by_letters[ending[0]]
    from difflib import get_close_matches  # noqa: PLC0415 - few documents need it

    near = get_close_matches(plain, by_letters, n=1, cutoff=_NEAR)
    return by_letters[near[0]] if near else ""


def _place(definitions: Definitions, root: Typed, path: Path) -> str:
    """Return the path of the object to which a misplaced field belongs; empty if there is no such object.

    ``path`` leads to the misplaced field. The result is the nearest object that lacks the field and whose type allows
    it. The search begins with the parts of the object that has the misplaced field. Then come the objects around that
    object, each with its security context.
    """
    key = str(path[-1])
    *outer, inner = [each for each in _around(definitions, root, path) if each.kind.kind == "message"]
    for around in (inner, *reversed(outer)):
        fields = definitions[around.kind.message]
        parts = [
            Typed(fields[part], around.value.get(part), (*around.path, part))
            for part in (_PARTS if around is inner else _PARTS_OF_ANY)
            if part in fields and fields[part].kind == "message"
        ]
        for each in (around, *parts):
            has = isinstance(each.value, dict) and key in each.value
            if not has and key in definitions[each.kind.message]:
                return render_path(each.path) or "the top of the object"
    below, place = _OF_CONTAINERS.get(inner.kind.message, ("", ""))
    return place if below and key in definitions[below] else ""


def _around(definitions: Definitions, root: Typed, path: Path) -> Iterator[Typed]:
    """Yield the values on the path to a field, from the whole value inwards."""
    kind, value = root.kind, root.value
    yield root
    for length in range(len(root.path), len(path) - 1):
        step = path[length]
        below = definitions[kind.message][str(step)] if kind.kind == "message" else kind.element
        if below is None:  # a value without a type, below which no fields are known
            return
        kind, value = below, value[step]
        yield Typed(kind, value, path[: length + 1])
