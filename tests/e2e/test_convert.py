"""Converted policies in a real API server: it takes them, and says and writes about pods what the GPUPolicies do."""

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

from controlplane.api import Api
from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from converted import JSON, Both, random_pods
from snapshots import policy

from .registration import Registration

_COUNT: str = """
  matchConditions: [{name: some, expression: "gpu.count > 0 && gpu.vendor == 'nvidia'"}]
  validations:
  - {expression: "gpu.count <= 8 && gpu.kind != 'mixed'", messageExpression: "'got ' + string(gpu.count)"}
  - {expression: gpu.perContainer != 2, message: not two, reason: Forbidden}
  validationActions: [Deny]
"""
_WRITES: str = """
  scope: All
  mutations:
  - jsonPatch: "[{'op': 'add', 'path': '/spec/hostname', 'value': 'h' + string(object.spec.containers.size())}]"
  - labels: {vendor: gpu.vendor, team: "'c'"}
  - when: object.spec.containers.size() > 1
    annotations: {main: "object.spec.containers.size() > 2 ? optional.of('c0') : optional.none()"}
  - tolerations: "[{'key': 'nvidia.com/gpu', 'operator': 'Exists', 'effect': 'NoSchedule'}]"
  - when: gpu.count > 0
    applyConfiguration: "{'spec': {'activeDeadlineSeconds': 60}}"
  - env: {MANY: string(object.spec.containers.size() > 2)}
"""
_UPDATES: str = """
  scope: All
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [UPDATE], resources: [pods]}
  validations: [{expression: "object.metadata.name != 'updated'", message: not this one}]
  validationActions: [Deny]
"""
_GROUP = "/apis/admissionregistration.k8s.io/v1"
_PODS = "/api/v1/namespaces/default/pods?dryRun=All"


def test_the_api_server_takes_a_converted_policy_and_denies_what_podberth_denies(
    control_plane: ControlPlane, registration: Registration
) -> None:
    both = Both(policy("converted", _COUNT))
    assert not both.converted.left_out
    verdicts = {True: 0, False: 0}
    account = "/api/v1/namespaces/default/serviceaccounts/default"
    wait_for(lambda: control_plane.api.raw("GET", account)[0] == HTTPStatus.OK, what="the namespace's account")
    # An exempt namespace would keep the webhooks away, and the converted policy as well.
    with registration.absent(), _in_force(control_plane.api, both):
        for each in random_pods("e2e", 60):
            verdicts[_same_verdict(control_plane.api, both, each)] += 1
    assert min(verdicts.values()) > 10, verdicts


def test_the_api_server_lets_finalizers_change_whatever_a_converted_policy_says(
    control_plane: ControlPlane, registration: Registration
) -> None:
    api, path = control_plane.api, "/api/v1/namespaces/default/pods/updated"

    def patched(part: JSON, query: str = "") -> int:
        return api.ask("PATCH", f"{path}{query}", part, "application/merge-patch+json").status

    def is_judged() -> bool:
        return patched({"spec": {"activeDeadlineSeconds": 60}}, "?dryRun=All") == HTTPStatus.UNPROCESSABLE_ENTITY

    metadata = {"name": "updated", "finalizers": ["test.podberth.io/held"]}
    spec = {"containers": [{"name": "c", "image": "i"}]}
    with registration.absent():
        api.request(
            "POST", _PODS.partition("?")[0], {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        )
        with _judging(api, Both(policy("converted", _UPDATES))):
            wait_for(is_judged, what="the policy to be in force")
            assert patched({"metadata": {"labels": {"a": "b"}}}) == HTTPStatus.OK
            api.request("DELETE", path)
            assert patched({"metadata": {"finalizers": None}}) == HTTPStatus.OK
    assert api.ask("GET", path).status == HTTPStatus.NOT_FOUND


@contextmanager
def _in_force(api: Api, both: Both) -> Iterator[None]:
    """Have the API server judge by the converted policy, whose message about some pods is ``not two``."""
    with _judging(api, both):
        two = next(each for each in random_pods("e2e", 400) if "not two" in "".join(both.answers(each)[0]))
        wait_for(lambda: api.ask("POST", _PODS, two).status == HTTPStatus.FORBIDDEN, what="the policy to be in force")
        yield


@contextmanager
def _judging(api: Api, both: Both) -> Iterator[None]:
    """Have the API server judge by the converted policy, as soon as it has read it."""
    native, binding = both.converted.documents
    api.request("POST", f"{_GROUP}/validatingadmissionpolicies?fieldValidation=Strict", native)
    try:
        api.request("POST", f"{_GROUP}/validatingadmissionpolicybindings?fieldValidation=Strict", binding)
        yield
    finally:
        api.raw("DELETE", f"{_GROUP}/validatingadmissionpolicybindings/{binding['metadata']['name']}")
        api.raw("DELETE", f"{_GROUP}/validatingadmissionpolicies/{native['metadata']['name']}")


def test_the_api_server_writes_what_podberth_writes(control_plane: ControlPlane, registration: Registration) -> None:
    both = Both(policy("converted", _WRITES))
    assert not both.converted.left_out
    api = control_plane.api
    with registration.absent():
        native, binding = both.converted.documents
        api.request("POST", f"{_GROUP}/mutatingadmissionpolicies?fieldValidation=Strict", native)
        try:
            api.request("POST", f"{_GROUP}/mutatingadmissionpolicybindings?fieldValidation=Strict", binding)
            pods = [each for each in random_pods("e2e writes", 60) if api.ask("POST", _PODS, each).status == 201]
            wait_for(lambda: "vendor" in _created(api, pods[0])["metadata"].get("labels", {}), what="the policy")
            for each in pods:
                _, ours, _ = both.written(each)
                assert _written(_created(api, each)) == _written(ours)
        finally:
            api.raw("DELETE", f"{_GROUP}/mutatingadmissionpolicybindings/{binding['metadata']['name']}")
            api.raw("DELETE", f"{_GROUP}/mutatingadmissionpolicies/{native['metadata']['name']}")
    assert len(pods) > 30


def _created(api: Api, pod: JSON) -> JSON:
    found: JSON = api.ask("POST", _PODS, pod).document
    return found


def _written(pod: JSON) -> JSON:
    """Return what the policy may have written on a pod."""
    spec, metadata = pod["spec"], pod["metadata"]
    containers = [*spec["containers"], *spec.get("initContainers", ())]
    return {
        **{key: metadata.get(key) for key in ("labels", "annotations")},
        **{key: spec.get(key) for key in ("tolerations", "activeDeadlineSeconds", "hostname")},
        "env": {each["name"]: each.get("env") for each in containers},
    }


def _same_verdict(api: Api, both: Both, pod: JSON) -> bool:
    """Return whether the API server denies the pod, once it was seen that podberth answers the same."""
    ours, _ = both.answers(pod)
    answer = api.ask("POST", _PODS, pod)
    assert answer.status in (HTTPStatus.CREATED, HTTPStatus.FORBIDDEN, HTTPStatus.UNPROCESSABLE_ENTITY)
    denial = "" if answer.status == HTTPStatus.CREATED else str(answer.document["message"])
    if "ValidatingAdmissionPolicy" not in denial:
        assert not denial, denial
    assert bool(ours) == bool(denial), (pod, ours, denial)
    assert denial.rpartition(": ")[2] in "".join(ours)
    return bool(denial)
