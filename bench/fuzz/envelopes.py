"""Envelopes that are broken: fields that are gone or of another type, and bodies that are no review at all."""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Final

from podberth.kube.pod_limits import MAX_BYTES

from . import values, wrong
from .values import JSON

PATHS: Final = ("/mutate", "/validate", "/validate-workload", "/validate-policy", "/mutate/", "/")
_FIELDS: Final = (
    *("uid", "kind", "resource", "subResource", "name", "namespace", "operation", "userInfo", "object", "oldObject"),
    *("dryRun", "options", "requestKind", "requestResource"),
)
_KINDS: Final[tuple[Any, ...]] = (
    {"group": "", "version": "v1", "resource": "pods"},
    {"group": "", "version": "v2", "resource": "pods"},
    {"group": "apps", "version": "v1", "resource": "deployments"},
    {"group": "podberth.io", "version": "v1alpha1", "resource": "gpupolicies", "kind": "GPUPolicy"},
    {"group": [], "version": "v1", "resource": "pods", "kind": "Pod"},
    {},
)


def _gone(chance: Random, review: JSON) -> None:
    for _ in range(chance.randint(1, 3)):
        review["request"].pop(chance.choice(_FIELDS), None)


def _another_type(chance: Random, review: JSON) -> None:
    for _ in range(chance.randint(1, 2)):
        review["request"][chance.choice(_FIELDS)] = values.anything(chance)


def _operation(chance: Random, review: JSON) -> None:
    request = review["request"]
    request["operation"] = chance.choice(("CREATE", "UPDATE", "DELETE", "CONNECT", "create", "", "PATCH"))
    request["subResource"] = chance.choice(("", "ephemeralcontainers", "resize", "status", "binding", "x"))


def _another_kind(chance: Random, review: JSON) -> None:
    review["request"][chance.choice(("kind", "resource", "requestKind"))] = chance.choice(_KINDS)


def _old_object(chance: Random, review: JSON) -> None:
    request = review["request"]
    request["oldObject"] = chance.choice(
        (request.get("object"), {}, {"metadata": None}, {"spec": []}, values.anything(chance))
    )
    if values.percent(chance, 20):
        request["object"] = None


def _names(chance: Random, review: JSON) -> None:
    field = chance.choice(("namespace", "name", "uid", "subResource"))
    review["request"][field] = chance.choice((*values.NAMES, *values.TEXTS, "x" * 100_000))


def _anywhere(chance: Random, review: JSON) -> None:
    chance.choice(tuple(wrong.CHANGES.values()))(chance, review)


CHANGES: Final[Mapping[str, Callable[[Random, JSON], None]]] = {
    "fields gone": _gone,
    "fields of another type": _another_type,
    "another operation": _operation,
    "another kind": _another_kind,
    "any oldObject": _old_object,
    "odd names": _names,
    "anything anywhere": _anywhere,
}


def broken_text(chance: Random, text: bytes) -> bytes:
    """Return a body that is cut, doubled, of another encoding, or too large."""
    return chance.choice(
        (
            text[: chance.randrange(len(text))],
            text + text,
            text.replace(b'"', b"'"),
            text.decode().encode("utf-16"),
            b"\xef\xbb\xbf" + text,
            text.replace(b"e", b"\xff"),
            text + b" " * (5 * MAX_BYTES),
            b"[" * 100_000,
            chance.randbytes(200),
            b"",
        )
    )
