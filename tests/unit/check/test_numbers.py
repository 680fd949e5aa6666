import pytest

from checking import checked, one

REFUSED = {
    "limits: {nvidia.com/gpu: EIGHT}": (
        "limits[nvidia.com/gpu]",
        'got "EIGHT", want a whole number of devices',
    ),
    "limits: {nvidia.com/gpu: -1}": ("limits[nvidia.com/gpu]", 'got "-1", want a whole number of devices'),
    "limits: {nvidia.com/gpu: 1500m}": ("limits[nvidia.com/gpu]", 'got "1500m", want a whole number of devices'),
    "limits: {rdma/hca: 0.5}": ("limits[rdma/hca]", "got 0.5, want a whole number of devices"),
    "requests: {memory: 1Gb}": ("requests.memory", 'got "1Gb", want a quantity such as 2, 500m or 10Gi'),
    "limits: {nvidia.com/mig-1g.5gb+me: 1}": (
        "limits[nvidia.com/mig-1g.5gb+me]",
        "got the resource nvidia.com/mig-1g.5gb+me, which is no name for the API server, want nvidia.com/mig-1g.5gb.me",
    ),
    "limits: {nvidia/gpu_: 1}": (
        "limits[nvidia/gpu_]",
        "got the resource nvidia/gpu_, which is no name for the API server, want a name such as nvidia.com/gpu",
    ),
    "limits: {gpu: 1}": (
        "limits.gpu",
        "got the resource gpu, which is none of Kubernetes' own, want nvidia.com/gpu",
    ),
    "requests: {disk: 1Gi}": (
        "requests.disk",
        "got the resource disk, which is none of Kubernetes' own, want one with a domain, such as nvidia.com/gpu",
    ),
    "requests: {cpu: -1}": ("requests.cpu", "got -1, want 0 or more"),
}


def of(resources: str, volumes: str = "[]") -> str:
    container = f"{{name: c, image: i, resources: {{{resources}}}}}"
    return (
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec:\n  volumes: {volumes}\n  containers: [{container}]\n"
    )


@pytest.mark.parametrize("resources", REFUSED)
def test_an_amount_that_the_api_server_refuses_is_an_error_at_its_field(resources: str) -> None:
    where, message = REFUSED[resources]
    result = one(of(resources))
    assert result.verdict == "error"
    assert [(each.field, each.message, each.line) for each in result.errors] == [
        (f"spec.containers[0].resources.{where}", message, 6)
    ]


def test_a_name_for_two_containers_is_an_error_at_the_second() -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - {name: c, image: i}\n"
    [error] = one(pod + "  initContainers:\n  - {name: b, image: i}\n  - {name: c, image: i}\n").errors
    assert (error.field, error.line) == ("spec.initContainers[1].name", 9)
    assert error.message == "got c for two containers, want a name for each"


def test_no_name_for_two_containers_is_an_error_at_the_second() -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - image: a\n  - image: b\n"
    [error] = one(pod).errors
    assert (error.field, error.line) == ("spec.containers[1]", 7)
    assert error.message == "got no name for two containers, want a name for each"


def test_null_among_the_words_of_a_command_is_an_empty_word() -> None:
    head = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n"
    result = one(head + "  - {name: c, image: i, args: [a, null], resources: {limits: {nvidia.com/gpu: 8}}}\n")
    assert (result.errors, result.verdict) == ((), "mutated")


def test_the_size_of_a_volume_is_an_amount() -> None:
    [error] = one(of("", "[{name: a}, {name: b, emptyDir: {sizeLimit: 10Q}}]")).errors
    assert (error.field, error.line) == ("spec.volumes[1].emptyDir.sizeLimit", 5)


def test_words_in_capitals_that_stand_for_numbers_are_placeholders() -> None:
    [error] = one(of("limits: {nvidia.com/gpu: GPU_COUNT}, requests: {cpu: CPU_PER_NODE_2}")).errors
    assert error.message == "got placeholders GPU_COUNT, CPU_PER_NODE_2 (line 6), want numbers; fill it in first"
    [error] = one(of("limits: {nvidia.com/gpu: gpus_placeholder}")).errors
    assert error.message == "got the placeholder gpus_placeholder, want a number; fill it in first"


