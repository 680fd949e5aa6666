"""The writes of policies on a predicted pod, carried back to its document: a second pass finds nothing to do."""

import json
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from builders import review
from podberth.admission.decide import mutate_with_writes
from podberth.admission.outcome import Outcome, Written
from podberth.admission.review import decode_review
from podberth.admission.snapshot import Snapshot
from podberth.kube.documents import load_documents
from podberth.kube.patch import apply
from podberth.workload.projection import Projected, place_of, project
from podberth.workload.templates import Template, templates
from snapshots import policy, snapshot

JSON = dict[str, Any]

MANIFESTS = Path(__file__).parents[1] / "manifests"
DOCUMENTS: dict[str, JSON] = {
    file.stem: load_documents(file.read_text(), file.name)[0][0].document for file in sorted(MANIFESTS.glob("*.yaml"))
}

# One of every concern at least. Those that can write anything guard themselves, as they must.
MUTATIONS: tuple[JSON, ...] = (
    {"tolerations": "[{'key': 'nvidia.com/gpu', 'operator': 'Exists', 'effect': 'NoSchedule'}]"},
    {"tolerations": "[{'key': 'node.kubernetes.io/not-ready', 'operator': 'Exists'}]"},
    {
        "nodeAffinity": {
            "preferred": "[{'matchExpressions': [{'key': 'gpu', 'operator': 'In', 'values': ['a']}]}]",
            "weight": 9,
        }
    },
    {"nodeAffinity": {"required": "[{'matchExpressions': [{'key': 'gpu', 'operator': 'Exists'}]}]"}},
    {"nodeSelector": {"gpu": "'a'", "zone": "gpu.kind"}},
    {
        "resources": "gpu.requests.filter(r, r.resource == 'nvidia.com/gpu').map(r, {'container': r.container, "
        "'from': r.resource, 'to': 'nvidia.com/mig-1g.10gb', 'quantity': r.quantity})"
    },
    {"gang": {"name": "gang.name", "size": "gang.size"}, "when": "gang.known"},
    {"topology": {"level": "'topology.kubernetes.io/zone'", "mode": "preferred"}, "when": "gang.known"},
    {"labels": {"team": "'vision'"}},
    {"annotations": {"example.com/kind": "gpu.kind"}},
    {"env": {"NCCL_DEBUG": "'INFO'"}},
    {"schedulerName": "'other'"},
    {"runtimeClassName": "'nvidia'"},
    {"priorityClassName": "'high'"},
    {"resourceClaims": "[{'name': 'channel', 'template': 'imex'}]"},
    {"applyConfiguration": "{'spec': {'dnsPolicy': 'Default', 'volumes': [{'name': 'shm', 'emptyDir': {}}]}}"},
    {"applyConfiguration": "{'metadata': {'labels': {'a': 'b'}}, 'spec': {'securityContext': {'runAsUser': 7}}}"},
    {
        "jsonPatch": "[{'op': 'add', 'path': '/spec/tolerations/0', 'value': {'key': 'first'}}]",
        "when": "object.spec.tolerations[0].?key.orValue('') != 'first'",
    },
    {"jsonPatch": "[{'op': 'replace', 'path': '/spec/terminationGracePeriodSeconds', 'value': 5}]"},
)


@cache
def known(numbers: tuple[int, ...]) -> Snapshot:
    texts = [
        policy(f"p{order}", f"  scope: All\n  mutations: [{json.dumps(MUTATIONS[number])}]", order=order)
        for order, number in enumerate(numbers)
    ]
    return snapshot(*texts)


def found_in(document: JSON) -> list[Template]:
    return templates(document, namespace="default", known=tuple(DOCUMENTS.values()))


@cache
def found_at_first(name: str) -> list[Template]:
    return found_in(DOCUMENTS[name])


def decided(template: Template, of: Snapshot) -> tuple[Outcome, tuple[Written, ...]]:
    return mutate_with_writes(decode_review(review(template.pod)), of.with_owners(template.owners))


def carried(template: Template, outcome: Outcome, written: tuple[Written, ...]) -> tuple[JSON, tuple[Projected, ...]]:
    steps = project(template, [each.patch for each in written], outcome.patch)
    document: Any = template.document
    for step in steps:
        assert not (step.left and step.operations)
        document = apply(document, step.operations)
    return document, steps


TEMPLATES = [(name, index) for name in DOCUMENTS for index in range(len(found_at_first(name)))]


@given(st.sampled_from(TEMPLATES), st.lists(st.integers(0, len(MUTATIONS) - 1), min_size=1, max_size=3, unique=True))
@example(("workspace", 0), [2, 4])
def test_a_second_pass_over_what_was_carried_back_changes_nothing(which: tuple[str, int], numbers: list[int]) -> None:
    check(which, tuple(numbers))


def test_a_second_pass_changes_nothing_for_each_concern_and_template() -> None:
    for which in TEMPLATES:
        for number in range(len(MUTATIONS)):
            check(which, (number,))


def check(which: tuple[str, int], numbers: tuple[int, ...]) -> None:
    name, index = which
    document, of = DOCUMENTS[name], known(numbers)
    before = deepcopy(document)
    first = found_at_first(name)
    template = first[index]
    outcome, written = decided(template, of)
    result, steps = carried(template, outcome, written)
    assert document == before
    # What is left out is left out as a whole, and what is not is there.
    left = {each.policy for each, step in zip(written, steps, strict=False) if step.left}
    again = found_in(result)
    assert [each.path for each in again] == [each.path for each in first]
    assert again[index].problems == ()
    outcome_again, written_again = decided(again[index], of)
    repeated = {each.policy for each in written_again}
    # What one policy wants and has no place may be met by what another wrote: a preferred label that is selected now.
    met = left - repeated if len(numbers) > 1 else set()
    assert repeated == left - met, (which, numbers, written_again, steps)
    if not any(each.left for each in steps):
        assert outcome_again.patch == [], (which, numbers, steps)
    # Nothing else of the document is touched.
    for other, (was, now) in enumerate(zip(first, again, strict=True)):
        if other != index and now.path[:2] != was.path[:1]:
            assert now.own == was.own
    assert {key: result.get(key) for key in ("apiVersion", "kind")} == {
        key: document.get(key) for key in ("apiVersion", "kind")
    }


@given(st.sampled_from(TEMPLATES))
@example(("inference-service", 0))
def test_every_place_of_a_pod_leads_to_one_of_its_document(which: tuple[str, int]) -> None:
    template = found_at_first(which[0])[which[1]]
    for steps in [
        ("spec", "containers", 0, "resources", "limits"),
        ("metadata", "labels", "x"),
        ("spec", "tolerations", 9),
        (),
    ]:
        place = place_of(template, steps)
        found: Any = template.document
        for step in place:
            found = found[step]
        assert place[: len(template.path)] == template.path[: len(place)]
