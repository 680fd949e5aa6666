"""What is remembered of /validate is what would be said: over pods that differ in one thing at a time."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from builders import gpu_container, job_pod, pod, review
from podberth.admission.decide import validate
from podberth.admission.review import decode_review
from replays import assert_judged_right
from snapshots import cluster, forgetful, policy, snapshot
from tenants import limits

POLICIES = Path(__file__).parents[2] / "policies"
NODES = cluster(hgx_h100_8=1, a100_pcie_4=1, dgx_a100_8_mig_mixed=1)
LIBRARY = [file.read_text() for file in sorted(POLICIES.glob("*/*.yaml")) if file.name != "tests.yaml"]
PARAMS = [limits(where, "p", value=where) for where in ("default", "other")]
NAMESPACES = [
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": where, "labels": {"tier": where}}}
    for where in ("default", "other")
]


def judge(order: int, expression: str, condition: str = "true", **fields: Any) -> str:
    """Return a policy of one validation, whose denial says more than its verdict."""
    message = fields.pop("said", "gang.name")
    spec: dict[str, Any] = {
        "failurePolicy": "Fail",
        "validationActions": ["Warn"],
        "matchConditions": [{"name": "c", "expression": condition}],
        "validations": [{"expression": expression, "message": "no", "messageExpression": f"'of ' + {message}"}],
        **fields,
    }
    lines = (f"  {key}: {json.dumps(value)}" for key, value in spec.items())
    return policy(f"judge-{order}", "\n".join(lines), order=order)


OF_PARAMS: dict[str, Any] = {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}
JUDGES = {
    "the gang": judge(10, "gang.name.startsWith('a')"),
    "the containers": judge(
        20, "object.spec.containers.all(c, c.name != 'b')", said="object.spec.containers.map(c, c.name).join('.')"
    ),
    "what is asked for": judge(30, "gpu.count > 1", "gpu.kind == 'whole'", said="gpu.requests[0].container"),
    "where": judge(40, "object.metadata.namespace == 'default'", said="object.metadata.namespace"),
    "the request": judge(50, "request.namespace == 'default'", said="request.name"),
    "the namespace": judge(60, "namespaceObject.metadata.labels['tier'] == 'default'", said="'a'"),
    "params of the namespace": judge(
        70,
        "params.data['value'] == 'default'",
        said="params.data['value']",
        paramRef={"name": "p", "parameterNotFoundAction": "Deny"},
        **OF_PARAMS,
    ),
    "params": judge(
        75,
        "params.data['value'] == gang.name",
        said="params.data['value']",
        paramRef={"name": "p", "namespace": "other", "parameterNotFoundAction": "Deny"},
        **OF_PARAMS,
    ),
    "an error": judge(80, "object.metadata.labels['team'] == 'a'", said="'a'"),
    "an error of a condition": judge(85, "false", "object.metadata.labels['team'] == 'a'", said="'a'"),
    "a note": judge(
        90,
        "true",
        said="'a'",
        auditAnnotations=[{"key": "k", "valueExpression": "object.spec.?hostname.orValue('none')"}],
    ),
    "nodes": judge(95, "topology.nodes(gpu).count > 1", said="string(topology.nodes(gpu).count)"),
    "denies": judge(96, "!has(object.spec.nodeSelector)", said="string(gpu.count)", validationActions=["Deny"]),
    "some workloads": judge(97, "false", said="'a'", rollout={"percent": 50}),
}


def pods() -> Iterator[dict[str, Any]]:
    """Yield pods, each of which differs from some other in one thing."""
    for uid in ("a-job-of-its-own", "b-job-of-its-own"):
        yield job_pod(uid=uid)
    for namespace in ("default", "other"):
        for containers in (["a"], ["b"], ["a", "b"], ["b", "a"]):
            for gpus in (1, 2):
                document = pod(*(gpu_container(name, gpus) for name in containers))
                document["metadata"]["namespace"] = namespace
                yield document
    yield pod(gpu_container(), labels={"team": "a"})
    yield pod(gpu_container(), labels={"team": "b"})
    yield pod(gpu_container(), hostname="h")
    yield pod(gpu_container(), nodeSelector={"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"})
    yield pod(gpu_container(resource="nvidia.com/mig-1g.5gb"))
    yield pod(gpu_container(resource="nvidia.com/mig-9g.99gb"))
    yield pod(gpu_container(), annotations={"podberth.io/gpu-memory": "10"})
    yield pod()


@pytest.mark.parametrize("texts", [*([text] for text in JUDGES.values()), [*JUDGES.values()], LIBRARY])
def test_what_was_said_about_one_pod_is_right_for_one_that_differs_in_one_thing(texts: list[str]) -> None:
    warm = snapshot(*texts, objects=[*NODES, *PARAMS, *NAMESPACES])
    assert_judged_right(
        warm,
        (
            decode_review(review(document, namespace=document["metadata"].get("namespace", "default")))
            for document in pods()
        ),
    )


def test_what_is_said_about_a_pod_is_not_asked_again() -> None:
    warm = snapshot(*LIBRARY, objects=NODES)
    first, second = (decode_review(review(job_pod(job=name, uid=f"{name}-uid"))) for name in ("one", "two"))
    validate(first, warm)
    remembered = len(warm.recall)

    outcome = validate(second, warm)

    assert len(warm.recall) == remembered
    assert outcome == validate(second, forgetful(warm))
