"""What public GPU manifests really hold, fact by fact, and what check makes of each.

Counts in the names are of the survey that the facts are from; the manifests here are written after them.
"""

from typing import Any

import pytest

from checking import checked, one, shipped
from podberth.check.result import Result

NVIDIA = "nvidia.com/gpu"


def pod(
    resources: str = "limits: {nvidia.com/gpu: 1}", *, spec: str = "", metadata: str = "", container: str = ""
) -> str:
    """Return a pod as a manifest; each part is flow YAML without its braces."""
    extra = f", {spec}" if spec else ""
    inside = f", {container}" if container else ""
    return (
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: p{', ' if metadata else ''}{metadata}}}\n"
        f"spec: {{containers: [{{name: c, resources: {{{resources}}}{inside}}}]{extra}}}\n"
    )


def job(kind: str, replicas: str, version: str = "kubeflow.org/v1") -> str:
    return f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: t}}\nspec: {replicas}\n"


def by_policy(result: Result, policy: str) -> list[Any]:
    return [change.value for change in result.changes if change.policy == policy]


def written(result: Result) -> set[str]:
    return {change.policy for change in result.changes} - {"podberth"}


def test_01_most_gpu_pods_have_no_toleration_and_get_one() -> None:
    [tolerations] = by_policy(one(pod()), "gpu-tolerations")
    assert {"key": NVIDIA, "operator": "Exists", "effect": "NoSchedule"} in tolerations


def test_02_ored_node_selector_terms_each_stay() -> None:
    term = "{matchExpressions: [{key: a, operator: In, values: [b]}]}"
    required = f"requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{term}, {term}]}}"
    affinity = f"affinity: {{nodeAffinity: {{{required}}}}}"
    result = one(pod(spec=affinity))
    assert result.verdict in ("mutated", "unchanged")
    assert not any("requiredDuring" in change.path or change.op == "remove" for change in result.changes)


@pytest.mark.parametrize("quantity", ['"2"', "2"])
def test_03_quantities_are_strings_or_integers(quantity: str) -> None:
    assert "gpu-tolerations" in written(one(pod(f"limits: {{nvidia.com/gpu: {quantity}}}")))


def test_03_a_null_quantity_is_no_request_and_a_suffix_of_another_device_is_no_error() -> None:
    assert one(pod("limits: {nvidia.com/gpu: null}")).verdict == "unchanged"
    assert one(pod("limits: {metax-tech.com/vmemory: 2048Mi}")).errors == ()


def test_04_a_request_without_its_limit_is_denied_or_given_one() -> None:
    result = one(pod("requests: {nvidia.com/gpu: 1}"))
    assert result.verdict == "denied" or "requests-equal-limits" in written(result)


def test_04_a_null_limit_beside_a_request_does_not_pass_in_silence() -> None:
    result = one(pod("limits: {nvidia.com/gpu: null}, requests: {nvidia.com/gpu: 8}"))
    assert result.verdict != "unchanged" or result.warnings


def test_05_zero_is_a_value_and_no_gpu_pod() -> None:
    assert one(pod("limits: {nvidia.com/gpu: 0}")).verdict == "unchanged"
    assert one(pod("limits: {networking.gke.io.networks/rdma-0: '0'}")).verdict == "unchanged"


def test_06_any_number_of_gpus_is_taken() -> None:
    for count in (1, 2, 4, 5, 6, 8):
        assert one(pod(f"limits: {{nvidia.com/gpu: {count}}}")).verdict == "mutated"


@pytest.mark.parametrize("resource", ["nvidia.com/rdma-vf", "nvidia.com/mlnxnics", "nvidia.com/sriov-rdma-vf"])
def test_07_nvidias_network_cards_are_no_gpus(resource: str) -> None:
    assert one(pod(f"limits: {{{resource}: 1}}")).verdict == "unchanged"


def test_07_modifiers_of_hami_are_no_counts_and_its_pods_are_left_alone() -> None:
    assert one(pod("limits: {nvidia.com/gpu: 1, nvidia.com/gpumem: 3000}")).changes == ()


