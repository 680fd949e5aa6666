"""A pod's patch, written where the pod comes from: what has a place there, and what is left out and why."""

from typing import Any

import pytest

from builders import container, deployment, gpu_pod, job, pod, stateful_set
from podberth.kinds.places import PLACEHOLDER_UID
from podberth.kube.patch import apply
from podberth.workload.projection import Projected, place_of, project
from podberth.workload.templates import Template, templates

JSON = dict[str, Any]

TOLERATION = {"key": "nvidia.com/gpu", "operator": "Exists"}
TOLERATE: list[JSON] = [{"op": "add", "path": "/spec/tolerations/-", "value": TOLERATION}]
LABEL: list[JSON] = [{"op": "add", "path": "/metadata/labels/team", "value": "vision"}]


def only(document: JSON) -> Template:
    [template] = templates(document, namespace="ml")
    return template


def written(document: JSON, *steps: list[JSON], whole: list[JSON] | None = None) -> tuple[Projected, ...]:
    joined = [operation for step in steps for operation in step] if whole is None else whole
    return project(only(document), steps, joined)


def test_a_list_that_only_defaults_filled_is_made_without_them() -> None:
    step, record = written(deployment(gpu_pod()), TOLERATE)
    assert step.operations == [{"op": "add", "path": "/spec/template/spec/tolerations", "value": [TOLERATION]}]
    assert record == Projected([])


def test_a_list_of_the_users_grows_at_its_end_and_keeps_what_was_there() -> None:
    document = deployment(gpu_pod(tolerations=[{"key": "own"}]))
    step, _ = written(document, TOLERATE)
    assert step.operations == [{"op": "add", "path": "/spec/template/spec/tolerations/-", "value": TOLERATION}]


def test_a_list_that_is_written_again_loses_what_was_taken_away_and_no_default_comes_in() -> None:
    document = deployment(gpu_pod(tolerations=[{"key": "a"}, {"key": "b"}]))
    shown = only(document).pod["spec"]["tolerations"]
    patch = [{"op": "replace", "path": "/spec/tolerations", "value": [TOLERATION, *shown[1:]]}]
    step, _ = written(document, patch)
    spec = apply(document, step.operations)["spec"]["template"]["spec"]
    assert spec["tolerations"] == [TOLERATION, {"key": "b"}]


def test_what_was_only_a_default_can_be_taken_away() -> None:
    """A priority class drops the computed priority, which no template has."""
    patch = [
        {"op": "remove", "path": "/spec/priority"},
        {"op": "remove", "path": "/spec/preemptionPolicy"},
        {"op": "add", "path": "/spec/priorityClassName", "value": "high"},
    ]
    step, _ = written(deployment(gpu_pod()), patch)
    assert step.operations == [{"op": "add", "path": "/spec/template/spec/priorityClassName", "value": "high"}]


def test_items_that_the_controller_puts_in_front_move_no_index() -> None:
    document = stateful_set(pod(container("a", env=[]), volumes=[{"name": "cache"}, {"name": "data"}]))
    document["spec"]["volumeClaimTemplates"] = [{"metadata": {"name": "data"}}]
    assert [each["name"] for each in only(document).pod["spec"]["volumes"]] == ["data", "cache"]
    patch: list[JSON] = [
        {"op": "add", "path": "/spec/volumes/1/emptyDir/medium", "value": "Memory"},
        {"op": "add", "path": "/spec/volumes/-", "value": {"name": "shm", "emptyDir": {}}},
    ]
    step, _ = written(document, patch)
    assert apply(document, step.operations)["spec"]["template"]["spec"]["volumes"] == [
        {"name": "cache", "emptyDir": {"medium": "Memory"}},
        {"name": "data"},
        {"name": "shm", "emptyDir": {}},
    ]


def test_what_the_controller_adds_cannot_be_changed_in_the_template() -> None:
    document = job(pod(container("a")), indexed=True)
    patch = [{"op": "replace", "path": "/spec/containers/0/env/0/valueFrom", "value": {}}]
    step, _ = written(document, patch)
    assert step == Projected([], "spec.containers[0].env[0]: the operator adds it to the pod")


def test_a_step_that_hangs_on_a_uid_is_left_out_as_a_whole_and_takes_the_record_with_it() -> None:
    gang: list[JSON] = [
        *TOLERATE,
        {"op": "add", "path": "/metadata/labels/podberth.io~1gang", "value": f"job-{PLACEHOLDER_UID}"},
    ]
    record: JSON = {"op": "add", "path": "/metadata/annotations", "value": {"podberth.io/applied": "{}"}}
    document = job(gpu_pod())
    left, label, last = written(document, gang, LABEL, whole=[*gang, *LABEL, record])
    assert left.operations == []
    assert left.left == "metadata.labels[podberth.io/gang]: has a name or uid that only the cluster gives"
    assert label.operations == [{"op": "add", "path": "/spec/template/metadata/labels", "value": {"team": "vision"}}]
    assert last == Projected([], "the record would name what is left out")


