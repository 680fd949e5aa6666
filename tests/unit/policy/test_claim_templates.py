"""Claim templates of a policy: what is refused, under which name they are made, and who names them."""

from typing import Any

import pytest
import yaml

from builders import container, gpu_pod, pod, review
from podberth.admission.decide import mutate
from podberth.admission.review import decode_review
from podberth.devices.claims import ClaimRequest
from podberth.facts.cluster import ClusterFacts
from podberth.kube.patch import apply
from podberth.policy.parse import ParsedPolicies, parse_policies
from snapshots import policy, snapshot

JSON = dict[str, Any]

TEMPLATE = """
  claimTemplates:
  - name: pair
    spec:
      metadata: {labels: {example.com/made-for: pairs}}
      spec:
        devices:
          requests:
          - {name: gpu, exactly: {deviceClassName: gpu.nvidia.com, count: 2}}
          - name: nic
            firstAvailable:
            - {name: fast, deviceClassName: rdma.example.com}
            - {name: slow, deviceClassName: rdma.example.com, selectors: [{cel: {expression: "true"}}]}
          constraints:
          - {requests: [gpu, nic/fast], matchAttribute: resource.kubernetes.io/pcieRoot}
"""
NAMING = """
  mutations:
  - resourceClaims: "[{'name': 'p', 'template': 'pair'}, {'name': 'own', 'template': 'mine'}]"
"""
SEEN = """
  mutations:
  - annotations: {example.com/claims: "gpu.claims.map(c, c.deviceClass + ':' + string(c.count)).join(',')"}
"""


def parsed(spec: str) -> ParsedPolicies:
    return parse_policies([("policy.yaml", policy("a", spec))])


def written(spec: str = TEMPLATE) -> str:
    [found] = parsed(spec + NAMING).policies
    [made] = found.policy.spec.claim_templates
    return made.written_name


def test_the_spec_is_that_of_the_document_and_the_name_has_its_digest() -> None:
    [found] = parsed(TEMPLATE + NAMING).policies
    [made] = found.policy.spec.claim_templates
    assert made.document == yaml.safe_load(TEMPLATE)["claimTemplates"][0]["spec"]
    name, dash, digest = made.written_name.rpartition("-")
    assert (name, dash, len(digest)) == ("pair", "-", 8)
    assert set(digest) <= set("0123456789abcdef")


def test_another_spec_is_another_name_and_another_order_of_keys_is_not() -> None:
    assert written() == written()
    assert written() != written(TEMPLATE.replace("count: 2", "count: 4"))
    other = "{deviceClassName: gpu.nvidia.com, count: 2}", "{count: 2, deviceClassName: gpu.nvidia.com}"
    assert written() == written(TEMPLATE.replace(*other))


def test_the_name_is_the_same_on_all_machines_and_under_all_versions() -> None:
    """Pods name it, and two replicas or two releases must not make two objects of it."""
    assert written() == "pair-a4c19882"


def test_the_pod_names_the_template_as_it_is_made_and_one_of_somebody_else_as_it_is() -> None:
    made = apply(gpu_pod(), mutate(decode_review(review(gpu_pod())), snapshot(policy("a", TEMPLATE + NAMING))).patch)
    assert made["spec"]["resourceClaims"] == [
        {"name": "p", "resourceClaimTemplateName": written()},
        {"name": "own", "resourceClaimTemplateName": "mine"},
    ]
    assert made["spec"]["containers"][0]["resources"]["claims"] == [{"name": "p"}, {"name": "own"}]


def test_a_second_pass_writes_nothing() -> None:
    of = snapshot(policy("a", TEMPLATE + NAMING))
    once = apply(gpu_pod(), mutate(decode_review(review(gpu_pod())), of).patch)
    assert mutate(decode_review(review(once)), of).patch == []


def test_a_computed_name_is_found_among_the_declared_ones_too() -> None:
    computed = NAMING.replace("'pair'", "'pa' + 'ir'")
    made = apply(gpu_pod(), mutate(decode_review(review(gpu_pod())), snapshot(policy("a", TEMPLATE + computed))).patch)
    assert made["spec"]["resourceClaims"][0]["resourceClaimTemplateName"] == written()


def test_what_another_policy_declares_is_not_meant() -> None:
    of = snapshot(policy("a", TEMPLATE + NAMING, order=2), policy("b", NAMING, order=1))
    made = apply(gpu_pod(), mutate(decode_review(review(gpu_pod())), of).patch)
    assert made["spec"]["resourceClaims"][0]["resourceClaimTemplateName"] == "pair"


