"""Ports: never the same twice while held, never one that is taken."""

import socket

import pytest

from . import ports
from .ports import Ports


def test_no_port_is_handed_out_twice_while_it_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = Ports(), Ports()
    lowest = first.take()
    first.release()
    monkeypatch.setattr(ports, "_LOWEST", lowest)
    monkeypatch.setattr(ports, "_HIGHEST", lowest)
    assert first.take() == lowest
    with pytest.raises(OSError, match="no free port"):
        second.take()
    first.release()
    assert second.take() == lowest
    second.release()


def test_a_port_on_which_somebody_listens_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        port = stranger.getsockname()[1]
        monkeypatch.setattr(ports, "_LOWEST", port)
        monkeypatch.setattr(ports, "_HIGHEST", port)
        with pytest.raises(OSError, match="no free port"):
            Ports().take()
