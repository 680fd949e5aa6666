"""The rules for the gangs of a workload, such as a JobSet: the stated minimums, and the roles besides the workers."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from ..kube.paths import Path
from ..kube.unchecked import at, count, mapping_at
from .places import Found
from .starts import Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRules:
    """The facts about the gangs of a kind of workload, such as JobSet: minimums, roles, and what starts together."""

    kind: tuple[str, str]
    """The API group and the name of the kind."""
    minimums: Callable[[Found], Iterator[tuple[Path, str]]] | None = None
    """The function that yields (path, message) for each minimum of an object above the object's number of pods."""
    starts: Rule | None = None
    """The function that returns the pods of an object that start together; None: objects of the kind are no gangs."""
    on_demand: Callable[[Found], bool] | None = None
    """The function that returns whether an object asks to be a gang; None: each object is one gang, or several equal
    gangs.
    """
    fronts: frozenset[str] = frozenset()
    """The roles, in lower case, that are members besides the workers: launchers, heads, drivers."""
    queue: tuple[str, ...] = ()
    """The path of the object's field or label that names a queue of Volcano; empty if the kind has none."""
    queue_scheduler: str = ""
    """The scheduler that some pods must have for ``queue`` to count, because other systems have other queues; empty:
    any.
    """
    minimum: tuple[str, ...] = ()
    """The path of the field in which the object states a minimum; empty if the kind has none."""
    workers_alone: Callable[[Found], bool] | None = None
    """The function that returns whether an object's minimum may leave out the ``fronts``; None: no minimum may."""
    front_waits: Callable[[Found, object], str] | None = None
    """The function that returns the name of the field that delays a role of ``fronts`` until the workers run; empty if
    no field does.

    Its arguments are an object, and the part of the object with the role's template.
    """
    front_works: tuple[str, ...] = ()
    """The path of the field by which a role of ``fronts`` is a worker, too; empty if the kind has none."""
    groups: Callable[[Found, Path], int] | None = None
    """The function that returns the number of equal gangs that a template's pods form; 0: unknown. None: one gang.

    Its arguments are an object, and the path of a template in the object.
    """
    whole_groups: bool = False
    """Whether each of the equal gangs (``groups``) has pods of all templates; if False, a gang has pods of one template
    only.
    """
    exclusive: Mapping[str, str] = field(default_factory=dict)
    """The annotations by which the kind's controller keeps a gang alone in one domain: a mapping from annotation to
    annotation.

    The value is the annotation that exempts a role; empty if there is none.
    """
    annotated_part: Callable[[Path], Path] | None = None
    """The function that returns the path of a role's part of the object, which may have the annotations of
    ``exclusive``, too.

    Its argument is the path of the role's template in the object. The result is empty if the template is in no such
    part. None: objects of the kind have no such parts.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedMinimum:
    """An annotation on the owner of the pods that states the least number of pods that start together."""

    key: str
    source: str
    kinds: frozenset[tuple[str, str]] = frozenset()
    """The API groups and kinds of owners on which the annotation counts; empty: all."""
    scheduler: str = ""
    """The scheduler that the pods must have for the annotation to count; empty: any."""
    unless: str = ""
    """The annotation by which pods name a group; the minimum does not count for pods with it."""
    needed_under: str = ""
    """The scheduler that starts the pods one by one without the annotation, if the kind is in ``needed_at``."""
    needed_at: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    """A mapping from the API group and kind of a workload to the path of the annotations that ``needed_under`` reads.

    A path with ``ELEMENT`` is the path of each Job that the workload makes. The scheduler makes a group for each Job,
    so the annotation can start a whole gang only if one Job makes all pods of the gang.
    """


NEVER: Final = "the group never starts"
JOB_SCHEDULING: Final = ("scheduling", "schedulingPolicy")
"""The path of the scheduling policy in a Job's spec (the gate WorkloadWithJob, KEP-5547)."""


def above(got: int, most: int, what: str) -> str:
    """Return the message that a minimum ``got`` is above ``most``. ``what`` names ``most``, such as "its replicas"."""
    return f"got {got}, want {most} at most, {what}: {NEVER}"


def items(value: object) -> Iterator[tuple[int, Found]]:
    """Yield the index and the object for each object in a list; nothing if ``value`` is no list."""
    rows = enumerate(value if isinstance(value, list) else ())
    return ((index, each) for index, each in rows if isinstance(each, Mapping))


def job_minimums(job: Found, *path: str, mode: object = None) -> Iterator[tuple[Path, str]]:
    """Yield (path, message) for each number in a Job that contradicts the Job's parallelism (batch/v1 JobSpec).

    A gang's minimum above the parallelism is a contradiction, and so are completions below the parallelism of an
    Indexed Job. A Job that is not Indexed is a queue of tasks, and may have fewer tasks than can run at once.

    ``path`` leads to the Job's spec. ``mode`` is the default of the Job's field ``completionMode``.
    """
    spec = mapping_at(job, *path)
    parallelism, completions = count(spec.get("parallelism"), 1), spec.get("completions")
    indexed = (spec.get("completionMode") or mode) == "Indexed"
    if indexed and completions is not None and parallelism > count(completions) > 0:
        made = count(completions)
        only = f"only {made} {'is' if made == 1 else 'are'} ever made"
        message = f"got {made}, want {parallelism}, as parallelism: of {parallelism} pods {only}"
        yield (*path, "completions"), message
    least = count(at(spec, *JOB_SCHEDULING, "gang", "minCount"))
    if least > parallelism:
        yield (*path, *JOB_SCHEDULING, "gang", "minCount"), above(least, parallelism, "its parallelism")
