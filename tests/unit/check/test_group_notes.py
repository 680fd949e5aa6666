"""Preferences that a group system has to be asked for: ``podberth check`` has a note, and nobody is warned."""

import pytest

from checking import checked, one

_OF_VOLCANO = """
apiVersion: v1
kind: Pod
metadata: {{name: worker-0, annotations: {{scheduling.k8s.io/group-name: llama}}}}
spec:
  schedulerName: volcano
  containers:
  - {{name: main, image: train, command: {command}, resources: {{limits: {{nvidia.com/gpu: 1}}}}}}
"""
_OF_KAI = """
apiVersion: v1
kind: Pod
metadata: {{name: worker-0, annotations: {{pod-group-name: llama}}}}
spec:
  schedulerName: kai-scheduler
  containers:
  - {{name: main, image: train, command: {command}, resources: {{limits: {{nvidia.com/gpu: 1}}}}}}
"""
_NATIVE = """
apiVersion: v1
kind: Pod
metadata: {{name: worker-0}}
spec:
  schedulingGroup: {{podGroupName: llama}}
  containers:
  - {{name: main, image: train, command: {command}, resources: {{limits: {{nvidia.com/gpu: 1}}}}}}
"""
_TALKS = "[torchrun, --nnodes=2, --nproc-per-node=8, train.py]"
_JOB = """
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {{name: gpt}}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      template:
        spec:
          schedulerName: kai-scheduler
          {more}
          containers:
          - {{name: pytorch, image: "{image}", resources: {{limits: {{nvidia.com/gpu: 8}}}}}}
"""
_PYTORCH = "nvcr.io/nvidia/pytorch:24.05-py3"


@pytest.mark.parametrize(
    ("text", "where"),
    [
        (_OF_VOLCANO, "spec.networkTopology of its PodGroup"),
        (_OF_KAI, "spec.topologyConstraint of the PodGroup"),
    ],
)
def test_where_to_ask_a_group_system_is_a_note_and_no_warning(text: str, where: str) -> None:
    result = one(text.format(command=_TALKS))
    assert result.warnings == ()
    assert [each.message.partition("for topology set ")[2] for each in result.notes] == [where]


@pytest.mark.parametrize("text", [_OF_VOLCANO, _OF_KAI, _NATIVE])
def test_of_pods_that_only_start_together_there_is_no_note(text: str) -> None:
    assert one(text.format(command="[python, train.py]")).notes == ()


@pytest.mark.parametrize(
    ("image", "more", "is_noted"),
    [
        (_PYTORCH, "", True),
        ("ubuntu:22.04", "", False),
        (_PYTORCH, "tolerations: [{key: kwok.x-k8s.io/node, operator: Exists}]", False),
        ("ghcr.io/kubeflow/training-v1/pytorch-dist-mnist", "", False),
    ],
    ids=["a training", "a bare image", "simulated nodes", "MNIST"],
)
def test_what_tries_a_scheduler_gets_no_note(image: str, more: str, is_noted: bool) -> None:
    [result] = checked(_JOB.format(image=image, more=more)).results
    notes = [each.message for each in result.notes if "kai places this pod's group" in each.message]
    assert bool(notes) is is_noted


def test_a_model_serving_that_kthena_makes_of_a_model_booster_gets_no_note() -> None:
    result = one(
        """
        apiVersion: v1
        kind: Pod
        metadata:
          name: serve-0-prefill-0-0
          labels:
            workload.serving.volcano.sh/model-name: serve
            modelserving.volcano.sh/name: serve
            modelserving.volcano.sh/group-name: serve-0
            modelserving.volcano.sh/role: prefill
            modelserving.volcano.sh/role-id: prefill-0
            modelserving.volcano.sh/entry: "true"
          annotations: {scheduling.k8s.io/group-name: serve-0}
        spec:
          schedulerName: volcano
          containers:
          - {name: main, image: serve, resources: {limits: {nvidia.com/gpu: 8}}}
        """
    )
    assert [each.message for each in result.notes if "places this pod's group" in each.message] == []
