"""From documents to results: what is judged, what is skipped, what is wrong, and where each finding stands."""

from textwrap import dedent

import pytest

from checking import ROOT, checked, one, patched, shipped
from podberth.check.run import CheckSettings
from podberth.kube.documents import load_documents
from podberth.wellknown import EXEMPT_LABEL, EXEMPT_NAMESPACES
from snapshots import policy, snapshot

GPU_POD = """
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers:
  - name: main
    resources:
      limits:
        nvidia.com/gpu: 1
"""
DENY = policy(
    "few",
    """
  validations:
  - {expression: gpu.count > 9, message: too few}
  validationActions: [Deny]""",
)


def test_a_pod_is_mutated_and_the_change_names_policy_path_and_reason() -> None:
    result = one(GPU_POD)
    assert (result.verdict, result.line, result.path) == ("mutated", 2, "")
    change = next(each for each in result.changes if each.policy == "gpu-tolerations")
    assert (change.op, change.path) == ("add", "/spec/tolerations")
    assert change.reason.startswith("tolerates nvidia.com/gpu:NoSchedule")


def test_a_template_is_patched_where_it_stands_and_gets_no_defaults() -> None:
    report = checked(
        """
        apiVersion: apps/v1
        kind: Deployment
        metadata: {name: d}
        spec:
          template:
            spec:
              containers:
              - {name: main, resources: {limits: {nvidia.com/gpu: 1}}}
        """
    )
    [document] = patched(report)
    assert set(document["spec"]["template"]["spec"]) == {"containers", "tolerations"}


def test_a_denial_stands_at_what_the_policy_reads() -> None:
    result = one(GPU_POD, by=snapshot(DENY))
    [denial] = result.denials
    assert (result.verdict, result.changes) == ("denied", ())
    assert (denial.policy, denial.message) == ("few", "too few")
    assert (denial.field, denial.line) == ("spec.containers[0].resources.limits[nvidia.com/gpu]", 10)


def test_a_policy_that_fails_under_failure_policy_fail_denies() -> None:
    broken = policy("broken", "\n  mutations:\n  - labels: {a: \"object.metadata.annotations['no']\"}")
    result = one(GPU_POD, by=snapshot(broken))
    assert result.verdict == "denied"
    assert result.denials[0].message.startswith("cannot be applied: ")
    lenient = policy(
        "lenient", "\n  failurePolicy: Ignore\n  mutations:\n  - labels: {a: \"object.metadata.annotations['no']\"}"
    )
    result = one(GPU_POD.replace("main", "main\n    image: i"), by=snapshot(lenient))
    assert (result.verdict, [each.policy for each in result.warnings]) == ("unchanged", ["lenient"])


def test_items_of_lists_keep_their_places() -> None:
    report = checked(
        """
        apiVersion: v1
        kind: List
        items:
        - {apiVersion: v1, kind: Service, metadata: {name: s}}
        - apiVersion: v1
          kind: PodList
          items:
          - metadata: {name: inner}
            spec: {containers: [{name: c, resources: {limits: {nvidia.com/gpu: 1}}}]}
        - 3
        """
    )
    wrong, service, pod = sorted(report.results, key=lambda each: each.path)
    assert (service.verdict, service.path, service.line) == ("skipped", "items[0]", 5)
    assert (pod.kind, pod.path, pod.line) == ("Pod", "items[1].items[0]", 9)
    assert pod.changes[0].path == "/items/1/items/0/spec/tolerations"
    assert (wrong.verdict, wrong.line) == ("error", 11)


def test_a_gang_has_its_size_from_the_workload_and_what_only_the_cluster_knows_is_a_note() -> None:
    result = one(
        """
        apiVersion: batch/v1
        kind: Job
        metadata: {name: j}
        spec:
          parallelism: 3
          completions: 3
          completionMode: Indexed
          template:
            spec:
              restartPolicy: Never
              subdomain: j
              containers: [{name: c, resources: {limits: {nvidia.com/gpu: 8}}}]
        """
    )
    assert [each.policy for each in result.notes][:1] == ["gang-topology"]
    assert "gang of 3" in result.notes[0].message


