"""Finds the pods that were created while podberth did not answer: pods that request accelerators and have no record.

A pod that podberth wrote on has a record. For each pod without a record this module decides as if the pod were created
now, with the policies in force and the known nodes. A pod that would be changed or denied was created without podberth,
or before the policy. This module reads policies from files; the caller has read the objects of the cluster
(``cluster.installation``).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

from ..admission.snapshot import Snapshot, reads_namespace_params
from ..check.owners import as_created
from ..check.result import Result
from ..check.run import CheckSettings, check_object
from ..check.sources import without_place
from ..cluster.layered_policies import OF_EXCEPTIONS, OF_POLICIES, texts_of
from ..errors import UsageError
from ..facts.cluster import ClusterFacts, collect
from ..files.bundle import NAME
from ..files.cluster_files import ClusterFiles
from ..installation.nodes import listed
from ..installation.observation import Document, InstallationState, LetThrough, Read, Unread, as_list, option
from ..kube.unchecked import text_at
from ..policy.every_pod import MUTATING, sends_namespace
from .run import Policies, policies_in

_SHIPPED: Final = "/etc/podberth/policies"
"""The directory of the shipped policies in podberth's image; the policies of the ConfigMap are mounted below this
directory.
"""
_OWN: Final = f"{_SHIPPED}/own"
"""The directory in podberth's image with the policies of the ConfigMap alone (manifests/components/own-policies)."""
_CONVENTIONS: Final = "conventions"
"""The volume of podberth's Deployment with the file of conventions (manifests/components/conventions)."""
_MOST_JUDGED: Final = 2000
"""The maximum number of pods to decide on; a decision takes some milliseconds."""
_Texts: TypeAlias = Sequence[tuple[str, str]]
"""The type of policies as texts: pairs (name of the file or object, text)."""


def let_through(observed: InstallationState) -> Read[LetThrough] | None:
    """Return the pods without a record that the policies would change or deny if the pods were created now.

    None if podberth's webhook is not registered. If a needed object could not be read, the result says which object,
    and why. Pods from before the webhook's registration are left out.
    """
    configuration, pods, namespaces = observed.configurations.get(MUTATING), observed.unrecorded, observed.namespaces
    if configuration is None or isinstance(configuration, Unread):
        return configuration
    if isinstance(pods, Unread):
        return pods
    if isinstance(namespaces, Unread):
        return namespaces
    since = _created(configuration)
    sent = [each for each in _sent(pods.documents, configuration, namespaces) if _created(each) >= since]
    truncated = pods.truncated or len(sent) > _MOST_JUDGED
    if not sent:
        return LetThrough(since=since, truncated=truncated)
    snapshot = _snapshot(observed)
    if isinstance(snapshot, Unread):
        return snapshot
    found = {_name(each): _judged(each, snapshot) for each in sent[:_MOST_JUDGED]}
    results = [each for of_one in found.values() for each in of_one]
    acted = {one.policy for each in results for one in each.wrote} | {
        one.policy for each in results for one in each.denials
    }
    return LetThrough(
        since=since,
        changed=tuple(sorted(name for name, each in found.items() if _is(each, "mutated"))),
        denied=tuple(sorted(name for name, each in found.items() if _is(each, "denied"))),
        policies=tuple(sorted(acted)),
        truncated=truncated,
    )


def _sent(pods: Iterable[Document], configuration: Document, namespaces: Iterable[Document]) -> Iterator[Document]:
    """Yield the pods for which the API server calls podberth, by the webhook configuration's namespaceSelector.

    All webhooks of the configuration have equal selectors.
    """
    labels = {str(each["metadata"]["name"]): each["metadata"].get("labels") or {} for each in namespaces}
    for each in pods:
        namespace = str(each["metadata"].get("namespace", ""))
        if sends_namespace(configuration, namespace, labels.get(namespace, {})):
            yield each


def _snapshot(observed: InstallationState) -> Read[Snapshot]:
    """Return the snapshot of the served policies and the known nodes, with the conventions of the replicas."""
    policies, files = _policies(observed), _conventions(observed)
    if isinstance(policies, Unread):
        return policies
    if isinstance(files, Unread):
        return files
    try:
        snapshot, _, _ = policies.load(_facts(observed), (), files, observed.now)
    except UsageError as error:
        return Unread(str(error), "the conventions of the replicas", refused=False)
    # The ConfigMaps of tenants are not read here, so nothing is said about policies that look for them.
    return replace(snapshot, policies=tuple(each for each in snapshot.policies if not reads_namespace_params(each)))


