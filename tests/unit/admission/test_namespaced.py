"""Policies of namespaces tighten what the cluster's policies say in their own namespace, and change nothing else."""

import gc
import json
import weakref
from collections.abc import Iterable
from string import ascii_lowercase
from typing import Any

import pytest

from builders import gpu_pod, review, template, workload, workload_review
from calls import calls
from podberth.admission import decide
from podberth.admission.outcome import Outcome
from podberth.admission.review import decode_review
from podberth.admission.snapshot import Snapshot
from podberth.admission.workload import validate_workload
from podberth.cel.engine import Environment
from podberth.kube.schema import PodSchema
from podberth.policy.evaluate import Evaluation
from podberth.policy.namespaced import MOST_MICROSECONDS, MOST_OF_NAMESPACE, by_namespace, compile_namespaced
from podberth.policy.parse import ParsedPolicies, parse_policies
from snapshots import environment, policy, snapshot
from tenants import limits, own_policy

CLUSTER = policy(
    "few", "  validations:\n  - {expression: gpu.count < 8, message: too many}\n  validationActions: [Deny]"
)


def parsed(*texts: str) -> ParsedPolicies:
    found = parse_policies([("own.yaml", "---\n".join(texts))])
    assert found.problems == ()
    return found


def tightened(*texts: str, cluster: str = CLUSTER, apart: bool = False, objects: Any = ()) -> Snapshot:
    """Return a snapshot with the policies of namespaces, compiled in an Environment of their own if ``apart``."""
    made = Environment(PodSchema.packaged()) if apart else environment()
    policies, problems = compile_namespaced(parsed(*texts).namespaced, made)
    assert problems == ()
    return snapshot(cluster, objects=objects).with_namespaced(by_namespace(policies))


def judged(state: Snapshot, namespace: str = "vision", gpus: int = 4, **fields: Any) -> Outcome:
    return decide.validate(decode_review(review(gpu_pod(gpus, **fields), namespace=namespace)), state)


@pytest.mark.parametrize("apart", [False, True], ids=["together", "apart"])
def test_it_denies_in_its_own_namespace_and_in_no_other(*, apart: bool) -> None:
    state = tightened(own_policy("vision", "two", "gpu.count <= 2"), apart=apart)
    for _ in range(3):  # what is remembered is as what is asked
        assert judged(state).denial == "podberth vision/two: failed expression: gpu.count <= 2"
        assert judged(state, "other").verdict == "allowed"
        assert judged(state, gpus=1).verdict == "allowed"


def test_it_warns_without_denying() -> None:
    outcome = judged(tightened(own_policy("vision", "two", "gpu.count <= 2", actions="[Warn]")))
    assert (outcome.verdict, outcome.warnings) == (
        "allowed",
        ("podberth vision/two: failed expression: gpu.count <= 2",),
    )


def test_what_the_cluster_denies_stays_denied_with_the_clusters_reason_first() -> None:
    cluster = CLUSTER.replace("message: too many", "message: too many, reason: Forbidden")
    for own in ("true", "false", "object.metadata.labels['none'] == ''"):
        outcome = judged(tightened(own_policy("vision", "own", own), cluster=cluster), gpus=8)
        assert outcome.denial.splitlines()[0] == "podberth few: too many"
        assert outcome.response["response"]["status"]["reason"] == "Forbidden"


LONG = "  validations:\n" + "".join(f"  - {{expression: 'false', message: '{at}{'y' * 240}'}}\n" for at in range(8))


@pytest.mark.parametrize("action", ["Deny", "Warn"])
def test_texts_of_a_namespace_take_no_room_from_the_clusters(action: str) -> None:
    """The cluster's eight lines fill 2,040 of the 2,048 characters."""
    cluster = policy("few", f"{LONG}  validationActions: [{action}]")
    own = [own_policy("vision", f"p{at}", "false", actions=f"[{action}]") for at in range(MOST_OF_NAMESPACE)]
    request = decode_review(review(gpu_pod(), namespace="vision"))
    alone, together = (decide.validate(request, each) for each in (snapshot(cluster), tightened(*own, cluster=cluster)))
    assert len(alone.denial.splitlines() or alone.warnings) == 8
    assert (together.denial, together.warnings) == (alone.denial, alone.warnings)


