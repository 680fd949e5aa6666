"""Reading the OpenB trace: good lines, bad lines, and samples; the rows are made up, for the trace has no licence."""

import pytest
from bench.placement.trace import TraceError, TraceNode, TracePod, read_nodes, read_pods, sample

NODES = "sn,cpu_milli,memory_mib,gpu,model\n"
PODS = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"


def pod_row(name: str = "p", gpus: object = 1, milli: object = 1000, created: object = 0) -> str:
    return f"{name},4000,8192,{gpus},{milli},,LS,Running,{created},9,9\n"


def test_a_node_is_read() -> None:
    [node] = read_nodes(NODES + "m-1,96000,393216,8,G2\n")
    assert node == TraceNode(name="m-1", cpu_milli=96000, memory_mib=393216, gpus=8, model="G2")


def test_a_pod_is_read() -> None:
    [pod] = read_pods(PODS + pod_row(milli=250, created=7))
    assert pod == TracePod(name="p", cpu_milli=4000, memory_mib=8192, gpus=1, gpu_milli=250, created=7)
    assert pod.asked == 0.25
    assert pod.shares


@pytest.mark.parametrize(
    ("gpus", "milli", "asked", "shares"), [(0, 0, 0.0, False), (1, 1000, 1.0, False), (8, 1000, 8.0, False)]
)
def test_who_shares(gpus: int, milli: int, asked: float, shares: bool) -> None:
    [pod] = read_pods(PODS + pod_row(gpus=gpus, milli=milli))
    assert (pod.asked, pod.shares) == (asked, shares)


def test_pods_come_in_the_order_of_their_arrival_and_those_of_one_second_as_they_stand() -> None:
    rows = pod_row("late", created=9) + pod_row("b", created=1) + pod_row("a", created=1)
    assert [pod.name for pod in read_pods(PODS + rows)] == ["b", "a", "late"]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("m,x,1,8,G2\n", "nodes.csv:2: cpu_milli: got 'x', want a whole number from 1"),
        ("m,1,-5,8,G2\n", "nodes.csv:2: memory_mib: got '-5', want a whole number from 1"),
        ("m,1,1,0,G2\n", "nodes.csv:2: gpu: got '0', want a whole number from 1"),
        ("m,1,1,8,\n", "nodes.csv:2: model: got nothing, want a word"),
        ("m,1,1\n", "nodes.csv:2: gpu: got '', want a whole number from 1"),
        ("m,1,1,\u0668,G2\n", "nodes.csv:2: gpu: got '\u0668', want a whole number from 1"),
        ("", "nodes.csv: rows: got none, want at least one"),
    ],
)
def test_a_bad_line_is_named(row: str, said: str) -> None:
    with pytest.raises(TraceError) as caught:
        read_nodes(NODES + row, "nodes.csv")
    assert str(caught.value) == said


@pytest.mark.parametrize(
    ("gpus", "milli", "want"),
    [(0, 500, "0 to 0"), (1, 0, "1 to 1000"), (1, 1001, "1 to 1000"), (2, 500, "1000 to 1000")],
)
def test_parts_are_of_one_gpu(gpus: int, milli: int, want: str) -> None:
    with pytest.raises(TraceError, match=f"gpu_milli: got {milli} of {gpus} GPUs, want {want}"):
        read_pods(PODS + pod_row(gpus=gpus, milli=milli))


def test_all_bad_lines_are_named_and_many_are_counted() -> None:
    with pytest.raises(TraceError) as caught:
        read_nodes(NODES + "m,x,1,8,G2\n" * 12, "n")
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("n:2:")
    assert lines[-1] == "and 2 more"
    assert len(lines) == 11


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n"])
def test_another_file_is_refused(text: str) -> None:
    with pytest.raises(
        TraceError, match=r"^nodes\.csv:1: columns: got .*, want sn, .* too; do: name the trace's folder$"
    ):
        read_nodes(text, "nodes.csv")


def test_a_sample_keeps_order_and_proportions() -> None:
    kinds = ["a"] * 60 + ["b"] * 30 + ["c"] * 10
    drawn = sample(kinds, 10, seed=1)
    assert drawn == ("a",) * drawn.count("a") + ("b",) * drawn.count("b") + ("c",) * drawn.count("c")
    for kind, share in (("a", 6), ("b", 3), ("c", 1)):
        assert abs(drawn.count(kind) - share) <= 1


def test_a_sample_can_be_drawn_again_and_another_seed_is_another_sample() -> None:
    numbers = range(1000)
    assert sample(numbers, 50, seed=1) == sample(numbers, 50, seed=1)
    assert sample(numbers, 50, seed=1) != sample(numbers, 50, seed=2)
    assert len(set(sample(numbers, 999, seed=3))) == 999


@pytest.mark.parametrize("count", [0, 3, 5])
def test_zero_or_more_than_there_are_is_all(count: int) -> None:
    assert sample("abc", count, seed=1) == ("a", "b", "c")
