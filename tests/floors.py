"""The floor for tests: its native policies, and the params that the controller would write for a cluster."""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import yaml

from natives import located
from pages import ROOT
from podberth.controller.plan.floor import floor_data
from podberth.conventions import Conventions
from podberth.facts.cluster import collect
from podberth.facts.object_kinds import DeviceClass
from podberth.native.as_created import as_received
from podberth.native.judge import NativeJudge, Surroundings
from podberth.native.resources import Resources
from podberth.topology.index import TopologyIndex
from podberth.wellknown import FLOOR_KEY, FLOOR_PARAMS, NAMESPACE
from snapshots import environment

Document = dict[str, Any]
COMPONENT = ROOT / "manifests" / "components" / "floor"


@cache
def policies() -> tuple[Document, ...]:
    """Return the floor's policies and bindings."""
    return tuple(yaml.safe_load_all((COMPONENT / "policies.yaml").read_text(encoding="utf-8")))


def data_of(objects: Iterable[Document], classes: Iterable[DeviceClass] = ()) -> dict[str, str]:
    """Return the data of the params for a cluster of these objects."""
    return floor_data(TopologyIndex.build(collect(objects, now=None).nodes, Conventions()), classes)


def params(data: Mapping[str, str]) -> Document:
    """Return the ConfigMap with this data."""
    metadata = {"name": FLOOR_PARAMS, "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": dict(data)}


@cache
def _judge() -> NativeJudge:
    judge = NativeJudge(located(*policies()), environment(), Surroundings())
    assert not judge.problems, judge.problems
    return judge


class Floor:
    """The floor on a cluster with these params, or without any."""

    def __init__(self, data: Mapping[str, str] | None) -> None:
        """Put the params beside the policies."""
        namespaces: list[Document] = [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
            for name, labels in (("default", {}), ("exempt", {"podberth.io/exempt": ""}), ("kube-system", {}))
        ]
        documents = namespaces if data is None else [*namespaces, params(data)]
        known = {each["metadata"]["name"]: each for each in namespaces}
        self._judge = _judge().within(Surroundings(documents=documents, namespaces=known))

    def on(self, pod: Document) -> Document:
        """Return the pod, as the API server has read it, with what the floor writes on its creation."""
        done = self._judge.mutated(received(pod))
        assert done is not None
        assert [each for each in done.decisions if each.action != "note"] == []
        return dict(done.creation.object)

    def said(self, pod: Document) -> list[tuple[str, str]]:
        """Return the action and the message of each decision of the floor about a pod as it would be stored."""
        judged = self._judge.judged(pod)
        assert not judged.problems, judged.problems
        return [(each.action, each.message) for each in judged.decisions if each.action != "note"]


def received(pod: Document) -> Document:
    """Return the pod as the API server has read it, with its defaults."""
    kind = Resources().of("v1", "Pod")
    assert kind is not None
    made, problems = as_received(pod, kind, "default")
    assert not problems
    return made


def mark(pod: Document) -> str | None:
    """Return what the floor says that it wrote; None if it wrote nothing."""
    found: str | None = (pod["metadata"].get("annotations") or {}).get(FLOOR_KEY)
    return found