def test_08_a_shared_gpu_by_annotation_is_left_alone() -> None:
    shared = pod("", metadata="annotations: {gpu-fraction: '0.5'}", spec="schedulerName: kai-scheduler")
    assert one(shared).verdict == "unchanged"


def test_09_a_mig_name_that_no_gpu_has_is_denied_at_its_line_and_a_real_one_is_not() -> None:
    result = one(pod("limits: {nvidia.com/mig-4g.5gb: 1}"))
    assert (result.verdict, result.denials[0].policy, result.denials[0].line) == ("denied", "mig-right-size", 4)
    for name in ("1g.5gb", "2g.10gb", "3g.20gb", "7g.40gb", "1g.12gb"):
        assert one(pod(f"limits: {{nvidia.com/mig-{name}: 1}}")).verdict != "denied"


def test_10_a_claim_beside_extended_gpus_is_left_as_it_is() -> None:
    claims = "resourceClaims: [{name: imex, resourceClaimTemplateName: channel}]"
    result = one(pod("limits: {nvidia.com/gpu: 4}, claims: [{name: imex}]", spec=claims))
    assert result.verdict == "mutated"
    assert not any("laims" in change.path for change in result.changes)


def test_11_a_resource_that_a_device_class_serves_is_no_denial() -> None:
    classes = (
        "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: mig}\n"
        "spec: {extendedResourceName: nvidia.com/mig-1g.12gb}\n"
    )
    result, device_class = checked(pod("limits: {nvidia.com/mig-1g.12gb: 1}"), classes).results
    assert (result.denials, device_class.verdict) == ((), "skipped")
    assert not any("no known node offers it" in each.message for each in result.warnings)
    implicit = pod("limits: {deviceclass.resource.kubernetes.io/gpu.nvidia.com: 1}")
    assert one(implicit).verdict in ("mutated", "unchanged")


def test_12_old_shapes_of_claims_are_read() -> None:
    old = "resourceClaims: [{name: gpu, source: {resourceClaimTemplateName: t}}]"
    assert one(pod("claims: [{name: gpu}]", spec=old)).errors == ()
    template = "apiVersion: resource.k8s.io/v1alpha2\nkind: ResourceClaimTemplate\nmetadata: {name: t}\n"
    assert one(template).verdict == "skipped"


def test_13_a_launcher_without_gpus_belongs_to_its_gang() -> None:
    worker = "{replicas: 2, template: {spec: {containers: [{name: w, resources: {limits: {nvidia.com/gpu: 8}}}]}}}"
    launcher = "{replicas: 1, template: {spec: {containers: [{name: l}]}}}"
    found = checked(
        job("MPIJob", f"{{mpiReplicaSpecs: {{Launcher: {launcher}, Worker: {worker}}}}}", "kubeflow.org/v2beta1")
    )
    launched, worked = found.results
    assert "gpu-tolerations" in written(worked)
    assert "gpu-tolerations" not in written(launched)
    members = [
        [note.message for note in each.notes] + [str(by_policy(each, "gang-topology"))] for each in (launched, worked)
    ]
    assert all("gang" in " ".join(each) for each in members)


def test_14_topology_that_is_already_there_is_kept() -> None:
    clique = (
        "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
        "[{topologyKey: nvidia.com/gpu.clique, labelSelector: {matchLabels: {a: b}}}]}}"
    )
    result = one(pod("limits: {nvidia.com/gpu: 8}", spec=clique))
    assert not any("podAffinity" in change.path and change.op != "add" for change in result.changes)
    assert not any(change.op == "remove" for change in result.changes)


def test_15_a_pod_of_a_queue_gets_no_affinity() -> None:
    metadata = (
        "labels: {kueue.x-k8s.io/queue-name: q, kueue.x-k8s.io/pod-group-name: g}, "
        "annotations: {kueue.x-k8s.io/pod-group-total-count: '2'}"
    )
    result = one(pod("limits: {nvidia.com/gpu: 8}", metadata=metadata))
    assert not any("ffinity" in change.path for change in result.changes)


@pytest.mark.parametrize("group", ["schedulingGroup: {podGroupName: g}", "workloadRef: {name: w, podGroup: g}"])
def test_16_each_release_of_the_native_gang_api_is_read(group: str) -> None:
    assert one(pod(spec=group)).errors == ()


