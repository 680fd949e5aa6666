"""What the module of a mutation says of it, and what its functions are given."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar, cast

from ..devices.claims import NO_DEVICES, KnownDevices
from ..kube.patch import Draft, Path
from ..kube.schema import PodSchema
from ..kube.unchecked import key_of
from .change import Change, Proposal, Record, Skipped
from .conflict import Answer, Case
from .membership import GangFacts

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What builders must know beyond the pod itself."""

    gang: Callable[[], GangFacts]
    """What is known of the pod's gang as it is by now, and of the groups that it may join."""
    default_priority_class: str
    """The cluster's global default; empty where none is known."""
    priority_classes: frozenset[str] | None
    """Those that the cluster has; None: not all of them are known."""
    schema: PodSchema
    devices: KnownDevices = NO_DEVICES
    """What claims ask for."""
    namespace: str = ""
    """The review's."""
    record: Callable[[], Record] = dict
    """Returns what was written so far, by the policy itself, too."""


class Present:
    """The pod that many claims of a record are compared with: what is long in it is read once.

    A record may make 100 claims (``kube.budget``), and each list of the pod has its own bound.
    """

    def __init__(self, draft: Draft) -> None:
        """Read nothing yet."""
        self.draft = draft
        self._values: dict[Callable[[Draft], Any], Any] = {}
        self._items: dict[int, tuple[list[Any], frozenset[bytes]]] = {}

    def read(self, reader: Callable[[Draft], _Value]) -> _Value:
        """Return what a function reads from the pod; each is called once."""
        if reader not in self._values:
            self._values[reader] = reader(self.draft)
        return cast("_Value", self._values[reader])

    def has(self, items: list[Any], item: Any) -> bool:
        """Say whether a list of the pod has an item; the list is read once, however often it is asked."""
        found = self._items.get(id(items))
        if found is None:
            found = self._items[id(items)] = (items, frozenset(map(key_of, items)))
        return key_of(item) in found[1]


Builder: TypeAlias = Callable[[Draft, Proposal, Surroundings], Change | Skipped | None]
Holds: TypeAlias = Callable[[Present, Any], bool]
Decides: TypeAlias = Literal["placement", "grouping", "accounting", ""]
Restorer: TypeAlias = Callable[[Draft, Draft, Sequence[Any]], bool]
Visits: TypeAlias = Callable[[Iterable[str]], tuple[tuple[str, ...], ...] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Concern:
    """One mutation. Its expressions are those of its field in ``policy.model.Mutation``."""

    name: str
    """The key of an entry of ``mutations``, and of the record."""
    build: Builder
    """Checks the leaves as far as it relies on them and edits the draft; returns what it wrote, None for nothing.

    Raises EvaluationError where a leaf's value is the policy author's fault; the draft may be half edited then."""
    visits: Visits = lambda _: None
    """Returns the paths that ``build`` reads or writes, whatever a policy asks, by the names of the entry's leaves.

    None where that is no short list: all of every container, or of the pod."""
    is_claim: Callable[[Any], bool]
    """Whether a claim of the record has the form that ``build`` writes."""
    holds: Holds
    """Whether a pod has what a claim of that form says."""
    wrote_at: Callable[[Any, Path, object], bool] = lambda _wrote, _path, _value: False
    """Whether a claim says that a single field was given that value."""
    conflicts: Callable[[Case], Answer] | None = None
    """What other policies wrote otherwise, and what may be built all the same; None: nothing can be in the way."""
    restore: Restorer | None = None
    """Gives the draft of an updated pod back what claims say of the pod before; returns whether it did anything."""
    decides: Decides = ""
    """The part of scheduling that is left to the system of a pod's group, where it has one (``admission.gate``).

    Placement is written once: what a policy wrote on an earlier pass stands, for by now other policies have narrowed
    the choice of nodes, so the same question has another answer, and a reinvocation must change nothing."""
    in_group: Callable[[Draft, GangFacts], bool] = lambda _draft, _facts: False
    """Whether it applies to a pod that a system schedules all the same."""
    foreseen: bool = False
    """Whether constants of it are tried on a made-up pod before any comes (``admission.forecast``)."""
    anything: bool = False
    """Whether it can write anything: what the policy says is all that is known of it.

    It is recorded as operations, and judged by what it undoes; of a ``Skipped`` the draft may be half edited."""


def for_each(holds: Holds) -> Holds:
    """Return what holds of a list where ``holds`` does of each item."""
    return lambda there, wrote: all(holds(there, item) for item in wrote)


def is_list_of_maps(value: Any) -> bool:
    """Say whether a claim is a list of maps that is not empty."""
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def is_string_map(value: Any) -> bool:
    """Say whether a claim is a map of strings that is not empty."""
    return isinstance(value, dict) and bool(value) and all(isinstance(item, str) for item in value.values())
