"""A field that its type does not have, with the name or the place that was meant."""

from typing import Any

import pytest

from podberth.kube.schema import POD, PodSchema, Schema
from podberth.kube.unknown_fields import Typed, nearest, unknown_fields

_DEFINITIONS = PodSchema.packaged().definitions


def said(value: Any, message: str = POD, *others: str) -> list[tuple[str, str]]:
    typed = Typed(Schema(kind="message", message=message), value, others=frozenset(others))
    return [(".".join(map(str, each.path)), each.message) for each in unknown_fields(_DEFINITIONS, typed)]


@pytest.mark.parametrize(
    ("container", "path", "message"),
    [
        ({"resource": {}}, "resource", "got resource, which a Container does not have; did you mean resources?"),
        ({"imagee": "i"}, "imagee", "got imagee, which a Container does not have; did you mean image?"),
        (
            {"resources": {"limit": {}}},
            "resources.limit",
            "got limit, which a ResourceRequirements does not have; did you mean limits?",
        ),
        ({"image_pull_policy": "Always"}, "image_pull_policy", "did you mean imagePullPolicy?"),
        ({"env": [{"name": "A", "valuefrom": {}}]}, "env.0.valuefrom", "which an EnvVar does not have"),
        ({"zzz": 1}, "zzz", "got zzz, which a Container of Kubernetes 1.37 does not have"),
    ],
)
def test_a_misspelt_field_is_reported_with_the_nearest_name(container: dict[str, Any], path: str, message: str) -> None:
    [(where, what)] = said({"spec": {"containers": [container]}})
    assert where == f"spec.containers.0.{path}"
    assert message in what


@pytest.mark.parametrize(
    ("spec", "path", "message"),
    [
        ({"restartPolicy": "never"}, "restartPolicy", "got 'never'; did you mean Never?"),
        (
            {"tolerations": [{"effect": "NoSchedul"}]},
            "tolerations.0.effect",
            "got 'NoSchedul'; did you mean NoSchedule?",
        ),
        ({"tolerations": [{"operator": "In"}]}, "tolerations.0.operator", "got 'In', want Equal, Exists, Gt or Lt"),
        (
            {"containers": [{"imagePullPolicy": "x"}]},
            "containers.0.imagePullPolicy",
            "want Always, IfNotPresent or Never",
        ),
        (
            {"containers": [{"lifecycle": {"stopSignal": "9"}}]},
            "containers.0.lifecycle.stopSignal",
            "got '9', which the field does not take",
        ),
    ],
)
def test_a_value_that_a_field_does_not_take_is_reported_with_those_that_it_takes(
    spec: dict[str, Any], path: str, message: str
) -> None:
    [(where, what)] = said({"spec": spec})
    assert where == f"spec.{path}"
    assert what.endswith(message)


def test_the_end_of_a_name_means_the_name() -> None:
    [(_, message)] = said({"spec": {"volumes": [{"name": "v", "persistentVolumeClaim": {"name": "a"}}]}})
    assert message.endswith("does not have; did you mean claimName?")


def test_an_empty_value_and_one_of_a_field_that_takes_any_are_known() -> None:
    assert (
        said({"spec": {"tolerations": [{"effect": "", "key": "any"}], "dnsPolicy": "", "schedulerName": "any"}}) == []
    )


@pytest.mark.parametrize(
    ("pod", "place"),
    [
        ({"spec": {"containers": [{"tolerations": []}]}}, "spec"),
        ({"spec": {"containers": [{"limits": {}}]}}, "spec.containers[0].resources"),
        ({"spec": {"containers": [{"securityContext": {"fsGroup": 1}}]}}, "spec.securityContext"),
        ({"spec": {"imagePullPolicy": "Always"}}, "a container"),
        ({"spec": {"securityContext": {"capabilities": {}}}}, "the securityContext of a container"),
        ({"labels": {}, "metadata": {"name": "p"}}, "metadata"),
        ({"metadata": {"spec": {}}}, "the top of the object"),
        ({"spec": {"containers": [{"resources": {"command": []}}]}}, "spec.containers[0]"),
    ],
)
def test_a_field_at_a_wrong_indentation_is_reported_with_its_place(pod: dict[str, Any], place: str) -> None:
    [(_, message)] = said(pod)
    assert message.endswith(f"does not have; it belongs in {place}")


def test_a_place_that_has_the_field_already_is_not_offered() -> None:
    [(_, message)] = said({"spec": {"containers": [{"name": "c", "resources": {"name": "c"}}]}})
    assert "belongs" not in message


def test_a_name_has_the_article_with_which_it_is_read() -> None:
    volumes = [{"rbd": {"x": 1}}, {"emptyDir": {"x": 1}}, {"csi": {"x": 1}}, {"secret": {"x": 1}}]
    assert [message.split()[3:5] for _, message in said({"spec": {"volumes": volumes}})] == [
        ["an", "RBDVolumeSource"],
        ["an", "EmptyDirVolumeSource"],
        ["a", "CSIVolumeSource"],
        ["a", "SecretVolumeSource"],
    ]


def test_maps_and_values_without_a_type_may_hold_anything() -> None:
    metadata = {"labels": {"a": "b"}, "managedFields": [{"fieldsV1": {"f:spec": {}}}]}
    resources = {"limits": {"nvidia.com/gpu": 1}}
    assert said({"metadata": metadata, "spec": {"overhead": {"x": 1}, "containers": [{"resources": resources}]}}) == []


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (None, []),
        ("text", [("", "got string, want object")]),
        ([3], [("", "got list, want object")]),
        ({"spec": 3}, [("spec", "got integer, want object")]),
        ({"spec": {"containers": {"a": 1}}}, [("spec.containers", "got object, want list")]),
        ({"spec": {"containers": [3, None]}}, [("spec.containers.0", "got integer, want object")]),
        (
            {"spec": {"hostNetwork": "true", "priority": 1.5}},
            [("spec.hostNetwork", "got string, want boolean"), ("spec.priority", "got number, want integer")],
        ),
        (
            {"metadata": {"name": True, "labels": {"a": 1}}},
            [
                ("metadata.name", "got boolean, want string; put it in quotes"),
                ("metadata.labels.a", "got integer, want string; put it in quotes"),
            ],
        ),
    ],
)
def test_a_value_of_a_wrong_type_is_reported_and_has_no_fields(value: Any, found: list[tuple[str, str]]) -> None:
    assert said(value) == found


def test_a_quantity_and_a_number_or_name_may_have_two_types() -> None:
    assert said({"spec": {"priority": 2.0}}) == []
    container = {"resources": {"limits": {"cpu": 1, "memory": "1Gi"}}, "livenessProbe": {"httpGet": {"port": "http"}}}
    assert said({"spec": {"containers": [container, {"livenessProbe": {"httpGet": {"port": 80}}}]}}) == []


def test_fields_of_other_versions_of_kubernetes_are_known() -> None:
    probe = {"httpGet": {"port": 1, "protocol": "HTTP2"}}
    assert said({"spec": {"workloadRef": {"name": "w"}, "containers": [{"livenessProbe": probe}]}}) == []


def test_further_fields_are_those_of_the_value_itself() -> None:
    kind = "io.k8s.api.core.v1.Container"
    assert said({"source": "print()"}, kind, "source") == []
    [(path, _)] = said({"env": [{"name": "A", "source": 1}]}, kind, "source")
    assert path == "env.0.source"


def test_no_name_is_near_by_a_few_letters() -> None:
    assert nearest("labels", ("volumes", "tolerations")) == ""
    assert nearest("NodeSelector", ("nodeSelector", "nodeName")) == "nodeSelector"
