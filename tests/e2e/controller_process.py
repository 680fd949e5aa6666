"""`podberth controller` as processes of the tests' own, each with a token of the ServiceAccount of manifests/."""

from collections.abc import Sequence
from pathlib import Path

from controlplane.api import CONNECTION_ERRORS
from controlplane.cluster import ControlPlane

from .access import enter
from .podberth_process import Process

LEASE = "/apis/coordination.k8s.io/v1/namespaces/podberth-system/leases/podberth-controller"


class Controller(Process):
    """One replica."""

    def __init__(
        self,
        plane: ControlPlane,
        directory: Path,
        *,
        missing_after: float = 1.0,
        policies: str = "",
        flags: Sequence[str] = (),
    ) -> None:
        """Prepare; `start` starts it. Log, token and kubeconfig go to `directory`."""
        super().__init__(directory)
        self.arguments = (
            *("controller", "--missing-after", str(missing_after)),
            *("--kubeconfig", str(enter(plane, directory, account="podberth-controller"))),
            *("--metrics-listen", f"127.0.0.1:{self.metrics_port}"),
            *(("--policies", policies) if policies else ()),
            *flags,
        )

    def leads(self) -> bool:
        """Return whether it says that it leads; one that does not answer in time does not."""
        try:
            return self.runs and self.metrics()["podberth_controller_leads"] == 1.0
        except CONNECTION_ERRORS:
            return False


def holder(plane: ControlPlane) -> str:
    """Return who holds the Lease; empty: nobody does."""
    return str(plane.api.read(LEASE)["spec"].get("holderIdentity") or "")
