"""LeaderWorkerSets (kubernetes-sigs/lws): the paths of their templates, and the labels that LWS writes on pods.

Other operators make LeaderWorkerSets, too; llmaz has equal templates in its own objects.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

from ..kube.unchecked import at, count
from .places import (
    PLACEHOLDER_DIGEST,
    PLACEHOLDER_HASH,
    PLACEHOLDER_UID,
    Found,
    Scene,
    Stamp,
    TemplatePlace,
    spec_replicas,
    workload,
)
from .roles import Predicted, predicted
from .stamping import add_annotations, add_labels, own

_LWS: Final = "leaderworkerset.sigs.k8s.io"


def stamp_group(pod: dict[str, Any], name: str, size: int, *, leader: bool) -> None:
    """Add to a pod the fields that LWS writes on the leader, or on a worker, of the first group of a LeaderWorkerSet.

    ``name`` is the name of the LeaderWorkerSet, and ``size`` the number of pods in a group. Source:
    pkg/controllers/{leaderworkerset_controller,pod_controller}.go.
    """
    add_labels(
        pod,
        {
            f"{_LWS}/name": name,
            f"{_LWS}/group-index": "0",
            f"{_LWS}/group-key": PLACEHOLDER_DIGEST,
            f"{_LWS}/worker-index": "0" if leader else "1",
            f"{_LWS}/template-revision-hash": PLACEHOLDER_HASH,
        },
    )
    add_annotations(pod, {f"{_LWS}/size": str(size)})
    stateful_set = name if leader else f"{name}-0"
    if not leader:
        add_annotations(pod, {f"{_LWS}/leader-name": stateful_set})
    own(pod, "apps/v1", "StatefulSet", stateful_set, PLACEHOLDER_UID)
    pod["metadata"]["name"] = f"{stateful_set}-{0 if leader else 1}"


def group_size(scene: Scene) -> int:
    """Return the number of pods in one group of a LeaderWorkerSet: the field ``size``, 1 if absent."""
    return count(at(scene.document, *map(str, scene.path[:-1]), "size"), 1)


def _worker_pods(scene: Scene) -> int:
    """Return the number of pods that are made from the worker template, in all groups.

    If leaders have no template of their own, the leaders count, too.
    """
    leaders = at(scene.document, *map(str, scene.path[:-1]), "leaderTemplate") is not None
    return spec_replicas(scene) * max(group_size(scene) - leaders, 0)


def group_places(*base: str, stamp: Stamp, owner: Callable[[Scene], Found] = workload) -> Iterator[TemplatePlace]:
    """Yield the leader's and the worker's ``TemplatePlace``, for an object at the path ``base``.

    A TemplatePlace has the path of a pod template, and functions that describe the template's pods. ``stamp`` writes
    the operator's fields on a pod, and ``owner`` returns the object from which gangs are read.
    """
    for role, replicas in (("leader", spec_replicas), ("worker", _worker_pods)):
        yield TemplatePlace(
            path=(*base, f"{role}Template"),
            stamp=stamp,
            optional=role == "leader",
            role=role,
            replicas=replicas,
            owner=owner,
        )


def predicted_group(document: Found, template: Found, **more: str) -> Predicted:
    """Return the LeaderWorkerSet that an operator makes from a document.

    ``template`` is the LeaderWorkerSet's leaderWorkerTemplate, and ``more`` are further fields of the LeaderWorkerSet's
    spec.
    """
    spec = {"leaderWorkerTemplate": template, **more}
    return predicted("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", document.get("metadata"), spec)
