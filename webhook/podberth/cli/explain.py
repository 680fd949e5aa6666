"""``podberth explain``: shows the decision on a pod, policy by policy, with the value of every expression."""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any, Final, TextIO

from ..admission.creation import DEFAULT_NAMESPACE, request_of
from ..admission.explain import Explanation, explain
from ..admission.explain_json import ExplainedPod, as_json
from ..admission.reach import ReachableCluster
from ..admission.review import AdmissionRequest
from ..admission.snapshot import Snapshot, load_snapshot
from ..admission.unlabelled import judging_unlabelled, unlabelled_text
from ..cel.trace import Tracer
from ..check.broken_rules import refusals
from ..check.result import by_namespace
from ..check.sources import of_documents
from ..check.surroundings import assumed, surroundings, with_assumed, within
from ..errors import PolicyError, Problem, ReviewError, UsageError
from ..files.library import ALONE, SHIPPED, folders, own, served
from ..files.loading import read_policy_texts
from ..files.manifests import STDIN, read_manifest
from ..kube.documents import PositionedDocument, load_documents
from ..kube.patch import apply
from ..kube.paths import Path as FieldPath
from ..kube.positions import render_path
from ..kube.schema import workload_type
from ..kube.unchecked import text_at
from ..native.documents import Located, is_native, others_of
from ..native.judge import NativeJudge, Surroundings
from ..policy.parse import ParsedPolicies, parse_policies
from ..words import did_you_mean
from ..workload.templates import Template, templates
from .access import SUGGESTED, add_cluster_files, add_output, add_requester, cluster_files_of, requester_of
from .exitcodes import ExitCode
from .output import talk, write, write_text
from .simulated import add_topology, facts_and_holdings_of
from .snapshot_time import time_of

if TYPE_CHECKING:
    from .explain_natives import NativeExplainer

MOST_PODS: Final = 100
"""The maximum number of pods in a file; the explanation of one takes 15 ms and 20 kB of text."""
_MOST_KINDS: Final = 5
_MOST_REFUSALS: Final = 2  # the first is shown, the second says that there are more
_LONGEST_KIND: Final = 80
_PIPED = 160
"""The width in columns if the output is no terminal: wider than other text, so that trees of expressions stay
readable."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``podberth explain``: the pod, the policies and nodes, and the format of the output."""
    parser.epilog = (
        "Exit code 0: the pod is allowed; 1: it is denied; 2: a file, a flag or a policy is wrong. "
        "Example: podberth explain pod.yaml --simulate hgx-h100-8:2. More: podberth docs commands"
    )
    parser.add_argument("pod", metavar="POD", help="a file with a pod, or with a workload that makes pods; - is stdin")
    policies = parser.add_argument(
        "--policies",
        metavar="DIR",
        action="append",
        default=[],
        help="a directory or file of policies, or the word shipped; repeatable (default: ./policies if policies are "
        "there, else shipped)",
    )
    SUGGESTED[policies] = (SHIPPED,)
    add_topology(
        parser,
        "a file or directory with what kubectl get nodes,configmaps -o yaml prints (default: no node is known); "
        "with pods of all namespaces, the nodes with free devices are counted, too",
    )
    add_cluster_files(parser)
    parser.add_argument("--policy", metavar="NAME", default="", help="show only this policy; all are evaluated")
    parser.add_argument(
        "--brief",
        action="store_true",
        help="text: what is written and said, and of each policy that does not apply the condition that is false",
    )
    parser.add_argument(
        "--namespace",
        metavar="NAME",
        default=DEFAULT_NAMESPACE,
        help=f"where the pod is created unless it says so itself (default {DEFAULT_NAMESPACE})",
    )
    add_requester(parser)
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    """Explain every pod of the file and return the exit code; a denied pod counts as a finding.

    If there are native policies, the file's other objects on which these policies decide are explained, too.
    """
    objects, holdings = facts_and_holdings_of(arguments)
    talk([*objects.problems, *(holdings.problems if holdings else ())])
    files = cluster_files_of(arguments)
    conventions = files.names()
    policies = _policies(arguments.policies)
    snapshot = load_snapshot(policies, objects, files.environment(), conventions).at(datetime.now(UTC))
    file, given, objects_of_file = _given(arguments.pod, arguments.namespace)
    snapshot = within(snapshot, objects_of_file)
    documents = [each.document for each in given]
    natives = _natives(policies, snapshot, arguments, documents)
    own = (policy for policies in snapshot.namespaced.values() for policy in policies)
    names = sorted({each.name for each in (*snapshot.policies, *own)} | (natives.names if natives else set()))
    if arguments.policy and arguments.policy not in names:
        raise UsageError(
            f"--policy: got {arguments.policy!r}, want one of {', '.join(names)}{did_you_mean(arguments.policy, names)}"
        )
    cluster = ReachableCluster(objects.nodes, conventions, holdings, snapshot.devices) if objects.nodes else None
    choice = _Choice(file, arguments.policy, requester_of(arguments).user, natives)
    objects_alone = list(_objects_alone(given, file, natives)) if natives else []
    places = list(islice(_pods(given, arguments.namespace), MOST_PODS + 1))
    if not places and not objects_alone:
        raise UsageError(f"{file}: got {_kinds_of(documents)}, want a Pod or a workload that makes pods")
    if len(places) > MOST_PODS:
        raise UsageError(
            f"{arguments.pod}: got more than {MOST_PODS} pods, want that at most; podberth check judges all"
        )
    found = [*objects_alone, *(_explained(*place, snapshot, cluster, choice) for place in places)]
    found.sort(key=lambda each: each.line)
    at = time_of(arguments.topology)
    found = [replace(each, snapshot_at=at) for each in found]
    talk([*_refused(places, file, snapshot), *_unlabelled(found)])
    if arguments.output == "json":
        write_text(json.dumps(as_json(found), indent=2, ensure_ascii=False, default=str) + "\n")
    else:
        from .explain_text import show  # noqa: PLC0415 - what is not printed is not loaded
        from .terminal import Terminal  # noqa: PLC0415 - as above

        def render(stream: TextIO) -> None:
            terminal = (
                Terminal.of(stream) if stream.isatty() else Terminal(stream, colour=False, width=_PIPED, wraps=False)
            )
            show(found, terminal, brief=arguments.brief)

        write(render, "")
    if any(each.unjudged for each in found):
        return ExitCode.USAGE
    return ExitCode.FINDINGS if any(each.explanation.verdict == "denied" for each in found) else ExitCode.OK


