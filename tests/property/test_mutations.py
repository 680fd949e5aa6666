"""Whatever a policy writes, twice changes nothing: one policy of each concern alone, and two after one another."""

import json
from functools import cache
from itertools import product
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from builders import gpu_container, pod, review, sidecar
from podberth.admission import decide
from podberth.admission.outcome import Outcome
from podberth.admission.review import decode_review
from podberth.admission.snapshot import Snapshot
from podberth.kube.patch import Draft, apply
from podberth.mutation import record
from podberth.mutation.membership import MEMBERSHIP, REFERENCES
from podberth.mutation.pipeline import ANYTHING
from podberth.mutation.seal import Sealer
from podberth.workload.systems import BY_NAME, JOINED
from records import annotation_of, arrived, claims_of, with_annotation, with_record, without_record
from snapshots import policy, snapshot

GPU, SLICE = "'nvidia.com/gpu'", "'nvidia.com/mig-1g.5gb'"
REWRITE = f"[{{'container': 'main', 'from': {GPU}, 'to': {SLICE}, 'quantity': 1}}]"
EVICTED = "[{'key': 'a', 'operator': 'Exists', 'effect': 'NoExecute', 'tolerationSeconds': 300}]"
TERMS = "[{'matchExpressions': [{'key': 'x', 'operator': 'In', 'values': ['1', '2']}]}]"
# Of each concern several that get in each other's way; those that cannot be asked twice are among them.
MUTATIONS: tuple[dict[str, Any], ...] = (
    {"labels": {"a": "'1'"}},
    {"labels": {"a": "gpu.kind"}},
    {"env": {"A": "'1'", "B": "string(gpu.count)"}},
    {"env": {"A": "'2'"}},
    {"schedulerName": "'one'"},
    {"schedulerName": "'two'"},
    {"priorityClassName": "'one'"},
    {"runtimeClassName": "'nvidia'"},
    {"tolerations": "[{'key': 'a', 'operator': 'Exists'}]"},
    {"resourceClaims": "[{'name': 'c', 'template': 't', 'containers': ['main'], 'requests': ['x']}]"},
    {"resourceClaims": "[{'name': 'c', 'template': 'u'}]"},
    {"tolerations": EVICTED},
    {"tolerations": EVICTED.replace("300", "60")},
    {"tolerations": EVICTED.replace("'Exists'", "'Equal', 'value': 'x'").replace("300", "9")},
    {"gang": {"name": "'g'"}},
    {"gang": {"name": "'h'", "size": "4"}},
    {"gang": {"name": "'g'", "size": "8"}},
    {"gang": {"name": "'g'", "size": "4", "system": "'native'"}},
    {"gang": {"name": "'g'", "size": "4", "system": "'coscheduling'"}},
    {"gang": {"name": "'own'", "size": "4", "system": "'koordinator'"}},
    {"labels": {"podberth.io/gang": "'i'"}},
    {"topology": {"level": "'rack'", "mode": "required"}},
    {"topology": {"level": "'zone'", "mode": "preferred"}},
    {"topology": {"level": "'rack'", "mode": "required", "slice": "2"}},
    {"topology": {"level": "'rack'", "mode": "preferred", "slice": "4"}},
    {"resources": REWRITE},
    {"resources": REWRITE.replace("'quantity': 1", "'quantity': 2")},
    {"resources": REWRITE.replace("1g.5gb", "2g.10gb").replace("/gpu", "/mig-1g.5gb")},
    {"resources": f"gpu.requests.map(r, {REWRITE[1:-1].replace('1g.5gb', '3g.20gb').replace(GPU, 'r.resource')})"},
    {"nodeSelector": {"x": "'2'", "y": "'1'"}},
    {"nodeSelector": {"x": "string(gpu.count)"}},
    {"nodeAffinity": {"required": TERMS}},
    {"nodeAffinity": {"required": TERMS.replace("'1', ", "'3', ")}},
    {"nodeAffinity": {"required": TERMS.replace("'1', ", "")}},
    {"nodeAffinity": {"preferred": TERMS.replace("In", "NotIn"), "weight": 5}},
    {"applyConfiguration": "{'spec': {'priorityClassName': 'two', 'hostAliases': [{'ip': '::1'}]}}"},
    {"applyConfiguration": "{'spec': {'containers': [{'name': 'main', 'env': [{'name': 'A', 'value': '3'}]}]}}"},
    {"applyConfiguration": "{'metadata': {'labels': {'a': object.metadata.?labels[?'a'].orValue('') + 'x'}}}"},
    {"jsonPatch": "[{'op': 'add', 'path': '/spec/tolerations/-', 'value': {'key': 'b'}}]"},
    {"jsonPatch": "[{'op': 'test', 'path': '/spec/hostname'}, {'op': 'add', 'path': '/spec/hostname', 'value': 'h'}]"},
    {"jsonPatch": "[{'op': 'replace', 'path': '/spec/containers/0/env', 'value': [{'name': 'C', 'value': '1'}]}]"},
    {"jsonPatch": "[{'op': 'replace', 'path': '/spec/schedulerName', 'value': 'three'}]"},
    {"jsonPatch": "[{'op': 'move', 'from': '/spec/hostname', 'path': '/spec/subdomain'}]"},
    {"jsonPatch": "[{'op': 'remove', 'path': '/spec/tolerations/0'}]"},
    {"jsonPatch": "[{'op': 'add', 'path': '/metadata/labels', 'value': {'podberth.io/gang': 'j'}}]"},
    {"jsonPatch": f"[{{'op': 'add', 'path': '/spec/containers/0/resources/limits', 'value': {{{SLICE}: '3'}}}}]"},
)
JOINING = {word for word, path in MEMBERSHIP.items() if path in REFERENCES.values()}
"""What a record says about a membership in a PodGroup, beside the gang's label and size."""
LEFT_OUT_OF_GROUPS = {"schedulerName", "nodeSelector", "nodeAffinity"}
SERVED = [
    {
        "apiVersion": "v1",
        "kind": "APIResourceList",
        "groupVersion": f"{row.pod_groups}/v1beta1",
        "resources": [{"name": "podgroups"}],
    }
    for row in JOINED.values()
]
# Those whose claims hold whatever is added beside them.
NAMED = [number for number, mutation in enumerate(MUTATIONS) if mutation.keys().isdisjoint(ANYTHING)]


