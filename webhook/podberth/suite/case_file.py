"""The format of ``tests.yaml``: cases with a pod, its cluster, and the expected results.

The file is one document without an apiVersion, because it is no object of the API. For example::

    topology:
    - {shape: hgx-h100-8, count: 2}
    cases:
    - name: a whole GPU gets the toleration
      pod:
        metadata: {name: train}
        spec:
          containers:
          - name: main
            resources: {limits: {nvidia.com/gpu: 1}}
      expect:
        verdict: mutated
        patched:
          spec:
            tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]

``runner`` runs the cases.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Field, StrictInt, ValidationError

from ..errors import Problem
from ..kube.documents import PositionedDocument, load_documents
from ..kube.paths import Path
from ..kube.positions import Positions
from ..policy.exception_model import Time
from ..policy.text_fields import DocumentPart
from ..policy.wording import explain, of_boolean
from ..topology.shapes import unknown
from . import GOLDEN_SUFFIX
from .unknown_fields import unknown_in

Document: TypeAlias = dict[str, Any]
Verdict: TypeAlias = Literal["admitted", "mutated", "denied", "unchanged"]

# The largest number of nodes of an entry. A suite fills a few screens; a larger cluster would be a benchmark.
MAX_COUNT = 1000


class Nodes(DocumentPart):
    """Simulated nodes of one type of machine, with their topology documents; or documents as kubectl prints them.

    Exactly one of ``shape`` and ``documents`` is given. ``shape`` is a type of machine in ``topology.shapes.SHAPES``.
    Nodes of a shape are named ``<name>-<number>``; the default name is the name of the shape.
    """

    shape: str | None = None
    count: Annotated[StrictInt, Field(ge=1)] = 1
    name: str | None = None
    provider: str | None = None
    """The provider whose labels and taint the nodes have, one of ``topology.shapes``; None: the shape's default
    provider.
    """
    labels: Mapping[str, str | None] = Field(default_factory=dict)
    """Labels that are added to the labels of the shape; null removes a label."""
    taints: tuple[Document, ...] | None = None
    """The taints of the nodes, which replace the provider's taint; None keeps the provider's taint."""
    documents: tuple[Document, ...] | None = None


class SuiteCluster(DocumentPart):
    """The cluster of a test case. If a case states a field, the value replaces the suite's value of that field."""

    topology: tuple[Nodes, ...] | None = None
    """The nodes; None means that nothing is known of the cluster's nodes."""
    objects: tuple[Document, ...] | None = None
    """Further objects: Namespaces (the pod's own always exists), PodGroups, owners of gangs. An object that names no
    namespace is in the pod's."""
    params: Mapping[str, Mapping[str, str]] | None = None
    """Values for params, by ConfigMap name; each replaces a single key of a ConfigMap beside the policy."""


class Namespace(DocumentPart):
    """The namespace in which a pod is created."""

    name: Annotated[str, Field(min_length=1)]
    labels: Mapping[str, str] = Field(default_factory=dict)
    """The namespace's labels besides ``kubernetes.io/metadata.name``, which every namespace has."""
    annotations: Mapping[str, str] = Field(default_factory=dict)


class User(DocumentPart):
    """The user who creates the pod: the field ``userInfo`` of the request."""

    username: Annotated[str, Field(min_length=1)]
    groups: tuple[str, ...] = ()


def _short_for(field: str) -> BeforeValidator:
    """Return a validator that turns a string into an object: the string becomes the value of its field ``field``."""
    return BeforeValidator(lambda value: {field: value} if isinstance(value, str) else value)


class Expectation(DocumentPart):
    """The expected result of a case; fields that are left out are not compared."""

    verdict: Verdict | None = None
    """The verdict: ``admitted`` means mutated or unchanged; ``denied`` means denied by /mutate or /validate."""
    warnings: tuple[str, ...] | None = None
    """Texts, each contained in some warning of /mutate or /validate; the empty list means that there is no warning."""
    denials: tuple[str, ...] | None = None
    """Texts, each contained in the denial; the empty list means that the pod is not denied."""
    patched: Document | None = None
    """A part of the pod that /mutate returns; ``runner.differences`` compares the part with the pod."""
    golden: Annotated[str, Field(min_length=1)] | None = None
    """The name of a file beside the suite, ``NAME.golden.yaml``, with the whole pod that /mutate returns."""


class Case(SuiteCluster):
    """One test case: a pod to create, or another review of a pod, and the expected result."""

    name: Annotated[str, Field(min_length=1)]
    pod: Document | None = None
    """The pod to create; apiVersion and kind may be left out, and the default namespace is ``default``."""
    object: Document | None = None
    """An object of another kind to create, which native policies judge."""
    review: Document | None = None
    """Fields of an AdmissionReview's ``request`` that differ from a pod's creation: operation, object, oldObject, …"""
    namespace: Annotated[Namespace, _short_for("name")] | None = None
    """The pod's namespace: a name, or a name with labels and annotations. The default is the pod's own field, else
    ``default``."""
    user: Annotated[User, _short_for("username")] | None = None
    """The user who creates the pod: a name, or a username and groups. The default is the user ``author`` in no
    group."""
    now: Time | None = None
    """The time of the review, in RFC 3339, for which exceptions are in force or not; by default the time of the run."""
    expect: Expectation


