"""Follows the GPUPolicies and the GPUPolicyExceptions of a cluster that serves these kinds.

If the cluster lacks the kinds' CustomResourceDefinitions, or forbids podberth to list the objects, only the policies of
files decide. If the first list fails for another reason, ``LivePolicies`` does not call ``on_change`` until a list
succeeds: until then, it is unknown which policies of files the GPUPolicies replace or switch off.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from ..api.protocol import Document
from ..api.reflector import ClusterAccess, run_together
from ..facts.object_kinds import Kind
from ..wellknown import API_VERSION, EXCEPTION_KIND, POLICY_KIND
from .served import ServedKinds
from .whole_objects import rounds, without
from .workloads import Filed

_GROUP, _, _VERSION = API_VERSION.partition("/")


def _whole(document: Document) -> Document:
    return without(document, "managedFields")


GPU_POLICY: Final = Kind("policy", _GROUP, (_VERSION,), POLICY_KIND, "gpupolicies", _whole, of_cluster=True)
"""The kind GPUPolicy, kept as the whole object. The kind is not in ``KINDS``, because no review reads GPUPolicies."""

GPU_EXCEPTION: Final = Kind(
    "exception", _GROUP, (_VERSION,), EXCEPTION_KIND, "gpupolicyexceptions", _whole, of_cluster=True
)
"""The kind GPUPolicyException, kept as the whole object."""

TakesPolicies = Callable[[Mapping[str, Document]], Awaitable[None]]
"""A function that receives all present GPUPolicies, by name."""
TakesExceptions = Callable[[Mapping[str, Document]], None]
"""A function that receives all present GPUPolicyExceptions, by name, each time before the GPUPolicies are reported."""


class LivePolicies(ServedKinds):
    """Keeps the GPUPolicies of one cluster, and calls ``on_change`` with all of them when one changes."""

    def __init__(
        self, on_change: TakesPolicies, access: ClusterAccess, *, on_exceptions: TakesExceptions | None = None
    ) -> None:
        """Create the object without policies; ``run`` starts to follow the cluster.

        ``on_change`` is first called when the GPUPolicies are listed, or are known to be not served or refused.
        Exceptions are followed only if ``on_exceptions`` is given: a caller that decides on no pods does not need
        exceptions.
        """
        self._on_change = on_change
        self._on_exceptions = on_exceptions
        self._wake = asyncio.Event()
        kinds = (GPU_POLICY,) if on_exceptions is None else (GPU_POLICY, GPU_EXCEPTION)
        sinks = {kind: Filed(kind, self._wake.set, access.log) for kind in kinds}
        # ``patient``: without GPUPolicies, policies of files that one of these replaces or switches off would decide.
        super().__init__(sinks, access, patient=True)

    async def run(self) -> None:
        """Follow the GPUPolicies and GPUPolicyExceptions until the task is cancelled."""
        await run_together([super().run(), self._hand_on()])

    async def _hand_on(self) -> None:
        await self.settled.wait()
        async for _ in rounds(self._wake):
            if self._on_exceptions is not None:
                self._on_exceptions(dict(self.sinks[GPU_EXCEPTION].table().facts))
            await self._on_change(dict(self.sinks[GPU_POLICY].table().facts))
