"""explain: each policy, why it applied or not, what its expressions came to and what it wrote."""

from typing import Any

from builders import gpu_pod, review
from podberth.admission.explain import Explanation, PolicyExplained, explain
from podberth.admission.review import decode_review
from snapshots import policy, snapshot

WRITES = policy(
    "writes",
    """
  matchConditions:
  - {name: many, expression: gpu.count > 1}
  variables:
  - {name: team, expression: "'vision'"}
  - {name: unused, expression: gpu.count}
  mutations:
  - {name: team, when: gpu.count < 8, labels: {team: variables.team}}
""",
    order=1,
)
JUDGES = policy(
    "judges",
    "  validations:\n  - {expression: gpu.count < 4, messageExpression: \"'got ' + string(gpu.count)\"}\n"
    "  validationActions: [Deny]",
    order=2,
)


def explained(document: dict[str, Any], *policies: str, **fields: Any) -> Explanation:
    return explain(decode_review(review(document, **fields)), snapshot(*policies))


def asking(found: Explanation, name: str, phase: str = "mutate") -> PolicyExplained:
    (one,) = (
        each for policy in found.policies if policy.policy == name for each in policy.askings if each.phase == phase
    )
    return one


def test_a_policy_that_applies_is_explained_with_its_expressions_its_variables_and_what_it_wrote() -> None:
    found = explained(gpu_pod(2), WRITES)
    one = asking(found, "writes")
    assert (one.matched, one.why, found.verdict) == (True, "", "mutated")
    assert [(each.path, each.answer.value) for each in one.expressions] == [
        ("spec.matchConditions[0].expression", True),
        ("spec.mutations[0].when", True),
        ("spec.mutations[0].labels.team", "vision"),
    ]
    assert [(each.path, each.answer.value) for each in one.variables] == [("variables.team", "vision")]
    assert [(each.mutation, each.patch) for each in one.written] == [
        ("team", [{"op": "add", "path": "/metadata/labels", "value": {"team": "vision"}}])
    ]


def test_a_mutation_that_writes_nothing_says_why() -> None:
    both = policy(
        "both",
        """
  mutations:
  - {name: place, nodeSelector: {nvidia.com/gpu.product: "'H100'"}}
  - {name: team, labels: {team: "'vision'"}}
""",
    )
    queued = gpu_pod(2, labels={"kueue.x-k8s.io/queue-name": "q", "kueue.x-k8s.io/managed": "true", "team": "audio"})
    one = asking(explained(queued, both), "both")
    assert one.left_out == (
        ("place", "kueue places this pod's group"),
        ("team", "the pod has this already, or a value of its own, which stays"),
    )
    assert one.written == ()
    assert asking(explained(gpu_pod(2), both), "both").left_out == ()


def test_a_topology_without_a_gang_says_what_it_lacks() -> None:
    alone = policy(
        "alone", "  mutations:\n  - {name: near, topology: {level: \"'example.com/rack'\", mode: preferred}}\n"
    )
    one = asking(explained(gpu_pod(2), alone), "alone")
    lacked = "the pod has no label podberth.io/gang yet, which a gang entry writes, here or in an earlier policy"
    assert one.left_out == (("near", lacked),)


def test_a_later_policy_sees_the_pod_as_the_earlier_left_it() -> None:
    later = policy(
        "later", "  mutations:\n  - {when: \"object.metadata.labels.team == 'vision'\", labels: {b: \"'1'\"}}", order=9
    )
    one = asking(explained(gpu_pod(2), WRITES, later), "later")
    assert one.expressions[0].tree is not None
    assert [part.answer.value for part in one.expressions[0].tree.parts] == ["vision"]


def test_a_validation_is_explained_with_its_message() -> None:
    found = explained(gpu_pod(4), JUDGES)
    one = asking(found, "judges", "validate")
    assert [each.answer.value for each in one.expressions] == [False, "got 4"]
    assert (found.verdict, found.denial) == ("denied", "podberth judges: got 4")
    assert [(each.action, each.message) for each in one.decisions] == [("deny", "got 4")]


def why(document: dict[str, Any], spec: str, **fields: Any) -> str:
    mutations = "  mutations:\n  - {labels: {a: \"'b'\"}}\n"
    return asking(explained(document, policy("p", f"{spec}\n{mutations}"), **fields), "p").why


def test_why_a_policy_does_not_apply_names_the_field_that_says_so() -> None:
    assert (
        why(gpu_pod(1), "  matchConditions:\n  - {name: many, expression: gpu.count > 1}")
        == "matchConditions many: false"
    )
    assert why(gpu_pod(0), "  description: of GPUs") == "scope: GPU, and the pod asks for no devices"
    assert why(gpu_pod(1), "  rollout: {percent: 0}") == "rollout: this workload is not among the first 0 of 100"
    selector = "  matchConstraints: {objectSelector: {matchLabels: {a: b}}}"
    assert why(gpu_pod(1), selector) == "matchConstraints.objectSelector: label a; got none, want b"
    updates = "{operations: [UPDATE], apiGroups: [''], apiVersions: [v1], resources: [pods]}"
    rules = f"  matchConstraints: {{resourceRules: [{updates}]}}"
    assert why(gpu_pod(1), rules) == "matchConstraints.resourceRules: operation; got CREATE, want UPDATE"
    params = (
        "  paramKind: {apiVersion: v1, kind: ConfigMap}\n"
        "  paramRef: {name: absent, namespace: x, parameterNotFoundAction: Allow}"
    )
    assert why(gpu_pod(1), params) == (
        "paramRef: no ConfigMap absent in namespace x; want one with the label podberth.io/params=true "
        "(parameterNotFoundAction Allow)"
    )


def test_a_condition_that_an_earlier_policy_has_made_false_is_named() -> None:
    free = (
        "  matchConditions:\n  - {name: any, expression: 'true'}\n"
        "  - {name: free, expression: '!has(object.metadata.labels)'}"
    )
    later = policy("later", f"{free}\n  mutations:\n  - {{labels: {{b: \"'c'\"}}}}", order=3)
    document = gpu_pod(2)
    document["metadata"].pop("labels", None)
    assert asking(explained(document, later), "later").matched
    assert asking(explained(document, WRITES, later), "later").why == "matchConditions free: false"


def test_after_a_denial_by_mutate_nobody_else_is_asked() -> None:
    failing = policy("failing", "  mutations:\n  - {labels: {a: string(dyn(gpu).nope)}}", order=1)
    later = policy("later", "  mutations:\n  - {labels: {b: \"'c'\"}}", order=3)
    found = explained(gpu_pod(1), failing, JUDGES, later)
    assert found.verdict == "denied"
    assert found.pod is None
    for name, phase in (("judges", "validate"), ("later", "mutate")):
        assert asking(found, name, phase).why == "not asked: the pod was denied before"
    (one,) = asking(found, "failing").expressions
    assert "no such key" in one.answer.error


def test_one_policy_alone_is_explained_and_all_are_asked() -> None:
    known = snapshot(WRITES, JUDGES)
    found = explain(decode_review(review(gpu_pod(2))), known, policy="judges")
    assert [each.policy for each in found.policies] == ["judges"]
    assert found.verdict == "mutated"


def test_a_policy_that_could_not_be_asked_says_why() -> None:
    broken = "  matchConditions:\n  - {name: odd, expression: dyn(gpu).nope == 1}"
    assert why(gpu_pod(1), broken).startswith("could not be asked: matchConditions odd: ")
    large = gpu_pod(1, annotations={f"a{number}": "b" for number in range(5000)})
    assert why(large, "  description: any").startswith("could not be asked: the pod is too large")
