"""A check of a live cluster from its lists to its reports: the I/O of ``podberth check --cluster``."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from ..api.opening import Client, Kubeconfig, client_class
from ..api.protocol import POLICIES, Timing
from ..api.reflector import PAGE
from ..check.model import Report
from ..cluster.policy_objects import text
from ..errors import ClusterError
from .against import Gathered
from .inventory import Lister, take_inventory
from .policy_reports import ReportWriter, dialect_of
from .run import Policies


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """The objects to check, the policies, and the lines to print about them."""

    gathered: Gathered
    policies: Policies
    """The policies that were given, or those of the cluster."""
    talk: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """The address of the API server, and the part of the cluster that is checked."""

    kubeconfig: Kubeconfig | None
    """None: a pod's own service account."""
    namespace: str = ""
    """Empty: all."""
    page: int = PAGE
    timing: Timing = field(default_factory=Timing)

    async def survey(self, extra: frozenset[str], *, nodes: bool, policies: Policies | None, reports: bool) -> Survey:
        """List everything; ``extra`` are further kinds of workloads. Without ``policies``, read those of the cluster.

        Raises:
            UsageError: the cluster's client is not installed, or no cluster is configured.
            ClusterError: the cluster cannot be read, has no policies, or no reports to write.
        """
        async with self._connected() as (_, lister):
            if reports:  # checked before an hour's work
                await dialect_of(lister)
            judging = policies or await _policies(lister)
            inventory = await take_inventory(lister, self.namespace, extra, nodes=nodes)
        names = ", ".join(inventory.unserved)
        talk = (f"not served here, so there are none: {names}",) if names else ()
        return Survey(gathered=inventory.gathered, policies=judging, talk=talk)

    async def write(self, report: Report) -> ReportWriter:
        """Write the findings to the cluster's reports; return the writer, which counts them.

        Raises:
            ClusterError: it has none, or they cannot be listed.
        """
        async with self._connected() as (client, lister):
            writer = ReportWriter(client, lister, await dialect_of(lister))
            await writer.put(report, self.namespace)
        return writer

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[tuple[Client, Lister]]:
        client = client_class("--cluster")(self.kubeconfig, self.timing)
        try:
            yield client, Lister(client, self.timing, page=self.page)
        finally:
            await client.reset()


async def _policies(lister: Lister) -> Policies:
    try:
        found = await lister.objects(POLICIES)
    except ClusterError as error:
        raise ClusterError(error.reason, f"--policies cluster: {error}") from error
    texts = [(f"gpupolicy/{each['metadata']['name']}", text(each)) for each in found]
    return Policies(texts=texts, problems=(), where=" of the cluster")
