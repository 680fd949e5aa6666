"""Which gang a pod belongs to: pods that start together and talk to each other, or are of no use at all.

Here the pieces come together: what ``memberships`` says of owners and groups, what ``systems`` says of the scheduler,
and the user's own word, the label ``podberth.io/gang``. Facts only: nothing is written, and no member is placed.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from ..devices.claims import NO_DEVICES, KnownDevices
from ..kinds.members import Member, Membership, Subject, ordinal
from ..kinds.roles import MOST_KINDS, MOST_PARTS, Role, alike, counted
from ..kinds.systems import NATIVE_GROUP
from ..kube.pod import annotations, controller, labels, metadata, spec
from ..kube.unchecked import LARGEST_SIZE, mapping_at, number
from ..wellknown import GANG_ACCELERATED_ANNOTATION, GANG_LABEL, GANG_SIZE_ANNOTATION
from .gpus import may_ask_for_accelerators
from .memberships import GROUPS, member_of
from .owners import LOOKED_UP
from .systems import ACCOUNTING, NATIVE, PLAIN, system_of

NO_SIZES: Final[Mapping[tuple[str, str, str], int]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Gang:
    """A pod's gang; what stands behind ``system`` is for podberth itself, the rest CEL sees as ``gang``."""

    known: bool = False
    name: str = ""
    size: int = 0
    """How many pods, 0 where unknown."""
    apart: int = 0
    """How many of them ask for accelerators, where it is known that not all do; else 0."""
    index: int = -1
    """The pod's number within its role, -1 where unknown."""
    role: str = ""
    """What the operator calls the pods that are made alike: worker, head; empty where it has no word for it."""
    source: str = ""
    """What says so: Job, JobSet, PyTorchJob, … PodGroup, or ``label`` for the user's own word."""
    system: str = PLAIN
    """Who places the group (workload.systems); said of pods without a gang, too."""
    staged: str = ""
    """The field by which some members are made only when others run; empty: none is known that says so."""
    roles: tuple[Role, ...] = ()
    """What those with accelerators ask for by what their owner says, where that is not the same for all; else empty."""
    by_role: bool = False
    """Whether an owner says what its roles ask for, be it known here or to be looked up."""
    sized_by_owner: bool = False
    """Whether the size is an owner's to say that is not known here, and that whoever looks owners up may find."""
    problems: tuple[str, ...] = ()
    """What could not be read and therefore counts as unknown: ``where: got X, want Y``."""

    @property
    def accelerated(self) -> int:
        """How many of them ask for accelerators: all, unless it is known that some do not."""
        return self.apart or self.size

    def as_cel(self) -> dict[str, Any]:
        """Return the ``gang`` variable of policies."""
        return {
            "known": self.known,
            "name": self.name,
            "size": self.size,
            "accelerated": self.accelerated,
            "index": self.index,
            "role": self.role,
            "source": self.source,
            "system": self.system,
        }


def gang_of(
    pod: Mapping[str, Any],
    namespace: str,
    owners: Mapping[str, Mapping[str, Any]],
    pod_groups: Collection[str] = frozenset(),
    group_sizes: Mapping[tuple[str, str, str], int] = NO_SIZES,
    devices: KnownDevices = NO_DEVICES,
) -> Gang:
    """Return the pod's gang; never raises on a Pod whose shape has been checked, whatever the owners hold.

    ``namespace`` is the review's, for a controller's pod may name none. ``owners`` are documents by uid, as far as
    known; ``pod_groups`` the names of the native PodGroups in the namespace; ``group_sizes`` how many pods PodGroups
    let start together at the least, by API group, namespace and name; ``devices`` what claims of its roles are for.

    The user's label beats what the owner says. Where it says the same as the owner, as it does once podberth has
    written it, the owner's facts stay. A gang of one, known from its owner, is none.
    """
    subject = _subject(pod, namespace, owners, group_sizes)
    member = member_of(subject)
    problems: list[str] = []
    declared = _declared_size(subject, problems)
    said = subject.labels.get(GANG_LABEL) or ""
    if said and (member is None or member.name != said):
        # Another group's size says nothing of this one; the pod's role and its number within that stay what they are.
        source, size = "label", 0
        if said in pod_groups:
            source, size = "PodGroup", subject.group_size(said, NATIVE_GROUP)
        index, role = (member.index, member.role) if member else (ordinal(subject), "")
        # Of several roles the label may name one, whose pods come together; where all are alike it names all.
        staged = member.staged if member and not role else ""
        member = Member(source, said, size, index, role, staged)
    elif member is not None and not said and (declared or member.size) == 1:
        member = None
    system = system_of(subject.spec, subject.labels, subject.annotations, _owner_labels(subject))
    if system == PLAIN and said and said in pod_groups:
        system = NATIVE
    if member is None:
        return Gang(system=system, problems=tuple(problems))
    size = declared or min(member.size, LARGEST_SIZE)
    agreed = size == member.size and _are_read(member.roles, problems)
    roles = _with_accelerators(member, subject, devices, system) if agreed else ()
    groups = _of_few_kinds(alike(roles), problems)
    awaited = member.awaits_owner and _has_owner_to_look_up(subject)
    accelerated = _declared_accelerated(subject, size, problems) or counted(roles)
    return Gang(
        known=True,
        name=member.name,
        size=size,
        apart=accelerated if accelerated < size else 0,
        roles=groups if len(groups) > 1 and accelerated == counted(groups) else (),
        index=member.index,
        role=member.role,
        source=member.source,
        system=system,
        # Who waits for another role, or is waited for, may have no accelerators, and is in no group.
        staged=member.staged_within if len(roles) == 1 else member.staged,
        by_role=bool(roles) or (awaited and not member.alike),
        sized_by_owner=awaited and not declared,
        problems=tuple(problems),
    )


