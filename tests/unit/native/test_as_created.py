"""The object that validation sees; tests/e2e/test_native_policies.py compares it, by policies, with a real one."""

from typing import Any

import pytest

from podberth.native.as_created import as_created
from podberth.native.resources import Resources


def made(version: str, kind: str, **fields: Any) -> dict[str, Any]:
    known = Resources().of(version, kind)
    assert known is not None
    document = {"apiVersion": version, "kind": kind, "metadata": {"name": "a"}, **fields}
    found, problems = as_created(document, known, "default")
    assert not problems
    return found


def test_a_deployment_has_its_defaults_and_those_of_its_template() -> None:
    container = {"name": "c", "image": "i", "resources": {"limits": {"cpu": "1000m"}, "requests": None}}
    found = made("apps/v1", "Deployment", spec={"template": {"spec": {"containers": [container]}}, "paused": None})
    spec = found["spec"]
    assert (spec["replicas"], spec["strategy"]["type"], spec["progressDeadlineSeconds"]) == (1, "RollingUpdate", 600)
    assert "paused" not in spec
    template = spec["template"]["spec"]
    assert (template["restartPolicy"], template["containers"][0]["imagePullPolicy"]) == ("Always", "Always")
    # Only a pod's requests follow from its limits, and only a pod has tolerations and priority of admission.
    assert template["containers"][0]["resources"] == {"limits": {"cpu": "1"}}
    assert not {"tolerations", "priority", "enableServiceLinks"} & template.keys()
    assert (found["metadata"]["namespace"], found["metadata"]["generation"]) == ("default", 1)


def test_an_object_of_the_cluster_has_no_namespace_and_an_empty_map_is_not_written() -> None:
    found = made("v1", "Namespace")
    assert "namespace" not in found["metadata"]
    assert found["metadata"]["labels"] == {"kubernetes.io/metadata.name": "a"}
    assert "data" not in made("v1", "ConfigMap", data={})


def test_fields_that_are_false_or_empty_are_not_written() -> None:
    container = {"name": "c", "image": "i", "command": [], "env": [{"name": "a", "value": ""}], "tty": False}
    container |= {"volumeMounts": [{"name": "v", "mountPath": "/v", "readOnly": False, "subPath": ""}]}
    pods = {"containers": [container], "hostNetwork": False, "hostPID": True, "shareProcessNamespace": False}
    found = made("apps/v1", "Deployment", spec={"paused": False, "minReadySeconds": 0, "template": {"spec": pods}})
    assert not {"paused", "minReadySeconds"} & found["spec"].keys()
    spec = found["spec"]["template"]["spec"]
    assert (spec.get("hostNetwork"), spec["hostPID"], spec["shareProcessNamespace"]) == (None, True, False)
    kept = spec["containers"][0]
    assert not {"command", "tty"} & kept.keys()
    assert kept["env"] == [{"name": "a"}]
    assert kept["volumeMounts"] == [{"name": "v", "mountPath": "/v"}]


def test_a_stateful_sets_claims_have_their_defaults() -> None:
    claim = {"metadata": {"name": "c"}, "spec": {"resources": {"requests": {"storage": "1024Mi"}}}}
    spec = {"template": {"spec": {"containers": []}}, "volumeClaimTemplates": [claim]}
    assert made("apps/v1", "StatefulSet", spec=spec)["spec"]["volumeClaimTemplates"] == [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "c"},
            "spec": {"resources": {"requests": {"storage": "1Gi"}}, "volumeMode": "Filesystem"},
            "status": {"phase": "Pending"},
        }
    ]


def test_a_daemon_set_has_the_annotation_of_its_templates_generation() -> None:
    found = made("apps/v1", "DaemonSet", spec={"template": {"spec": {"containers": []}}})
    assert found["metadata"]["annotations"] == {"deprecated.daemonset.template.generation": "1"}


@pytest.mark.parametrize(
    "document", [{"metadata": []}, {"metadata": {"labels": []}}, {"spec": "text"}, {"spec": {"template": "text"}}]
)
def test_a_wrong_shape_is_a_problem(document: dict[str, Any]) -> None:
    known = Resources().of("apps/v1", "Deployment")
    assert known is not None
    assert as_created({"apiVersion": "apps/v1", "kind": "Deployment", **document}, known, "default")[1]


def test_a_pods_profiles_and_label_keys_are_completed_at_its_creation() -> None:
    prefix = "container.apparmor.security.beta.kubernetes.io"
    annotations = {f"{prefix}/a": "unconfined", f"{prefix}/b": "localhost/mine", f"{prefix}/c": "localhost/ padded"}
    spread = {"maxSkew": 1, "topologyKey": "z", "labelSelector": {}, "matchLabelKeys": ["app", "none"]}
    given = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "annotations": annotations, "labels": {"app": "x"}},
        "spec": {"containers": [{"name": each} for each in "abc"], "topologySpreadConstraints": [spread]},
    }
    kind = Resources().of("v1", "Pod")
    assert kind is not None
    made, problems = as_created(given, kind, "default")
    assert not problems
    profiles = [(each.get("securityContext") or {}).get("appArmorProfile") for each in made["spec"]["containers"]]
    assert profiles == [{"type": "Unconfined"}, {"type": "Localhost", "localhostProfile": "mine"}, None]
    [constraint] = made["spec"]["topologySpreadConstraints"]
    assert constraint["labelSelector"] == {"matchExpressions": [{"key": "app", "operator": "In", "values": ["x"]}]}


@pytest.mark.parametrize("spec", [{}, {"containers": [{}]}, {"containers": ["a"]}, {"affinity": {"podAffinity": 3}}])
def test_a_pod_of_another_shape_is_no_fault(spec: dict[str, Any]) -> None:
    kind = Resources().of("v1", "Pod")
    assert kind is not None
    as_created({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}, kind, "default")


