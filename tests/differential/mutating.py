"""Whole MutatingAdmissionPolicies of random shape, put to a real API server and to podberth over pods and workloads.

The objects that both make are compared whole, less what only a cluster knows of an object.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from http.client import RemoteDisconnected
from random import Random
from typing import Any, Final

from controlplane.api import Api
from podberth.cel.engine import Environment, ReviewContext
from podberth.cel.libraries.authz import Authorizer
from podberth.conventions import Conventions
from podberth.kube.schema import PodSchema
from podberth.native.as_created import as_created
from podberth.native.documents import read
from podberth.native.mutating import MutatingPolicies
from podberth.native.params import Objects
from podberth.native.request import creation_of
from podberth.native.resources import Resources
from podberth.topology.index import TopologyIndex
from podberth.topology.need import Need
from podberth.workload.templates import templates

from .ours import located
from .scenes import Document, constraints, namespaces, objects, param_ref, params
from .tally import Pair, Tally
from .upstream import Upstream
from .words import Words

_VERSION: Final = "admissionregistration.k8s.io/v1"
KINDS: Final = ("Pod", "Deployment", "ConfigMap", "Job", "StatefulSet")
_OF_A_CLUSTER: Final = ("creationTimestamp", "managedFields", "uid", "generation", "resourceVersion")
_OF_A_JOB: Final = (
    "controller-uid",
    "job-name",
    "batch.kubernetes.io/controller-uid",
    "batch.kubernetes.io/job-name",
)
BATCH: Final = 40
_UID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_GENERATED: Final = re.compile(r"-([bcdfghjklmnpqrstvwxz2456789]{5}|00000)\b")


@dataclass(frozen=True, slots=True)
class Scene:
    """One policy, or two, with bindings, for the objects in the namespace of its number."""

    number: int
    policies: Sequence[Document]
    bindings: Sequence[Document]


@dataclass(frozen=True, slots=True)
class Made:
    """What came of one object."""

    refused: str = ""
    """Why the policy is not taken."""
    denied: tuple[str, ...] = ()
    """The denials. podberth says all of them, and the API server says the first, in an order that is not fixed."""
    invalid: bool = False
    """The object that the policies make is refused by the API server's own validation."""
    object: Document | None = None
    unjudged: str = ""
    panicked: bool = False
    """The API server has closed the connection without an answer, which is a bug of its own."""


def compare(api: Api, *, policies: int, seed: int) -> Tally:
    """Return what came of that many scenes, put to an API server and to podberth."""
    tally, count = Tally(), min(BATCH, policies)
    upstream = Upstream(api, namespaces(count), params(count))
    try:
        ours = Ours(upstream)
        for start in range(0, policies, count):
            scenes = [_scene(_random(seed, start + each), each, start) for each in range(min(count, policies - start))]
            with upstream.mutating(scenes) as refused:
                for scene in scenes:
                    given = objects(_random(f"{seed} objects", start + scene.number), scene.number)
                    given = [each for each in given if each["kind"] in KINDS]
                    for each in pairs(upstream, ours, scene, given, refused):
                        tally.add(*each)
    finally:
        upstream.remove()
    return tally


def pairs(
    upstream: Upstream, ours: "Ours", scene: Scene, given: Sequence[Document], refused: Mapping[int, str]
) -> Iterator[tuple[Pair, str]]:
    """Put objects to the API server, and yield each pair with what the API server did."""
    for document, mine in zip(given, ours.made(scene, given), strict=True):
        why = refused.get(scene.number)
        theirs = Made(refused=why) if why else _theirs(upstream, document)
        if differs := difference(mine, theirs):
            # The API server asks its policies in no fixed order
            other = ours.made(scene, [document], backwards=True)[0]
            differs = difference(other, theirs) and differs
        yield Pair(scene.policies, document, mine, theirs, differs), _outcome(document, theirs, ours)


def difference(ours: Made, theirs: Made) -> str:
    """Return in what two answers differ; empty if they do not."""
    if theirs.panicked:
        return ""
    if ours.unjudged:
        return "" if theirs.refused else "unjudged"
    if bool(ours.refused) != bool(theirs.refused):
        return "refusal"
    if bool(ours.denied) != bool(theirs.denied):
        return "" if theirs.invalid and not ours.denied else "verdict"
    if not set(map(_lead, theirs.denied)) <= set(map(_lead, ours.denied)):
        return "message"
    return "" if theirs.object is None or ours.object == theirs.object else "object"


