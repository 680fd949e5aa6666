"""Constants of two policies that no pod can have both: noted at the later one's place when they are loaded."""

import json
from pathlib import Path
from typing import Any

import pytest

from snapshots import policy, snapshot


def notes(*mutations: dict[str, Any]) -> list[str]:
    texts = [policy(f"p{n}", f"  mutations: [{json.dumps(each)}]", order=n) for n, each in enumerate(mutations)]
    return [str(each) for each in snapshot(*texts).notes]


@pytest.mark.parametrize("other", ["kai", "volcano"])
def test_the_shipped_policies_have_none(other: str) -> None:
    """A cluster has one of the two policies that choose a scheduler."""
    folders = (Path(__file__).parents[3] / name for name in ("policies", "optional-policies"))
    files = [file for folder in folders for file in folder.glob("*/p*.yaml") if file.parent.name != other]

    assert len(files) > 15
    assert snapshot(*(file.read_text() for file in sorted(files))).notes == ()


def product(side: str, name: str) -> dict[str, Any]:
    term = {"matchExpressions": [{"key": "nvidia.com/gpu.product", "operator": "In", "values": [name]}]}
    return {"nodeAffinity": {side: json.dumps([term]), **({"weight": 1} if side == "preferred" else {})}}


def bear(seconds: int) -> dict[str, Any]:
    return {"tolerations": f"[{{'key': 'a', 'effect': 'NoExecute', 'tolerationSeconds': {seconds}}}]"}


def rewrite(to: str, container: str = "main") -> dict[str, Any]:
    return {"resources": f"[{{'container': '{container}', 'from': 'nvidia.com/gpu', 'to': '{to}', 'quantity': 1}}]"}


def draw(level: str, mode: str) -> dict[str, Any]:
    return {"topology": {"level": f"'{level}'", "mode": mode}}


CONFLICTS = [
    (draw("rack", "required"), draw("zone", "required"), "topology"),
    (draw("rack", "preferred"), draw("rack", "required"), "topology"),
    (product("required", "H100"), product("required", "L4"), "nodeAffinity.required"),
    (product("required", "H100"), product("preferred", "L4"), "nodeAffinity.preferred"),
    (bear(300), bear(60), "tolerations"),
    (rewrite("x/a"), rewrite("x/b"), "resources"),
]


@pytest.mark.parametrize(("first", "second", "where"), CONFLICTS)
def test_the_later_policys_note_says_who_is_first(first: dict[str, Any], second: dict[str, Any], where: str) -> None:
    [note] = notes(first, second)

    assert f"spec.mutations[0].{where}:" in note
    assert "policy p0 writes it too and comes first" in note


@pytest.mark.parametrize(
    ("first", "second"),
    [
        *((first, first) for first, _, _ in CONFLICTS),
        (product("preferred", "H100"), product("required", "L4")),
        (draw("rack", "required"), draw("rack", "preferred")),
        (
            draw("rack", "required"),
            {"topology": {"level": "topology.nodes(gpu).narrowestLevel(2)", "mode": "required"}},
        ),
        (draw("rack", "required"), {"topology": {"level": "gang.name", "mode": "required"}}),
        (rewrite("x/a"), rewrite("x/b", "side")),
        (bear(300), {"tolerations": "gpu.count > 1 ? " + bear(60)["tolerations"] + " : []"}),
        (bear(300), {"tolerations": "[{'key': 'a', 'effect': 'NoExecute', 'tolerationSeconds': 1 / 0}]"}),
        (bear(300), {"tolerations": "[{'key': 'a', 'effect': 'Never'}]"}),
        (rewrite("x/a"), {"resources": "null"}),
    ],
)
def test_what_one_pod_can_have_or_nobody_knows_is_no_note(first: dict[str, Any], second: dict[str, Any]) -> None:
    assert notes(first, second) == []
