"""The kubelet's PodResources API over its real protocol: the published service on a unix socket."""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from gotools.kubelet_socket import KubeletSocket, kubelet_socket, pod
from podberth.agent import pod_resources
from podberth.agent.kubelet import Kubelet, KubeletUnavailable
from podberth.agent.pod_resources import list_grants
from podberth.devices.device_ids import DeviceName
from podberth.topology.usage import Grant

GPU = "GPU-00000000-0000-4000-8000-000000000000"


@pytest.fixture
def kubelet(kubelet_program: Path, tmp_path: Path) -> Iterator[KubeletSocket]:
    with kubelet_socket(kubelet_program, tmp_path) as made:
        yield made


@pytest.fixture(autouse=True)
def patient(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give a busy machine enough time for an answer in tests that are not about the deadline."""
    if "hangs" not in request.node.name:
        monkeypatch.setattr(pod_resources, "_DEADLINE_SECONDS", 60.0)


def refusal(path: Path) -> str:
    with pytest.raises(KubeletUnavailable) as refused:
        list_grants(path)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_devices_and_claims_of_containers_are_reported(kubelet: KubeletSocket) -> None:
    claimed = {
        "name": "train-1",
        "namespace": "team-b",
        "containers": [
            {
                "name": "worker",
                "cpuIds": ["1", "2"],
                "memory": [{"memoryType": "hugepages-1Gi", "size": "1073741824", "topology": {"nodes": [{"ID": "0"}]}}],
                "dynamicResources": [
                    {
                        "claimName": "gpus",
                        "claimNamespace": "team-b",
                        "claimResources": [
                            {
                                "driverName": "gpu.nvidia.com",
                                "poolName": "n1",
                                "deviceName": "gpu-3",
                                "cdiDevices": [{"name": "k8s.gpu.nvidia.com/claim=x-gpu-3"}],
                                "shareId": "y",
                            }
                        ],
                    }
                ],
            }
        ],
    }
    devices = ("nvidia.com/gpu", [GPU, "odd"])
    kubelet.answer({"podResources": [pod("train-0", devices, ("cpu/none", [])), claimed, pod("idle")]})
    who = {"namespace": "team-a", "pod": "train-0", "container": "main", "resource": "nvidia.com/gpu"}
    assert list_grants(kubelet.path) == (
        Grant(**who, device=DeviceName(gpu_uuid=GPU)),
        Grant(**who, device=None),
        Grant(
            namespace="team-b",
            pod="train-1",
            container="worker",
            resource="gpu.nvidia.com",
            device=DeviceName(minor=3),
        ),
    )


def test_a_node_without_pods_has_an_answer(kubelet: KubeletSocket) -> None:
    assert list_grants(kubelet.path) == ()


def test_a_kubelet_that_hangs_is_given_up_after_the_deadline(kubelet: KubeletSocket) -> None:
    kubelet.answer("hang")
    assert refusal(kubelet.path) == f"{kubelet.path}: no kubelet; got no answer within 2 s"


def test_a_refusal_is_reported_on_one_line(kubelet: KubeletSocket) -> None:
    kubelet.answer("fail 8")
    assert refusal(kubelet.path) == f"{kubelet.path}: no kubelet; got RESOURCE_EXHAUSTED: as the test wants it"


def test_an_answer_beyond_the_bound_is_not_taken(kubelet: KubeletSocket) -> None:
    kubelet.answer("pods 5000")  # 2 MB
    assert list_grants(kubelet.path) == ()
    kubelet.answer("pods 20000")
    assert "got RESOURCE_EXHAUSTED" in refusal(kubelet.path)


def test_a_kubelet_that_was_restarted_is_found_by_the_next_call(kubelet: KubeletSocket) -> None:
    kubelet.answer({"podResources": [pod("train-0", ("nvidia.com/gpu", [GPU]))]})
    for _ in range(3):
        assert len(list_grants(kubelet.path)) == 1
        kubelet.stop()
        assert "got UNAVAILABLE" in refusal(kubelet.path)
        kubelet.path.unlink()
        assert "got no such socket" in refusal(kubelet.path)
        kubelet.start()
    assert len(list_grants(kubelet.path)) == 1


def test_a_missing_kubelet_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "got UNAVAILABLE" in refusal(tmp_path / "file")
    assert "got UNAVAILABLE" in refusal(tmp_path)


def test_an_invalid_answer_is_reported(kubelet: KubeletSocket, capfd: pytest.CaptureFixture[str]) -> None:
    kubelet.answer("garbage")
    assert refusal(kubelet.path).endswith("no kubelet; got no valid ListPodResourcesResponse")
    assert capfd.readouterr().err == ""


def test_a_socket_that_may_not_be_opened_is_reported(kubelet: KubeletSocket, tmp_path: Path) -> None:
    root = os.geteuid() == 0
    try:
        tmp_path.chmod(0o700 if root else 0)
        if root:
            os.seteuid(65534)
        assert refusal(kubelet.path).endswith("no kubelet; got: Permission denied")
    finally:
        if root:
            os.seteuid(0)
        tmp_path.chmod(0o700)


def test_garbage_on_the_socket_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "kubelet.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()

        def babble() -> None:
            connection, _ = server.accept()
            with connection, suppress(OSError):  # it hangs up
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 100)
                connection.recv(65536)

        speaker = threading.Thread(target=babble)
        speaker.start()
        assert "got UNAVAILABLE" in refusal(path)
        speaker.join()


def test_it_is_asked_seldom_and_complained_about_once() -> None:
    now, said, asked = [100.0], list[str](), list[float]()
    down = True

    def ask() -> tuple[Grant, ...]:
        asked.append(now[0])
        if down:
            raise KubeletUnavailable("sock: no kubelet; got nothing")
        return ()

    kubelet = Kubelet(ask, said.append, now=lambda: now[0])
    for second in (0, 1, 4, 5, 9, 10):
        now[0] = 100.0 + second
        assert kubelet.grants() is None
    assert asked == [100.0, 105.0, 110.0]
    assert said == ["sock: no kubelet; got nothing; until it answers, metrics do not show which GPUs are allocated"]
    down, now[0] = False, 120.0
    assert kubelet.grants() == ()
    down, now[0] = True, 130.0
    assert kubelet.grants() is None
    assert len(said) == 2
