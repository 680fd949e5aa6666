"""After shape_problems() == [] nothing that reads a Pod raises, whatever the Pod holds."""

from copy import deepcopy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from builders import container, deployment, gpu_container, job, job_pod, pod, sidecar, stateful_set
from podberth.kube import pod as read
from podberth.kube.selector import LabelRequirements, node_selector_matches, tolerated
from podberth.kube.shape import shape_problems
from podberth.workload.gangs import gang_of
from podberth.workload.gpus import gpu_facts
from presented import present
from properties import examples

JSON = dict[str, Any]
Path = tuple[str | int, ...]

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_EXPRESSION = {"key": "zone", "operator": "In", "values": ["a"]}

FULL = pod(
    gpu_container("main", 2, claims=["net"], env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "x"}}}]),
    container(
        "second",
        limits={"nvidia.com/mig-1g.5gb": "1", "memory": "1Gi"},
        requests={"cpu": "1"},
        ports=[{"containerPort": 80}],
        livenessProbe={"httpGet": {"port": 80}},
    ),
    init=[gpu_container("init", 3), sidecar("side", limits={"nvidia.com/gpu": 1})],
    labels={
        "app": "x",
        "podberth.io/gang": "ring",
        "ray.io/cluster": "r",
        "ray.io/node-type": "head",
        "jobset.sigs.k8s.io/jobset-name": "s",
        "leaderworkerset.sigs.k8s.io/name": "l",
        "leaderworkerset.sigs.k8s.io/worker-index": "0",
        "training.kubeflow.org/job-name": "k",
        "applicationId": "a",
    },
    annotations={
        "podberth.io/gpu-memory": "10Gi",
        "podberth.io/gang-size": "8",
        "yunikorn.apache.org/task-group-name": "g",
        "yunikorn.apache.org/task-groups": '[{"minMember": 2}]',
        "pod-group-name": "g",
    },
    affinity={"nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [_EXPRESSION]}]}}},
    nodeSelector={"zone": "a"},
    tolerations=[{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
    resourceClaims=[{"name": "net", "resourceClaimTemplateName": "t"}],
    schedulingGroup={"podGroupName": "g"},
    schedulerName="default-scheduler",
    volumes=[{"name": "v", "secret": {"secretName": "s"}}],
    topologySpreadConstraints=[{"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "x"}}}],
)
FULL["metadata"]["ownerReferences"] = job_pod()["metadata"]["ownerReferences"]

JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["8E", "-1", "1e99"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text(max_size=4) | st.sampled_from(["name", "key", "limits", "containers"]), inner, max_size=3
        )
    ),
    max_leaves=6,
)


def paths(document: object, path: Path = ()) -> list[Path]:
    """Return every place of a document."""
    found = [path]
    items = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for step, child in items:
        found += paths(child, (*path, step))
    return found


PLACES = [path for path in paths(FULL) if path]
WORKLOAD_PLACES: list[Path] = [
    ("metadata",),
    ("metadata", "name"),
    ("metadata", "namespace"),
    ("spec",),
    ("spec", "serviceName"),
    ("spec", "parallelism"),
    ("spec", "template"),
    *(("spec", "template", *path) for path in PLACES if path[0] in {"metadata", "spec"}),
]


def changed(document: JSON, path: Path, value: object) -> JSON:
    """Return the document with another value at a place, or as it is where an earlier change took the place away."""
    made = deepcopy(document)
    parent: Any = made
    for step in path[:-1]:
        if not has(parent, step):
            return made
        parent = parent[step]
    if has(parent, path[-1]):
        parent[path[-1]] = value
    return made


def has(parent: Any, step: str | int) -> bool:
    """Return whether there is something below ``parent`` at that step."""
    if isinstance(step, int):
        return isinstance(parent, list) and step < len(parent)
    return isinstance(parent, dict) and step in parent


def read_all(document: JSON) -> None:
    """Call every function that reads a Pod."""
    metadata, labels, spec = read.metadata(document), read.labels(document), read.spec(document)
    read.annotations(document)
    read.containers(document)
    owner = read.controller(document)
    gpu_facts(document).as_cel()
    uid = owner.uid if owner else ""
    gang_of(document, "default", {uid: document}, frozenset({"ring"})).as_cel()
    terms = (((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(_REQUIRED) or {}).get(
        "nodeSelectorTerms"
    ) or ()
    node_selector_matches(terms, labels, {"metadata.name": metadata.get("name") or ""})
    for constraint in spec.get("topologySpreadConstraints") or ():
        LabelRequirements(constraint.get("labelSelector")).match(labels)
    tolerated(spec.get("tolerations") or (), {"key": "nvidia.com/gpu", "effect": "NoSchedule"})


@settings(max_examples=examples(400))
@given(st.lists(st.tuples(st.sampled_from(PLACES), JSON_VALUES), max_size=4))
def test_after_the_shape_check_nothing_raises(changes: list[tuple[Path, object]]) -> None:
    document = FULL
    for path, value in changes:
        document = changed(document, path, value)
    if shape_problems(document) == []:
        read_all(document)


@settings(max_examples=examples(200))
@given(JSON_VALUES)
def test_the_shape_check_takes_any_json(document: object) -> None:
    problems = shape_problems(document)
    if not problems:
        assert isinstance(document, dict)
        read_all(document)


@settings(max_examples=examples(200))
@given(
    st.sampled_from([deployment, stateful_set, job]),
    st.lists(st.tuples(st.sampled_from(WORKLOAD_PLACES), JSON_VALUES), max_size=4),
)
def test_any_template_can_be_presented(make: Any, changes: list[tuple[Path, object]]) -> None:
    document = make(FULL)
    for path, value in changes:
        document = changed(document, path, value)
    presented = present(document, namespace="default")
    if shape_problems(presented.pod) == []:
        read_all(presented.pod)


def test_the_pod_that_is_mutated_is_a_good_one() -> None:
    assert shape_problems(FULL) == []
    read_all(FULL)
