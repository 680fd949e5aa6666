"""Owners of which some pods are made only when others run: one row for each kind that may, with the field that says so.

A group of all these pods would wait for those that are not made before the first ones run. Whoever asks, asks here:
the webhook of the owners that a snapshot has, the controller of those that it looks up.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from ..kinds.roles import read_once
from ..kube.unchecked import at, count, list_at, text_at


def _job_set(owner: Mapping[str, Any]) -> str:
    # kubernetes-sigs/jobset pkg/controllers/jobset_controller.go reconcileReplicatedJobs
    jobs = at(owner, "spec", "replicatedJobs")
    if not isinstance(jobs, list) or len(jobs) <= 1:
        return ""
    if any(at(job, "dependsOn") for job in jobs):
        return "spec.replicatedJobs[].dependsOn"
    order = at(owner, "spec", "startupPolicy", "startupPolicyOrder")
    return "spec.startupPolicy.startupPolicyOrder InOrder" if order == "InOrder" else ""


AFTER_WORKERS: Final = "WaitForWorkersReady"
"""kubeflow/mpi-operator pkg/apis/kubeflow/v2beta1/types.go LauncherCreationPolicyWaitForWorkersReady."""


def _mpi_job(owner: Mapping[str, Any]) -> str:
    waits = text_at(owner, "spec", "launcherCreationPolicy") == AFTER_WORKERS
    return f"spec.launcherCreationPolicy {AFTER_WORKERS}" if waits else ""


def _role_based_group(owner: Mapping[str, Any]) -> str:
    # sgl-project/rbg internal/controller/workloads CheckDependencyReady
    roles = list_at(owner, "spec", "roles")
    waits = any(at(role, "dependencies") for role in roles)
    return "spec.roles[].dependencies" if waits else ""


def _spark_application(owner: Mapping[str, Any]) -> str:
    # The driver asks for its executors once it runs (apache/spark ExecutorPodsAllocator).
    return SPARK_EXECUTORS if isinstance(owner.get("spec"), Mapping) else ""


def _leader_worker_set(owner: Mapping[str, Any]) -> str:
    # kubernetes-sigs/lws pkg/controllers/pod_controller.go Reconcile; LeaderCreated is the default.
    waits = text_at(owner, "spec", "startupPolicy") == "LeaderReady"
    return "spec.startupPolicy LeaderReady; want LeaderCreated" if waits else ""


def _stateful_set(owner: Mapping[str, Any]) -> str:
    # kubernetes pkg/controller/statefulset/stateful_set_control.go; the default is of pkg/apis/apps/v1/defaults.go.
    policy = text_at(owner, "spec", "podManagementPolicy") or "OrderedReady"
    waits = policy != "Parallel" and count(at(owner, "spec", "replicas"), 1) > 1
    return f"spec.podManagementPolicy {policy}; want Parallel" if waits else ""


SPARK_EXECUTORS: Final = "spec.executor"
"""What a Spark operator's pods are made in stages by, whether the SparkApplication is known or not."""

UNREADABLE: Final = "unreadable"
"""Stands in the place of the spec of an owner of which nothing is kept (``owners.keep``), or that may not be read."""
_UNKNOWN: Final = "unknown, for"

STAGES: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    "JobSet": _job_set,
    "LeaderWorkerSet": _leader_worker_set,
    "MPIJob": _mpi_job,
    "RoleBasedGroup": _role_based_group,
    "SparkApplication": _spark_application,
    "StatefulSet": _stateful_set,
}
"""By the owner's kind."""

BETWEEN_ROLES: Final = frozenset({"JobSet", "MPIJob", "RoleBasedGroup"})
"""Kinds whose roles wait for each other, while the pods of one role come together."""


def stages_of(owner: Mapping[str, Any] | None) -> str:
    """Return the field by which some of an owner's pods are made only when others run; empty: none that is known.

    Where nothing of the owner is known they may be, for what anybody can tell.
    """
    kind = owner.get("kind") if owner is not None else None
    read = STAGES.get(kind) if isinstance(kind, str) else None
    if owner is None or read is None:
        return ""
    if owner.get("spec") == UNREADABLE:
        return f"{_UNKNOWN} podberth could not read the {kind}, or it is finished or has too many parts"
    return read_once(owner, read)


def is_guess(staged: str) -> bool:
    """Tell whether that is no field, but taken for so because nothing is known of an owner."""
    return staged.startswith(_UNKNOWN)
