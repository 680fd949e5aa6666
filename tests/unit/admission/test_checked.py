"""Too long lists are refused before anything reads them: counted in calls, for creations, updates and judgements."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from builders import deployment, gpu_pod, pod, review, template, workload, workload_review
from calls import calls_of
from podberth.admission import decide
from podberth.admission.checked import PARSED, excess_of
from podberth.admission.outcome import Outcome
from podberth.admission.review import AdmissionRequest, decode_review
from podberth.admission.snapshot import Snapshot
from podberth.admission.workload import validate_workload
from podberth.kube.pod_limits import ENTRIES, GPU_REQUESTS, LARGEST, Bound
from podberth.wellknown import APPLIED_ANNOTATION
from snapshots import policy, snapshot

JSON = dict[str, Any]
POLICIES = (
    policy("writes", "  mutations:\n  - tolerations: \"[{'key': 'a', 'operator': 'Exists'}]\"\n"),
    policy("judges", "  validations:\n  - {expression: 'true', message: wrong}\n  validationActions: [Deny]\n"),
)
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
# Without a look at any entry: a review of an ordinary pod takes about as many.
FEW = 3_000


def containers() -> JSON:
    unreadable = {"limits": {"nvidia.com/gpu": "unreadable"}}
    return gpu_pod() | {"spec": {"containers": [{"name": f"c{at}", "resources": unreadable} for at in range(60_000)]}}


def tolerations() -> JSON:
    return gpu_pod(tolerations=[{"key": f"k{at}", "operator": "Exists"} for at in range(100_000)])


def terms() -> JSON:
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
    return gpu_pod(affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term] * 20_000}}})


def values() -> JSON:
    term = {"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": [f"v{at}" for at in range(150_000)]}]}
    return gpu_pod(affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term]}}})


def expressions() -> JSON:
    term = {"matchExpressions": [{"key": "zone", "operator": "Exists"}] * 34_000}
    return gpu_pod(affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term]}}})


def recorded() -> JSON:
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
    claims = {f"p{at}": {"nodeAffinity": {"required": [term]}} for at in range(150)}
    found = terms()
    found["metadata"]["annotations"] = {APPLIED_ANNOTATION: json.dumps(claims)}
    return found


def misshapen() -> JSON:
    return gpu_pod(tolerations=["none"] * 100_000)


TOO_LONG = (containers, tolerations, terms, values, expressions, recorded, misshapen)


def asked(document: JSON, **more: Any) -> AdmissionRequest:
    given = review(document, operation=more.pop("operation", "CREATE"))
    given["request"] |= more
    return decode_review(given)


def decided(decider: Callable[[AdmissionRequest, Snapshot], Outcome], request: AdmissionRequest) -> Outcome:
    known = snapshot(*POLICIES)
    decider(asked(gpu_pod()), known)
    found: list[Outcome] = []
    assert calls_of(lambda: found.append(decider(request, known))) < FEW
    return found[0]


@pytest.mark.parametrize("make", TOO_LONG)
def test_on_creation_the_list_is_named(make: Callable[[], JSON]) -> None:
    for decider in (decide.mutate, decide.validate):
        outcome = decided(decider, asked(make()))
        assert outcome.verdict == "denied"
        assert "the pod is too large to be decided on: spec." in outcome.denial
        assert "at most" in outcome.denial


@pytest.mark.parametrize("make", TOO_LONG)
@pytest.mark.parametrize("which", ["object", "oldObject"])
def test_on_update_nothing_is_restored(make: Callable[[], JSON], which: str) -> None:
    pods = {"object": gpu_pod(), "oldObject": gpu_pod()} | {which: make()}
    outcome = decided(decide.mutate, asked(pods["object"], operation="UPDATE", oldObject=pods["oldObject"]))
    assert (outcome.verdict, outcome.patch) == ("allowed", [])
    assert "nothing is restored: " in outcome.warnings[0]
    assert "too large to be decided on: spec." in outcome.warnings[0]


def test_a_pod_that_hides_a_gpu_behind_many_containers_is_not_left_alone() -> None:
    document = containers()
    for each in document["spec"]["containers"][:-1]:
        del each["resources"]
    assert decided(decide.mutate, asked(document)).verdict == "denied"


def test_what_a_policy_makes_too_long_is_its_fault() -> None:
    most = LARGEST["spec", "tolerations"]
    document = gpu_pod(tolerations=[{"key": f"k{at}", "operator": "Exists"} for at in range(most)])
    denied = decide.mutate(asked(document), snapshot(POLICIES[0]))
    assert (
        f"with what it writes, the pod is too large to be decided on: spec.tolerations: got {most + 1:,}"
        in denied.denial
    )
    ignoring = POLICIES[0].replace("  mutations:", "  failurePolicy: Ignore\n  mutations:")
    passed = decide.mutate(asked(document), snapshot(ignoring))
    assert (passed.verdict, passed.patch) == ("allowed", [])


def test_the_record_needs_room_too() -> None:
    document = gpu_pod(annotations={f"a{at}": "" for at in range(ENTRIES)})
    assert (
        f"metadata.annotations: got {ENTRIES + 1:,} entries"
        in decide.mutate(asked(document), snapshot(*POLICIES)).denial
    )


@pytest.mark.parametrize("make", TOO_LONG)
def test_of_a_template_the_list_is_named(make: Callable[[], JSON]) -> None:
    request = decode_review(workload_review(deployment(make()), "deployments"))
    outcome = decided(validate_workload, request)
    assert outcome.verdict == "allowed"
    assert outcome.warnings[0].startswith("podberth: template: the pod is too large to be decided on: spec.")


def test_templates_that_are_too_long_together_are_not_all_judged() -> None:
    jobs = [{"name": f"r{at}", "template": {"spec": {"template": template(tolerating(350))}}} for at in range(20)]
    document = workload("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": jobs})
    outcome = validate_workload(decode_review(workload_review(document, "jobsets")), snapshot(*POLICIES))
    assert "got more than 800 entries in the lists of all pod templates: only the first 2 are" in outcome.warnings[0]


def test_templates_that_ask_for_many_accelerators_together_are_not_all_judged() -> None:
    limits = {f"nvidia.com/mig-1g.{number}gb": "1" for number in range(1, GPU_REQUESTS // 2 + 1)}
    spec = template(pod({"name": "main", "image": "i", "resources": {"limits": limits}}))
    jobs = [{"name": f"r{at}", "template": {"spec": {"template": spec}}} for at in range(3)]
    document = workload("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": jobs})
    outcome = validate_workload(decode_review(workload_review(document, "jobsets")), snapshot(*POLICIES))
    assert (
        f"got more than {GPU_REQUESTS} accelerator resources in all pod templates: only the first 2 are"
        in outcome.warnings[0]
    )


def test_templates_that_choose_nodes_in_many_ways_are_not_all_judged() -> None:
    specs = [{"template": template(tolerating(at % 20))} for at in range(40)]
    jobs = [{"name": f"r{at}", "template": {"spec": spec}} for at, spec in enumerate(specs)]
    document = workload("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": jobs})
    outcome = validate_workload(decode_review(workload_review(document, "jobsets")), snapshot(*POLICIES))
    ways = "4 choices of nodes in the pod templates, or 3 with accelerators"
    assert f"got more than {ways}: only the first 3 are judged" in outcome.warnings[0]


def tolerating(number: int) -> JSON:
    return gpu_pod(tolerations=[{"key": f"k{at}", "operator": "Exists"} for at in range(number)])


@pytest.mark.parametrize("bound", PARSED, ids=lambda each: each.path[-1])
def test_an_annotation_that_a_dossier_parses_has_a_bound_of_its_own(bound: Bound) -> None:
    said = {length: gpu_pod(annotations={bound.path[-1]: "x" * length}) for length in (bound.most, bound.most + 1)}
    found = {length: excess_of(decode_review(review(document))) for length, document in said.items()}
    assert found[bound.most] == ""
    assert f"got {bound.most + 1:,} characters, want {bound.most:,} at most" in found[bound.most + 1]
