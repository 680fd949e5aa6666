"""One environment for all tests of the package, and a cluster to ask."""

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from node_builders import index_of, machines, need_of
from podberth.cel.engine import Activation, CelType, Environment, Expression, Want
from podberth.cel.functions import ReviewContext
from podberth.kube.schema import PodSchema

GPU: dict[str, Any] = {
    "count": 4,
    "perContainer": 4,
    "kind": "whole",
    "vendor": "nvidia",
    "memoryMiB": 0,
    "requests": [
        {
            "container": "main",
            "init": False,
            "resource": "nvidia.com/gpu",
            "quantity": 4,
            "kind": "whole",
            "vendor": "nvidia",
            "profile": "",
        }
    ],
    "claims": [],
}
POD: dict[str, Any] = {
    "metadata": {"name": "train", "namespace": "ml", "labels": {"team": "vision", "a.b/c": "d"}},
    "spec": {"containers": [{"name": "main", "image": "train:1"}, {"name": "side"}], "futureField": "kept"},
}
BINDINGS: dict[str, Any] = {"object": POD, "oldObject": None, "gpu": GPU}


@pytest.fixture(scope="session")
def environment() -> Environment:
    return Environment(PodSchema.packaged())


@pytest.fixture(scope="session")
def review() -> ReviewContext:
    """Two machines with eight linked GPUs, two whose four GPUs are linked in pairs, one partitioned, one with an L4."""
    documents = [
        *machines("hgx-h100-8", 2),
        *machines("h100-nvl-4", 2),
        *machines("dgx-a100-8-mig-mixed", 1),
        *machines("l4-1", 1),
    ]
    return ReviewContext(index_of(documents), need_of(4))


@pytest.fixture
def activation(environment: Environment, review: ReviewContext) -> Activation:
    return environment.activation(BINDINGS, review)


Evaluate: TypeAlias = Callable[..., Any]


@pytest.fixture
def evaluate(environment: Environment, activation: Activation) -> Evaluate:
    """Compile and evaluate in one go; a keyword argument is a variable of that name, given as its source."""

    def run(source: str, want: Want = Want.ANY, **variables: str) -> Any:
        known: dict[str, CelType | Expression] = {}
        for name, each in variables.items():
            known[name] = environment.compile(each, want=Want.ANY, variables=known)
        return environment.compile(source, want=want, variables=known).evaluate(activation)

    return run
