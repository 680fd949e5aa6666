"""Pods of namespaces whose pods a group system's own webhook takes over later: nothing on them says so yet."""

from dataclasses import replace
from typing import Any

import pytest

from builders import gpu_pod, review
from podberth.admission import decide
from podberth.admission.awaited import Awaited
from podberth.admission.description import gang_in
from podberth.admission.review import decode_review
from podberth.admission.snapshot import Snapshot
from podberth.conventions import Conventions, GroupSystem
from snapshots import policy, snapshot

JSON = dict[str, Any]

SLURM = GroupSystem("slurm-bridge", {"matchLabels": {"example.com/slurm": "managed"}})
NAMED = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system", "slurm"]}
YUNIKORN = GroupSystem("yunikorn", {"matchExpressions": [NAMED]})
DRAWS = policy("draws", "  mutations:\n  - topology: {level: \"'rack'\", mode: required}")
NAMESPACES = [
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
    for name, labels in (("slurm", {"example.com/slurm": "managed"}), ("team", {}))
]


def known(*systems: GroupSystem, namespaces: list[JSON] = NAMESPACES) -> Snapshot:
    made = snapshot(DRAWS, objects=namespaces)
    return replace(made, conventions=Conventions(group_systems=systems))


def member(**fields: Any) -> JSON:
    said = {"podberth.io/gang": "ring", **fields.pop("labels", {})}
    return gpu_pod(8, labels=said, annotations={"podberth.io/gang-size": "2"}, **fields)


def system(document: JSON, namespace: str, snapshot: Snapshot) -> str:
    return gang_in(document, namespace, snapshot).system


@pytest.mark.parametrize(
    ("namespace", "expected"), [("slurm", "slurm-bridge"), ("team", "yunikorn"), ("new", "yunikorn")]
)
def test_a_namespace_is_known_by_its_labels_and_by_its_name(namespace: str, expected: str) -> None:
    """As isManagedNamespace (SlinkyProject/slurm-bridge internal/admission/admission.go), and YuniKorn's by name."""
    assert system(member(), namespace, known(SLURM, YUNIKORN)) == expected
    assert system(member(), namespace, known()) == "plain"


def test_the_first_entry_that_fits_counts() -> None:
    everywhere = GroupSystem("kai", {})
    assert system(member(), "team", known(everywhere, YUNIKORN)) == "kai"


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (member(schedulerName="default-scheduler"), "slurm-bridge"),
        (member(schedulerName="my-own-scheduler"), "plain"),
        (member(labels={"kueue.x-k8s.io/queue-name": "q"}), "kueue"),
        # its scheduler reads this label, and is more decisive than a plugin that has no name
        (member(labels={"scheduling.x-k8s.io/pod-group": "g"}), "slurm-bridge"),
    ],
)
def test_what_a_pod_says_itself_beats_its_namespace(document: JSON, expected: str) -> None:
    assert system(document, "slurm", known(SLURM)) == expected


def test_no_affinity_is_written_where_another_system_is_about_to_place_the_group() -> None:
    """Rule 2: affinity that is there before the system's own webhook has been asked would stay."""
    request = decode_review(review(member(), namespace="slurm"))
    paths = [each["path"] for each in decide.mutate(request, known(SLURM)).patch]
    assert not [path for path in paths if path.startswith("/spec/affinity")]
    [warning] = decide.mutate(request, known(SLURM)).warnings
    assert "slurm-bridge places this pod's group" in warning
    plain = [each["path"] for each in decide.mutate(request, known()).patch]
    assert [path for path in plain if path.startswith("/spec/affinity")]


def test_a_namespace_whose_labels_are_asked_for_is_waited_for() -> None:
    awaited = Awaited(lambda *_: False)
    request = decode_review(review(member(), namespace="new"))
    assert awaited(request, known(SLURM))
    assert not awaited(request, known())
