"""Kubeflow's jobs with replica specs: the Training Operator's, and mpi-operator's, whose pods have the same labels."""

from collections.abc import Collection, Mapping
from typing import Any, Final

from ..kube.paths import ELEMENT
from ..kube.unchecked import at, text
from .dossier import TEMPLATE_ASKS, OwnerKind
from .group_rules import RUN_POLICY_MINIMUM, GroupRules, replica_minimums
from .places import Found, Scene
from .starts import replica_specs

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
    """Write the restart policy of a role; for ExitCode it is Never, because the operator itself restarts pods."""
    policy = text(scene.item.get("restartPolicy"))
    if policy:
        pod["spec"]["restartPolicy"] = "Never" if policy == "ExitCode" else policy


def replica_owner(kind: str, *versions: str) -> OwnerKind:
    """Return the fields that are read from a Kubeflow job that owns pods."""
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


def _launcher_waits(document: Found, _role: object) -> str:
    return "launcherCreationPolicy" if at(document, "spec", "launcherCreationPolicy") == LAUNCHER_LAST else ""


def replica_rules(kind: str, fronts: Collection[str]) -> GroupRules:
    """Return the rules for the groups of a Kubeflow job."""
    return GroupRules(
        kind=("kubeflow.org", kind),
        minimums=replica_minimums,
        starts=replica_specs,
        fronts=frozenset(fronts),
        queue=("spec", "runPolicy", "schedulingPolicy", "queue"),
        queue_scheduler="volcano",
        minimum=RUN_POLICY_MINIMUM,
        # An elastic job may start with fewer pods, so a minimum without the fronts is valid.
        workers_alone=lambda document: at(document, "spec", "elasticPolicy") is not None,
        front_waits=_launcher_waits,
    )
