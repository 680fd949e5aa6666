"""Whoever decides by an exported snapshot decides as by the cluster itself."""

import json
import re
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import job_pod, review
from podberth.admission import decide
from podberth.admission.review import decode_review
from podberth.admission.snapshot import Snapshot
from podberth.facts.cluster import collect
from podberth.facts.pseudonyms import anonymised
from podberth.facts.trim import as_list, trim
from podberth.files.cluster_documents import params_of
from podberth.files.library import shipped as library
from podberth.kube.documents import load_documents
from podberth.wellknown import NAMESPACE
from shipped import NODES, pods
from snapshots import snapshot
from topology_scenes import cluster

JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "train", "namespace": "default", "uid": "job-uid", "labels": {"app": "x"}},
    "spec": {"parallelism": 4, "completions": 4, "completionMode": "Indexed"},
}
OBJECTS: list[dict[str, Any]] = [
    *NODES,
    *cluster(),
    JOB,
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default", "labels": {"team": "a"}}},
    {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "globalDefault": True, "value": 7}
    | {"metadata": {"name": "usual"}},
    {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu.nvidia.com"}},
]


def objects(mode: str) -> list[dict[str, Any]]:
    """Return the cluster with the placing policies' parameter set."""
    policies = ("multi-gpu-nvlink", "gang-topology", "product-affinity")
    params = [
        {"apiVersion": "v1", "kind": "ConfigMap", "data": {"mode": mode}}
        | {"metadata": {"name": f"podberth-{policy}", "namespace": NAMESPACE}}
        for policy in policies
    ]
    return [*OBJECTS, *params]


def exported(documents: list[dict[str, Any]], *, hidden: bool) -> list[dict[str, Any]]:
    """Return what is read from the file that export writes."""
    kept = trim(documents, is_param=params_of(None))
    kept = anonymised(kept) if hidden else kept
    text = "\n".join(as_list(kept, lambda document: json.dumps(document, sort_keys=True)))
    return [each.document for each in load_documents(text, "export")[0]]


@cache
def known(mode: str, which: str) -> Snapshot:
    """Return the shipped policies on the cluster as it is, exported, or exported under other names."""
    texts = [text for each in library() if each.on for text in each.texts]
    documents = objects(mode) if which == "original" else exported(objects(mode), hidden=which == "hidden")
    return snapshot(*texts, objects=documents)


@pytest.mark.parametrize("which", ["exported", "hidden"])
@given(
    document=st.one_of(pods(), st.builds(job_pod, st.integers(0, 3), gpus=st.sampled_from([1, 8]))),
    mode=st.sampled_from(["preferred", "required"]),
)
def test_decisions_by_an_export_are_those_by_the_original(which: str, document: dict[str, Any], mode: str) -> None:
    request = decode_review(review(document))
    for phase in (decide.mutate, decide.validate):
        answer = json.dumps(phase(request, known(mode, which)).response)
        assert named(answer, which) == phase(request, known(mode, "original")).response


def named(answer: str, which: str) -> Any:
    """Return an answer with the nodes' own names, which a warning may have."""
    names = dict(zip(node_names(which), node_names("exported"), strict=True))
    return json.loads(re.sub(r"\bnode-\d+\b", lambda found: names.get(found[0], found[0]), answer))


@cache
def node_names(which: str) -> list[str]:
    known = collect(exported(objects("preferred"), hidden=which == "hidden"), now=None)
    return sorted(node.name for node in known.nodes)


def test_an_export_of_an_export_is_the_same() -> None:
    once = exported(objects("required"), hidden=False)
    assert exported(once, hidden=False) == once
