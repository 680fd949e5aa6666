"""Changes under a running server: certificates, policies, topology. A broken version never replaces a working one."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from builders import gpu_pod, review
from integration.serving import CapturedLines, Serving, body, post, run, serving, until
from podberth.admission import decide
from podberth.errors import PolicyError
from podberth.files.loading import FileSource
from podberth.pki.issue import Validity, issue_leaf, new_authority
from podberth.server.reload import Watched, WatchedCertificate, WatchedSnapshot, watch
from podberth.server.self_signed import LIFE, ensure
from podberth.telemetry.log import Log
from podberth.topology.shapes import simulate

_POLICY = """
apiVersion: podberth.io/v1alpha1
kind: GPUPolicy
metadata:
  name: mark
spec:
  matchConditions:
  - name: all
    expression: gpu.count > 0
  mutations:
  - labels:
      mark: "'{mark}'"
"""


@asynccontextmanager
async def _watching(server: Serving, *watched: Watched) -> AsyncIterator[None]:
    task = asyncio.create_task(watch(watched, 0.01, server.metrics, Log(server.log)))
    try:
        yield
    finally:
        task.cancel()


def _snapshot(server: Serving, policies: Path, topology: Path | None = None) -> WatchedSnapshot:
    server.state.snapshot = None
    return WatchedSnapshot(FileSource(policies, topology), server.state, server.metrics, Log(server.log))


async def _mark(server: Serving) -> str:
    """Return the label that the policy in force writes."""
    document = json.dumps(review(gpu_pod())).encode()
    answer = await server.ask(post(document))
    lines = [line for line in server.reviews() if line["uid"] == answer.uid]
    assert lines[-1]["code"] == answer.status == 200
    return json.dumps(_patch(answer.document))


def _patch(document: dict[str, Any]) -> Any:
    return json.loads(base64.b64decode(document["response"].get("patch", "W10=")))


def _events(log: CapturedLines, level: str) -> list[dict[str, Any]]:
    return [line for line in log.lines if line["msg"] != "review" and line["level"] == level]


def test_certificate_is_exchanged_without_closing_a_connection(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path) as server, server.connect(verify=False) as before:
            watched = WatchedCertificate(server.files, server.tls, server.state, server.metrics, Log(server.log))
            await watched.refresh()
            async with _watching(server, watched):
                ensure(tmp_path, ("localhost",), datetime.now(UTC))  # for other names, so it is made again

                async def exchanged() -> bool:
                    async with server.connect(verify=False) as after:
                        return after.certificate != before.certificate

                await until("new connections see the new certificate", exchanged)
                assert (await before.ask(post(body("still here")))).uid == "still here"
            async with server.connect() as verified:  # by the new CA
                assert (await verified.ask(post(body("new")))).uid == "new"

    run(test)


def test_certificate_without_its_key_does_not_replace_the_good_pair(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path) as server:
            watched = WatchedCertificate(server.files, server.tls, server.state, server.metrics, Log(server.log))
            await watched.refresh()
            good = server.files.certificate.read_bytes(), server.files.key.read_bytes()
            now = datetime.now(UTC)
            validity = Validity(now - timedelta(hours=1), now + LIFE)
            other = issue_leaf(new_authority("another", validity), ("localhost",), validity)
            async with _watching(server, watched):
                server.files.certificate.write_bytes(other.certificate)

                async def reported() -> list[dict[str, Any]]:
                    return _events(server.log, "error")

                [error] = await until("the mismatch is reported", reported)
                assert error["problems"] == [
                    f"{server.files.key}: got the key of another certificate; put certificate and key of one pair"
                ]
                assert (await server.ask(post(body("good")))).uid == "good"
                server.files.key.write_bytes(good[1])
                server.files.certificate.write_bytes(good[0])

                async def loaded_again() -> bool:
                    return _count(server, 'reload_total{result="ok",what="certificate"}') == 2

                await until("the fixed pair is loaded", loaded_again)
            assert len(_events(server.log, "error")) == 1
            assert _count(server, 'reload_total{result="error",what="certificate"}') == 1

    run(test)


def test_changed_policy_decides_the_next_review_and_a_broken_one_does_not(tmp_path: Path) -> None:
    async def test() -> None:
        policies = tmp_path / "policies"
        policies.mkdir()
        file = policies / "policy.yaml"
        file.write_text(_POLICY.format(mark="first"))
        async with serving(tmp_path / "tls", decide.mutate) as server:
            watched = _snapshot(server, policies)
            await watched.refresh()
            assert "first" in await _mark(server)
            async with _watching(server, watched):
                file.write_text(_POLICY.format(mark="second"))

                async def second() -> bool:
                    return "second" in await _mark(server)

                await until("the second policy decides", second)
                file.write_text(_POLICY.replace("gpu.count", "gpu.cuont").format(mark="third"))

                async def reported() -> list[dict[str, Any]]:
                    return _events(server.log, "error")

                [error] = await until("the mistake is reported", reported)
                assert error["msg"] == "policies: cannot be used; the last good one stays in force"
                assert [problem.split(" ")[0] for problem in error["problems"]] == [f"{file}:9:21"]
                assert "second" in await _mark(server)
                assert _count(server, 'reload_total{result="error",what="policies"}') == 1
                file.write_text(_POLICY.format(mark="fourth"))

                async def fourth() -> bool:
                    return "fourth" in await _mark(server)

                await until("the fixed policy decides", fourth)

    run(test)


@pytest.mark.parametrize("cut", ["", "# gone\n"])
def test_an_emptied_policy_file_takes_no_policy_away_and_a_deleted_one_does(tmp_path: Path, cut: str) -> None:
    async def test() -> None:
        policies = tmp_path / "policies"
        policies.mkdir()
        file = policies / "policy.yaml"
        file.write_text(_POLICY.format(mark="kept"))
        async with serving(tmp_path / "tls", decide.mutate) as server:
            watched = _snapshot(server, policies)
            await watched.refresh()
            async with _watching(server, watched):
                file.write_text(cut)

                async def reported() -> list[dict[str, Any]]:
                    return _events(server.log, "error")

                [error] = await until("the emptied file is reported", reported)
                assert error["msg"] == "policies: cannot be used; the last good one stays in force"
                assert "policy.yaml: got no document" in error["problems"][0]
                assert _count(server, 'reload_total{result="error",what="policies"}') == 1
                assert "kept" in await _mark(server)
                file.unlink()

                async def gone() -> bool:
                    return "kept" not in await _mark(server)

                await until("the deleted file's policy is gone", gone)

    run(test)


@pytest.mark.parametrize("name", ["tls.crt", "tls.key"])
def test_an_emptied_certificate_or_key_does_not_replace_the_good_pair(tmp_path: Path, name: str) -> None:
    async def test() -> None:
        async with serving(tmp_path) as server:
            watched = WatchedCertificate(server.files, server.tls, server.state, server.metrics, Log(server.log))
            await watched.refresh()
            async with _watching(server, watched):
                (tmp_path / name).write_bytes(b"")

                async def reported() -> list[dict[str, Any]]:
                    return _events(server.log, "error")

                [error] = await until("the emptied file is reported", reported)
                assert f"{tmp_path / name}: got no " in error["problems"][0]
                assert (await server.ask(post(body("good")))).uid == "good"

    run(test)


def test_topology_grows_with_its_file_and_survives_its_loss(tmp_path: Path) -> None:
    async def test() -> None:
        (tmp_path / "policies").mkdir()
        topology = tmp_path / "nodes.json"
        nodes = [simulate("l4-1", f"node-{number}")[0] for number in range(3)]
        topology.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes[:1]}))
        async with serving(tmp_path / "tls") as server:
            watched = _snapshot(server, tmp_path / "policies", topology)
            await watched.refresh()
            assert _count(server, "topology_nodes") == 1
            async with _watching(server, watched):
                topology.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes}))

                async def three() -> bool:
                    return _count(server, "topology_nodes") == 3

                await until("three nodes are known", three)
                topology.unlink()

                async def reported() -> list[dict[str, Any]]:
                    return _events(server.log, "error")

                [error] = await until("the loss is reported", reported)
                assert error["msg"] == "topology: cannot be used; the last good one stays in force"
            assert _count(server, "topology_nodes") == 3
            assert server.state.snapshot is not None

    run(test)


class _Broken:
    what = "policies"

    def __init__(self) -> None:
        self.looks = 0

    async def refresh(self) -> None:
        self.looks += 1
        raise KeyError("a bug")


def test_bug_in_a_reload_ends_neither_the_watch_nor_the_service(tmp_path: Path) -> None:
    async def test() -> None:
        broken = _Broken()

        async def again() -> bool:
            return broken.looks > 1

        async with serving(tmp_path) as server, _watching(server, broken):
            await until("it is looked at again", again)
            assert (await server.ask(post(body("good")))).uid == "good"
            assert "KeyError" in _events(server.log, "error")[0]["traceback"]
            assert _count(server, 'reload_total{result="error",what="policies"}') >= 1

    run(test)


def test_the_first_load_raises_its_error(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path / "tls") as server:
            watched = _snapshot(server, tmp_path / "nowhere")
            with pytest.raises(PolicyError, match="nowhere: got no directory"):
                await watched.refresh()
            assert server.state.unready() == ["policies and topology are not loaded"]

    run(test)


def _count(server: Serving, sample: str) -> float:
    lines = server.metrics.exposition().decode().splitlines()
    [line] = [each for each in lines if each.startswith(f"podberth_{sample} ")]
    return float(line.rpartition(" ")[2])
