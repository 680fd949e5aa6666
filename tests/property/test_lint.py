"""What lint says can never be, never is: random conditions, judged by lint, and by the engine for random pods."""

from functools import cache
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from builders import gpu_pod, job_pod, review
from podberth.admission import decide
from podberth.admission.review import decode_review
from podberth.admission.snapshot import Snapshot
from podberth.lint.findings import Linted
from podberth.policy.parse import parse_policies
from properties import examples
from shipped import pods
from snapshots import environment, policy, snapshot

KINDS = ["whole", "mig", "shared", "mixed", "claim", "none"]
_COMPARED = st.builds(
    "{} {} {}".format,
    st.sampled_from(["gpu.count", "gpu.perContainer", "gpu.memoryMiB", "gang.size", "object.spec.containers.size()"]),
    st.sampled_from(["==", "!=", "<", "<=", ">", ">="]),
    st.integers(0, 4),
)
_KIND = st.builds("gpu.kind {} '{}'".format, st.sampled_from(["==", "!="]), st.sampled_from(KINDS))
_AMONG = st.builds("gpu.kind in {}".format, st.lists(st.sampled_from(KINDS), max_size=3))
_FIELDS = st.sampled_from(
    [
        "gang.known",
        "gang.system == 'kueue'",
        "gpu.vendor == 'nvidia'",
        "has(object.spec.nodeSelector)",
        "has(object.metadata.labels)",
        "'podberth.io/gang' in object.metadata.labels",
        "object.metadata.?labels[?'podberth.io/gang'].hasValue()",
        "object.metadata.?labels[?'podberth.io/gang'].orValue('g') == 'g'",
        "object.metadata.labels['podberth.io/gang'] == 'g'",
        "object.spec.?tolerations.orValue([]).exists(t, t.key == 'team')",
        "object.spec.?schedulerName.orValue('') in ['', 'default-scheduler']",
        "variables.one",
        "true",
        "1 > 2",
    ]
)
CONDITIONS = st.recursive(
    st.one_of(_COMPARED, _KIND, _AMONG, _FIELDS),
    lambda inner: st.one_of(
        st.builds("({} && {})".format, inner, inner),
        st.builds("({} || {})".format, inner, inner),
        st.builds("!({})".format, inner),
        st.builds("({} ? {} : {})".format, inner, inner, inner),
    ),
    max_leaves=6,
)
PODS = st.one_of(pods(), st.builds(gpu_pod, st.integers(0, 4)), st.builds(job_pod, st.integers(0, 3)))


@cache
def judged(one: str, two: str) -> tuple[Linted, Snapshot]:
    """Return a policy whose mutation asks ``one`` and whose validation asks ``two``, linted and to be asked."""
    spec = (
        "  variables:\n  - name: one\n    expression: gpu.count == 1\n"
        f"  mutations:\n  - when: >-\n      {one}\n    annotations: {{example.com/a: \"'written'\"}}\n"
        f"  validations:\n  - expression: >-\n      {two}\n    message: refused\n  validationActions: [Deny]\n"
    )
    text = policy("drawn", spec)
    known = snapshot(text)
    [parsed] = parse_policies([("policy.yaml", text)]).policies
    linted = Linted(parsed=parsed, compiled=known.policies[0], environment=environment())
    return linted, known


@settings(max_examples=examples(300))
@given(CONDITIONS, CONDITIONS, PODS)
def test_what_is_said_never_to_be_is_never_so(one: str, two: str, document: dict[str, Any]) -> None:
    linted, known = judged(one, two)
    conditions = linted.conditions
    when, must = linted.tree(one), linted.tree(two)
    mutated = decide.mutate(decode_review(review(document)), known)
    if any("example.com" in str(operation) for operation in mutated.patch):
        assert conditions.can_hold(conditions.says(when))
    refused = decide.validate(decode_review(review(document)), known).response["response"]
    message = str((refused.get("status") or {}).get("message"))
    if message.endswith("drawn: refused"):
        assert conditions.can_hold(conditions.says(must, wanted=False))
    elif refused["allowed"] and not conditions.can_hold(conditions.says(must)):
        # Nobody asked: the pod is none of a policy of scope GPU
        assert not any("example.com" in str(operation) for operation in mutated.patch)
