"""Reads the gang of a pod: the pods that are useful only together, such as the workers of one training job.

A gang is read from three sources: owners and groups (``memberships``), the scheduler (``systems``), and the user's
label ``podberth.io/gang``. No function of this module changes or places a pod.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from ..devices.claims import NO_DEVICES, KnownDevices
from ..kinds.jobs import JobFailures, failures_of
from ..kinds.members import Member, Membership, Subject, ordinal
from ..kinds.roles import MOST_KINDS, MOST_PARTS, Asks, Role, alike, asks_in, counted
from ..kinds.systems import NATIVE_GROUP, System
from ..kube.pod import annotations, controller, labels, metadata, spec
from ..kube.unchecked import LARGEST_SIZE, at, mapping_at, number
from ..wellknown import GANG_ACCELERATED_ANNOTATION, GANG_LABEL, GANG_SIZE_ANNOTATION
from .gpus import may_ask_for_accelerators
from .memberships import GROUPS, member_of, own_member_of
from .owners import LOOKED_UP
from .systems import ACCOUNTING, BY_NAME, NATIVE, PLAIN, is_accounted, system_of

SizeOf: TypeAlias = Callable[[tuple[str, str, str]], int | None]
"""The function that returns the smallest number of pods that a PodGroup starts together, from its API group, namespace
and name; 0 or None if unknown.
"""

_NO_SIZES: Final[Mapping[tuple[str, str, str], int]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Gang:
    """The gang of a pod.

    Policies see the fields up to ``job`` as the variable ``gang``; the fields after ``job`` are for podberth alone.
    """

    known: bool = False
    """Whether the pod is in a gang."""
    name: str = ""
    size: int = 0
    """The number of pods in the gang; 0: unknown."""
    apart: int | None = None
    """The number of the gang's pods that ask for accelerators, if not all do; 0: none does. None: all pods count."""
    index: int = -1
    """The pod's index within its role; -1: unknown."""
    role: str = ""
    """The operator's name for the pods of one template, such as worker or head; empty: the operator has no name."""
    source: str = ""
    """The kind that defines the gang: Job, JobSet, PyTorchJob, … PodGroup; or ``label`` for the user's label."""
    system: str = PLAIN
    """The group system that places the pods (workload.systems). Pods without a gang have a system, too."""
    job: JobFailures | None = None
    """What the pod's Job says about failures, for pods without a gang, too; None: no Job, or an unknown one."""
    staged: str = ""
    """The owner's field that makes some pods wait until others run; empty: none is known."""
    roles: tuple[Role, ...] = ()
    """The roles with accelerators and the requests of each, from the owner; empty if all requests are equal."""
    by_role: bool = False
    """Whether an owner states the requests of each role, even if that owner has to be looked up first."""
    sized_by_owner: bool = False
    """Whether an owner that is not in the snapshot states the size; the owner may be found by a look-up."""
    accounted: bool = False
    """Whether the group system hashes, copies or counts the pod before the pod is created (``System.keeps``)."""
    alone: bool = False
    """Whether the group system certainly starts each of the gang's pods by itself (System.starts_alone)."""
    asks_topology: bool = False
    """Whether an owner of the pod, or the pod's PodGroup, already asks the group system for topology, or has no use for
    it (System.starts_with_fewer).
    """
    topology_needs: str = ""
    """The end of a message: what else the user's PodGroup needs to be used by the group system (System.topology_needs).
    """
    problems: tuple[str, ...] = ()
    """Messages about unreadable values, which count as unknown: ``where: got X, want Y``."""

    @property
    def accelerated(self) -> int:
        """The number of the gang's pods that ask for accelerators; 0 if unknown, or if no pod does."""
        return self.size if self.apart is None else self.apart

    def as_cel(self) -> dict[str, Any]:
        """Return the value of the variable ``gang`` that policies read."""
        job = {} if self.job is None else {"job": self.job.as_cel()}
        return job | {
            "known": self.known,
            "name": self.name,
            "size": self.size,
            "accelerated": self.accelerated,
            "index": self.index,
            "role": self.role,
            "source": self.source,
            "system": self.system,
        }


NO_GANG: Final = Gang()
"""The gang of a pod that belongs to none."""


