"""Lists a live cluster, and writes a check's findings to its reports: the I/O of ``podberth check --cluster``."""

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
    """The listed objects, the policies, and lines for the user about both."""

    gathered: Gathered
    policies: Policies
    """The policies that the user named, or those of the cluster."""
    talk: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyedCluster:
    """The API server to use, and the part of the cluster to check."""

    kubeconfig: Kubeconfig | None
    """The kubeconfig; None for the service account of a pod."""
    namespace: str = ""
    """The namespace to check; empty for all."""
    page: int = PAGE
    timing: Timing = field(default_factory=Timing)

    async def survey(self, extra: frozenset[str], *, nodes: bool, policies: Policies | None, reports: bool) -> Survey:
        """List the objects to check; ``extra`` are further kinds. If ``policies`` is None, read the cluster's.

        Raises:
            UsageError: the cluster's client is not installed, or no cluster is configured.
            ClusterError: the cluster cannot be read, has no policies, or serves no API for reports.
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
        """Write the findings to the cluster's reports, and return the writer, which has the counts.

        Raises:
            ClusterError: the cluster serves no API for reports, or they cannot be listed.
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
