"""Policies of a namespace, whatever they say, only tighten: they weaken and change nothing that the cluster decides."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from builders import gpu_pod, review
from podberth.admission import decide
from podberth.admission.outcome import Outcome
from podberth.admission.review import AdmissionRequest, decode_review
from podberth.admission.snapshot import Snapshot
from podberth.policy.namespaced import by_namespace, compile_namespaced
from podberth.policy.parse import parse_policies
from snapshots import environment, policy, snapshot
from tenants import limits, own_policy

EXPRESSIONS = (
    "true",
    "false",
    "gpu.count <= 2",
    "gpu.count > 2",
    "object.metadata.labels['none'] == 'x'",
    "has(object.metadata.labels) && 'team' in object.metadata.labels",
    "object.spec.containers.all(c, c.name != 'main')",
    "namespaceObject.metadata.name == 'vision'",
    "request.namespace == 'other'",
    "int('x' + string(gpu.count)) > 1",
)
"""True, false and failing ones, over each name that they may read."""
ACTIONS = ("[Deny]", "[Warn]")
FAILURES = ("Fail", "Ignore")
OBJECTS = [
    *(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"tier": name}}}
        for name in ("vision", "other")
    ),
    limits("vision", most="2"),
]

validation = st.fixed_dictionaries(
    {
        "expression": st.sampled_from(EXPRESSIONS),
        "actions": st.sampled_from(ACTIONS),
        "failure_policy": st.sampled_from(FAILURES),
    }
)
own = st.fixed_dictionaries(
    {"params": st.sampled_from(("", "limits", "absent")), "validation": validation, "namespace": st.just("vision")}
)
pods = st.builds(gpu_pod, st.integers(0, 9), labels=st.sampled_from(({}, {"team": "a"}, {"team": "b", "none": "x"})))


def of_cluster(each: dict[str, str], at: int) -> str:
    return policy(
        f"c{at}",
        f'  failurePolicy: {each["failure_policy"]}\n  validations: [{{expression: "{each["expression"]}"}}]\n'
        f"  validationActions: {each['actions']}\n",
        order=at,
    )


def of_namespace(each: dict[str, Any], at: int) -> str:
    fields = dict(each["validation"])
    return own_policy(each["namespace"], f"n{at}", fields.pop("expression"), params=each["params"], **fields)


def with_own(state: Snapshot, texts: list[str]) -> Snapshot:
    parsed = parse_policies([("own.yaml", "---\n".join(texts))]) if texts else parse_policies([])
    assert parsed.problems == ()
    compiled, problems = compile_namespaced(parsed.namespaced, environment())
    assert problems == ()
    return state.with_namespaced(by_namespace(compiled))


def judged(request: AdmissionRequest, state: Snapshot) -> Outcome:
    return decide.validate(request, state)


@given(
    cluster=st.lists(validation, max_size=3),
    namespace=st.lists(own, max_size=4),
    pod=pods,
    excess=st.booleans(),
)
def test_it_only_tightens(
    cluster: list[dict[str, str]], namespace: list[dict[str, Any]], pod: dict[str, Any], excess: bool
) -> None:
    texts = [*(of_cluster(each, at) for at, each in enumerate(cluster)), LABELS]
    plain = snapshot(*texts, objects=OBJECTS)
    tight = with_own(plain, [of_namespace(each, at) for at, each in enumerate(namespace)])
    if excess:
        pod["spec"]["tolerations"] = [{"key": str(at), "operator": "Exists"} for at in range(1_001)]
    inside, outside = (decode_review(review(pod, namespace=name)) for name in ("vision", "other"))
    # Twice: what is remembered is as what is asked.
    for _ in range(2):
        before, after = judged(inside, plain), judged(inside, tight)
        # What is denied stays denied, for the same reason first and with the same words first.
        if before.verdict == "denied":
            assert after.verdict == "denied"
            assert after.denial.startswith(before.denial)
            first, second = (each.response["response"]["status"] for each in (before, after))
            assert (first["reason"], first["code"]) == (second["reason"], second["code"])
        # Every decision and every warning of the cluster's policies is there, in its place.
        assert after.decisions[: len(before.decisions)] == before.decisions
        assert after.warnings[: len(before.warnings)] == before.warnings
        assert all(each.policy.startswith("vision/") for each in after.decisions[len(before.decisions) :])
        assert {each.action for each in after.decisions[len(before.decisions) :]} <= {"deny", "warn", "error"}
        audits = [each.response["response"].get("auditAnnotations") for each in (before, after)]
        assert audits[0] == audits[1]
        # Nothing is written, and nothing is said elsewhere, otherwise than without it.
        assert decide.mutate(inside, tight).response == decide.mutate(inside, plain).response
        assert judged(outside, tight).response == judged(outside, plain).response


LABELS = policy("labels", "  failurePolicy: Ignore\n  mutations:\n  - {labels: {made: \"'x'\"}}", order=50)