def test_texts_of_a_namespace_take_no_room_from_the_clusters_where_a_workload_is_applied() -> None:
    cluster = policy("few", f"{LONG}  validationActions: [Warn]")
    own = [own_policy("vision", f"p{at}", "false") for at in range(MOST_OF_NAMESPACE)]
    job = workload("batch/v1", "Job", {"template": template(gpu_pod())})
    job["metadata"]["namespace"] = "vision"
    request = decode_review(workload_review(job, "jobs", namespace="vision"))
    assert request.namespace == "vision"
    alone, together = (
        validate_workload(request, each) for each in (snapshot(cluster), tightened(*own, cluster=cluster))
    )
    assert len(alone.warnings) == 8
    assert together.warnings == alone.warnings
    assert (
        validate_workload(request, tightened(*own)).warnings[0].startswith("podberth vision/p0: pods of this workload")
    )


def test_mutations_are_as_without_it() -> None:
    cluster = policy("label", "  mutations:\n  - {labels: {made: \"'x'\"}}")
    request = decode_review(review(gpu_pod(), namespace="vision"))
    with_own = tightened(own_policy("vision", "own", "false"), cluster=cluster)
    assert decide.mutate(request, with_own).patch == decide.mutate(request, snapshot(cluster)).patch


def test_it_reads_the_params_of_its_own_namespace() -> None:
    state = tightened(
        own_policy("vision", "own", "gpu.count <= int(params.data.most)", params="limits"),
        own_policy("other", "own", "gpu.count <= int(params.data.most)", params="limits"),
        objects=[limits("vision", most="2"), limits("other", most="8")],
    )
    assert judged(state).verdict == "denied"
    assert judged(state, "other").verdict == "allowed"


def test_a_change_of_one_namespaces_policies_makes_nobody_elses_be_asked_again() -> None:
    state = tightened(own_policy("vision", "two", "gpu.count <= 2"), own_policy("other", "two", "gpu.count <= 2"))
    for _ in range(3):
        judged(state, gpus=1)
        judged(state, "other", gpus=1)
    changed, _ = compile_namespaced(parsed(own_policy("vision", "two", "gpu.count <= 1")).namespaced, environment())
    later = state.with_namespaced({**state.namespaced, **by_namespace(changed)})
    assert judged(later, gpus=2).verdict == "denied"
    judged(later, "other", gpus=1)
    counted = calls(lambda: [judged(later, namespace, gpus=1) for namespace in ("third", "fourth")])
    assert counted[Evaluation.failures.__code__] == 0


def labelled(state: Snapshot, values: Iterable[object], namespace: str = "vision") -> None:
    """Judge a pod twice for each value of its label, so that every answer is kept that may be."""
    for value in values:
        for _ in range(2):
            judged(state, namespace, labels={"n": str(value)})


BY_LABEL = "object.metadata.labels[?'n'].orValue('') == 'x'"


def test_what_is_remembered_for_one_namespace_is_few_answers_of_short_texts() -> None:
    expression = f"variables.big + {BY_LABEL.removesuffix(' == ' + repr('x'))}"
    long = own_policy("vision", "long", BY_LABEL) + f"  variables: [{{name: big, expression: \"'{'y' * 4_500}'\"}}]\n"
    long = long.replace("}]\n  validationActions", f', messageExpression: "{expression}"}}]\n  validationActions')
    for text, low, high in ((long, 1, 100), (own_policy("vision", "short", BY_LABEL), 100, 320)):
        state = tightened(text)
        labelled(state, range(200))
        own = state.of_namespace("vision")
        assert own is not None
        assert low <= len(own.recall) <= high


def test_what_is_remembered_for_all_namespaces_is_that_of_a_few() -> None:
    names = [f"n{at}" for at in range(40)]
    state = tightened(*(own_policy(name, "own", BY_LABEL) for name in names))
    for name in names:
        labelled(state, ["x"], name)
    assert len(state._own) == 32
    assert judged(state, "n0", labels={"n": "y"}).verdict == "denied"


