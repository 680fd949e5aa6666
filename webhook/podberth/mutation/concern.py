"""The description that each module of ``concerns`` gives of its mutation, and the arguments of its functions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar, cast

from ..devices.claims import NO_DEVICES, KnownDevices
from ..kube.patch import Draft, Path
from ..kube.schema import PodSchema
from ..kube.unchecked import key_of
from .change import Change, Proposal, Record, Skipped
from .conflict import Answer, Case
from .earlier import EarlierChanges
from .membership import GangFacts

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The facts that builders need besides the pod."""

    gang: Callable[[], GangFacts]
    """Returns the facts of the gang of the pod as it is by now, and of the groups that it may join."""
    default_priority_class: str
    """The cluster's global default; empty if none is known."""
    priority_classes: frozenset[str] | None
    """The classes that the cluster has; None if not all of them are known."""
    schema: PodSchema
    devices: KnownDevices = NO_DEVICES
    """The devices that claims ask for."""
    namespace: str = ""
    """The namespace of the review."""
    nodes_left: Callable[[Draft], int] = lambda _: 0
    """Returns the number of known nodes that could run the pod of a draft; 0 if no node is known."""
    record: Callable[[], Record] = dict
    """Returns the record so far, with the changes of the policy itself."""


class Present:
    """The pod that many claims of a record are compared with; each of its lists is read once.

    A record may make 100 claims (``kube.budget``), and each list of the pod has its own bound.
    """

    def __init__(self, draft: Draft) -> None:
        """Take the pod; nothing of it is read yet."""
        self.draft = draft
        self._values: dict[Callable[[Draft], Any], Any] = {}
        self._items: dict[int, tuple[list[Any], frozenset[bytes]]] = {}

    def read(self, reader: Callable[[Draft], _Value]) -> _Value:
        """Return the result of a function that reads the pod; each function is called once."""
        if reader not in self._values:
            self._values[reader] = reader(self.draft)
        return cast("_Value", self._values[reader])

    def has(self, items: list[Any], item: Any) -> bool:
        """Tell whether a list of the pod has an item; the list is read once for all calls."""
        found = self._items.get(id(items))
        if found is None:
            found = self._items[id(items)] = (items, frozenset(map(key_of, items)))
        return key_of(item) in found[1]


Builder: TypeAlias = Callable[[Draft, Proposal, Surroundings], Change | Skipped | None]
Holds: TypeAlias = Callable[[Present, Any], bool]
Decides: TypeAlias = Literal["placement", "grouping", "accounting", ""]
Restorer: TypeAlias = Callable[[Draft, Draft, Sequence[Any]], bool]
Paths: TypeAlias = tuple[tuple[str, ...], ...]
Leaves: TypeAlias = Mapping[str, tuple[str, str] | None]
"""The leaves of an entry by name. For a leaf that is a single fact, such as ``gang.size``, the fact; else None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Concern:
    """One mutation. Its expressions are those of its field in ``policy.model.Mutation``."""

    name: str
    """The key in an entry of ``mutations``, and in the record."""
    build: Builder
    """Checks the leaves that it uses, and edits the draft; returns the change, or None if there is none.

    Raises EvaluationError for a wrong value of the policy; the draft may be half edited then."""
    visits: Callable[[Leaves], Paths | None] = lambda _: None
    """Returns the paths of the pod that ``build`` reads or writes for any policy with these leaves.

    None if these may be all fields of the containers or of the pod."""
    reads: Callable[[Leaves], Paths] = lambda _: ()
    """Returns the facts of ``gang`` and ``gpu`` that ``build`` reads besides the pod."""
    is_claim: Callable[[Any], bool]
    """Whether a claim of a record has the form that ``build`` gives to ``Change.wrote``."""
    holds: Holds
    """Whether the pod still has the values of a claim in the record."""
    wrote_at: Callable[[Any, Path, object], bool] = lambda _wrote, _path, _value: False
    """Whether a claim wrote a value at a path; for mutations of single fields only."""
    conflicts: Callable[[Case], Answer] | None = None
    """Returns the conflicts with other policies, and the proposal without them; None: the mutation has no conflicts."""
    restore: Restorer | None = None
    """Restores claims on the draft of an updated pod, given the pod before; tells whether it did anything."""
    decides: Decides = ""
    """The part of scheduling that it decides. A group system decides this part for its own pods (``admission.gate``).

    Placement is written once. By the second pass other policies have narrowed the choice of nodes, so the same
    expression has another value, and a reinvocation must change nothing."""
    awaits: Callable[[EarlierChanges, str], bool] | None = None
    """Tells whether a policy made the change that this mutation needs first. If a later policy made it on an earlier
    pass, the mutation is left out on this pass, too."""
    in_group: Callable[[Draft, GangFacts], bool] = lambda _draft, _facts: False
    """Whether the mutation applies even if a group system schedules the pod."""
    forecast: bool = False
    """Whether ``admission.forecast`` tries its constants on an example pod, to find conflicts before any pod comes."""
    anything: bool = False
    """Whether it can write any field (``operations``). It is in conflict with the policies whose changes it undoes.

    If its builder returns ``Skipped``, the draft may be half edited."""


def for_each(holds: Holds) -> Holds:
    """Return the function that tells whether ``holds`` is true for each item of a claim."""
    return lambda there, wrote: all(holds(there, item) for item in wrote)


def is_list_of_maps(value: Any) -> bool:
    """Tell whether a claim is a list of maps that is not empty."""
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def is_string_map(value: Any) -> bool:
    """Tell whether a claim is a map of strings that is not empty."""
    return isinstance(value, dict) and bool(value) and all(isinstance(item, str) for item in value.values())
