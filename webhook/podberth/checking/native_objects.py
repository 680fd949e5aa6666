"""Lists a cluster's native policies with their bindings, and the params of native policies.

A binding whose params cannot be listed is named, and is not evaluated: as if it had no params, it would decide wrongly.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

from ..api.protocol import Document, Resource, ServedKind
from ..errors import ClusterError
from ..kube.api_path import collection_path
from ..kube.unchecked import mapping_at, text_at
from ..native.documents import MODELS, identity_of
from ..native.model import API_VERSION
from ..native.resources import is_of_kubernetes, plural_of
from .inventory import Lister, definition_of

_BINDING: Final = "Binding"


@dataclass(slots=True)
class NativeObjects:
    """The objects that native policies need, in the order in which they were listed."""

    documents: list[Document] = field(default_factory=list)
    """Native policies and bindings, params, and a CustomResourceDefinition for each kind of params that an operator
    defines."""
    missing: list[str] = field(default_factory=list)
    """The params of policies of files that could not be listed, with the reasons."""
    talk: list[str] = field(default_factory=list)
    """Lines for the user about native policies of the cluster that could not be listed, or whose params could not."""
    unjudged: set[tuple[str, str]] = field(default_factory=set)
    """The (kind, name) of each binding whose params could not be listed."""


async def list_natives(lister: Lister, found: NativeObjects) -> None:
    """Add the cluster's native policies and bindings to ``found``; a kind that is not served has none."""
    for kind in MODELS:
        try:
            listed = await lister.objects(Resource(plural_of(kind), collection_path(API_VERSION, plural_of(kind))))
        except ClusterError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                found.talk.append(f"not judged by: {API_VERSION} {kind}: {error}")
        else:
            found.documents += [{"apiVersion": API_VERSION, "kind": kind, **each} for each in listed]


async def list_params(lister: Lister, of_files: Sequence[Mapping[str, Any]], found: NativeObjects) -> None:
    """Add the params to which bindings refer, and their kinds, to ``found``.

    The bindings are those of the native policies ``of_files`` and those in ``found``. A binding whose params cannot be
    listed is removed from ``found``.
    """
    natives, own = [*of_files, *found.documents], {identity_of(each) for each in of_files}
    kinds = {identity_of(each): _param_kind(each) for each in natives}
    listed: dict[Resource, ClusterError | None] = {}
    for binding in natives:
        kind, name = identity_of(binding)
        version, wanted = kinds.get((kind.removesuffix(_BINDING), text_at(binding, "spec", "policyName")), ("", ""))
        if not (kind.endswith(_BINDING) and version and mapping_at(binding, "spec", "paramRef")):
            continue
        try:
            served = (await lister.kinds(version)).get(wanted)
            if served is not None:
                await _add(lister, served, _selected(served, binding), listed, found)
        except ClusterError as error:
            if error.status != HTTPStatus.NOT_FOUND:  # a kind that is not served is said for each workload
                said = f"{version} {wanted}, params of {kind} {name}: {error}"
                (found.missing if (kind, name) in own else found.talk).append(f"not judged by: {said}")
                found.unjudged.add((kind, name))
    found.documents = [each for each in found.documents if identity_of(each) not in found.unjudged]


async def _add(
    lister: Lister,
    served: ServedKind,
    resource: Resource,
    listed: dict[Resource, ClusterError | None],
    found: NativeObjects,
) -> None:
    """List a resource once, and add its objects to ``found``; ``listed`` has the resources that were listed before."""
    if resource not in listed:
        try:
            objects = await lister.objects(resource)
        except ClusterError as error:
            listed[resource] = error
        else:
            listed[resource] = None
            found.documents += [{"apiVersion": served.version, "kind": served.kind, **each} for each in objects]
            found.documents += [] if is_of_kubernetes(served.version) else [definition_of(served)]
    if (refused := listed[resource]) is not None:
        raise refused


def _selected(served: ServedKind, binding: Mapping[str, Any]) -> Resource:
    """Return the resource that lists the params of a binding: one object by its name, or all of a namespace."""
    reference = mapping_at(binding, "spec", "paramRef")
    whole = served.resource(text_at(reference, "namespace"))
    name = text_at(reference, "name")
    return Resource(whole.name, whole.path, fields=f"metadata.name={name}") if name else whole


def _param_kind(policy: Mapping[str, Any]) -> tuple[str, str]:
    kind = mapping_at(policy, "spec", "paramKind")
    return text_at(kind, "apiVersion"), text_at(kind, "kind")
