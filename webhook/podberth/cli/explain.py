"""``podberth explain``: shows the decision on a pod, policy by policy, with the value of every expression."""

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, Final, TextIO

from ..admission.creation import DEFAULT_NAMESPACE, request_of
from ..admission.explain import explain
from ..admission.reach import ReachableCluster
from ..admission.snapshot import Snapshot, load_snapshot
from ..cel.trace import Tracer
from ..check.surroundings import assumed
from ..errors import PolicyError, Problem, ReviewError, UsageError
from ..facts.cluster import ClusterFacts
from ..files.library import served
from ..files.loading import read_policy_texts, read_topology_with_holdings
from ..files.manifests import STDIN, read_manifest
from ..kube.documents import PositionedDocument, load_documents
from ..kube.positions import render_path
from ..policy.parse import ParsedPolicies, parse_policies
from ..workload.templates import Template, templates
from .access import add_cluster_files, add_output, cluster_files_of
from .exitcodes import ExitCode
from .explain_json import ExplainedPod, as_json
from .output import talk, write, write_text

MOST_PODS: Final = 100
"""The most pods of one file; each is explained with 20 kB of text, in 15 ms."""
_MOST_KINDS: Final = 5
_LONGEST_KIND: Final = 80
_PIPED = 160
"""The width in columns if the output is no terminal; trees of expressions are readable at a greater width than text."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``podberth explain``: the pod, the policies and nodes, and the format of the output."""
    parser.add_argument("pod", metavar="POD", help="a file with a pod, or with a workload that makes pods; - is stdin")
    parser.add_argument(
        "--policies",
        metavar="DIR",
        type=Path,
        help="the policies, read recursively (default: those that podberth ships)",
    )
    parser.add_argument(
        "--topology",
        metavar="SNAPSHOT",
        type=Path,
        help="a file or directory with what kubectl get nodes,configmaps -o yaml prints (default: no node is known); "
        "with pods of all namespaces, the nodes with free devices are counted, too",
    )
    add_cluster_files(parser)
    parser.add_argument("--policy", metavar="NAME", default="", help="show only this policy; all are evaluated")
    parser.add_argument(
        "--namespace",
        metavar="NAME",
        default=DEFAULT_NAMESPACE,
        help=f"where the pod is created unless it says so itself (default {DEFAULT_NAMESPACE})",
    )
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    """Explain every pod of the file and return the exit code; a denied pod counts as a finding."""
    objects, holdings = ClusterFacts(), None
    if arguments.topology is not None:
        objects, holdings = read_topology_with_holdings(arguments.topology)
    talk([*objects.problems, *(holdings.problems if holdings else ())])
    files = cluster_files_of(arguments)
    conventions = files.names()
    policies = _policies(arguments.policies)
    snapshot = load_snapshot(policies, objects, files.environment(), conventions).at(datetime.now(UTC))
    own = (policy for policies in snapshot.namespaced.values() for policy in policies)
    names = sorted(policy.name for policy in (*snapshot.policies, *own))
    if arguments.policy and arguments.policy not in names:
        raise UsageError(f"--policy: got {arguments.policy!r}, want one of {', '.join(names)}")
    cluster = ReachableCluster(objects.nodes, conventions, holdings) if objects.nodes else None
    tracers: dict[str, Tracer] = {}
    places = list(islice(_pods(arguments.pod, arguments.namespace), MOST_PODS + 1))
    if len(places) > MOST_PODS:
        raise UsageError(
            f"{arguments.pod}: got more than {MOST_PODS} pods, want that at most; podberth check judges all"
        )
    found = [_explained(place, snapshot, cluster, (arguments.policy, tracers)) for place in places]
    if arguments.output == "json":
        write_text(json.dumps(as_json(found), indent=2, ensure_ascii=False, default=str) + "\n")
    else:
        from .explain_text import show  # noqa: PLC0415 - what is not printed is not loaded
        from .terminal import Terminal  # noqa: PLC0415 - as above

        def render(stream: TextIO) -> None:
            show(found, Terminal.of(stream) if stream.isatty() else Terminal(stream, colour=False, width=_PIPED))

        write(render, "")
    return ExitCode.FINDINGS if any(each.explanation.verdict == "denied" for each in found) else ExitCode.OK


@dataclass(frozen=True, slots=True)
class _Place:
    file: str
    document: PositionedDocument
    template: Template


def _policies(directory: Path | None) -> ParsedPolicies:
    texts, problems = read_policy_texts(directory or served())
    if not texts and not problems:
        problems = [Problem(str(directory), 0, 0, "", "got no policy, want GPUPolicy documents")]
    if problems:
        raise PolicyError(tuple(problems))
    return parse_policies(texts)


def _pods(file: str, namespace: str) -> Iterator[_Place]:
    """Yield the pods and pod templates of a file.

    Raises:
        UsageError: the file cannot be read, or has no pods.
    """
    read = read_manifest(file, sys.stdin.buffer)
    if isinstance(read, Problem):
        raise UsageError(str(read))
    text, name = read[1], "stdin" if file == STDIN else file
    documents, problems = load_documents(text, name, last_wins=True)
    if problems:
        raise UsageError("\n".join(map(str, problems)))
    for repeated in (problem for document in documents for problem in document.repeated):
        sys.stderr.write(f"podberth: {repeated}\n")
    everything = [each.document for each in documents]
    found = False
    for document in documents:
        for template in templates(document.document, namespace=namespace, known=everything):
            found = True
            yield _Place(name, document, template)
    if not found:
        kinds = list(
            dict.fromkeys(f"{each.get('apiVersion')} {each.get('kind')}"[:_LONGEST_KIND] for each in everything)
        )
        more = f" and {len(kinds) - _MOST_KINDS} more kinds" if len(kinds) > _MOST_KINDS else ""
        got = ", ".join(kinds[:_MOST_KINDS]) + more or "no document"
        raise UsageError(f"{name}: got {got}, want a Pod or a workload that makes pods")


def _explained(
    place: _Place, snapshot: Snapshot, cluster: ReachableCluster | None, choice: tuple[str, dict[str, Tracer]]
) -> ExplainedPod:
    template, document = place.template, place.document.document
    where = f"{place.file}:{place.document.positions.key(template.path).line}"
    if template.problems:
        raise UsageError("\n".join(f"{where}: {problem}" for problem in template.problems))
    try:
        request = request_of({"object": template.pod})
        known = _with_namespace(snapshot.with_owners(template.owners), request.namespace)
        explanation = explain(request, known, policy=choice[0], tracers=choice[1])
    except ReviewError as error:
        raise UsageError(f"{where}: {error}") from error
    metadata: dict[str, Any] = document.get("metadata") or {}
    return ExplainedPod(
        file=place.file,
        line=place.document.positions.key(template.path).line,
        kind=str(document.get("kind")),
        namespace=request.namespace,
        name=str(metadata.get("name") or metadata.get("generateName") or ""),
        path=render_path(template.path),
        explanation=explanation,
        node_count=0 if cluster is None else cluster.node_count,
        before=None if cluster is None else cluster.reach(template.pod),
        after=None
        if cluster is None or explanation.pod is None or explanation.verdict == "denied"
        else cluster.reach(explanation.pod),
    )


def _with_namespace(snapshot: Snapshot, name: str) -> Snapshot:
    """Return the snapshot with the pod's namespace added, which has to exist when the pod is created."""
    known = name in snapshot.facts.namespaces
    return snapshot if known else replace(snapshot, facts=snapshot.facts.fold(assumed(name)))
