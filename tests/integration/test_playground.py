"""The server of ``podberth playground``: it answers the page that has its address, and nobody else."""

import asyncio
import io
import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from newer_schema import newer_schema
from podberth.cli.main import main
from podberth.playground.cluster import read_cluster
from podberth.playground.server import HEADERS, MAX_BODY_BYTES, Playground
from podberth.playground.session import WORKLOAD, Session
from podberth.playground.worker import MOST_WAITING, NoAnswerError, Worker
from podberth.settings import Address

TOLERANT = """\
apiVersion: podberth.io/v1alpha1
kind: GPUPolicy
metadata: {name: tolerant}
spec:
  matchConditions: [{name: no-berth, expression: "!object.spec.?berth.hasValue()"}]
  mutations: [{tolerations: topology.nodes(gpu).tolerations}]
"""
Client = Callable[[aiohttp.ClientSession, Playground], Awaitable[None]]
CONTENT = {"session": Session().as_json()}
# The largest bounded cluster with the largest text of pods takes seconds.
SLOW = {
    "version": 1,
    "cluster": "topology: [{shape: hgx-h100-8, count: 500}]",
    "workload": "---\n".join(
        f"{{apiVersion: v1, kind: Pod, metadata: {{name: a{number}}}, spec: {{containers: [{{name: a, resources: "
        "{limits: {nvidia.com/gpu: 2}}}]}}\n"
        for number in range(2000)
    ),
}


def serve(client: Client, worker: Worker | None = None) -> None:
    async def body() -> None:
        playground = Playground(Session(), worker or Worker())
        await playground.start(Address("127.0.0.1", 0))
        try:
            async with aiohttp.ClientSession() as session:
                await client(session, playground)
        finally:
            await playground.stop()

    asyncio.run(body())


def origin(playground: Playground) -> str:
    return playground.url.rsplit("/", 2)[0]


@pytest.mark.parametrize("file", ["", "page.css", "page.js", "editor.js", "editor.LICENSES.txt", "session"])
def test_each_file_has_the_headers_that_keep_the_page_alone(file: str) -> None:
    async def client(session: aiohttp.ClientSession, playground: Playground) -> None:
        async with session.get(playground.url + file) as response:
            assert response.status == 200
            assert {name: response.headers[name] for name in HEADERS} == HEADERS
            assert await response.read()

    serve(client)


def test_the_policy_of_content_allows_nothing_inline_and_nothing_from_elsewhere() -> None:
    policy = HEADERS["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; ")
    assert set(re.findall(r"(?:script|style|connect)-src ([^;]*)", policy)) == {"'self'"}
    assert "unsafe" not in policy


@pytest.mark.parametrize(
    "path", ["/", "/session", "/TOKEN", "/wrong/", "/wrong/session", "/TOKENa/", "/TOKEN/../session", "/ü/session"]
)
def test_nothing_is_answered_without_the_token(path: str) -> None:
    async def client(session: aiohttp.ClientSession, playground: Playground) -> None:
        token = playground.token
        async with session.get(origin(playground) + path.replace("TOKEN", token)) as response:
            assert response.status in (403, 404)
            assert await response.text() in ("403", "404")
        async with session.post(f"{origin(playground)}/wrong/answer", json=CONTENT) as response:
            assert response.status == 403

    serve(client)


@pytest.mark.parametrize(
    "path", ["/../session.py", "/%2e%2e/session.py", "/..%2f..%2fcli/main.py", "/page.py", "/%2fetc%2fpasswd"]
)
def test_no_other_file_is_served(path: str) -> None:
    async def client(session: aiohttp.ClientSession, playground: Playground) -> None:
        async with session.get(playground.url.rstrip("/") + path) as response:
            assert response.status in (403, 404)

    serve(client)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("127.0.0.1:1", 200),
        ("[::1]", 200),
        ("evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("", 403),
    ],
)
def test_a_name_of_another_site_is_refused(host: str, status: int) -> None:
    async def client(session: aiohttp.ClientSession, playground: Playground) -> None:
        async with session.get(playground.url, headers={"Host": host}) as response:
            assert response.status == status

    serve(client)


