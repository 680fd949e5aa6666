"""The conditions in the status of GPUPolicies: Compiled, Active, EveryPodSent and TopologyFresh.

Compiled and Active follow from the GPUPolicy and from the policy files of the replicas. Replicas of one version agree,
so only the first replica has to write both conditions. Replicas of different versions may disagree. Each replica then
writes its result once for each generation of the GPUPolicy, and does not correct what other replicas write later.
EveryPodSent is only for policies of scope All. It follows from the webhook configurations, which are read again before
the condition is written. TopologyFresh is only for policies that ask for nodes; ``Freshness`` explains the condition.
The conditions are written in the background, never during a review.
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
from ..api.protocol import APPLY_PATCH, POLICIES, Document, Pace, Resource, Timing, read_object
from ..errors import ClusterError
from ..files.source import Verdict
from ..kube.api_path import ApiPath, collection_path
from ..kube.times import as_time
from ..policy.every_pod import entries_wanted, sends_every_pod
from ..telemetry.log import Log
from ..wellknown import API_VERSION, POLICY_KIND
from .shared_ca import KINDS

_EVERY_POD_SENT: Final = "EveryPodSent"
_TOPOLOGY_FRESH: Final = "TopologyFresh"
# The text has no names and numbers of nodes, because these change often; podberth status has them.
_SILENT: Final = (
    "heartbeats of agents have run out: policies count on none of these nodes, and deny nothing for it; "
    "podberth status names them"
)

Entries: TypeAlias = Mapping[str, bool | str]
"""The result of ``entries``: for each kind of webhook configuration, whether the configuration sends every pod to
podberth. A text in place of the bool says why the answer is unknown."""


async def entries(client: Client, name: str) -> Entries:
    """Return, for both webhook configurations called ``name``, whether the configuration sends every pod to podberth.

    The result is a mapping from the kind of the configuration to True or False; False if the configuration does not
    exist. If podberth may not read a configuration, the value is the text of the refusal.

    Raises:
        ClusterError: a configuration cannot be read for another reason.
    """
    found: dict[str, bool | str] = {}
    for kind, collection in KINDS.items():
        path = collection.below(name)
        try:
            found[kind] = sends_every_pod(read_object(await client.get(path, {}), path))
        except ClusterError as error:
            if error.status not in {HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND}:
                raise
            found[kind] = str(error) if error.status == HTTPStatus.FORBIDDEN else False
    return found


def entries_condition(document: Document, verdict: Verdict, known: Entries) -> dict[str, Any] | None:
    """Return the condition EveryPodSent of a policy: whether the webhook configurations send every pod to podberth.

    Returns None if the policy does not need every pod, or does not compile. ``known`` says for each webhook
    configuration whether it sends every pod, or why that is not known.
    """
    wanted = entries_wanted(document)
    if verdict.problems or not wanted:
        return None
    lacking = [kind for kind in wanted if known[kind] is False]
    unread = [text for kind in wanted if isinstance(text := known[kind], str)]
    if lacking:
        got = f"scope All, and the {' and the '.join(lacking)} sends pods with GPUs and of gangs only"
        page = "docs/policy.md, Scope, and what is left alone"
        status, reason, message = "False", "NoEntry", f"{got}; add the component all-pods ({page})"
    elif unread:
        status, reason, message = "Unknown", "NotRead", unread[0]
    else:
        status, reason, message = "True", "EntryExists", ""
    return _condition(_EVERY_POD_SENT, verdict, status, reason, message)


def _condition(kind: str, verdict: Verdict, status: str, reason: str, message: str) -> dict[str, Any]:
    """Return a condition for a policy's status, without the time of the last change."""
    return {
        "type": kind,
        "status": status,
        "observedGeneration": verdict.generation,
        "reason": reason,
        "message": message,
    }


