"""Enforcing policies with a pod each, claims of a record that would keep the policy from it, and ways to forge one."""

import json
from pathlib import Path
from typing import Any, NamedTuple

from builders import gpu_container, gpu_pod, pod
from podberth.admission.snapshot import Snapshot
from podberth.mutation.seal import OFFLINE, Sealer
from podberth.wellknown import GANG_LABEL, GANG_LEVEL_ANNOTATION
from records import annotation_of, with_annotation, with_record
from snapshots import cluster, policy, snapshot

ROOT = Path(__file__).parents[1]
LIFETIME = (ROOT / "optional-policies" / "idle-lifetime" / "policy.yaml").read_text()
ENDS = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "podberth-idle-lifetime", "namespace": "podberth-system"},
    "data": {"maxLifetime": "12h"},
}
CLUSTER, ANOTHER = Sealer.of(b"this cluster's key"), Sealer.of(b"another cluster's key")
WEAK = {"matchExpressions": [{"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}]}
TOLERATED = [{"key": "team", "operator": "Exists"}]
FOR_LONG = {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 9000}


class Case(NamedTuple):
    """An enforcing policy, a pod, and claims that the pod holds."""

    spec: dict[str, Any]
    pod: dict[str, Any]
    claims: dict[str, Any]


def affinity(term: dict[str, Any]) -> dict[str, Any]:
    """Return the affinity to nodes that a term selects."""
    terms = {"nodeSelectorTerms": [term]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def jupyter() -> dict[str, Any]:
    """Return a pod to which the policy of lifetimes applies."""
    document = pod(gpu_container())
    document["spec"]["containers"][0]["image"] = "jupyter/base"
    return document


REMOVED = {"op": "remove", "path": "/spec/hostNetwork"}
ON = {"op": "add", "path": "/spec/hostNetwork", "value": True}
CASES = {
    "required node affinity": Case(
        {"nodeAffinity": {"required": "topology.nodes(gpu).terms"}},
        gpu_pod(8, affinity=affinity(WEAK)),
        {"enforces": {"nodeAffinity": {"required": [WEAK]}}},
    ),
    "nodeSelector": Case(
        {"nodeSelector": {"team": "'a'", "zone": "'b'"}},
        gpu_pod(8, nodeSelector={"team": "b"}),
        {"nobody": {"nodeSelector": {"team": "b"}}, "enforces": {"nodeSelector": {"team": "b"}}},
    ),
    "preferred node affinity": Case(
        {"nodeAffinity": {"preferred": "topology.nodes(gpu).terms", "weight": 5}},
        gpu_pod(8, affinity=affinity(WEAK)),
        {"enforces": {"nodeAffinity": {"required": [WEAK]}}},
    ),
    "topology": Case(
        {"topology": {"level": "'rack'", "mode": "required"}},
        gpu_pod(8, labels={GANG_LABEL: "g"}, annotations={GANG_LEVEL_ANNOTATION: "zone"}),
        {"enforces": {"topology": {"level": "zone", "mode": "preferred"}}},
    ),
    "applyConfiguration": Case(
        {"applyConfiguration": "{'spec': {'hostNetwork': false}}"},
        gpu_pod(hostNetwork=True),
        {"nobody": {"jsonPatch": [ON]}},
    ),
    "applyConfiguration of what another took away": Case(
        {"applyConfiguration": "{'spec': {'hostNetwork': false}}"},
        gpu_pod(),
        {"nobody": {"jsonPatch": [REMOVED]}},
    ),
    "jsonPatch": Case(
        {"jsonPatch": "[{'op': 'add', 'path': '/spec/hostNetwork', 'value': false}]"},
        gpu_pod(hostNetwork=True),
        {"nobody": {"applyConfiguration": [ON]}},
    ),
    "what a removal revives": Case(
        {"labels": {"team": "'a'"}},
        gpu_pod(),
        {"nobody": {"jsonPatch": [{"op": "remove", "path": "/metadata/labels"}]}},
    ),
    "labels": Case({"labels": {"team": "'a'"}}, gpu_pod(labels={"team": "b"}), {"nobody": {"labels": {"team": "b"}}}),
    "schedulerName": Case(
        {"schedulerName": "'bins'"}, gpu_pod(schedulerName="own"), {"nobody": {"schedulerName": "own"}}
    ),
    "priorityClassName": Case(
        {"priorityClassName": "'low'"},
        gpu_pod(priorityClassName="high"),
        {"nobody": {"priorityClassName": "high"}},
    ),
    "env": Case(
        {"env": {"A": "'1'"}},
        pod(gpu_container(env=[{"name": "A", "value": "2"}])),
        {"nobody": {"env": {"main": {"A": "2"}}}},
    ),
    "tolerationSeconds": Case(
        {"tolerations": json.dumps([{**FOR_LONG, "tolerationSeconds": 60}])},
        gpu_pod(tolerations=[FOR_LONG]),
        {"nobody": {"tolerations": [FOR_LONG]}},
    ),
    "resources": Case(
        {
            "resources": "[{'container': 'main', 'from': 'nvidia.com/gpu', 'to': 'nvidia.com/mig-1g.5gb',"
            " 'quantity': 1}]"
        },
        gpu_pod(),
        {
            "nobody": {
                "resources": [{"container": "main", "from": "cpu", "to": "nvidia.com/gpu", "quantity": 1}],
            }
        },
    ),
    "gang": Case(
        {"gang": {"name": "'ours'", "size": "4"}},
        gpu_pod(labels={GANG_LABEL: "theirs"}),
        {"nobody": {"gang": {"label": "theirs"}}},
    ),
}


def known(case: Case, *more: str) -> Snapshot:
    """Return a snapshot with the policy of a case, and more policies."""
    text = policy("enforces", f"  mutations: [{json.dumps(case.spec)}]")
    return snapshot(text, *more, objects=cluster(hgx_h100_8=1, l4_1=1)).with_sealer(CLUSTER)


def forgeries(document: dict[str, Any], claims: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the pod with these claims, by how its bearer came by them."""
    namesake = {**document, "metadata": {**document["metadata"], "name": "another"}}
    generated = {**document, "metadata": {**document["metadata"], "generateName": "pod-"}}
    sealed = annotation_of(with_record(document, {"nobody": {"labels": {"a": "b"}}}, CLUSTER))
    return {
        "written by hand": with_annotation(document, json.dumps(claims)),
        "with a seal of nothing": with_annotation(
            document, json.dumps({**claims, "=": "A" * 22}, separators=(",", ":"))
        ),
        "another cluster's": with_record(document, claims, ANOTHER),
        "made offline": with_record(document, claims, OFFLINE),
        "copied from another pod": with_annotation(document, annotation_of(with_record(namesake, claims, CLUSTER))),
        "copied from a generated one": with_annotation(
            document, annotation_of(with_record(generated, claims, CLUSTER))
        ),
        "copied from another namespace": with_record(document, claims, CLUSTER, namespace="elsewhere"),
        "edited": with_annotation(document, json.dumps(claims, separators=(",", ":"))[:-1] + sealed[-31:]),
        "replayed": with_record(document, claims, CLUSTER),
    }
