"""The controller's counts of the pods that it follows."""

from typing import TYPE_CHECKING, cast

from builders import gpu_pod
from integration.serving import CapturedLines
from podberth.api.protocol import Timing
from podberth.api.reflector import ClusterAccess
from podberth.controller.observed import ObservedCluster
from podberth.controller.plan.intake import waiting_pod
from podberth.telemetry.controller_metrics import ControllerMetrics
from podberth.telemetry.log import Log

if TYPE_CHECKING:
    from podberth.api.client import ClusterClient


def test_a_pod_that_names_a_claim_template_alone_waits_for_no_group() -> None:
    log = Log(CapturedLines())
    access = ClusterAccess(lambda: cast("ClusterClient", None), ControllerMetrics(), log, Timing())
    sight = ObservedCluster(access, lambda: None)
    claims = [{"name": "nic", "resourceClaimTemplateName": "nic"}]
    group = {"podGroupName": "ring"}
    pods = {
        "team/claim": gpu_pod(8, resourceClaims=claims),
        "team/group": gpu_pod(8, schedulingGroup=group),
        "team/both": gpu_pod(8, schedulingGroup=group, resourceClaims=claims),
    }
    sight.pods = {name: pod for name, document in pods.items() if (pod := waiting_pod(document))}
    assert len(sight.pods) == 3
    assert sight.in_groups() == 2
