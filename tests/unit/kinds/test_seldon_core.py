"""The pods of a SeldonDeployment: their labels, their numbers and the names of their Deployments.

The expected values are those of SeldonIO/seldon-core 7c3973a6, operator/controllers and
operator/apis/machinelearning.seldon.io/v1.
"""

from hashlib import md5
from typing import Any

import pytest

from builders import container, gpu_container, workload
from podberth.check.unknown_fields import unknown_fields_in
from podberth.kube.positions import render_path
from podberth.kube.schema import PodSchema
from podberth.workload.projection import project
from podberth.workload.templates import Template, templates

JSON = dict[str, Any]
API = "machinelearning.seldon.io/v1"


def component(*containers: JSON, **more: Any) -> JSON:
    return {"spec": {"containers": [*containers]}, **more}


SERVER = component(gpu_container("server"))


def predictor(*components: JSON, name: str = "main", **more: Any) -> JSON:
    return {"name": name, "graph": {"name": "server"}, "componentSpecs": [*components], **more}


def deployment(*predictors: JSON, name: str = "llm", **more: Any) -> JSON:
    return workload(API, "SeldonDeployment", {"predictors": [*predictors], **more}, name=name)


def found(document: JSON) -> list[Template]:
    made = templates(document, namespace="default")
    assert [each.problems for each in made] == [()] * len(made)
    return made


def labels(template: Template) -> dict[str, str]:
    made: dict[str, str] = template.pod["metadata"]["labels"]
    return made


def digest(name: str) -> str:
    return f"seldon-{md5(name.encode(), usedforsecurity=False).hexdigest()}"


def test_the_pods_of_a_model_have_the_labels_of_deployment_predictor_and_unit() -> None:
    [made] = found(deployment(predictor(SERVER)))
    assert labels(made) == {
        "seldon-deployment-id": "llm",
        "seldon-app": "llm-main",
        "seldon-app-svc-server": "llm-main-server",
        "app": "llm-main-0-server",
        "version": "main",
        "fluentd": "true",
        "seldon.io/model": "true",
        "app.kubernetes.io/managed-by": "seldon-core",
        "pod-template-hash": "0000000000",
    }
    assert made.pod["metadata"]["generateName"] == "llm-main-0-server-0000000000-"
    assert made.pod["spec"]["terminationGracePeriodSeconds"] == 20


def test_every_predictor_and_every_component_has_a_deployment_of_its_own() -> None:
    other = component(container("a"), container("b"), metadata={"name": "front"})
    document = deployment(
        predictor(SERVER, other, component(container("a"), container("b"))),
        predictor(SERVER, name="canary"),
    )
    assert [labels(each)["app"] for each in found(document)] == [
        "llm-main-0-server",
        "llm-main-1-front",
        "llm-main-2-a-b",
        "llm-canary-0-server",
    ]


def test_a_long_name_is_replaced_by_its_digest() -> None:
    name = "n" * 64
    [made] = found(deployment(predictor(SERVER), name=name))
    assert labels(made)["seldon-deployment-id"] == digest(name)
    assert labels(made)["app"] == digest(f"{name}-main-0-server")
    assert labels(made)["seldon-app"] == digest(f"{name}-main")


def test_the_servers_that_seldon_core_adds_to_the_first_component_are_in_its_name() -> None:
    graph = {
        "name": "front",
        "type": "ROUTER",
        "children": [
            {"name": "server", "implementation": "TRITON_SERVER"},
            {"name": "b", "implementation": "X_SERVER"},
        ],
    }
    first, second = found(deployment(predictor(component(container("front")), SERVER, graph=graph)))
    assert (labels(first)["app"], labels(second)["app"]) == ("llm-main-0-front-b", "llm-main-1-server")
    assert [labels(first).get("seldon.io/router"), labels(second).get("seldon.io/model")] == ["true", "true"]