@pytest.mark.parametrize("sent", [None, "null", "http://evil.example", "https://{}", "http://localhost"])
def test_a_request_with_content_must_come_from_the_page(sent: str | None) -> None:
    async def client(session: aiohttp.ClientSession, playground: Playground) -> None:
        host = origin(playground).removeprefix("http://")
        headers = {} if sent is None else {"Origin": sent.format(host)}
        async with session.post(f"{playground.url}answer", json=CONTENT, headers=headers) as response:
            assert response.status == 403

    serve(client)


@pytest.mark.parametrize(
    ("kind", "body", "status", "message"),
    [
        ("answer", b"{", 400, "got no JSON"),
        ("answer", b"[" * 100_000, 400, "got no JSON"),
        ("answer", b"[]", 400, "got no object"),
        ("answer", b"{}", 400, "got null, want an object with version 1"),
        ("hover", json.dumps(CONTENT).encode(), 400, "got no place"),
        ("nothing", b"{}", 404, "404"),
        ("answer", b'"' + b"a" * MAX_BODY_BYTES, 413, "413"),
        ("answer", b'"\xff"', 400, "got no JSON"),
    ],
)
def test_a_wrong_request_gets_a_message_and_no_traceback(kind: str, body: bytes, status: int, message: str) -> None:
    async def client(session: aiohttp.ClientSession, playground: Playground) -> None:
        headers = {"Origin": origin(playground), "Content-Type": "application/json"}
        async with session.post(playground.url + kind, data=io.BytesIO(body), headers=headers) as response:
            text = await response.text()
            assert response.status == status
            assert message in text
            assert "Traceback" not in text

    serve(client)


def test_an_answer_that_takes_too_long_is_ended_and_the_next_is_given() -> None:
    async def client(session: aiohttp.ClientSession, playground: Playground) -> None:
        async def answered(content: Any) -> tuple[int, Any]:
            headers = {"Origin": origin(playground)}
            async with session.post(f"{playground.url}answer", json={"session": content}, headers=headers) as response:
                return response.status, await response.json()

        assert (await answered(Session().as_json()))[0] == 200
        playground.worker.patience_seconds = 0.2
        status, found = await answered(SLOW)
        assert (status, found["message"][:29]) == (504, "the answer took longer than 0")
        playground.worker.patience_seconds = 60.0
        assert (await answered(Session().as_json()))[0] == 200

    serve(client)


def test_the_start_of_the_process_has_a_time_limit_of_its_own_and_goes_on_without_the_request() -> None:
    async def client(_: aiohttp.ClientSession, playground: Playground) -> None:
        worker = playground.worker
        worker.start_seconds, worker.patience_seconds = 0.01, 0.0
        started = worker._process
        with pytest.raises(NoAnswerError, match=r"has not started in 0\.01 s, and goes on; try again"):
            await worker.ask("answer", CONTENT)
        worker.start_seconds, worker.patience_seconds = 600.0, 600.0
        asked = asyncio.create_task(worker.ask("answer", CONTENT))
        await asyncio.sleep(0)
        asked.cancel()
        await asyncio.wait([asked])
        assert await worker.ask("answer", CONTENT)
        assert worker._process is started

    serve(client)


def test_a_process_that_ends_is_started_again() -> None:
    async def client(_: aiohttp.ClientSession, playground: Playground) -> None:
        worker = playground.worker
        assert await worker.ask("answer", CONTENT)
        assert worker._process is not None
        worker._process.kill()
        await worker._process.wait()
        assert await worker.ask("answer", CONTENT)

    serve(client)


def test_the_process_decides_with_the_files_about_the_cluster(tmp_path: Path) -> None:
    names = tmp_path / "names.yaml"
    names.write_text("tolerableTaints: [{key: example.com/accelerated}]\n")
    cluster = "topology: [{shape: l4-1, taints: [{key: example.com/accelerated, effect: NoSchedule}]}]"
    workload = WORKLOAD.replace("gpu: 4", "gpu: 1")
    content = {"session": Session(policy=TOLERANT, workload=workload, cluster=cluster).as_json()}

    async def client(_: aiohttp.ClientSession, playground: Playground) -> None:
        found = json.loads(await playground.worker.ask("answer", content))
        assert [each for each in found["marks"]["policy"] if each["level"] == "error"] == []
        assert "example.com/accelerated" in "".join(found["diff"])

    serve(client, Worker(conventions=names, pod_schema=newer_schema(tmp_path)))


