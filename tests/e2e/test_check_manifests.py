"""What `podberth check -o yaml` writes for every kind in tests/manifests, on an API server with the operators' CRDs."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane.cluster import ControlPlane
from podberth.cli.main import main
from podberth.kube.documents import load_documents
from snapshots import cluster

from .podberth_process import ROOT
from .space import Space

pytestmark = pytest.mark.shared("crds")

MANIFESTS = sorted((ROOT / "tests" / "manifests").glob("*.yaml"))

# Left out, for ../shared has no CRD of theirs, and Kubernetes 1.16 stopped to serve the first.
NOT_SERVED = {
    ("extensions/v1beta1", "Deployment"),
    ("apps.nvidia.com/v1alpha1", "NIMPipeline"),
    ("apps.nvidia.com/v1alpha1", "NIMService"),
    ("argoproj.io/v1alpha1", "ClusterWorkflowTemplate"),
    ("argoproj.io/v1alpha1", "CronWorkflow"),
    ("argoproj.io/v1alpha1", "Workflow"),
    ("argoproj.io/v1alpha1", "WorkflowTemplate"),
    ("batch.paddlepaddle.org/v1", "PaddleJob"),
    ("batch.volcano.sh/v1alpha1", "CronJob"),
    ("flow.volcano.sh/v1alpha1", "JobTemplate"),
    ("inference.llmaz.io/v1alpha1", "Service"),
    ("kaito.sh/v1beta1", "InferenceSet"),
    ("kaito.sh/v1beta1", "Workspace"),
    ("kubeflow.org/v1", "Notebook"),
    ("kubeflow.org/v1alpha1", "TFJob"),
    ("kubeflow.org/v1beta1", "Experiment"),
    ("machinelearning.seldon.io/v1", "SeldonDeployment"),
    ("mindxdl.gitee.com/v1", "AscendJob"),
    ("ome.io/v1beta1", "ClusterServingRuntime"),
    ("ome.io/v1beta1", "InferenceService"),
    ("ome.io/v1beta1", "ServingRuntime"),
    ("orchestration.aibrix.ai/v1alpha1", "RayClusterFleet"),
    ("orchestration.aibrix.ai/v1alpha1", "RayClusterReplicaSet"),
    ("orchestration.aibrix.ai/v1alpha1", "PodSet"),
    ("orchestration.aibrix.ai/v1alpha1", "RoleSet"),
    ("orchestration.aibrix.ai/v1alpha1", "StormService"),
    ("production-stack.vllm.ai/v1alpha1", "VLLMRuntime"),
    ("ray.io/v1", "RayCronJob"),
    ("sagemaker.amazonaws.com/v1", "HyperPodPyTorchJob"),
    ("serving.knative.dev/v1", "Service"),
    ("serving.kserve.io/v1alpha2", "LLMInferenceServiceConfig"),
    ("sparkoperator.k8s.io/v1beta2", "SparkApplication"),
    ("template.openshift.io/v1", "Template"),
    ("workload.serving.volcano.sh/v1alpha1", "ModelBooster"),
    ("workload.serving.volcano.sh/v1alpha1", "ModelServing"),
    ("workloads.x-k8s.io/v1alpha1", "RoleBasedGroup"),
    ("workloads.x-k8s.io/v1alpha2", "RoleBasedGroup"),
    ("workloads.x-k8s.io/v1alpha2", "RoleBasedGroupSet"),
}
BUILT_IN = {"v1", "apps/v1", "batch/v1"}


@pytest.fixture
def ml(control_plane: ControlPlane) -> Iterator[Space]:
    """The namespace that the manifests name."""
    space = Space(control_plane, "ml")
    yield space
    space.remove()


def kinds_of(file: Path) -> list[tuple[str, str]]:
    """Return apiVersion and kind of each object, those in a List too."""
    documents, problems = load_documents(file.read_text(encoding="utf-8"), file.name)
    assert not problems
    objects = [item for each in documents for item in each.document.get("items", [each.document])]
    return [(each["apiVersion"], each["kind"]) for each in objects]


def check(nodes: Path, *arguments: str) -> int:
    return main(["check", "--topology", str(nodes), *arguments])


def test_what_check_writes_is_accepted_and_final(ml: Space, served: set[tuple[str, str]], tmp_path: Path) -> None:
    nodes = tmp_path / "nodes.json"
    items = cluster(hgx_h100_8=4, l4_4=2, gb200_tray=18, dgx_a100_8_mig_mixed=1)
    nodes.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), encoding="utf-8")
    kinds = {file: kinds_of(file) for file in MANIFESTS}
    assert {kind for each in kinds.values() for kind in each if kind[0] not in BUILT_IN} - served == NOT_SERVED
    chosen = {str(file): each for file, each in kinds.items() if NOT_SERVED.isdisjoint(each)}
    once, twice, report = tmp_path / "once.yaml", tmp_path / "twice.yaml", tmp_path / "report.json"

    assert check(nodes, *chosen, "-o", f"yaml={once}", "-o", f"json={report}") == 0
    results = json.loads(report.read_text(encoding="utf-8"))["results"]
    assert len({each["kind"] for each in results if each["verdict"] == "mutated"}) > 20

    # Strict: a field that the schema does not have is an error.
    said = ml.kubectl("create", "--dry-run=server", "--validate=strict", manifest=once)
    assert (said.status, said.errors) == (0, "")
    assert said.output.count("created (server dry run)") == sum(map(len, chosen.values()))

    assert check(nodes, str(once), "-o", f"yaml={twice}", "--fail-on", "change") == 0
    assert twice.read_bytes() == once.read_bytes()
