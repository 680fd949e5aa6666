"""Pods that never start, or wait: by claims of another namespace, programs that end, labels that change."""

import pytest

from checking import checked, shipped
from podberth.check.run import CheckSettings, check_object
from podberth.check.sources import read
from podberth.check.surroundings import surroundings, within

_POD = """
apiVersion: v1
kind: Pod
metadata: {{name: a{namespace}}}
spec:
  containers:
  - {{name: main, image: x, resources: {{claims: [{{name: gpu}}]}}}}
  resourceClaims:
  - {{name: gpu, {claim}}}
---
apiVersion: resource.k8s.io/v1
kind: {kind}
metadata: {{name: one{place}}}
spec: {spec}
"""
_DEVICES = "{devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]}}"
_CLAIM = {"kind": "ResourceClaim", "spec": _DEVICES, "claim": "resourceClaimName: one"}
_TEMPLATE = {
    "kind": "ResourceClaimTemplate",
    "spec": f"{{spec: {_DEVICES}}}",
    "claim": "resourceClaimTemplateName: one",
}


def _said(of: dict[str, str], namespace: str, place: str) -> list[tuple[str, str]]:
    report = checked(_POD.format(**of, namespace=namespace, place=place))
    return [(each.field, each.message) for result in report.results for each in result.warnings]


@pytest.mark.parametrize("of", [_TEMPLATE, _CLAIM], ids=["template", "claim"])
def test_a_claim_that_is_known_in_another_namespace_only_is_named(of: dict[str, str]) -> None:
    [(field, message)] = _said(of, ", namespace: here", ", namespace: there")
    assert field == f"spec.resourceClaims[0].{of['claim'].partition(':')[0]}"
    assert message == (
        f"got one, a {of['kind']} known in there only: a pod uses those of its own namespace; make it in here"
    )


@pytest.mark.parametrize(
    ("namespace", "place"),
    [
        (", namespace: here", ", namespace: here"),
        ("", ", namespace: there"),  # kubectl apply --namespace there
        (", namespace: here", ""),  # the template goes to any namespace, too
        (", namespace: here", ", namespace: default"),
    ],
)
def test_nothing_is_said_where_both_may_be_in_one_namespace(namespace: str, place: str) -> None:
    assert _said(_TEMPLATE, namespace, place) == []


def test_nothing_is_said_of_a_live_pod_which_may_have_its_claim_from_before() -> None:
    file = read("live.yaml", _POD.format(**_TEMPLATE, namespace=", namespace: here", place=", namespace: there"))
    facts = within(shipped(), surroundings([file], "default"))
    [result] = check_object(file.sources[0], facts, CheckSettings(), ())
    assert result.warnings == ()


def _ending(container: str, pod: str = "", version: str = "v1", image: str = "nvidia/cuda:12.4.1-base") -> list[str]:
    text = f"apiVersion: {version}\nkind: Pod\nmetadata: {{name: a}}\nspec:\n  {pod}\n  containers:\n"
    report = checked(f"{text}  - {{name: c, image: {image}{container}}}")
    return [f"{each.field}: {each.message}" for result in report.results for each in result.warnings]


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ("nvidia/cuda:12.4.1-base", "nvidia/cuda"),
        ("nvcr.io/nvidia/cuda:12.4.1-base", "nvcr.io/nvidia/cuda"),
        ("docker.io/library/ubuntu", "docker.io/library/ubuntu"),
        ("pytorch/pytorch@sha256:00", "pytorch/pytorch"),
    ],
)
def test_an_image_whose_program_is_a_shell_ends_without_a_command(image: str, name: str) -> None:
    message = f"got {image} without a command: {name} ends at once, and the pod restarts for ever; give it a command"
    assert _ending("", image=f'"{image}"') == [f"spec.containers[0].image: {message}"]


@pytest.mark.parametrize(
    ("container", "pod"),
    [
        (", command: [nvidia-smi, -l]", ""),
        (", args: [sleep, infinity]", ""),
        (", stdin: true", ""),
        (", tty: true", ""),
        ("", "restartPolicy: OnFailure"),
        ("", "restartPolicy: Never"),
    ],
)
def test_nothing_is_said_of_a_container_that_waits_or_is_not_started_again(container: str, pod: str) -> None:
    assert _ending(container, pod) == []


@pytest.mark.parametrize("image", ["example.com/nvidia/cuda:1", "nvidia/cuda-sample:1", "ubuntu-desktop", "x"])
def test_nothing_is_said_of_an_image_that_may_have_a_program(image: str) -> None:
    assert _ending("", image=f'"{image}"') == []


def test_nothing_is_said_where_an_operator_may_add_the_command() -> None:
    text = """
apiVersion: kubeflow.org/v1
kind: Notebook
metadata: {name: a}
spec: {template: {spec: {containers: [{name: a, image: ubuntu}]}}}
"""
    assert [each for result in checked(text).results for each in result.warnings] == []


_LIVE = "podberth.io/free-linked-gpus"
_TERM = f"{{matchExpressions: [{{key: {_LIVE}, operator: Gt, values: ['3']}}]}}"
_AFFINITY = "spec.affinity.nodeAffinity"
_MATCHED = "nodeSelectorTerms[0].matchExpressions[0].key"


_PREFERRED = f"preferredDuringSchedulingIgnoredDuringExecution: [{{weight: 1, preference: {_TERM}}}]"
_REQUIRED = f"requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{_TERM}]}}"


@pytest.mark.parametrize(
    ("pod", "field"),
    [
        (f"nodeSelector: {{{_LIVE}: '4'}}", f"spec.nodeSelector[{_LIVE}]"),
        (
            f"affinity: {{nodeAffinity: {{{_REQUIRED}}}}}",
            f"{_AFFINITY}.requiredDuringSchedulingIgnoredDuringExecution.{_MATCHED}",
        ),
        (f"affinity: {{nodeAffinity: {{{_PREFERRED}}}}}", ""),
        ("nodeSelector: {podberth.io/link-shape: full-mesh}", ""),
    ],
)
def test_a_label_that_changes_with_use_is_for_preferred_terms_only(pod: str, field: str) -> None:
    message = f"requires {_LIVE}, which may be old and which no new node has; prefer it instead"
    assert _ending(", command: [nvidia-smi]", pod) == ([f"{field}: {message}"] if field else [])
