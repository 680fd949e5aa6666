"""Native policies for tests: documents with what most of them have, judged without files."""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from podberth.cel.engine import Environment, ReviewContext
from podberth.conventions import Conventions
from podberth.kube.positions import Chunk, Place, Position, Positions
from podberth.kube.schema import PodSchema
from podberth.native.cases import NativeDecision
from podberth.native.documents import Located, Read, read
from podberth.native.model import API_VERSION
from podberth.native.params import Objects
from podberth.native.policies import NativePolicies
from podberth.native.request import creation_of
from podberth.native.resources import Resources
from podberth.topology.index import TopologyIndex
from podberth.topology.need import Need

Document = dict[str, Any]

NOWHERE = Positions(lambda: Place(position=Position(0, 0), chunk=Chunk("", 0), index=0))
USER = {"username": "someone", "groups": ["system:authenticated"]}
NAMESPACES = {
    "default": {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default", "labels": {"team": "a"}}}
}


@cache
def environment() -> Environment:
    """Return the environment of native policies."""
    return Environment(PodSchema.packaged(), native=True)


def rule(**changes: Any) -> Document:
    """Return a rule that matches the creation of everything."""
    found = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["*"]}
    return {**found, **changes}


def policy(*expressions: str, name: str = "p", **spec: Any) -> Document:
    """Return a ValidatingAdmissionPolicy with these validations, for everything unless ``spec`` says otherwise."""
    made: Document = {"matchConstraints": {"resourceRules": [rule()]}, **spec}
    if expressions:
        made["validations"] = [{"expression": each} for each in expressions]
    return {"apiVersion": API_VERSION, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name}, "spec": made}


def binding(*actions: str, name: str = "b", **spec: Any) -> Document:
    """Return a binding of the policy ``p``; without actions it denies."""
    made = {"policyName": "p", "validationActions": list(actions) or ["Deny"], **spec}
    return {
        "apiVersion": API_VERSION,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": made,
    }


def config_map(name: str = "object", **metadata: Any) -> Document:
    """Return a ConfigMap, the simplest object to judge."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}, "data": {"key": "a"}}


def located(*documents: Document) -> list[Located]:
    """Return documents of no file."""
    return [Located("file.yaml", each, NOWHERE) for each in documents]


def read_all(*documents: Document) -> Read:
    """Return what documents hold."""
    return read(located(*documents))


def compiled(
    *documents: Document, objects: Iterable[Document] = (), within: Environment | None = None
) -> NativePolicies:
    """Return the compiled policies of documents, with params and definitions among ``objects``."""
    given = list(objects)
    store = Objects([*given, *NAMESPACES.values()], Resources(given), "default")
    review = ReviewContext(TopologyIndex.build([], Conventions()), Need())
    return NativePolicies(read_all(*documents), within or environment(), review, store, NAMESPACES)


def judged(
    *documents: Document, on: Mapping[str, Any] | None = None, objects: Iterable[Document] = ()
) -> list[NativeDecision]:
    """Return the decisions on the creation of ``on``, a ConfigMap unless it is given; notes are left out."""
    given = list(objects)
    policies = compiled(*documents, objects=given)
    assert not policies.problems
    creation, problems = creation_of(on or config_map(), Resources(given), namespace="default", user=USER)
    assert creation is not None, problems
    return [each for each in policies.judge(creation)[1] if each.action != "note"]


def texts(decisions: Iterable[NativeDecision]) -> list[tuple[str, str]]:
    """Return the decisions as pairs of action and message."""
    return [(each.action, each.message) for each in decisions]


def json_patch(expression: str) -> dict[str, Any]:
    """Return a mutation by a list of JSONPatches."""
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


def apply_configuration(expression: str) -> dict[str, Any]:
    """Return a mutation by an Object."""
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


def mutating(name: str, *mutations: dict[str, Any], **spec: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a MutatingAdmissionPolicy about everything, with its binding."""
    version, kind = "admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy"
    stated = {"matchConstraints": {"resourceRules": [rule()]}, "reinvocationPolicy": "Never", **spec}
    made = {"apiVersion": version, "kind": kind, "metadata": {"name": name}}
    bound = {"apiVersion": version, "kind": f"{kind}Binding", "metadata": {"name": name}, "spec": {"policyName": name}}
    return {**made, "spec": {**stated, "mutations": list(mutations)}}, bound