def test_a_page_that_is_closed_ends_its_answer() -> None:
    async def client(session: aiohttp.ClientSession, playground: Playground) -> None:
        headers = {"Origin": origin(playground)}
        assert await playground.worker.ask("answer", CONTENT)
        process = playground.worker._process
        assert process is not None
        with pytest.raises(TimeoutError):
            await session.post(
                f"{playground.url}answer",
                json={"session": SLOW},
                headers=headers,
                timeout=aiohttp.ClientTimeout(total=0.2),
            )
        await asyncio.wait_for(process.wait(), timeout=15)
        assert process.returncode == -signal.SIGKILL

    serve(client)


def test_more_requests_than_the_bound_are_refused() -> None:
    async def client(_: aiohttp.ClientSession, playground: Playground) -> None:
        many = (playground.worker.ask("answer", CONTENT) for _ in range(MOST_WAITING + 1))
        found = await asyncio.gather(*many, return_exceptions=True)
        refused = [each for each in found if isinstance(each, NoAnswerError)]
        assert [each.status for each in refused] == [503]

    serve(client)


@pytest.mark.parametrize("address", ["0.0.0.0:0", ":0", "192.0.2.1:0", "example.com:0"])
def test_no_other_machine_is_served_without_a_flag(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["playground", "--address", address]) == 2
    assert "which other machines reach, want 127.0.0.1; or add --expose" in capsys.readouterr().err


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    processes: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "podberth", "playground", *arguments]
        process = subprocess.Popen(
            command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ)
        )
        processes.append(process)
        return process

    yield start
    for each in processes:
        each.kill()
        each.communicate()


def test_the_command_prints_its_address_and_ends_on_a_signal(started: Callable[..., subprocess.Popen[str]]) -> None:
    process = started()
    assert process.stdout is not None
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{32}/\n", process.stdout.readline())
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 0
    assert errors == "podberth: open this address in a browser; Ctrl-C ends the page\n"


def test_an_exposed_page_has_a_warning(started: Callable[..., subprocess.Popen[str]]) -> None:
    process = started("--address", "0.0.0.0:0", "--expose")
    assert process.stderr is not None
    assert "warning: other machines reach this page, without TLS" in process.stderr.readline()


def test_the_page_begins_with_the_files_of_the_command(
    started: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    (tmp_path / "session.json").write_text(json.dumps(Session(policy="a", cluster="b").as_json()))
    (tmp_path / "pod.yaml").write_text("c")
    process = started("session.json", "--workload", "pod.yaml", "--namespace", "team")
    assert process.stdout is not None
    url = process.stdout.readline().strip()

    async def body() -> Any:
        async with aiohttp.ClientSession() as session, session.get(f"{url}session") as response:
            return await response.json()

    texts = {"policy": "a", "workload": "c", "cluster": "b"}
    expected = {"version": 1, **texts, "namespace": "team", "live": False}
    assert asyncio.run(body()) == expected


def test_a_live_cluster_that_does_not_answer_is_said_and_no_example_stands_for_it(
    started: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    (tmp_path / "session.json").write_text(json.dumps(Session().as_json()))
    context = {"name": "a", "context": {"cluster": "a", "user": "a"}}
    server = {"name": "a", "cluster": {"server": "http://127.0.0.1:1"}}
    config = {"current-context": "a", "contexts": [context], "clusters": [server], "users": [{"name": "a", "user": {}}]}
    (tmp_path / "config").write_text(json.dumps(config))
    process = started("session.json", "--live", "--kubeconfig", "config")
    assert process.stdout is not None
    assert process.stderr is not None
    url = process.stdout.readline().strip()
    process.stderr.readline()
    assert "--live: the cluster cannot be read: GET http://127.0.0.1:1/" in process.stderr.readline()
    with urllib.request.urlopen(f"{url}session") as response:  # noqa: S310 - the page of this test
        cluster = json.load(response)["cluster"]
    read = read_cluster(cluster, "default")
    assert (list(read.facts.nodes), read.problems) == ([], ())


def test_a_file_that_is_no_session_is_a_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "session.json"
    for content, message in (("{", "got no JSON"), ("{}", "session: got no version, want an object with version 1")):
        file.write_text(content)
        assert main(["playground", str(file)]) == 2
        assert f"{file}: {message}" in capsys.readouterr().err
    assert main(["playground", "--policy", str(tmp_path / "none")]) == 2
    assert "cannot be read" in capsys.readouterr().err
