"""A pod of the trace as its user would write it: the same whether podberth is there or not."""

from typing import Any

from podberth.devices import mig
from podberth.wellknown import GANG_LABEL, GANG_SIZE_ANNOTATION

from .arrivals import GANG_PODS
from .overlay import WHOLE, need_mib, right_profile
from .trace import TracePod

JSON = dict[str, Any]


def gang_of(name: str) -> JSON:
    """Return the metadata by which a pod says which gang it belongs to, and of how many pods."""
    return {"labels": {GANG_LABEL: name}, "annotations": {GANG_SIZE_ANNOTATION: str(GANG_PODS)}}


def manifest(pod: TracePod, *, by_hand: bool = False) -> JSON:
    """Write a pod that asks for what the trace says, the taint of GPU machines tolerated.

    The device plugin cannot share a GPU, so a pod that needs a part of one asks for a whole one, and says beside it how
    much memory is enough, in the annotation that podberth reads. With ``by_hand`` its user has looked up the cluster's
    profiles instead and asks for the smallest that is large enough. A pod of a gang says which, and of how many pods.
    """
    amounts = {"cpu": f"{pod.cpu_milli}m", "memory": f"{pod.memory_mib}Mi"}
    metadata = {"name": pod.name, "annotations": {}, **(gang_of(pod.gang) if pod.gang else {})}
    if pod.shares and by_hand:
        amounts[mig.parse(right_profile(pod)).resource] = "1"
    elif pod.gpus:
        amounts[WHOLE] = str(pod.gpus)
        if pod.shares:
            metadata["annotations"]["podberth.io/gpu-memory"] = f"{need_mib(pod)}Mi"
    resources = {"requests": amounts, "limits": amounts}
    container = {"name": "main", "image": "registry.example/openb:1", "resources": resources}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {
            "containers": [container],
            "tolerations": [{"key": WHOLE, "operator": "Exists", "effect": "NoSchedule"}],
            "terminationGracePeriodSeconds": 0,
        },
    }
