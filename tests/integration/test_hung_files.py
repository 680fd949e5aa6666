"""`podberth serve` as a process, over files that never answer: a named pipe, and a mount whose server is gone."""

import asyncio
import json
import os
import shutil
import signal
from pathlib import Path

import pytest

from client_certificates import ClientAuthority
from hung_mount import hung_mount
from integration.process import POLICIES, Served, command, serve
from integration.serving import body, environment, post, run, until
from podberth.kube.documents import load_documents
from podberth.topology.shapes import simulate

_ROOT = Path(__file__).parents[2]
_QUICKLY = ("--reload-seconds", "0.05", "--drain-seconds", "0")


def _policies(directory: Path) -> Path:
    shutil.copytree(POLICIES, directory / "policies")
    return directory / "policies"


def _grace_seconds() -> float:
    text = (_ROOT / "manifests" / "base" / "deployment.yaml").read_text()
    [template] = [each.document["spec"]["template"] for each in load_documents(text, "")[0]]
    return float(template["spec"]["terminationGracePeriodSeconds"])


async def _count(process: Served, sample: str) -> bool:
    answer = await process.probe("/metrics")
    return f"podberth_{sample}".encode() in answer.content


_WATCHED = {
    "tls.crt": "certificate",
    "tls.key": "certificate",
    "clients.crt": "client CA",
    "record.key": "record key",
    "nodes.json": "topology",
}
"""The files that `podberth serve` looks at beside policies, and what the log calls them."""


def _over_files(directory: Path) -> tuple[str, ...]:
    """Return the flags for client certificates and a topology, of files that are made in ``directory``."""
    authority, nodes = directory / "clients.crt", directory / "nodes.json"
    authority.write_bytes(ClientAuthority(directory / "clients").file.read_bytes())
    nodes.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": simulate("l4-1", "node")}))
    clients = ("--client-ca", str(authority), "--client-name", "kube-apiserver")
    return (*clients, "--topology", str(nodes), *_QUICKLY)


async def _kept(process: Served, what: str) -> str:
    """Return why a part could not be loaded again; the process is still ready."""
    line = await process.line(f"{what}: cannot be used; the last good one stays in force")
    assert await _count(process, f'reload_total{{result="error",what="{what}"}} 1.0')
    assert (await process.probe("/readyz")).status == 200
    [problem] = line["problems"]
    assert isinstance(problem, str)
    return problem


async def _leaves(process: Served) -> None:
    process.process.send_signal(signal.SIGTERM)
    async with asyncio.timeout(_grace_seconds()):
        assert await process.process.wait() == 0


def test_a_named_pipe_among_the_policies_is_reported_and_delays_nothing(tmp_path: Path) -> None:
    policies = _policies(tmp_path)

    async def test() -> None:
        async with serve(tmp_path, "--policies", str(policies), *_QUICKLY) as process:
            os.mkfifo(policies / "pipe.yaml")
            line = await process.line("policies: cannot be used; the last good one stays in force")
            [problem] = line["problems"]
            assert problem == f"{policies}/pipe.yaml: cannot be read: got a named pipe, want a regular file"
            assert await _count(process, 'reload_total{result="error",what="policies"} 1.0')
            assert (await process.probe("/readyz")).status == 200
            async with process.connect() as connection:
                assert (await connection.ask(post(body("still")))).uid == "still"
            (policies / "pipe.yaml").unlink()
            await process.line("loaded")
            await _leaves(process)

    run(test)


@pytest.mark.parametrize(("name", "what"), _WATCHED.items())
def test_a_named_pipe_for_any_other_file_is_reported_and_delays_nothing(tmp_path: Path, name: str, what: str) -> None:
    async def test() -> None:
        async with serve(tmp_path, *_over_files(tmp_path)) as process:
            os.mkfifo(tmp_path / "pipe")
            (tmp_path / "pipe").rename(tmp_path / name)
            problem = await _kept(process, what)
            assert problem.endswith(f"{tmp_path}/{name}: cannot be read: got a named pipe, want a regular file")
            await _leaves(process)

    run(test)


