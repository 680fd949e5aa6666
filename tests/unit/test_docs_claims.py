"""docs/claims.md: its example is the shipped policy's, and its table of what a pod asks for holds."""

import re

import pytest
import yaml

from builders import container, pod
from pages import ROOT, page, rows
from podberth.devices.claims import ClaimRequest, KnownDevices
from podberth.workload.gpus import gpu_facts

PAGE = page("docs/claims.md")
[EXAMPLE] = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
CHANNEL = ClaimRequest("compute-domain-default-channel.nvidia.com", 1)


def test_the_example_is_a_part_of_the_optional_policy() -> None:
    shown = yaml.safe_load(EXAMPLE)
    whole = yaml.safe_load((ROOT / "optional-policies" / "aligned-devices" / "policy.yaml").read_text())["spec"]
    [template], [mutation] = shown["claimTemplates"], shown["mutations"]
    assert template in whole["claimTemplates"]
    assert mutation.items() <= whole["mutations"][0].items()


@pytest.mark.parametrize(
    ("row", "gpus", "asked"),
    [
        ("a claim for GPUs, from a template or by name", 0, (ClaimRequest("gpu.nvidia.com", 2),)),
        ("a claim for an IMEX channel or a NIC alone", 0, (CHANNEL,)),
        ("the like beside nvidia.com/gpu: 4", 4, (CHANNEL,)),
        ("a claim of which nothing is known", 0, None),
        ("a claim with adminAccess alone: to devices that others have", 0, ()),
    ],
)
def test_the_table_of_what_a_pod_asks_for_holds(row: str, gpus: int, asked: tuple[ClaimRequest, ...] | None) -> None:
    table = {key.replace("`", ""): cells for key, cells in rows(PAGE).items()}
    limits = {"nvidia.com/gpu": gpus} if gpus else {}
    claims = [{"name": "c", "resourceClaimTemplateName": "t"}]
    devices = KnownDevices(templates={} if asked is None else {("team", "t"): asked})
    facts = gpu_facts(pod(container(limits=limits, claims=["c"]), resourceClaims=claims), "team", devices)
    kind, _, count = table[row][1].replace("`", "").partition(", ")
    assert (facts.kind, facts.count) == (kind, int(count or 0))
    documented = table[row][2].replace("`", "")
    assert ("kind: none" in documented) == any(claim.kind == "none" for claim in facts.claims)
    assert (documented == "none") == (not facts.claims)
