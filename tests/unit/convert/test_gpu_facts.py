"""The expressions for facts of ``gpu`` have the facts' values, for pods that the API server takes."""

from collections import Counter
from copy import deepcopy
from typing import Any

import pytest

from builders import container, pod, sidecar
from converted import cases, random_pods
from natives import environment
from podberth.cel.engine import Expression, ReviewContext, Room, Want
from podberth.cel.typing import NATIVE_VARIABLES
from podberth.conventions import Conventions
from podberth.convert.gpu_facts import ASKED, EXPANDED, KNOWN_KINDS, NO_DIALECT
from podberth.kube.quantity import write_quantities
from podberth.topology.index import TopologyIndex
from podberth.topology.need import Need
from podberth.workload.gpus import gpu_facts

NOWHERE = ReviewContext(TopologyIndex.build([], Conventions()), Need())


def compiled(source: str) -> Expression:
    room = Room.of_policy(None)
    return environment().compile(source, want=Want.ANY, variables={}, names=frozenset(NATIVE_VARIABLES), room=room)


@pytest.fixture(scope="module")
def expressions() -> dict[str, Expression]:
    return {"dialect": compiled(NO_DIALECT), **{field: compiled(source) for field, (_, source) in EXPANDED.items()}}


def values(expressions: dict[str, Expression], document: Any) -> dict[str, Any]:
    bindings = {"object": document, "oldObject": None, "request": {}, "params": None, "namespaceObject": None}
    activation = environment().activation(bindings, NOWHERE)
    return {field: each.evaluate(activation) for field, each in expressions.items()}


def facts(document: Any) -> dict[str, Any]:
    found = gpu_facts(document)
    kind = found.kind if found.kind in KNOWN_KINDS else ""
    counts = {ASKED: found.count > 0, "count": found.count, "perContainer": found.per_container}
    return {"dialect": not found.dialect, **counts, "vendor": found.vendor, "kind": kind}


def is_taken(document: Any) -> bool:
    """Return whether each request of a device has its limit, without which the API server takes no pod."""
    every = [*document["spec"]["containers"], *document["spec"].get("initContainers", ())]
    resources = [each.get("resources") or {} for each in every]
    return all(
        name in (each.get("limits") or {}) for each in resources for name in each.get("requests") or () if "/" in name
    )


def test_the_facts_of_random_pods_and_of_the_suites(expressions: dict[str, Expression]) -> None:
    seen: Counter[str] = Counter()
    for given in [*random_pods("facts", 300), *(each for pods in cases().values() for each in pods)]:
        document = {"metadata": {}, **deepcopy(given)}
        write_quantities(document)
        if is_taken(document):
            expected = facts(document)
            assert values(expressions, document) == expected, document["spec"]
            seen.update((str(expected["kind"]), f"dialect {not expected['dialect']}"))
    assert set(seen) == {"", *KNOWN_KINDS, "dialect True", "dialect False"}


def test_init_containers_and_sidecars_are_counted_as_the_scheduler_does(expressions: dict[str, Expression]) -> None:
    gpu, other = "nvidia.com/gpu", "amd.com/gpu"
    init = [
        container("a", limits={gpu: "3", other: "1"}),
        sidecar("b", limits={gpu: "2"}),
        container("c", limits={gpu: "4"}),
        container("d", limits={other: "5"}),
    ]
    document = pod(container(limits={gpu: "1"}), init=init)
    assert gpu_facts(document).count == 6 + 5
    assert values(expressions, document) == facts(document)
