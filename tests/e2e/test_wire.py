"""Pods as nobody tests them, before a real apiserver: every patch applies, and what the user wrote survives."""

from typing import Any

import pytest

from builders import container, gpu_container, gpu_pod, pod, sidecar

from .manifest import GPU_TOLERATION, record, tolerations
from .space import Space

Document = dict[str, Any]

_ZONE_TERM = {"matchExpressions": [{"key": "topology.kubernetes.io/zone", "operator": "Exists"}]}
_NODE_AFFINITY = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [_ZONE_TERM, _ZONE_TERM]}}
_POD_TERM = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "llm"}}}
_GANG = {"podberth.io/gang": "llama"}

AWKWARD = {
    "no metadata but a name": {**gpu_pod(), "metadata": {"name": "pod"}},
    "annotations and labels are null": {**gpu_pod(), "metadata": {"name": "pod", "annotations": None, "labels": None}},
    "annotations are empty": gpu_pod(annotations={}),
    "keys that a JSON pointer escapes": gpu_pod(
        annotations={"example.com/a.b_c": "~0~1/", "example.com/tilde": "~"}, labels={"example.com/x": "y"}
    ),
    "values beyond ASCII": gpu_pod(annotations={"example.com/owner": 'Zoë "the" 🚀\n\\u0000'}),
    "tolerations are empty": gpu_pod(tolerations=[]),
    "tolerations are null": gpu_pod(tolerations=None),
    "a toleration of everything": gpu_pod(tolerations=[{"operator": "Exists"}]),
    "affinity is empty": gpu_pod(4, affinity={}),
    "affinity is null": gpu_pod(4, affinity=None),
    "node affinity is empty": gpu_pod(4, affinity={"nodeAffinity": {}}),
    "two equal terms": gpu_pod(4, affinity={"nodeAffinity": _NODE_AFFINITY}),
    "pod affinity of its own in a gang": gpu_pod(
        8,
        labels=_GANG,
        affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [_POD_TERM]}},
    ),
    "a record that is no JSON": gpu_pod(annotations={"podberth.io/applied": "{"}),
    "a record of another shape": gpu_pod(annotations={"podberth.io/applied": '{"gpu-tolerations":[1]}'}),
    "a size that is no number": gpu_pod(8, labels=_GANG, annotations={"podberth.io/gang-size": "many"}),
    "a need that is no quantity": gpu_pod(annotations={"podberth.io/gpu-memory": "lots"}),
    "a need and two containers": pod(
        gpu_container(), container("proxy"), annotations={"podberth.io/gpu-memory": "4Gi"}
    ),
    "GPUs of a sidecar and of an init container": pod(container(), init=[gpu_container("warm", 2), sidecar("side")]),
    "forty containers": pod(*(gpu_container(f"c{number}") for number in range(40))),
    "a quantity in words of its own": gpu_pod("1e0"),
    "no GPUs after all": gpu_pod(0),
    "a resource nobody knows": gpu_pod(resource="example.com/dongle"),
    "a name of its own scheduler": gpu_pod(schedulerName="volcano"),
    "requests as well as limits": pod(container(limits={"nvidia.com/gpu": 1}, requests={"nvidia.com/gpu": 1})),
}


@pytest.mark.parametrize("name", AWKWARD)
def test_an_awkward_pod_is_taken_and_keeps_what_its_user_wrote(space: Space, name: str) -> None:
    given = AWKWARD[name]
    said = space.kubectl("create", "--dry-run=server", "--validate=false", manifest=[given])
    assert said.status == 0, said
    made = space.dry_run(given)
    for field in ("labels", "annotations"):
        own = given["metadata"].get(field) or {}
        kept = {key: value for key, value in own.items() if key != "podberth.io/applied"}
        assert (made["metadata"].get(field) or {}).items() >= kept.items()
    assert [each["name"] for each in made["spec"]["containers"]] == [
        each["name"] for each in given["spec"]["containers"]
    ]
    own_tolerations = given["spec"].get("tolerations") or []
    assert tolerations(made)[: len(own_tolerations)] == own_tolerations
    # Made of what the first pass has left, another is the same. Its record was sent, and nothing is left to write.
    again = space.dry_run({**given, "metadata": made["metadata"], "spec": made["spec"]})
    assert (again["spec"], record(again)) == (made["spec"], "")


def test_a_pod_that_asks_for_no_gpu_is_not_even_sent(space: Space) -> None:
    made = space.dry_run(pod(annotations={"podberth.io/applied": "kept, for nobody looked"}))
    assert record(made) == "kept, for nobody looked"


@pytest.mark.parametrize("namespace", ["kube-system", "podberth-system"])
def test_the_systems_own_pods_never_come_this_way(space: Space, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/pods?dryRun=All"
    body = {**gpu_pod(), "metadata": {"name": "system"}, "spec": {**gpu_pod()["spec"], "serviceAccountName": "default"}}
    made = space.control_plane.api.request("POST", path, body)
    assert GPU_TOLERATION not in tolerations(made)
    assert not record(made)


def test_a_pod_whose_text_grows_on_the_wire_is_judged_by_policies_and_not_by_its_length(space: Space) -> None:
    # The API server writes each "<" as six bytes, so a pod of 1.4 MB, which it stores, arrives with 8.4.
    grows = gpu_pod()
    grows["metadata"]["namespace"] = space.name
    grows["spec"]["containers"][0]["env"] = [{"name": f"V{at}", "value": "<" * 100_000} for at in range(14)]
    # kubectl escapes it, too, and gets no further than the API server's limit of 3 MiB; other clients need not.
    answer = space.control_plane.api.ask("POST", f"/api/v1/namespaces/{space.name}/pods?dryRun=All", grows)
    assert "the review is too large to be decided on: got 8," in answer.document["message"]
    assert "failed calling webhook" not in answer.document["message"]
