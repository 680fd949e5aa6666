"""The facts about owners, PodGroups, DRA objects and PriorityClasses, passed on together whenever some of them change.

Unlike nodes they come and go with every job, by the ten thousand: only the fields that the core reads are kept, and a
batch of changes copies only the tables of its kinds.
"""

import asyncio
from collections import ChainMap
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, Final

from ..api.protocol import Document
from ..devices.claims import KnownDevices, class_accelerators, class_resources, hands_out_others
from ..errors import TopologyError
from ..kinds.queues import QueueKind
from ..kinds.systems import NATIVE_GROUP
from ..kube.pod import by_name
from ..kube.unchecked import text_at
from ..telemetry.log import Log
from ..topology.objects import ClusterObjects, global_default
from .kinds import Kind, Role
from .live import Documents
from .rounds import rounds

# Some 2 KiB each (bench.live_workloads), so a fifth of the memory that the manifests grant.
MOST_OBJECTS: Final = 100_000
TOO_MANY: Final = "too many"
# How many objects beyond are kept for when there is room: a tenth more memory. The rest has to change to be noticed.
MOST_WAITING: Final = 10_000


class LiveKinds:
    """The objects of the kinds that are followed if they are served."""

    def __init__(self, kinds: Sequence[Kind], stir: Callable[[], None], log: Log) -> None:
        """Start empty. ``stir`` is called when a fact has changed that the core reads."""
        self._filed = {kind: Filed(kind, stir, log) for kind in kinds}

    @property
    def sinks(self) -> Mapping[Kind, "Filed"]:
        """The sinks of the kinds."""
        return self._filed

    def left_out(self, kind: Kind) -> Mapping[str, int]:
        """Return how many objects of a kind cannot be used, by reason."""
        filed = self._filed[kind]
        return {"unreadable": len(filed.left_out - filed.beyond), TOO_MANY: len(filed.beyond)}


class LiveWorkloads(LiveKinds):
    """The objects that a review may need."""

    def __init__(self, kinds: Sequence[Kind], on_change: Callable[[ClusterObjects], None], log: Log) -> None:
        """Start empty. ``on_change`` is first called when all served kinds are listed."""
        self._on_change = on_change
        self._wake = asyncio.Event()
        super().__init__(kinds, self._wake.set, log)

    async def hand_on(self) -> None:
        """Pass on the facts now, and whenever they change, until cancelled."""
        async for _ in rounds(self._wake):
            self._on_change(self.objects())

    def objects(self) -> ClusterObjects:
        """Return the present facts."""
        groups, classes = self._of("pod group"), list(self._of("class").values())
        native = {key[1:]: group for key, group in groups.items() if key[0] == NATIVE_GROUP}
        served = [kind.group for kind, filed in self._filed.items() if kind.role == "pod group" and filed.is_served]
        resources: dict[str, Any] = {}
        for each in classes:
            resources |= class_accelerators(each)
        return ClusterObjects(
            pod_groups=frozenset(native),
            group_sizes={key: group.size for key, group in groups.items()},
            served_groups=frozenset(served),
            queues=self._of("queue"),
            cut_queues=frozenset(self._cut_queues()),
            listed=True,
            owners=self._of("owner"),
            class_resources=frozenset().union(*map(class_resources, classes)),
            devices=KnownDevices(
                claims=self._of("claim"),
                templates=self._of("template", "compute domain"),
                groups={place: group.claims for place, group in native.items() if group.claims},
                resources=resources,
                others=frozenset(each["metadata"]["name"] for each in classes if hands_out_others(each)),
            ),
            default_priority_class=global_default(self._of("priority class")),
            priority_classes=frozenset(self._of("priority class")),
        )

    def _cut_queues(self) -> Iterator[QueueKind]:
        """Yield the kinds of queues of which some are left out, while others are known."""
        for kind, filed in self._filed.items():
            table: Mapping[Any, Any] = filed.table() if kind.role == "queue" and filed.left_out else {}
            yield from (key[:2] for key in table)

    def _of(self, *roles: Role) -> Mapping[Any, Any]:
        """Return the facts of roles, by key; if two kinds have a key, the first kind's counts."""
        tables = [filed.table() for kind, filed in self._filed.items() if kind.role in roles]
        held = [table for table in tables if table]
        return ChainMap(*held) if len(held) > 1 else held[0] if held else {}