@pytest.mark.parametrize(
    ("unit", "label"),
    [
        ({}, "seldon.io/model"),
        ({"type": "OUTPUT_TRANSFORMER"}, "seldon.io/output-transformer"),
        ({"type": "COMBINER", "methods": ["AGGREGATE"]}, "seldon.io/combiner"),
        ({"type": "ROUTER", "implementation": "SKLEARN_SERVER"}, "seldon.io/model"),
        ({"implementation": "SIMPLE_MODEL"}, None),
        ({"methods": ["ROUTE"]}, None),
        ({"type": "UNKNOWN_TYPE"}, None),
    ],
)
def test_the_type_of_a_unit_is_a_label(unit: JSON, label: str | None) -> None:
    [made] = found(deployment(predictor(SERVER, graph={"name": "server", **unit})))
    assert [each for each in labels(made) if each.startswith("seldon.io/")] == ([label] if label else [])


def test_the_first_component_is_reached_by_the_name_of_the_predictor_unless_the_orchestrator_is_elsewhere() -> None:
    def reached(document: JSON) -> list[str | None]:
        return [labels(each).get("seldon-app") for each in found(document)]

    second = component(container("a"))
    assert reached(deployment(predictor(SERVER, second))) == ["llm-main", None]
    named: JSON = {"annotations": {"seldon.io/svc-name": "mine"}}
    assert reached(deployment(predictor(SERVER, second, **named))) == ["mine", None]
    without: JSON = {"annotations": {"seldon.io/no-engine": "True"}}
    assert reached(deployment(predictor(second, SERVER, **without))) == [None, "llm-main"]
    apart: JSON = {"annotations": {"seldon.io/engine-separate-pod": "true"}}
    assert reached(deployment(predictor(SERVER, second), **apart)) == [None, None]


@pytest.mark.parametrize(
    ("of_component", "of_predictor", "of_all", "replicas"),
    [
        ({}, {}, {}, 1),
        ({}, {}, {"replicas": 4}, 4),
        ({}, {"replicas": 3}, {"replicas": 4}, 3),
        ({"replicas": 2}, {"replicas": 3}, {"replicas": 4}, 2),
        ({"replicas": 2, "hpaSpec": {"maxReplicas": 9}}, {}, {}, 1),
        ({"hpaSpec": {"minReplicas": 5, "maxReplicas": 9}}, {"replicas": 3}, {}, 5),
        ({"kedaSpec": {"triggers": []}, "hpaSpec": {"minReplicas": 5}}, {"replicas": 3}, {}, 0),
        ({"kedaSpec": {"minReplicaCount": 2, "triggers": []}}, {}, {}, 2),
    ],
)
def test_the_closest_number_of_replicas_counts_unless_the_pods_are_scaled(
    of_component: JSON, of_predictor: JSON, of_all: JSON, replicas: int
) -> None:
    [made] = found(deployment(predictor({**SERVER, **of_component}, **of_predictor), **of_all))
    assert made.replicas == replicas


def test_labels_and_annotations_of_a_component_replace_those_of_its_predictor() -> None:
    metadata = {"labels": {"team": "a", "app": "mine"}, "annotations": {"note": "a", "other": "a"}}
    said = predictor(
        SERVER,
        {**SERVER, "metadata": metadata},
        labels={"team": "b", "version": "v2"},
        annotations={"note": "b"},
    )
    whole: JSON = {"annotations": {"note": "c", "prometheus.io/scrape": "false"}}
    first, second = found(deployment(said, **whole))
    assert (labels(first)["team"], labels(first)["version"]) == ("b", "v2")
    assert (labels(second)["team"], labels(second)["app"]) == ("a", "mine")
    assert first.pod["metadata"]["annotations"] == {
        "note": "b",
        "prometheus.io/path": "/prometheus",
        "prometheus.io/scrape": "false",
    }
    assert second.pod["metadata"]["annotations"] == {
        "note": "a",
        "other": "a",
        "prometheus.io/path": "/prometheus",
        "prometheus.io/scrape": "false",
    }


