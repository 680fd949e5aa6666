"""Metrics of the agent as a process: its devices are the library's, its kubelet is the published service."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from controlplane.api import CONNECTION_ERRORS
from controlplane.wait import wait_for
from gotools.kubelet_socket import KubeletSocket, kubelet_socket, pod

from .driver import Driver, environment
from .scenario import Device, address, hgx_h100, write_sysfs
from .scraping import Agent, Labels, agent
from .test_usage import GIB, cut


def gpu(index: int) -> str:
    return f"GPU-{index:08d}-0000-4000-8000-000000000000"


def mig(index: int, slot: int) -> str:
    return f"MIG-{index:08d}-{slot + 1:04d}-4000-8000-000000000000"


@pytest.fixture
def driver(tmp_path: Path) -> Driver:
    busy = {f"gpu.{index}.utilization": index * 10 for index in range(8)}
    made = Driver(tmp_path, hgx_h100() | busy | {f"gpu.{index}.used": index * 1024 for index in range(8)})
    write_sysfs(made.sysfs, [Device(address=address(index), numa=index // 4) for index in range(8)])
    return made


@pytest.fixture
def cut_driver(tmp_path: Path) -> Driver:
    made = Driver(tmp_path, cut())
    write_sysfs(made.sysfs, [Device(address=address(index)) for index in range(2)])
    return made


@pytest.fixture
def kubelet(kubelet_program: Path, tmp_path: Path) -> Iterator[KubeletSocket]:
    with kubelet_socket(kubelet_program, tmp_path) as made:
        yield made


def started(running: Agent) -> Agent:
    wait_for(lambda: running.by_gpu("podberth_gpu_healthy"), what="the first look")
    return running


def answered(running: Agent) -> dict[str, list[tuple[Labels, float]]] | None:
    """Return a scrape in which the kubelet has answered; it has two seconds, and on a busy machine may need them."""
    scrape = running.scrape()
    return scrape if scrape["podberth_agent_pod_resources_up"] == [({}, 1.0)] else None


def test_metrics_say_what_gpus_are_and_do(driver: Driver) -> None:
    with agent(driver) as running:
        started(running)
        # Counted once the document is given out, which follows the look.
        changes = "podberth_agent_document_changes_total"
        wait_for(lambda: running.scrape()[changes] == [({}, 1.0)], what="the first document to be counted")
        scrape = running.scrape()
        assert scrape["podberth_gpu_info"][3][0] == {
            "gpu": "3",
            "uuid": gpu(3),
            "vendor": "nvidia",
            "product": "NVIDIA H100 80GB HBM3",
            "pci_id": "2330",
            "mig": "false",
        }
        assert running.by_gpu("podberth_gpu_utilization_ratio") == {str(n): n / 10 for n in range(8)}
        assert running.by_gpu("podberth_gpu_memory_used_bytes") == {str(n): n * GIB for n in range(8)}
        assert set(running.by_gpu("podberth_gpu_memory_total_bytes").values()) == {81559 << 20}
        assert set(running.by_gpu("podberth_gpu_healthy").values()) == {1.0}
        assert scrape["podberth_agent_devices_seen"] == [({}, 1.0)]
        # Nobody asked the kubelet: no GPU is reported as free.
        assert not {"podberth_gpu_allocated", "podberth_gpu_held_devices", "podberth_agent_pod_resources_up"} & set(
            scrape
        )
        assert "podberth_gpu_problem_info" not in scrape


def test_a_lost_gpu_is_unhealthy_and_has_no_utilization(driver: Driver) -> None:
    with agent(driver, "--interval", "0.1") as running:
        started(running)
        driver.change({"gpu.2.lost": 1})
        wait_for(lambda: running.by_gpu("podberth_gpu_healthy")["2"] == 0, what="the loss")
        scrape = running.scrape()
        assert scrape["podberth_gpu_problem_info"] == [({"gpu": "2", "problem": "gpu is lost"}, 1.0)]
        assert set(running.by_gpu("podberth_gpu_utilization_ratio")) == set("0134567")
        assert set(running.by_gpu("podberth_gpu_memory_used_bytes")) == set("0134567")
        assert set(running.by_gpu("podberth_gpu_info")) == set("01234567")
        driver.change({"gpu.2.lost": 0})
        wait_for(lambda: "2" in running.by_gpu("podberth_gpu_utilization_ratio"), what="its return")


def test_without_a_driver_there_are_no_metrics_of_its_gpus(driver: Driver) -> None:
    with agent(driver, "--interval", "0.1") as running:
        started(running)
        driver.change({"driver.loaded": 0})
        wait_for(lambda: not running.by_gpu("podberth_gpu_info"), what="the driver's end")
        wait_for(lambda: running.scrape()["podberth_agent_devices_seen"] == [({}, 0.0)], what="it to be counted")
        scrape = running.scrape()
        assert {name for name in scrape if not name.startswith("podberth_agent_")} == set()
        assert scrape["podberth_agent_devices_seen"] == [({}, 0.0)]
        assert scrape["podberth_agent_last_read_timestamp_seconds"][0][1] > 0
        failed = [value for labels, value in scrape["podberth_agent_reads_total"] if labels["result"] == "error"]
        assert failed[0] >= 1
        assert running.get("/livez") == (200, "ok\n")  # it lives, and waits for its driver
        driver.change({"driver.loaded": 1, "driver.generation": 1})
        wait_for(lambda: len(running.by_gpu("podberth_gpu_info")) == 8, what="the driver's return")


def test_mig_devices_report_their_memory(cut_driver: Driver) -> None:
    with agent(cut_driver) as running:
        scrape = started(running).scrape()
    info = [labels for labels, _ in scrape["podberth_mig_device_info"]]
    assert info[0] == {"gpu": "0", "mig_uuid": mig(0, 0), "profile": "3g.20gb", "gpu_instance": "1"}
    used = {labels["mig_uuid"]: value for labels, value in scrape["podberth_mig_device_memory_used_bytes"]}
    assert used == {mig(0, 0): GIB, mig(0, 1): 0}
    assert {labels["gpu"] for labels, _ in scrape["podberth_gpu_utilization_ratio"]} == {"1"}
    unseen = [labels for labels, _ in scrape["podberth_agent_unseen_info"]]
    assert {"gpu": "0", "what": "memory in use", "why": "needs privilege"} in unseen


def test_the_kubelet_says_who_holds_what(cut_driver: Driver, kubelet: KubeletSocket) -> None:
    kubelet.answer(
        {
            "podResources": [
                pod("train-0", ("nvidia.com/mig-3g.20gb", [mig(0, 0)])),
                pod("serve-0", ("nvidia.com/gpu", [f"{gpu(1)}::0", f"{gpu(1)}::1"]), namespace="team-b"),
                pod("serve-1", ("nvidia.com/gpu", ["nvidia7/vgpu2"]), namespace="team-b"),
                pod("web", ("example.com/nic", ["eth0"])),
            ]
        }
    )
    with agent(cut_driver, "--pod-resources", str(kubelet.path)) as running:
        started(running)
        scrape = wait_for(lambda: answered(running), what="the kubelet's answer")
    assert scrape["podberth_agent_unmatched_devices"] == [({}, 0.0)]
    assert {(labels["gpu"], value) for labels, value in scrape["podberth_gpu_allocated"]} == {("0", 1.0), ("1", 1.0)}
    assert {(labels["mig_uuid"], value) for labels, value in scrape["podberth_mig_device_allocated"]} == {
        (mig(0, 0), 1.0),
        (mig(0, 1), 0.0),
        (mig(0, 2), 0.0),
    }
    assert {
        (labels["gpu"], labels["mig_uuid"], labels["namespace"], labels["pod"], labels["container"], value)
        for labels, value in scrape["podberth_gpu_held_devices"]
    } == {
        ("0", mig(0, 0), "team-a", "train-0", "main", 1.0),
        ("1", "", "team-b", "serve-0", "main", 2.0),
        ("1", "", "team-b", "serve-1", "main", 1.0),
    }


def test_without_a_kubelet_no_gpu_is_reported_as_free(driver: Driver, kubelet: KubeletSocket) -> None:
    """One log line and a metric say so, until the kubelet is back."""

    def up(value: float) -> bool:
        return running.scrape()["podberth_agent_pod_resources_up"] == [({}, value)]

    with agent(driver, "--pod-resources", str(kubelet.path)) as running:
        started(running)
        scrape = wait_for(lambda: answered(running), what="the kubelet's answer")
        assert {value for _, value in scrape["podberth_gpu_allocated"]} == {0.0}
        kubelet.answer("hang")
        wait_for(lambda: up(0.0), what="the kubelet's silence")
        assert running.by_gpu("podberth_gpu_allocated") == {}
        assert len(running.by_gpu("podberth_gpu_utilization_ratio")) == 8
        said = running.said()
        assert "no kubelet; got no answer within 2 s" in said
        assert said.endswith("until it answers, metrics do not show which GPUs are allocated\n")
        kubelet.stop()
        kubelet.path.unlink()
        kubelet.answer({"podResources": [pod("train-0", ("nvidia.com/gpu", [gpu(4)]))]})
        kubelet.start()
        wait_for(lambda: up(1.0), what="the kubelet's return")
        scrape = wait_for(lambda: answered(running), what="the kubelet's answer")
        assert {labels["gpu"] for labels, held in scrape["podberth_gpu_allocated"] if held} == {"4"}


def test_a_call_that_hangs_in_the_driver_hangs_no_scrape(driver: Driver) -> None:
    with agent(driver, "--interval", "0.1") as running:
        started(running)
        driver.change({"hang.nvmlDeviceGetUtilizationRates": 1})
        stuck = wait_for(lambda: _reads_rest(running), what="the hanging call")
        assert running.by_gpu("podberth_gpu_utilization_ratio") == {str(n): n / 10 for n in range(8)}
        driver.change({}, without=("hang.",))
        wait_for(lambda: _reads(running) > stuck, what="the call's end")


def _reads(running: Agent) -> float:
    return max(value for _, value in running.scrape()["podberth_agent_reads_total"])


def _reads_rest(running: Agent) -> float:
    """Return how many looks there were if half a second, five looks, brings no other."""
    before = _reads(running)
    try:
        wait_for(lambda: _reads(running) > before, timeout_seconds=0.5, what="another look")
    except TimeoutError:
        return before
    return 0.0


def test_a_page_that_is_not_there_is_not_found(driver: Driver) -> None:
    with agent(driver) as running:
        assert running.get("/")[0] == 404
        assert running.get("/metrics?name=x")[0] == 200


def test_those_who_connect_and_say_a_byte_now_and_then_keep_nobody_out(driver: Driver) -> None:
    """More than are served at once: the surplus is hung up on at once, the others after five seconds."""
    with agent(driver) as running:
        started(running)
        slow = [socket.create_connection(("127.0.0.1", running.port)) for _ in range(20)]

        def answers() -> bool:
            for each in slow:
                with suppress(OSError):
                    each.send(b"G")
            return _answers(running)

        began = time.monotonic()
        try:
            assert not answers() or time.monotonic() - began > 5  # then they are gone already
            wait_for(answers, what="an answer past them")
        finally:
            for each in slow:
                each.close()
        assert running.process.poll() is None


def _answers(running: Agent) -> bool:
    try:
        return running.get("/livez")[0] == 200
    except CONNECTION_ERRORS:
        return False


def run(*flags: str, driver: Driver) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-W",
        "error",
        "-m",
        "podberth",
        "agent",
        "--print",
        "--sysfs",
        str(driver.sysfs),
        *flags,
    ]
    return subprocess.run(command, env=environment(driver.file), capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--metrics-listen", "nine"), "want HOST:PORT"),
        (("--metrics-listen", ":0", "--once"), "goes with neither --once nor --simulate"),
        (("--metrics-listen", ":0", "--simulate", "hgx-h100-8"), "goes with neither --once nor --simulate"),
        (("--pod-resources", "/x"), "--metrics-listen HOST:PORT too"),
    ],
)
def test_flags_that_do_not_go_together_end_with_2(flags: tuple[str, ...], said: str, driver: Driver) -> None:
    done = run(*flags, driver=driver)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_a_port_that_is_taken_ends_with_2(driver: Driver) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = run("--metrics-listen", f"127.0.0.1:{taken.getsockname()[1]}", driver=driver)
    assert done.returncode == 2
    assert "--metrics-listen: cannot listen on 127.0.0.1:" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_without_grpc_it_says_what_to_install(driver: Driver, tmp_path: Path) -> None:
    (tmp_path / "grpc.py").write_text("raise ModuleNotFoundError(\"No module named 'grpc'\", name='grpc')\n")
    environ = environment(driver.file)
    environ["PYTHONPATH"] = f"{tmp_path}:{environ['PYTHONPATH']}"
    flags = ["--metrics-listen", "127.0.0.1:0", "--pod-resources", "/x"]
    command = [sys.executable, "-m", "podberth", "agent", "--print", "--sysfs", str(driver.sysfs), *flags]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--pod-resources: got No module named 'grpc', want podberth's extra agent; do: pip" in done.stderr
