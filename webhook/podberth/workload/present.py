"""The Pod that admission will see, foretold from a workload: the template as its controller and the apiserver make it.

Used where the workload itself is judged, before any pod exists. Kinds are rows of ``kinds``; a bare Pod is presented
too, as the apiserver defaults it. What only the cluster knows (names to be generated, hashes, uids) is a placeholder.
"""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

from ..kube.shape import template_problems
from .defaults import apply_defaults
from .kinds import PLACEHOLDER_UID, Owner, row_for
from .subject import at

# What a controller takes over of a template's metadata (GetPodFromTemplate, kubernetes
# pkg/controller/controller_utils.go).
_KEPT: Final = ("labels", "annotations", "finalizers")


@dataclass(frozen=True, slots=True)
class Presented:
    """A foretold Pod.

    ``path`` leads from the workload to its template, so that a finding at the Pod's ``spec.x`` stands at ``path`` +
    that. ``owner_uid`` is the uid in its owner reference, empty for a bare Pod. A template of a wrong shape comes back
    as it is: ``template_problems`` says what is wrong with it.
    """

    pod: dict[str, Any]
    path: tuple[str, ...]
    owner_uid: str


def present(workload: Mapping[str, Any], *, namespace: str) -> Presented:
    """Return the Pod that admission would see of a workload; the workload is left as it is.

    ``namespace`` is used where the workload names none.

    Raises:
        ValueError: the object is of no kind that can be presented (``kinds.row_for`` says so beforehand).
    """
    where = _text(workload, "namespace") or namespace
    if workload.get("apiVersion") == "v1" and workload.get("kind") == "Pod":
        return Presented(_bare(workload, where), (), "")
    row = row_for(workload)
    if row is None:
        raise ValueError(
            f"got {workload.get('apiVersion')} {workload.get('kind')}, want a Pod or a workload that makes Pods"
        )
    template = at(workload, *row.template_path)
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": at(template, "metadata"), "spec": at(template, "spec")}
    if template_problems(pod) or not pod["spec"]:
        return Presented(pod, row.template_path, PLACEHOLDER_UID)
    pod = deepcopy(pod)
    metadata = pod["metadata"] or {}
    pod["metadata"] = {"namespace": where, **{key: metadata[key] for key in _KEPT if metadata.get(key) is not None}}
    name, uid = row.owner(_text(workload, "name"), _text(workload, "uid"))
    spec = at(workload, *row.spec_path)
    row.stamp(pod, Owner(name, uid, spec if isinstance(spec, Mapping) else {}))
    apply_defaults(pod)
    pod["status"] = {}
    return Presented(pod, row.template_path, uid)


def _text(workload: Mapping[str, Any], key: str) -> str:
    value = at(workload, "metadata", key)
    return value if isinstance(value, str) else ""


def _bare(workload: Mapping[str, Any], namespace: str) -> dict[str, Any]:
    pod = dict(workload)
    if template_problems(pod) or not pod.get("spec"):
        return pod
    pod = deepcopy(pod)
    pod["metadata"] = {**(pod.get("metadata") or {}), "namespace": namespace}
    apply_defaults(pod)
    return pod