def test_the_record_alone_is_written_where_all_it_names_is() -> None:
    record: JSON = {"op": "add", "path": "/metadata/annotations", "value": {"podberth.io/applied": "{}"}}
    _, last = written(deployment(gpu_pod()), TOLERATE, whole=[*TOLERATE, record])
    annotations = {"podberth.io/applied": "{}"}
    assert last.operations == [{"op": "add", "path": "/spec/template/metadata/annotations", "value": annotations}]


def test_the_uid_of_an_object_that_exists_is_not_written_into_its_manifest() -> None:
    document = job(gpu_pod())
    document["metadata"]["uid"] = "1b4e28ba-2fa1-11d2-883f-0016d3cca427"
    step, _ = written(
        document, [{"op": "add", "path": "/metadata/labels/a", "value": "1b4e28ba-2fa1-11d2-883f-0016d3cca427"}]
    )
    assert "only the cluster gives" in step.left


PREDICTOR: JSON = {
    "apiVersion": "serving.kserve.io/v1beta1",
    "kind": "InferenceService",
    "metadata": {"name": "llama", "namespace": "ml"},
    "spec": {
        "predictor": {
            "minReplicas": 1,
            "model": {"modelFormat": {"name": "x"}, "resources": {"limits": {"nvidia.com/gpu": 1}}},
            "containers": [{"name": "proxy"}],
        }
    },
}


def test_gpus_of_a_predictors_model_are_rewritten_where_they_were_asked_for() -> None:
    limits = {"nvidia.com/mig-1g.10gb": "1"}
    patch = [{"op": "replace", "path": "/spec/containers/0/resources", "value": {"limits": limits}}]
    step, _ = written(PREDICTOR, patch, [{"op": "add", "path": "/spec/containers/1/env", "value": [{"name": "A"}]}])[:2]
    model = apply(PREDICTOR, step.operations)["spec"]["predictor"]["model"]
    assert model == {"modelFormat": {"name": "x"}, "resources": {"limits": limits}}


def test_the_containers_behind_the_model_keep_their_index() -> None:
    patch = [{"op": "add", "path": "/spec/containers/1/env", "value": [{"name": "A", "value": "1"}]}]
    step, _ = written(PREDICTOR, patch)
    value = [{"name": "A", "value": "1"}]
    assert step.operations == [{"op": "add", "path": "/spec/predictor/containers/0/env", "value": value}]


def test_places_of_the_pod_are_found_in_the_document_or_near_it() -> None:
    predictor = only(PREDICTOR)
    base = ("spec", "predictor")
    assert place_of(predictor, ("spec", "containers", 0, "resources", "limits")) == (
        *base,
        "model",
        "resources",
        "limits",
    )
    assert place_of(predictor, ("spec", "containers", 1, "image")) == (*base, "containers", 0)
    assert place_of(predictor, ("spec", "tolerations", 0)) == base
    assert place_of(predictor, ("metadata", "labels", "a")) == base
    assert place_of(only(gpu_pod()), ("spec", "containers", 0, "image")) == ("spec", "containers", 0, "image")


WORKFLOW: JSON = {
    "apiVersion": "argoproj.io/v1alpha1",
    "kind": "Workflow",
    "metadata": {"name": "flow"},
    "spec": {"tolerations": [{"key": "team"}], "templates": [{"name": "train", "container": {"image": "x"}}]},
}


def test_what_a_workflow_says_for_all_its_templates_is_kept_where_one_says_more() -> None:
    """A template's tolerations take the place of the workflow's: Argo joins no lists."""
    step, _ = written(WORKFLOW, TOLERATE)
    value = [{"key": "team"}, TOLERATION]
    assert step.operations == [{"op": "add", "path": "/spec/templates/0/tolerations", "value": value}]
    unchanged, _ = written(WORKFLOW, [])
    assert unchanged.operations == []


@pytest.mark.parametrize(
    ("deadline", "seconds"), [(30, 30), ("30", 30), ("{{inputs.parameters.deadline}}", None), ([], None)]
)
def test_a_deadline_of_a_workflow_is_a_number_or_a_text(deadline: object, seconds: int | None) -> None:
    spec = {"templates": [{"activeDeadlineSeconds": deadline, "container": {}}]}
    template = only({**WORKFLOW, "spec": spec})
    assert template.problems == ()
    assert template.pod["spec"].get("activeDeadlineSeconds") == seconds


def test_requests_that_are_only_copies_of_limits_are_not_written() -> None:
    amounts = {"nvidia.com/mig-1g.10gb": "4"}
    patch = [
        {"op": "replace", "path": "/spec/containers/0/resources", "value": {"limits": amounts, "requests": amounts}}
    ]
    step, _ = written(deployment(gpu_pod(4)), patch)
    assert [each["path"].rpartition("/resources/")[2] for each in step.operations] == [
        "limits/nvidia.com~1gpu",
        "limits/nvidia.com~1mig-1g.10gb",
    ]


def test_a_users_own_zeros_are_no_placeholder() -> None:
    document = deployment(gpu_pod(tolerations=[{"key": "a", "value": "10000000000"}]))
    shown = only(document).pod["spec"]["tolerations"]
    patch = [{"op": "replace", "path": "/spec/tolerations", "value": [{"key": "b"}, *shown]}]
    step, _ = written(document, patch)
    assert step.left == ""