def test_certificates_keys_and_topology_on_a_mount_that_hangs_are_reported_and_hold_nothing_up(tmp_path: Path) -> None:
    (tmp_path / "mounted").mkdir()

    async def test() -> None:
        async with serve(tmp_path, *_over_files(tmp_path)) as process:
            with hung_mount(tmp_path / "mounted") as mounted:
                waiting = asyncio.create_task(asyncio.to_thread(mounted.wait_for_a_request))
                # One after the other: what hangs already holds up no look at the others.
                for name in ("tls.key", "clients.crt", "record.key", "nodes.json"):
                    (tmp_path / "link").symlink_to(tmp_path / "mounted" / name)
                    (tmp_path / "link").rename(tmp_path / name)
                    problem = await _kept(process, _WATCHED[name])
                    assert "cannot be read: got no answer from the file system for 8 s" in problem
                await waiting
                await _leaves(process)

    run(test)


def test_a_mount_that_hangs_is_reported_and_holds_neither_reloads_nor_the_end_up(tmp_path: Path) -> None:
    policies = _policies(tmp_path)
    (policies / "mounted").mkdir()

    async def test() -> None:
        async with serve(tmp_path, "--policies", str(policies), *_QUICKLY) as process:
            with hung_mount(policies / "mounted") as mounted:
                await asyncio.to_thread(mounted.wait_for_a_request)
                line = await process.line("policies: cannot be used; the last good one stays in force")
                [problem] = line["problems"]
                assert problem.startswith(f"{policies}: cannot be read: got no answer from the file system for 8 s")
                assert await _count(process, 'reload_total{result="error",what="policies"} 1.0')
                assert (await process.probe("/readyz")).status == 200
                async with process.connect() as connection:
                    assert (await connection.ask(post(body("still")))).uid == "still"
                # The loop continues: the certificate is checked after the policies.
                (tmp_path / "tls.crt").write_bytes(b"")
                said = await process.line("certificate: cannot be used; the last good one stays in force")
                assert "got no certificate that can be read" in said["problems"][0]
                await _leaves(process)

    run(test)


def test_sigterm_ends_the_process_while_a_read_hangs(tmp_path: Path) -> None:
    policies = _policies(tmp_path)
    (policies / "mounted").mkdir()

    async def test() -> None:
        async with serve(tmp_path, "--policies", str(policies), *_QUICKLY) as process:
            with hung_mount(policies / "mounted") as mounted:
                # From here on the thread that reads is in a system call that does not return.
                await asyncio.to_thread(mounted.wait_for_a_request)
                await _leaves(process)

    run(test)


def test_a_mount_that_answers_again_is_read_again(tmp_path: Path) -> None:
    policies = _policies(tmp_path)
    (policies / "mounted").mkdir()

    async def test() -> None:
        async with serve(tmp_path, "--policies", str(policies), *_QUICKLY) as process:
            with hung_mount(policies / "mounted") as mounted:
                await asyncio.to_thread(mounted.wait_for_a_request)
                await process.line("policies: cannot be used; the last good one stays in force")

            async def loaded() -> bool:
                return await _count(process, 'reload_total{result="ok",what="policies"} 2.0')

            await until("the policies are loaded again", loaded)

    run(test)


def test_a_start_over_a_mount_that_hangs_ends_with_exit_code_2(tmp_path: Path) -> None:
    policies = _policies(tmp_path)
    (policies / "mounted").mkdir()

    async def test() -> None:
        with hung_mount(policies / "mounted"):
            process = await asyncio.create_subprocess_exec(
                *command(tmp_path, "--policies", str(policies)),
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=environment(),
            )
            _, talk = await process.communicate()
            assert process.returncode == 2
            assert b"got no answer from the file system for 8 s" in talk

    run(test)
