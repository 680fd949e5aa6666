"""Jobs of Kubeflow's with replica specs: the Training Operator's, and mpi-operator's, whose pods have its labels."""

from collections.abc import Collection, Mapping
from typing import Any, Final

from ..kube.paths import ELEMENT
from ..kube.unchecked import text
from .dossier import TEMPLATE_ASKS, OwnerKind
from .group_rules import GroupRules, replica_minimums
from .places import Scene

REPLICA_SPECS: Final[Mapping[str, str]] = {
    "PyTorchJob": "pytorchReplicaSpecs",
    "TFJob": "tfReplicaSpecs",
    "XGBoostJob": "xgbReplicaSpecs",
    "PaddleJob": "paddleReplicaSpecs",
    "JAXJob": "jaxReplicaSpecs",
    "MPIJob": "mpiReplicaSpecs",
}
"""The field of the spec with the roles, by kind. All have a ``runPolicy``, too."""
TRAINING: Final = "training.kubeflow.org"
JOB_NAME: Final = f"{TRAINING}/job-name"
LAUNCHER_LAST: Final = "WaitForWorkersReady"
"""kubeflow/mpi-operator pkg/apis/kubeflow/v2beta1/types.go LauncherCreationPolicyWaitForWorkersReady."""
LEFT_ALONE: Final = "`schedulerName` and group, where the operator runs with a gang scheduler"
LEFT_ALONE_SOURCE: Final = "kubeflow/training-operator pkg/controller.v1/control/podgroup_control.go"


def set_restart_policy(pod: dict[str, Any], scene: Scene) -> None:
    """Write the restart policy of a role; with ExitCode the operator itself starts a pod again."""
    policy = text(scene.item.get("restartPolicy"))
    if policy:
        pod["spec"]["restartPolicy"] = "Never" if policy == "ExitCode" else policy


def replica_owner(kind: str, *versions: str) -> OwnerKind:
    """Return what is read of such a job as an owner."""
    return OwnerKind(
        source="kubeflow/training-operator pkg/apis/kubeflow.org/v1, kubeflow/mpi-operator pkg/apis/kubeflow/v2beta1",
        group="kubeflow.org",
        versions=versions,
        kind=kind,
        spec={
            REPLICA_SPECS[kind]: {ELEMENT: {"replicas": None, "template": TEMPLATE_ASKS}},
            "launcherCreationPolicy": None,
        },
    )


def replica_rules(kind: str, fronts: Collection[str]) -> GroupRules:
    """Return the rules of the groups of such a job."""
    return GroupRules(
        kind=("kubeflow.org", kind),
        minimums=replica_minimums,
        fronts=frozenset(fronts),
        queue=("spec", "runPolicy", "schedulingPolicy", "queue"),
    )
