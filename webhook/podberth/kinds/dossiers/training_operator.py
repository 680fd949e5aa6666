"""Facts about the Training Operator v1: jobs of several frameworks, each with roles that have replicas."""

from collections.abc import Mapping
from itertools import product
from typing import Any, Final

from ...kube.paths import ELEMENT
from ...kube.unchecked import at
from ..dossier import Dossier, KindNote
from ..members import Member, Membership, Subject, index_of, named
from ..places import TemplatePlace, WorkloadKind
from ..replica_specs import (
    JOB_NAME,
    LEFT_ALONE,
    LEFT_ALONE_SOURCE,
    REPLICA_GROUPS,
    REPLICA_SPECS,
    TRAINING,
    default_replicas,
    is_elastic,
    replica_finished,
    replica_owner,
    replica_rules,
    replicas_of,
    specs_of,
    stamp_replica,
)
from ..roles import Role, counted, read_once, role_of


def _kind(kind: str, *versions: str) -> WorkloadKind:
    fields = (REPLICA_SPECS[kind], "replicaSpecs") if "v1alpha1" in versions else (REPLICA_SPECS[kind],)
    return WorkloadKind(
        api_versions=frozenset(f"kubeflow.org/{version}" for version in versions),
        kind=kind,
        source="kubeflow/training-operator pkg/apis/kubeflow.org/v1",
        places=tuple(
            TemplatePlace(path=("spec", field, ELEMENT, "template"), stamp=stamp_replica, replicas=replicas_of)
            for field in fields
        ),
    )


def _kubeflow(pod: Subject) -> Member:
    """Return a pod's membership in a job of Training Operator v1 or of mpi-operator.

    With mpi-operator, a Job owns the launcher, and the MPIJob owns the workers.
    """
    job = pod.labels["training.kubeflow.org/job-name"]
    # mpi-operator has no replica-type but a job-role. Training Operator writes job-role on one pod of a type only.
    role = pod.labels.get("training.kubeflow.org/replica-type") or pod.labels.get("training.kubeflow.org/job-role")
    index = index_of(pod.labels.get("training.kubeflow.org/replica-index"))
    controller = pod.controller
    if controller is not None and controller.group in REPLICA_GROUPS and controller.kind != "MPIJob":
        roles = read_once(pod.owner(controller.kind), _replica_specs)
        name = named(controller.kind.lower(), controller.uid)
        return Member(controller.kind, name, counted(roles), index, role or "", roles=roles)
    # The label names the gang, because launcher and workers have different controllers, so no uid is common to them.
    roles = read_once(pod.owner("MPIJob"), _replica_specs)
    return Member("MPIJob", named("mpijob", job), counted(roles), index, role or "", roles=roles)


def _replica_specs(job: Mapping[str, Any] | None) -> tuple[Role, ...]:
    """Return the roles of a job; empty for an elastic job, whose size is unknown."""
    if is_elastic(job):
        return ()
    kind = at(job, "kind")
    return tuple(role_of(each, default_replicas(kind, str(role))) for role, each in specs_of(job).items())


DOSSIER: Final = Dossier(
    name="Training Operator v1",
    versions={
        "kubeflow/training-operator": "v1.9.4",
        "kubeflow/mpi-operator": "caa3c47f, after v0.8.0",
    },
    refusals=frozenset({"FailedCreatePod"}),  # training-operator pkg/controller.v1/control/pod_control.go
    kinds=(
        _kind("PyTorchJob", "v1", "v1beta2", "v1beta1", "v1alpha2", "v1alpha1"),
        _kind("TFJob", "v1", "v1beta2", "v1beta1", "v1alpha2", "v1alpha1"),
        _kind("XGBoostJob", "v1", "v1alpha1"),
        _kind("PaddleJob", "v1"),
        _kind("JAXJob", "v1"),
        _kind("MPIJob", "v1"),
    ),
    memberships=(
        Membership(
            name="PyTorchJob, TFJob, MPIJob, XGBoostJob, PaddleJob, JAXJob (Training Operator v1, mpi-operator)",
            source="kubeflow/training-operator pkg/apis/kubeflow.org/v1/common_types.go, kubeflow/mpi-operator "
            "pkg/apis/kubeflow/v2beta1/constants.go",
            read=_kubeflow,
            size="the job: `replicas` of its replica specs, unless it is elastic",
            sized_by=tuple(REPLICA_SPECS),
            label=JOB_NAME,
            role_from="labels `training.kubeflow.org/replica-type`, `job-role`",
        ),
    ),
    pod_keys=frozenset(f"{TRAINING}/{key}" for key in ("job-role", "replica-index", "replica-type")),
    notes=(
        *(
            KindNote(
                key=JOB_NAME,
                kind=f"kubeflow.org/{kind}",
                keeps=LEFT_ALONE,
                source=LEFT_ALONE_SOURCE,
                templates=f"`spec.{REPLICA_SPECS[kind]}.*.template`",
            )
            for kind in ("PyTorchJob", "XGBoostJob", "PaddleJob", "JAXJob")
        ),
        KindNote(
            key=JOB_NAME,
            kind="kubeflow.org/TFJob",
            keeps=f"the spec of chiefs, parameter servers and evaluators without GPUs; {LEFT_ALONE}",
            source=f"kubeflow/training-operator pkg/apis/kubeflow.org/v1/tensorflow_types.go; {LEFT_ALONE_SOURCE}",
            templates="`spec.tfReplicaSpecs.*.template`",
        ),
    ),
    own_topology=dict.fromkeys(product(("coscheduling", "volcano"), REPLICA_SPECS), ""),
    owners=tuple(replica_owner(kind, "v1") for kind in REPLICA_SPECS if kind not in {"AscendJob", "MPIJob"}),
    finished=tuple(replica_finished(kind) for kind in REPLICA_SPECS if kind not in {"AscendJob", "MPIJob"}),
    group_rules=(
        replica_rules("PyTorchJob", {"master"}),
        replica_rules("TFJob", {"chief", "master"}),
        replica_rules("XGBoostJob", {"master"}),
        replica_rules("PaddleJob", {"master"}),
        replica_rules("JAXJob", set()),
    ),
)