@pytest.mark.parametrize(
    "toleration", ["{operator: Exists}", '{key: "", operator: Exists}', "{key: nvidia.com/gpu, operator: Exists}"]
)
def test_17_what_is_tolerated_already_is_not_tolerated_again(toleration: str) -> None:
    result = one(pod(spec=f"tolerations: [{toleration}]"))
    added = [
        each
        for change in by_policy(result, "gpu-tolerations")
        for each in (change if isinstance(change, list) else [change])
    ]
    assert not any(each["key"] == NVIDIA for each in added)


def test_17_a_toleration_by_value_of_another_spelling_is_no_toleration_of_the_key() -> None:
    result = one(pod(spec="tolerations: [{key: nvidia/gpu, operator: Exists}]"))
    assert NVIDIA in str(by_policy(result, "gpu-tolerations"))


def test_18_the_users_choice_of_product_stays_and_is_not_contradicted() -> None:
    for key, value in (("cloud.google.com/gke-accelerator", "nvidia-h100"), ("nvidia.com/gpu.product", "NVIDIA-L4")):
        result = one(pod("limits: {nvidia.com/gpu: 2}", spec=f"nodeSelector: {{{key}: {value}}}"))
        assert not any("nodeSelector" in change.path or "required" in str(change.value) for change in result.changes)


def test_19_a_pin_to_a_host_is_left_and_no_host_is_named() -> None:
    for pin in ("nodeName: gpu-1", "nodeSelector: {kubernetes.io/hostname: gpu-1}"):
        result = one(pod("limits: {nvidia.com/gpu: 8}", spec=pin))
        assert not any("hostname" in str(change.value) or "nodeName" in change.path for change in result.changes)


def test_20_gpus_in_a_sidecar_and_in_an_init_container_count() -> None:
    for extra in (", restartPolicy: Always", ""):
        init = f"initContainers: [{{name: i, resources: {{limits: {{nvidia.com/gpu: 1}}}}{extra}}}]"
        assert "gpu-tolerations" in written(one(pod("", spec=init)))


def test_21_infrastructure_that_only_looks_like_gpu_pods_is_left_alone() -> None:
    spec = "nodeSelector: {nvidia.com/gpu.deploy.dcgm: 'true'}, tolerations: [{key: nvidia.com/gpu, operator: Exists}]"
    assert one(pod("", spec=spec)).verdict == "unchanged"


def test_22_privileged_pods_and_devices_by_hand_are_judged_like_others() -> None:
    by_hand = "env: [{name: NVIDIA_VISIBLE_DEVICES, value: void}], securityContext: {privileged: true}"
    assert one(pod("", container=by_hand)).verdict == "unchanged"
    assert one(pod(container=by_hand)).verdict == "mutated"


def test_23_of_duplicate_resources_the_last_are_judged_with_a_warning() -> None:
    text = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - name: c\n"
        "    resources: {}\n    image: i\n    resources: {limits: {nvidia.com/gpu: 1}}\n"
    )
    result = one(text)
    assert (result.verdict, result.warnings[0].line) == ("mutated", 9)
    assert "duplicate key 'resources': kubectl takes this one" in result.warnings[0].message
    assert result.warnings[0].field.endswith(".resources")


def test_23_duplicate_keys_of_a_list_belong_to_their_item() -> None:
    report = checked(
        "apiVersion: v1\nkind: Pod\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a}\n"
        "- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: b, name: c}\n"
    )
    found = {each.name: [warning.line for warning in each.warnings] for each in report.results}
    assert found == {"a": [3], "c": [10]}


def test_23_anchors_merge_keys_kyaml_crlf_nulls_and_empty_documents_are_read() -> None:
    anchored = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - &c\n    name: c\n"
        "    resources: {limits: {nvidia.com/gpu: 1}}\n  initContainers:\n  - {<<: *c, name: b}\n"
    )
    kyaml = (
        '---\n{\n  apiVersion: "v1",\n  kind: "Pod",\n  metadata: {\n    name: "p",\n  },\n  spec: {\n'
        '    containers: [{\n      name: "c",\n      resources: {limits: {"nvidia.com/gpu": 1,},},\n    }],\n  },\n}\n'
    )
    nulls = pod("limits: {nvidia.com/gpu: 1}, requests: null", spec="nodeSelector: null, tolerations: []")
    for text in (anchored, kyaml, nulls, pod().replace("\n", "\r\n"), f"---\n---\n{pod()}---\n# nothing\n"):
        assert one(text).verdict == "mutated", text