def _lead(denial: str) -> str:
    return denial.partition(" denied request: ")[0] if " denied request: " in denial else denial.partition(":")[0]


class Ours:
    """podberth's answers in the world of an API server."""

    def __init__(
        self,
        upstream: Upstream,
        *,
        rights: Authorizer | None = None,
        beside: Sequence[Document] = (),
    ) -> None:
        """Take namespaces, params and the requester as the API server has them.

        ``beside`` are definitions and further params.
        """
        self._namespaces = {each["metadata"]["name"]: each for each in upstream.namespaces}
        self._resources = Resources(beside)
        self._objects = Objects([*upstream.params, *upstream.namespaces, *beside], self._resources, "default")
        self._environment = Environment(PodSchema.packaged(), native=True)
        self._review = ReviewContext(TopologyIndex.build([], Conventions()), Need(), authorizer=rights)
        self._user = upstream.user
        self.changed: dict[int, bool] = {}
        """Whether the policies changed an object, by its ``id``."""

    def made(self, scene: Scene, given: Sequence[Document], *, backwards: bool = False) -> list[Made]:
        """Return what the scene makes of each object; ``backwards``: by its policies in the reverse order."""
        return self.made_for(scene, [(each, self._user) for each in given], backwards=backwards)

    def made_for(
        self, scene: Scene, given: Sequence[tuple[Document, Document]], *, backwards: bool = False
    ) -> list[Made]:
        """Return what the scene makes of each object for the user beside it."""
        found = read([located(each) for each in (*scene.policies, *scene.bindings)])
        policies = MutatingPolicies(found, self._environment, self._review, self._objects, self._namespaces)
        if problems := (*found.problems, *policies.problems):
            return [Made(refused="; ".join(map(str, problems)))] * len(given)
        if backwards:
            policies.bound.reverse()
        return [self._one(policies, *each) for each in given]

    def _one(self, policies: MutatingPolicies, document: Document, user: Document) -> Made:
        written: Any = document
        if document["kind"] == "Pod":
            written = templates(document, namespace=document["metadata"]["namespace"])[0].pod
        creation, problems = creation_of(written, self._resources, namespace="default", user=user, received=True)
        if creation is None:
            return Made(unjudged="; ".join(problems))
        done = policies.mutate(creation)
        self.changed[id(document)] = bool(done.writes)
        if unjudged := [each.text for each in done.decisions if each.action == "unjudged"]:
            return Made(unjudged=unjudged[0])
        if denials := [each.text for each in done.decisions if each.action == "deny"]:
            return Made(denied=tuple(denials))
        final, _ = as_created(done.creation.object, creation.kind, "")
        return Made(object=_plain(final))


def _theirs(upstream: Upstream, document: Document) -> Made:
    try:
        response = upstream.ask(document)
    except RemoteDisconnected:  # the API server has panicked over the request
        return Made(panicked=True)
    if response.status == 201:
        return Made(object=_plain(response.document))
    said = str(response.document["message"])
    _, found, denial = said.partition(" is forbidden: ")
    denial = denial if found else said
    if "denied request: " in denial or response.status == 500:
        return Made(denied=(denial,))
    return Made(denied=(denial,), invalid=True)


def _plain(document: Document) -> Any:
    made = deepcopy(document)
    for key in _OF_A_CLUSTER:
        made["metadata"].pop(key, None)
    if made["kind"] == "Job":  # added there as well, unless a policy has written
        labels = made["metadata"].get("labels") or {}
        made["metadata"]["labels"] = {key: each for key, each in labels.items() if key not in _OF_A_JOB}
    made.get("status", {}).pop("conditions", None)  # written with a time, for scheduling gates
    return json.loads(_UID.sub("uid", _GENERATED.sub("-", json.dumps(made))))


def _outcome(document: Document, theirs: Made, ours: Ours) -> str:
    if theirs.panicked:
        return "the API server panicked"
    if theirs.refused:
        return "policy refused"
    if theirs.invalid:
        return "made what the API server's validation refuses"
    if theirs.denied:
        return "denied"
    return "changed" if ours.changed.get(id(document)) else "unchanged"