def test_a_word_that_says_it_is_of_a_template_is_a_placeholder() -> None:
    [error] = one(of("limits: {nvidia.com/gpu: template-num-gpus}")).errors
    assert error.message == "got the placeholder template-num-gpus, want a number; fill it in first"


@pytest.mark.parametrize(
    ("limits", "want"),
    [
        ("{'${GPU}': 1}", "the placeholder ${GPU}, want the name of a resource"),
        ("{'${GPU}': '${N}'}", "placeholders ${GPU}, ${N} (line 6), want numbers and names of resources"),
    ],
)
def test_a_placeholder_for_the_name_of_a_resource_is_one_as_those_for_numbers_are(limits: str, want: str) -> None:
    [error] = one(of(f"limits: {limits}")).errors
    assert error.message == f"got {want}; expand it first, for example: envsubst < FILE | podberth check -"


def test_a_template_that_is_not_helms_is_to_be_filled_in() -> None:
    assert one(of("limits: {nvidia.com/gpu: '{{ gpus }}'}")).errors[0].message.endswith("; fill it in first")
    assert "helm template" in one(of("limits: {nvidia.com/gpu: '{{ .Values.n }}'}")).errors[0].message


def test_a_deadline_that_argo_fills_in_is_no_placeholder() -> None:
    head = "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: w}\nspec:\n  templates:\n"
    deadline = "activeDeadlineSeconds: '{{inputs.parameters.deadline}}'"
    result = one(f"{head}  - {{name: a, {deadline}, container: {{image: i}}}}\n")
    assert (result.verdict, result.errors) == ("unchanged", ())


def test_placeholders_for_lists_and_objects_are_one_finding() -> None:
    head = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  tolerations: ${TOLERATIONS}\n  containers:\n"
    [error] = one(head + "  - {name: c, image: <IMAGE>, command: $COMMAND, args: $COMMAND}\n").errors
    assert (error.field, error.line) == ("spec.tolerations", 5)
    assert error.message.startswith("got placeholders ${TOLERATIONS}, $COMMAND; expand it first")


def test_more_wrong_types_than_a_person_reads_are_cut_off() -> None:
    many = ", ".join(f"{{name: c{n}, command: x}}" for n in range(30))
    found = one(f"apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec: {{containers: [{many}]}}\n").errors
    assert {each.message for each in found} == {
        "got string, want list",
        "more fields have a wrong type; fix these first",
    }


def test_a_placeholder_for_the_size_of_a_gang_is_said_once() -> None:
    job = "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata: {name: j}\nspec:\n  mpiReplicaSpecs:\n"
    job += "    Launcher: {template: {spec: {containers: [{name: c, resources: {limits: {nvidia.com/gpu: 1}}}]}}}\n"
    job += "    Worker:\n      replicas: ${WORKERS}\n      template: {spec: {containers: [{name: c, resources: "
    job += "{limits: {nvidia.com/gpu: 8}}}]}}\n"
    said = [each.message for result in checked(job).results for each in (*result.errors, *result.warnings)]
    [about] = [each for each in said if "WORKERS" in each]
    assert about.startswith("got the placeholder ${WORKERS}, want a number; expand it first")


@pytest.mark.parametrize(
    "resources", ["limits: {cpu: 500m, memory: 1e3}", "limits: {nvidia.com/gpu: 2000m}", "limits: {cpu: }"]
)
def test_amounts_that_the_api_server_takes_are_no_error(resources: str) -> None:
    assert one(of(resources)).verdict != "error"


def test_an_amount_of_an_operators_template_is_checked_where_it_is_written() -> None:
    job = "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: j}\n"
    job += "spec:\n  tasks:\n  - template:\n      spec:\n"
    report = checked(job + "        containers: [{name: c, image: i, resources: {requests: {cpu: 1x}}}]\n")
    assert [(each.line, each.field) for each in report.results[0].errors] == [
        (8, "spec.tasks[0].template.spec.containers[0].resources.requests.cpu")
    ]


ROLES = """apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: t, namespace: NAMESPACE}
spec:
  pytorchReplicaSpecs:
    Master:
      template: {spec: {containers: [{name: c, resources: {limits: {nvidia.com/gpu: MASTER}}}]}}
    Worker:
      replicas: REPLICAS
      template: {spec: {containers: [{name: c, resources: {limits: {nvidia.com/gpu: WORKER}}}]}}
"""


