"""What explain shows is the decision itself, for any pod and the shipped policies."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from builders import gpu_pod, job_pod, review
from podberth.admission import decide
from podberth.admission.explain import explain
from podberth.admission.review import decode_review
from podberth.cel.trace import Tracer
from podberth.kube.patch import apply
from properties import examples
from shipped import pods, shipped

JSON = dict[str, Any]
TRACERS: dict[str, Tracer] = {}


def decided(document: JSON) -> tuple[str, tuple[str, ...], list[JSON]]:
    """Return verdict, warnings and patch of the two reviews, as the server gives them."""
    known = shipped()
    mutated = decide.mutate(decode_review(review(document)), known)
    if mutated.verdict == "denied":
        return "denied", mutated.warnings, mutated.patch
    judged = decide.validate(decode_review(review(apply(document, mutated.patch))), known)
    verdict = "denied" if judged.verdict == "denied" else "mutated" if mutated.patch else "unchanged"
    return verdict, (*mutated.warnings, *judged.warnings), mutated.patch


@settings(max_examples=examples(60))  # each traces every expression of the library
@given(st.one_of(pods(), st.builds(gpu_pod, st.integers(0, 9)), st.builds(job_pod, st.integers(0, 3))))
def test_the_verdict_the_warnings_and_the_changes_are_those_of_the_server(document: JSON) -> None:
    found = explain(decode_review(review(document)), shipped(), tracers=TRACERS)

    assert (found.verdict, found.warnings, found.patch) == decided(document)
    for policy in found.policies:
        for asking in policy.askings:
            for each in asking.expressions:
                assert each.tree is None or each.tree.answer == each.answer, (policy.policy, each.path)
            for write in asking.written:
                assert write.policy == policy.policy
    if found.verdict == "mutated":
        assert any(asking.written for policy in found.policies for asking in policy.askings)
