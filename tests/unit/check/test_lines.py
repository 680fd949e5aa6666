"""A finding stands at the line of the field that it is about: of its key, or of the nearest key around it."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from checking import ROOT, checked, one, shipped
from podberth.admission.snapshot import Snapshot
from podberth.check.place import field_of
from podberth.check.result import Finding
from podberth.facts.cluster import collect
from podberth.files.loading import read_topology
from podberth.workload.gpus import gpu_facts
from snapshots import library, over, policy, snapshot

MANIFESTS = {
    path.name: path.read_text(encoding="utf-8")
    for folder in ("tests/manifests", "examples")
    for path in sorted(Path(ROOT, folder).glob("*.yaml"))
}
SLICES: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "slices", "labels": {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}},
    "status": {
        "allocatable": {"cpu": "96", "memory": "512Gi", "nvidia.com/mig-1g.10gb": "7"},
        "conditions": [{"type": "Ready", "status": "True"}],
    },
}


@cache
def shipped_over(nodes: str) -> Snapshot:
    """Return the shipped policies over some nodes."""
    if nodes == "none":
        return shipped(nodes=False)
    objects = (
        collect([SLICES], now=None)
        if nodes == "slices"
        else read_topology(ROOT / "tests" / "precision" / "topology-mixed.yaml")
    )
    return over(library(), objects)


def is_at_its_key(finding: Finding, text: str) -> bool:
    line = text.splitlines()[finding.line - 1]
    key, index = re.findall(r"(?:^|\.)(\w+)$|\[([^\]]+)\]$", finding.field)[0]
    return (key or index) in line or (index.isdecimal() and re.search(r"- |\[", line) is not None)


@pytest.mark.parametrize("nodes", ["none", "mixed", "slices"])
def test_every_denial_warning_and_error_is_at_its_own_field_and_no_note_beside_one(nodes: str) -> None:
    at_the_template, beside, count = [], [], 0
    for name, text in MANIFESTS.items():
        for result in checked(text, by=shipped_over(nodes)).results:
            said = (*result.denials, *result.warnings, *result.errors)
            count += len(said)
            beside += [(name, each) for each in (*said, *result.notes) if not is_at_its_key(each, text)]
            at_the_template += [(name, each) for each in said if each.field == result.path]
    assert (at_the_template, beside) == ([], [])
    assert count


JOB = """apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: m}
spec:
  mpiReplicaSpecs:
    Worker:
      replicas: WORKERS
      template:
        spec:
          containers: [{name: w, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]
"""


def test_a_number_of_pods_that_cannot_be_read_is_reported_at_its_field() -> None:
    [warning] = one(JOB).warnings
    assert (warning.field, warning.line) == ("spec.mpiReplicaSpecs.Worker.replicas", 7)


SET = """apiVersion: apps/v1
kind: StatefulSet
metadata: {name: s}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata:
      labels: {a: b}
    spec:
      containers:
      - name: proxy
        image: i
      - name: notebook
        image: jupyter/base-notebook
        resources:
          limits:
            nvidia.com/gpu: 1
"""


def test_what_a_policy_says_about_some_container_is_at_the_request_and_not_at_the_first_element_that_it_reads() -> None:
    [warning] = [each for each in one(SET).warnings if each.policy == "idle-guard"]
    assert (warning.field, warning.line) == ("spec.template.spec.containers[1].resources.limits[nvidia.com/gpu]", 17)


SHARED = """apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  nodeSelector: {cloud.google.com/gke-gpu-sharing-strategy: mps}
  containers:
  - name: c
    resources:
      limits:
        nvidia.com/gpu: 2
"""


def test_an_absent_field_that_a_message_names_is_the_findings_at_the_line_around_it() -> None:
    said = "spec.priorityClassName: want a PriorityClass"
    rule = (
        f'\n  validations: [{{expression: has(object.spec.priorityClassName), message: "{said}"}}]\n'
        "  validationActions: [Warn]\n"
    )
    for text, line in ((SHARED, 4), (SET, 9)):
        [result] = checked(text, by=snapshot(policy("ranked", rule))).results
        [warning] = [each for each in result.warnings if each.policy == "ranked"]
        assert warning.field.endswith("spec.priorityClassName")
        assert (warning.message, warning.line) == ("want a PriorityClass", line)


def test_what_only_the_conditions_of_a_policy_read_is_at_the_request() -> None:
    said = [each for each in one(SHARED).warnings if each.policy == "shared-gpu-count-by-label"]
    assert [each.line for each in said] == [10]


RANKED = """apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  priority: 10
  nodeSelector: {example.com/pool: a}
  containers:
  - {name: c, image: i, resources: {limits: {nvidia.com/gpu: 2}}}
"""


POOLED = """  validations: [{expression: "object.spec.nodeSelector['a'] == 'b'"}]
  validationActions: [Warn]
"""


@pytest.mark.parametrize("validations", ["", POOLED], ids=["no validation", "a validation"])
def test_the_error_of_an_audit_annotation_is_at_the_field_that_its_expression_reads(validations: str) -> None:
    audits = "  auditAnnotations: [{key: rank, valueExpression: string(object.spec.priority / 0)}]"
    [result] = checked(RANKED, by=snapshot(policy("ranks", f"{validations}{audits}"))).results
    [denial] = [each for each in result.denials if each.message.startswith("auditAnnotations")]
    assert (denial.field, denial.line) == ("spec.priority", 5)


def test_what_is_said_about_a_group_is_where_the_pod_names_it() -> None:
    pod: dict[str, Any] = {
        "metadata": {"name": "p"},
        "spec": {"schedulingGroup": {"podGroupName": "g"}, "containers": []},
    }
    message = (
        "native places this pod's group; for topology set spec.schedulingConstraints.topology[].key of its PodGroup"
    )
    assert field_of(message, (), pod, pod, gpu_facts(pod)) == ("spec", "schedulingGroup")


def test_what_keeps_an_object_from_podberth_is_its_namespace() -> None:
    [note] = one(SET.replace("name: s}", "name: s, namespace: kube-system}")).notes
    assert (note.field, note.line) == ("metadata.namespace", 3)


def test_what_an_operator_takes_from_elsewhere_is_reported_there() -> None:
    text = MANIFESTS["spark-application.yaml"]
    said = [each for result in checked(text, by=shipped_over("slices")).results for each in result.warnings]
    assert {each.field for each in said if each.policy == "whole-gpu-not-offered"} == {"spec.executor.gpu"}


def test_gpus_that_an_operator_asks_for_itself_are_reported_at_the_number_that_they_come_from() -> None:
    text = MANIFESTS["nim-pipeline.yaml"]
    said = [each for result in checked(text, by=shipped_over("slices")).results for each in result.warnings]
    fields = {each.field for each in said if each.policy == "whole-gpu-not-offered"}
    assert fields == {"spec.services[0].spec.multiNode.parallelism.tensor"}


def test_what_only_the_cluster_knows_is_noted_at_the_field_that_it_would_be_in() -> None:
    text = MANIFESTS["job.yaml"].replace("  template:\n", "  template:\n    metadata:\n      labels: {a: b}\n", 1)
    fields = {each.field for result in checked(text).results for each in result.notes}
    assert fields == {"spec.template.metadata.labels"}


DOMAIN = """apiVersion: resource.nvidia.com/v1beta1
kind: ComputeDomain
metadata: {name: train}
spec: {numNodes: 2, channel: {resourceClaimTemplate: {name: channel}}}
---
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train}
spec:
  replicatedJobs:
  - name: workers
    replicas: 1
    template:
      spec:
        parallelism: 2
        completions: 2
        template:
          spec:
            schedulerName: kai-scheduler
            nodeSelector: {kubernetes.io/arch: arm64}
            resourceClaims: [{name: compute-domain-channel, resourceClaimTemplateName: channel}]
            containers:
            - name: c
              resources:
                limits: {nvidia.com/gpu: 4}
                claims: [{name: compute-domain-channel}]
"""


def test_what_keeps_several_policies_from_writing_is_said_once() -> None:
    said = [each for result in checked(DOMAIN, by=shipped_over("mixed")).results for each in result.notes]
    assert [each.policy for each in said if "kai places" in each.message] == ["multi-node-nvlink"]


def test_a_message_about_a_label_does_not_repeat_the_key_that_the_finding_names() -> None:
    text = """
        apiVersion: v1
        kind: Pod
        metadata: {name: a}
        spec:
          nodeSelector: {nvidia.com/gpu.product: H100}
          containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]
    """
    [warning] = checked(text, by=shipped_over("none")).results[0].warnings
    assert warning.field == "spec.nodeSelector[nvidia.com/gpu.product]"
    assert warning.message.startswith("got H100, which feature discovery never writes")