class Filed(Documents):
    """The objects of one kind, by key."""

    def __init__(self, kind: Kind, stir: Callable[[], None], log: Log) -> None:
        """Start empty. ``stir`` is called when a fact has changed that the core reads."""
        super().__init__(kind.name, self._file, self._unfile, lambda: None, log)
        self.beyond: set[str] = set()
        """The objects that are left out because there are too many."""
        self._waiting: dict[str, tuple[Hashable, Any]] = {}
        self._useless: dict[str, str] = {}
        """The uids of the objects that are left out, by name."""
        self._useless_uids: set[str] = set()
        self.is_served = False
        """Whether the kind was listed once, and discovery has not reported since that it is gone."""
        self._kind = kind
        self._stir_readers = stir
        self._keys: dict[str, Hashable] = {}
        self._known: dict[Hashable, Any] = {}
        self._table: dict[Hashable, Any] | None = None

    def table(self) -> dict[Hashable, Any]:
        """Return all present facts in a table that no longer changes."""
        if self._table is None:
            self._table = dict(self._known)
            if self._kind.by_name:
                self._table.update((self._by_name(name), self._known[key]) for name, key in self._keys.items())
        return self._table

    def _by_name(self, name: str) -> str:
        namespace, _, own = name.partition("/")
        return by_name(self._kind.owner, namespace, own)

    def leaves_out(self, uid: str) -> bool:
        """Tell whether the object of that uid exists and cannot be used.

        Only for the first hundred thousand of these.
        """
        return uid in self._useless_uids

    def put(self, name: str, document: Document) -> None:
        """Take an object, and remember its uid if it cannot be used: no review should wait for it."""
        super().put(name, document)
        self._set_useless(name, text_at(document, "metadata", "uid") if name in self.left_out else "")

    def drop(self, name: str) -> None:
        """Note that there is none."""
        super().drop(name)
        self._set_useless(name, "")

    def served(self) -> None:
        """Note that the kind is served, and was listed: there may be none of it."""
        if not self.is_served:
            self.is_served = True
            self._changed()

    def gone(self) -> None:
        """Note that the kind is no longer served."""
        if self.is_served:
            self.is_served = False
            self._changed()

    def forget(self) -> None:
        """Remove all objects: nothing more is received about them, which does not mean that the kind is gone."""
        for name in [*self._keys, *self.left_out]:
            self.drop(name)

    def _file(self, name: str, document: Document) -> None:
        self.beyond.discard(name)
        try:
            found = self._kind.take(document)
        except ValueError as error:
            self._unfile(name)
            raise TopologyError(f"{self._kind.name} {name}: {error}") from error
        if found is None:
            self._unfile(name)
            return
        key, known = found
        if self._keys.get(name) != key:  # an object that was deleted and created again is another
            self._take_away(name)
            if len(self._keys) >= MOST_OBJECTS:
                self.beyond.add(name)
                if name in self._waiting or len(self._waiting) < MOST_WAITING:
                    self._waiting[name] = found
                raise TopologyError(f"{self._kind.name} {name}: got more than {MOST_OBJECTS} objects; left out")
        self._waiting.pop(name, None)
        if self._known.get(key, _NOTHING) != known:
            self._keys[name] = key
            self._known[key] = known
            self._changed()

    def _unfile(self, name: str) -> None:
        self.beyond.discard(name)
        self._waiting.pop(name, None)
        self._take_away(name)
        self._let_in()

    def _let_in(self) -> None:
        """File the object that has waited longest for room: unchanged, it is never put again."""
        while self._waiting and len(self._keys) < MOST_OBJECTS:
            name = next(iter(self._waiting))
            key, known = self._waiting.pop(name)
            self._keys[name] = key
            self._known[key] = known
            self.beyond.discard(name)
            self.left_out.discard(name)
            self._set_useless(name, "")
            self._changed()

    def _set_useless(self, name: str, uid: str) -> None:
        self._useless_uids.discard(self._useless.pop(name, ""))
        if uid and len(self._useless) < MOST_OBJECTS:
            self._useless[name] = uid
            self._useless_uids.add(uid)

    def _take_away(self, name: str) -> None:
        key = self._keys.pop(name, _NOTHING)
        if key is not _NOTHING:
            del self._known[key]
            self._changed()

    def _changed(self) -> None:
        self._table = None
        self._stir_readers()


_NOTHING: Final[Any] = object()
