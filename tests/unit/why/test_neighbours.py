"""Rules about the pods beside a pod: several of the same words, host addresses, and many pods with one rule."""

from collections.abc import Iterator
from typing import Any

import pytest

from builders import container, pod
from podberth.why.machines import Machine
from why_pictures import NO_NODE, Document, node, placed, waiting, why

HOST = "kubernetes.io/hostname"


def spread(app: str) -> Document:
    return {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": app}},
    }


def apart(app: str) -> Document:
    selector = {"matchExpressions": [{"key": "app", "operator": "In", "values": [app]}]}
    term = {"labelSelector": selector, "topologyKey": HOST}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


@pytest.mark.parametrize("order", [["s"], ["s", "t"], ["t", "s"]])
def test_a_second_spread_over_the_same_key_does_not_hide_the_first(order: list[str]) -> None:
    asked = pod(labels={"app": "s"}, topologySpreadConstraints=[spread(each) for each in order])
    nodes = node("a", labels={"zone": "a"}), node("b", labels={"zone": "b"}, spec={"unschedulable": True})
    message = f"{NO_NODE}1 node(s) didn't match pod topology spread constraints, 1 node(s) were unschedulable."
    there = [placed(pod(name="one", labels={"app": "s"}), "a")]
    assert why(waiting(asked, message), *nodes, pods=there).diagnosis.cause == "neighbours"


def test_a_second_anti_affinity_of_the_same_words_does_not_hide_the_first() -> None:
    key = "requiredDuringSchedulingIgnoredDuringExecution"
    terms = [apart(each)["podAntiAffinity"][key][0] for each in ("x", "y")]
    asked = pod(affinity={"podAntiAffinity": {key: terms}})
    message = f"{NO_NODE}1 node(s) didn't match pod anti-affinity rules."
    there = [placed(pod(name="other", labels={"app": "x"}), "a")]
    assert why(waiting(asked, message), node("a", labels={HOST: "a"}), pods=there).diagnosis.cause == "neighbours"


def test_pods_of_one_name_in_two_namespaces_each_keep_their_node() -> None:
    everywhere = apart("me")
    everywhere["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0]["namespaceSelector"] = {}
    pods = [placed(pod(name="lone", affinity=everywhere), each) for each in "ab"]
    for each in pods:
        each["metadata"]["namespace"] = f"ns-{each['spec']['nodeName']}"
    nodes = [node(each, labels={HOST: each}) for each in "ab"]
    message = "0/2 nodes are available: 2 node(s) didn't satisfy existing pods anti-affinity rules."
    found = why(waiting(pod(labels={"app": "me"}), message), *nodes, pods=pods).diagnosis
    assert found.evidence[0] == "anti-affinity of ns-a/lone: against a"


@pytest.mark.parametrize(
    ("address", "cause"), [("10.0.0.2", "scheduler's word"), ("10.0.0.1", "neighbours"), ("", "neighbours")]
)
def test_a_host_port_is_taken_on_its_address_alone(address: str, cause: str) -> None:
    def on(where: str) -> Document:
        return container(ports=[{"hostPort": 80, **({"hostIP": where} if where else {})}])

    message = f"{NO_NODE}1 node(s) didn't have free ports for the requested pod ports."
    there = [placed(pod(on(address), name="other"), "a")]
    assert why(waiting(pod(on("10.0.0.1")), message), node("a"), pods=there).diagnosis.cause == cause


def test_the_work_grows_with_the_pods_and_not_with_their_square(monkeypatch: pytest.MonkeyPatch) -> None:
    number, looked = 200, 0

    def labels(machine: Machine) -> Any:
        nonlocal looked
        looked += 1
        return machine.document["metadata"]["labels"]

    monkeypatch.setattr(Machine, "labels", property(labels))

    def every() -> Iterator[Document]:
        for each in range(number):
            yield placed(pod(name=f"s-{each}", labels={"app": "s"}, affinity=apart("s")), f"n{each}")

    nodes = [node(f"n{each}", labels={HOST: f"n{each}"}) for each in range(number)]
    message = f"0/{number} nodes are available: {number} node(s) didn't match pod anti-affinity rules."
    found = why(waiting(pod(labels={"app": "s"}, affinity=apart("s")), message), *nodes, pods=list(every()))
    assert found.diagnosis.title.startswith("its pod anti-affinity to pods")
    # Some times for each pod and each node, for the pictures and the answer; the square would be 40,000.
    assert looked <= 60 * number
