"""What the API server refuses in a workload, though every field and every value is known."""

from dataclasses import replace

import pytest

from checking import checked, one, shipped
from podberth.check.run import CheckSettings, check
from podberth.check.sources import read
from podberth.check.unknown_fields import MOST_UNKNOWN

MOUNTS = """\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: a}
spec:
  selector: {matchLabels: {a: b}}
  volumeClaimTemplates: [{metadata: {name: data}}]
  template:
    spec:
      volumes: [{name: dshm}]
      containers:
      - name: main
        image: i
        volumeMounts:
        - {name: data, mountPath: /a}
        - {name: "${VOLUME}", mountPath: /b}
        - {name: dshn, mountPath: /c}
"""
SAID = "got dshn, which no volume of the pod has; did you mean dshm?"


def test_a_mount_of_a_volume_that_the_pod_does_not_have_is_an_error_at_its_name() -> None:
    [error] = one(MOUNTS).errors
    assert (error.field, error.line) == ("spec.template.spec.containers[0].volumeMounts[2].name", 16)
    assert error.message == SAID


def test_in_a_folder_such_a_mount_is_a_warning_and_a_patch_has_none() -> None:
    def found(text: str) -> list[list[str]]:
        results = check(replace(read("a.yaml", text), found=True), shipped(), CheckSettings(), ()).results
        assert not any(each.errors for each in results)
        return [[finding.message for finding in each.warnings] for each in results]

    assert found(MOUNTS) == [[f"{SAID}; only a warning, because another file of the folder may complete it"]]
    assert found(MOUNTS.replace("        image: i\n", "")) == [[]]


def test_the_selector_of_what_may_be_a_patch_is_not_compared() -> None:
    patch = of("Deployment", "Always", "other").replace(", image: i", "")
    results = check(replace(read("a.yaml", patch), found=True), shipped(), CheckSettings(), ()).results
    assert [(each.errors, each.warnings) for each in results] == [((), ())]


def test_a_placeholder_in_capitals_for_a_number_is_said_once() -> None:
    job = of("Job", "Never").replace("  selector:", "  parallelism: NUM_PODS\n  completions: NUM_PODS\n  selector:")
    assert [each.message.partition(" (")[0] for each in one(job).errors] == ["got the placeholder NUM_PODS"]


def test_the_volumes_of_an_operators_pod_are_unknown() -> None:
    operators = MOUNTS.replace("apps/v1", "leaderworkerset.x-k8s.io/v1").replace("StatefulSet", "LeaderWorkerSet")
    results = checked(operators.replace("  template:", "  leaderWorkerTemplate:\n   workerTemplate:")).results
    assert [each.errors for each in results] == [()] * len(results)


WORKLOAD = """\
apiVersion: VERSION
kind: KIND
metadata: {name: a}
spec:
  selector: {matchLabels: {app: a, "${KEY}": b}}
  template:
    metadata: {labels: {app: LABEL}}
    spec:
      restartPolicy: POLICY
      containers: [{name: c, image: i}]
"""


def of(kind: str, policy: str, label: str = "a") -> str:
    version = "batch/v1" if kind == "Job" else "apps/v1"
    text = WORKLOAD.replace("VERSION", version).replace("KIND", kind)
    return text.replace("POLICY", policy).replace("LABEL", label)


@pytest.mark.parametrize(
    ("kind", "policy", "said"),
    [
        ("Job", "Always", "got Always, want Never or OnFailure: a Job runs its pods to their end"),
        ("Deployment", "Never", "got Never, want Always: a Deployment starts its pods again"),
        ("DaemonSet", "OnFailure", "got OnFailure, want Always: a DaemonSet starts its pods again"),
    ],
)
def test_a_restart_policy_that_the_kind_does_not_have_is_an_error(kind: str, policy: str, said: str) -> None:
    [error] = one(of(kind, policy)).errors
    assert (error.line, error.field, error.message) == (9, "spec.template.spec.restartPolicy", said)


@pytest.mark.parametrize(("kind", "policy"), [("Job", "Never"), ("Job", "OnFailure"), ("Deployment", "Always")])
def test_a_restart_policy_of_the_kind_is_right(kind: str, policy: str) -> None:
    assert one(of(kind, policy)).errors == ()


def test_a_selector_and_the_templates_labels_have_the_same_values() -> None:
    [error] = one(of("Deployment", "Always", "other")).errors
    assert error.field == "spec.selector.matchLabels.app"
    assert error.message == "got a, but the template has other; want the same in both"
    [error] = one(of("Deployment", "Always").replace("{app: a}}\n    spec", "{tier: a}}\n    spec")).errors
    assert error.message == "got a, but the template does not have the label; want the same in both"
    assert one(of("Job", "Never", "other")).errors == ()
    assert one(of("Deployment", "Always", "'${APP}'")).errors == ()
    assert one(of("Deployment", "Always").replace("    metadata: {labels: {app: a}}\n", "")).errors == ()


