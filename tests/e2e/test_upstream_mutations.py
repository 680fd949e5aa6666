"""applyConfiguration and jsonPatch come to what a MutatingAdmissionPolicy of the same words makes of the same pod.

Each case is put to the real API server as a MutatingAdmissionPolicy, and to podberth as a policy; both get the pod as
the API server has filled it in. An expression is written once: upstream's types are made of its maps by name.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from builders import container, pod, review, sidecar
from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from podberth.admission import decide
from podberth.admission.review import decode_review
from podberth.kube.patch import apply
from snapshots import policy, snapshot

Document = dict[str, Any]

_GROUP = "admissionregistration.k8s.io/v1"
_NAMESPACE = "upstream-mutations"


@dataclass(frozen=True, slots=True)
class Case:
    """One mutation in both tongues; ``refused`` where upstream denies the pod."""

    name: str
    ours: str
    upstream: str
    refused: bool = False


def configuration(name: str, ours: str, upstream: str, *, refused: bool = False) -> Case:
    """Return an apply configuration."""
    return Case(f"configure-{name}", ours, upstream, refused)


def patch(name: str, *operations: str, refused: bool = False) -> Case:
    """Return a JSON Patch; an operation is the inside of upstream's ``JSONPatch{}``."""
    ours = [f"{{{_quoted(each)}}}" for each in operations]
    upstream = [f"JSONPatch{{{each}}}" for each in operations]
    return Case(f"patch-{name}", f"[{', '.join(ours)}]", f"[{', '.join(upstream)}]", refused)


def _quoted(operation: str) -> str:
    for key in ("op", "path", "from", "value"):
        operation = operation.replace(f"{key}: ", f"'{key}': ", 1)
    return operation


