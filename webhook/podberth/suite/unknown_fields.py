"""Finds fields and values that the types of a suite's pods and workloads do not have; a case with one tests nothing."""

from collections.abc import Iterable, Mapping
from functools import cache
from itertools import islice
from typing import Any, Final

from ..kube.paths import Path
from ..kube.schema import Definitions, PodSchema, Schema, workload_definitions, workload_type
from ..kube.unknown_fields import Typed, unknown_fields
from ..policy.wording import FieldProblem

_MOST: Final = 40
"""The most fields that are reported; more than a screen."""


def unknown_in(objects: Iterable[tuple[Path, Mapping[str, Any]]]) -> list[FieldProblem]:
    """Return a problem for each unknown field of objects, and for each value that its field does not take.

    The objects come with their paths in the suite. Only Kubernetes' own kinds that make pods are looked at, without the
    status, which the cluster writes. A field that an earlier version of Kubernetes had is none, because podberth reads
    it. Values of a wrong type are left to the run of the case.
    """
    found = (
        (each.path, each.value is None, each.message)
        for path, content in objects
        for each in unknown_fields(_definitions(), Typed(_type_of(content), _without_status(content), path))
        if not each.former and not each.mistyped
    )
    return list(islice(found, _MOST))


@cache
def _definitions() -> Definitions:
    return {**PodSchema.packaged().definitions, **workload_definitions()}


def _type_of(content: Mapping[str, Any]) -> Schema:
    name = workload_type(content)
    return Schema(kind="message", message=name) if name else Schema(kind="any")


def _without_status(content: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in content.items() if key != "status"}