def test_kinds_without_pods_are_skipped_quietly_and_unknown_ones_with_a_warning() -> None:
    report = checked(
        "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n---\napiVersion: x.io/v1\nkind: Flow\nmetadata: {name: b}\n"
        "---\nimage: {tag: 1}\n"
    )
    secret, flow, values = report.results
    assert {each.verdict for each in report.results} == {"skipped"}
    assert secret.warnings == flow.warnings == ()
    assert "no object of Kubernetes" in values.warnings[0].message
    assert report.skipped_kinds == {"": 1, "v1 Secret": 1, "x.io/v1 Flow": 1}


ASKING = "{name: c, resources: {limits: {nvidia.com/gpu: 1}}}"
UNKNOWN = "got x.io/v1 Flow, a kind that podberth does not know; nothing of it is checked"
PLACES = "give the place of its pods: --template-path 'Flow=spec.roles.A.pod' --template-path 'Flow=spec.roles.B.pod'"


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (
            f"{{steps: [{{template: {{spec: {{containers: [{ASKING}]}}}}}}]}}",
            [f"{UNKNOWN}; give the place of its pods: --template-path 'Flow=spec.steps[*].template'"],
        ),
        (
            f"{{roles: {{A: {{pod: {{containers: [{ASKING}]}}}}, B: {{pod: {{containers: [{ASKING}]}}}}}}}}",
            [f"{UNKNOWN}; {PLACES}"],
        ),
        ("{size: 8, containers: [{image: i, resources: {limits: {nvidia.com/gpu: 1}}}]}", [UNKNOWN]),
        (f"{{pod: {{containers: [{ASKING[:-1]}, commands: {{pre: run}}}}]}}}}", [UNKNOWN]),
        ("{engine: {containers: [{name: c}]}}", []),
        ("{worker: {limits: {nvidia.com/gpu: 1}}}", [UNKNOWN]),
        ("{resources: {requests: {nvidia.com/gpu: 1}}}", [UNKNOWN]),
        ("{resourceName: nvidia.com/gpu}", []),
        ("{minTargetUtilization: {nvidia.com/gpu: '0.7'}}", []),
        ("{tolerations: [{key: nvidia.com/gpu, operator: Exists}]}", []),
        ("{containers: []}", []),
        ("{steps: [{name: a}]}", []),
    ],
)
def test_of_an_unknown_kind_a_warning_is_said_where_it_asks_for_accelerators(spec: str, said: list[str]) -> None:
    result = one(f"apiVersion: x.io/v1\nkind: Flow\nmetadata: {{name: f}}\nspec: {spec}\n")
    assert (result.verdict, [each.message for each in result.warnings]) == ("skipped", said)


def test_a_misspelt_kind_has_the_kind_that_is_meant() -> None:
    text = f"apiVersion: batch/v1\nkind: job\nspec: {{template: {{spec: {{containers: [{ASKING}]}}}}}}\n"
    [result] = checked(text).results
    assert result.warnings[0].message.endswith("nothing of it is checked; did you mean Job?")


def test_a_kind_with_pods_that_resembles_another_has_the_place_of_its_pods() -> None:
    pods = f"{{Worker: {{template: {{spec: {{containers: [{ASKING}]}}}}}}}}"
    text = f"apiVersion: kubeflow.org/v1\nkind: MXJob\nmetadata: {{name: a}}\nspec: {{mxReplicaSpecs: {pods}}}\n"
    [result] = checked(text).results
    assert result.warnings[0].message.endswith("--template-path 'MXJob=spec.mxReplicaSpecs.Worker.template'")


def test_a_kind_that_is_not_checked_is_a_warning_once_and_a_note_at_each_further_object() -> None:
    flow = "apiVersion: x.io/v1\nkind: Flow\nmetadata: {name: a}\nspec: {limits: {nvidia.com/gpu: 1}}\n"
    other = flow.replace("Flow", "Other")
    report = checked(f"{flow}---\n{flow}", f"{other}---\n{flow}")
    assert [(len(each.warnings), len(each.notes)) for each in report.results] == [(1, 0), (0, 1), (1, 0), (0, 1)]
    assert report.results[1].notes[0].message == UNKNOWN


