"""Finds, without objects, native policies that an API server refuses or that podberth cannot compile."""

from collections.abc import Sequence

from ..cel.engine import Environment, ReviewContext
from ..conventions import Conventions
from ..errors import Problem
from ..topology.index import TopologyIndex
from ..topology.need import Need
from .documents import Located, read
from .mutating import MutatingPolicies
from .params import Objects
from .policies import NativePolicies
from .resources import Resources


def refused(documents: Sequence[Located], of_gpu: Environment) -> tuple[Problem, ...]:
    """Return the problems of native policies and bindings; ``of_gpu`` is the CEL environment of GPUPolicies."""
    if not documents:
        return ()
    environment = of_gpu.native()
    found, resources = read(list(documents)), Resources(())
    review = ReviewContext(TopologyIndex.build([], Conventions()), Need())
    objects = Objects([], resources, "default")
    compiled = (
        NativePolicies(found, environment, review, objects, {}),
        MutatingPolicies(found, environment, review, objects, {}),
    )
    return tuple(sorted((*found.problems, *(problem for each in compiled for problem in each.problems))))