@cache
def known(numbers: tuple[int, ...]) -> Snapshot:
    texts = [
        policy(f"p{order}", f"  failurePolicy: Ignore\n  mutations: [{json.dumps(MUTATIONS[number])}]", order=order)
        for order, number in enumerate(numbers)
    ]
    return snapshot(*texts, objects=SERVED)


@st.composite
def pods(draw: st.DrawFn) -> dict[str, Any]:
    env = [{"name": name, "value": "own"} for name in draw(st.lists(st.sampled_from("ABC"), unique=True))]
    fields: dict[str, Any] = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "schedulerName": st.sampled_from(["default-scheduler", "own"]),
                "priorityClassName": st.just("own"),
                "hostname": st.just("own"),
                "tolerations": st.just([{"key": "own"}, {"key": "a", "operator": "Exists"}]),
                "resourceClaims": st.just([{"name": "c", "resourceClaimName": "own"}]),
            },
        )
    )
    labels = draw(
        st.sampled_from(
            [
                None,
                {},
                {"a": "own"},
                {"podberth.io/gang": "own"},
                {"podberth.io/gang": "own", "podberth.io/gang-slice": "0"},
                {"kueue.x-k8s.io/queue-name": "q"},
            ]
        )
    )
    return pod(gpu_container("main", env=env), gpu_container("side"), init=[sidecar()], labels=labels, **fields)


def mutate(document: dict[str, Any], of: Snapshot) -> Outcome:
    return decide.mutate(decode_review(review(document)), of)


@given(pods(), st.integers(0, len(MUTATIONS) - 1))
def test_one_policy_applied_twice_changes_nothing(document: dict[str, Any], number: int) -> None:
    once = apply(document, mutate(document, known((number,))).patch)

    assert mutate(once, known((number,))).patch == []


@given(pods(), st.sampled_from(NAMED), st.integers(0, len(MUTATIONS) - 1))
def test_what_the_first_of_two_policies_wrote_the_second_does_not_undo(
    document: dict[str, Any], first: int, second: int
) -> None:
    alone = apply(document, mutate(document, known((first,))).patch)
    both = apply(document, mutate(document, known((first, second))).patch)

    assert record.held(Draft(both), claims_of(alone)) == claims_of(alone)


