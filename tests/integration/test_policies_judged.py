"""Policies, valid and hostile ones, are judged beside the reviews of pods, over real TLS."""

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from builders import review
from integration.serving import admit, body, post, run, serving, until_reached
from podberth.admission.outcome import Outcome
from podberth.admission.review import AdmissionRequest
from podberth.cel.compile_limits import MAX_ENTRIES
from podberth.cel.engine import Environment, Late
from podberth.errors import ReviewError
from podberth.port.byte_budget import PARSED_PER_BYTE, MemoryBudget
from podberth.server.judge import PolicyJudge
from podberth.server.state import Decider
from snapshots import snapshot

KIND = {"group": "podberth.io", "version": "v1alpha1", "kind": "GPUPolicy"}
RESOURCE = {"group": "podberth.io", "version": "v1alpha1", "resource": "gpupolicies"}
SNAPSHOT = snapshot()


def policy(spec: Any, metadata: Any = None) -> bytes:
    """Return the bytes of a policy's review."""
    stored = {"apiVersion": "podberth.io/v1alpha1", "kind": "GPUPolicy", "metadata": {"name": "p"}, "spec": spec}
    sent = review(stored, kind=KIND, resource=RESOURCE)
    sent["request"]["object"]["metadata"] = {"name": "p"} if metadata is None else metadata
    return json.dumps(sent).encode()


def nested(opening: str, closing: str, depth: int) -> bytes:
    """Return a policy's review with something deep in it, which ``json`` would not write."""
    return policy({"description": "HERE"}).replace(b'"HERE"', (opening * depth + "1" + closing * depth).encode())


def spec(variables: list[str], expressions: list[str]) -> dict[str, Any]:
    return {
        "variables": [{"name": f"v{at}", "expression": each} for at, each in enumerate(variables)],
        "validations": [{"expression": each, "message": "m"} for each in expressions],
        "validationActions": ["Warn"],
    }


def both(judge: PolicyJudge) -> Decider:
    """Decide on pods at once, and on policies by a judge."""
    return lambda request, known: judge(request, known) if request.kind == "GPUPolicy" else admit(request, known)


def test_reviews_of_pods_are_answered_while_a_policy_is_judged_and_a_late_one_is_an_error(tmp_path: Path) -> None:
    begun, ended = threading.Event(), threading.Event()

    def validate(_: AdmissionRequest, __: Environment, late: Late) -> Outcome:
        begun.set()
        while not late():
            pass
        ended.set()
        raise AssertionError("nobody reads this")

    async def scene() -> None:
        async with serving(tmp_path, both(PolicyJudge(validate))) as server:
            server.state.snapshot = SNAPSHOT
            asked = asyncio.create_task(server.ask(post(policy({}), "/mutate?timeout=2s")))
            await until_reached("the policy is being judged", begun.is_set, lambda: asked)
            for number in range(20):
                answer = await server.ask(post(body(uid=f"u-{number}")))
                assert (answer.status, answer.uid) == (200, f"u-{number}")
            answer = await asked
            assert answer.status == 504
            assert "not decided within" in answer.document["message"]
            await until_reached("the work has ended, too", ended.is_set, lambda: "it goes on")

    run(scene)


def test_the_memory_of_a_policy_stays_charged_until_the_thread_no_longer_holds_it(tmp_path: Path) -> None:
    begun, go = threading.Event(), threading.Event()

    def validate(_: AdmissionRequest, __: Environment, ___: Late) -> Outcome:
        begun.set()
        go.wait()
        raise ReviewError(400, "nobody reads this")

    async def scene() -> None:
        budget, sent = MemoryBudget(), policy({"description": "x" * 100_000})
        async with serving(tmp_path, both(PolicyJudge(validate)), budget=budget) as server:
            server.state.snapshot = SNAPSHOT
            answer = await server.ask(post(sent, "/mutate?timeout=1s"))
            assert answer.status == 504
            assert begun.is_set()
            # Another answer on the same loop: what follows from the first has been done.
            assert (await server.ask(post(body()))).status == 200
            assert budget.used["documents"] >= PARSED_PER_BYTE * len(sent)
            go.set()
            await until_reached("all is given back", lambda: not budget.used["documents"], lambda: budget.used)

    run(scene)


_LONG = "[" + ", ".join(["1"] * 150) + "]"
_CHAIN = [_LONG, *(f"variables.v{at} + {_LONG}" for at in range(59))]
HOSTILE = {
    "64 long variables that name one another, used by 64 validations": policy(
        spec(_CHAIN, ["variables.v59.size() > 0"] * MAX_ENTRIES)
    ),
    "1,000 chained variables": policy(spec(["1", *(f"variables.v{at}" for at in range(999))], ["true"])),
    "a macro that doubles": policy(spec(["optional.of(1)" + ".optMap(x, x)" * 200], ["true"])),
    "brackets": policy(spec(["(" * 2_000], ["true"])),
    "a long expression": policy(spec(["'" + "a" * 500_000 + "'"], ["true"])),
    "a result of many copies": policy(
        {"mutations": [{"name": "m", "applyConfiguration": "{'spec': {'x': lists.range(2000).map(i, object)}}"}]}
    ),
    "metadata that is a text": policy({}, metadata="p"),
    "metadata that is a list": policy({}, metadata=[1]),
    "annotations that are a list": policy({}, metadata={"name": "p", "annotations": [1]}),
    "annotations that are a number": policy({}, metadata={"name": "p", "annotations": 1}),
    "no spec": policy(None),
    "deep lists": nested("[", "]", 900),
    "deep objects": nested('{"a":', "}", 900),
    "deeper than JSON may be": nested("[", "]", 100_000),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_policy_meets_no_bug(tmp_path: Path, name: str) -> None:
    async def scene() -> None:
        async with serving(tmp_path, both(PolicyJudge())) as server:
            server.state.snapshot = SNAPSHOT
            answer = await server.ask(post(HOSTILE[name], "/mutate?timeout=30s"))
            denied = answer.status == 200 and not answer.document["response"]["allowed"]
            # 413: too dense to be parsed, and of no API server's form.
            assert denied or answer.status in (400, 413), answer.content
            if denied:
                assert "gpupolicy/" in answer.document["response"]["status"]["message"]
            assert not [line for line in server.log.lines if "traceback" in str(line).lower()]

    run(scene)
