"""The age at which a look is no longer reported, and the silence after which the agent's thread counts as dead."""

import socket
from collections.abc import Iterator
from http.client import HTTPConnection

import pytest

from podberth.agent.last_reading import Meter
from podberth.agent.metrics_server import serving
from podberth.errors import DeviceError
from podberth.settings import Address
from podberth.topology.observation import Observation, ObservedGpu
from podberth.topology.usage import GpuUsage, Usage

INTERVAL = 30.0


class Still:
    """A reader of one GPU, whose usage may be unreadable."""

    gone = False

    def read(self) -> Observation:
        return Observation(gpus=(ObservedGpu(index=0),))

    def usage(self, seen: Observation) -> Usage:
        if self.gone:
            raise DeviceError("NVIDIA: gone")
        return Usage(gpus=tuple(GpuUsage(index=gpu.index, utilization=0.5) for gpu in seen.gpus))

    def wait(self, seconds: float) -> bool:
        return seconds < 0

    def close(self) -> None: ...


class Clock:
    """A clock that goes when a test moves it."""

    seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def meter(clock: Clock) -> Meter:
    return Meter(Still(), node="n", interval_seconds=INTERVAL, kubelet=None, now=clock)


@pytest.fixture
def port(meter: Meter) -> Iterator[int]:
    with serving(Address("", 0), meter) as found:  # no host: every interface
        yield found


def get(port: int, path: str, host: str = "127.0.0.1") -> tuple[int, str]:
    connection = HTTPConnection(host, port, timeout=20)
    connection.request("GET", path)
    answer = connection.getresponse()
    with answer:
        return answer.status, answer.read().decode()


def has_ipv6_loopback() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


@pytest.mark.parametrize(
    "request_",
    [b"GET /metrics HTTP/1.0", b"GET /nothing HTTP/1.0", b"PUT / HTTP/1.0", b"what is this", b"GET / HTTP/9.9"],
)
def test_no_answer_names_the_software(port: int, request_: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=20) as caller:
        caller.sendall(request_ + b"\r\n\r\n")
        with caller.makefile("rb") as answer:
            text = answer.read()
    assert text
    assert b"\r\nServer:" not in text
    assert b"Python" not in text.partition(b"\r\n\r\n")[0]


def look(meter: Meter) -> None:
    meter.read()
    meter.wait(INTERVAL)


def test_a_look_that_is_too_old_is_no_longer_reported(meter: Meter, port: int, clock: Clock) -> None:
    assert "podberth_gpu_healthy{" not in get(port, "/metrics")[1]
    look(meter)
    clock.seconds += meter.patience_seconds
    assert 'podberth_gpu_utilization_ratio{gpu="0",node="n"} 0.5' in get(port, "/metrics")[1]
    clock.seconds += 1
    text = get(port, "/metrics")[1]
    assert "podberth_gpu_healthy{" not in text
    assert 'podberth_agent_devices_seen{node="n"} 0.0' in text


def test_a_thread_that_is_silent_for_too_long_is_reported_dead(meter: Meter, port: int, clock: Clock) -> None:
    assert get(port, "/livez") == (200, "ok\n")
    clock.seconds += 121
    said = "the devices were last looked at 121 s ago; want 120 s at most\n"
    assert get(port, "/livez") == (503, said)
    look(meter)
    assert get(port, "/livez") == (200, "ok\n")


def test_every_interface_is_every_family(meter: Meter, port: int) -> None:
    look(meter)
    families = ("127.0.0.1", "::1") if has_ipv6_loopback() else ("127.0.0.1",)
    assert {get(port, "/livez", host) for host in families} == {(200, "ok\n")}


def test_a_driver_that_goes_between_look_and_usage_costs_the_usage(clock: Clock) -> None:
    reader = Still()
    reader.gone = True
    meter = Meter(reader, node="n", interval_seconds=INTERVAL, kubelet=None, now=clock)
    look(meter)
    reading = meter.reading()
    assert reading.look is not None
    assert [gpu.index for gpu in reading.look.topology.gpus] == [0]
    assert [each.why for each in reading.look.usage.unseen] == ["NVIDIA: gone"]
