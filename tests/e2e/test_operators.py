"""Operators' kinds on a real API server: their CRDs, the manifests of tests/manifests, and what is written there.

All in one file, since to install the CRDs takes most of a minute.
"""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from controlplane.cluster import ControlPlane
from crds import CLUSTER_WIDE, SERVED
from podberth.admission.decide import mutate_with_writes
from podberth.admission.review import decode_review
from podberth.admission.snapshot import Snapshot
from podberth.cli.main import main
from podberth.kube.documents import load_documents
from podberth.kube.patch import apply
from podberth.workload.projection import project
from podberth.workload.templates import templates
from snapshots import cluster, policy, snapshot

from .podberth_process import ROOT
from .space import Space

pytestmark = pytest.mark.shared("crds")

Document = dict[str, Any]

MANIFESTS = sorted((ROOT / "tests" / "manifests").glob("*.yaml"))

# Left out, for ../shared has no CRD of theirs, and Kubernetes 1.16 stopped to serve the first.
NOT_SERVED = {
    ("extensions/v1beta1", "Deployment"),
    ("apps.nvidia.com/v1alpha1", "NIMPipeline"),
    ("apps.nvidia.com/v1alpha1", "NIMService"),
    ("argoproj.io/v1alpha1", "ClusterWorkflowTemplate"),
    ("argoproj.io/v1alpha1", "CronWorkflow"),
    ("argoproj.io/v1alpha1", "Rollout"),
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

# What the shipped policies write, and the fields that embedded schemas are known to lack.
WRITES = (
    {"tolerations": "[{'key': 'nvidia.com/gpu', 'operator': 'Exists', 'effect': 'NoSchedule'}]"},
    {"labels": {"podberth.io/gang": "'some-gang'"}},
    {"nodeAffinity": {"required": "[{'matchExpressions': [{'key': 'gpu', 'operator': 'Exists'}]}]"}},
    {"runtimeClassName": "'nvidia'"},
    {"env": {"NCCL_DEBUG": "'INFO'"}},
    {"jsonPatch": "[{'op': 'add', 'path': '/spec/schedulingGroup', 'value': {'podGroupName': 'g'}}]"},
)


def manifests(served: set[tuple[str, str]]) -> Iterator[Document]:
    for file in MANIFESTS:
        document = load_documents(file.read_text(), file.name)[0][0].document
        if (document["apiVersion"], document["kind"]) in served and "namespace" in document["metadata"]:
            yield document


@cache
def writing() -> Snapshot:
    texts = [
        policy(f"p{order}", f"  scope: All\n  mutations: [{json.dumps(each)}]", order=order)
        for order, each in enumerate(WRITES)
    ]
    return snapshot(*texts)


def carried(document: Document, every: tuple[Document, ...]) -> Document:
    """Return the document with what `WRITES` says, as far as it has a place there."""
    known = writing()
    for template in templates(document, namespace="ml", known=every):
        request = decode_review(
            {
                "apiVersion": "admission.k8s.io/v1",
                "kind": "AdmissionReview",
                "request": {
                    "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
                    "kind": {"group": "", "version": "v1", "kind": "Pod"},
                    "resource": {"group": "", "version": "v1", "resource": "pods"},
                    "name": "",
                    "namespace": "ml",
                    "operation": "CREATE",
                    "userInfo": {},
                    "object": template.pod,
                },
            }
        )
        outcome, written = mutate_with_writes(request, known.with_owners(template.owners))
        now = next(each for each in templates(document, namespace="ml", known=every) if each.path == template.path)
        for step in project(now, [each.patch for each in written], outcome.patch):
            document = apply(document, step.operations)
    return document


def test_each_manifest_and_what_is_written_on_it_fits_the_real_schema(
    space: Space, served: set[tuple[str, str]]
) -> None:
    """Strict: a field that the schema does not have is an error. docs/systems.md takes its "CRD" from these."""
    every = tuple(manifests(served))
    assert {f"{each['apiVersion'].rpartition('/')[0]}/{each['kind']}" for each in every} >= SERVED - CLUSTER_WIDE
    written = [carried(document, every) for document in every]
    for documents in (every, written):
        said = space.kubectl("create", "--dry-run=server", "--validate=strict", manifest=documents)
        assert (said.status, said.errors) == (0, "")
        assert said.output.count("created (server dry run)") == len(every)
    assert written[0] != every[0]


def test_a_workload_of_an_operator_warns_whoever_applies_it(space: Space, served: set[tuple[str, str]]) -> None:
    found = {document["kind"]: document for document in manifests(served)}
    for kind in ("JobSet", "PyTorchJob", "RayCluster", "LeaderWorkerSet", "InferenceService"):
        text = json.dumps(found[kind]).replace('"nvidia.com/gpu"', '"nvidia.com/mig-4g.5gb"')
        said = space.kubectl("create", "--dry-run=server", manifest=[json.loads(text)])
        assert any("of this workload would be denied" in line for line in said.ours), (kind, said)


# ---- what `podberth check -o yaml` writes --------------------------------------------------------------------------


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
