"""Keeps facts about owners, PodGroups, DRA objects and PriorityClasses, and reports the facts after each change.

Unlike nodes, such objects come and go with every job, in tens of thousands. So only the fields that decisions read are
kept, and a batch of changes copies only the tables of the changed kinds.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from ..api.protocol import Document
from ..errors import TopologyError
from ..facts.cluster import ClusterFacts
from ..facts.object_kinds import Kind, ObjectKey
from ..facts.table import Table
from ..kube.unchecked import text_at
from ..telemetry.log import Log
from .group_maker import GroupMaker
from .live_nodes import Documents
from .whole_objects import rounds

# Some 2 KiB each (bench.live_workloads), so a fifth of the memory that the manifests grant.
MOST_OBJECTS: Final = 100_000
TOO_MANY: Final = "too many"
# The number of further objects that are kept until there is room, at a tenth more memory. Beyond these, an object is
# noticed only when it changes.
MOST_WAITING: Final = 10_000
_GROUPING: Final = ("pod group", "queue")
Presence: TypeAlias = Literal["unknown", "listed", "absent"]
"""Whether a cluster serves a kind.

absent: the last report of API discovery says that the kind is not served. listed: the kind was listed, and API
discovery has not reported since then that it is no longer served, even if there is no object. unknown: neither.
"""


class LiveWorkloads:
    """Keeps facts about the objects that a review may need, and calls ``on_change`` with all facts after a change."""

    def __init__(self, kinds: Sequence[Kind], on_change: Callable[[ClusterFacts], None], log: Log) -> None:
        """Create the object without facts. ``on_change`` receives all facts, first when all served kinds are listed."""
        self._on_change = on_change
        self._wake = asyncio.Event()
        self._facts = ClusterFacts(listed=True)
        self.maker = GroupMaker(self._wake.set)
        self.sinks = {kind: Filed(kind, self._wake.set, log) for kind in kinds}

    async def hand_on(self) -> None:
        """Pass the facts to ``on_change`` now, and whenever facts change, until the task is cancelled."""
        async for _ in rounds(self._wake):
            self._on_change(self.facts())

    def facts(self) -> ClusterFacts:
        """Return the present facts about all objects. Only the facts about changed kinds are computed again."""
        filed = self.sinks.items()
        grouping = [each for kind, each in filed if kind.role in _GROUPING]
        templates = [each for kind, each in filed if kind.role == "template"]
        self._facts = self._facts.with_tables(
            {kind: each.table() for kind, each in filed},
            served=frozenset(
                kind.group for kind, each in filed if kind.role == "pod group" and each.presence == "listed"
            ),
            is_groupless=bool(grouping) and all(each.presence == "absent" for each in grouping),
            is_makerless=self.maker.is_away,
            is_claimless=bool(templates) and all(each.presence == "absent" for each in templates),
            cut_queues=frozenset(
                (kind.group, kind.kind) for kind, each in filed if kind.role == "queue" and each.left_out
            ),
        )
        return self._facts


class Filed(Documents):
    """Receives the objects of one kind, and keeps facts about the objects."""

    def __init__(self, kind: Kind, notify: Callable[[], None], log: Log) -> None:
        """Create the receiver without objects. ``notify`` is called when a fact has changed that decisions read."""
        super().__init__(kind.name, self._file, self._unfile, lambda: None, log)
        self.beyond: set[str] = set()
        """The names of the objects that are left out because the kind has more than MOST_OBJECTS."""
        self._waiting: dict[str, Any] = {}
        self._useless: dict[str, str] = {}
        """The uids of the objects that cannot be used, by name."""
        self._useless_uids: set[str] = set()
        self.presence: Presence = "unknown"
        self._kind = kind
        self._notify_readers = notify
        self._count = 0
        self._table = Table()
        self._changes: dict[ObjectKey, Any] = {}

    @property
    def left_out_by_reason(self) -> Mapping[str, int]:
        """A mapping from a reason to the number of the kind's objects that cannot be used for that reason."""
        return {"unreadable": len(self.left_out - self.beyond), TOO_MANY: len(self.beyond)}

    def table(self) -> Table:
        """Return the present facts about all objects of the kind.

        The returned table never changes: after a change of an object, a new table is returned.
        """
        if self._changes:
            self._table = self._table.changed(self._kind, self._changes)
            self._changes = {}
        return self._table

    def leaves_out(self, uid: str) -> bool:
        """Return whether the object with the uid ``uid`` exists and cannot be used.

        Only the first hundred thousand unusable objects are remembered.
        """
        return uid in self._useless_uids

    def put(self, name: str, document: Document) -> None:
        """Keep the facts about an object.

        If the object cannot be used, record its uid: no review then waits for the object.
        """
        super().put(name, document)
        self._set_useless(name, text_at(document, "metadata", "uid") if name in self.left_out else "")

    def drop(self, name: str) -> None:
        """Remove the facts about an object that no longer exists."""
        super().drop(name)
        self._set_useless(name, "")

    def record(self, presence: Presence) -> None:
        """Record the kind's presence in the cluster."""
        if presence != self.presence:
            self.presence = presence
            self._notify_readers()

    def forget(self) -> None:
        """Forget all objects of the kind because the kind's watch ended. The cluster may still serve the kind."""
        for name in list(self.left_out):
            self.drop(name)
        for place in self.table().facts:
            self._set(place, None)

    def _file(self, name: str, document: Document) -> None:
        self.beyond.discard(name)
        place = self._kind.place_of(name)
        try:
            fact = self._kind.fact(document)
        except TopologyError:
            self._unfile(name)
            raise
        if fact is None:
            self._unfile(name)
            return
        if self._known(place) is None and self._count >= MOST_OBJECTS:
            self.beyond.add(name)
            if name in self._waiting or len(self._waiting) < MOST_WAITING:
                self._waiting[name] = fact
            raise TopologyError(f"{self._kind.name} {name}: got more than {MOST_OBJECTS} objects; left out")
        self._waiting.pop(name, None)
        self._set(place, fact)

    def _unfile(self, name: str) -> None:
        self.beyond.discard(name)
        self._waiting.pop(name, None)
        self._set(self._kind.place_of(name), None)
        self._let_in()

    def _let_in(self) -> None:
        """Keep objects that were left out for lack of room, the earliest first, until ``MOST_OBJECTS`` are kept.

        The left-out objects wait in ``_waiting``, because the watch does not report an unchanged object again.
        """
        while self._waiting and self._count < MOST_OBJECTS:
            name = next(iter(self._waiting))
            self._set(self._kind.place_of(name), self._waiting.pop(name))
            self.beyond.discard(name)
            self.left_out.discard(name)
            self._set_useless(name, "")

    def _set_useless(self, name: str, uid: str) -> None:
        self._useless_uids.discard(self._useless.pop(name, ""))
        if uid and len(self._useless) < MOST_OBJECTS:
            self._useless[name] = uid
            self._useless_uids.add(uid)

    def _known(self, place: ObjectKey) -> Any:
        return self._changes[place] if place in self._changes else self._table.facts.get(place)

    def _set(self, place: ObjectKey, fact: Any) -> None:
        before = self._known(place)
        if fact != before:
            self._count += (fact is not None) - (before is not None)
            self._changes[place] = fact
            self._notify_readers()