def _policies(observed: InstallationState) -> Read[Policies]:
    """Return the policies that podberth's webhook serves: the policies of files, and the GPUPolicies.

    A GPUPolicy replaces a file's policy with an equal name.
    """
    deployment, params, objects = observed.deployment, observed.params, observed.policies
    if isinstance(deployment, Unread) or deployment is None:
        missing = "there is no Deployment podberth, so its policies are not known"
        return deployment or Unread(missing, "the Deployment", refused=False)
    if isinstance(params, Unread):
        return params
    if isinstance(objects, Unread):
        return objects
    if isinstance(observed.exceptions, Unread):
        return observed.exceptions
    own = [each.get("data") or {} for each in params if each["metadata"]["name"] == NAME]
    texts = [(name, content) for data in own for name, content in sorted(data.items())]
    follows = option(deployment, "topology") == "cluster"
    served = texts_of(objects, OF_POLICIES) if follows else ()
    excepting = texts_of(observed.exceptions, OF_EXCEPTIONS) if follows else ()
    return _layered(option(deployment, "policies").rstrip("/"), texts, (*served, *excepting))


def _conventions(observed: InstallationState) -> Read[ClusterFiles]:
    """Return the conventions of the replicas, which they read from a ConfigMap; the presets if they have no file."""
    file = option(observed.deployment, "conventions")
    if not file or isinstance(observed.deployment, Unread) or observed.deployment is None:
        return ClusterFiles()
    volumes = observed.deployment["spec"]["template"]["spec"].get("volumes") or ()
    name = next((text_at(each, "configMap", "name") for each in volumes if each["name"] == _CONVENTIONS), "")
    if isinstance(observed.params, Unread):
        return observed.params
    for each in observed.params:
        key = file.rpartition("/")[2]
        if each["metadata"]["name"] == name and key in (each.get("data") or {}):
            return ClusterFiles(conventions_text=(each["data"][key], f"configmap/{name}"))
    return Unread(
        f"the conventions are in {file} of the replicas", f"the ConfigMap {name or _CONVENTIONS}", refused=False
    )


def _layered(directory: str, texts: _Texts, objects: _Texts) -> Read[Policies]:
    """Return the policies of one replica of the webhook: those of files, and the GPUPolicies ``objects``.

    ``directory`` is the value of the replicas' flag --policies, and ``texts`` are the policy files of a ConfigMap. If
    the directory is ``_OWN``, the files are ``texts``. If it is ``_SHIPPED``, the files are podberth's own policies and
    ``texts``. If the flag is empty, there are no files. Any other directory can only be read in the replicas: then the
    result is ``Unread``. A GPUPolicy replaces a file's policy with an equal name.
    """
    if directory in {"", _OWN}:  # without a directory there are only GPUPolicies
        return Policies(texts=texts if directory else (), problems=(), where=f" of {NAME}", objects=objects)
    if directory != _SHIPPED:
        return Unread(f"the policies are in {directory} of the replicas", f"{_SHIPPED} or {_OWN}", refused=False)
    try:
        shipped = policies_in(None)
    except UsageError as error:
        return Unread(str(error), "podberth's policies on this machine", refused=False)
    return replace(shipped, texts=[*shipped.texts, *texts], objects=objects, tested=not texts and not objects)


def _facts(observed: InstallationState) -> ClusterFacts:
    others = (*as_list(observed.params, "v1", "ConfigMap"), *as_list(observed.namespaces, "v1", "Namespace"))
    return replace(collect([*listed(observed), *others], now=observed.now), listed=True)


def _judged(pod: Document, snapshot: Snapshot) -> list[Result]:
    source = as_created(without_place("cluster", {"apiVersion": "v1", "kind": "Pod", **pod}))
    return check_object(source, snapshot, CheckSettings(), ())


def _is(results: list[Result], verdict: str) -> bool:
    return any(each.verdict == verdict for each in results)


def _name(pod: Document) -> str:
    return f"{pod['metadata'].get('namespace', '')}/{pod['metadata']['name']}"


def _created(document: Mapping[str, Any]) -> datetime:
    """Return the creation time of an object, which the API server sets on every object."""
    return datetime.fromisoformat(str(document["metadata"]["creationTimestamp"])).astimezone(UTC)