def test_a_release_of_a_chart_is_to_be_rendered_first() -> None:
    values = "{values: {resources: {limits: {nvidia.com/gpu: 1}}}}"
    result = one(f"apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: f}}\nspec: {values}\n")
    [said] = [each.message for each in result.warnings]
    assert said == (
        "got a HelmRelease, whose pods are those of a chart: nothing of it is checked; render the chart first, for "
        "example: helm template … | podberth check -"
    )


def test_a_kind_that_only_offers_parts_of_pods_is_passed_over() -> None:
    for version, kind in (
        ("kubeflow.org/v1beta1", "WorkspaceKind"),
        ("quota.codeflare.dev/v1alpha1", "QuotaSubtree"),
        ("amd.com/v1", "NodeFlavor"),
        ("amlarc.azureml.com/v1alpha1", "InstanceType"),
    ):
        text = f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: f}}\nspec: {{limits: {{nvidia.com/gpu: 1}}}}\n"
        assert one(text).warnings == ()


def test_the_place_that_is_advised_is_one_that_finds_the_pods() -> None:
    pod = "{containers: [{name: c, resources: {limits: {nvidia.com/gpu: 1}}}]}"
    flow = f"apiVersion: x.io/v1\nkind: Flow\nmetadata: {{name: f}}\nspec: {{steps: [{{pod: {pod}}}]}}\n"
    [warning] = one(flow).warnings
    place = warning.message.partition("Flow=")[2].rstrip("'")
    steps = tuple(place.replace("[*]", ".*").split("."))
    assert one(flow, settings=CheckSettings(template_paths={"Flow": [steps]})).verdict == "mutated"


def test_a_path_to_the_templates_of_another_kind_makes_them_known() -> None:
    flow = """
        apiVersion: x.io/v1
        kind: Flow
        metadata: {name: f}
        spec:
          steps:
          - template: {spec: {containers: [{name: c, resources: {limits: {nvidia.com/gpu: 1}}}]}}
        """
    paths = {"Flow": [("spec", "steps", "*", "template")]}
    result = one(flow, settings=CheckSettings(template_paths=paths))
    assert (result.verdict, result.path) == ("mutated", "spec.steps[0].template")
    [warning] = one(flow, settings=CheckSettings(template_paths={"Flow": [("spec", "step", "*", "template")]})).warnings
    assert warning.message.startswith("got no pod template at spec.step[*].template, the place that --template-path")


def test_namespaces_and_parameters_of_the_checked_files_count() -> None:
    ours = policy(
        "ours",
        """
  paramKind: {apiVersion: v1, kind: ConfigMap}
  paramRef: {name: limits, parameterNotFoundAction: Deny}
  matchConditions: [{name: all, expression: "true"}]
  validations:
  - {expression: "namespaceObject.metadata.labels['team'] == params.data['team']", message: another team}
  validationActions: [Deny]""",
    )
    context = """
        apiVersion: v1
        kind: Namespace
        metadata: {name: ml, labels: {team: a}}
        ---
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: limits, namespace: ml, labels: {podberth.io/params: "true"}}
        data: {team: b}
        """
    pod = GPU_POD.replace("{name: a}", "{name: a, namespace: ml}")
    assert checked(pod, context, by=snapshot(ours)).results[0].denials[0].message == "another team"
    assert checked(pod, context.replace("team: b", "team: a"), by=snapshot(ours)).results[0].verdict == "unchanged"
    assert checked(pod, by=snapshot(ours)).results[0].verdict == "denied"


