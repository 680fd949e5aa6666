"""Gangs of operators that do not run here: their objects, and the pods that their sources say they make of them.

No module of theirs is published where Go modules are. An owner is made where its CRD is in ../shared/crds; labels,
annotations and variables are those of tests/operator_pods, whose sources stand there.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .gangs import MEMBERS, Document, Gang, named, pod_spec, size_said, template


@dataclass(frozen=True, slots=True)
class Made:
    """One kind of workload, its pods made by the tests."""

    title: str
    pods: Callable[[Gang], list[Document]]
    size: int = MEMBERS
    owners: Callable[[Gang], Sequence[Document]] = field(default=lambda _: ())
    """What owns the pods, the one on top first: each is owned by the one before, the pods by the last."""
    of: str = ""
    """Its name in the operators' rows (`podberth.workload`), where the title is another."""

    @property
    def row(self) -> str:
        """Its name in the operators' rows, by which docs/systems.md says that it is proved here."""
        return self.of or self.title


def _pod(name: str, labels: dict[str, str], spec: Document, annotations: dict[str, str] | None = None) -> Document:
    metadata = {"name": name, "labels": labels, "annotations": annotations or {}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _ray_pods(gang: Gang) -> list[Document]:
    """As labelPod (ray-project/kuberay ray-operator/controllers/ray/common/pod.go)."""

    def made(suffix: str, group: str, kind: str, *, gpus: bool) -> Document:
        labels = {"ray.io/cluster": gang.name, "ray.io/group": group, "ray.io/node-type": kind}
        return _pod(f"{gang.name}-{suffix}", labels, pod_spec(gang, gpus=gpus))

    workers = [made(f"gpus-worker-{rank}", "gpus", "worker", gpus=True) for rank in range(MEMBERS)]
    return [made("head", "headgroup", "head", gpus=False), *workers]


def _ray_cluster(gang: Gang) -> list[Document]:
    spec: dict[str, Any] = {
        "headGroupSpec": {"rayStartParams": {}, "template": template(gang, gpus=False)},
        "workerGroupSpecs": [
            {
                "groupName": "gpus",
                **dict.fromkeys(("replicas", "minReplicas", "maxReplicas"), MEMBERS),
                "rayStartParams": {},
                "template": template(gang),
            }
        ],
    }
    return [named("ray.io/v1", "RayCluster", gang.name, spec)]


def _lws_pods(gang: Gang) -> list[Document]:
    """As the pod webhook (kubernetes-sigs/lws pkg/webhooks/pod_webhook.go); the first is the leader."""
    found = []
    for index in range(MEMBERS):
        said = {"name": gang.name, "group-index": "0", "group-key": f"key-{gang.name}", "worker-index": str(index)}
        labels = {f"leaderworkerset.sigs.k8s.io/{key}": value for key, value in said.items()}
        labels["apps.kubernetes.io/pod-index"] = str(index)
        size = {"leaderworkerset.sigs.k8s.io/size": str(MEMBERS)}
        found.append(_pod(f"{gang.name}-0-{index}", labels, pod_spec(gang), size))
    return found


def _grove_pods(gang: Gang) -> list[Document]:
    """As buildResource (ai-dynamo/grove operator/internal/controller/podclique/components/pod/pod.go)."""
    found = []
    for index in range(MEMBERS):
        said = {"podclique": f"{gang.name}-0-w", "podgang": f"{gang.name}-0", "podclique-pod-index": str(index)}
        labels = {f"grove.io/{key}": value for key, value in said.items()}
        labels["app.kubernetes.io/part-of"] = gang.name
        found.append(_pod(f"{gang.name}-0-w-{index}", labels, pod_spec(gang)))
    return found


def _grove_owners(gang: Gang) -> list[Document]:
    clique = {"roleName": "w", "replicas": MEMBERS, "podSpec": pod_spec(gang)}
    spec = {"replicas": 1, "template": {"cliques": [{"name": "w", "spec": clique}]}}
    return [
        named("grove.io/v1alpha1", "PodCliqueSet", gang.name, spec),
        named("grove.io/v1alpha1", "PodClique", f"{gang.name}-0-w", clique),
    ]


def _rbg_pods(gang: Gang) -> list[Document]:
    """As GetCommonLabelsFromRole (sgl-project/rbg api/workloads/v1alpha2/helper.go)."""

    def made(role: str, index: int, *, gpus: bool) -> Document:
        labels = {
            f"rbg.workloads.x-k8s.io/{key}": value for key, value in (("group-name", gang.name), ("role-name", role))
        }
        return _pod(f"{gang.name}-{role}-{index}", labels, pod_spec(gang, gpus=gpus), size_said(MEMBERS + 1))

    return [made("router", 0, gpus=False), *(made("decode", index, gpus=True) for index in range(MEMBERS))]


def _kserve_pods(gang: Gang) -> list[Document]:
    """As multiNodeProcess and createRawWorkerDeployment (kserve/kserve pkg/controller/v1beta1/inferenceservice)."""
    found = []
    for index in range(MEMBERS):
        name = "worker-container" if index else "kserve-container"
        labels = {"isvc.generation": "1", "serving.kserve.io/inferenceservice": gang.name, "component": "predictor"}
        spec = pod_spec(gang, container=name)
        spec["containers"][0]["env"] = [{"name": "RAY_NODE_COUNT", "value": str(MEMBERS)}]
        found.append(_pod(f"{gang.name}-predictor-{index}", labels, spec))
    return found


def _spark_pods(gang: Gang) -> list[Document]:
    """As BasicDriverFeatureStep and BasicExecutorFeatureStep (apache/spark resource-managers/kubernetes/core)."""

    def made(suffix: str, container: str, role: dict[str, str], *, gpus: bool) -> Document:
        labels = {"spark-app-selector": f"spark-{gang.name}", **role}
        return _pod(
            f"{gang.name}-{suffix}", labels, pod_spec(gang, gpus=gpus, container=container), size_said(MEMBERS + 1)
        )

    driver = made("driver", "spark-kubernetes-driver", {"spark-role": "driver"}, gpus=False)
    return [
        driver,
        *(
            made(
                f"exec-{number}",
                "spark-kubernetes-executor",
                {"spark-role": "executor", "spark-exec-id": str(number)},
                gpus=True,
            )
            for number in range(1, MEMBERS + 1)
        ),
    ]


AS_MADE = (
    Made("RayCluster (KubeRay)", _ray_pods, MEMBERS + 1, _ray_cluster, "RayCluster"),
    Made("LeaderWorkerSet", _lws_pods),
    Made("PodCliqueSet (Grove)", _grove_pods, owners=_grove_owners),
    Made("RoleBasedGroup", _rbg_pods, MEMBERS + 1, of="RoleBasedGroup (v1alpha2)"),
    Made("InferenceService over several nodes (KServe)", _kserve_pods),
    Made("Spark application", _spark_pods, MEMBERS + 1, of="spark-submit"),
)
