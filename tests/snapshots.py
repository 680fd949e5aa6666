"""Snapshots for tests: policies as text, nodes as shapes, and one CEL environment for all (making one takes 30 ms)."""

import json
from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final, TypeAlias

from podberth.admission.snapshot import Snapshot, load_snapshot, with_notes
from podberth.cel.engine import Environment
from podberth.conventions import Conventions
from podberth.facts.cluster import ClusterFacts, collect
from podberth.files.loading import read_policy_texts
from podberth.kube.schema import PodSchema
from podberth.policy.parse import ParsedPolicies, parse_policies
from podberth.topology.index import TopologyIndex
from podberth.topology.shapes import simulate

ROOT: Final = Path(__file__).parents[1]
Texts: TypeAlias = tuple[tuple[str, str], ...]
"""Policy files: (file, text) for each."""


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


@cache
def library(*names: str) -> Texts:
    """Return the files of the policies that are on by default, and of these optional ones: (file, text) for each."""
    folders = (ROOT / "policies", *(ROOT / "optional-policies" / name for name in names))
    return tuple(read_policy_texts(*folders)[0])


@lru_cache(maxsize=128)
def _compiled(texts: Texts) -> tuple[ParsedPolicies, Snapshot]:
    """Return the policies on a cluster without objects: tests that have the same policies compile them once."""
    parsed = parse_policies(texts)
    return parsed, load_snapshot(parsed, ClusterFacts(), environment(), Conventions())


def over(texts: Texts, facts: ClusterFacts) -> Snapshot:
    """Return a snapshot of policy files and a cluster's facts, which remembers nothing yet.

    The cluster's objects come to the policies as in a server that reads them later.
    """
    parsed, compiled = _compiled(texts)
    known = compiled.with_objects(facts.namespaces, facts.config_maps).with_workloads(facts.without_nodes())
    return with_notes(known.with_topology(TopologyIndex.build(facts.nodes, Conventions())), parsed.policies)


def snapshot(*policies: str, objects: Iterable[dict[str, Any]] = ()) -> Snapshot:
    """Return a snapshot of policy documents and cluster objects, which remembers nothing yet."""
    return over((("policy.yaml", "---\n".join(policies)),) if policies else (), collect(objects, now=None))


def forgetful(known: Snapshot) -> Snapshot:
    """Return the snapshot without the answers that it gave so far; plans, which go by the policies, are shared."""
    return known.with_sealer(known.sealer)


def snapshot_of_mutations(*mutations: dict[str, Any], fail: str = "Ignore") -> Snapshot:
    """Return a snapshot of policies p0, p1, …, each with one mutation."""
    texts = [
        policy(f"p{order}", f"  failurePolicy: {fail}\n  mutations: [{json.dumps(each)}]", order=order)
        for order, each in enumerate(mutations)
    ]
    return snapshot(*texts)