def test_a_later_policy_sees_what_the_claims_ask_for_though_nothing_is_made_yet() -> None:
    of = snapshot(policy("a", TEMPLATE + NAMING, order=1), policy("b", SEEN, order=2))
    for known in (of, of.with_workloads(ClusterFacts())):
        made = apply(gpu_pod(), mutate(decode_review(review(gpu_pod())), known).patch)
        assert made["metadata"]["annotations"]["example.com/claims"] == "gpu.nvidia.com:2,rdma.example.com:1,:0"
        assert known.devices.declared == {
            written(): (
                ClaimRequest("gpu.nvidia.com", 2, (("gpu", 2),)),
                ClaimRequest("rdma.example.com", 1, (("nic", 1),)),
            )
        }


def test_a_pod_that_names_one_itself_is_known_by_it() -> None:
    document = pod(container(claims=["c"]), resourceClaims=[{"name": "c", "resourceClaimTemplateName": written()}])
    of = snapshot(policy("a", TEMPLATE + NAMING.replace("'pair'}", "'pair'}"), order=1), policy("b", SEEN, order=2))
    made = apply(document, mutate(decode_review(review(document)), of).patch)
    assert made["metadata"]["annotations"]["example.com/claims"].startswith("gpu.nvidia.com:2,rdma.example.com:1,")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("name: pair", "name: Pair"), "spec.claimTemplates[0].name: got 'Pair', want a DNS-1123 subdomain"),
        (
            ("name: pair", f"name: {'a' * 245}"),
            "want a DNS-1123 subdomain: lower-case letters",
        ),
        (("count: 2", "count: 0"), "exactly.count: got 0, want at least 1"),
        (("count: 2", "count: two"), "exactly.count: got 'two', want a whole number"),
        (("count: 2", "adminAccess: true"), "exactly.adminAccess: unknown field 'adminAccess'"),
        (("count: 2", "count: 2, allocationMode: All"), "exactly.count: got a count with allocationMode All"),
        (("count: 2", "allocationMode: Some"), "exactly.allocationMode: got 'Some', want 'ExactCount' or 'All'"),
        (("[gpu, nic/fast]", "[gpu, nik]"), "requests[1]: got 'nik', want a request of the claim: gpu, nic, nic/fast"),
        (("name: nic\n", "name: gpu\n"), "requests[1].name: duplicate name 'gpu'; want each name once"),
        (("matchAttribute: resource.kubernetes.io/pcieRoot", ""), "want exactly one of matchAttribute and"),
        (("exactly: {deviceClassName: gpu.nvidia.com, count: 2}", ""), "want exactly one of exactly and firstAvail"),
        (("deviceClassName: gpu.nvidia.com, ", ""), "the field 'deviceClassName' is required"),
        (("metadata: {labels: {example.com/made-for: pairs}}", "meta: {}"), "unknown field 'meta'; did you mean"),
    ],
)
def test_what_is_no_template_is_refused_at_its_place(change: tuple[str, str], message: str) -> None:
    assert TEMPLATE.count(change[0]) == 1
    problems = [str(each) for each in parsed(TEMPLATE.replace(*change) + NAMING).problems]
    assert any(message in each for each in problems), problems


def test_two_of_a_name_and_templates_that_nothing_could_name_are_refused() -> None:
    twice = TEMPLATE + TEMPLATE.replace("\n  claimTemplates:", "")
    assert "duplicate name 'pair'" in str(parsed(twice + NAMING).problems)
    labels = "  mutations:\n  - labels: {example.com/a: gpu.kind}\n"
    assert "claimTemplates without a mutation of resourceClaims" in str(parsed(TEMPLATE + labels).problems)


INSTEAD = """
  mutations:
  - labels: {example.com/by: "'claim'"}
  - resourceClaims: "[{'name': 'p', 'template': 'pair', 'instead': 'nvidia.com/gpu'}]"
"""


@pytest.mark.parametrize(("gpus", "written_of"), [(2, True), (1, False), (4, False)])
def test_a_claim_stands_for_as_many_gpus_as_it_has_or_is_left_out_with_one_line(gpus: int, written_of: bool) -> None:
    outcome = mutate(decode_review(review(gpu_pod(gpus))), snapshot(policy("a", TEMPLATE + INSTEAD)))
    made = apply(gpu_pod(gpus), outcome.patch)
    assert ("resourceClaims" in made["spec"]) == written_of
    assert ("nvidia.com/gpu" in str(made["spec"])) != written_of
    skipped = [each.message for each in outcome.decisions if each.action == "skip"]
    left = f"claim p: got 2 from template {written()}, want {gpus}: container main asks for {gpus} nvidia.com/gpu"
    assert skipped == ([] if written_of else [f"resourceClaims left as it is: {left}"])
    assert made["metadata"]["labels"]["example.com/by"] == "claim"