def test_nothing_is_kept_of_policies_that_are_gone() -> None:
    state = tightened(own_policy("vision", "own", "true"))
    judged(state)
    kept = weakref.ref(state.namespaced["vision"][0])
    state = state.with_namespaced({})
    gc.collect()
    assert kept() is None


def refusals(text: str) -> str:
    found = parse_policies([("own.yaml", text)])
    if found.problems:
        return "\n".join(map(str, found.problems))
    return "\n".join(map(str, compile_namespaced(found.namespaced, environment())[1]))


GOOD = json.loads(json.dumps({"validations": [{"expression": "true"}], "validationActions": ["Deny"]}))
REFUSED = {
    "mutations": ({"mutations": [{"labels": {"a": "'b'"}}]}, "unknown field 'mutations'"),
    "claims": ({"claimTemplates": []}, "unknown field 'claimTemplates'"),
    "annotations": ({"auditAnnotations": []}, "unknown field 'auditAnnotations'"),
    "an order": ({"order": 1}, "unknown field 'order'"),
    "a rollout": ({"rollout": {"percent": 1}}, "unknown field 'rollout'"),
    "audit": ({"validationActions": ["Audit"]}, "validationActions"),
    "other namespaces": ({"matchConstraints": {"namespaceSelector": {}}}, "unknown field 'namespaceSelector'"),
    "params elsewhere": (
        {
            "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
            "paramRef": {"name": "a", "namespace": "b", "parameterNotFoundAction": "Allow"},
        },
        "unknown field 'namespace'",
    ),
    "nodes": ({"validations": [{"expression": "topology.known"}]}, "topology"),
    "profiles": ({"validations": [{"expression": "mig.smallest(1).exist"}]}, "mig"),
    "no validation": ({"validations": []}, "validations"),
}


@pytest.mark.parametrize(("spec", "message"), REFUSED.values(), ids=REFUSED)
def test_what_could_weaken_or_see_more_is_refused(spec: dict[str, Any], message: str) -> None:
    document = {
        "apiVersion": "podberth.io/v1alpha1",
        "kind": "NamespacedGPUPolicy",
        "metadata": {"name": "own", "namespace": "vision"},
        "spec": {**GOOD, **spec},
    }
    assert message in refusals(json.dumps(document))


def test_it_needs_a_namespace() -> None:
    assert "the field 'namespace' is required" in refusals(
        own_policy("vision", "own", "true").replace(", namespace: vision", "")
    )


def test_the_oldest_policies_of_a_namespace_have_room_first() -> None:
    texts = [own_policy("vision", f"p{at:02}", "true") for at in range(MOST_OF_NAMESPACE + 1)]
    said = refusals("---\n".join(texts))
    assert said.startswith("own.yaml:")
    assert "spec: got more than 16 policies in namespace vision, of which the oldest count" in said
    assert refusals("---\n".join([*texts[:-1], own_policy("other", "p", "true")])) == ""


WALK = "object.spec.containers.all(c, !has(c.env) || c.env.all(e, e.name != object.metadata.name + 'x'))"


def test_the_policies_of_a_namespace_together_leave_the_clusters_their_part_of_a_review() -> None:
    texts = [own_policy("vision", f"p{at}", WALK) for at in range(MOST_OF_NAMESPACE)]
    said = refusals("---\n".join(texts))
    assert "ms of older policies of namespace vision; want 27 ms for all of a namespace" in said


def test_a_pod_that_is_converted_again_counts() -> None:
    """Four policies with params convert the pod four times, which costs 22 ms; without params once is enough."""
    reads = "object.metadata.name != 'x'"
    for count, params, fits in ((4, "limits", True), (5, "limits", False), (MOST_OF_NAMESPACE, "", True)):
        texts = [own_policy("vision", f"p{at}", reads, params=params) for at in range(count)]
        assert (refusals("---\n".join(texts)) == "") == fits
    [once], _ = compile_namespaced(parsed(own_policy("vision", "p", reads)).namespaced, environment())
    assert once.cost_with_params > 5_000 > once.cost_microseconds


