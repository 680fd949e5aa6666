"""Reads the cluster of a session: simulated nodes as in ``tests.yaml``, or objects as kubectl prints them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic import ValidationError

from ..check.surroundings import is_assumed
from ..errors import Problem
from ..facts.cluster import ClusterFacts
from ..facts.object_kinds import unlist
from ..facts.with_holdings import collect_with_holdings
from ..kube.documents import PositionedDocument, load_documents
from ..kube.unchecked import text_at
from ..policy.parse import ParsedPolicies
from ..policy.wording import explain
from ..suite.case_cluster import UnusableError, documents, with_values
from ..suite.case_file import Case, Expectation, Suite, SuiteCluster, wrong_nodes
from ..topology.holdings import Holdings
from ..topology.overview import REPORT_SCHEMA

FILE: Final = "cluster.yaml"
MAX_NODES: Final = 500
"""The most nodes: the page draws each, and each case of its tests has a cluster of its own."""
_REPORT: Final = (
    "got the report of podberth topology show, which lacks labels of nodes; want the nodes themselves: "
    "what podberth topology export or kubectl get nodes,configmaps -o yaml prints"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCluster:
    """The cluster of a session, and the problems of its text."""

    facts: ClusterFacts = field(default_factory=ClusterFacts)
    holdings: Holdings | None = None
    problems: tuple[Problem, ...] = ()
    is_usable: bool = True
    """Whether the text is a cluster; problems of single objects, which the webhook leaves out, do not matter."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    """The cluster as the fields of a ``tests.yaml``."""
    suite: Suite | None = None

    def with_params(self, policies: ParsedPolicies, namespace: str) -> Mapping[tuple[str, str], dict[str, Any]]:
        """Return the ConfigMaps of the policies with the values of the cluster's field ``params``."""
        return policies.params if self.suite is None else with_values(self.suite, _CASE, policies, namespace)

    def with_objects(self, added: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return ``fields`` with more objects; a Namespace among them replaces the cluster's of equal name."""
        namespaces = {text_at(each, "metadata", "name") for each in added if each.get("kind") == "Namespace"}

        def kept(documents: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
            return [
                each
                for each in documents
                if each.get("kind") != "Namespace" or text_at(each, "metadata", "name") not in namespaces
            ]

        found = dict(self.fields)
        if groups := found.get("topology"):
            found["topology"] = [
                {**each, "documents": kept(each["documents"])} if each.get("documents") else each for each in groups
            ]
        if objects := [*kept(found.get("objects") or ()), *added]:
            found["objects"] = objects
        return found


_CASE: Final = Case(name="playground", pod={}, expect=Expectation())


def read_cluster(text: str, namespace: str) -> SessionCluster:
    """Return the cluster in a text; without nodes if the text is empty. No text raises an error."""
    found, problems = load_documents(text, FILE)
    if problems:
        return _unusable(*problems)
    if len(found) == 1 and "kind" not in found[0].document:
        if found[0].document.get("schema") == REPORT_SCHEMA:
            return _unusable(found[0].positions.problem(FILE, ("schema",), _REPORT))
        return _simulated(found[0], namespace)
    given = [each.document for each in found]
    items = [item for each in given for item in unlist(each) if item.get("kind") != "Pod"]
    return _cluster(given, {"topology": [{"documents": items}]} if items else {}, None)


def _simulated(source: PositionedDocument, namespace: str) -> SessionCluster:
    positions = source.positions
    try:
        cluster = SuiteCluster.model_validate(source.document)
    except ValidationError as error:
        found = explain(error, SuiteCluster)
        return _unusable(*(positions.problem(FILE, path, said, of_key=of_key) for path, of_key, said in found))
    if wrong := tuple(wrong_nodes(cluster)):
        return _unusable(*(positions.problem(FILE, path, message) for path, message in wrong))
    if (count := sum(each.count for each in cluster.topology or ())) > MAX_NODES:
        return _unusable(positions.problem(FILE, ("topology",), f"got {count:,} nodes, want {MAX_NODES:,} at most"))
    suite = Suite(FILE, cluster, (), source)
    try:
        given = documents(suite, _CASE, namespace)
    except UnusableError as error:
        return _unusable(positions.problem(FILE, error.path, str(error)))
    # The pod's own Namespace is assumed, if the text has none, as for `podberth check`.
    return _cluster([each for each in given if not is_assumed(each)], source.document, suite)


def _cluster(given: Sequence[dict[str, Any]], fields: Mapping[str, Any], suite: Suite | None) -> SessionCluster:
    facts, holdings = collect_with_holdings(given, now=None)
    if (count := len(facts.nodes)) > MAX_NODES:
        return _unusable(Problem(FILE, 0, 0, "", f"got {count:,} nodes, want {MAX_NODES:,} at most"))
    problems = tuple(Problem(FILE, 0, 0, "", each) for each in facts.problems)
    return SessionCluster(facts=facts, holdings=holdings, problems=problems, fields=fields, suite=suite)


def _unusable(*problems: Problem) -> SessionCluster:
    return SessionCluster(problems=tuple(sorted(problems)), is_usable=False)
