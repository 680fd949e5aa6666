"""Facts about mpi-operator: MPIJobs.

A Job makes the launcher's pod; all pods of an MPIJob have the labels of the Training Operator.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from ...kube.paths import ELEMENT
from ...kube.unchecked import text_at
from ..dossier import Dossier, KindNote
from ..jobs import stamp_job
from ..places import PLACEHOLDER_UID, Scene, TemplatePlace, WorkloadKind
from ..replica_specs import (
    JOB_NAME,
    LAUNCHER_LAST,
    LEFT_ALONE,
    LEFT_ALONE_SOURCE,
    REPLICA_SPECS,
    TRAINING,
    replica_finished,
    replica_owner,
    replica_rules,
    replicas_of,
    set_restart_policy,
)
from ..stamping import add_labels, owned_by_workload, set_name


def _stamp(pod: dict[str, Any], scene: Scene) -> None:
    """Add to a pod the fields that mpi-operator writes on a worker (newWorker) or on a launcher (newLauncherJob).

    Source: kubeflow/mpi-operator pkg/controller/mpi_job_controller.go.
    """
    role = scene.key.lower()
    name = f"{scene.name}-{role}"
    add_labels(
        pod,
        {f"{TRAINING}/operator-name": "mpi-operator", f"{TRAINING}/job-name": scene.name, f"{TRAINING}/job-role": role},
    )
    set_restart_policy(pod, scene)
    pod["spec"]["subdomain"] = scene.name
    if role == "launcher":
        pod["spec"]["hostname"] = name
        stamp_job(pod, name, PLACEHOLDER_UID, {})
        return
    add_labels(pod, {f"{TRAINING}/replica-index": "0"})
    owned_by_workload(pod, scene)
    set_name(pod, f"{name}-0")
    pod["spec"]["hostname"] = f"{name}-0"


def _stages(owner: Mapping[str, Any]) -> str:
    waits = text_at(owner, "spec", "launcherCreationPolicy") == LAUNCHER_LAST
    return f"spec.launcherCreationPolicy {LAUNCHER_LAST}" if waits else ""


DOSSIER: Final = Dossier(
    name="mpi-operator",
    versions={"kubeflow/mpi-operator": "caa3c47f, after v0.8.0", "kubeflow/training-operator": "v1.9.4"},
    kinds=(
        WorkloadKind(
            api_versions=frozenset(f"kubeflow.org/{version}" for version in ("v2beta1", "v2", "v1alpha2")),
            kind="MPIJob",
            source="kubeflow/mpi-operator pkg/apis/kubeflow/v2beta1/types.go",
            places=(
                TemplatePlace(
                    path=("spec", REPLICA_SPECS["MPIJob"], ELEMENT, "template"),
                    stamp=_stamp,
                    replicas=replicas_of,
                    lacks=frozenset({"schedulingGroup"}),
                ),
            ),
        ),
    ),
    notes=(
        KindNote(
            key=JOB_NAME,
            kind="kubeflow.org/MPIJob",
            keeps=f"the spec of launchers without GPUs, with mpi-operator their Job; {LEFT_ALONE}",
            source=f"kubeflow/mpi-operator pkg/controller/mpi_job_controller.go newLauncherJob; {LEFT_ALONE_SOURCE}",
        ),
    ),
    owners=(replace(replica_owner("MPIJob", "v2beta1", "v1"), stages=_stages, stages_of_roles=True),),
    finished=(replica_finished("MPIJob"),),
    group_rules=(replace(replica_rules("MPIJob", {"launcher"}), front_works=("spec", "runLauncherAsWorker")),),
)
