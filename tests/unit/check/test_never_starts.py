"""Claims that a pod never gets: their template or claim is in another namespace."""

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