def test_23_an_integer_where_a_selector_wants_a_string_is_an_error_at_the_field() -> None:
    result = one(pod(spec="nodeSelector: {a: 1}"))
    assert (result.errors[0].field, result.errors[0].message) == ("spec.nodeSelector.a", "got integer, want string")


@pytest.mark.parametrize("text", ["$GPUS", "${GPUS}", '"{{ .Values.gpus }}"', "<gpu-count>", "__GPUS__"])
def test_23_a_placeholder_where_a_number_belongs_says_expand_first(text: str) -> None:
    result = one(
        pod(f"limits: {{nvidia.com/gpu: {text}}}".replace("{GPUS}", "{GPUS}"))
        if "{" not in text
        else (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - name: c\n    resources:\n"
            f"      limits:\n        nvidia.com/gpu: {text}\n"
        )
    )
    assert result.verdict == "error"
    assert result.errors[0].field == "spec.containers[0].resources.limits[nvidia.com/gpu]"
    command = "helm template" if "{{" in text else "envsubst" if "$" in text else "fill it in first"
    assert command in result.errors[0].message


def test_24_gpus_outside_of_a_pod_spec_are_seen() -> None:
    service = "{predictor: {model: {modelFormat: {name: huggingface}, resources: {limits: {nvidia.com/gpu: 2}}}}}"
    result = checked(job("InferenceService", service, "serving.kserve.io/v1beta1")).results[0]
    assert "gpu-tolerations" in written(result)
    graph = "{services: {Decode: {replicas: 1, resources: {limits: {gpu: '4'}}}}}"
    result = checked(job("DynamoGraphDeployment", graph, "nvidia.com/v1alpha1")).results[0]
    assert "gpu-tolerations" in written(result)


def test_25_pod_level_resources_hold_no_gpus_and_scheduling_gates_stay() -> None:
    spec = "resources: {limits: {cpu: 4}}, schedulingGates: [{name: g}]"
    result = one(pod(spec=spec))
    assert result.verdict == "mutated"
    assert not any(change.path.startswith(("/spec/resources", "/spec/schedulingGates")) for change in result.changes)


@pytest.mark.parametrize("version", ["extensions/v1beta1", "apps/v1beta1"])
def test_old_versions_of_a_deployment_are_read(version: str) -> None:
    template = "{template: {spec: {containers: [{name: c, resources: {limits: {nvidia.com/gpu: 1}}}]}}}"
    assert one(job("Deployment", template, version), by=shipped()).verdict == "mutated"


@pytest.mark.parametrize(
    ("version", "kind", "want"),
    [
        ("extensions/v1beta1", "DaemonSet", "apps/v1"),
        ("apps/v1beta2", "StatefulSet", "apps/v1"),
        ("batch/v1beta1", "CronJob", "batch/v1"),
        ("resource.k8s.io/v1alpha2", "ResourceClaimTemplate", "resource.k8s.io/v1"),
    ],
)
def test_a_version_that_no_api_server_has_is_a_warning(version: str, kind: str, want: str) -> None:
    [warning] = one(f"metadata: {{name: a}}\nkind: {kind}\napiVersion: {version}\n").warnings
    assert warning.message == f"got {version}, which Kubernetes no longer serves; write {want}"
    assert (warning.field, warning.line) == ("apiVersion", 3)


def test_nothing_is_said_of_the_version_of_a_kind_without_pods_and_devices() -> None:
    assert one("apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: a}\n").warnings == ()


def test_a_finding_says_its_place_once() -> None:
    [denial] = one(pod("limits: {nvidia.com/mig-4g.5gb: 1}")).denials
    assert denial.field == "spec.containers[0].resources.limits[nvidia.com/mig-4g.5gb]"
    assert denial.message.startswith("no GPU has MIG profile 4g.5gb; ")
