"""The rules for the groups of a kind: the minimums that its objects may state, the roles beside the workers."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from ..kube.unchecked import at, count, mapping_at
from .places import Found, Steps


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRules:
    """The rules for the groups of a kind, in all its versions."""

    kind: tuple[str, str]
    """API group and kind."""
    minimums: Callable[[Found], Iterator[tuple[Steps, str]]] | None = None
    """Yields where an object states a minimum above the number of pods, and what is wrong with it."""
    fronts: frozenset[str] = frozenset()
    """Roles, in lower case, that its membership counts beside its workers: launchers, heads, drivers."""
    queue: tuple[str, ...] = ()
    """The field or label of the object that names a queue of Volcano's."""
    exclusive: Mapping[str, str] = field(default_factory=dict)
    """The annotations that keep a group in one domain of a topology of its own. Behind each stands the annotation of a
    role that is not to be kept with the group; empty if there is none."""


NEVER: Final = "the group never starts"
RUN_POLICY_MINIMUM: Final = ("spec", "runPolicy", "schedulingPolicy", "minAvailable")
"""kubeflow/training-operator pkg/apis/kubeflow.org/v1/common_types.go, kubeflow/mpi-operator v2beta1/types.go."""
JOB_SCHEDULING: Final = ("scheduling", "schedulingPolicy")
"""From the spec of a Job: the gate WorkloadWithJob (KEP-5547)."""


def above(got: int, most: int, what: str) -> str:
    """Say that a minimum is above what there is to count."""
    return f"got {got}, want {most} at most, {what}: {NEVER}"


def items(value: object) -> Iterator[tuple[int, Found]]:
    """Yield the objects of a list with their indexes."""
    rows = enumerate(value if isinstance(value, list) else ())
    return ((index, each) for index, each in rows if isinstance(each, Mapping))


def job_minimums(job: Found, *path: str, mode: object = None) -> Iterator[tuple[Steps, str]]:
    """Find minimums of a Job (kubernetes/api batch/v1 JobSpec); ``path`` leads to its spec, ``mode`` is its default.

    A Job that is not Indexed is a queue of tasks, which may be fewer than could run at once.
    """
    spec = mapping_at(job, *path)
    parallelism, completions = count(spec.get("parallelism"), 1), spec.get("completions")
    indexed = (spec.get("completionMode") or mode) == "Indexed"
    if indexed and completions is not None and parallelism > count(completions) > 0:
        made = count(completions)
        message = f"got {made}, want {parallelism}, as parallelism: of {parallelism} pods only {made} are ever made"
        yield (*path, "completions"), message
    least = count(at(spec, *JOB_SCHEDULING, "gang", "minCount"))
    if least > parallelism:
        yield (*path, *JOB_SCHEDULING, "gang", "minCount"), above(least, parallelism, "its parallelism")


def roles_of(job: Found) -> Mapping[str, int]:
    """Return the replicas of each role of a Kubeflow job."""
    spec = mapping_at(job, "spec")
    roles = next((mapping_at(spec, key) for key in spec if str(key).endswith("ReplicaSpecs")), {})
    return {str(role): count(at(each, "replicas"), 1) for role, each in roles.items()}


def replica_minimums(job: Found) -> Iterator[tuple[Steps, str]]:
    """Compare with kubeflow/training-operator pkg/apis/kubeflow.org/v1 SchedulingPolicy, ElasticPolicy."""
    roles = dict(roles_of(job))
    elastic = mapping_at(job, "spec", "elasticPolicy")
    low, high = count(elastic.get("minReplicas")), count(elastic.get("maxReplicas"))
    if high and low > high:
        yield ("spec", "elasticPolicy", "minReplicas"), above(low, high, "maxReplicas")
    if high and "Worker" in roles:
        roles["Worker"] = max(high, roles["Worker"])
    least, total = count(at(job, *RUN_POLICY_MINIMUM)), sum(roles.values())
    if roles and least > total:
        yield RUN_POLICY_MINIMUM, above(least, total, "the pods of its roles")