def roles(namespace: str = "ml", master: str = "1", replicas: str = "2", worker: str = "1") -> str:
    text = ROLES.replace("NAMESPACE", f"'{namespace}'").replace("MASTER", master).replace("REPLICAS", replicas)
    return text.replace("WORKER", worker)


def test_a_template_of_openshift_is_expanded_by_oc() -> None:
    template = """
apiVersion: template.openshift.io/v1
kind: Template
metadata: {name: lab}
parameters: [{name: GPUS, value: "1"}]
objects:
- apiVersion: v1
  kind: Pod
  metadata: {name: lab}
  spec: {containers: [{name: c, image: example.com/lab:1, resources: {limits: {nvidia.com/gpu: "${GPUS}"}}}]}
"""
    [result] = checked(template).results
    [error] = result.errors
    assert error.message == (
        "got the placeholder ${GPUS}, want a number; "
        "expand it first, for example: oc process --local -f FILE | podberth check -"
    )


def test_all_placeholders_of_a_document_are_one_error() -> None:
    results = checked(roles(master="$GPUS", replicas="$NODES", worker="$GPUS")).results
    assert [each.verdict for each in results] == ["error", "skipped"]
    [error] = [error for each in results for error in each.errors]
    assert error.message == (
        "got placeholders $GPUS, $NODES (lines 7, 9, 10), want numbers; "
        "expand it first, for example: envsubst < FILE | podberth check -"
    )
    assert error.line == 7


def test_a_placeholder_of_one_role_leaves_the_others_to_be_checked() -> None:
    results = checked(roles(worker="<gpus>")).results
    assert [each.verdict for each in results] == ["mutated", "error"]
    assert results[1].errors[0].message == "got the placeholder <gpus>, want a number; fill it in first"


@pytest.mark.parametrize("namespace", ["${NAMESPACE}", "{{ .Namespace }}", "team-$TEAM", "FILLED BY THE OPERATOR"])
def test_an_object_whose_namespace_is_a_placeholder_is_checked_as_in_the_default_one(namespace: str) -> None:
    first, second = checked(roles(namespace)).results
    assert (first.verdict, second.verdict, first.namespace) == ("mutated", "mutated", "default")
    said = [each for each in (*first.notes, *second.notes) if "placeholder" in each.message]
    assert [(each.field, each.line, each.message) for each in said] == [
        ("metadata.namespace", 3, f"metadata.namespace is the placeholder {namespace}: judged as in namespace default")
    ]


@pytest.mark.parametrize("field", ["name", "generateName"])
def test_an_object_whose_name_is_a_placeholder_is_in_no_gang(field: str) -> None:
    text = roles().replace("{name: t,", f'{{{field}: "<user>-train",', 1)
    first, second = checked(text).results
    assert (first.verdict, first.denials, second.verdict, second.denials) == ("mutated", (), "mutated", ())
    assert [each.message for each in first.notes if "placeholder" in each.message] == [
        "metadata.name is the placeholder <user>-train: judged as without a name, so in no gang"
    ]


def test_a_namespace_that_no_api_server_takes_is_one_error_at_its_field() -> None:
    [result] = checked(roles("Team_A")).results
    assert (result.verdict, [(each.field, each.line) for each in result.errors]) == (
        "error",
        [("metadata.namespace", 3)],
    )
    assert result.errors[0].message == "got 'Team_A', want a DNS-1123 label of at most 63 characters"


def test_a_number_that_katib_fills_in_for_each_trial_is_a_note() -> None:
    pod = (
        "{restartPolicy: Never, containers: [{name: t, resources: {limits: {nvidia.com/gpu: '${trialParameters.n}'}}}]}"
    )
    trial = f"{{apiVersion: batch/v1, kind: Job, spec: {{template: {{spec: {pod}}}}}}}"
    head = "apiVersion: kubeflow.org/v1beta1\nkind: Experiment\nmetadata: {name: t}\n"
    result = one(f"{head}spec:\n  trialTemplate:\n    trialSpec: {trial}\n")
    assert (result.verdict, result.errors, result.warnings) == ("skipped", (), ())
    assert [each.message for each in result.notes] == [
        "${trialParameters.n}: Katib fills in this number for each Trial, so nothing of this template is checked"
    ]