class SuiteDocument(SuiteCluster):
    """The content of a ``tests.yaml``."""

    cases: tuple[Case, ...]


@dataclass(frozen=True, slots=True)
class Suite:
    """A parsed ``tests.yaml``, with the positions of the values in it."""

    file: str
    cluster: SuiteCluster
    cases: tuple[Case, ...]
    source: PositionedDocument
    """The document from which the suite was parsed."""


def parse_suite(text: str, file: str) -> tuple[Suite | None, tuple[Problem, ...]]:
    """Return (suite in a ``tests.yaml``, problems); the suite is None if it cannot be run.

    A suite whose only problems are unknown fields of its pods and workloads can be run.
    """
    documents, problems = load_documents(text, file)
    if problems or len(documents) != 1:
        several = Problem(file, 0, 0, "", f"got {len(documents)} documents, want one")
        return None, tuple(problems) or (several,)
    document, positions = documents[0].document, documents[0].positions
    try:
        suite = SuiteDocument.model_validate(document)
    except ValidationError as error:
        findings = [
            positions.problem(file, path, _reworded(message, path, positions), of_key=of_key)
            for path, of_key, message in explain(error, SuiteDocument)
        ]
        return None, tuple(sorted(findings))
    wrong = [positions.problem(file, path, message) for path, message in _refusals(suite)]
    unknown = [
        positions.problem(file, path, message, of_key=of_key) for path, of_key, message in unknown_in(_objects(suite))
    ]
    return (None if wrong else Suite(file, suite, suite.cases, documents[0])), tuple(sorted([*wrong, *unknown]))


def _reworded(message: str, path: Path, positions: Positions) -> str:
    """Return the message about a value as its author wrote the value; about a verdict, with the place of warnings."""
    said = of_boolean(message, positions.boolean_word(path))
    return _of_warning(said) if path[-1:] == ("verdict",) else said


def _of_warning(message: str) -> str:
    """Return the message about a verdict, with the place of warnings if it is one that means a warning."""
    if not message.lower().startswith("got 'warn"):
        return message
    said = message.partition("; did you mean")[0]
    return f"{said}; write warnings: [part of the text], and the verdict that the pod has without the warning"


def _objects(suite: SuiteDocument) -> Iterator[tuple[Path, Document]]:
    """Yield (path, content) for each object of a suite, and for each pod, with its apiVersion and kind."""
    clusters: list[tuple[Path, SuiteCluster]] = [((), suite)]
    for index, case in enumerate(suite.cases):
        path: Path = ("cases", index)
        clusters.append((path, case))
        if case.object is not None:
            yield (*path, "object"), case.object
        if case.pod is not None:
            yield (*path, "pod"), {**case.pod, "apiVersion": "v1", "kind": "Pod"}
    for path, cluster in clusters:
        for index, each in enumerate(cluster.objects or ()):
            yield (*path, "objects", index), each


def wrong_nodes(cluster: SuiteCluster) -> Iterator[tuple[Path, str]]:
    """Yield (path, message) for each entry of ``topology`` from which no nodes can be made, whatever their number."""
    for index, nodes in enumerate(cluster.topology or ()):
        if (nodes.shape is None) == (nodes.documents is None):
            yield ("topology", index), "want exactly one of shape and documents"
        elif nodes.shape is not None and (wrong := unknown(nodes.shape, nodes.provider)):
            yield ("topology", index, wrong[0]), wrong[1]


def _refusals(suite: SuiteDocument) -> list[tuple[Path, str]]:
    """Return (path, message) for each problem between fields of a suite, such as fields that exclude each other."""
    wrong: list[tuple[Path, str]] = [] if suite.cases else [(("cases",), "got no cases, want at least one")]
    clusters: list[tuple[Path, SuiteCluster]] = [
        ((), suite),
        *((("cases", at), case) for at, case in enumerate(suite.cases)),
    ]
    for path, cluster in clusters:
        wrong += ((path + place, message) for place, message in wrong_nodes(cluster))
        for index, nodes in enumerate(cluster.topology or ()):
            if nodes.count > MAX_COUNT:
                found = f"got {nodes.count:,} nodes, want {MAX_COUNT:,} at most"
                wrong.append(((*path, "topology", index, "count"), found))
    names: set[str] = set()
    for index, case in enumerate(suite.cases):
        if [case.pod, case.object, case.review].count(None) != 2:  # noqa: PLR2004 - all but one
            wrong.append((("cases", index), "want exactly one of pod, object and review"))
        if case.name in names:
            wrong.append((("cases", index, "name"), f"duplicate name {case.name!r}; want each name once"))
        if not case.expect.model_fields_set:
            wrong.append(
                (("cases", index, "expect"), "expects nothing; want verdict, warnings, denials, patched or golden")
            )
        golden = case.expect.golden
        if golden is not None and (not golden.endswith(GOLDEN_SUFFIX) or "/" in golden):
            message = f"got {golden!r}, want the name of a file beside this one that ends in {GOLDEN_SUFFIX}"
            wrong.append((("cases", index, "expect", "golden"), message))
        names.add(case.name)
    return wrong
