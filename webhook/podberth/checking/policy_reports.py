"""Writes a check's findings to PolicyReports in the cluster, and removes the reports of namespaces without findings.

Only reports with podberth's label are changed.
"""

import time
from collections.abc import Awaitable, Mapping
from http import HTTPStatus
from typing import Any, Final

from ..api.opening import Client
from ..api.protocol import APPLY_PATCH, Document, Resource
from ..check.report.policy_report import LABELS, NAME, policy_reports
from ..check.result import Report
from ..errors import ClusterError
from ..kube.api_path import ApiPath, collection_path
from .inventory import Lister

# The first that is served is written: Kyverno's and Trivy's format, then its successor (openreports.io).
DIALECTS: Final = (
    ("wgpolicyk8s.io/v1alpha2", "PolicyReport", "policyreports"),
    ("openreports.io/v1alpha1", "Report", "reports"),
)
MANAGER: Final = "podberth-check"
_OURS: Final = ",".join(f"{key}={value}" for key, value in LABELS.items())


class ReportWriter:
    """Writes the PolicyReports of one cluster, in the API for reports that the cluster serves."""

    def __init__(self, client: Client, lister: Lister, dialect: tuple[str, str, str]) -> None:
        """Create the writer of PolicyReports, of the API that ``dialect`` names: (apiVersion, kind, plural name)."""
        self._client = client
        self._lister = lister
        self._version, self._kind, self._plural = dialect
        self.written = 0
        self.removed = 0
        self.refused: list[str] = []
        """The reports that could not be written or removed, with the reasons."""

    async def put(self, report: Report, namespace: str) -> None:
        """Write the findings of ``report`` to the PolicyReports of a namespace; "" means all namespaces.

        A PolicyReport that cannot be written is noted in ``refused``. A PolicyReport without findings is removed,
        unless some kinds of workloads could not be listed.

        Raises:
            ClusterError: the existing PolicyReports cannot be listed.
        """
        path = self._path(namespace)
        listed = await self._lister.objects(Resource(self._plural, path, _OURS))
        there = {each["metadata"]["namespace"]: each for each in listed if each["metadata"]["name"] == NAME}
        wanted = policy_reports(report, int(time.time()), there)
        for name, body in wanted.items():
            if any(there.get(name, {}).get(key) != body[key] for key in body):
                await self._try(name, self._apply(name, body, known=name in there))
        # If some kinds could not be listed, reports without new findings are kept.
        whole = report.live is not None and not report.live.missing
        for name in sorted(there.keys() - wanted.keys()) if whole else ():
            await self._try(name, self._remove(there[name]))

    async def _try(self, namespace: str, change: Awaitable[None]) -> None:
        try:
            await change
        except ClusterError as error:
            # If the namespace is being deleted, its report is deleted with it.
            going = error.status == HTTPStatus.FORBIDDEN and "being terminated" in str(error)
            if not (going or error.status == HTTPStatus.NOT_FOUND):
                self.refused.append(f"{self._kind} {namespace}/{NAME}: {error}")

    async def _apply(self, namespace: str, body: Mapping[str, Any], *, known: bool) -> None:
        """Write podberth's PolicyReport of a namespace.

        ``known`` is whether podberth's own PolicyReport exists. If not, a PolicyReport of another program with the same
        name is not overwritten: the API server answers with a conflict.
        """
        document = {
            "apiVersion": self._version,
            "kind": self._kind,
            "metadata": {"name": NAME, "namespace": namespace, "labels": LABELS},
            **body,
        }
        query = {"fieldManager": MANAGER, "force": str(known).lower()}
        await self._client.send("PATCH", self._path(namespace).below(NAME).asking(query), document, APPLY_PATCH)
        self.written += 1

    async def _remove(self, report: Document) -> None:
        metadata = report["metadata"]
        same = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
        options = {"apiVersion": "meta.k8s.io/v1", "kind": "DeleteOptions", "preconditions": same}
        try:
            await self._client.send("DELETE", self._path(metadata["namespace"]).below(NAME), options)
        except ClusterError as error:
            if error.status != HTTPStatus.CONFLICT:  # another run has written it in the meantime
                raise
        else:
            self.removed += 1

    def _path(self, namespace: str) -> ApiPath:
        return collection_path(self._version, self._plural, namespace)


async def dialect_of(lister: Lister) -> tuple[str, str, str]:
    """Return (apiVersion, kind, plural name) of the PolicyReports that the cluster serves.

    The API group is wgpolicyk8s.io (preferred) or openreports.io.

    Raises:
        ClusterError: the cluster serves neither API group.
    """
    versions = {each for found in (await lister.versions()).values() for each in found}
    for dialect in DIALECTS:
        if dialect[0] in versions:
            return dialect
    wanted = " or ".join(version for version, _, _ in DIALECTS)
    raise ClusterError("refused", f"--report: got a cluster without reports, want {wanted}; install its CRDs first")