CASES = (
    configuration(
        "scalars",
        "{'spec': {'terminationGracePeriodSeconds': 7, 'enableServiceLinks': false, 'dnsPolicy': 'Default'}}",
        "Object{spec: Object.spec{terminationGracePeriodSeconds: 7, enableServiceLinks: false, dnsPolicy: 'Default'}}",
    ),
    configuration(
        "labels",
        "{'metadata': {'labels': {'added': 'x'}}}",
        "Object{metadata: Object.metadata{labels: {'added': 'x'}}}",
    ),
    configuration(
        "map-lists",
        "{'spec': {'containers': [{'name': 'side', 'image': 'other'}, {'name': 'main', 'env': ["
        "{'name': 'NEW', 'value': '1'}, {'name': 'TWO', 'value': '2'}, {'name': 'ONE', 'value': '3'}]}]}}",
        "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'side', image: 'other'}, "
        "Object.spec.containers{name: 'main', env: ["
        "Object.spec.containers.env{name: 'NEW', value: '1'}, Object.spec.containers.env{name: 'TWO', value: '2'}, "
        "Object.spec.containers.env{name: 'ONE', value: '3'}]}]}}",
    ),
    configuration(
        "keys-with-defaults",
        "{'spec': {'containers': [{'name': 'main', 'ports': [{'containerPort': 80, 'name': 'web'}, "
        "{'containerPort': 80, 'protocol': 'UDP'}]}]}}",
        "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'main', ports: ["
        "Object.spec.containers.ports{containerPort: 80, name: 'web'}, "
        "Object.spec.containers.ports{containerPort: 80, protocol: 'UDP'}]}]}}",
    ),
    configuration(
        "init-containers",
        "{'spec': {'initContainers': object.spec.initContainers.map(c, {'name': c.name, 'tty': true})}}",
        "Object{spec: Object.spec{initContainers: object.spec.initContainers.map(c, "
        "Object.spec.initContainers{name: c.name, tty: true})}}",
    ),
    configuration(
        "volumes",
        "{'spec': {'volumes': [{'name': 'shm', 'emptyDir': {'medium': 'Memory'}}]}}",
        "Object{spec: Object.spec{volumes: [Object.spec.volumes{name: 'shm', "
        "emptyDir: Object.spec.volumes.emptyDir{medium: 'Memory'}}]}}",
    ),
    configuration(
        "finalizers",
        "{'metadata': {'finalizers': ['x.io/b', 'x.io/c']}}",
        "Object{metadata: Object.metadata{finalizers: ['x.io/b', 'x.io/c']}}",
    ),
    configuration(
        "atomic-list",
        "{'spec': {'tolerations': [{'key': 'a', 'operator': 'Exists'}]}}",
        "Object{spec: Object.spec{tolerations: [Object.spec.tolerations{key: 'a', operator: 'Exists'}]}}",
        refused=True,
    ),
    configuration(
        "atomic-map",
        "{'spec': {'nodeSelector': {'a': 'b'}}}",
        "Object{spec: Object.spec{nodeSelector: {'a': 'b'}}}",
        refused=True,
    ),
    configuration(
        "atomic-struct",
        "{'spec': {'imagePullSecrets': [{'name': 'a'}]}}",
        "Object{spec: Object.spec{imagePullSecrets: [Object.spec.imagePullSecrets{name: 'a'}]}}",
        refused=True,
    ),
    patch("add", "op: 'add', path: '/spec/hostname', value: 'h'"),
    patch("add-at-an-index", "op: 'add', path: '/spec/tolerations/0', value: {'key': 'a', 'operator': 'Exists'}"),
    patch("add-before-the-last", "op: 'add', path: '/spec/tolerations/-1', value: {'key': 'a', 'operator': 'Exists'}"),
    patch("add-below-nothing", "op: 'add', path: '/spec/dnsConfig/options', value: ['a']", refused=True),
    patch("add-out-of-bounds", "op: 'add', path: '/spec/tolerations/9', value: {'key': 'a'}", refused=True),
    patch("escape", "op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('x.io/a'), value: 'b'"),
    patch("replace", "op: 'replace', path: '/spec/dnsPolicy', value: 'Default'"),
    patch("replace-what-is-not-there", "op: 'replace', path: '/spec/hostname', value: 'h'"),
    patch("remove", "op: 'remove', path: '/spec/containers/0/env'"),
    patch("remove-what-is-not-there", "op: 'remove', path: '/spec/hostname'", refused=True),
    patch("move", "op: 'move', from: '/spec/containers/0/env', path: '/spec/containers/1/env'"),
    patch("copy", "op: 'copy', from: '/spec/containers/0/env', path: '/spec/containers/1/env'"),
    patch("copy-to-the-end", "op: 'copy', from: '/spec/containers/0/env/1', path: '/spec/containers/1/env/-'"),
    patch(
        "test-that-holds",
        "op: 'test', path: '/spec/dnsPolicy', value: 'ClusterFirst'",
        "op: 'add', path: '/spec/hostname', value: 'h'",
    ),
    patch(
        "test-that-fails",
        "op: 'add', path: '/spec/hostname', value: 'h'",
        "op: 'test', path: '/spec/dnsPolicy', value: 'None'",
    ),
    patch("test-of-a-map", "op: 'test', path: '/metadata/labels', value: object.metadata.labels"),
    patch(
        "test-of-nothing",
        "op: 'test', path: '/spec/hostname'",
        "op: 'add', path: '/spec/hostname', value: 'h'",
    ),
    patch(
        "test-of-nothing-for-a-value",
        "op: 'test', path: '/spec/hostname', value: 'h'",
        "op: 'add', path: '/spec/hostname', value: 'h'",
    ),
    patch("test-below-nothing", "op: 'test', path: '/spec/dnsConfig/options', value: 'h'", refused=True),
    patch("unknown-field", "op: 'add', path: '/spec/hostnam', value: 'h'", refused=True),
    patch("wrong-type", "op: 'add', path: '/spec/hostNetwork', value: 'yes'", refused=True),
)


def _concern(case: Case) -> str:
    return "applyConfiguration" if case.name.startswith("configure") else "jsonPatch"