def gang_of(
    pod: Mapping[str, Any],
    namespace: str,
    owners: Mapping[str, Mapping[str, Any]],
    pod_groups: Collection[str] = frozenset(),
    size_of: SizeOf = _NO_SIZES.get,
    devices: KnownDevices = NO_DEVICES,
) -> Gang:
    """Return the pod's gang. The gang's field ``known`` is False if the pod is in no gang.

    The function never raises for a Pod of checked shape.

    Args:
        pod: the Pod.
        namespace: the namespace of the review; a pod that a controller creates may have no ``metadata.namespace``.
        owners: the known owners by uid.
        pod_groups: the names of the native PodGroups in the namespace.
        size_of: returns the smallest number of pods that a PodGroup starts together.
        devices: the known claims.
    """
    subject = _subject(pod, namespace, owners, size_of)
    problems: list[str] = []
    declared = _declared_size(subject, problems)
    member, system = _membership(subject, declared, pod_groups), _system(subject, pod_groups)
    row, job = BY_NAME.get(system), failures_of(subject)
    accounted = row is not None and is_accounted(system, pod)
    if member is None:
        return Gang(system=system, job=job, accounted=accounted, problems=tuple(problems))
    size = declared or min(member.size, LARGEST_SIZE)
    agreed = size == member.size and _are_read(member.roles, problems)
    possible = member.roles if agreed else ()
    roles = tuple(role for role in possible if role.count and _may_ask(role.asks, subject, devices, system))
    groups = _of_few_kinds(alike(roles), problems)
    awaited = member.awaits_owner and _has_owner_to_look_up(subject)
    accelerated = _declared_accelerated(subject, size, problems) or counted(roles)
    # If this pod asks for accelerators, and no role of its owner does, another source added the request. It may have
    # added requests to the gang's other pods, too.
    read = agreed and bool(member.roles or member.alike)
    none_asks = read and not accelerated and not _asks(subject, devices, system)
    return Gang(
        known=True,
        name=member.name,
        size=size,
        apart=accelerated if none_asks or 0 < accelerated < size else None,
        roles=groups if len(groups) > 1 and accelerated == counted(groups) else (),
        index=member.index,
        role=member.role,
        source=member.source,
        system=system,
        job=job,
        # If only one role has accelerators, only stages within it matter, because the other roles are in no group.
        staged=member.staged_within if len(roles) == 1 else member.staged,
        by_role=bool(roles) or (awaited and not member.alike),
        sized_by_owner=awaited and not declared,
        accounted=accounted,
        alone=row is not None and row.starts_alone(subject),
        asks_topology=row is not None and (_is_asked(row, subject) or row.starts_with_fewer(subject)),
        topology_needs="" if row is None else row.topology_needs(subject),
        problems=tuple(problems),
    )


def _membership(pod: Subject, declared: int, pod_groups: Collection[str]) -> Member | None:
    """Return the pod's membership by the user's label or by the pod's owner; None if the gang is this pod alone.

    ``declared`` is the gang's size in podberth's annotation, 0 if there is none. It takes precedence over the owner's
    size. A gang that the user's label names may have a single pod.
    """
    member = member_of(pod)
    if said := pod.labels.get(GANG_LABEL):
        return _named_by_label(said, member, pod, pod_groups)
    return None if member is not None and (declared or member.size) == 1 else member


def _system(pod: Subject, pod_groups: Collection[str]) -> str:
    """Return the name of the pod's group system.

    The result is ``native``, too, if no other system is recognised and the user's label names a PodGroup of
    ``pod_groups``, the native PodGroups in the namespace.
    """
    system = system_of(pod.spec, pod.labels, pod.annotations, _owner_labels(pod))
    return NATIVE if system == PLAIN and pod.labels.get(GANG_LABEL) in pod_groups else system


def _named_by_label(name: str, member: Member | None, pod: Subject, pod_groups: Collection[str]) -> Member:
    """Return the pod's membership in the gang ``name``, which the user's label names.

    If the owner (``member``) names another gang, the owner's size is ignored. The size then comes from the native
    PodGroup ``name`` if there is one (``pod_groups``); otherwise it is unknown. If both name one gang, as after
    podberth has written the label, the owner's facts are kept. The pod's role and the index in the role are kept in
    either case.
    """
    if member is not None and member.name == name:
        return member
    source, size = "label", 0
    if name in pod_groups:
        source, size = "PodGroup", pod.group_size(name, NATIVE_GROUP)
    index, role = (member.index, member.role) if member else (ordinal(pod), "")
    # If the owner has roles, the label may name a single role, whose pods start together; else it names all pods.
    staged = member.staged if member and not role else ""
    return Member(source, name, size, index, role, staged)


def _are_read(roles: tuple[Role, ...], problems: list[str]) -> bool:
    """Return whether the requests of all roles of the gang are known; if not, add a problem."""
    if len(roles) > MOST_PARTS:
        problems.append(f"roles: got {len(roles):,} of its owner, want {MOST_PARTS} at most: what they ask is not read")
        return False
    if said := next(filter(None, (role.unread for role in roles)), ""):
        problems.append(
            f"roles: got {said} for a number of pods of its owner, want a whole number: its size is not known"
        )
        return False
    return all(role.asks is not None for role in roles if role.count)


