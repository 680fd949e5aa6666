"""Converted policies in a real API server: it takes them, and says about pods what the GPUPolicies say."""

from http import HTTPStatus

from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from converted import Both, random_pods
from snapshots import policy

_COUNT: str = """
  matchConditions: [{name: some, expression: "gpu.count > 0 && gpu.vendor == 'nvidia'"}]
  validations:
  - {expression: "gpu.count <= 8 && gpu.kind != 'mixed'", messageExpression: "'got ' + string(gpu.count)"}
  - {expression: gpu.perContainer != 2, message: not two, reason: Forbidden}
  validationActions: [Deny]
"""
_GROUP = "/apis/admissionregistration.k8s.io/v1"
_NAMESPACE = "converted"
_PODS = f"/api/v1/namespaces/{_NAMESPACE}/pods?dryRun=All"


def test_the_api_server_takes_a_converted_policy_and_denies_what_podberth_denies(control_plane: ControlPlane) -> None:
    api, both = control_plane.api, Both(policy("converted", _COUNT))
    assert not both.converted.left_out
    native, binding = both.converted.documents
    verdicts = {True: 0, False: 0}
    # The webhooks, which tests before this one may have registered, are not asked here.
    control_plane.add_namespace(_NAMESPACE, {"podberth.io/exempt": "true"})
    api.request("POST", f"{_GROUP}/validatingadmissionpolicies?fieldValidation=Strict", native)
    try:
        api.request("POST", f"{_GROUP}/validatingadmissionpolicybindings?fieldValidation=Strict", binding)
        two = next(each for each in random_pods("e2e", 400) if "not two" in "".join(both.answers(each)[0]))
        wait_for(lambda: api.ask("POST", _PODS, two).status == HTTPStatus.FORBIDDEN, what="the policy to be in force")
        for each in random_pods("e2e", 60):
            ours, _ = both.answers(each)
            answer = api.ask("POST", _PODS, each)
            assert answer.status in (HTTPStatus.CREATED, HTTPStatus.FORBIDDEN, HTTPStatus.UNPROCESSABLE_ENTITY)
            denial = "" if answer.status == HTTPStatus.CREATED else str(answer.document["message"])
            if "ValidatingAdmissionPolicy" not in denial:
                assert not denial, denial
            assert bool(ours) == bool(denial), (each, ours, denial)
            assert denial.rpartition(": ")[2] in "".join(ours)
            verdicts[bool(denial)] += 1
    finally:
        name = binding["metadata"]["name"]
        api.raw("DELETE", f"{_GROUP}/validatingadmissionpolicybindings/{name}")
        api.raw("DELETE", f"{_GROUP}/validatingadmissionpolicies/{name}")
    assert min(verdicts.values()) > 10, verdicts