def _are_read(roles: tuple[Role, ...], problems: list[str]) -> bool:
    """Tell whether it is known of all roles what they ask for."""
    if len(roles) > MOST_PARTS:
        problems.append(f"roles: got {len(roles):,} of its owner, want {MOST_PARTS} at most: what they ask is not read")
        return False
    return all(role.asks is not None for role in roles if role.count)


def _of_few_kinds(groups: tuple[Role, ...], problems: list[str]) -> tuple[Role, ...]:
    """Return roles that ask for different things; none where these are too many to look for room for all of them."""
    if len(groups) <= MOST_KINDS:
        return groups
    problems.append(
        f"roles: got {len(groups)} that ask for different things, want {MOST_KINDS} at most: "
        "levels are chosen as if all asked as this one does"
    )
    return ()


def _has_owner_to_look_up(pod: Subject) -> bool:
    return pod.controller is not None and (pod.controller.api_version, pod.controller.kind) in LOOKED_UP


def member_in(
    pod: Mapping[str, Any],
    namespace: str,
    owners: Mapping[str, Mapping[str, Any]],
    group_sizes: Mapping[tuple[str, str, str], int] = NO_SIZES,
) -> Member | None:
    """Return the pod's place by what its operator or its group says, podberth's own keys left aside; None for none."""
    subject = _subject(pod, namespace, owners, group_sizes)
    others = {key: value for key, value in subject.annotations.items() if key != GANG_SIZE_ANNOTATION}
    return member_of(replace(subject, annotations=others))


def groups_in(
    pod: Mapping[str, Any], namespace: str, group_sizes: Mapping[tuple[str, str, str], int] = NO_SIZES
) -> Iterator[tuple[Membership, Member]]:
    """Yield the groups that the pod itself names, whatever its operator says, with the way in which it does."""
    subject = _subject(pod, namespace, {}, group_sizes)
    for row in GROUPS:
        member = row.read(subject) if row.concerns(subject) else None
        if member is not None:
            yield row, member


def _subject(
    pod: Mapping[str, Any],
    namespace: str,
    owners: Mapping[str, Mapping[str, Any]],
    group_sizes: Mapping[tuple[str, str, str], int],
) -> Subject:
    return Subject(
        namespace=namespace,
        name=metadata(pod).get("name") or "",
        labels=labels(pod),
        annotations=annotations(pod),
        spec=spec(pod),
        controller=controller(pod),
        owners=owners,
        group_sizes=group_sizes,
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


def _with_accelerators(member: Member, pod: Subject, devices: KnownDevices, system: str) -> tuple[Role, ...]:
    """Return the roles that ask for accelerators."""
    believe = system not in ACCOUNTING
    return tuple(
        role
        for role in member.roles
        if role.count
        and role.asks is not None
        and may_ask_for_accelerators(role.asks, pod.namespace, devices, believe_claims=believe)
    )


def _owner_labels(pod: Subject) -> Iterator[str]:
    """Yield the label keys of the controller and of its controller, as far as known."""
    if not pod.owners or pod.controller is None:
        return
    for owner in pod.lineage():
        yield from mapping_at(owner, "metadata", "labels")
