"""The kinds of objects whose gangs cannot be counted by their pods alone, and what of them is read.

Whoever follows a cluster, or looks owners up, keeps of an object what ``keep`` returns: what ``operators`` counts, what
``stages`` goes by, the keys by which ``systems`` knows who places the group, and whose it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from ..kinds.roles import MOST_PARTS, TEMPLATE_PATCHES, asks_in, asks_of
from ..kube.paths import ELEMENT
from ..kube.unchecked import at, list_at, mapping_at, text_at
from .finished import is_finished
from .systems import OWNER_LABELS

Fields: TypeAlias = "Mapping[str, Fields] | None"
"""Fields to keep, each with those below it, None for all of it; ELEMENT is every element of a list or a map.

Of a pod template, or a PodSpec, what its pods ask of a node is kept (``roles``), in its place.
"""

TEMPLATE: Final[Fields] = {"template": None}
POD_SPEC: Final[Fields] = {"podSpec": None}
"""These two stand for themselves, and no field is kept of them by name."""


# Roles have components, and names of those that they wait for: four times MOST_PARTS are read in 4 ms, at each review.
_MOST_IN_ALL: Final = 4 * MOST_PARTS


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerKind:
    """A kind of owners."""

    source: str
    group: str
    versions: tuple[str, ...]
    """Those in which the fields are where they are read, the one to ask for first."""
    kind: str
    plural: str
    spec: Fields
    """What of its spec is read."""
    followed: bool = True
    """Whether a webhook follows it; else it is looked up alone, for there are many, and its pods say how many they are.
    """
    by_name: bool = False
    """Whether pods name it that it does not own: then it is found by its name, too."""

    @property
    def api_versions(self) -> tuple[str, ...]:
        """Its versions as owner references have them."""
        return tuple(f"{self.group}/{version}" if self.group else version for version in self.versions)


_REPLICAS: Final[Fields] = {"replicas": None, "template": TEMPLATE}


# Patches make leader or workers other than the template: of these only that they are there is kept.
_LEADER_AND_WORKERS: Final[Fields] = {
    "size": None,
    "template": TEMPLATE,
    **{field: {} for field in TEMPLATE_PATCHES},
}


def _kubeflow(kind: str, field: str, *versions: str) -> OwnerKind:
    return OwnerKind(
        source="kubeflow/training-operator pkg/apis/kubeflow.org/v1, kubeflow/mpi-operator pkg/apis/kubeflow/v2beta1",
        group="kubeflow.org",
        versions=versions or ("v1",),
        kind=kind,
        plural=f"{kind.lower()}s",
        # The policy is an MPIJob's; the others have no such field.
        spec={f"{field}ReplicaSpecs": {ELEMENT: _REPLICAS}, "launcherCreationPolicy": None},
    )


def _link(kind: str, group: str, version: str, source: str) -> OwnerKind:
    """Return a kind that only leads from a pod, or from another link, to the object that counts."""
    return OwnerKind(source=source, group=group, versions=(version,), kind=kind, plural=f"{kind.lower()}s", spec={})


OWNER_KINDS: Final[tuple[OwnerKind, ...]] = (
    OwnerKind(
        # Also the way from a pod to what owns its Job: a JobSet, an MPIJob.
        source="kubernetes/api batch/v1/types.go JobSpec",
        group="batch",
        versions=("v1",),
        kind="Job",
        plural="jobs",
        spec={"parallelism": None, "completions": None},
    ),
    OwnerKind(
        source="kubernetes-sigs/jobset api/jobset/v1alpha2/jobset_types.go",
        group="jobset.x-k8s.io",
        versions=("v1alpha2",),
        kind="JobSet",
        plural="jobsets",
        spec={
            "replicatedJobs": {
                ELEMENT: {
                    "name": None,
                    "replicas": None,
                    "template": {"spec": {"parallelism": None, "completions": None, "template": TEMPLATE}},
                    "dependsOn": {ELEMENT: {"status": None}},
                }
            },
            "startupPolicy": {"startupPolicyOrder": None},
        },
    ),
    _kubeflow("PyTorchJob", "pytorch"),
    _kubeflow("TFJob", "tf"),
    _kubeflow("XGBoostJob", "xgb"),
    _kubeflow("PaddleJob", "paddle"),
    _kubeflow("JAXJob", "jax"),
    _kubeflow("MPIJob", "mpi", "v2beta1", "v1"),
    OwnerKind(
        source="volcano-sh/volcano staging/src/volcano.sh/apis/pkg/apis/batch/v1alpha1/job.go",
        group="batch.volcano.sh",
        versions=("v1alpha1",),
        kind="Job",
        plural="jobs",
        spec={"tasks": {ELEMENT: _REPLICAS}},
    ),
    OwnerKind(
        source="ray-project/kuberay ray-operator/apis/ray/v1/raycluster_types.go",
        group="ray.io",
        versions=("v1",),
        kind="RayCluster",
        plural="rayclusters",
        spec={
            "enableInTreeAutoscaling": None,
            "headGroupSpec": {"template": TEMPLATE},
            "workerGroupSpecs": {
                ELEMENT: {
                    "groupName": None,
                    "replicas": None,
                    "minReplicas": None,
                    "maxReplicas": None,
                    "numOfHosts": None,
                    "suspend": None,
                    "template": TEMPLATE,
                }
            },
        },
    ),
    OwnerKind(
        source="ai-dynamo/grove operator/api/core/v1alpha1/podcliqueset.go",
        group="grove.io",
        versions=("v1alpha1",),
        kind="PodCliqueSet",
        plural="podcliquesets",
        spec={
            "template": {
                "cliques": {
                    ELEMENT: {"name": None, "spec": {"replicas": None, "autoScalingConfig": {}, "podSpec": POD_SPEC}}
                },
                "podCliqueScalingGroups": {ELEMENT: {"cliqueNames": {ELEMENT: None}, "minAvailable": None}},
            }
        },
    ),
    _link(
        "PodClique",
        "grove.io",
        "v1alpha1",
        source="ai-dynamo/grove operator/internal/controller/podclique/components/pod/pod.go (SetControllerReference)",
    ),
    _link(
        "PodCliqueScalingGroup",
        "grove.io",
        "v1alpha1",
        source="ai-dynamo/grove operator/internal/controller/podcliquescalinggroup/components/podclique/podclique.go",
    ),
    OwnerKind(
        source="sgl-project/rbg api/workloads/{v1alpha2,v1alpha1}/rolebasedgroup_types.go",
        group="workloads.x-k8s.io",
        versions=("v1alpha2", "v1alpha1"),
        kind="RoleBasedGroup",
        plural="rolebasedgroups",
        spec={
            "roles": {
                ELEMENT: {
                    "name": None,
                    "replicas": None,
                    "dependencies": {ELEMENT: None},
                    "template": TEMPLATE,
                    "standalonePattern": {"template": TEMPLATE},
                    "customComponentsPattern": {
                        "components": {ELEMENT: {"name": None, "size": None, "template": TEMPLATE}}
                    },
                    "leaderWorkerPattern": _LEADER_AND_WORKERS,
                    "leaderWorkerSet": _LEADER_AND_WORKERS,
                }
            }
        },
    ),
    _link(
        "RoleInstance",
        "workloads.x-k8s.io",
        "v1alpha2",
        source="sgl-project/rbg pkg/reconciler/roleinstance/core/instance_core.go (NewUpdatePods)",
    ),
    _link(
        "RoleInstanceSet",
        "workloads.x-k8s.io",
        "v1alpha2",
        source="sgl-project/rbg pkg/reconciler/roleinstanceset_reconciler.go, and roleinstanceset/, for its instances",
    ),
    OwnerKind(
        # Of the driver, whose Pod is an executor's controller. Both carry its name, so that the Pod need not be known.
        source="kubeflow/spark-operator internal/controller/sparkapplication/submission.go (buildDriverPodTemplate, "
        "executorConfOption)",
        group="sparkoperator.k8s.io",
        versions=("v1beta2",),
        kind="SparkApplication",
        plural="sparkapplications",
        spec={"dynamicAllocation": {"enabled": None}, "executor": {"instances": None}},
        by_name=True,
    ),
    OwnerKind(
        source="kubernetes/api apps/v1/types.go StatefulSetSpec",
        group="apps",
        versions=("v1",),
        kind="StatefulSet",
        plural="statefulsets",
        spec={"replicas": None, "podManagementPolicy": None},
        followed=False,
    ),
    OwnerKind(
        source="kubernetes-sigs/lws api/leaderworkerset/v1/leaderworkerset_types.go",
        group="leaderworkerset.x-k8s.io",
        versions=("v1",),
        kind="LeaderWorkerSet",
        plural="leaderworkersets",
        spec={"startupPolicy": None},
        followed=False,
    ),
    OwnerKind(
        # Of the StatefulSet of a LeaderWorkerSet's workers its leader, of Spark's executors the driver.
        source="kubernetes-sigs/lws pkg/controllers/pod_controller.go setControllerReferenceWithStatefulSet",
        group="",
        versions=("v1",),
        kind="Pod",
        plural="pods",
        spec={},
        followed=False,
    ),
)

LOOKED_UP: Final[Mapping[tuple[str, str], OwnerKind]] = {
    (version, each.kind): each for each in OWNER_KINDS for version in each.api_versions
}
"""All of them, by apiVersion and kind as an owner reference has them."""


def keep(kind: OwnerKind, document: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what is read of an owner; None where it makes no more pods, or has no uid to be found by.

    Raises:
        ValueError: it has more parts than any of its kind.
    """
    uid = at(document, "metadata", "uid")
    if not (isinstance(uid, str) and uid) or is_finished(kind.group, kind.kind, document):
        return None
    labels = {key: "" for key in mapping_at(document, "metadata", "labels") if key in OWNER_LABELS}
    owners = list_at(document, "metadata", "ownerReferences")
    # There is one at the most (apimachinery pkg/api/validation ValidateOwnerReferences).
    controllers = [
        {"controller": True, **{key: text_at(each, key) for key in ("apiVersion", "kind", "name", "uid")}}
        for each in owners
        if at(each, "controller") is True
    ]
    metadata: dict[str, Any] = {key: text_at(document, "metadata", key) for key in ("name", "namespace", "uid")}
    if labels:
        metadata["labels"] = labels
    if controllers:
        metadata["ownerReferences"] = controllers[:1]
    spec = _kept(document.get("spec"), kind.spec)
    if (parts := _parts(spec)) > _MOST_IN_ALL:
        raise ValueError(f"got {parts:,} parts of parts, want {_MOST_IN_ALL:,} at most")
    return {"apiVersion": kind.api_versions[0], "kind": kind.kind, "metadata": metadata, "spec": spec}


def _parts(kept: object) -> int:
    """Count the elements of all lists."""
    inside = kept.values() if isinstance(kept, dict) else kept if isinstance(kept, list) else ()
    return (len(kept) if isinstance(kept, list) else 0) + sum(map(_parts, inside))


def _kept(value: object, fields: Fields) -> Any:
    """Copy of a document what stands at the fields; in the place of anything else that is no scalar None."""
    if fields is None:
        return None if isinstance(value, dict | list) else value
    if fields is TEMPLATE or fields is POD_SPEC:
        return asks_of(value) if fields is TEMPLATE else asks_in(value)
    below = fields.get(ELEMENT)
    every = ELEMENT in fields
    if every and isinstance(value, dict | list) and len(value) > MOST_PARTS:
        raise ValueError(f"got {len(value)} parts in one place, want {MOST_PARTS} at most")
    if every and isinstance(value, list):
        return [_kept(each, below) for each in value]
    if not isinstance(value, dict):
        return None
    if every:
        return {key: _kept(each, below) for key, each in value.items()}
    return {key: _kept(value[key], inner) for key, inner in fields.items() if value.get(key) is not None}
