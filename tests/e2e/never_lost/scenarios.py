"""The table of docs/never-lost.md: each disturbance, and what is promised of the pods that are created meanwhile."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from ..load import Load, Verdict
from ..registration import FailurePolicy
from . import disturbances
from .disturbances import SILENT_CONNECTIONS, SLOW_CLIENTS
from .judge import shown
from .local import Local
from .service import Service, host_cut_off, rollout
from .stage import Outcome, Stage, creating, finish

S = TypeVar("S", bound=Stage)

NONE = "none refused, none unmutated"
# Of stored pods that are not right: one is a find, and ten thousand say no more.
_SHOWN = 3
_CUT = "refused only what is sent to it, after timeoutSeconds (5 s); none unmutated"
_AWAY = "what the API server cannot do, it refuses by itself; podberth refuses none, and none is unmutated"


@dataclass(frozen=True, slots=True)
class Scenario(Generic[S]):
    """One row. `disturb` is one round, and returns how many creations may suffer of it; None: those begun in it."""

    name: str
    title: str
    disturb: Callable[[S, Load], int | None]
    promise: str = NONE
    failure_policy: FailurePolicy = "Fail"
    may: frozenset[Verdict] = frozenset()
    """What may come of a creation that began before the disturbance was over, beside a pod as the policies have it."""


SCENARIOS: tuple[Scenario[Local], ...] = (
    Scenario("rolling-restart", "rolling restart of two replicas", disturbances.rolling_restart),
    Scenario("rotation", "forced rotation of CA and leaves", disturbances.rotation),
    Scenario("policy-change", "a policy changes every second", disturbances.policy_change),
    Scenario("node-change", "a node changes every 100 ms", disturbances.node_change),
    Scenario("slow-client", f"{SLOW_CLIENTS} clients that send a byte at a time", disturbances.slow_client),
    Scenario("half-open", f"{SILENT_CONNECTIONS} connections whose other end is silent", disturbances.half_open),
    Scenario("full-disk", "no room for the log", disturbances.full_disk),
    Scenario(
        "sigkill",
        "SIGKILL of a replica",
        disturbances.sigkill,
        "refused at most one for each connection open to it; none unmutated",
        may=frozenset({Verdict.REFUSED}),
    ),
    Scenario(
        "stands-still",
        "a replica stands still (SIGSTOP)",
        disturbances.replica_stands_still,
        _CUT,
        may=frozenset({Verdict.REFUSED}),
    ),
    Scenario(
        "api-server-restart",
        "restart of the API server",
        disturbances.api_server_restart,
        _AWAY,
        may=frozenset({Verdict.UNANSWERED}),
    ),
    Scenario(
        "etcd-pause",
        "etcd stands still",
        disturbances.etcd_pause,
        _AWAY,
        may=frozenset({Verdict.UNANSWERED}),
    ),
    # Last: another failurePolicy means another registration, which takes seconds.
    Scenario(
        "sigkill-ignore",
        "SIGKILL of a replica",
        disturbances.sigkill,
        "none refused; unmutated at most one for each connection open to it",
        failure_policy="Ignore",
        may=frozenset({Verdict.UNMUTATED}),
    ),
)
CUT_OFF: Scenario[Service] = Scenario(
    "host-cut-off",
    "one of two hosts cut off; the Service is as shipped",
    host_cut_off,
    _CUT,
    may=frozenset({Verdict.REFUSED}),
)
ROLLOUT: Scenario[Service] = Scenario(
    "rollout",
    "each replica replaced, endpoints 4 s behind; the Service is as shipped",
    rollout,
)
BEHIND_THE_SERVICE: tuple[Scenario[Service], ...] = (ROLLOUT, CUT_OFF)


def play(stage: S, scenario: Scenario[S], seconds: float) -> Outcome:
    """Disturb for as many rounds as `seconds` take, one at least, while pods are created."""
    stage.prepare(scenario.failure_policy)
    with creating(stage, scenario.name) as running:
        suffered: list[int | None] = []
        began = time.monotonic()
        while not suffered or time.monotonic() < began + seconds:
            suffered.append(scenario.disturb(stage, running))
        over = finish(stage, running)
    return Outcome(
        counts=running.counts,
        most=_sum(suffered),
        late=[each for each in running.failures if each.began > over],
        said=[*sorted(set(running.refusals)), *map(shown, running.wrong[:_SHOWN])],
        seconds=time.monotonic() - began,
        rounds=len(suffered),
    )


def broken(scenario: Scenario[S], outcome: Outcome) -> list[str]:
    """Return how a promise was broken; empty where it was kept."""
    found = []
    for verdict, count in outcome.counts.items():
        if verdict is Verdict.RIGHT or not count:
            continue
        if verdict not in scenario.may:
            found.append(f"{verdict}: got {count}, want none")
        elif verdict is not Verdict.UNANSWERED and outcome.most is not None and count > outcome.most:
            found.append(f"{verdict}: got {count}, want {outcome.most} at most")
    found += [f"{each.verdict} when it was over: {each.said}" for each in outcome.late]
    if outcome.counts[Verdict.RIGHT] == 0:
        found.append("right: got 0, want some")
    return [*found, *outcome.said] if found else []


def _sum(suffered: Sequence[int | None]) -> int | None:
    counted = [each for each in suffered if each is not None]
    return sum(counted) if len(counted) == len(suffered) else None
