"""Fields that a workload does not have: an error where kubectl refuses them, else a warning; no word about others."""

from pathlib import Path

import pytest

from checking import ROOT, checked, one, shipped
from podberth.check.run import CheckSettings, check_object
from podberth.check.sources import without_place
from podberth.check.unknown_fields import MOST_UNKNOWN

POD = """apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
  - name: c
    image: i
    resource:
      limits: {nvidia.com/gpu: 1}
"""
DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec:
  replica: 2
  selector: {matchLabels: {a: b}}
  template:
    spec:
      containers:
      - {name: c, image: i}
"""


def test_a_field_that_kubectl_refuses_is_an_error_at_its_key() -> None:
    result = one(POD)
    assert result.verdict == "error"
    assert [(each.line, each.field, each.message) for each in result.errors] == [
        (
            8,
            "spec.containers[0].resource",
            "got resource, which a Container does not have; did you mean resources?",
        )
    ]


def test_a_field_that_pods_once_had_is_a_warning_and_is_read() -> None:
    claims = "  resourceClaims: [{name: gpu, source: {resourceClaimTemplateName: t}}]\n"
    result = one(POD.replace("    resource:\n      limits: {nvidia.com/gpu: 1}\n", claims))
    assert (result.verdict, result.errors) == ("unchanged", ())
    [warning] = result.warnings
    assert (warning.line, warning.field) == (8, "spec.resourceClaims[0].source")
    assert "has not had since Kubernetes 1.31" in warning.message


def test_the_fields_around_a_template_are_checked_too() -> None:
    [error] = one(DEPLOYMENT).errors
    assert (error.line, error.field) == (5, "spec.replica")
    assert error.message == "got replica, which a DeploymentSpec does not have; did you mean replicas?"


@pytest.mark.parametrize(
    ("version", "kind", "spec", "field"),
    [
        ("apps/v1", "StatefulSet", "{SELECTOR, volumeClaimTemplates: [{specs: {}}], template: TEMPLATE}", "specs"),
        ("apps/v1", "DaemonSet", "{SELECTOR, updatestrategy: {}, template: TEMPLATE}", "updatestrategy"),
        ("apps/v1", "ReplicaSet", "{SELECTOR, paused: true, template: TEMPLATE}", "paused"),
        ("batch/v1", "Job", "{completion: 2, template: TEMPLATE}", "completion"),
        ("batch/v1", "CronJob", "{shedule: '* * * * *', jobTemplate: {spec: {template: TEMPLATE}}}", "shedule"),
        ("v1", "ReplicationController", "{strategy: {}, template: TEMPLATE}", "strategy"),
    ],
)
def test_each_kind_of_kubernetes_has_its_own_fields(version: str, kind: str, spec: str, field: str) -> None:
    template = "{spec: {restartPolicy: POLICY, containers: [{name: c, image: i}]}}"
    spec = spec.replace("SELECTOR", "selector: {matchLabels: {a: b}}").replace("TEMPLATE", template)
    spec = spec.replace("POLICY", "Always" if version == "apps/v1" else "Never")
    text = f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: a}}\nspec: {spec}\n"
    [error] = one(text).errors
    assert error.message.startswith(f"got {field}, which a ")


def test_all_problems_of_a_template_come_at_once_in_order_of_line() -> None:
    result = one(POD.replace("    image: i\n", "    image: 3\n").replace("  - name: c", "  - nam: c"))
    assert [(each.line, each.message.partition(",")[0]) for each in result.errors] == [
        (6, "got nam"),
        (7, "got integer"),
        (8, "got resource"),
    ]


JOB = """apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: t}
spec:
  runPolicies: {}
  pytorchReplicaSpecs:
    Worker:
      template:
        spec:
          containers:
          - name: pytorch
            image: i
            resource: {limits: {nvidia.com/gpu: 1}}
