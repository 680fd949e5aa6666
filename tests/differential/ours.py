"""podberth's answers: the documents of a scene read, compiled and judged as ``podberth check`` does."""

from collections.abc import Iterable, Sequence
from typing import Any

from podberth.cel.engine import Environment, ReviewContext
from podberth.cel.libraries.authz import Authorizer
from podberth.conventions import Conventions
from podberth.kube.positions import Chunk, Place, Position, Positions
from podberth.kube.schema import PodSchema
from podberth.native.cases import NativeDecision
from podberth.native.documents import Located, read
from podberth.native.params import Objects
from podberth.native.policies import CODES, NativePolicies
from podberth.native.request import creation_of
from podberth.native.resources import Resources
from podberth.topology.index import TopologyIndex
from podberth.topology.need import Need
from podberth.workload.templates import templates

from .answers import Answer
from .scenes import Document, Scene

_NOWHERE = Positions(lambda: Place(position=Position(0, 0), chunk=Chunk("", 0), index=0))


def located(document: Document) -> Located:
    """Return a document of no file."""
    return Located("scene", document, _NOWHERE)


class Ours:
    """A world of namespaces and params in which scenes are judged, for one requester."""

    def __init__(
        self,
        namespaces: Iterable[Document],
        params: Iterable[Document],
        user: Document,
        definitions: Iterable[Document] = (),
        *,
        rights: Authorizer | None = None,
    ) -> None:
        """Take the namespaces and params as the API server has stored them, and CustomResourceDefinitions."""
        self._namespaces = {each["metadata"]["name"]: each for each in namespaces}
        self._resources = Resources(definitions)
        self._objects = Objects([*params, *self._namespaces.values()], self._resources, "default")
        self._environment = Environment(PodSchema.packaged(), native=True)
        self._review = ReviewContext(TopologyIndex.build([], Conventions()), Need(), authorizer=rights)
        self._user = user

    def answers(self, scene: Scene, objects: Sequence[Document]) -> list[Answer]:
        """Return the answer for each object."""
        policies, problems = self._policies(scene)
        if problems:
            return [Answer(refused="; ".join(problems))] * len(objects)
        return [self._answer(policies, each) for each in objects]

    def problems(self, scene: Scene) -> list[str]:
        """Return why the scene's documents are refused; empty if they are not."""
        return self._policies(scene)[1]

    def _policies(self, scene: Scene) -> tuple[NativePolicies, list[str]]:
        found = read([located(each) for each in (scene.policy, *scene.bindings)])
        made = NativePolicies(found, self._environment, self._review, self._objects, self._namespaces)
        return made, [str(each) for each in (*found.problems, *made.problems)]

    def _answer(self, policies: NativePolicies, document: Document) -> Answer:
        given: Any = document
        if document["kind"] == "Pod":
            given = templates(document, namespace=document["metadata"]["namespace"])[0].pod
        creation, problems = creation_of(given, self._resources, namespace="default", user=self._user)
        if creation is None:
            return Answer(unjudged="; ".join(problems))
        return _answer(policies.judge(creation)[1])


def _answer(decisions: Sequence[NativeDecision]) -> Answer:
    unjudged = [each.text for each in decisions if each.action == "unjudged"]
    denials = [each for each in decisions if each.action == "deny"]
    warnings = tuple(each.text for each in decisions if each.action == "warn")
    if not denials:
        return Answer(warnings=warnings, unjudged="; ".join(unjudged))
    return Answer(
        code=CODES[denials[0].reason],
        reason=denials[0].reason,
        messages=tuple(each.text for each in denials),
        warnings=warnings,
        unjudged="; ".join(unjudged),
    )
