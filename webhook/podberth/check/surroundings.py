"""What the checked files themselves say of the cluster: namespaces, parameters, groups, runtimes.

Whoever checks a folder applies it as a whole, so an object in one file counts for the pods in another.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from ..admission.snapshot import Snapshot
from ..devices.claims import KnownDevices
from ..topology.objects import collect
from .sources import Document, Source, SourceFile

_COLLECTED: Final = frozenset(
    {
        "ClusterQueue",
        "ComputeDomain",
        "ConfigMap",
        "DeviceClass",
        "LocalQueue",
        "Namespace",
        "PodGroup",
        "PriorityClass",
        "Queue",
        "ResourceClaim",
        "ResourceClaimTemplate",
    }
)
_OF_NO_NAMESPACE: Final = frozenset({"ClusterQueue", "DeviceClass", "Namespace", "PriorityClass", "Queue"})
REFERRED: Final = frozenset({"TrainingRuntime", "ClusterTrainingRuntime", "ServingRuntime", "ClusterServingRuntime"})
"""Kinds whose templates others use by name."""


def surroundings(files: Iterable[SourceFile], namespace: str) -> list[Document]:
    """Return the documents that decisions on others go by; the namespaces that the others take for granted come last.

    ``namespace`` is that of documents that name none.
    """
    found: list[Document] = []
    taken = {namespace: None}
    for file in files:
        for source in file.sources:
            taken[source.namespace(namespace)] = None
            if source.kind in _COLLECTED | REFERRED and source.name and _is_sound(source):
                found.append(_named(source, namespace))
    return [*found, *(assumed(name) for name in taken if name)]


def assumed(name: str) -> Document:
    """Return a namespace that has to exist, for something is applied to it, and of which nothing more is known."""
    labels = {"kubernetes.io/metadata.name": name}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def within(snapshot: Snapshot, documents: Sequence[Document]) -> Snapshot:
    """Return the snapshot of the cluster with these objects in it; of two of a name, the checked files' counts."""
    given = collect([each for each in documents if each["kind"] in _COLLECTED and not _is_assumed(each)], now=None)
    namespaces = {each["metadata"]["name"]: each for each in documents if _is_assumed(each)}
    groups = dict(snapshot.pod_groups)
    for namespace, name in given.pod_groups:
        groups[namespace] = groups.get(namespace, frozenset()) | {name}
    return replace(
        snapshot,
        namespaces={**namespaces, **snapshot.namespaces, **given.namespaces},
        config_maps={**snapshot.config_maps, **given.config_maps},
        pod_groups=groups,
        group_sizes={**snapshot.group_sizes, **given.group_sizes},
        served_groups=snapshot.served_groups | given.served_groups,
        queues=snapshot.queues.and_also(given.queues),
        class_resources=snapshot.class_resources | given.class_resources,
        devices=KnownDevices(
            claims={**snapshot.devices.claims, **given.devices.claims},
            templates={**snapshot.devices.templates, **given.devices.templates},
            declared=snapshot.devices.declared,
            groups={**snapshot.devices.groups, **given.devices.groups},
            resources={**snapshot.devices.resources, **given.devices.resources},
            others=snapshot.devices.others | given.devices.others,
        ),
        default_priority_class=given.default_priority_class or snapshot.default_priority_class,
        priority_classes=snapshot.priority_classes | given.priority_classes,
    )


def _is_assumed(document: Document) -> bool:
    return document == assumed(document["metadata"]["name"]) if document["kind"] == "Namespace" else False


def _is_sound(source: Source) -> bool:
    """Return whether the object's own words can be relied on: selectors read its labels, policies its data."""
    metadata = source.content["metadata"]
    data = source.content.get("data")
    return all(
        held is None or (isinstance(held, dict) and all(isinstance(each, str) for each in held.values()))
        for held in (metadata.get("labels"), data)
    )


def _named(source: Source, namespace: str) -> Document:
    """Return an object with its namespace in it, where it is of a kind that has one; the default is the check's."""
    metadata = source.content["metadata"]
    if source.kind in _OF_NO_NAMESPACE or metadata.get("namespace"):
        return source.content
    return {**source.content, "metadata": {**metadata, "namespace": namespace}}


def referred(documents: Iterable[Document]) -> Iterator[Document]:
    """Yield those whose templates others use by name."""
    return (each for each in documents if each["kind"] in REFERRED)