WRONG = {
    "kind: 3\napiVersion: v1": ("kind", 1, "got 3"),
    "apiVersion: v1": ("kind", 1, "got null"),
    "apiVersion: v1\nkind: Pod\nspec:": ("spec", 3, "no containers"),
    "apiVersion: v1\nkind: Pod\nspec: {containers: [{name: c, resources: 3}]}": (
        "spec.containers[0].resources",
        3,
        "got integer",
    ),
    "apiVersion: v1\nkind: Pod\nspec:\n  priority: $P\n  containers: [{name: c}]": (
        "spec.priority",
        4,
        "the placeholder $P",
    ),
    "apiVersion: v1\nkind: Pod\nspec:\n  priority: 9999999999999999999999\n  containers: [{name: c}]": (
        "spec.priority",
        4,
        "64 bits",
    ),
    "apiVersion: apps/v1\nkind: Deployment\nspec: 3": ("spec", 3, "got integer, want an object"),
    "- a": ("", 1, "got a list"),
    "a: b\n<<<<<<< HEAD\nc: d": ("", 2, "Git conflict"),
    "a: {{ .Values.b }}\nc: {{- x }}": ("", 1, "a template and no YAML yet"),
    "a: b\n? [a]\n: c": ("", 2, "got a list, want a string as the key"),
    "a: [" * 200: ("", 1, "deep"),
}


@pytest.mark.parametrize("text", WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_an_error_at_its_place_and_the_rest_is_still_checked(text: str) -> None:
    wrong, right = checked(f"{text}\n---\n{GPU_POD.strip()}").results
    field, line, said = WRONG[text]
    assert wrong.verdict == "error"
    assert (wrong.errors[0].field, wrong.errors[0].line) == (field, line)
    assert said in wrong.errors[0].message
    assert right.verdict == "mutated"


def test_several_templates_of_one_object_are_reported_and_patched_each() -> None:
    pod = "{spec: {containers: [{name: c, resources: {limits: {nvidia.com/gpu: 1}}}]}}"
    report = checked(
        "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: t}\nspec:\n  pytorchReplicaSpecs:\n"
        f"    Master: {{template: {pod}}}\n    Worker: {{replicas: 3, template: {pod}}}\n"
    )
    assert [each.path for each in report.results] == [
        f"spec.pytorchReplicaSpecs.{role}.template" for role in ("Master", "Worker")
    ]
    [document] = patched(report)
    roles = document["spec"]["pytorchReplicaSpecs"].values()
    assert all(role["template"]["spec"]["tolerations"] for role in roles)


def test_templates_follow_one_another_as_in_the_file_each_on_what_those_before_it_left() -> None:
    pod = "{spec: {containers: [{name: c, resources: {limits: {nvidia.com/gpu: 1}}}]}}"
    report = checked(
        "apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: t}\nspec:\n"
        f"  workerGroupSpecs:\n  - {{groupName: w, replicas: 2, rayStartParams: {{}}, template: {pod}}}\n"
        f"  headGroupSpec:\n    rayStartParams: {{}}\n    template: {pod}\n"
    )
    worker, head = report.results
    assert (worker.path, head.path) == ("spec.workerGroupSpecs[0].template", "spec.headGroupSpec.template")
    assert worker.changes
    assert (worker.earlier, head.earlier) == ((), worker.changes)


@pytest.mark.parametrize("namespace", EXEMPT_NAMESPACES)
def test_pods_whose_reviews_never_come_are_skipped_with_the_reason(namespace: str) -> None:
    result = one(GPU_POD.replace("{name: a}", f"{{name: a, namespace: {namespace}}}"), by=snapshot(DENY))
    assert (result.verdict, result.denials, result.changes) == ("skipped", (), ())
    [note] = result.notes
    assert f"{namespace} never reaches podberth" in note.message


def test_pods_of_a_namespace_with_the_label_of_exemption_are_skipped_too() -> None:
    namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: infra, labels: {podberth.io/exempt: ''}}\n---\n"
    pod = GPU_POD.replace("{name: a}", "{name: a, namespace: infra}")
    [*_, result] = checked(namespace + dedent(pod), by=snapshot(DENY)).results
    assert result.verdict == "skipped"
    assert "infra never reaches podberth" in result.notes[0].message


