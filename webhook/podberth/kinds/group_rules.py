"""The rules for the groups of a kind: the minimums that its objects may state, the roles beside the workers."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ..kube.unchecked import at, count, mapping_at, text_at
from .places import Found, Steps
from .queues import VOLCANO_QUEUE, QueueKind

if TYPE_CHECKING:
    from .starts import Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRules:
    """The rules for the groups of a kind, in all its versions."""

    kind: tuple[str, str]
    """API group and kind."""
    minimums: Callable[[Found], Iterator[tuple[Steps, str]]] | None = None
    """Yields the path of each minimum of an object that is above its number of pods, with a message."""
    starts: "Rule | None" = None
    """Returns the pods of such an object that start together; None: its objects are no gangs."""
    on_demand: Callable[[Found], bool] | None = None
    """Returns whether the object asks to be a gang; None: every object is one gang, or several equal gangs."""
    fronts: frozenset[str] = frozenset()
    """Roles, in lower case, that count as members besides the workers: launchers, heads, drivers."""
    queue: tuple[str, ...] = ()
    """The field or label of the object that names a queue."""
    queue_kind: QueueKind = VOLCANO_QUEUE
    """The kind of that queue."""
    queue_scheduler: str = ""
    """The scheduler that some pods must have for ``queue`` to count, because others have other queues; empty: any."""
    minimum: tuple[str, ...] = ()
    """The field in which the object states a minimum; empty if the kind has none."""
    workers_alone: Callable[[Found], bool] | None = None
    """Returns whether the minimum of an object may, on purpose, not count the fronts; None: never."""
    front_waits: Callable[[Found, object], str] | None = None
    """Takes an object and its part with a front's template. Returns the field that delays the front until the workers
    run; empty if there is none."""
    groups: Callable[[Found, Steps], int] | None = None
    """Takes an object and the path of a template in it. Returns the number of equal groups of the template's pods; 0:
    unknown. None: an object is one group."""
    whole_groups: bool = False
    """Whether each of these groups has pods of all templates, or pods of one template only (False)."""
    exclusive: Mapping[str, str] = field(default_factory=dict)
    """The annotations by which the kind's controller keeps a group in one domain, exclusively. The value of each is the
    annotation that exempts a role; empty if there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedMinimum:
    """An annotation of the object that owns the pods, with the least number of pods that start together."""

    key: str
    source: str
    kinds: frozenset[tuple[str, str]] = frozenset()
    """API groups and kinds of owners whose annotation is read; empty: all."""
    scheduler: str = ""
    """The scheduler of the pods that it is read for; empty: any."""
    unless: str = ""
    """The annotation by which pods name a group; it is not read for such pods."""


NEVER: Final = "the group never starts"
RUN_POLICY_MINIMUM: Final = ("spec", "runPolicy", "schedulingPolicy", "minAvailable")
"""kubeflow/training-operator pkg/apis/kubeflow.org/v1/common_types.go, kubeflow/mpi-operator v2beta1/types.go."""
JOB_SCHEDULING: Final = ("scheduling", "schedulingPolicy")
"""From the spec of a Job: the gate WorkloadWithJob (KEP-5547)."""


def above(got: int, most: int, what: str) -> str:
    """Return the message about a minimum that is above the number of ``what``."""
    return f"got {got}, want {most} at most, {what}: {NEVER}"


def items(value: object) -> Iterator[tuple[int, Found]]:
    """Yield the objects of a list with their indexes."""
    rows = enumerate(value if isinstance(value, list) else ())
    return ((index, each) for index, each in rows if isinstance(each, Mapping))


def job_minimums(job: Found, *path: str, mode: object = None) -> Iterator[tuple[Steps, str]]:
    """Yield the wrong minimums of a Job (kubernetes/api batch/v1 JobSpec); ``path`` leads to its spec.

    ``mode`` is the default of completionMode. A Job that is not Indexed is a queue of tasks, and may have fewer tasks
    than can run at once.
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


def role_type(part: object) -> str:
    """Return the role of an item of a list of replica specs (v1alpha1 TFJob, PyTorchJob)."""
    return text_at(part, "tfReplicaType") or text_at(part, "replicaType")


def specs_of(job: object) -> Mapping[str, object]:
    """Return the replica specs of a Kubeflow job by role; those of v1alpha1 are a list."""
    spec = mapping_at(job, "spec")
    found: object = next((spec[key] for key in spec if str(key).lower().endswith("replicaspecs")), {})
    if isinstance(found, list):
        return {f"{role_type(each)}{place}": each for place, each in enumerate(found)}
    return mapping_at(found)


def replica_minimums(job: Found) -> Iterator[tuple[Steps, str]]:
    """Yield wrong minimums (kubeflow/training-operator pkg/apis/kubeflow.org/v1 SchedulingPolicy, ElasticPolicy)."""
    roles = {str(role): count(at(each, "replicas"), 1) for role, each in specs_of(job).items()}
    elastic = mapping_at(job, "spec", "elasticPolicy")
    low, high = count(elastic.get("minReplicas")), count(elastic.get("maxReplicas"))
    if high and low > high:
        yield ("spec", "elasticPolicy", "minReplicas"), above(low, high, "maxReplicas")
    if high and "Worker" in roles:
        roles["Worker"] = max(high, roles["Worker"])
    least, total = count(at(job, *RUN_POLICY_MINIMUM)), sum(roles.values())
    if roles and least > total:
        yield RUN_POLICY_MINIMUM, above(least, total, "the pods of its roles")
