"""What is counted of a play."""

from typing import Any

from .gangs import GANGS, Gang, pod_spec
from .outcome import Outcome, work_out


def member(gang: Gang, rank: int, node: str = "", *, gpus: bool = True) -> dict[str, Any]:
    spec = {**pod_spec(gang, gpus=gpus), **({"nodeName": node} if node else {})}
    status = {"phase": "Running" if node else "Pending"}
    return {"metadata": {"name": f"{gang.name}-{rank}"}, "spec": spec, "status": status}


NODES = {
    f"{domain}{number}": {gang.pool.level: domain} for gang in GANGS[:1] for domain in ("a", "b") for number in range(3)
}


def test_a_gang_is_whole_half_started_or_waits() -> None:
    whole, half, waits = (gang for gang in GANGS if gang.pool is GANGS[0].pool and gang is not GANGS[-2])
    pods = [member(whole, rank, f"a{rank}") for rank in range(3)]
    pods += [member(half, 0, "b0"), member(half, 1, "b1"), member(half, 2)]
    pods += [member(waits, rank) for rank in range(3)]
    assert work_out(pods, NODES, 3) == Outcome(whole=1, half=1, outside=0, machines=5)


def test_a_launcher_alone_starts_nothing_and_lies_in_no_domain() -> None:
    gang = GANGS[0]
    launcher = member(gang, 3, "b0", gpus=False)
    waiting = [member(gang, rank) for rank in range(3)]
    assert work_out([launcher, *waiting], NODES, 4) == Outcome(0, 0, 0, 0)
    running = [member(gang, rank, f"a{rank}") for rank in range(3)]
    assert work_out([launcher, *running], NODES, 4) == Outcome(1, 0, 0, 3)
    assert work_out([{**launcher, "status": {}}, *running], NODES, 4) == Outcome(0, 0, 0, 3)


def test_members_in_two_domains_are_outside() -> None:
    gang = GANGS[0]
    pods = [member(gang, rank, node) for rank, node in enumerate(("a0", "a1", "b0"))]
    assert work_out(pods, NODES, 3) == Outcome(whole=1, half=0, outside=1, machines=3)