def _unlabelled(found: Iterable[ExplainedPod]) -> list[str]:
    """Return a line for each Namespace that no given file has, and whose labels policies may read."""
    return [
        unlabelled_text(*each) for each in by_namespace((each.namespace, each.unlabelled) for each in found).items()
    ]


def _refused(places: Sequence[tuple[PositionedDocument, Template]], file: str, snapshot: Snapshot) -> Iterator[str]:
    """Yield a line for each object that the API server would refuse, whatever policies decide about its pods."""
    for _, group in groupby(places, lambda place: id(place[0])):
        documents, found = zip(*group, strict=True)
        document = documents[0].document
        wrong = list(islice(dict.fromkeys(refusals(document, found, snapshot.environment.schema)), _MOST_REFUSALS))
        if wrong:
            path, message = wrong[0]
            line = documents[0].positions.key(path).line
            more = "; podberth check says what else" if len(wrong) > 1 else ""
            pods = "" if workload_type(document) else " or its pods"
            what = f"the API server would refuse this {document.get('kind')}{pods}"
            yield f"{file}:{line}: {what}: {render_path(path)}: {message}{more}"


@dataclass(slots=True)
class _Choice:
    """The choice of what is explained: the file, the policies, and the user who creates the pods.

    If ``policy`` is not empty, only policies with that name are explained. ``natives`` explains the native policies;
    None if there are none. ``tracers`` is a cache of the compiled parts of expressions (``admission.explain``).
    """

    file: str
    policy: str
    user: Mapping[str, Any]
    natives: "NativeExplainer | None"
    tracers: dict[str, Tracer] = field(default_factory=dict)


def _natives(
    policies: ParsedPolicies, snapshot: Snapshot, arguments: argparse.Namespace, documents: Sequence[dict[str, Any]]
) -> "NativeExplainer | None":
    """Return the object that explains the native policies in ``policies``; None if there are no native policies.

    ``documents`` are the documents of the explained file, which the native policies may read as params.

    Raises:
        PolicyError: the API server or podberth's compiler refuses a native policy.
    """
    if not any(is_native(each.document) for _, each in policies.others):
        return None
    from .explain_natives import NativeExplainer  # noqa: PLC0415 - most explanations have none

    facts = snapshot.facts
    used = {text_at(each, "metadata", "namespace") or arguments.namespace for each in documents}
    beside = [each.document for _, each in policies.others]
    surroundings = Surroundings(
        documents=[*facts.config_maps.values(), *beside, *(each for each in documents if not is_native(each))],
        namespaces={**{name: assumed(name) for name in used}, **facts.namespaces},
        namespace=arguments.namespace,
        requester=requester_of(arguments),
    )
    located = [Located.of(file, each) for file, each in policies.others if is_native(each.document)]
    judge = NativeJudge(located, snapshot.environment, surroundings)
    if judge.problems:
        raise PolicyError(judge.problems)
    talk([*judge.talk()])
    return NativeExplainer(judge, arguments.policy)


def _policies(values: Sequence[str]) -> ParsedPolicies:
    """Return the policies in the values of --policies; if there are none, those of the default.

    Raises:
        UsageError: the policies that podberth ships are not installed.
        PolicyError: a file cannot be read, or there is no policy.
    """
    chosen = [each or served() for each in folders(values) or (own(),)]
    if not values:
        talk([f"explained with the policies in {chosen[0]}{f', {ALONE}' if own() else ''}"])
    texts, problems = read_policy_texts(*chosen)
    if not texts and not problems:
        problems = [Problem(", ".join(map(str, chosen)), 0, 0, "", "got no policy, want GPUPolicy documents")]
    if problems:
        raise PolicyError(tuple(problems))
    return parse_policies(texts, others_of(texts))


