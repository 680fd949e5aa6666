"""docs/claims.md: its policy does what the page says, and its table of what a pod asks for holds."""

import re

import pytest

from builders import container, gpu_pod, pod, review
from pages import page, rows
from podberth.admission.mutate import mutate
from podberth.admission.review import decode_review
from podberth.devices.claims import DeviceRequest, KnownDevices
from podberth.kube.patch import apply
from podberth.policy.parse import parse_policies
from podberth.workload.gpus import gpu_facts
from snapshots import snapshot

PAGE = page("docs/claims.md")
[EXAMPLE] = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
CHANNEL = DeviceRequest("compute-domain-default-channel.nvidia.com", 1)


def test_the_policy_gives_a_claim_in_the_place_of_the_gpu() -> None:
    document = gpu_pod(1, annotations={"example.com/beside": "nic"})
    made = apply(document, mutate(decode_review(review(document)), snapshot(EXAMPLE)).patch)
    [parsed] = parse_policies([("claims.md", EXAMPLE)]).policies
    [template] = parsed.policy.spec.claim_templates
    assert made["spec"]["resourceClaims"] == [{"name": "pair", "resourceClaimTemplateName": template.written_name}]
    assert made["spec"]["containers"][0]["resources"] == {"limits": {}, "claims": [{"name": "pair"}]}


@pytest.mark.parametrize("other", [gpu_pod(2, annotations={"example.com/beside": "nic"}), gpu_pod(1)])
def test_and_leaves_others_alone(other: dict[str, object]) -> None:
    assert mutate(decode_review(review(other)), snapshot(EXAMPLE)).patch == []


@pytest.mark.parametrize(
    ("row", "gpus", "asked"),
    [
        ("a claim for GPUs, from a template or by name", 0, (DeviceRequest("gpu.nvidia.com", 2),)),
        ("a claim for an IMEX channel or a NIC alone", 0, (CHANNEL,)),
        ("the like beside nvidia.com/gpu: 4", 4, (CHANNEL,)),
        ("a claim of which nothing is known", 0, None),
        ("a claim with adminAccess alone: to devices that others have", 0, ()),
    ],
)
def test_the_table_of_what_a_pod_asks_for_holds(row: str, gpus: int, asked: tuple[DeviceRequest, ...] | None) -> None:
    table = {key.replace("`", ""): cells for key, cells in rows(PAGE).items()}
    limits = {"nvidia.com/gpu": gpus} if gpus else {}
    claims = [{"name": "c", "resourceClaimTemplateName": "t"}]
    devices = KnownDevices(templates={} if asked is None else {("team", "t"): asked})
    facts = gpu_facts(pod(container(limits=limits, claims=["c"]), resourceClaims=claims), "team", devices)
    kind, _, count = table[row][1].replace("`", "").partition(", ")
    assert (facts.kind, facts.count) == (kind, int(count or 0))
    told = table[row][2].replace("`", "")
    assert ("kind: none" in told) == any(claim.kind == "none" for claim in facts.claims)
    assert (told == "none") == (not facts.claims)
