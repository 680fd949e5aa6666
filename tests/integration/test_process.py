"""`podberth serve` as a process: its start, its end, and its independence of the reader of its output."""

import asyncio
import contextlib
import json
import signal
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

from builders import gpu_pod, review
from integration.process import Served, command, serve
from integration.serving import body, environment, post, run, until
from podberth import __version__
from podberth.topology.shapes import simulate


def test_serving_process_is_live_ready_and_measured(tmp_path: Path) -> None:
    async def test() -> None:
        async with serve(tmp_path) as served:
            assert (await served.probe("/livez")).status == 200
            assert (await served.probe("/readyz")).status == 200
            async with served.connect() as connection:
                for path in ("/mutate", "/validate", "/validate-workload"):
                    assert (await connection.ask(post(body(path), path))).uid == path
            text = (await served.probe("/metrics")).content.decode()
            assert "podberth_policies_loaded 0.0" not in text
            assert "podberth_admission_requests_total" in text
            line = await served.line("review")
            assert (line["uid"], line["code"], line["user"]) == ("/mutate", 200, "kubernetes-admin")

    run(test)


def test_who_has_no_credentials_reads_policies_and_counts_and_no_name_of_a_pod_a_namespace_or_a_node(
    tmp_path: Path,
) -> None:
    names = ("pod-of-somebody", "namespace-of-somebody", "node-of-somebody")
    pod, namespace, node = names
    nodes = tmp_path / "nodes.json"
    nodes.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": simulate("hgx-h100-8", node)}))
    reviewed = json.dumps(review(gpu_pod(2, name=pod, namespace=namespace), namespace=namespace)).encode()

    async def test() -> None:
        async with serve(tmp_path / "tls", "--topology", str(nodes)) as served:
            async with served.connect() as connection:
                for path in ("/mutate", "/validate"):
                    assert (await connection.ask(post(reviewed, path))).status == 200
            pages = [(await served.probe(path)).content.decode() for path in ("/livez", "/readyz", "/metrics")]
        assert f'podberth_build_info{{version="{__version__}"}} 1.0' in pages[-1]
        assert 'podberth_policy_decisions_total{policy="gpu-tolerations"' in pages[-1]
        assert "podberth_topology_nodes 1.0" in pages[-1]
        assert not any(name in page for name in names for page in pages)

    run(test)


def test_review_in_flight_survives_sigterm(tmp_path: Path) -> None:
    async def test() -> None:
        async with serve(tmp_path, "--drain-seconds", "30") as served, served.connect() as connection:
            request = post(body("in flight"))
            await connection.send(request[:-20])
            await until("it is being read", lambda: _metric(served, "podberth_admission_in_flight 1.0"))
            served.process.send_signal(signal.SIGTERM)
            await until("readiness fails", lambda: _unready(served))
            assert (await served.probe("/livez")).status == 200
            async with served.connect() as other:
                answer = await other.ask(post(body("while draining")))
                assert (answer.uid, answer.closes) == ("while draining", True)
            # A second signal ends the wait for the cluster, not the one for reviews.
            served.process.send_signal(signal.SIGTERM)
            await until("nothing is accepted any more", lambda: _refused(served))
            answer = await connection.ask(request[-20:])
            assert (answer.uid, answer.closes) == ("in flight", True)
            assert await served.process.wait() == 0

    run(test)


def test_idle_connections_do_not_delay_the_end(tmp_path: Path) -> None:
    async def test() -> None:
        async with serve(tmp_path, "--drain-seconds", "0") as served, served.connect() as idle:
            assert (await idle.ask(post(body("u-1")))).uid == "u-1"
            served.process.send_signal(signal.SIGTERM)
            assert await idle.reader.read() == b""
            assert await served.process.wait() == 0

    run(test)


@pytest.mark.parametrize("closed", [False, True], ids=["blocked", "closed"])
def test_log_that_nobody_reads_stops_nothing(tmp_path: Path, closed: bool) -> None:
    async def test() -> None:
        async with serve(tmp_path) as served, served.connect() as connection:
            transport = served.process._transport.get_pipe_transport(1)  # type: ignore[attr-defined]
            if closed:
                transport.close()
            else:
                transport.pause_reading()
            # Half a kilobyte each: four times what a pipe holds.
            for number in range(500):
                assert (await connection.ask(post(body(f"u-{number}")))).uid == f"u-{number}"
            if closed:
                await until("lines are counted as lost", lambda: _lost(served))
            served.process.send_signal(signal.SIGINT)
            assert await connection.reader.read() == b""
            if not closed:
                transport.resume_reading()
            assert await served.process.wait() == 0

    run(test)


def test_broken_policy_is_reported_with_its_place_and_exit_code_2(tmp_path: Path) -> None:
    async def test() -> None:
        policies = tmp_path / "policies"
        policies.mkdir()
        (policies / "policy.yaml").write_text("apiVersion: podberth.io/v1alpha1\nkind: GPUPolicy\nmetadata: {}\n")
        arguments = command(tmp_path / "tls", "--policies", str(policies))
        process = await asyncio.create_subprocess_exec(*arguments, stdout=PIPE, stderr=PIPE, env=environment())
        _, talk = await process.communicate()
        assert process.returncode == 2
        assert f"{policies}/policy.yaml:" in talk.decode()
        assert "Traceback" not in talk.decode()

    run(test)


def test_port_that_is_taken_is_reported_with_exit_code_2(tmp_path: Path) -> None:
    async def test() -> None:
        async with serve(tmp_path) as served:
            arguments = command(tmp_path, "--listen", f"127.0.0.1:{served.port}")
            process = await asyncio.create_subprocess_exec(*arguments, stdout=PIPE, stderr=PIPE, env=environment())
            _, talk = await process.communicate()
            assert process.returncode == 2
            assert talk.decode().startswith(f"podberth: --listen: got 127.0.0.1:{served.port}")

    run(test)


async def _metric(served: Served, sample: str) -> bool:
    return sample in (await served.probe("/metrics")).content.decode()


async def _lost(served: Served) -> bool:
    return not await _metric(served, "podberth_log_lines_dropped_total 0.0")


async def _unready(served: Served) -> bool:
    answer = await served.probe("/readyz")
    return answer.status == 503 and answer.document == {"unready": ["draining"]}


async def _refused(served: Served) -> bool:
    try:
        _, writer = await asyncio.open_connection(served.host, served.port)
    except ConnectionRefusedError:
        return True
    except ConnectionResetError:  # the listener closed with this one in its queue; the next one is refused
        return False
    writer.close()
    with contextlib.suppress(ConnectionResetError):  # likewise, after the handshake of TCP
        await writer.wait_closed()
    return False
