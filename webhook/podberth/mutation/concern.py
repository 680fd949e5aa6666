"""The interface of a mutation (the class ``Concern``), which each module of ``concerns`` implements."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar, cast

from ..devices.claims import NO_DEVICES, KnownDevices
from ..kube.patch import Draft
from ..kube.paths import Path
from ..kube.schema import PodSchema
from ..kube.unchecked import key_of
from .change import Change, Proposal, Record, Skipped, joined
from .conflict import ConflictCase, Resolution
from .earlier import EarlierChanges
from .membership import GangFacts

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The facts besides the pod that a mutation may read: the pod's gang, claims, priority classes and nodes."""

    gang: Callable[[], GangFacts]
    """Returns the facts about the pod's gang, after the writes so far, and about the groups that the gang may join."""
    default_priority_class: str
    """The name of the cluster's default PriorityClass; empty if none is known."""
    priority_classes: frozenset[str] | None
    """The names of the cluster's PriorityClasses; None if not all of them are known."""
    schema: PodSchema
    devices: KnownDevices = NO_DEVICES
    """The devices that the known ResourceClaims and claim templates ask for."""
    is_claimless: bool = False
    """Whether the API server serves no claim templates, so that a pod's claims are dropped or never made."""
    namespace: str = ""
    """The namespace of the pod under review."""
    nodes_left: Callable[[Draft], int] = lambda _: 0
    """Returns the number of known nodes that could run the pod of a draft; 0 if no node is known."""
    record: Callable[[], Record] = dict
    """Returns the pod's record so far, including the changes of the policy that is being applied."""


class Present:
    """A pod, prepared to be compared with many recorded changes; each list of the pod is read only once.

    Each of up to 32 changes in a record (``kube.pod_limits``) would read the lists again otherwise.
    """

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self._values: dict[Callable[[Draft], Any], Any] = {}
        self._items: dict[int, tuple[list[Any], frozenset[bytes]]] = {}

    def read(self, reader: Callable[[Draft], _Value]) -> _Value:
        """Return ``reader(draft)`` for the pod. The result is cached: each ``reader`` is called once."""
        if reader not in self._values:
            self._values[reader] = reader(self.draft)
        return cast("_Value", self._values[reader])

    def has(self, items: list[Any], item: Any) -> bool:
        """Return whether ``items``, a list of the pod, contains ``item``; the list is indexed once for all calls."""
        found = self._items.get(id(items))
        if found is None:
            found = self._items[id(items)] = (items, frozenset(map(key_of, items)))
        return key_of(item) in found[1]


Builder: TypeAlias = Callable[[Draft, Proposal, Surroundings], Change | Skipped | None]
Holds: TypeAlias = Callable[[Present, Any], bool]
Decides: TypeAlias = Literal["placement", "grouping", "accounting", ""]
Paths: TypeAlias = tuple[tuple[str, ...], ...]
Leaves: TypeAlias = Mapping[str, tuple[str, str] | None]
"""The expressions of a policy's entry of ``mutations``, by name.

The value is the path of an expression that only reads a fact (``gang.size``), and None for any other expression.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Concern:
    """The functions of one concern, such as ``tolerations``: how a mutation is applied, recorded, checked and restored.

    A concern has the name of a field of a mutation in a policy. The field has the expressions for the values to write.
    """

    name: str
    """The name of the mutation's field in an entry of ``mutations``, and in the record."""
    build: Builder
    """Checks the values of the entry's expressions and edits the draft; returns the change, or None if nothing changed.

    Raises EvaluationError if a value is invalid; the draft may then be partly edited."""
    visits: Callable[[Leaves], Paths | None] = lambda _: None
    """Returns the paths of the pod that ``build`` may read or write for an entry with the given expressions.

    None: ``build`` may read or write any field.
    """
    reads: Callable[[Leaves], Paths] = lambda _: ()
    """Returns the fields of ``gang`` and ``gpu`` that ``build`` reads besides the pod, for an entry with the given
    expressions.
    """
    is_valid: Callable[[Any], bool]
    """Returns whether a value in a pod's record has the form that ``build`` writes into ``Change.wrote``."""
    holds: Holds
    """Returns whether the pod still has the values of a recorded change."""
    join: Callable[[Any, Any], Any] = joined
    """Returns a recorded change that stands for two changes of one policy, the earlier one and the later one."""
    wrote_at: Callable[[Any, Path, object], bool] = lambda _wrote, _path, _value: False
    """Returns whether a recorded change wrote a value at a path; only for mutations of single fields."""
    conflicts: Callable[[ConflictCase], Resolution] | None = None
    """Returns the conflicts of a proposal with earlier policies, and the proposal without the conflicting values.

    None: the mutation never conflicts.
    """
    restore: Callable[[Draft, Draft, Sequence[Any]], bool] | None = None
    """Restores recorded changes on the draft of an updated pod, from the pod before the update.

    The function returns whether the draft changed. None: nothing is restored.
    """
    decides: Decides = ""
    """The part of scheduling that the mutation decides; empty: none. The group system of a pod decides this part
    instead (``admission.gate``).

    A policy applies a mutation that decides placement only once. On a reinvocation, the expressions may have other
    values, because other policies have restricted the nodes since; but a reinvocation must change nothing.
    """
    awaits: Callable[[EarlierChanges, str], bool] | None = None
    """Returns whether a policy made the change that must precede this mutation. If a later policy made that change, the
    mutation was skipped on the first pass, and a reinvocation skips the mutation, too.
    """
    lacks: Callable[[Draft], str] = lambda _draft: ""
    """Returns what a pod lacks for the mutation, as a clause; empty if it lacks nothing."""
    in_group: Callable[[Draft, GangFacts], bool] = lambda _draft, _facts: False
    """Returns whether the mutation applies to the pod even though a group system schedules the pod."""
    forecast: bool = False
    """Whether ``admission.forecast`` applies the mutation to an example pod if its values are constant, to find
    conflicts before pods arrive."""
    anything: bool = False
    """Whether the mutation can write any field (``operations``). Such a mutation conflicts with the policies whose
    changes it undoes.

    If the mutation's builder returns ``Skipped``, the draft may be partly edited.
    """


def for_each(holds: Holds) -> Holds:
    """Return a check whether a pod still has all items of a change that is a list. ``holds`` checks a single item."""
    return lambda there, wrote: all(holds(there, item) for item in wrote)


def is_list_of_maps(value: Any) -> bool:
    """Return whether a value in a record is a non-empty list of maps."""
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def is_string_map(value: Any) -> bool:
    """Return whether a value in a record is a non-empty map of strings to strings."""
    return isinstance(value, dict) and bool(value) and all(isinstance(item, str) for item in value.values())