def manifest(case: str) -> Document:
    """Return the pod that every case is about; without GPUs, so that no podberth of another test is asked."""
    return pod(
        container(
            "main",
            env=[{"name": "ONE", "value": "1"}, {"name": "OWN", "value": "$(ONE)"}, {"name": "TWO", "value": "2"}],
            ports=[{"containerPort": 80}, {"containerPort": 81}],
        ),
        container("side", env=[{"name": "S", "value": "s"}]),
        init=[container("init"), sidecar("proxy")],
        labels={"case": case},
        tolerations=[{"key": "own", "operator": "Exists"}],
        volumes=[{"name": "own", "emptyDir": {}}],
        automountServiceAccountToken=False,
    )


def _create(control_plane: ControlPlane, case: str) -> tuple[int, Document]:
    path = f"/api/v1/namespaces/{_NAMESPACE}/pods?dryRun=All"
    document = manifest(case)
    document["metadata"] |= {"namespace": _NAMESPACE, "finalizers": ["x.io/a", "x.io/b"]}
    status, body = control_plane.raw("POST", path, document)
    return status, json.loads(body)


def _objects(case: Case) -> list[Document]:
    kind = {"applyConfiguration": "ApplyConfiguration", "jsonPatch": "JSONPatch"}[_concern(case)]
    mutation = {"patchType": kind, _concern(case): {"expression": case.upstream}}
    return [
        {
            "apiVersion": _GROUP,
            "kind": "MutatingAdmissionPolicy",
            "metadata": {"name": case.name},
            "spec": {
                "failurePolicy": "Fail",
                "reinvocationPolicy": "Never",
                "matchConstraints": {
                    "objectSelector": {"matchLabels": {"case": case.name}},
                    "resourceRules": [
                        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
                    ],
                },
                "mutations": [mutation],
            },
        },
        {
            "apiVersion": _GROUP,
            "kind": "MutatingAdmissionPolicyBinding",
            "metadata": {"name": case.name},
            "spec": {"policyName": case.name},
        },
    ]


@pytest.fixture(scope="module")
def upstream(control_plane: ControlPlane) -> Iterator[ControlPlane]:
    """Yield a control plane in which every case is in force."""
    control_plane.add_namespace(_NAMESPACE)
    marker = Case("configure-marker", "", "Object{metadata: Object.metadata{labels: {'marked': 'x'}}}")
    every = [each for case in (*CASES, marker) for each in _objects(case)]
    control_plane.apply(*every)

    def in_force() -> bool:
        marked = "marked" in _create(control_plane, marker.name)[1]["metadata"].get("labels", {})
        # Policies come into force together; a refusal shows that one of the last ones has.
        return marked and _create(control_plane, CASES[-1].name)[0] != 201

    wait_for(in_force, what="the policies to be in force")
    yield control_plane
    for each in every:
        control_plane.kubectl("delete", each["kind"], each["metadata"]["name"], "--wait=false")
    control_plane.kubectl("delete", "namespace", _NAMESPACE, "--wait=false")


def _ours(case: Case, given: Document) -> Document | None:
    # Upstream asks once; many of the operations change the pod each time that they are asked.
    once = {"annotations": {"done": "'x'"}}
    mutations = [{_concern(case): case.ours, "when": "!has(object.metadata.annotations)"}, once]
    text = policy("a", f"  scope: All\n  mutations: {json.dumps(mutations)}")
    outcome = decide.mutate(decode_review(review(given, namespace=_NAMESPACE)), snapshot(text))
    if outcome.verdict == "denied":
        return None
    return apply(given, outcome.patch)


def _compared(made: Document) -> Document:
    metadata = {key: made["metadata"].get(key) for key in ("labels", "finalizers")}
    return {"spec": made["spec"], "metadata": metadata}


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case.name))
def test_a_pod_comes_out_as_upstream_makes_it(upstream: ControlPlane, case: Case) -> None:
    _, given = _create(upstream, "none")
    given["metadata"]["labels"]["case"] = case.name
    status, theirs = _create(upstream, case.name)
    ours = _ours(case, given)

    assert (status != 201) == case.refused, theirs
    if case.refused:
        assert ours is None
    else:
        assert ours is not None
        assert _compared(ours) == _compared(theirs)