# A gang's label that comes behind the policy that goes by it.
@example(pod(gpu_container("main"), gpu_container("side")), 21, 20)
@given(pods(), st.sampled_from(NAMED), st.sampled_from(NAMED))
def test_two_policies_applied_twice_change_nothing(document: dict[str, Any], first: int, second: int) -> None:
    once = apply(document, mutate(document, known((first, second))).patch)

    assert mutate(once, known((first, second))).patch == []


# Another size of the native group that the first policy joined, another scheduler, and nodes.
@example(pod(gpu_container("main"), gpu_container("side")), 17, 16)
@example(pod(gpu_container("main"), gpu_container("side")), 17, 4)
@example(pod(gpu_container("main"), gpu_container("side")), 17, 29)
@example(pod(gpu_container("main"), gpu_container("side")), 17, 31)
@given(pods(), st.sampled_from(NAMED), st.integers(0, len(MUTATIONS) - 1))
def test_what_the_second_policy_would_write_is_there_or_the_user_gets_a_warning(
    document: dict[str, Any], first: int, second: int
) -> None:
    wanted = claims_of(apply(document, mutate(document, known((second,))).patch)).get("p0", {})
    both = mutate(document, known((first, second)))
    after = apply(document, both.patch)

    assert both.verdict != "denied"
    left_out = LEFT_OUT_OF_GROUPS & wanted.keys()
    if BY_NAME["coscheduling"].reference[-1] in after["metadata"].get("labels", {}):
        left_out -= {"schedulerName"}  # any scheduler may have this plugin
    if left_out and JOINING.intersection(claims_of(after).get("p0", {}).get("gang", ())):
        # docs/policy.md, "Groups come first": they are left out of a pod that is in a group, without a warning.
        for each in left_out:
            field = {"nodeAffinity": "affinity"}.get(each, each)
            assert after["spec"].get(field) == document["spec"].get(field)
        return
    there = record.held(Draft(after), {"p1": wanted})
    assert not wanted or there or any(each.policy == "p1" for each in both.decisions)


CLUSTER, ANOTHER = Sealer.of(b"this cluster's"), Sealer.of(b"another's")


def bearers(document: dict[str, Any], claims: dict[str, Any], wrote: str) -> list[dict[str, Any]]:
    """Return the pod with claims of somebody's: without a seal, with a false one, with one for another, sent again."""
    text = json.dumps(claims)
    edited = {**claims, "p1": {"labels": {"a": "own"}}}
    elsewhere = with_record(document, claims, CLUSTER, namespace="elsewhere")
    namesake = with_record({**document, "metadata": {**document["metadata"], "name": "other"}}, claims, CLUSTER)
    return [
        with_annotation(document, text),
        with_annotation(document, wrote),
        with_record(document, claims, ANOTHER),
        elsewhere,
        with_annotation(document, annotation_of(namesake)),
        with_annotation(document, json.dumps({**edited, "=": annotation_of(elsewhere)[-24:-2]})),
        with_record(document, claims, CLUSTER),
    ]


# Each with those of its concern, and with what can write anything.
RIVALS = [
    (one, other)
    for one, other in product(range(len(MUTATIONS)), repeat=2)
    if one != other
    and (MUTATIONS[one].keys() & MUTATIONS[other].keys() or not MUTATIONS[one].keys().isdisjoint(ANYTHING))
]


@given(pods(), st.sampled_from(RIVALS), st.sampled_from(["p0", "nobody"]), st.data())
def test_a_record_that_podberth_did_not_write_in_this_request_changes_nothing(
    document: dict[str, Any], rivals: tuple[int, int], name: str, data: st.DataObject
) -> None:
    one, other = rivals
    of = known((one,)).with_sealer(CLUSTER)
    # The pod has what one policy would write, and its record says that another policy wrote it: that is in the way.
    made = apply(document, mutate(document, known((other,)).with_sealer(CLUSTER)).patch)
    bare, claims = without_record(made), {name: claims_of(made).get("p0") or {"labels": {"a": "own"}}}
    forged = arrived(data.draw(st.sampled_from(bearers(bare, claims, annotation_of(made)))))
    plain = without_record(forged)
    got, want = mutate(forged, of), mutate(plain, of)

    assert without_record(apply(forged, got.patch)) == without_record(apply(plain, want.patch))
    assert (got.decisions, got.warnings) == (want.decisions, want.warnings)
