"""LeaderWorkerSets (kubernetes-sigs/lws): their templates, and the labels that LWS writes on pods.

Other operators make LeaderWorkerSets, too; llmaz has the same templates in an object of its own.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

from ..kube.unchecked import at, count
from .places import (
    PLACEHOLDER_DIGEST,
    PLACEHOLDER_HASH,
    PLACEHOLDER_UID,
    Found,
    Place,
    Scene,
    Stamp,
    spec_replicas,
    workload,
)
from .roles import Predicted
from .stamping import add_annotations, add_labels, own

_LWS: Final = "leaderworkerset.sigs.k8s.io"


def stamp_group(pod: dict[str, Any], name: str, size: int, *, leader: bool) -> None:
    """Write the stamp of pods of the first group (pkg/controllers/{leaderworkerset_controller,pod_controller}.go)."""
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
    """Return the number of pods of a group, where the scene's path is that of one of its templates."""
    return count(at(scene.document, *map(str, scene.path[:-1]), "size"), 1)


def _worker_pods(scene: Scene) -> int:
    """Return the number of pods from the worker template in all groups, with the leaders if they use that template."""
    leaders = at(scene.document, *map(str, scene.path[:-1]), "leaderTemplate") is not None
    return spec_replicas(scene) * max(group_size(scene) - leaders, 0)


def group_places(*base: str, stamp: Stamp, owner: Callable[[Scene], Found] = workload) -> Iterator[Place]:
    """Yield the places of the templates of a group below a path."""
    for role, replicas in (("leader", spec_replicas), ("worker", _worker_pods)):
        yield Place(
            path=(*base, f"{role}Template"),
            stamp=stamp,
            optional=role == "leader",
            role=role,
            replicas=replicas,
            owner=owner,
        )


def predicted_group(document: Found, template: Found, **more: str) -> Predicted:
    """Predict the LeaderWorkerSet that another operator makes of an object, with its ``leaderWorkerTemplate``."""
    return Predicted(
        {
            "apiVersion": "leaderworkerset.x-k8s.io/v1",
            "kind": "LeaderWorkerSet",
            "metadata": document.get("metadata"),
            "spec": {"leaderWorkerTemplate": template, **more},
        }
    )
