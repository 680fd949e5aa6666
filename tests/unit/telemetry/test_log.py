import json
import logging
from typing import Any

import pytest

from podberth.telemetry.line_writer import LineWriter
from podberth.telemetry.log import LibraryHandler, Log, encode


class _Lines(LineWriter):
    def __init__(self) -> None:
        self.dropped = 0
        self.lines: list[dict[str, Any]] = []

    def write(self, line: bytes) -> None:
        assert line.endswith(b"\n")
        assert line.count(b"\n") == 1
        self.lines.append(json.loads(line))


def test_event_is_one_line_with_its_time() -> None:
    lines = _Lines()
    Log(lines).event("info", "loaded", policies=3, problems=["a\nb"])
    [line] = lines.lines
    assert line.pop("time").endswith("Z")
    assert line == {"level": "info", "msg": "loaded", "policies": 3, "problems": ["a\nb"]}


def test_fault_carries_its_traceback() -> None:
    lines = _Lines()
    with pytest.raises(KeyError) as caught:
        dict[str, str]()["spec"]
    Log(lines).fault("bug", caught.value, uid="u-1")
    [line] = lines.lines
    assert (line["level"], line["error"], line["uid"]) == ("error", "KeyError: 'spec'", "u-1")
    assert line["traceback"].startswith("Traceback")


def test_whatever_a_line_holds_it_is_json() -> None:
    for value in ("\ud800", 1 << 80, {1, 2}, b"bytes", object()):
        assert isinstance(json.loads(encode({"value": value})), dict)


def test_library_records_are_lines_without_traceback() -> None:
    lines = _Lines()
    error = ValueError("no HTTP")
    text = "Error handling request from %s"
    exception = (ValueError, error, None)
    record = logging.LogRecord("aiohttp.server", logging.ERROR, "", 1, text, ("10.0.0.1",), exception)
    LibraryHandler(Log(lines)).handle(record)
    [line] = lines.lines
    del line["time"]
    assert line == {
        "level": "error",
        "msg": "Error handling request from 10.0.0.1",
        "error": "ValueError: no HTTP",
        "logger": "aiohttp.server",
    }
