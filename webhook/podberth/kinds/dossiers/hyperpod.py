"""HyperPodPyTorchJobs of SageMaker HyperPod's training operator, whose source is not public.

The labels and the group of the pods are therefore unknown. The source of the job's fields is HyperPod's CLI.
"""

from typing import Final

from ...kube.paths import ELEMENT
from ...kube.unchecked import count
from ..dossier import Dossier
from ..places import Scene, TemplatePlace, WorkloadKind
from ..stamping import owned_by_workload


def _replicas(scene: Scene) -> int:
    """Return the number of a role's pods; the default is 0 (class ReplicaSpec)."""
    return count(scene.item.get("replicas"), 0)


DOSSIER: Final = Dossier(
    name="SageMaker HyperPod",
    versions={"aws/sagemaker-hyperpod-cli": "011ca927, after v3.9.0"},
    kinds=(
        WorkloadKind(
            api_versions=frozenset({"sagemaker.amazonaws.com/v1"}),
            kind="HyperPodPyTorchJob",
            source="aws/sagemaker-hyperpod-cli src/sagemaker/hyperpod/training/config/"
            "hyperpod_pytorch_job_unified_config.py ReplicaSpec",
            places=(
                TemplatePlace(
                    path=("spec", "replicaSpecs", ELEMENT, "template"), stamp=owned_by_workload, replicas=_replicas
                ),
            ),
        ),
    ),
)
