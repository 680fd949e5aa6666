"""Loads the policies in force, as ``podberth serve`` does, and collects the policies' claim templates.

A claim template of a policy declares a ResourceClaimTemplate that waiting pods may name.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from ..admission.snapshot import Snapshot
from ..api.protocol import Document
from ..cluster.layered_policies import LayeredPolicies
from ..errors import PodberthError
from ..telemetry.log import Log

Templates: TypeAlias = Mapping[str, Mapping[str, Any]]
"""The specs of ResourceClaimTemplates, by the names that are written on pods."""

_KEPT: Final = "policies: the last good ones stay in force"
# The interval at which podberth serve checks its files by default. A check of a few dozen files takes a millisecond.
_LOOK_SECONDS = 2.0


class Declared:
    """Keeps the claim templates of policies up to date.

    If a policy has errors, the policy's last working version counts.
    """

    def __init__(self, source: LayeredPolicies, adopt: Callable[[Templates], None], log: Log) -> None:
        """Create the object without policies; ``adopt`` receives the templates after each change."""
        self.loaded = False
        """Whether the policies have been loaded at least once."""
        self._source = source
        self._adopt = adopt
        self._log = log
        self._seen: Mapping[str, object] = {}
        self._now: Templates = {}
        self._looking = asyncio.Lock()

    async def look(self) -> None:
        """Load the policies if any policy has changed, and pass the policies' claim templates to ``adopt``."""
        async with self._looking:
            await self._look()

    async def _look(self) -> None:
        seen = await asyncio.to_thread(self._source.revision)
        if seen == self._seen:
            return
        self._seen = seen
        try:
            loaded = await asyncio.to_thread(self._source.load)
        except PodberthError as error:
            self._log.event("error", _KEPT, problem=str(error))
            return
        except Exception as bug:  # noqa: BLE001 - a bug in handling a policy must not keep all gangs waiting
            self._log.fault("policies: a bug in podberth; the last good ones stay in force", bug)
            return
        if loaded.refused:
            self._log.event("error", _KEPT, problem="\n".join(map(str, loaded.refused)))
        if not loaded.complete:
            return
        now = templates(loaded.snapshot)
        if loaded.refused and now == self._now:
            return
        before, self._now = self._now, now
        self.loaded = True
        self._log.event("info", "loaded", what=["policies"], claim_templates=sorted(self._now))
        # The earlier templates are kept, because the earlier policies may have admitted a pod a moment ago.
        self._adopt({**before, **self._now})

    async def run(self) -> None:
        """Check for changed policies every two seconds until the task is cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(_LOOK_SECONDS)

    async def take(self, documents: Mapping[str, Document]) -> None:
        """Receive the present GPUPolicies of the cluster, by name."""
        self._source.take(documents)
        await self.look()


def templates(snapshot: Snapshot) -> Templates:
    """Return a mapping from the name that is written on pods to each claim template of a snapshot's policies."""
    declared = (each for policy in snapshot.policies for each in policy.source.spec.claim_templates)
    return {each.written_name: each.document for each in declared}
