"""The status of GPUPolicies: whether they compile, and whether they are sent their pods.

The first follows from the object alone, so all replicas agree, and the first one writes it. Replicas of two versions
may differ; each then writes once for a generation, and never in answer to the other. The second, only for policies of
scope All, follows from the webhook configurations, which are read again before it is written. ``Freshness`` explains
the third, of policies that ask for nodes. Nothing here is done inside a review.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import InitVar, dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from random import random
from typing import Any, Final, TypeAlias

from ..admission.notices import Notice, Regarding, note
from ..api.opening import Client
from ..api.protocol import APPLY_PATCH, POLICIES, Document, Pace, Timing, read_object
from ..errors import ClusterError
from ..files.source import Verdict
from ..kube.api_path import ApiPath
from ..kube.times import as_time
from ..policy.every_pod import entries_wanted, sends_every_pod
from ..telemetry.log import Log
from ..wellknown import API_VERSION, POLICY_KIND
from .shared_ca import KINDS

_EVERY_POD_SENT: Final = "EveryPodSent"
_TOPOLOGY_FRESH: Final = "TopologyFresh"
# Without names and numbers, which change with every node: podberth status has them.
_SILENT: Final = (
    "heartbeats of agents have run out: policies count on none of these nodes, and deny nothing for it; "
    "podberth status names them"
)

Entries: TypeAlias = Mapping[str, bool | str]
"""By kind of configuration, whether it has an entry for every pod; a text: why that is unknown."""


async def entries(client: Client, name: str) -> Entries:
    """Read the two configurations of that name; a missing one has no entry.

    Raises:
        ClusterError: no answer came; a refusal is a text in the result.
    """
    return {kind: await _entry(client, path.below(name)) for kind, path in KINDS.items()}


async def _entry(client: Client, path: ApiPath) -> bool | str:
    try:
        return sends_every_pod(read_object(await client.get(path, {}), path))
    except ClusterError as error:
        if error.status == HTTPStatus.FORBIDDEN:
            return str(error)
        if error.status != HTTPStatus.NOT_FOUND:
            raise
        return False


def entries_condition(document: Document, verdict: Verdict, known: Entries) -> dict[str, Any] | None:
    """Return the condition of a policy that needs entries for every pod; None: it needs none, or does not compile."""
    wanted = entries_wanted(document)
    if verdict.problems or not wanted:
        return None
    lacking = [kind for kind in wanted if known[kind] is False]
    unread = [text for kind in wanted if isinstance(text := known[kind], str)]
    if lacking:
        got = f"scope All, and the {' and the '.join(lacking)} sends pods with GPUs and of gangs only"
        status, reason, message = "False", "NoEntry", f"{got}; add the component all-pods (docs/policy.md, Scope)"
    elif unread:
        status, reason, message = "Unknown", "NotRead", unread[0]
    else:
        status, reason, message = "True", "EntryExists", ""
    return _condition(_EVERY_POD_SENT, verdict, status, reason, message)


def _condition(kind: str, verdict: Verdict, status: str, reason: str, message: str) -> dict[str, Any]:
    """Return a condition of a status, without the time of its last change."""
    return {
        "type": kind,
        "status": status,
        "observedGeneration": verdict.generation,
        "reason": reason,
        "message": message,
    }


class Settled:
    """A fact that counts once it has stayed the same for so long; until then ``value`` is None."""

    def __init__(self, seconds: float) -> None:
        """Start without a fact."""
        self._seconds = seconds
        self._seen: bool | None = None
        self._since = 0.0
        self.value: bool | None = None

    def see(self, seen: bool, at: float) -> None:
        """Note the present state at a time in seconds."""
        if seen != self._seen:
            self._seen, self._since = seen, at
        if at - self._since >= self._seconds:
            self.value = seen


class Freshness:
    """The condition of one replica: the state that it should write for a policy, and the state that it has written.

    It says whether the nodes' agents are heard. It does not follow from the object, and replicas receive heartbeats at
    different moments. So it is written only after the state has stayed the same for a while, and by each replica once
    for each change that it has seen itself: replicas do not answer each other, and a short interruption writes nothing.
    """

    def __init__(self, stale_nodes: Callable[[], int], settle_seconds: float) -> None:
        """Start without conditions. ``stale_nodes`` returns the number of nodes whose agent is silent."""
        self._stale_nodes = stale_nodes
        self._fresh = Settled(settle_seconds)
        self._said: dict[str, object] = {}
        self.readers: Collection[str] = ()
        """The policies that ask for nodes, by name."""

    def look(self, at: float) -> None:
        """Note the present state at a time in seconds."""
        self._fresh.see(not self._stale_nodes(), at)

    def keep(self, names: Collection[str]) -> None:
        """Forget the conditions of policies that no longer exist."""
        self._said = {name: each for name, each in self._said.items() if name in names}

    def due(self, document: Document, verdict: Verdict) -> dict[str, Any] | None:
        """Return the condition that a policy should have; its present one if this replica has nothing new to write."""
        if verdict.problems or verdict.name not in self.readers:
            return None
        if self._fresh.value is None or self._said.get(verdict.name) == self._turn(document, verdict):
            known = (document.get("status") or {}).get("conditions") or ()
            return next((dict(each) for each in known if each.get("type") == _TOPOLOGY_FRESH), None)
        fresh = self._fresh.value
        said = ("True", "NoneSilent", "") if fresh else ("False", "AgentsSilent", _SILENT)
        return _condition(_TOPOLOGY_FRESH, verdict, *said)

    def said(self, document: Document, verdict: Verdict) -> None:
        """Note that the object has the due condition, from this replica or another."""
        if self._fresh.value is not None:
            self._said[verdict.name] = self._turn(document, verdict)

    def _turn(self, document: Document, verdict: Verdict) -> object:
        return document["metadata"]["uid"], verdict.generation, self._fresh.value


_MANAGER: Final = "podberth-status"
# The limit of a condition's message (meta/v1 Condition, maxLength).
_LONGEST_MESSAGE: Final = 32_768
# Another writer has changed or deleted it: that is an event, and the next step follows from it.
_CHANGED_SINCE: Final = frozenset({HTTPStatus.CONFLICT, HTTPStatus.NOT_FOUND})


@dataclass
class PolicyStatuses:
    """Writes the status of the policies of one cluster; ``run`` begins."""

    client: Client
    log: Log
    timing: Timing
    configuration: str
    """The name of the two webhook configurations."""
    stale_nodes: InitVar[Callable[[], int]]
    """Returns the number of nodes whose agent is silent."""
    notify: Callable[[Notice], None] | None = None
    """Takes notices for Events."""

    def __post_init__(self, stale_nodes: Callable[[], int]) -> None:
        """Start without a status."""
        self._freshness = Freshness(stale_nodes, self.timing.settle_seconds)
        self._pace = Pace(self.timing, random)
        self._due = asyncio.Event()
        self._documents: Mapping[str, Document] = {}
        self._verdicts: Sequence[Verdict] = ()
        self._said: dict[str, object] = {}

    def tell(
        self, documents: Mapping[str, Document], verdicts: Sequence[Verdict], readers: Collection[str] = ()
    ) -> None:
        """Take the policies as they are now, their verdicts, and the names of those that ask for nodes."""
        self._documents, self._verdicts, self._freshness.readers = documents, verdicts, readers
        self._said = {name: each for name, each in self._said.items() if name in documents}
        self._freshness.keep(documents)
        self._due.set()

    async def run(self) -> None:
        """Write the statuses that are due, until cancelled."""
        try:
            while True:
                # Changes of webhook configurations are not watched, and time passes without an event.
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._due.wait(), self.timing.look_seconds)
                self._due.clear()
                await self._write_safely()
        finally:
            await self.client.reset()

    async def _write_safely(self) -> None:
        self._freshness.look(time.monotonic())
        try:
            await self._write()
            self._pace.succeeded()
        except ClusterError as error:
            self.log.event("warning", "policies: a status cannot be written; tried again", problem=str(error))
            await self.client.reset()
            self._due.set()
            await asyncio.sleep(self._pace.wait_seconds(0.0, error.retry_after_seconds))
        except Exception as bug:  # noqa: BLE001 - reviews are decided even without a status
            self.log.fault("policies: a bug in podberth; statuses are looked at again", bug)

    async def _write(self) -> None:
        # Both at one moment: a policy that arrives while a status is sent is another, perhaps of the same name.
        documents, verdicts = self._documents, self._verdicts
        wanted = any(map(entries_wanted, documents.values()))
        known = await entries(self.client, self.configuration) if wanted else {}
        for verdict in verdicts:
            document = documents.get(verdict.name)
            if document is None:
                continue
            metadata = document["metadata"]
            version = (metadata["uid"], verdict.generation)
            fresh = self._freshness.due(document, verdict)
            extra = [each for each in (entries_condition(document, verdict, known), fresh) if each]
            again = self._said.get(verdict.name) != version
            status = status_due(document, verdict, datetime.now(UTC), again=again, extra=extra)
            if status is None:
                self._freshness.said(document, verdict)
                continue
            # With its resourceVersion: of two replicas that notice it at once, the second is refused.
            named = {key: metadata[key] for key in ("name", "uid", "resourceVersion")}
            body = {"apiVersion": API_VERSION, "kind": POLICY_KIND, "metadata": named, "status": status}
            path = POLICIES.path.below(verdict.name, "status").asking({"fieldManager": _MANAGER, "force": "true"})
            try:
                await self.client.send("PATCH", path, body, APPLY_PATCH)
            except ClusterError as error:
                if error.status not in _CHANGED_SINCE:
                    raise
            else:
                self._said[verdict.name] = version
                self._freshness.said(document, verdict)
                # The writer of the status has seen the change, and no other replica has.
                notice = turn(document, verdict)
                if self.notify is not None and notice is not None:
                    self.notify(notice)


def status_due(
    document: Document, verdict: Verdict, now: datetime, *, again: bool, extra: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any] | None:
    """Return the status to write; None if there is nothing to write.

    Args:
        document: the policy as it is now.
        verdict: the verdict on it, or on an earlier generation of it: then another verdict will follow.
        now: for conditions that change.
        again: whether a condition that another writer has set for this generation may be corrected.
        extra: conditions that do not follow from the object; they may always be corrected.
    """
    if document["metadata"].get("generation") != verdict.generation:
        return None
    known = document.get("status") or {}
    before = {each["type"]: each for each in known.get("conditions") or ()}
    conditions = _conditions(verdict)
    spoken_of = known.get("observedGeneration") == verdict.generation
    if spoken_of and (not again or all(_says(before.get(each["type"]), each) for each in conditions)):
        if all(_says(before.get(str(each["type"])), each) for each in extra):
            return None
        conditions = [dict(before.get(each["type"], each)) for each in conditions]
    conditions += map(dict, extra)
    for each in conditions:
        earlier = before.get(each["type"])
        same = earlier is not None and earlier["status"] == each["status"]
        each["lastTransitionTime"] = earlier["lastTransitionTime"] if earlier and same else as_time(now)
    return {"observedGeneration": verdict.generation, "conditions": conditions}


def turn(document: Document, verdict: Verdict) -> Notice | None:
    """Return the notice for a policy that gets the status of a verdict, with the last status in ``document``.

    None: it compiles as before, or is broken as before.
    """
    metadata, known = document["metadata"], document.get("status") or {}
    before = {each["type"]: each["status"] for each in known.get("conditions") or ()}.get("Compiled")
    generation, first = f"generation {verdict.generation}", next(iter(verdict.problems), None)
    if before == ("True" if first is None else "False"):
        return None
    if first is None:
        reason, text = "InForce", f"{generation} decides reviews"
    elif before is None:
        reason, text = "NotCompiled", f"{generation} does not compile, and nothing is in its place: {first}"
    else:
        kept = "replicas keep to the last that did until they restart"
        reason, text = "Outdated", f"{generation} does not compile; {kept}: {first}"
    regarding = Regarding(
        api_version=API_VERSION, kind=POLICY_KIND, namespace="", name=verdict.name, uid=str(metadata["uid"])
    )
    return Notice(
        regarding=regarding,
        type="Warning" if verdict.problems else "Normal",
        reason=reason,
        action="Compile",
        note=note(text),
    )


def _conditions(verdict: Verdict) -> list[dict[str, Any]]:
    if not verdict.problems:
        said = {"Compiled": ("True", "Compiled", ""), "Active": ("True", "InForce", "")}
    else:
        problems = "\n".join(map(str, verdict.problems))[:_LONGEST_MESSAGE]
        kept = "not compiled; where an earlier generation was in force, that one stays in force"
        said = {"Compiled": ("False", "Broken", problems), "Active": ("False", "NotCompiled", kept)}
    return [_condition(kind, verdict, *each) for kind, each in said.items()]


def _says(known: Mapping[str, Any] | None, wanted: Mapping[str, Any]) -> bool:
    return known is not None and all(known.get(key) == value for key, value in wanted.items())
