"""Follows the ConfigMaps of tenants that policies may read as params, once a policy needs params of tenants.

podberth watches only ConfigMaps with a label that marks params. The default installation does not have the right to
list the ConfigMaps (docs/adr/0049-tenancy.md). Without the right, policies that look for params in other namespaces
have an error. Because tenants write the ConfigMaps, their number and size are limited: for each namespace by
``admission.namespace_params``, and for all namespaces together by this module.
"""

import asyncio
import random
import time
from collections.abc import Callable, Mapping
from typing import Final

from ..admission.namespace_params import (
    MOST_BYTES_OF_NAMESPACE,
    MOST_OF_NAMESPACE,
    NamespaceParams,
    excess_of_all,
    measure,
)
from ..api.protocol import NAMESPACE_PARAMS, Document, Pace
from ..api.reflector import ClusterAccess, Reflector, run_together
from ..errors import ClusterError
from ..kube.unchecked import text_at
from ..telemetry.watch_metrics import KindState, WatchFacts
from ..wellknown import NAMESPACE
from .required import watch_facts
from .tenant_objects import Kept, TenantObjects
from .whole_objects import rounds, without

MOST_BYTES_OF_ALL: Final = 64 * 1024 * 1024
"""The maximum size of all kept ConfigMaps together: an eighth of the memory that the manifests grant. A namespace can
take 1/128 of that size."""
_KEPT_BEYOND: Final = 2
"""How many times the bounds of a namespace are kept, so that a namespace is known again once some are deleted. Beyond
that, a ConfigMap is noticed only when it changes, as with other kinds (``cluster.workloads``)."""

_REFUSED: Final = "got no right to list its ConfigMaps, want it; install the component namespace-params"

TakesParams = Callable[[Mapping[str, NamespaceParams] | str], None]
"""A function that receives the ConfigMaps by namespace, or a message if podberth cannot follow the ConfigMaps."""


class LiveParams:
    """Keeps the ConfigMaps with the label of params, and calls ``on_change`` with all of them when one changes."""

    def __init__(self, on_change: TakesParams, access: ClusterAccess) -> None:
        """Create the object without ConfigMaps. No request is sent before the first call of ``known``."""
        self._on_change = on_change
        self._access = access
        self._client = access.connect()
        self._pace = Pace(access.timing, random.random)
        self._wanted = asyncio.Event()
        self._answered = asyncio.Event()
        self._handed_on = asyncio.Event()
        self._wake = asyncio.Event()
        self.sink = TenantParams(self._wake.set)
        self._reflector: Reflector | None = None
        self._refused = ""

    async def known(self) -> None:
        """Start to follow the ConfigMaps; return when ``on_change`` has got the ConfigMaps, or a refusal.

        If the API server does not answer for the configured time (``Timing.refused_seconds``), the method returns;
        until the API server answers, policies that need params have an error.
        """
        self._wanted.set()
        try:
            async with asyncio.timeout(self._access.timing.refused_seconds):
                await self._handed_on.wait()
        except TimeoutError:
            self._access.log.event("warning", "params: ConfigMaps of namespaces are not listed yet")

    def unlisted(self) -> list[str]:
        """Return nothing, because only policies that need params wait for them."""
        return []

    def watched(self) -> Mapping[str, WatchFacts]:
        """Return a mapping from the resource's name to facts about the watch; empty before a policy needs params."""
        if self._reflector is None:
            return {}
        return {NAMESPACE_PARAMS.name: watch_facts(self._reflector, {"unreadable": self.sink.objects.unusable})}

    def states(self) -> Mapping[str, KindState]:
        """Return a mapping from the name of the resource to the watch's state; empty before a policy needs params."""
        if not self._wanted.is_set():
            return {}
        listed = self._reflector is not None and self._reflector.listed.is_set()
        return {NAMESPACE_PARAMS.name: "refused" if self._refused else "followed" if listed else "listing"}

    async def run(self) -> None:
        """Follow the ConfigMaps from the first call of ``known`` on, until the task is cancelled."""
        await self._wanted.wait()
        await run_together([self._follow(), self._hand_on()])

    async def _follow(self) -> None:
        while True:
            began = time.monotonic()
            self._reflector = Reflector(NAMESPACE_PARAMS, self._client, self.sink, self._access)
            self._reflector.when_listed = self._listed
            try:
                await self._reflector.run()
            except ClusterError as error:
                self._refuse(str(error))
            # The right may be granted at any time, and a server that has just started refuses everybody for some
            # seconds.
            await asyncio.sleep(self._pace.wait_seconds(time.monotonic() - began))

    def _listed(self) -> None:
        self._refused = ""
        self._answered.set()
        self._wake.set()

    def _refuse(self, problem: str) -> None:
        self.sink.objects.forget()
        if problem != self._refused:
            self._refused = problem
            self._access.log.event("warning", "params: ConfigMaps of namespaces are not followed", problem=problem)
        self._answered.set()
        self._wake.set()

    async def _hand_on(self) -> None:
        await self._answered.wait()
        async for _ in rounds(self._wake):
            self._on_change(_REFUSED if self._refused else self.sink.take())
            self._handed_on.set()


