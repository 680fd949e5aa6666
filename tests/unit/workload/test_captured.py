"""Reviews from a real apiserver (tools/capture_reviews.py): pods are as `present` predicts them, decisions replay."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from podberth.admission import decide
from podberth.admission.outcome import Outcome
from podberth.admission.review import decode_review
from podberth.admission.snapshot import Snapshot
from podberth.admission.workload import validate_workload
from podberth.facts.cluster import collect
from podberth.kube.patch import apply
from podberth.topology.shapes import simulate
from presented import present
from snapshots import library, over

JSON = dict[str, Any]

ROOT = Path(__file__).parents[3]
CAPTURED = sorted((ROOT / "tests" / "captured").glob("*.json"))
DECIDERS = {
    "/mutate": decide.mutate,
    "/validate": decide.validate,
    "/validate-workload": validate_workload,
}
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TOKEN_VOLUME = "kube-api-access-"  # noqa: S105 - a volume's name, no secret


def reviews(file: Path, path: str = "", operation: str = "") -> list[JSON]:
    """Return the reviews of a file that went to `path` for `operation`; empty: all."""
    found = json.loads(file.read_text())
    return [
        each["review"]
        for each in found
        if path in ("", each["path"]) and operation in ("", each["review"]["request"]["operation"])
    ]


ALL = [
    pytest.param(each["path"], each["review"], id=f"{file.stem}-{number}{each['path'].replace('/', '-')}")
    for file in CAPTURED
    for number, each in enumerate(json.loads(file.read_text()))
]


def pairs() -> list[Any]:
    """Return each captured workload with its first pod: only index 0 of a gang is predicted."""
    return [
        pytest.param(workload["request"], pod, id=f"{file.stem}-{workload['request']['kind']['kind']}")
        for file in CAPTURED
        for workload in reviews(file, "/validate-workload", "CREATE")
        for pod in [each["request"]["object"] for each in reviews(file, "/mutate", "CREATE")]
        if pod["metadata"].get("generateName", "").startswith(f"{workload['request']['name']}-")
        and pod["metadata"].get("labels", {}).get("batch.kubernetes.io/job-completion-index", "0") == "0"
    ]


def comparable(pod: JSON) -> JSON:
    """Return a pod without what only the cluster knows: field managers, the token's volume, uids and hashes."""
    labels = pod["metadata"].get("labels", {})
    text = _UUID.sub("<uid>", json.dumps(pod))
    for label in ("pod-template-hash", "controller-revision-hash"):
        if hashed := labels.get(label, "").rpartition("-")[2]:
            text = text.replace(hashed, "<hash>")
    copy: JSON = json.loads(text)
    copy["metadata"].pop("managedFields", None)
    copy["metadata"].get("annotations", {}).pop(_LAST_APPLIED, None)
    if not copy["metadata"].get("annotations", True):
        del copy["metadata"]["annotations"]
    _without_token(copy["spec"], "volumes")
    for container in (*copy["spec"]["containers"], *copy["spec"].get("initContainers", ())):
        _without_token(container, "volumeMounts")
    return copy


def _without_token(holder: JSON, field: str) -> None:
    if field in holder:
        holder[field] = [each for each in holder[field] if not each["name"].startswith(_TOKEN_VOLUME)]
        if not holder[field]:
            del holder[field]


def in_no_order(pod: JSON) -> JSON:
    """Return the pod with its volumes sorted: the StatefulSet controller goes through a map to add them."""
    volumes = sorted(pod["spec"].get("volumes", ()), key=lambda volume: str(volume["name"]))
    return {**pod, "spec": {**pod["spec"], "volumes": volumes}}


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    """Return the shipped policies over a few machines of several shapes."""
    shapes = ("hgx-h100-8", "hgx-h100-8", "a100-pcie-4", "dgx-a100-8-mig-mixed", "l4-1")
    machines = [document for number, shape in enumerate(shapes) for document in simulate(shape, f"node-{number}")]
    return over(library(), collect(machines, now=None))


def test_every_scenario_has_its_reviews() -> None:
    assert len(CAPTURED) >= 13
    assert {param.values[0] for param in ALL} == DECIDERS.keys()


@pytest.mark.parametrize(("workload", "pod"), pairs())
def test_the_predicted_pod_is_the_one_that_came(workload: JSON, pod: JSON) -> None:
    predicted = present(workload["object"], namespace=workload["namespace"]).pod
    assert in_no_order(comparable(predicted)) == in_no_order(comparable(pod))


@pytest.mark.parametrize(("workload", "pod"), pairs())
def test_the_manifest_as_its_user_wrote_it_predicts_the_same(workload: JSON, pod: JSON) -> None:
    written = workload["object"]["metadata"].get("annotations", {}).get(_LAST_APPLIED)
    manifest = json.loads(written) if written else workload["object"]
    predicted = present(manifest, namespace=workload["namespace"]).pod
    assert in_no_order(comparable(predicted)) == in_no_order(comparable(pod))


@pytest.mark.parametrize("file", CAPTURED, ids=lambda file: str(file.stem))
def test_a_bare_pod_is_predicted_as_it_came(file: Path) -> None:
    for review in reviews(file, "/mutate", "CREATE"):
        pod = review["request"]["object"]
        written = pod["metadata"].get("annotations", {}).get(_LAST_APPLIED)
        if written:
            predicted = present(json.loads(written), namespace=pod["metadata"]["namespace"]).pod
            assert comparable(predicted) | {"status": {}} == comparable(pod)


@pytest.mark.parametrize(("path", "review"), ALL)
def test_a_captured_review_is_decided_and_a_second_pass_changes_nothing(
    path: str, review: JSON, snapshot: Snapshot
) -> None:
    outcome = decided(path, review, snapshot)
    assert outcome.response["response"]["uid"] == review["request"]["uid"]
    assert all(decision.action != "error" for decision in outcome.decisions)
    if path == "/mutate":
        mutated = apply(review["request"]["object"], outcome.patch)
        again = decided(path, {**review, "request": {**review["request"], "object": mutated}}, snapshot)
        assert again.patch == []


def test_a_manifest_applied_again_gets_its_toleration_back(snapshot: Snapshot) -> None:
    [update] = reviews(ROOT / "tests" / "captured" / "reapplied-pod.json", "/mutate", "UPDATE")
    restored = apply(update["request"]["object"], decided("/mutate", update, snapshot).patch)
    assert restored["spec"]["tolerations"] == update["request"]["oldObject"]["spec"]["tolerations"]


def decided(path: str, review: JSON, snapshot: Snapshot) -> Outcome:
    return DECIDERS[path](decode_review(review), snapshot)
