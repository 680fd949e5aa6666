"""What is remembered is not mixed up: values that look alike, and documents that no API server sends."""

import json
from typing import Any

import pytest

from builders import gpu_container, gpu_pod, job_pod, review
from podberth.admission.decide import mutate, validate
from podberth.admission.messages import MAX_LINE
from podberth.admission.recall import Recall, read_of_pod
from podberth.admission.review import decode_review
from podberth.admission.snapshot import Snapshot
from podberth.kube.patch import apply
from snapshots import cluster, policy, snapshot


def mutated(document: dict[str, Any], known: Snapshot) -> dict[str, Any]:
    return apply(document, mutate(decode_review(review(document)), known).patch)


def remembered(known: Snapshot) -> str:
    return f"{known.recall._on_trial!r} {known.recall._kept!r}"


def annotate(expression: str) -> Snapshot:
    return snapshot(policy("a", f"  mutations:\n  - annotations: {{seen: {json.dumps(expression)}}}"))


@pytest.mark.parametrize(
    ("expression", "first", "second", "answers"),
    [
        ("string(object.spec.volumes.map(v, 1).size())", {"volumes": {"a": 1}}, {"volumes": {"a": 1, "b": 2}}, "12"),
        ("string(object.spec.volumes.exists(v, v.name == 'a'))", *({"volumes": [{"name": n}]} for n in "ab"), None),
        ("string(object.spec.volumes.size())", {"volumes": [{"name": "a"}]}, {"volumes": []}, "10"),
    ],
)
def test_lists_and_what_stands_in_their_place(
    expression: str, first: dict[str, Any], second: dict[str, Any], answers: str | None
) -> None:
    known = annotate(expression)
    seen = [mutated(gpu_pod(1, **spec), known)["metadata"]["annotations"]["seen"] for spec in (first, second)]
    assert seen == (list(answers) if answers else ["true", "false"])


def test_a_key_that_is_spelled_like_an_escaped_field() -> None:
    known = annotate("object.metadata.labels['__namespace__']")
    pods = [gpu_pod(1, labels={"__namespace__": value}) for value in ("a", "b")]
    assert [mutated(document, known)["metadata"]["annotations"]["seen"] for document in pods] == ["a", "b"]


def test_an_escaped_field_is_the_field() -> None:
    known = annotate("object.metadata.__namespace__")
    pods = [gpu_pod(1) for _ in "ab"]
    for document, namespace in zip(pods, ("a", "b"), strict=True):
        document["metadata"]["namespace"] = namespace
    assert [mutated(document, known)["metadata"]["annotations"]["seen"] for document in pods] == ["a", "b"]


@pytest.mark.parametrize("spec", [{}, {"spec": None}])
def test_a_pod_without_a_spec_is_left_as_it_is(spec: dict[str, Any]) -> None:
    rewrite = "[{'container': 'm', 'from': 'nvidia.com/gpu', 'to': 'nvidia.com/mig-1g.5gb', 'quantity': 1}]"
    known = snapshot(policy("a", f"  scope: All\n  mutations:\n  - resources: {json.dumps(rewrite)}"))
    document = {"metadata": {"name": "x", "labels": {"podberth.io/gang": "g"}}, **spec}
    assert mutated(document, known) == document


def test_a_long_line_about_a_gang_names_the_gang() -> None:
    said = f"'{'x' * 201} member of gang ' + gang.name"
    known = snapshot(policy("p", f'  mutations:\n  - gang: {{name: gang.name}}\n    reason: "{said}"'))
    document = job_pod(uid="a-job-with-a-long-uid-0123456789")

    (warning,) = mutate(decode_review(review(document)), known).warnings

    assert len(warning) == MAX_LINE
    assert warning.endswith("member of gang job-a-job-with-a-long-uid-01…")


