"""People's own policies as scenes: the ValidatingAdmissionPolicies below a folder, with what they need and judge."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from podberth.errors import Problem
from podberth.files.manifests import find_manifests, read_manifest
from podberth.kube.documents import load_documents
from podberth.native.resources import ResourceKind, Resources

from .mutating import Scene as MutatingScene
from .scenes import CASE, VERSION, Document, Scene, namespace_name, plain_binding


@dataclass(frozen=True, slots=True)
class Files:
    """The documents below a folder."""

    documents: tuple[Document, ...]
    problems: tuple[Problem, ...] = ()
    """What could not be read."""

    @classmethod
    def below(cls, folder: Path) -> "Files":
        """Read every manifest; what is no document of an object, as a chart's template, is left out.

        The files are strangers': they are read within the bounds of ``podberth check``.
        """
        listing = find_manifests([str(folder)])
        found: list[Document] = []
        problems = list(listing.problems)
        for name in listing.files:
            read = read_manifest(name)
            if isinstance(read, Problem):
                problems.append(read)
                continue
            documents, wrong = load_documents(read[1], name, last_wins=True)
            problems += wrong
            found += (each.document for each in documents if _is_object(each.document))
        return cls(tuple(found), tuple(problems))

    @property
    def definitions(self) -> dict[str, Document]:
        """The CustomResourceDefinitions by name."""
        return {str(each["metadata"].get("name")): each for each in self._of("CustomResourceDefinition")}

    @property
    def policies(self) -> list[Document]:
        """The policies; of two with one name both. One without a name and a spec is none."""
        return self._named("ValidatingAdmissionPolicy")

    @property
    def mutating(self) -> list[Document]:
        """The MutatingAdmissionPolicies, as the others are."""
        return self._named("MutatingAdmissionPolicy")

    def _named(self, kind: str) -> list[Document]:
        return [
            each
            for each in self._of(kind)
            if isinstance(each["metadata"].get("name"), str) and isinstance(each.get("spec"), dict)
        ]

    def params(self, resources: Resources) -> Iterator[tuple[ResourceKind, Document]]:
        """Yield the objects of the cluster, one of each name, of a policy's ``paramKind``, with their resource."""
        named = (each["spec"].get("paramKind") for each in (*self.policies, *self.mutating))
        kinds = {(str(at.get("apiVersion")), str(at.get("kind"))) for at in named if isinstance(at, dict)}
        by_name = {
            (each["apiVersion"], each["kind"], str(each["metadata"].get("name"))): each for each in self.documents
        }
        for (version, kind, _), each in by_name.items():
            resource = resources.of(version, kind)
            if resource and not resource.namespaced and (version, kind) in kinds:
                yield resource, each

    def objects(self, number: int, kinds: Mapping[str, Any]) -> list[Document]:
        """Return the named objects of those kinds as they would be in the namespace of a number.

        Pods get no volume with a token, whose name only a cluster knows.
        """
        found = []
        for each in self.documents:
            metadata = each["metadata"]
            if each.get("kind") not in kinds or "name" not in metadata or each["kind"] == "Namespace":
                continue
            made = {**each, "metadata": {**metadata, "namespace": namespace_name(number)}}
            if each["kind"] == "Pod" and isinstance(each.get("spec"), dict):
                made["spec"] = {**each["spec"], "automountServiceAccountToken": False}
            found.append(made)
        return found

    def scenes(self, start: int, count: int) -> list[Scene]:
        """Return that many policies, from one on, each with a binding of its own for all objects in its namespace.

        The policies' own bindings choose namespaces by labels that only their clusters have. A policy with a
        ``paramKind`` gets all params of that kind. Old versions of policies are put as the newest.
        """
        found = []
        for number, policy in enumerate(self.policies[start : start + count]):
            name = f"of-files-{start + number}"
            binding = plain_binding(name, {CASE: str(number)})
            if policy["spec"].get("paramKind"):
                binding["spec"]["paramRef"] = {"selector": {}, "parameterNotFoundAction": "Deny"}
            found.append(Scene(number, {**policy, "apiVersion": VERSION, "metadata": {"name": name}}, [binding]))
        return found

    def mutating_scenes(self, start: int, count: int) -> list[MutatingScene]:
        """Return that many MutatingAdmissionPolicies, as ``scenes`` does; each matches in its namespace alone."""
        found = []
        for number, policy in enumerate(self.mutating[start : start + count]):
            name, spec = f"of-files-{start + number}", policy["spec"]
            selector = {"matchLabels": {CASE: str(number)}}
            constraints = {**(spec.get("matchConstraints") or {}), "namespaceSelector": selector}
            reference = {"paramRef": {"selector": {}, "parameterNotFoundAction": "Deny"}}
            binding = {
                "apiVersion": VERSION,
                "kind": "MutatingAdmissionPolicyBinding",
                "metadata": {"name": name},
                "spec": {"policyName": name, **(reference if spec.get("paramKind") else {})},
            }
            made = {**policy, "apiVersion": VERSION, "metadata": {"name": name}}
            found.append(
                MutatingScene(number, [{**made, "spec": {**spec, "matchConstraints": constraints}}], [binding])
            )
        return found

    def _of(self, kind: str) -> Iterator[Document]:
        return (each for each in self.documents if each.get("kind") == kind)


def _is_object(document: Document) -> bool:
    named = isinstance(document.get("apiVersion"), str) and isinstance(document.get("kind"), str)
    return named and isinstance(document.get("metadata"), dict)
