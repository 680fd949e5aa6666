"""The message if a cluster cannot be followed at all, and the effect of an unexpected document."""

import asyncio
import sys
from pathlib import Path

import pytest

from integration.serving import CapturedLines
from podberth.api.opening import client_class
from podberth.api.protocol import NODES, Document, Timing
from podberth.checking.run import policies_in
from podberth.checking.survey import SurveyedCluster
from podberth.cluster.live_nodes import Documents
from podberth.errors import TopologyError, UsageError
from podberth.telemetry.log import Log


def test_without_the_package_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "podberth.api.client", raising=False)
    for name in [name for name in sys.modules if name.partition(".")[0] == "kubernetes"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "kubernetes", None)  # what makes an import fail
    wanted = r"^--topology cluster: got .*kubernetes.*, want podberth's extra cluster; do: pip install '\.\[cluster\]' "
    with pytest.raises(UsageError, match=wanted):
        client_class("--topology cluster")
    with pytest.raises(UsageError, match=r"^--cluster: got .*kubernetes.*, want podberth's extra cluster; do: "):
        asyncio.run(
            SurveyedCluster(kubeconfig=None).survey(
                frozenset(), nodes=True, policies=policies_in(None), objects=True, reports=False
            )
        )


def test_with_the_package_a_client_is_made_when_it_is_asked_for(tmp_path: Path) -> None:
    make = client_class("--topology cluster")
    with pytest.raises(UsageError, match=r"No such file or directory; want a kubeconfig$"):
        make(tmp_path / "none", Timing())


class Taken:
    """Takes documents, except those that it must refuse."""

    def __init__(self) -> None:
        self.known: dict[str, Document] = {}
        self.notified = 0

    def take(self, name: str, document: Document) -> None:
        self.known.pop(name, None)
        if "lie" in document:
            raise TopologyError(f"ConfigMap {name}: got a lie, want the truth")
        if "bug" in document:
            raise RecursionError(name)
        self.known[name] = document

    def drop(self, name: str) -> None:
        self.known.pop(name, None)

    def notify(self) -> None:
        self.notified += 1


@pytest.mark.parametrize("wrong", ["lie", "bug"])
def test_an_unusable_document_affects_only_itself_and_is_reported_once(wrong: str) -> None:
    taken, lines = Taken(), CapturedLines()
    sink = Documents(NODES.name, taken.take, taken.drop, taken.notify, Log(lines))
    sink.put("a", {})
    for _ in range(3):
        sink.put("b", {wrong: 1})
    assert (sink.left_out, set(taken.known), len(lines.lines)) == ({"b"}, {"a"}, 1)
    assert lines.lines[0]["level"] == {"lie": "warning", "bug": "error"}[wrong]
    sink.put("b", {})
    assert (sink.left_out, set(taken.known)) == (set(), {"a", "b"})
    sink.put("b", {wrong: 2})
    assert len(lines.lines) == 2
    sink.drop("b")
    assert (sink.left_out, set(taken.known), taken.notified) == (set(), {"a"}, 7)