class TenantParams:
    """Receives ConfigMaps and keeps them by namespace, within bounds."""

    sight = None

    def __init__(self, notify: Callable[[], None]) -> None:
        """Create the object without ConfigMaps; ``notify`` is called when a ConfigMap changes."""
        self._notify = notify
        self.objects = TenantObjects()
        self._found: dict[str, NamespaceParams] = {}

    def take(self) -> Mapping[str, NamespaceParams]:
        """Return a mapping from namespace to the kept ConfigMaps of the namespace.

        Only the namespaces that have changed since the last call are computed again. The result is the same object as
        at the last call if none has changed.
        """
        changed = self.objects.take_changed()
        if not changed:
            return self._found
        found = dict(self._found)
        for namespace in changed:
            if those := self.objects.of(namespace):
                found[namespace] = _params(namespace, those)
            else:
                found.pop(namespace, None)
        self._found = found
        return found

    def put(self, name: str, document: Document) -> None:
        """Keep a ConfigMap; ``name`` is NAMESPACE/NAME. ConfigMaps in podberth's own namespace are ignored."""
        namespace, _, own = name.partition("/")
        if namespace == NAMESPACE or not text_at(document, "metadata", "uid"):
            return
        self.objects.remove(namespace, own)
        document = without(document, "managedFields")
        measured = measure(document)
        problem = measured.excess or self._no_room(self.objects.of(namespace), measured.size)
        self.objects.add(namespace, own, Kept({} if problem else document, measured.size, problem))
        self._mark(namespace)

    def drop(self, name: str) -> None:
        """Remove a ConfigMap that was deleted, or that has lost the label of params."""
        namespace, _, own = name.partition("/")
        self.objects.remove(namespace, own)
        self._mark(namespace)

    def _no_room(self, those: Mapping[str, Kept], size: int) -> str:
        """Return a message if a ConfigMap of ``size`` bytes cannot be kept beside ``those`` of its namespace."""
        if len(those) >= _KEPT_BEYOND * MOST_OF_NAMESPACE:
            return f"got more than {MOST_OF_NAMESPACE} ConfigMaps in the namespace; delete some, then write it again"
        if sum(each.size for each in those.values()) + size > _KEPT_BEYOND * MOST_BYTES_OF_NAMESPACE:
            got = f"got more than {MOST_BYTES_OF_NAMESPACE:,} bytes of ConfigMaps in the namespace"
            return f"{got}; delete some, then write it again"
        if self.objects.bytes + size > MOST_BYTES_OF_ALL:
            got = f"got more than {MOST_BYTES_OF_ALL:,} bytes of ConfigMaps in all namespaces"
            return f"{got}; delete some, then write it again"
        return ""

    def _mark(self, namespace: str) -> None:
        self.objects.changed[namespace] = None
        self._notify()


def _params(namespace: str, those: Mapping[str, Kept]) -> NamespaceParams:
    if wrong := [name for name, each in those.items() if each.problem]:
        return NamespaceParams({}, f"ConfigMap {namespace}/{min(wrong)}: {those[min(wrong)].problem}")
    excess = excess_of_all(namespace, len(those), sum(each.size for each in those.values()))
    return NamespaceParams({} if excess else {name: each.document for name, each in sorted(those.items())}, excess)