def _random(of: object, number: int) -> Random:
    return Random(f"mutating {of} {number}")  # noqa: S311 - the same in each run


# ---- policies -------------------------------------------------------------------------------------------------------


def _scene(random: Random, number: int, batch: int) -> Scene:
    count = random.choice((1, 1, 2))
    rows = [_policy(random, number, f"map-{batch}-{number}-{index}") for index in range(count)]
    return Scene(number, [each for each, _ in rows], [each for _, each in rows])


def _policy(random: Random, number: int, name: str) -> tuple[Document, Document]:
    with_params = random.random() < 0.3
    words = Words(random, params=with_params)
    spec: Document = {
        "matchConstraints": constraints(random, number),
        "reinvocationPolicy": random.choice(("Never", "IfNeeded")),
        "matchConditions": [{"name": "c", "expression": words.condition()}] if random.random() < 0.2 else [],
    }
    for rule in spec["matchConstraints"]["resourceRules"]:
        rule["operations"] = ["CREATE"]
    variables = [{"name": "v0", "expression": words.text()}] if random.random() < 0.3 else []
    words.variables += [("v0", "text")] if variables else []
    words.with_variables = True
    spec["variables"] = variables
    spec["mutations"] = [_mutation(random, words) for _ in range(random.choice((1, 1, 2, 3)))]
    if random.random() < 0.4:
        spec["failurePolicy"] = random.choice(("Ignore", "Fail"))
    binding: Document = {"policyName": name}
    if with_params:
        spec["paramKind"] = {"apiVersion": "v1", "kind": "ConfigMap"}
        binding["paramRef"] = param_ref(random, spec["paramKind"])
    policy = {"apiVersion": _VERSION, "kind": "MutatingAdmissionPolicy", "metadata": {"name": name}, "spec": spec}
    bound = {"apiVersion": _VERSION, "kind": "MutatingAdmissionPolicyBinding", "metadata": {"name": name}}
    return policy, {**bound, "spec": binding}


def _mutation(random: Random, words: Words) -> Document:
    if random.random() < 0.5:
        operations = ", ".join(_operation(random, words) for _ in range(random.choice((1, 1, 2, 3))))
        expression = f"[{operations}]"
        if random.random() < 0.2:
            expression = f"({words.condition()}) ? {expression} : []"
        return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}
    expression = _applied(random, words)
    if random.random() < 0.2:
        expression = f"({words.condition()}) ? {expression} : Object{{}}"
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


def _text(random: Random, words: Words) -> str:
    return random.choice(("'a'", "'b'", "'web'", f"string({words.text()})"))


def _operation(random: Random, words: Words) -> str:
    text = _text(random, words)
    made: Iterator[str] = iter(
        random.sample(
            (
                f"op: 'add', path: '/metadata/labels', value: {{'team': {text}}}",
                f"op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('example.com/x'), value: {text}",
                f"op: 'add', path: '/metadata/annotations', value: {{'a~b': {text}, 'c': 'd'}}",
                f"op: 'replace', path: '/metadata/labels/team', value: {text}",
                "op: 'remove', path: '/metadata/labels/team'",
                "op: 'test', path: '/metadata/labels/team', value: 'a'",
                "op: 'test', path: '/kind', value: object.kind",
                "op: 'add', path: '/spec/containers/0/env', value: [Object.spec.containers.env{name: 'X', value: 'y'}]",
                "op: 'add', path: '/spec/tolerations/-', value: Object.spec.tolerations{key: 'a', operator: 'Exists'}",
                "op: 'add', path: '/spec/tolerations/0', value: {'key': 'b', 'operator': 'Exists'}",
                "op: 'replace', path: '/spec/containers/0/image', value: 'web:2'",
                "op: 'add', path: '/spec/containers/1/imagePullPolicy', value: 'Never'",
                f"op: 'add', path: '/spec/replicas', value: {random.choice(('1', '7', 'object.spec.replicas + 1'))}",
                "op: 'replace', path: '/spec/replicas', value: 'two'",
                "op: 'add', path: '/spec/nodeSelector', value: {'a': 'b'}",
                "op: 'add', path: '/spec/unknown', value: 1",
                "op: 'copy', from: '/metadata/name', path: '/metadata/annotations/name'",
                "op: 'move', from: '/metadata/labels/team', path: '/metadata/labels/group'",
                "op: 'add', path: '/data/key', value: 'changed'",
                "op: 'remove', path: '/spec/containers/-1/ports'",
                "op: 'add', path: '/spec/template/spec/containers/0/env', value: [{'name': 'T', 'value': 't'}]",
                "op: 'add', path: '/spec/template/metadata/labels/x', value: 'y'",
                "op: 'remove', path: '/spec/terminationGracePeriodSeconds'",
                "op: 'put', path: '/spec/x', value: 1",
                "op: 'add', path: 'spec', value: 1",
                "op: 'add', path: '/metadata/labels', value: Object.metadata.labels{a: 'b'}",
            ),
            1,
        )
    )
    return f"JSONPatch{{{next(made)}}}"