def test_hooks_references_and_volumes_have_their_defaults() -> None:
    container = {
        "name": "c",
        "image": "i",
        "env": [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}],
        "lifecycle": {"preStop": {"httpGet": {"port": 80}}, "postStart": {"exec": {}}},
        "livenessProbe": {"grpc": {"port": 90}},
        "readinessProbe": {"httpGet": {"path": ""}},
    }
    names = {"path": "p", "fieldRef": {"fieldPath": "metadata.name"}}
    volumes = [
        {"name": "a", "projected": {"sources": [{"serviceAccountToken": {}}, {"downwardAPI": {"items": [names]}}]}},
        {"name": "b", "ephemeral": {"volumeClaimTemplate": {}}},
        {"name": "c", "image": {"reference": "r:5000/i:v1"}},
        {"name": "d", "rbd": {"image": "x"}},
    ]
    spec = made("v1", "Pod", spec={"containers": [container], "volumes": volumes})["spec"]
    found = spec["containers"][0]
    assert found["env"][0]["valueFrom"]["resourceFieldRef"] == {"resource": "limits.cpu", "divisor": "0"}
    assert found["lifecycle"]["preStop"]["httpGet"] == {"port": 80, "path": "/", "scheme": "HTTP"}
    assert found["livenessProbe"]["grpc"] == {"port": 90, "service": ""}
    assert found["readinessProbe"]["httpGet"]["path"] == "/"
    token, downward = spec["volumes"][0]["projected"]["sources"]
    assert token == {"serviceAccountToken": {"expirationSeconds": 3600}}
    assert downward["downwardAPI"]["items"][0]["fieldRef"]["apiVersion"] == "v1"
    claim = {"metadata": {}, "spec": {"volumeMode": "Filesystem"}}
    assert spec["volumes"][1]["ephemeral"] == {"volumeClaimTemplate": claim}
    assert spec["volumes"][2]["image"]["pullPolicy"] == "IfNotPresent"
    assert spec["volumes"][3]["rbd"]["pool"] == "rbd"


@pytest.mark.parametrize("wrong", ["x", 1, ["x"], {"spec": "x", "sources": "x", "items": ["x"]}])
def test_parts_of_another_type_get_no_defaults(wrong: Any) -> None:
    """Only the API server refuses them: podberth checks the shape of what it reads itself."""
    container = {"name": "c", "image": "i", "lifecycle": wrong, "env": [{"name": "A", "valueFrom": wrong}]}
    names = ("projected", "downwardAPI", "image")
    volumes = [{"name": "v", name: wrong} for name in names]
    volumes.append({"name": "v", "ephemeral": {"volumeClaimTemplate": wrong}})
    assert made("v1", "Pod", spec={"containers": [container], "volumes": volumes})["spec"]["volumes"][0]


def amounts(*sides: str) -> dict[str, Any]:
    """Return limits, then requests, of cpu and memory as the words say: ``1`` for an amount, ``0`` for zero."""
    found = {
        side: {name: amount for name, amount in zip(("cpu", "memory"), text, strict=True) if amount != "-"}
        for side, text in zip(("limits", "requests"), sides, strict=False)
    }
    return {"resources": found}


@pytest.mark.parametrize(
    ("of_pod", "of_containers", "wanted"),
    [
        ({}, [amounts("--", "0-")], "BestEffort"),
        ({}, [amounts("10")], "Burstable"),
        ({}, [amounts("11"), amounts("00")], "Burstable"),
        ({}, [amounts("11")], "Guaranteed"),
        (amounts("11", "11"), [{}], "Guaranteed"),
        (amounts("--", "1-"), [amounts("11")], "Burstable"),
        ({"resources": {}}, [amounts("11")], "BestEffort"),
    ],
)
def test_the_amounts_of_the_pod_itself_decide_its_class(
    of_pod: dict[str, Any], of_containers: list[dict[str, Any]], wanted: str
) -> None:
    """An amount of zero is none, and a pod with amounts of its own has those alone (ComputePodQOS)."""
    containers = [{"name": f"c{index}", "image": "i", **each} for index, each in enumerate(of_containers)]
    assert made("v1", "Pod", spec={"containers": containers, **of_pod})["status"]["qosClass"] == wanted


def test_a_pod_with_limits_of_its_own_requests_what_its_containers_do() -> None:
    init = [
        {"name": "s", "image": "i", "restartPolicy": "Always", "resources": {"requests": {"cpu": "100m"}}},
        {"name": "t", "image": "i", "resources": {"requests": {"cpu": "2"}}},
    ]
    main = [
        {"name": "a", "image": "i", "resources": {"requests": {"cpu": "500m", "memory": "512Mi"}}},
        {"name": "b", "image": "i", "resources": {"limits": {"memory": "512Mi"}}},
    ]
    own: dict[str, Any] = {"limits": {"cpu": 4, "memory": "4Gi"}}
    spec: dict[str, Any] = {"initContainers": init, "containers": main, "resources": own}
    assert made("v1", "Pod", spec=spec)["spec"]["resources"]["requests"] == {"cpu": "2100m", "memory": "1Gi"}
    spec["resources"] = {**own, "requests": {"cpu": "3"}}
    assert made("v1", "Pod", spec=spec)["spec"]["resources"]["requests"] == {"cpu": "3", "memory": "1Gi"}
    alone: dict[str, Any] = {"containers": [{"name": "a", "image": "i"}], "resources": own}
    assert made("v1", "Pod", spec=alone)["spec"]["resources"]["requests"] == {"cpu": "4", "memory": "4Gi"}
    assert "requests" not in made("v1", "Pod", spec={**alone, "resources": {}})["spec"]["resources"]