class Freshness:
    """Decides on the condition TopologyFresh for one replica: whether the heartbeats of the nodes' agents arrive.

    Replicas receive heartbeats at different moments. So each replica writes the condition only if the state has not
    changed for a while, and once for each change that the replica itself has seen. No replica reacts to the writes of
    another replica, and a short interruption causes no write.
    """

    def __init__(self, stale_nodes: Callable[[], int], settle_seconds: float) -> None:
        """Create the object without conditions. ``stale_nodes`` returns the number of nodes with an expired heartbeat.

        A state of the heartbeats counts after it has lasted for ``settle_seconds``.
        """
        self._stale_nodes = stale_nodes
        self._settle_seconds = settle_seconds
        self._seen: bool | None = None
        self._since = 0.0
        self.fresh: bool | None = None
        """Whether no heartbeat has expired: the last state that lasted for ``settle_seconds``; None if none has yet."""
        self._said: dict[str, object] = {}
        self.readers: Collection[str] = ()
        """The names of the policies that read the topology, and so have the condition."""

    def look(self, at: float) -> None:
        """Record whether any agent's heartbeat has expired; ``at`` is the monotonic clock's time in seconds."""
        seen = not self._stale_nodes()
        if seen != self._seen:
            self._seen, self._since = seen, at
        if at - self._since >= self._settle_seconds:
            self.fresh = seen

    def keep(self, names: Collection[str]) -> None:
        """Forget the conditions of all policies except ``names``, because other policies no longer exist."""
        self._said = {name: each for name, each in self._said.items() if name in names}

    def due(self, document: Document, verdict: Verdict) -> dict[str, Any] | None:
        """Return the condition TopologyFresh that a policy's status should have.

        If the replica has nothing new to write, the result is the present condition of the status. None if the policy
        does not compile or does not read the topology, or if there is neither a new nor a present condition.
        """
        if verdict.problems or verdict.name not in self.readers:
            return None
        if self.fresh is None or self._said.get(verdict.name) == self._turn(document, verdict):
            known = (document.get("status") or {}).get("conditions") or ()
            return next((dict(each) for each in known if each.get("type") == _TOPOLOGY_FRESH), None)
        said = ("True", "NoneSilent", "") if self.fresh else ("False", "AgentsSilent", _SILENT)
        return _condition(_TOPOLOGY_FRESH, verdict, *said)

    def said(self, document: Document, verdict: Verdict) -> None:
        """Record that the policy's status has the condition that ``due`` returned, written by any replica."""
        if self.fresh is not None:
            self._said[verdict.name] = self._turn(document, verdict)

    def _turn(self, document: Document, verdict: Verdict) -> object:
        return document["metadata"]["uid"], verdict.generation, self.fresh


_MANAGER: Final = "podberth-status"
# The limit of a condition's message (meta/v1 Condition, maxLength).
_LONGEST_MESSAGE: Final = 32_768
# Another writer has changed or deleted the policy. The watch reports that, and the status is then computed again.
_CHANGED_SINCE: Final = frozenset({HTTPStatus.CONFLICT, HTTPStatus.NOT_FOUND})
# The API server refuses what it has read of one object: for its content, or with 500 because etcd takes no more bytes.
_OF_ONE: Final = frozenset(
    {
        HTTPStatus.BAD_REQUEST,
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        HTTPStatus.UNPROCESSABLE_ENTITY,
        HTTPStatus.INTERNAL_SERVER_ERROR,
    }
)
_TURN: Final = 100
"""How many policies are looked at before the event loop can answer reviews; each takes 8 us."""


@dataclass
class PolicyStatuses:
    """Writes the status of the policies of one kind in one cluster, while ``run`` is active."""

    client: Client
    log: Log
    timing: Timing
    configuration: str
    """The name that podberth's two webhook configurations share."""
    stale_nodes: InitVar[Callable[[], int]]
    """A function that returns the number of nodes whose agent is silent."""
    notify: Callable[[Notice], None] | None = None
    """The function that receives notices, to be published as Events."""
    kind: str = POLICY_KIND
    """The kind of the policies."""
    resource: Resource = POLICIES

    def __post_init__(self, stale_nodes: Callable[[], int]) -> None:
        self._freshness = Freshness(stale_nodes, self.timing.settle_seconds)
        self._pace = Pace(self.timing, random)
        self._due = asyncio.Event()
        self._documents: Mapping[str, Document] = {}
        self._verdicts: Sequence[Verdict] = ()
        self._said: dict[str, object] = {}
        self._settled: dict[str, tuple[Document, Verdict]] = {}
        """The document and the verdict of each policy whose status depends on nothing else, and has it already."""
        self._refused: dict[str, Document] = {}
        """The policies whose status the API server has refused."""

    def receive(
        self, documents: Mapping[str, Document], verdicts: Sequence[Verdict], readers: Collection[str] = ()
    ) -> None:
        """Receive the policies by name, the result of loading each, and the names of those that read the topology."""
        self._documents, self._verdicts, self._freshness.readers = documents, verdicts, readers
        self._said = {name: each for name, each in self._said.items() if name in documents}
        self._settled = {name: each for name, each in self._settled.items() if each[0] is documents.get(name)}
        self._refused = {name: each for name, each in self._refused.items() if each is documents.get(name)}
        self._freshness.keep(documents)
        self._due.set()

    async def run(self) -> None:
        """Write the status of each policy whose status is out of date, until the task is cancelled."""
        try:
            while True:
                # No event reports a change of the webhook configurations or the passing of time.
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
        # Both are read at one moment: while a status is sent, another policy of the same name may arrive.
        documents, verdicts = self._documents, self._verdicts
        wanted = any(map(entries_wanted, documents.values()))
        known = await entries(self.client, self.configuration) if wanted else {}
        for number, verdict in enumerate(verdicts):
            if number % _TURN == _TURN - 1:
                await asyncio.sleep(0)
            document = documents.get(verdict.name)
            settled = self._settled.get(verdict.name)
            if document is None or (settled and settled[0] is document and settled[1] is verdict):
                continue
            try:
                await self._write_one(document, verdict, known)
            except ClusterError as error:
                if error.status not in _OF_ONE:
                    raise
                # Whoever wrote this policy must not keep the others from their statuses; it is tried at the next look.
                if self._refused.get(verdict.name) is not document:
                    self.log.event("warning", f"policies: the status of {verdict.name} is refused", problem=str(error))
                self._refused[verdict.name] = document

    async def _write_one(self, document: Document, verdict: Verdict, known: Entries) -> None:
        metadata = document["metadata"]
        version = (metadata["uid"], verdict.generation, verdict.replaces)
        fresh = self._freshness.due(document, verdict)
        extra = [each for each in (entries_condition(document, verdict, known), fresh) if each]
        again = self._said.get(verdict.name) != version
        status = status_due(document, verdict, datetime.now(UTC), again=again, extra=extra)
        if status is None:
            self._freshness.said(document, verdict)
            if not extra and verdict.name not in self._freshness.readers:
                self._settled[verdict.name] = document, verdict
            return
        # With the resourceVersion, so that of two replicas that write at once the API server refuses the second.
        named = {key: metadata[key] for key in ("name", "namespace", "uid", "resourceVersion") if key in metadata}
        body = {"apiVersion": API_VERSION, "kind": self.kind, "metadata": named, "status": status}
        path = status_path(self.resource, verdict.name).asking({"fieldManager": _MANAGER, "force": "true"})
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