def test_expressions_cost_something_besides_their_price() -> None:
    """A namespace's expressions are loaded in its first review, and a thousand of them take a while to be evaluated."""
    [one], _ = compile_namespaced(parsed(own_policy("vision", "p", "true")).namespaced, environment())
    assert (one.expression_count, one.cost_microseconds < 1) == (1, True)
    validations = json.dumps([{"expression": "true"}] * 64)
    texts = [own_policy("vision", f"p{at}", WALK) for at in range(2)]
    many = [own_policy("vision", f"q{at}", "true").replace('[{expression: "true"}]', validations) for at in range(10)]
    assert refusals("---\n".join(texts)) == refusals("---\n".join(many)) == ""
    assert "want 27 ms for all of a namespace" in refusals("---\n".join([*texts, *many]))


ANNOTATION = "object.metadata.?annotations[?'a'].orValue('')"


def searching(words: Iterable[str]) -> str:
    """Return the refusal of a policy that searches an annotation of the pod for each of these words."""
    validations = json.dumps([{"expression": f"!{ANNOTATION}.contains('{word}')"} for word in words])
    return refusals(own_policy("vision", "p", "true").replace('[{expression: "true"}]', validations))


def test_searches_count_with_the_text_in_which_they_begin_to_compare_everywhere() -> None:
    """26 searches for words with one first letter take 50 ms in an annotation that has only this letter."""
    assert "want 27 ms for all of a namespace" in searching(f"a{letter}" for letter in ascii_lowercase)
    assert searching(f"{letter}a" for letter in ascii_lowercase) == ""


def test_a_search_in_a_text_of_unknown_type_counts_alike() -> None:
    searches = " && ".join(f"!dyn({ANNOTATION}).contains('a{letter}')" for letter in ascii_lowercase)
    assert "want 27 ms for all of a namespace" in refusals(own_policy("vision", "p", searches))


@pytest.mark.parametrize(
    ("expression", "fits"),
    [
        # In a loop over literals, those with one first letter count.
        (f"['ab', 'cd', 'ef', 'gh', 'ij', 'kl', 'mn', 'op'].exists(w, {ANNOTATION}.contains(w))", True),
        (f"['ab', 'ac', 'ad', 'ae', 'af', 'ag', 'ah'].exists(w, {ANNOTATION}.contains(w))", True),
        (f"lists.range(14).exists(i, {ANNOTATION}.contains('ab'))", False),
        # What is searched is not known, or the text is made for it.
        (f"{list('abcdefghijklmn')}.exists(w, {ANNOTATION}.contains(w + 'z'))", False),
        (f"{list('abcdefghijklmn')}.exists(w, ({ANNOTATION} + w).contains(w))", False),
        (f"{list('abcdefghijklmn')}.exists(w, {ANNOTATION}.contains(w))", True),
    ],
)
def test_a_search_in_a_loop_counts_by_what_is_known_of_it(expression: str, *, fits: bool) -> None:
    said = refusals(own_policy("vision", "p", f"!{expression}"))
    assert (said == "") == fits, said


def test_searches_in_texts_of_limited_length_count_one_by_one() -> None:
    """Each of these texts may have only the letter that is searched there, and all of them are in one pod."""
    texts = ", ".join(f"object.spec.containers[0].env[{at}].value" for at in range(3))
    searches = " || ".join(f"t.contains('{letter}a')" for letter in ascii_lowercase)
    loop = f"![{texts}].exists(t, t.size() <= 100000 && ({searches}))"
    assert "want 27 ms for all of a namespace" in refusals(own_policy("vision", "p", loop))


def test_a_condition_counts_twice_because_it_may_fail() -> None:
    [one], _ = compile_namespaced(parsed(own_policy("vision", "p", WALK)).namespaced, environment())
    fitting = int((MOST_MICROSECONDS - one.cost_with_params) // one.cost_microseconds) + 1
    conditions = [{"name": f"c{at}", "expression": WALK} for at in range(fitting)]
    assert "want 27 ms for all of a namespace" in refusals(
        own_policy("vision", "p", "true") + f"  matchConditions: {json.dumps(conditions)}\n"
    )
