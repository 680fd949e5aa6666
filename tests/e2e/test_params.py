"""What tests/params_scenes.py says about kube-apiserver is true."""

from functools import partial
from typing import Final

from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from params_scenes import SCENES, Scene

_GROUP: Final = "/apis/admissionregistration.k8s.io/v1"
_NAMESPACE, _PARAMS = "params-scenes", "params-of-scenes"
_RULE: Final = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}


def test_scenes_are_as_the_apiserver_decides(control_plane: ControlPlane) -> None:
    for namespace in (_NAMESPACE, _PARAMS):
        control_plane.add_namespace(namespace)
    for scene in SCENES:
        _put(control_plane, scene)
    # Policies, bindings and params come by watches of their own: what one scene has seen says nothing of the others.
    for scene in SCENES:
        if scene.denied or scene.warnings:
            wait_for(partial(_decided_as_expected, control_plane, scene), what=f"{scene.name} to be as expected")
    found = {scene.name: _decided(control_plane, scene) for scene in SCENES}
    assert found == {scene.name: (scene.denied, scene.warnings) for scene in SCENES}


def _decided_as_expected(control_plane: ControlPlane, scene: Scene) -> bool:
    return _decided(control_plane, scene) == (scene.denied, scene.warnings)


def _put(control_plane: ControlPlane, scene: Scene) -> None:
    api = control_plane.api
    for config_map in scene.config_maps(_PARAMS):
        api.request("POST", f"/api/v1/namespaces/{_PARAMS}/configmaps", config_map)
    name = f"params-{scene.name}"
    head = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": name}}
    mine = {"resourceRules": [_RULE], "objectSelector": {"matchLabels": {"asks": scene.name}}}
    policy = {**head, "kind": "ValidatingAdmissionPolicy", "spec": {**scene.spec(), "matchConstraints": mine}}
    api.request("POST", f"{_GROUP}/validatingadmissionpolicies", policy)
    spec = {
        "policyName": name,
        "paramRef": scene.param_ref(_PARAMS),
        "validationActions": list(scene.actions),
    }
    binding = {**head, "kind": "ValidatingAdmissionPolicyBinding", "spec": spec}
    api.request("POST", f"{_GROUP}/validatingadmissionpolicybindings", binding)


def _decided(control_plane: ControlPlane, scene: Scene) -> tuple[bool, int]:
    """Return whether a ConfigMap is refused, and how many warnings it gets; nobody stores it."""
    metadata = {"name": f"asks-{scene.name}", "labels": {"asks": scene.name}}
    document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    answer = control_plane.api.ask("POST", f"/api/v1/namespaces/{_NAMESPACE}/configmaps?dryRun=All", document)
    return answer.status >= 300, len(answer.warnings)
