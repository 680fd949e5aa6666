"""What is reported of a Pod whose JSON types are wrong, and what is not."""

from typing import Any

import pytest

from builders import gpu_pod, job_pod, pod, sidecar
from podberth.kube.shape import registration_problems, shape_problems, template_problems

JSON = dict[str, Any]


@pytest.mark.parametrize("document", [{}, pod(), gpu_pod(8), job_pod(), pod(init=[sidecar()]), {"spec": None}])
def test_a_pod_of_the_right_shape_has_no_problems(document: JSON) -> None:
    assert shape_problems(document) == []


def test_nulls_and_unknown_fields_pass() -> None:
    """tests/real-manifests.md 23: `requests:` null, `nodeSelector:` null; and a field of a Kubernetes yet to come."""
    document = gpu_pod()
    document["spec"] |= {"nodeSelector": None, "tolerations": None, "affinity": None, "fromTheFuture": [1, {"a": 2}]}
    document["spec"]["containers"][0]["resources"] |= {"requests": None, "limits": {"nvidia.com/gpu": None}}
    assert shape_problems(document) == []


@pytest.mark.parametrize("document", [None, [], "pod", 1, True])
def test_what_is_no_object_is_no_pod(document: object) -> None:
    assert len(shape_problems(document)) == 1
    assert shape_problems(document)[0].startswith("pod: got ")


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"containers": {}}, "spec.containers: got object, want list"),
        ({"containers": [None]}, "spec.containers[0]: got null, want object"),
        ({"containers": [{"resources": {"limits": []}}]}, "spec.containers[0].resources.limits: got list, want object"),
        (
            {"containers": [{}, {"resources": {"limits": {"nvidia.com/gpu": [1]}}}]},
            "spec.containers[1].resources.limits[nvidia.com/gpu]: got list, want string or number",
        ),
        ({"initContainers": [{"name": 1}]}, "spec.initContainers[0].name: got integer, want string"),
        ({"nodeSelector": {"gpus": 8}}, "spec.nodeSelector[gpus]: got integer, want string"),
        (
            {"tolerations": [{"tolerationSeconds": "5"}]},
            "spec.tolerations[0].tolerationSeconds: got string, want integer",
        ),
        ({"priority": True}, "spec.priority: got boolean, want integer"),
        (
            {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": []}}},
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution: got list, want object",
        ),
    ],
)
def test_a_wrong_type_is_named_with_its_place(spec: JSON, problem: str) -> None:
    """tests/real-manifests.md 23: an integer nodeSelector value."""
    assert shape_problems({"spec": spec}) == [problem]


def test_null_among_the_words_of_a_command_passes() -> None:
    """The API server decodes it to an empty string."""
    spec = {"containers": [{"name": "c", "command": [None], "args": ["a", None]}]}
    assert template_problems({"spec": spec}) == []


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"containers": [{"command": "sleep 10"}]}, "spec.containers[0].command: got string, want list"),
        ({"containers": [{"args": ["--port", 8000]}]}, "spec.containers[0].args[1]: got integer, want string"),
        ({"hostNetwork": "true"}, "spec.hostNetwork: got string, want boolean"),
        ({"terminationGracePeriodSeconds": "60"}, "spec.terminationGracePeriodSeconds: got string, want integer"),
    ],
)
def test_of_a_template_more_is_asked(spec: JSON, problem: str) -> None:
    assert template_problems({"spec": spec}) == [problem]


def test_every_place_is_named() -> None:
    document = {"metadata": {"labels": {"a": 1}, "name": 2}, "spec": {"tolerations": "x"}}
    assert shape_problems(document) == [
        "metadata.labels[a]: got integer, want string",
        "metadata.name: got integer, want string",
        "spec.tolerations: got string, want list",
    ]


def test_a_hostile_document_is_answered_briefly() -> None:
    found = shape_problems({"spec": {"containers": [0] * 100_000}})
    assert len(found) == 21
    assert found[-1] == "pod: more fields have a wrong type; fix these first"


@pytest.mark.parametrize(
    "webhooks",
    [
        [1],
        [{"rules": [1]}],
        [{"rules": {"a": 1}}],
        [{"rules": [{"operations": 5}]}],
        [{"namespaceSelector": 3}],
        [{"namespaceSelector": {"matchLabels": 3}}],
        [{"namespaceSelector": {"matchExpressions": [1]}}],
    ],
)
def test_a_webhook_configuration_of_another_shape_has_a_problem(webhooks: Any) -> None:
    assert registration_problems({"webhooks": webhooks})


def test_a_webhook_configuration_of_the_api_has_none() -> None:
    rule = {"operations": ["CREATE"], "apiGroups": [""], "resources": ["pods"]}
    selector = {"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["b"]}]}
    assert registration_problems({"webhooks": [{"rules": [rule], "namespaceSelector": selector}, {}]}) == []