"""


def test_of_an_operators_kind_only_the_templates_are_checked_and_a_lost_field_is_a_warning() -> None:
    result = one(JOB)
    assert result.verdict != "error"
    [warning] = result.warnings
    assert (warning.line, warning.policy) == (13, "")
    assert warning.message == "got resource, which a Container does not have; did you mean resources?"


def test_a_job_in_an_app_wrapper_is_checked_whole_and_its_creator_drops_the_field() -> None:
    wrapped = DEPLOYMENT.replace("\n", "\n      ").rstrip()
    head = "apiVersion: workload.codeflare.dev/v1beta2\nkind: AppWrapper\nmetadata: {name: w}\nspec:\n  components:\n"
    result = one(f"{head}  - template:\n      {wrapped}\n")
    assert [each.field for each in result.warnings] == ["spec.components[0].template.spec.replica"]
    assert result.errors == ()


ARGO = """apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: w}
spec:
  entrypoint: a
  templates:
  - name: a
    inputs: {}
    initContainers: [{name: i, image: i, mirrorVolumeMounts: true}]
    script: {image: i, source: print()}
  - name: b
    containerSet: {containers: [{name: c, image: i, dependencies: [a]}]}
"""
KNATIVE = """apiVersion: serving.knative.dev/v1
kind: Service
metadata: {name: s}
spec:
  template:
    spec:
      containerConcurrency: 1
      containers: [{name: c, image: i}]
"""
DYNAMO = """apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: d}
spec:
  services:
    Worker:
      componentType: worker
      extraPodSpec:
        mainContainer: {image: i, workingDir: /w}
"""
KSERVE = """apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: i}
spec:
  predictor:
    minReplicas: 1
    model: {modelFormat: {name: huggingface}, storageUri: hf://a, resources: {limits: {cpu: 1}}}
"""


@pytest.mark.parametrize("text", [ARGO, KNATIVE, DYNAMO, KSERVE])
def test_fields_that_an_operator_adds_are_known(text: str) -> None:
    said = [each.message for result in checked(text).results for each in (*result.warnings, *result.errors)]
    assert not [each for each in said if "which a" in each]


@pytest.mark.parametrize(
    ("text", "before", "after", "message"),
    [
        (ARGO, "script: {image: i", "script: {imagee: i", "got imagee, which a Container does not have"),
        (ARGO, "{name: c, image: i,", "{name: c, image: i, resource: {},", "got resource, which a Container"),
        (KNATIVE, "containerConcurrency", "containerConcurency", "got containerConcurency, which a PodSpec"),
        (KNATIVE, "    spec:\n      cont", "    metdata: {}\n    spec:\n      cont", "did you mean metadata?"),
        (DYNAMO, "workingDir", "workingdir", "got workingdir, which a Container"),
        (DYNAMO, "mainContainer:", "toleration: []\n        mainContainer:", "got toleration, which a PodSpec"),
        (KSERVE, "{limits:", "{limit:", "got limit, which a ResourceRequirements"),
        (KSERVE, "  predictor:\n", "  predictor:\n    schedulingGroup: {}\n", "got schedulingGroup, which the CRD of"),
    ],
)
def test_misspelt_fields_in_the_forms_of_operators_are_found(text: str, before: str, after: str, message: str) -> None:
    assert before in text
    said = [each.message for result in checked(text.replace(before, after)).results for each in result.warnings]
    assert len([each for each in said if message in each]) == 1


def test_a_field_is_reported_once_and_with_the_innermost_template() -> None:
    workers = KSERVE.replace(
        "    model:", "    workerSpec: {containers: [{name: w, image: i, resource: {}}]}\n    model:"
    )
    said = [
        (result.path, each.field) for result in checked(workers).results for each in result.warnings if not each.policy
    ]
    assert said == [("spec.predictor.workerSpec", "spec.predictor.workerSpec.containers[0].resource")]


TRAIN = """apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: t}
spec:
  runtimeRef: {name: mpi}
  trainer: {numNodes: 2, env: [{name: A, valuefrom: {}}]}