def _given(file: str, namespace: str) -> tuple[str, Sequence[PositionedDocument], Sequence[dict[str, Any]]]:
    """Return (the name of a file in messages, the file's documents, the objects on which decisions depend).

    ``namespace`` is the namespace of objects without one.

    Raises:
        UsageError: the file cannot be read.
    """
    found = read_manifest(file, sys.stdin.buffer)
    if isinstance(found, Problem):
        raise UsageError(str(found))
    text, name = found[1], "stdin" if file == STDIN else file
    documents, problems = load_documents(text, name, last_wins=True)
    if problems:
        raise UsageError("\n".join(map(str, problems)))
    for repeated in (problem for document in documents for problem in document.repeated):
        sys.stderr.write(f"podberth: {repeated}\n")
    return name, documents, surroundings([of_documents(name, text, documents)], namespace)


def _pods(given: Sequence[PositionedDocument], namespace: str) -> Iterator[tuple[PositionedDocument, Template]]:
    """Yield the pods and pod templates of a file; ``namespace`` is the namespace of objects without one."""
    known = [each.document for each in given]
    for each in given:
        yield from ((each, template) for template in templates(each.document, namespace=namespace, known=known))


def _kinds_of(documents: Sequence[dict[str, Any]]) -> str:
    kinds = list(dict.fromkeys(f"{each.get('apiVersion')} {each.get('kind')}"[:_LONGEST_KIND] for each in documents))
    more = f" and {len(kinds) - _MOST_KINDS} more kinds" if len(kinds) > _MOST_KINDS else ""
    return ", ".join(kinds[:_MOST_KINDS]) + more or "no document"


def _objects_alone(
    given: Sequence[PositionedDocument], file: str, explainer: "NativeExplainer"
) -> Iterator[ExplainedPod]:
    """Yield the explanation of each object, other than a Pod, on which a native policy decides."""
    for each in given:
        document = each.document
        if (document.get("apiVersion"), document.get("kind")) == ("v1", "Pod"):
            continue
        natives = explainer.on_object()
        explanation = natives.of_object(document)
        if natives.concerns and not is_native(document):
            yield replace(_named(file, each, (), explanation), is_pod=False, unjudged=natives.unjudged)


def _named(file: str, place: PositionedDocument, path: FieldPath, explanation: Explanation) -> ExplainedPod:
    """Return an explanation with the object's name and no nodes; ``path`` leads to a pod template in the object."""
    document = place.document
    metadata: dict[str, Any] = document.get("metadata") or {}
    return ExplainedPod(
        file=file,
        line=place.positions.key(path).line,
        kind=str(document.get("kind")),
        namespace=str(metadata.get("namespace") or ""),
        name=str(metadata.get("name") or metadata.get("generateName") or ""),
        path=render_path(path),
        explanation=explanation,
    )


def _explained(
    place: PositionedDocument,
    template: Template,
    snapshot: Snapshot,
    cluster: ReachableCluster | None,
    choice: _Choice,
) -> ExplainedPod:
    where = f"{choice.file}:{place.positions.key(template.path).line}"
    if template.problems:
        raise UsageError("\n".join(f"{where}: {problem}" for problem in template.problems))
    try:
        request = request_of({"object": template.pod, "userInfo": choice.user})
        explanation, unjudged = _explanation(request, snapshot.with_owners(template.owners), choice)
    except ReviewError as error:
        raise UsageError(f"{where}: {error}") from error
    named = _named(choice.file, place, template.path, explanation)
    known = with_assumed(snapshot, [request.namespace])
    unlabelled = [*judging_unlabelled(template.pod, request.namespace, known.with_owners(template.owners))]
    if choice.natives is not None and request.namespace in known.facts.assumed:
        unlabelled += choice.natives.judge.reading_labels(template.pod)
    found = replace(named, namespace=request.namespace, unjudged=unjudged, unlabelled=tuple(unlabelled))
    if cluster is None:
        return found
    stored = None if explanation.verdict == "denied" else explanation.pod
    after = None if stored is None else cluster.reach(stored)
    return replace(found, node_count=cluster.node_count, before=cluster.reach(template.pod), after=after)


def _explanation(request: AdmissionRequest, snapshot: Snapshot, choice: _Choice) -> tuple[Explanation, tuple[str, ...]]:
    """Return (the explanation of a pod, the decisions of native policies that podberth cannot predict).

    The explanation has the decisions of native policies in the API server's order.
    """
    known = with_assumed(snapshot, [request.namespace])
    if choice.natives is None or request.object is None:
        return explain(request, known, policy=choice.policy, tracers=choice.tracers), ()
    natives = choice.natives.on_object()
    patch = natives.mutate(request.object)
    if natives.denials:
        found = Explanation(verdict="denied", warnings=(), denial="", patch=[], pod=None, policies=())
    else:
        changed = replace(request, object=apply(request.object, patch))
        found = explain(changed, known, policy=choice.policy, tracers=choice.tracers)
        if found.pod is not None:
            natives.ask_again(found.pod)
            natives.validate(found.pod)
    return natives.joined(found, patch), natives.unjudged