def test_an_annotation_of_the_predictor_is_not_written_into_its_first_component() -> None:
    [made] = found(deployment(predictor(SERVER, annotations={"note": "b"})))
    step = [{"op": "replace", "path": "/metadata/annotations/note", "value": "c"}]
    left, _ = project(made, [step], step)
    assert left.left == "metadata.annotations.note: spec.predictors[0].annotations replaces it; change it there"


def test_an_explainer_of_a_type_has_pods_of_its_own_and_its_container_can_be_changed() -> None:
    container_of = {"image": "explain", "resources": {"limits": {"nvidia.com/gpu": 1}}}
    explainer = {"type": "AnchorImages", "containerSpec": container_of, "serviceAccountName": "reader", "replicas": 2}
    server, made = found(deployment(predictor(SERVER, explainer=explainer, shadow=True)))
    assert "seldon.io/explainer" not in labels(server)
    assert labels(made)["seldon.io/explainer"] == labels(made)["seldon.io/shadow"] == "true"
    assert labels(made)["app"] == labels(made)["seldon-app"] == "llm-main-explainer"
    assert (made.replicas, made.pod["spec"]["serviceAccountName"]) == (2, "reader")
    assert made.pod["spec"]["containers"][0]["name"] == "llm-main-explainer"
    step = [{"op": "add", "path": "/spec/containers/0/workingDir", "value": "/tmp"}]  # noqa: S108 - a path in the pod
    written, _ = project(made, [step], [])
    assert [each["path"] for each in written.operations] == ["/spec/predictors/0/explainer/containerSpec/workingDir"]
    # The orchestrator's predictor without pods has an explainer without pods.
    stopped = deployment(predictor(SERVER, explainer=explainer), replicas=0)
    assert [each.replicas for each in found(stopped)] == [0, 0]
    assert len(found(deployment(predictor(SERVER, explainer={"containerSpec": container_of})))) == 1


def test_a_container_beside_the_units_brings_the_label_of_the_explainer() -> None:
    """Source: labels.go addLabelsToDeployment, which is called for each container."""
    both = component(gpu_container("server"), container("proxy"))
    made, _ = found(deployment(predictor(both, explainer={"type": "ALE"})))
    assert (labels(made)["seldon.io/explainer"], labels(made)["seldon.io/model"]) == ("true", "true")


def unknown(document: JSON) -> list[tuple[str, str]]:
    made = unknown_fields_in(document, found(document), PodSchema.packaged())
    return [(render_path(each.path), each.message.partition(";")[0]) for each in made]


def test_the_fields_beside_a_components_pod_are_known_and_slips_of_them_are_not() -> None:
    scaled = {"hpaSpec": {"maxReplicas": 2}, "pdbSpec": {"minAvailable": 1}, "replicas": 1}
    assert unknown(deployment(predictor({**SERVER, **scaled}, traffic=100), transport="rest")) == []
    beside = "which a pod template of a SeldonDeployment does not have"
    place = "spec.predictors[0].componentSpecs[0]"
    assert unknown(deployment(predictor({**SERVER, "replica": 1}))) == [(f"{place}.replica", f"got replica, {beside}")]
    lost = {"spec": {**SERVER["spec"], "schedulingGroup": {"podGroupName": "g"}}}
    [(path, message)] = unknown(deployment(predictor(lost)))
    assert path == f"{place}.spec.schedulingGroup"
    assert message == "got schedulingGroup, which the CRD of SeldonDeployment does not have, so that it is lost"
    assert unknown(deployment(predictor(SERVER, trafic=100))) == [("spec.predictors[0].trafic", "got trafic")]


@pytest.mark.parametrize("graph", [None, "server", {"name": ["server"], "children": {"name": "x"}}, {"children": [1]}])
def test_a_graph_of_a_wrong_shape_is_no_graph(graph: object) -> None:
    [made] = found(deployment(predictor(SERVER, graph=graph)))
    assert "seldon-app-svc-server" not in labels(made)
