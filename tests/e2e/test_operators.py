"""Operators' kinds on a real API server: their CRDs, the manifests of tests/manifests, and what is written there."""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from crds import CLUSTER_WIDE, SERVED
from podberth.admission.decide import mutate_with_writes
from podberth.admission.review import decode_review
from podberth.admission.snapshot import Snapshot
from podberth.kube.documents import load_documents
from podberth.kube.patch import apply
from podberth.workload.projection import project
from podberth.workload.templates import templates
from snapshots import policy, snapshot

from .podberth_process import ROOT
from .space import Space

pytestmark = pytest.mark.shared("crds")

Document = dict[str, Any]

MANIFESTS = sorted((ROOT / "tests" / "manifests").glob("*.yaml"))

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
