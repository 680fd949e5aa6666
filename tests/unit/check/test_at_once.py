"""All that is wrong with one document is reported at once, and nothing that a wrong value only makes look wrong."""

import pytest

from checking import checked, one
from refused_objects import DEPLOYMENT, JOB


def _fields(text: str) -> list[str]:
    return sorted(each.field.rpartition("spec.template.")[2] for each in one(text).errors)


def test_a_value_of_a_wrong_type_hides_no_other_error() -> None:
    parts = "env: [{name: A, value: 3}], resources: {limits: {cpu: 1x}}, ports: [{containerPort: 0}]"
    mount = "volumeMounts: [{name: v, mountPath: /a}]"
    text = DEPLOYMENT.replace("image: i", f"image: i, imag: i, {parts}, {mount}").replace(
        "labels: {app: a}", "labels: {app: b}"
    )
    assert _fields(text) == [
        "spec.containers[0].env[0].value",
        "spec.containers[0].imag",
        "spec.containers[0].ports[0].containerPort",
        "spec.containers[0].resources.limits.cpu",
        "spec.containers[0].volumeMounts[0].name",
        "spec.selector.matchLabels.app",
    ]


def test_a_placeholder_in_place_of_a_number_hides_no_other_error() -> None:
    parts = "resources: {limits: {nvidia.com/gpu: '${GPUS}', cpu: 1x}}, env: [{name: A, value: 3}]"
    text = JOB.replace("image: i", f"image: i, {parts}").replace("OnFailure", "Always")
    assert _fields(text) == [
        "spec.containers[0].env[0].value",
        "spec.containers[0].resources.limits.cpu",
        "spec.containers[0].resources.limits[nvidia.com/gpu]",
        "spec.restartPolicy",
    ]


def test_of_two_templates_with_placeholders_each_has_its_own_errors() -> None:
    limits = "resources: {limits: {nvidia.com/gpu: '${GPUS}', cpu: 1x}}"
    template = f"template: {{spec: {{containers: [{{name: c, image: i, {limits}}}]}}}}"
    head = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: a}\n"
    roles = f"{{Master: {{{template}}}, Worker: {{{template}}}}}"
    found = checked(f"{head}spec: {{pytorchReplicaSpecs: {roles}}}\n").results
    assert [[each.field.rpartition(".")[2] for each in result.errors] for result in found] == [
        ["com/gpu]", "cpu"],
        ["cpu"],
    ]


@pytest.mark.parametrize(
    ("text", "field"),
    [
        (DEPLOYMENT.replace("labels: {app: a}", "labels: {app: 3}"), "metadata.labels.app"),
        (DEPLOYMENT.replace("labels: {app: a}", "labels: []"), "metadata.labels"),
        (DEPLOYMENT.replace("image: i", "image: 3"), "spec.containers[0].image"),
        (DEPLOYMENT.replace("[{name: c, image: i}]", "[c, {name: d, image: i}]"), "spec.containers[0]"),
        (DEPLOYMENT.replace("[{name: c, image: i}]", "c"), "spec.containers"),
        (DEPLOYMENT.replace("name: c", "name: 3"), "spec.containers[0].name"),
        (DEPLOYMENT.replace("name: c", "name: c, env: [A=B]"), "spec.containers[0].env[0]"),
        (
            DEPLOYMENT.replace(
                "[{name: c,", "[{name: 3, image: i}, {name: 3, volumeMounts: [{name: v, mountPath: /a}],"
            ).replace("spec: {c", "spec: {volumes: v, c"),
            "spec.containers[0].name spec.containers[1].name spec.volumes",
        ),
        (
            DEPLOYMENT.replace("name: c,", "name: c, volumeMounts: [{name: v, mountPath: /a}],").replace(
                "spec: {c", "spec: {volumes: [v], c"
            ),
            "spec.volumes[0]",
        ),
        (JOB.replace("OnFailure", "3"), "spec.restartPolicy"),
        (JOB.replace("containers", "tolerations: [{operator: 3, tolerationSeconds: a}], containers"), ""),
    ],
)
def test_a_value_of_a_wrong_type_makes_no_other_value_wrong(text: str, field: str) -> None:
    wanted = field.split() or ["spec.tolerations[0].operator", "spec.tolerations[0].tolerationSeconds"]
    assert _fields(text) == wanted


def test_a_mount_may_be_of_a_volume_whose_name_is_a_placeholder() -> None:
    mount = "volumeMounts: [{name: data, mountPath: /a}]"
    text = JOB.replace("name: c,", f"name: c, {mount},").replace("containers", "volumes: [{name: '${V}'}], containers")
    assert one(text).errors == ()
