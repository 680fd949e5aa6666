"""What the API server refuses is an error at its field, and what its defaults repair or somebody fills in is none."""

import pytest

from checking import checked, one
from refused_objects import (
    CRON_JOB,
    DEPLOYMENT,
    JOB,
    JOB_SET,
    POD,
    PYTORCH_JOB,
    REFUSED,
    REFUSED_LATER,
    RIGHT,
    Refused,
)


@pytest.mark.parametrize("case", REFUSED + REFUSED_LATER, ids=lambda case: f"{case.field}: {case.said[:20]}")
def test_a_value_that_the_api_server_refuses_is_an_error_at_its_field(case: Refused) -> None:
    [error] = one(case.text).errors
    assert error.field == case.field
    assert error.message.startswith(case.said)


@pytest.mark.parametrize("text", RIGHT)
def test_an_object_that_the_api_server_takes_has_no_finding(text: str) -> None:
    result = one(text)
    assert (result.errors, result.warnings) == ((), ())


@pytest.mark.parametrize(
    "text",
    [
        POD.replace("volumes: []", "volumes: [{name: a}, {name: b, configMap: null}]"),
        POD.replace("image: i", "image: i, ports: [{containerPort: 1, hostPort: 0}], env: [{name: a.b-c}]"),
        POD.replace("image: i", "image: i, resources: {requests: {cpu: 1, memory: 1Gi}, limits: {cpu: 1000m}}"),
        POD.replace("name: a}", "name: '{{ name }}', labels: {'<key>': '$VALUE'}}").replace(
            "name: c", "name: POD_NAME"
        ),
        POD.replace("name: a}", "name: olm-MODEL_TAG-a}"),
        POD.replace("tolerations: []", "tolerations: [{operator: Exists}, {key: '${KEY}', value: <value>}]"),
        POD.replace("image: i", "image: i, ports: [{containerPort: 1, name: $A}, {containerPort: 2, name: $A}]"),
        POD.replace("tolerations: []", "resources: {limits: {cpu: 1, memory: 1Gi, hugepages-2Mi: 2Mi}}"),
        POD.replace("tolerations: []", "resourceClaims: [{name: gpu, resourceClaimName: mine}]").replace(
            "image: i", "image: i, resources: {claims: [{name: gpu}]}"
        ),
        JOB.replace("spec:\n  template", "spec:\n  completionMode: Indexed\n  template"),
        CRON_JOB.replace("name: a}", "name: '{{ .Release.Name }}-{{ a name that is longer than it will be }}'}"),
        DEPLOYMENT.replace("Deployment", "StatefulSet").replace(
            "spec: {containers", "spec: {hostname: a.b, containers"
        ),
    ],
)
def test_defaults_and_placeholders_are_no_errors(text: str) -> None:
    assert one(text).errors == ()


_JOB_SET = (
    JOB_SET.partition("    template:")[0]
    + """\
    template:
      spec:
        backoffLimit: -1
        parallelism: 2
        template:
          spec:
            restartPolicy: Always
            volumes: [{name: v}]
            containers: [{name: c, image: i, volumeMounts: [{name: w, mountPath: /a}]}]
"""
)


def test_a_job_of_a_job_set_is_checked_as_a_job_with_the_defaults_of_job_sets() -> None:
    job = "spec.replicatedJobs[0].template.spec"
    assert [(each.field, each.message) for each in one(_JOB_SET).errors] == [
        (job, "got no completions, want the number of pods: the API server refuses an Indexed Job without it"),
        (f"{job}.backoffLimit", "got -1, want 0 or more"),
        (
            f"{job}.template.spec.restartPolicy",
            "got Always, want Never or OnFailure: a JobSet runs its pods to their end",
        ),
        (f"{job}.template.spec.containers[0].volumeMounts[0].name", "got w, which no volume of the pod has"),
    ]


def test_an_object_that_another_wraps_is_checked_as_by_itself() -> None:
    wrapped = JOB.replace("spec:\n  template", "spec:\n  parallelism: -1\n  template").replace("\n", "\n      ")
    head = "apiVersion: workload.codeflare.dev/v1beta2\nkind: AppWrapper\nmetadata: {name: a_b}\nspec:\n  components:\n"
    errors = one(f"{head}  - template:\n      {wrapped.rstrip()}\n").errors
    assert [each.field for each in errors] == ["metadata.name", "spec.components[0].template.spec.parallelism"]


def test_the_pods_of_every_operator_are_checked() -> None:
    worker = "{replicas: 1, template: {spec: {containers: [{name: c, image: i, ports: [{containerPort: 0}]}]}}}"
    head = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: a}\nspec:\n"
    [error] = one(f"{head}  pytorchReplicaSpecs: {{Worker: {worker}}}\n").errors
    assert error.field == "spec.pytorchReplicaSpecs.Worker.template.spec.containers[0].ports[0].containerPort"


def test_a_finding_outside_the_templates_is_filed_under_the_nearest_one() -> None:
    template = "template: {spec: {containers: [{name: c, image: i}]}}"
    roles = f"{{Master: {{{template}}}, Worker: {{replicass: 2, {template}}}}}"
    head = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: a}\n"
    found = {
        each.path: [warning.field for warning in each.warnings]
        for each in checked(f"{head}spec: {{pytorchReplicaSpecs: {roles}}}\n").results
    }
    at = "spec.pytorchReplicaSpecs"
    assert found == {f"{at}.Master.template": [], f"{at}.Worker.template": [f"{at}.Worker.replicass"]}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("ExitCode", []),
        ("exitcode", ["got 'exitcode'; did you mean ExitCode?"]),
        ("Sometimes", ["got 'Sometimes', want Always, Never, OnFailure or ExitCode"]),
        ("3", ["got integer, want string; put it in quotes"]),
        ("'${POLICY}'", []),
    ],
)
def test_a_role_of_the_training_operator_has_a_policy_more_than_a_pod(value: str, said: list[str]) -> None:
    assert [each.message for each in one(PYTORCH_JOB.replace("never", value)).errors] == said


def test_a_value_of_a_template_that_the_operator_replaces_is_only_a_warning() -> None:
    text = PYTORCH_JOB.replace("never", "Never").replace("spec: {containers", "spec: {restartPolicy: never, containers")
    result = one(text)
    assert (result.errors, [each.message for each in result.warnings]) == ((), ["got 'never'; did you mean Never?"])


def test_a_wrong_value_is_an_error_in_an_object_that_another_wraps_and_an_unknown_field_is_a_warning() -> None:
    head = "apiVersion: workload.codeflare.dev/v1beta2\nkind: AppWrapper\nmetadata: {name: a}\nspec:\n  components:\n"
    for each in (JOB_SET, JOB.replace("OnFailure", "never")):
        wrapped = each.replace("{restartPolicy", "{restart: Never, restartPolicy").replace("\n", "\n      ")
        result = one(f"{head}  - template:\n      {wrapped.rstrip()}\n")
        assert [found.message for found in result.errors] == ["got 'never'; did you mean Never?"]
        assert [found.message.partition(",")[0] for found in result.warnings] == ["got restart"]
