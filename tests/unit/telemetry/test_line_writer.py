import os

from podberth.telemetry.line_writer import LineWriter


def _read_all(descriptor: int) -> bytes:
    with os.fdopen(descriptor, "rb") as file:
        return file.read()


def test_lines_come_out_whole_and_in_order() -> None:
    reading, writing = os.pipe()
    writer = LineWriter(writing)
    lines = [b"line %d\n" % number for number in range(1000)]
    for line in lines:
        writer.write(line)
    writer.close(10.0)
    os.close(writing)
    assert _read_all(reading) == b"".join(lines)
    assert writer.dropped == 0


def test_full_queue_drops_and_counts() -> None:
    reading, writing = os.pipe()
    writer = LineWriter(writing, max_lines=10)
    line = b"x" * 100_000 + b"\n"  # more than a pipe holds, and nobody reads: the thread is stuck on its first batch
    for _ in range(100):
        writer.write(line)
    assert writer.dropped >= 80
    writer.close(0.0)  # returns, for it does not wait for the reader
    os.close(reading)  # the thread's write fails now, and its thread ends
    writer.close(10.0)
    os.close(writing)


def test_reader_that_has_gone_costs_lines_and_nothing_else() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    writer = LineWriter(writing)
    writer.write(b"lost\n")
    writer.close(10.0)
    os.close(writing)
    assert writer.dropped == 1


def test_pipe_made_non_blocking_by_another_is_waited_for() -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    writer = LineWriter(writing)
    lines = [b"%d" % number + b"x" * 1000 + b"\n" for number in range(500)]
    for line in lines:
        writer.write(line)
    got = b""
    while len(got) < sum(map(len, lines)):
        got += os.read(reading, 65_536)
    writer.close(10.0)
    os.close(writing)
    os.close(reading)
    assert got == b"".join(lines)
    assert writer.dropped == 0