def status_path(resource: Resource, name: str) -> ApiPath:
    """Return the path of the status of a policy; ``name`` is NAME, or NAMESPACE/NAME of a policy of a namespace."""
    namespace, _, own = name.rpartition("/")
    return collection_path(API_VERSION, resource.name, namespace).below(own, "status")


def status_due(
    document: Document, verdict: Verdict, now: datetime, *, again: bool, extra: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any] | None:
    """Return the status to write for a policy; None if nothing has to be written.

    Args:
        document: the policy as it is now.
        verdict: the result of loading the policy. If it is about an earlier generation, nothing is written, because
            another result will follow.
        now: the time for conditions that change.
        again: whether a condition may be corrected that another writer has set for the generation of ``verdict``.
        extra: conditions that do not follow from the policy; these conditions may always be corrected.
    """
    if document["metadata"].get("generation") != verdict.generation:
        return None
    known = _reported(document)
    before = {each["type"]: each for each in known.get("conditions") or ()}
    said = {"Compiled": _compiled(verdict), "Active": _active(verdict)}
    conditions = [_condition(kind, verdict, *each) for kind, each in said.items()]
    is_reported = known.get("observedGeneration") == verdict.generation
    if is_reported and (not again or all(_says(before.get(each["type"]), each) for each in conditions)):
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
    """Return the notice that a policy now compiles, no longer compiles, or is disabled; None without such a change.

    ``document`` has the last status of the policy, and ``verdict`` is the new result of loading the policy.
    """
    metadata, known = document["metadata"], _reported(document)
    before = {each["type"]: each["status"] for each in known.get("conditions") or ()}.get("Compiled")
    generation, first = f"generation {verdict.generation}", next(iter(verdict.problems), None)
    if before == _compiled(verdict)[0]:
        return None
    if verdict.state == "disabled":
        reason, text = "Disabled", f"{generation} decides nothing{_for_that_of(verdict, ', and neither does')}"
    elif first is None:
        reason, text = "InForce", f"{generation} decides reviews{_for_that_of(verdict, ', in the place of')}"
    elif before is None:
        kept = _for_that_of(verdict, "") or " nothing"
        reason, text = "NotCompiled", f"{generation} does not compile, and{kept} is in its place: {first}"
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


def _reported(document: Document) -> Mapping[str, Any]:
    """Return the part of a policy's status that podberth has written; empty if podberth has written no status.

    The CRD's default status, which says that no podberth has read the policy, has no observedGeneration.
    """
    status: Mapping[str, Any] = document.get("status") or {}
    return status if "observedGeneration" in status else {}


def _for_that_of(verdict: Verdict, before: str) -> str:
    """Return the text "BEFORE the policy of this name in FILE"; empty if no file has a policy of the verdict's name.

    FILE is the file of the policy that the GPUPolicy replaces. BEFORE is ``before``, such as ", in the place of".
    """
    return f"{before} the policy of this name in {verdict.replaces}" if verdict.replaces else ""


def _compiled(verdict: Verdict) -> tuple[str, str, str]:
    """Return (status, reason, message) of a policy's condition Compiled."""
    if verdict.problems:
        return "False", "Broken", "\n".join(map(str, verdict.problems))[:_LONGEST_MESSAGE]
    if verdict.state == "disabled":
        return "Unknown", "Disabled", "not compiled while spec.disabled is true"
    return "True", "Compiled", ""


def _active(verdict: Verdict) -> tuple[str, str, str]:
    """Return (status, reason, message) of a policy's condition Active."""
    if verdict.problems:
        kept = "not compiled; where an earlier generation was in force, that one stays in force"
        return "False", "NotCompiled", kept + _for_that_of(verdict, ", else")
    if verdict.state == "disabled":
        return "False", "Disabled", f"spec.disabled is true{_for_that_of(verdict, '; it switches off')}"
    return "True", "Replaces" if verdict.replaces else "InForce", _for_that_of(verdict, "replaces")


def _says(known: Mapping[str, Any] | None, wanted: Mapping[str, Any]) -> bool:
    return known is not None and all(known.get(key) == value for key, value in wanted.items())
