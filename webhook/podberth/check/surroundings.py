"""Collects the objects of the checked files on which decisions depend: namespaces, parameters, groups, runtimes.

Users apply a folder as a whole, so an object in one file affects the decisions on pods in another file.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from ..admission.snapshot import Snapshot
from ..facts.object_kinds import KINDS, OF_NODES, Kind, in_namespace, kinds_of, of_role
from ..kube.namespaces import with_name_label
from ..kube.unchecked import text_at
from ..native.documents import is_beside
from ..topology.queues import QUEUE_KINDS
from .sources import Document, Source, SourceFile

_COLLECTED: Final = frozenset(KINDS) - frozenset((*OF_NODES, *of_role("discovery", "owner")))
REFERRED: Final = frozenset(
    {"TrainingRuntime", "ClusterTrainingRuntime", "ServingRuntime", "ClusterServingRuntime", "ProvisioningRequest"}
)
"""The kinds that have pod templates which other objects use by name, and the kinds that use the templates of others."""
_NAMED: Final = REFERRED | {"ResourceFlavor"}
"""The kinds to which documents refer by name. In a cluster, Kueue itself reports a flavor that does not exist."""


def surroundings(files: Iterable[SourceFile], namespace: str) -> list[Document]:
    """Return the documents in files on which decisions about other documents depend, such as Namespaces.

    For each namespace that a document is in, a Namespace is added, which is marked as assumed. ``namespace`` is the
    namespace of documents that do not name a namespace.
    """
    found: list[Document] = []
    taken = {namespace: None}
    for file in files:
        for source in file.sources:
            taken[source.namespace(namespace)] = None
            if is_beside(source.content):
                found.append(source.content)
            elif (source.kind in _NAMED or _kinds(source.content)) and source.name and _is_sound(source):
                found.append(in_namespace(source.content, namespace))
    return [*found, *(assumed(name) for name in taken if name)]


def assumed(name: str) -> Document:
    """Return a Namespace with the name ``name``, without labels and annotations of a user.

    The result stands for a Namespace that the files do not contain, but that must exist because the files put objects
    into that Namespace.
    """
    return with_name_label({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})


def within(snapshot: Snapshot, documents: Sequence[Document]) -> Snapshot:
    """Return the snapshot with the objects ``documents`` added to the snapshot's facts.

    A document replaces an object of equal kind and name. But a Namespace that is only assumed replaces no object. Each
    Namespace gets the label that the API server writes.
    """
    given = [each for each in documents if _kinds(each)]
    facts = snapshot.facts.fold(*map(_as_served, (each for each in given if not is_assumed(each))))
    assumed_names = {each["metadata"]["name"] for each in given if is_assumed(each)}
    # Files may lack queues of a kind, so only a kind with all its queues in the snapshot is known completely.
    cut = QUEUE_KINDS - snapshot.facts.queues.whole
    return with_assumed(replace(snapshot, facts=replace(facts, cut_queues=cut)), assumed_names)


def with_assumed(snapshot: Snapshot, names: Iterable[str]) -> Snapshot:
    """Return the snapshot with those of the Namespaces ``names`` that it lacks, as assumed ones."""
    facts = snapshot.facts
    lacking = [name for name in dict.fromkeys(names) if name not in facts.namespaces]
    if not lacking:
        return snapshot
    return replace(snapshot, facts=replace(facts.fold(*map(assumed, lacking)), assumed=facts.assumed.union(lacking)))


def _kinds(document: Document) -> list[Kind]:
    return [each for each in kinds_of(document) if each in _COLLECTED]


def is_assumed(document: Document) -> bool:
    """Return whether a document is a Namespace that is assumed because no file has it."""
    return document["kind"] == "Namespace" and document == assumed(document["metadata"]["name"])


def _as_served(document: Document) -> Document:
    return with_name_label(document) if text_at(document, "kind") == "Namespace" else document


def _is_sound(source: Source) -> bool:
    """Return whether all labels and data of an object are strings, as selectors and policies need."""
    metadata = source.content["metadata"]
    data = source.content.get("data")
    return all(
        held is None or (isinstance(held, dict) and all(isinstance(each, str) for each in held.values()))
        for held in (metadata.get("labels"), data)
    )


def referred(documents: Iterable[Document]) -> Iterator[Document]:
    """Yield the documents to which workloads may refer, such as TrainingRuntimes."""
    return (each for each in documents if each["kind"] in _NAMED)