def test_a_wrong_type_outside_the_template_is_an_error_and_inside_it_is_said_once() -> None:
    text = of("Deployment", "Always").replace("  selector:", "  replicas: '2'\n  selector:")
    [error] = one(text).errors
    assert (error.line, error.field, error.message) == (5, "spec.replicas", "got string, want integer")
    [error] = one(of("Deployment", "Always").replace("image: i", "image: 3")).errors
    assert error.message == "got integer, want string"


WHOLE = [
    ("Job", "      restartPolicy: Never\n", "restartPolicy, want Never or OnFailure"),
    ("Deployment", '  selector: {matchLabels: {app: a, "${KEY}": b}}\n', "selector, want matchLabels with labels of"),
]


@pytest.mark.parametrize(("kind", "without", "said"), WHOLE)
def test_a_field_that_the_api_server_needs_is_an_error_unless_the_file_may_be_a_patch(
    kind: str, without: str, said: str
) -> None:
    whole = of(kind, "Never" if kind == "Job" else "Always")
    [error] = one(whole.replace(without, "")).errors
    assert error.message.startswith(f"got no {said}")
    assert error.message.endswith(f": the API server refuses such a {kind}")
    result = one(whole)
    assert (result.errors, result.warnings) == ((), ())
    patch = one(whole.replace(without, "").replace(", image: i", ""))
    assert (patch.errors, patch.warnings) == ((), ())


def test_in_a_folder_an_absent_restart_policy_is_a_warning_and_an_absent_selector_that_of_a_patch() -> None:
    def found(kind: str, without: str) -> list[str]:
        text = of(kind, "Never" if kind == "Job" else "Always").replace(without, "")
        [result] = check(replace(read("a.yaml", text), found=True), shipped(), CheckSettings(), ()).results
        assert result.errors == ()
        return [each.message for each in result.warnings]

    job, deployment = (found(kind, without) for kind, without, _ in WHOLE)
    why = "only a warning, because another file of the folder may complete it"
    assert job == [f"got no restartPolicy, want Never or OnFailure: the API server refuses such a Job; {why}"]
    assert deployment == []


def test_an_absent_image_is_a_warning_because_a_webhook_may_add_it() -> None:
    result = one(of("Deployment", "Always").replace(", image: i", ""))
    assert result.errors == ()
    why = "only a warning, because a webhook or another file may add it"
    assert [each.message for each in result.warnings] == [
        f"got no image for container c: the API server refuses such a Deployment; {why}"
    ]


def test_a_schedule_that_the_api_server_cannot_parse_is_an_error() -> None:
    job = """
        apiVersion: batch/v1
        kind: CronJob
        metadata: {name: a}
        spec:
          schedule: SCHEDULE
          jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}
    """
    [error] = one(job.replace("SCHEDULE", "every day")).errors
    assert (error.field, error.line) == ("spec.schedule", 6)
    assert error.message == "got 'every day', want five fields such as '0 3 * * 1', or a name such as @daily"
    assert one(job.replace("SCHEDULE", "'{{ schedule }}'")).errors == ()


def test_the_quantities_of_claims_are_checked() -> None:
    claims = "[{metadata: {name: data}, spec: {resources: {requests: {storage: 10Gb}}}}]"
    [error] = one(MOUNTS.replace("[{metadata: {name: data}}]", claims).replace("dshn", "dshm")).errors
    assert error.field == "spec.volumeClaimTemplates[0].spec.resources.requests.storage"
    assert error.message == 'got "10Gb", want a quantity such as 2, 500m or 10Gi'


def test_the_volumes_of_a_template_are_those_of_the_document() -> None:
    volumes = "[{name: dshm, emptyDir: {sizeLimit: 8Gb}}, {name: dshm}]"
    errors = one(MOUNTS.replace("[{name: dshm}]", volumes).replace("dshn", "dshm")).errors
    below = "spec.template.spec.volumes"
    assert [each.field for each in errors] == [f"{below}[0].emptyDir.sizeLimit", f"{below}[1].name"]
    assert errors[1].message == "got dshm for two volumes, want a name for each"


def test_a_medium_that_no_kubelet_knows_is_a_warning() -> None:
    def found(medium: str) -> list[str]:
        text = MOUNTS.replace("[{name: dshm}]", f"[{{name: dshm, emptyDir: {{medium: {medium}}}}}]")
        return [each.message for each in one(text.replace("dshn", "dshm")).warnings if "kubelet" in each.message]

    assert found("memory") == [
        "got memory, which no kubelet can mount, so the pod never starts; want Memory or HugePages"
    ]
    assert [found(each) for each in ("Memory", "HugePages-1Gi", "''", "'${MEDIUM}'")] == [[], [], [], []]


def test_the_first_of_many_broken_rules_are_named_and_the_others_left_out() -> None:
    mounts = "".join(f"        - {{name: a{at}, mountPath: /{at}}}\n" for at in range(MOST_UNKNOWN + 5))
    result = one(MOUNTS.replace("        - {name: data, mountPath: /a}\n", mounts))
    assert len(result.errors) == MOST_UNKNOWN + 1
    assert result.errors[-1].message.startswith("got more than 200 unknown fields and values")
