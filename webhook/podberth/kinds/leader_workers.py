"""LeaderWorkerSets (kubernetes-sigs/lws): the labels that LWS writes on pods; KServe makes LeaderWorkerSets, too."""

from typing import Any, Final

from .places import PLACEHOLDER_DIGEST, PLACEHOLDER_HASH, PLACEHOLDER_UID
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