"""


def test_a_field_of_two_roles_is_reported_once() -> None:
    said = [each for result in checked(TRAIN).results for each in result.warnings if "valuefrom" in each.message]
    assert len(said) == 1


NOTEBOOK = """apiVersion: kubeflow.org/v1
kind: Notebook
metadata: {name: n}
spec:
  template:
    metadata: {labels: {a: b}}
    spec: {containers: [{name: n, image: i}]}
"""


def test_a_part_of_a_template_that_the_kind_prunes_is_a_warning() -> None:
    [warning] = [each for each in one(NOTEBOOK).warnings if not each.policy]
    assert (warning.line, warning.field) == (6, "spec.template.metadata")
    assert warning.message == "got metadata, which a pod template of a Notebook does not have"


def test_at_a_place_that_the_user_gives_the_operators_own_fields_are_unknown_to_nobody() -> None:
    text = "apiVersion: x.io/v1\nkind: Flow\nmetadata: {name: f}\nspec: {steps: [{id: 1, pod: {spec: {own: 1,\n"
    text += "containers: [{name: c, resource: {}}]}, own: 2}}]}\n"
    paths = {"Flow": [("spec", "steps", "*", "pod")]}
    assert [each.field for each in one(text, settings=CheckSettings(template_paths=paths)).warnings] == [
        "spec.steps[0].pod.spec.containers[0].resource"
    ]


@pytest.mark.parametrize("key", ["$patch", "'{{ .name }}'", "${KEY}"])
def test_directives_of_patches_and_placeholders_are_no_fields(key: str) -> None:
    result = one(DEPLOYMENT.replace("replica: 2", f"{key}: delete"))
    assert not [each for each in result.errors if "which a" in each.message]


@pytest.mark.parametrize(
    ("value", "said"), [("onfailure", ["got 'onfailure'; did you mean OnFailure?"]), ("${POLICY}", [])]
)
def test_a_value_that_the_api_server_refuses_is_an_error_and_a_placeholder_is_none(value: str, said: list[str]) -> None:
    pod = POD.replace("    resource:\n      limits: {nvidia.com/gpu: 1}\n", f"  restartPolicy: {value}\n")
    assert [each.message for each in one(pod).errors] == said


def test_what_never_reaches_podberth_and_what_the_api_server_has_taken_are_not_checked() -> None:
    exempt = one(POD.replace("name: p", "name: p, namespace: kube-system"))
    assert (exempt.verdict, exempt.errors, exempt.warnings) == ("skipped", (), ())
    live = without_place(
        "live.json",
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p"},
            "spec": {"newest": 1, "containers": [{"name": "c", "image": "i"}]},
            "status": {},
        },
    )
    [result] = check_object(live, shipped(), CheckSettings(), ())
    assert (result.verdict, result.errors) == ("unchanged", ())


def test_a_status_is_the_clusters_own() -> None:
    assert one(POD.replace("    resource:\n      limits: {nvidia.com/gpu: 1}\n", "status: {newest: 1}\n")).errors == ()


@pytest.mark.parametrize("folder", ["examples", "tests/manifests"])
def test_no_field_of_a_right_manifest_is_unknown(folder: str) -> None:
    texts = [path.read_text(encoding="utf-8") for path in sorted(Path(ROOT, folder).rglob("*.yaml"))]
    said = [each for result in checked(*texts).results for each in (*result.warnings, *result.errors)]
    assert [each for each in said if not each.policy and "which a" in each.message] == []
    assert len(texts) > 1


def test_the_first_of_many_unknown_fields_are_named_and_the_others_left_out() -> None:
    many = "".join(f"    zzz{at}: 1\n" for at in range(MOST_UNKNOWN + 5))
    result = one(POD.replace("    resource:\n", f"{many}    resources:\n"))
    assert len(result.errors) == MOST_UNKNOWN + 1
    assert (
        result.errors[-1].message == "got more than 200 unknown fields and values; the first are shown, fix these first"
    )
