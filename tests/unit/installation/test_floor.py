"""What status says about the floor: whether its policies are there, and whether somebody keeps their params."""

from typing import Any

import pytest

from podberth.installation.observation import Row, Unread
from status_scenes import row, rows, workload

NATIVES: dict[str, Any] = {
    f"{kind}Admission{each}/podberth-floor{suffix}": {"metadata": {}}
    for kind, suffix in (("Mutating", ""), ("Mutating", "-updates"), ("Validating", "-names"))
    for each in ("Policy", "PolicyBinding")
}
WHOLE = {"nodes": "known", "nvidia.com_gpu": "whole nvidia.com/gpu:NoSchedule"}


def controller(*flags: str) -> dict[str, Any]:
    made = workload("podberth-controller", readyReplicas=2, updatedReplicas=2)
    made["spec"]["template"]["spec"]["containers"][0]["args"] = ["controller", *flags]
    return made


def params(data: dict[str, str]) -> tuple[dict[str, Any], ...]:
    named = {"name": "podberth-floor", "namespace": "podberth-system"}
    return ({"metadata": {"name": "other"}}, {"metadata": named, **({"data": data} if data else {})})


def floor(data: dict[str, str] | None = None, **changes: Any) -> Row:
    """Return the line of a floor with these params, by default those that its nodes need."""
    found = {"controller": controller("--floor"), "floor": NATIVES, "params": params(WHOLE if data is None else data)}
    [line] = rows("floor", **{**found, **changes})
    return line


def test_without_the_component_there_is_no_line() -> None:
    assert rows("floor", floor=dict.fromkeys(NATIVES)) == []


def test_a_whole_floor_says_how_many_resources_it_knows() -> None:
    line = floor()
    assert (line.state, line.text) == (
        "ok",
        "native policies stand in while podberth is away, and know 1 resource of nodes",
    )
    assert line.facts == {"resources": 1, "missing": (), "lacking": ()}


def test_a_policy_or_binding_that_is_gone_is_named() -> None:
    line = floor(floor={**NATIVES, "MutatingAdmissionPolicyBinding/podberth-floor": None})
    assert line.state == "attention"
    assert line.text.startswith("missing: MutatingAdmissionPolicyBinding podberth-floor; ")


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (None, "its params grow stale without a controller; "),
        (controller(), "its params grow stale: the controller runs without --floor; "),
    ],
)
def test_params_that_nobody_keeps_want_attention(found: Any, said: str) -> None:
    line = floor(controller=found)
    assert line.state == "attention"
    assert line.text.startswith(said)


@pytest.mark.parametrize("data", [{}, {"nodes": "known", "amd.com_gpu": "whole"}])
def test_an_accelerator_of_the_nodes_that_the_params_lack_is_named(data: dict[str, str]) -> None:
    line = floor(data)
    assert line.state == "attention"
    assert line.text == "its params lack nvidia.com/gpu, which nodes offer; see the controller's log"
    assert line.facts["lacking"] == ("nvidia.com/gpu",)


def test_a_policy_that_may_not_be_read_says_the_right() -> None:
    refused = Unread("403", "get mutatingadmissionpolicies.admissionregistration.k8s.io podberth-floor")
    state, text = row("floor", params=params(WHOLE), floor={"MutatingAdmissionPolicy/podberth-floor": refused})
    assert state == "unread"
    assert text.endswith("want get mutatingadmissionpolicies.admissionregistration.k8s.io podberth-floor")
