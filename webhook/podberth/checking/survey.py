"""Lists a live cluster and writes the findings to the cluster's reports: the I/O of ``podberth check --cluster``."""

from dataclasses import dataclass, field, replace
from http import HTTPStatus

from ..api.opening import Kubeconfig, connected
from ..api.protocol import EXCEPTIONS, NAMESPACED_POLICIES, POLICIES, Document, Resource, Timing
from ..api.reflector import PAGE
from ..check.result import Report, shown
from ..cluster.layered_policies import OF_EXCEPTIONS, OF_NAMESPACED, OF_POLICIES, texts_of
from ..errors import ClusterError
from ..native.documents import is_native
from ..words import counted
from .against import Gathered
from .inventory import Lister, take_inventory
from .native_objects import NativeObjects, list_natives, list_params
from .policy_reports import ReportWriter, dialect_of
from .run import Policies


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)  # see podberth.why.picture.Picture
class Survey:
    """The input of a check of a cluster: the objects, the policies, and lines for the user about the listing."""

    gathered: Gathered
    policies: Policies
    """The policies of files. If the user wants GPUPolicies of the cluster, too, a GPUPolicy replaces a file's policy
    with an equal name."""
    notes: tuple[str, ...] = ()
    """Lines for the user about kinds that the cluster does not have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyedCluster:
    """The cluster that is checked: the way to reach the API server, and the namespace to check."""

    kubeconfig: Kubeconfig | None
    """The kubeconfig; None if the service account of the pod is used."""
    namespace: str = ""
    """The namespace to check; empty for all namespaces."""
    page: int = PAGE
    timing: Timing = field(default_factory=Timing)

    async def survey(
        self, extra: frozenset[str], *, nodes: bool, policies: Policies, objects: bool, reports: bool
    ) -> Survey:
        """List the objects of the cluster that are to be checked, and return the objects with the policies.

        Args:
            extra: kinds of workloads, such as "MyJob", that are listed besides the kinds that podberth knows.
            nodes: whether nodes and their topology are listed.
            policies: the policies from files.
            objects: whether the cluster's GPUPolicies and native policies are read, too; a GPUPolicy replaces a policy
                in ``policies`` with an equal name.
            reports: whether PolicyReports are to be written, so that the cluster has to serve an API for PolicyReports.

        Raises:
            UsageError: the cluster's client is not installed, or no cluster is configured.
            ClusterError: the cluster or its policies cannot be read, or the cluster serves no API for PolicyReports.
        """
        async with connected("--cluster", self.kubeconfig, self.timing) as client:
            lister = Lister(client, self.timing, page=self.page)
            if reports:  # fails before the lists, which may take an hour
                await dialect_of(lister)
            judging = await _with_objects(policies, lister) if objects else policies
            params = judging.look_for_tenants_params()
            inventory = await take_inventory(lister, self.namespace, extra, nodes=nodes, params=params)
            natives = await _natives(policies, lister, objects=objects)
        unserved = inventory.unserved
        notes = (f"not served here, so there are none: {counted(len(unserved), 'kind')}, {shown(unserved)}",)
        gathered = replace(
            inventory.gathered,
            missing=(*inventory.gathered.missing, *natives.missing),
            natives=natives.documents,
            talk=natives.talk,
            unjudged=natives.unjudged,
        )
        judging = replace(judging, has_natives=any(map(is_native, natives.documents)))
        return Survey(gathered=gathered, policies=judging, notes=notes if unserved else ())

    async def write(self, report: Report) -> ReportWriter:
        """Write the findings to the cluster's PolicyReports; return the writer, which counts the written PolicyReports.

        Raises:
            ClusterError: the cluster serves no API for PolicyReports, or the PolicyReports cannot be listed.
        """
        async with connected("--cluster", self.kubeconfig, self.timing) as client:
            lister = Lister(client, self.timing, page=self.page)
            writer = ReportWriter(client, lister, await dialect_of(lister))
            await writer.put(report, self.namespace)
        return writer


async def _with_objects(policies: Policies, lister: Lister) -> Policies:
    texts = texts_of(await _listed(lister, POLICIES, "GPUPolicies"), OF_POLICIES)
    exceptions = texts_of(await _listed(lister, EXCEPTIONS, "GPUPolicyExceptions"), OF_EXCEPTIONS)
    own = texts_of(await _listed(lister, NAMESPACED_POLICIES, "NamespacedGPUPolicies"), OF_NAMESPACED)
    where = f"{policies.where}, and GPUPolicies of the cluster" if policies.where else " of the cluster"
    tested = policies.tested and not texts
    return replace(policies, objects=(*texts, *exceptions, *own), where=where, tested=tested)


async def _natives(policies: Policies, lister: Lister, *, objects: bool) -> NativeObjects:
    """Return the cluster's native policies, if ``objects`` is true, and the params of these and of ``policies``."""
    found = NativeObjects()
    if objects:
        await list_natives(lister, found)
    await list_params(lister, policies.natives(), found)
    return found


async def _listed(lister: Lister, resource: Resource, what: str) -> list[Document]:
    try:
        return await lister.objects(resource)
    except ClusterError as error:
        if error.status == HTTPStatus.NOT_FOUND:  # their CRD is not installed
            return []
        raise ClusterError(error.reason, f"{what}: {error}") from error