def test_what_is_remembered_of_a_pod_is_small() -> None:
    known = snapshot(policy("a", "  mutations:\n  - labels: {seen: \"'1'\"}"))
    term = {"matchExpressions": [{"key": "a", "operator": "Exists"}], "junk": "x" * 100_000}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    for resource in ("nvidia.com/gpu", "nvidia.com/mig-" + "1" * 100_000 + "g.5gb"):
        document = gpu_pod(1, affinity={"nodeAffinity": required})
        document["spec"]["containers"] = [gpu_container("a", 1, resource=resource)]
        mutated(document, known)
    assert len(remembered(known)) < 10_000


def test_nothing_is_looked_up_for_a_large_review() -> None:
    """The values that its policies read would be too long in the end, and to copy them takes as long as a policy."""
    checks = "[{expression: \"object.spec.containers.all(c, c.image != 'x')\"}]"
    known = snapshot(policy("a", f"  validationActions: [Warn]\n  validations: {checks}\n"))
    remembered_after = []
    for image, padding in (("a", 0), ("b", 200_000), ("c", 0)):
        document = gpu_pod(1, annotations={"padding": "x" * padding})
        document["spec"]["containers"][0]["image"] = image
        text = json.dumps(review(document))
        validate(decode_review(json.loads(text), len(text)), known)
        remembered_after.append(len(known.recall))
    first, large, small = remembered_after
    assert first == large < small


def test_what_one_pod_alone_wants_does_not_drive_out_what_others_share() -> None:
    recall = Recall()
    asked: list[int] = []

    def wanted(key: int) -> int:
        def ask() -> int:
            asked.append(key)
            return key

        return recall.answer(key, ask)

    assert [wanted(0), wanted(0)] == [0, 0]
    for key in range(1, 10_000):
        wanted(key)
    at_rest = len(recall)
    for key in range(10_000, 20_000):
        wanted(key)
    assert wanted(0) == 0
    assert asked == list(range(20_000))
    assert len(recall) == at_rest < 1000


def test_what_is_remembered_is_bounded_also_where_all_is_wanted_again() -> None:
    recall = Recall()
    for key in range(20_000):
        for _ in range(2):
            recall.answer(key, lambda: None)
    assert len(recall) < 5000


def test_a_role_that_is_too_long_is_not_remembered() -> None:
    known = snapshot(policy("a", "  scope: All\n  mutations:\n  - labels: {seen: string(gang.role.size())}"))
    said = {"volcano.sh/job-name": "mpi", "volcano.sh/task-spec": "x" * 100_000}
    assert mutated(gpu_pod(1, annotations=said), known)["metadata"]["labels"]["seen"] == "100000"
    assert len(remembered(known)) < 10_000


def test_another_topology_keeps_the_plans_and_forgets_the_answers() -> None:
    known = snapshot(
        policy("a", "  mutations:\n  - annotations: {seen: string(topology.nodes(gpu).count)}"),
        objects=cluster(l4_1=2),
    )
    assert mutated(gpu_pod(), known)["metadata"]["annotations"]["seen"] == "2"
    smaller = known.with_topology(known.topology.update((), ["l4-1-0"]))
    assert (len(known.recall) > 0, len(smaller.recall)) == (True, 0)
    assert mutated(gpu_pod(), smaller)["metadata"]["annotations"]["seen"] == "1"
    assert smaller.plans is known.plans
    assert smaller.policies is known.policies


@pytest.mark.parametrize(
    ("reads", "tree"),
    [
        ([("gpu", "count")], ()),
        ([("object", "spec", "nodeName")], (("spec", (("nodeName", None),)),)),
        ([("object", "spec", "containers", "")], (("spec", (("containers", (("", None),)),)),)),
        (
            [("object", "spec", "containers", "*", ""), ("object", "spec", "containers", "*", "image")],
            (("spec", (("containers", (("*", (("", None), ("image", None))),)),)),),
        ),
        ([("object", "metadata")], None),
        ([("object", "spec", "nodeName"), ("object",)], None),
    ],
)
def test_the_paths_that_are_read_of_the_pod(reads: list[tuple[str, ...]], tree: object) -> None:
    assert read_of_pod(reads) == tree