def _of_few_kinds(groups: tuple[Role, ...], problems: list[str]) -> tuple[Role, ...]:
    """Return the roles ``groups``, which have different requests, if there are at most ``MOST_KINDS`` of them.

    With more roles, the result is empty, and a problem is added to ``problems``.
    """
    if len(groups) <= MOST_KINDS:
        return groups
    problems.append(
        f"roles: got {len(groups)} that ask for different things, want {MOST_KINDS} at most: "
        "levels are chosen as if all asked as this one does"
    )
    return ()


def _has_owner_to_look_up(pod: Subject) -> bool:
    return pod.controller is not None and (pod.controller.api_version, pod.controller.kind) in LOOKED_UP


def own_member_in(pod: Mapping[str, Any], namespace: str, owners: Mapping[str, Mapping[str, Any]]) -> Member | None:
    """Return the pod's membership in the gang of its workload, as the workload's controller states it.

    None if the pod is in no gang, or if the pod names a PodGroup that states the gang. podberth's annotation for the
    size of the gang is ignored. ``owners`` are the known owners by uid.
    """
    subject = _subject(pod, namespace, owners, _NO_SIZES.get)
    others = {key: value for key, value in subject.annotations.items() if key != GANG_SIZE_ANNOTATION}
    return own_member_of(replace(subject, annotations=others))


def groups_in(pod: Mapping[str, Any], namespace: str, size_of: SizeOf) -> Iterator[tuple[Membership, Member]]:
    """Yield (rule that reads the group's name, membership in the group) for each group that the pod itself names.

    Owners are not read. ``size_of`` returns the smallest number of pods that a PodGroup starts together.
    """
    subject = _subject(pod, namespace, {}, size_of)
    for row in GROUPS:
        member = row.read(subject) if row.concerns(subject) else None
        if member is not None:
            yield row, member


def _subject(
    pod: Mapping[str, Any],
    namespace: str,
    owners: Mapping[str, Mapping[str, Any]],
    size_of: SizeOf,
) -> Subject:
    return Subject(
        namespace=namespace,
        name=metadata(pod).get("name") or "",
        labels=labels(pod),
        annotations=annotations(pod),
        spec=spec(pod),
        controller=controller(pod),
        owners=owners,
        size_of=size_of,
    )


def _declared_size(pod: Subject, problems: list[str]) -> int:
    text = pod.annotations.get(GANG_SIZE_ANNOTATION)
    if text is None:
        return 0
    size = number(text) or 0
    if not size:
        where = f"metadata.annotations[{GANG_SIZE_ANNOTATION}]"
        problems.append(f'{where}: got "{text[:32]}", want the number of pods, as in "8"')
    return size


def _declared_accelerated(pod: Subject, size: int, problems: list[str]) -> int:
    text = pod.annotations.get(GANG_ACCELERATED_ANNOTATION)
    if text is None:
        return 0
    found = number(text) or 0
    if 0 < found <= size:
        return found
    where = f"metadata.annotations[{GANG_ACCELERATED_ANNOTATION}]"
    want = f"1 to {size}" if size else f"{GANG_SIZE_ANNOTATION} beside it"
    problems.append(f'{where}: got "{text[:32]}", want {want}: how many of the pods ask for accelerators')
    return 0


def _may_ask(asks: Asks | None, pod: Subject, devices: KnownDevices, system: str) -> bool:
    """Return whether ``asks`` has an accelerator resource, or a claim that may be for accelerators.

    The content of known claims in the pod's namespace counts, unless the group system ``system`` needs equal pods
    (``ACCOUNTING``): known claims may change between two pods.
    """
    believe = system not in ACCOUNTING
    return asks is not None and may_ask_for_accelerators(asks, pod.namespace, devices, believe_claims=believe)


def _asks(pod: Subject, devices: KnownDevices, system: str) -> bool:
    """Return whether the pod asks for accelerators, may do so (``_may_ask``), or has requests that cannot be read."""
    asks = asks_in(pod.spec)
    return asks is None or _may_ask(asks, pod, devices, system)


def _is_asked(row: System, pod: Subject) -> bool:
    """Return whether an owner of the pod has a field that requests topology-aware placement by the system ``row``."""
    return bool(row.asked_above) and any(at(each, *path) for each in pod.lineage() for path in row.asked_above)


def _owner_labels(pod: Subject) -> Iterator[str]:
    """Yield the keys of the labels on the pod's controller, and on all known controllers above that controller."""
    if not pod.owners or pod.controller is None:
        return
    for owner in pod.lineage():
        yield from mapping_at(owner, "metadata", "labels")
