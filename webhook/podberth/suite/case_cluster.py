"""Builds the cluster of a test case: the objects that podberth would read, and the params in the policies' folder."""

from collections.abc import Iterable, Iterator

from ..facts.object_kinds import in_namespace, kinds_of
from ..kube.paths import Path
from ..kube.unchecked import at
from ..policy.parse import ParsedPolicies
from ..topology.shapes import simulate
from ..wellknown import NAMESPACE, PARAMS_LABEL
from .case_file import Case, Document, Nodes, Suite


class UnusableError(Exception):
    """A test case cannot be run. The attribute ``path`` leads to the reason in the suite's document."""

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(message)
        self.path = path


def documents(suite: Suite, case: Case, namespace: str) -> list[Document]:
    """Return the objects of a case's cluster, including the Namespace ``namespace`` of the pod.

    An object that names no namespace is in the pod's.

    Raises:
        UnusableError: the case's namespace is defined twice.
    """
    cluster = suite.cluster
    groups = case.topology if case.topology is not None else cluster.topology or ()
    nodes = [node for group in groups for node in _nodes(group)]
    objects = case.objects if case.objects is not None else cluster.objects or ()
    others = [in_namespace(each, namespace) if kinds_of(each) else each for each in objects]
    return [*_namespace(suite, case, namespace, [*nodes, *others]), *nodes, *others]


def with_values(suite: Suite, case: Case, policies: ParsedPolicies, namespace: str) -> dict[tuple[str, str], Document]:
    """Return the ConfigMaps of the policies' files, with the values of the field ``params`` of the case or the suite.

    A ConfigMap that does not exist is added. It is added in the pod's namespace ``namespace`` if a policy's paramRef
    leads there, else in podberth's own namespace. The keys of the result are (namespace, name).
    """
    references = (each.policy.spec.param_ref for each in policies.policies)
    of_namespace = {each.name for each in references if each is not None and each.namespace is None}
    values = case.params if case.params is not None else suite.cluster.params or {}
    changed = dict(policies.params)
    for name, data in values.items():
        keys = [key for key in changed if key[1] == name]
        for key in keys or [(namespace if name in of_namespace else NAMESPACE, name)]:
            metadata = {"name": name, "namespace": key[0], "labels": {PARAMS_LABEL: "true"}}
            old = changed.get(key, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
            changed[key] = {**old, "data": {**(old.get("data") or {}), **data}}
    return changed


def _nodes(group: Nodes) -> Iterator[Document]:
    """Yield the Nodes and topology ConfigMaps for an item of the field ``topology``."""
    if group.shape is None:
        yield from group.documents or ()
        return
    added = {key: value for key, value in group.labels.items() if value is not None}
    for number in range(group.count):
        name = f"{group.name or group.shape}-{number}"
        node, topology = simulate(group.shape, name, placement=added, provider=group.provider)
        labels = node["metadata"]["labels"]
        node["metadata"]["labels"] = {key: labels[key] for key in labels if group.labels.get(key, "") is not None}
        if group.taints is not None:
            node["spec"]["taints"] = list(group.taints)
        yield from (node, topology)


def _namespace(suite: Suite, case: Case, name: str, given: Iterable[Document]) -> Iterator[Document]:
    """Yield the Namespace object of the pod, unless ``given`` already includes that object."""
    known = any(item.get("kind") == "Namespace" and at(item, "metadata", "name") == name for item in given)
    own = {}
    if case.namespace is not None and case.namespace.name == name:
        own = case.namespace.model_dump(include={"labels", "annotations"}, exclude_unset=True)
    if known and any(own.values()):
        path = ("cases", suite.cases.index(case), "namespace")
        raise UnusableError(path, f"namespace {name!r} is among the objects, too; leave one out")
    if name and not known:
        labels = {"kubernetes.io/metadata.name": name, **own.pop("labels", {})}
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels, **own}}
