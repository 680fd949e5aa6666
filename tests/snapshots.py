"""Snapshots for tests: policies as text, nodes as shapes, and one CEL environment for all (making one takes 30 ms)."""

import json
from collections.abc import Iterable
from functools import cache
from typing import Any

from podberth.admission.snapshot import Snapshot, load_snapshot
from podberth.cel.engine import Environment
from podberth.conventions import Conventions
from podberth.facts.cluster import collect
from podberth.kube.schema import PodSchema
from podberth.policy.parse import parse_policies
from podberth.topology.shapes import simulate


@cache
def environment() -> Environment:
    """Return the environment that the tests of this process share."""
    return Environment(PodSchema.packaged())


def policy(name: str, spec: str, *, order: int = 1000) -> str:
    """Return a GPUPolicy document; ``spec`` is YAML, indented by two."""
    header = f"apiVersion: podberth.io/v1alpha1\nkind: GPUPolicy\nmetadata: {{name: {name}}}\nspec:\n  order: {order}\n"
    return header + spec.strip("\n") + "\n"


def cluster(**shapes: int) -> list[dict[str, Any]]:
    """Return the documents of simulated nodes: ``cluster(hgx_h100_8=2)``."""
    return [
        document
        for shape, count in shapes.items()
        for number in range(count)
        for document in simulate(shape.replace("_", "-"), f"{shape.replace('_', '-')}-{number}")
    ]


def snapshot(*policies: str, objects: Iterable[dict[str, Any]] = ()) -> Snapshot:
    """Return a snapshot of policy documents and cluster objects."""
    parsed = parse_policies([("policy.yaml", "---\n".join(policies))] if policies else [])
    return load_snapshot(parsed, collect(objects, now=None), environment(), Conventions())


def snapshot_of_mutations(*mutations: dict[str, Any], fail: str = "Ignore") -> Snapshot:
    """Return a snapshot of policies p0, p1, …, each with one mutation."""
    texts = [
        policy(f"p{order}", f"  failurePolicy: {fail}\n  mutations: [{json.dumps(each)}]", order=order)
        for order, each in enumerate(mutations)
    ]
    return snapshot(*texts)