def _applied(random: Random, words: Words) -> str:
    text, spec = _text(random, words), "Object{spec: Object.spec{%s}}"
    of_containers = "containers: object.spec.containers.map(c, Object.spec.containers{name: c.name, %s})"
    template = spec % "template: Object.spec.template{%s}"
    return random.choice(
        (
            f"Object{{metadata: Object.metadata{{labels: {{'team': {text}}}}}}}",
            f"Object{{metadata: Object.metadata{{annotations: {{'note': {text}, 'x': 'y'}}}}}}",
            f"Object{{metadata: Object.metadata{{labels: Object.metadata.labels{{team: {text}}}}}}}",
            "Object{metadata: Object.metadata{?labels: object.metadata.?labels}}",
            spec % "replicas: 2",
            spec % "replicas: object.spec.replicas + 1",
            spec % "replicas: 'two'",
            spec % "replicas: 2.0",
            spec % "terminationGracePeriodSeconds: 7",
            spec % "?priorityClassName: optional.none()",
            spec % "nodeSelector: {'a': 'b'}",
            spec % "unknown: 1",
            spec % "tolerations: [Object.spec.tolerations{key: 'a', operator: 'Exists'}]",
            spec % "containers: [Object.spec.containers{name: 'main', imagePullPolicy: 'Never'}]",
            spec % "containers: [Object.spec.containers{name: 'extra', image: 'web:1'}]",
            spec % "initContainers: [Object.spec.initContainers{name: 'i', image: 'web:1'}]",
            spec % (of_containers % "env: [Object.spec.containers.env{name: 'A', value: 'z'}]"),
            spec % (of_containers % "ports: [Object.spec.containers.ports{containerPort: 80, name: 'h'}]"),
            spec % (of_containers % "resources: Object.spec.containers.resources{limits: {'cpu': '2'}}"),
            spec % (of_containers % "securityContext: Object.spec.containers.securityContext{runAsNonRoot: true}"),
            spec % (of_containers % "command: ['a']"),
            spec % "volumes: [Object.spec.volumes{name: 'v', emptyDir: Object.spec.volumes.emptyDir{}}]",
            spec % "imagePullSecrets: [Object.spec.imagePullSecrets{name: 's'}]",
            spec % "schedulingGates: [Object.spec.schedulingGates{name: 'example.com/g'}]",
            spec % "topologySpreadConstraints: []",
            spec % "volumes: [Object.volumes{name: 'v'}]",
            spec % "nodeSelector: null",
            spec % "securityContext: Object.spec.securityContext{fsGroup: 1, supplementalGroups: [1, 2]}",
            spec % "affinity: Object.spec.affinity{nodeAffinity: object.spec.affinity.nodeAffinity}",
            template % "metadata: Object.spec.template.metadata{labels: {'x': 'y'}}",
            template
            % (
                "spec: Object.spec.template.spec{containers: [Object.spec.template.spec.containers{name: 'main', "
                "env: [Object.spec.template.spec.containers.env{name: 'B', value: 'q'}]}]}"
            ),
            template % "spec: Object.spec.template.spec{serviceAccountName: 'default'}",
            "Object{data: {'key': 'other', 'more': 'x'}}",
            "Object{kind: 'Other', apiVersion: 'v9'}",
            "Object{}",
        )
    )
