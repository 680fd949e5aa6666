"""The GPUPolicies of the cluster as a source of snapshots. A broken policy affects no other policy.

If a policy breaks, its last working version stays in force. Positions of problems are those in the output of ``kubectl
get gpupolicy NAME -o yaml``, because the applied file is not known.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from ..admission.snapshot import Snapshot, load_working, with_notes
from ..api.protocol import POLICIES, Document
from ..cel.engine import Environment
from ..conventions import Conventions
from ..errors import Problem
from ..facts.cluster import ClusterFacts
from ..files.deadline import new_environment
from ..files.source import Loaded, PolicyState, Verdict
from ..kube.schema import PodSchema
from ..kube.yaml_text import as_yaml
from ..policy.parse import ParsedPolicies, ParsedPolicy, excess_of_document, parse_policies
from .objects import Held


class PolicyObjects:
    """A ``SnapshotSource`` that compiles the GPUPolicies of a cluster."""

    def __init__(self, conventions: Conventions, pod_schema: PodSchema) -> None:
        """Create the source without policies; policies will be checked against ``pod_schema``."""
        self._conventions = conventions
        self._pod_schema = pod_schema
        self._documents: Mapping[str, Document] = {}
        self._revision = 0
        self._good: dict[str, ParsedPolicy] = {}
        """The policies in force since the last load, by name."""

    def take(self, objects: Held) -> None:
        """Receive the present objects; a change that keeps the generation, such as a new status, has no effect."""
        documents = objects[POLICIES]
        if not self._revision or _versions(documents) != _versions(self._documents):
            # Replaced and not changed, because a load in a thread may be reading it.
            self._documents = documents
            self._revision += 1

    def revision(self) -> Mapping[str, object]:
        """Return a value that changes whenever the policies change; empty until the first policies are known."""
        return {"policies": self._revision} if self._revision else {}

    def load(self) -> Loaded:
        """Compile all policies. If a policy is broken, its last valid version, if there is one, stays in force."""
        documents = self._documents
        environment = new_environment(self._pod_schema)
        # One by one, because of many problems together only the first are reported. Those in force come first: if there
        # is no room for all, the new ones are left out.
        ordered = sorted(documents, key=lambda name: (name not in self._good, name))
        parsed = [_parsed(name, documents[name]) for name in ordered]
        found = {each.policy.name: each for one in parsed for each in one.policies}
        snapshot, problems = self._compile({**self._kept(documents.keys() - found.keys()), **found}, environment)
        broken = _by_policy(problems)
        if any(name in found for name in broken):
            found = {name: each for name, each in found.items() if name not in broken}
            snapshot, _ = self._compile({**self._kept(documents.keys() - found.keys()), **found}, environment)
        broken = _by_policy((*(each for one in parsed for each in one.problems), *problems))
        self._good = {**self._kept(documents.keys() - found.keys()), **found}
        verdicts = tuple(
            Verdict(name, _generation(document), self._state(name, found), broken.get(name, ()))
            for name, document in sorted(documents.items())
        )
        return Loaded(with_notes(snapshot, tuple(self._good.values())), verdicts=verdicts)

    def _compile(
        self, policies: Mapping[str, ParsedPolicy], environment: Environment
    ) -> tuple[Snapshot, tuple[Problem, ...]]:
        parsed = ParsedPolicies(tuple(policies.values()))
        return load_working(parsed, ClusterFacts(), environment, self._conventions)

    def _kept(self, names: Iterable[str]) -> dict[str, ParsedPolicy]:
        return {name: self._good[name] for name in names if name in self._good}

    def _state(self, name: str, found: Mapping[str, ParsedPolicy]) -> PolicyState:
        if name in found:
            return "active"
        return "outdated" if name in self._good else "broken"


def _parsed(name: str, document: Document) -> ParsedPolicies:
    if message := excess_of_document(document):
        return ParsedPolicies(problems=(Problem(_file(name), 1, 1, "", message),))
    return parse_policies([(_file(name), text(document))])


def text(document: Mapping[str, Any]) -> str:
    """Return the YAML text in which the positions of a policy's problems are counted."""
    return as_yaml({key: value for key, value in document.items() if key != "status"})


def _file(name: str) -> str:
    """Return the text that replaces a file name in the problems of a policy: the object's name as kubectl writes it."""
    return f"gpupolicy/{name}"


def _versions(documents: Mapping[str, Document]) -> dict[str, object]:
    """Return the identity and version of each policy; a policy that was deleted and created again counts as changed."""
    return {name: (each["metadata"].get("uid"), _generation(each)) for name, each in documents.items()}


def _generation(document: Document) -> int:
    generation = document["metadata"].get("generation")
    return generation if isinstance(generation, int) else 0


def _by_policy(problems: Iterable[Problem]) -> dict[str, tuple[Problem, ...]]:
    found: dict[str, tuple[Problem, ...]] = {}
    for each in problems:
        name = each.file.rpartition("/")[2]
        found[name] = (*found.get(name, ()), each)
    return found