def test_the_namespaces_left_out_are_those_of_the_webhooks() -> None:
    texts = [
        (ROOT / "manifests" / "base" / f"{phase}-webhook.yaml").read_text() for phase in ("mutating", "validating")
    ]
    documents = [each.document for text in texts for each in load_documents(text, "webhook.yaml")[0]]
    hooks = [hook for each in documents for hook in each["webhooks"]]
    of_policies = [["podberth.io"]]
    selectors = [
        each["namespaceSelector"]
        for each in hooks
        if any(rule["scope"] == "Namespaced" and rule["apiGroups"] not in of_policies for rule in each["rules"])
    ]
    want = [
        {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": list(EXEMPT_NAMESPACES)},
        {"key": EXEMPT_LABEL, "operator": "DoesNotExist"},
    ]
    assert selectors
    assert all(each == {"matchExpressions": want} for each in selectors)


def test_a_template_whose_containers_the_operator_adds_is_skipped_with_a_note() -> None:
    report = checked(
        """
        apiVersion: serving.kserve.io/v1beta1
        kind: InferenceService
        metadata: {name: cifar10}
        spec:
          predictor:
            model: {modelFormat: {name: tensorflow}, storageUri: "gs://models/cifar10"}
          transformer:
            nodeSelector: {nvidia.com/gpu.product: L4}
          explainer:
            alibi: {type: AnchorImages, storageUri: "gs://models/explainer"}
        """
    )
    by_path = {each.path: each for each in report.results}
    assert by_path.pop("spec.predictor").verdict == "unchanged"
    assert {each.verdict for each in by_path.values()} == {"skipped"}
    assert all("no containers" in note.message for each in by_path.values() for note in each.notes)


@pytest.mark.parametrize("spec", ["{template: {metadata: {labels: {a: b}}}}", "{template: {spec: {}}}"])
def test_a_template_without_containers_is_not_denied_by_a_policy_that_reads_them(spec: str) -> None:
    text = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: t}\n"
    text += f"spec: {{pytorchReplicaSpecs: {{Worker: {spec}}}}}\n"
    for result in checked(text).results:
        assert (result.verdict, result.denials, result.warnings) == ("skipped", (), ())
        assert all("no containers" in note.message for note in result.notes)


def test_without_nodes_nothing_is_placed() -> None:
    assert one(GPU_POD, by=shipped(nodes=False)).verdict == "unchanged"


def test_a_choice_of_nodes_that_contradicts_itself_is_a_warning_at_its_line() -> None:
    affinity = """
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions: [{key: zone, operator: In, values: [b]}]
"""
    chosen = GPU_POD.replace("main", "main\n    image: i") + "  nodeSelector: {zone: a}" + affinity
    [warning] = one(chosen).warnings
    assert (warning.field, warning.policy, warning.line) == ("spec.nodeSelector", "", 12)
    assert warning.message == (
        "no node meets both zone in (a) and zone in (b), so the pod never starts; remove one of them"
    )
    [warning] = one(chosen.replace("zone: a", "zone: b")).warnings
    assert warning.message.startswith("no known node with these devices fits nodeSelector")


@pytest.mark.parametrize(
    ("api_version", "kind", "spec", "name"),
    [
        ("v1", "Namespace", "{}", "Namespace/a"),
        ("rbac.authorization.k8s.io/v1", "ClusterRole", "{}", "ClusterRole/a"),
        ("v1", "Service", "{}", "Service/default/a"),
        ("example.com/v1", "Unknown", "{}", "Unknown/a"),
        ("example.com/v1", "Flow", "{template: {spec: {containers: [{name: c}]}}}", "Flow/default/a"),
        (
            "argoproj.io/v1alpha1",
            "ClusterWorkflowTemplate",
            "{templates: [{name: t, container: {image: a}}]}",
            "ClusterWorkflowTemplate/a",
        ),
    ],
)
def test_an_object_has_a_namespace_if_its_kind_has(api_version: str, kind: str, spec: str, name: str) -> None:
    text = f"apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: a}}\nspec: {spec}\n"
    assert one(text, settings=CheckSettings(template_paths={"Flow": [("spec", "template")]})).object_name == name
    stated = one(text.replace("name: a}", "name: a, namespace: b}", 1)).object_name
    assert stated == (name if name.startswith(("Namespace", "Cluster")) else f"{kind}/b/a")


def test_a_kustomization_that_states_no_name_is_called_by_its_kind() -> None:
    text = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a.yaml]\n"
    assert one(text).object_name == "Kustomization"
