"""The reviews of a case, and what their answers must have to do with each other."""

import re
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from http import HTTPStatus
from random import Random
from typing import Any, Final

import orjson

from builders import review as bare_review
from builders import workload_review
from podberth.kube.pod_limits import TOO_LARGE
from podberth.kube.shape import shape_problems
from podberth.mutation.record import sealed
from podberth.mutation.seal import bearer_of
from podberth.wellknown import APPLIED_ANNOTATION

from . import envelopes, gangs, pods, records, values, wrong
from .material import NAMESPACES, UNKNOWN_NAMESPACE, material
from .stage import Asked, Stage
from .values import JSON

_CHANGES: Final = {**pods.CHANGES, **gangs.CHANGES}
_BASES: Final = 16
"""Pods that the cases of one batch begin with: answers are remembered where pods are alike."""
_KNOWN: Final = 32
_BYTES: Final = re.compile(r"got [\d,]+ bytes")
_POLICY: Final = {"group": "podberth.io", "version": "v1alpha1", "kind": "GPUPolicy"}
_UPDATES: Final = ("as it was", "another image", "a label", "the record gone", "changed")


def review(document: JSON, operation: str = "CREATE", *, old: JSON | None = None, namespace: str, **more: Any) -> JSON:
    """Return the review of any object, whatever it holds."""
    metadata = document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    whose = name if isinstance(name, str) else ""
    return bare_review(None, operation, namespace=namespace, name=whose, object=document, oldObject=old, **more)


@dataclass(slots=True)
class Batch:
    """What the cases of a batch have in common."""

    bases: Sequence[bytes]
    earlier: list[bytes] = field(default_factory=list)
    """Pods of earlier cases."""
    records: list[str] = field(default_factory=list)
    """Records that podberth wrote in earlier cases."""

    @classmethod
    def of(cls, chance: Random) -> "Batch":
        """Choose what a batch is about."""
        return cls(chance.sample(material().pods, _BASES))


@dataclass(frozen=True, slots=True)
class Subject:
    """A pod under review. ``honest`` is the pod without the record; None where nothing is forged."""

    pod: JSON
    namespace: str
    honest: JSON | None = None

    def created(self, pod: JSON | None = None) -> JSON:
        """Return the review of its creation, or of that of another pod in its place."""
        return review(self.pod if pod is None else pod, namespace=self.namespace)


@dataclass(slots=True)
class Case:
    """One case: plays what its number says."""

    stage: Stage
    batch: Batch
    chance: Random

    async def play(self) -> None:
        """Ask all reviews of the case."""
        story = self.chance.choices(_STORIES, _WEIGHTS)[0]
        await story(self)

    # ---- pods --------------------------------------------------------------------------------------------------------

    async def of_a_pod(self) -> None:
        """Create a pod, with what the API server asks of it, and some of what may happen to it later."""
        subject = self._subject()
        made, final = await self._created(subject)
        if subject.honest is not None:
            await self._without_record(subject, made, final)
        if values.percent(self.chance, 15):
            await self._copied(subject, made)
        if values.percent(self.chance, 25):
            await self._updated(subject, made)
        if values.percent(self.chance, 5):
            await self._debugged(subject)

    async def _created(self, subject: Subject) -> tuple[Asked, Asked]:
        """Send a pod through /mutate and /validate; return the answers of both to the pod as it was written."""
        made = await self.stage.ask("/mutate", subject.created())
        judged = await self.stage.ask("/validate", subject.created())
        if made.patch and made.after is not None:
            again = await self.stage.ask("/mutate", subject.created(made.after))
            if "managedFields" in made.after["metadata"]:
                # An API server has always written them; without, a record counts as sent (docs/adr/0039).
                self._idempotent(again)
            final = await self.stage.ask("/validate", subject.created(made.after))
            self._not_refused(judged, final)
            self._remember(made.after)
        return made, judged

    def _idempotent(self, again: Asked) -> None:
        self.stage.check(
            "a second pass patches nothing",
            good=again.verdict == "allowed",
            seen=lambda: f"{again.status} {again.response.get('status') or again.patch}",
        )

    def _not_refused(self, before: Asked, after: Asked) -> None:
        good = after.verdict in {"allowed", before.verdict}
        self.stage.check(
            "not refused after podberth's own patch",
            good=good,
            seen=lambda: f"{before.status} {before.verdict}, then {after.status} {after.response.get('status')}",
        )

    def _remember(self, after: JSON) -> None:
        record = (after["metadata"].get("annotations") or {}).get(APPLIED_ANNOTATION)
        if isinstance(record, str) and len(self.batch.records) < _KNOWN:
            self.batch.records.append(record)

    async def _without_record(self, subject: Subject, made: Asked, judged: Asked) -> None:
        """Ask the same without the forged record: nothing but the record may differ."""
        honest = subject.created(subject.honest)
        expected = await self.stage.ask("/mutate", honest)
        answer = await self.stage.ask("/validate", honest)
        if any(TOO_LARGE in str(each.response) for each in (made, expected, judged, answer)):
            return  # a record counts for the size, and the refusal names the size
        if made.status == HTTPStatus.BAD_REQUEST:
            return  # no API server sends an annotation that is no string
        self._powerless(_compared(made, subject.pod), _compared(expected, subject.honest), "/mutate")
        self._powerless((judged.status, judged.response), (answer.status, answer.response), "/validate")

    def _powerless(self, seen: object, wanted: object, what: str) -> None:
        self.stage.check(
            "a forged record changes nothing", good=seen == wanted, seen=lambda: f"{what}: {_difference(seen, wanted)}"
        )

    async def _copied(self, subject: Subject, made: Asked) -> None:
        """Create the pod again under another name or in another namespace, as written or as it became."""
        self._has("copy")
        copy = deepcopy(subject.pod if made.after is None or values.percent(self.chance, 50) else made.after)
        namespace = self._namespace()
        if not _is_pod(copy):
            return
        copy["metadata"] |= {"name": f"copy-{self.stage.case}", "namespace": namespace}
        pods.noted(copy)
        again = Subject(copy, namespace, _without(copy) if _has_record(copy) else None)
        answers = await self._created(again)
        if again.honest is not None:
            await self._without_record(again, *answers)

    async def _updated(self, subject: Subject, made: Asked) -> None:
        """Update the pod that podberth made, as somebody who applies his manifest again does."""
        old = subject.pod if made.after is None else made.after
        how = self.chance.choice(_UPDATES)
        self._has(f"update: {how}")
        new = deepcopy(subject.pod if how != "the record gone" else old)
        self._change_for_update(how, new)
        await self._update(subject, new, old)
        if values.percent(self.chance, 30):
            await self._update_of_a_forger(subject, new, old)

    def _change_for_update(self, how: str, new: JSON) -> None:
        if how == "changed":
            self._changed(new, 2)
        elif not _is_pod(new):
            return
        elif how == "another image":
            pods.containers(new)[0]["image"] = "another:1"
        elif how == "a label":
            pods.below(new, "metadata", "labels")["another"] = "1"
        elif how == "the record gone":
            (new["metadata"].get("annotations") or {}).pop(APPLIED_ANNOTATION, None)

    async def _update(self, subject: Subject, new: JSON, old: JSON) -> Asked:
        asked = review(new, "UPDATE", old=old, namespace=subject.namespace)
        made = await self.stage.ask("/mutate", asked)
        judged = await self.stage.ask("/validate", asked)
        if made.patch and made.after is not None:
            asked = review(made.after, "UPDATE", old=old, namespace=subject.namespace)
            self._idempotent(await self.stage.ask("/mutate", asked))
            self._not_refused(judged, await self.stage.ask("/validate", asked))
        return made

    async def _update_of_a_forger(self, subject: Subject, new: JSON, old: JSON) -> None:
        """Update a pod whose old object has a forged record: nothing is given back that was not podberth's."""
        if not _is_pod(old):
            return
        self._has("update: forged")
        forged = deepcopy(old)
        # Among them are records of siblings: the API server notes who put them there.
        records.forge(self.chance, forged, self._of_siblings(subject, forged))
        pods.noted(forged)
        honest = _without(forged)
        made = await self._update(subject, new, forged)
        expected = await self.stage.ask("/mutate", review(new, "UPDATE", old=honest, namespace=subject.namespace))
        if made.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            return  # a record counts for the size of the body, too
        self._powerless((made.status, _unsized(made)), (expected.status, _unsized(expected)), "UPDATE")

    def _of_siblings(self, subject: Subject, pod: JSON) -> list[str]:
        """Return records of other pods, and one whose seal holds for this pod, of what the pod has."""
        tolerations = pod["spec"].get("tolerations")
        if not isinstance(tolerations, list):
            return self.batch.records
        text = orjson.dumps({"nobody": {"tolerations": tolerations}}).decode()
        seal = self.stage.snapshot.sealer.seal(bearer_of(pod, subject.namespace), text)
        return [*self.batch.records, sealed(text, seal)]

    async def _debugged(self, subject: Subject) -> None:
        self._has("debugged")
        old = deepcopy(subject.pod)
        old.get("spec", {}).pop("ephemeralContainers", None) if isinstance(old.get("spec"), dict) else None
        asked = review(subject.pod, "UPDATE", old=old, namespace=subject.namespace, subResource="ephemeralcontainers")
        await self.stage.ask("/validate", asked)

    def _subject(self) -> Subject:
        """Make a pod, and say what it has."""
        chance = self.chance
        pod = self._base()
        namespace = self._namespace()
        pod.setdefault("metadata", {})["namespace"] = namespace
        self._changed(pod, chance.choice((0, 1, 1, 2, 2, 3, 5)))
        if chance.random() < _LARGE:
            how = chance.choice(("a list at its bound", "a large text"))
            self._has(how)
            (pods.list_at_its_bound if how == "a list at its bound" else pods.large_text)(chance, pod)
        if values.percent(chance, 25):
            self._has(f"forged record: {records.forge(chance, pod, self.batch.records)}")
        if values.percent(chance, 12):
            self._spoilt(pod)
        if isinstance(pod.get("metadata"), dict):
            pods.noted(pod)
        self.batch.earlier.append(orjson.dumps(pod))
        return Subject(pod, namespace, _without(pod) if _has_record(pod) else None)

    def _namespace(self) -> str:
        return UNKNOWN_NAMESPACE if values.percent(self.chance, 3) else self.chance.choice(NAMESPACES)

    def _base(self) -> JSON:
        """Return a pod to begin with: a real one, or one of an earlier case under another name."""
        chance, earlier = self.chance, self.batch.earlier
        if earlier and values.percent(chance, 30):
            pod: JSON = orjson.loads(chance.choice(earlier))
            if _is_pod(pod):
                self._has("like an earlier one")
                pod["metadata"]["name"] = f"again-{self.stage.case}"
                return pod
        made: JSON = orjson.loads(chance.choice(self.batch.bases))
        return made

    def _changed(self, pod: JSON, times: int) -> None:
        if not _is_pod(pod):
            return
        for name in self.chance.sample(tuple(_CHANGES), times):
            self._has(name)
            _CHANGES[name](self.chance, pod)

    def _spoilt(self, document: JSON) -> None:
        for name in self.chance.sample(tuple(wrong.CHANGES), self.chance.choice((1, 1, 2))):
            self._has(name)
            wrong.CHANGES[name](self.chance, document)

    def _has(self, feature: str) -> None:
        self.stage.tally.features[feature] += 1

    # ---- everything else ---------------------------------------------------------------------------------------------

    async def of_a_workload(self) -> None:
        """Apply a workload, and apply it again."""
        before, asked = self._workload()
        await self.stage.ask("/validate-workload", asked)
        request = asked["request"]
        await self.stage.ask(
            "/validate-workload", {**asked, "request": {**request, "operation": "UPDATE", "oldObject": before}}
        )

    def _workload(self) -> tuple[JSON, JSON]:
        """Return a workload, and the review of what it is changed to."""
        text = self.chance.choice(material().workloads)
        before: JSON = orjson.loads(text)
        asked = workload_review(
            orjson.loads(text), f"{before['kind'].lower()}s", namespace=self.chance.choice(NAMESPACES)
        )
        self._has("workload")
        document = asked["request"]["object"]
        for template in _templates(document):
            self._changed(template, self.chance.randint(0, 3))
        if values.percent(self.chance, 35):
            self._spoilt(document)
        return before, asked

    async def of_a_policy(self) -> None:
        """Store a policy."""
        await self.stage.ask("/validate-policy", self._policy())

    def _policy(self) -> JSON:
        self._has("policy")
        document = orjson.loads(self.chance.choice(material().policies))
        if values.percent(self.chance, 50):
            self._spoilt(document)
        resource = {**_POLICY, "resource": "gpupolicies"}
        return review(document, namespace="", kind=_POLICY, requestKind=_POLICY, resource=resource)

    async def of_an_envelope(self) -> None:
        """Send what is no review of the API server's."""
        chance = self.chance
        made = chance.choice(("pod", "pod", "workload", "policy"))
        if made == "pod":
            asked = self._subject().created()
        else:
            asked = self._workload()[1] if made == "workload" else self._policy()
        path = chance.choice(("/mutate", "/validate")) if made == "pod" else f"/validate-{made}"
        for name in chance.sample(tuple(envelopes.CHANGES), chance.choice((1, 1, 2))):
            self._has(f"envelope: {name}")
            if isinstance(asked.get("request"), dict):
                envelopes.CHANGES[name](chance, asked)
        if values.percent(chance, 20):
            path = chance.choice(envelopes.PATHS)
        text = None
        if values.percent(chance, 10):
            self._has("envelope: no text of JSON")
            text = envelopes.broken_text(chance, orjson.dumps(asked))
        await self.stage.ask(path, asked, text)


_LARGE: Final = 0.004
"""How many pods are very large: each of their reviews takes as long as a hundred others."""
_STORIES: Final = (Case.of_a_pod, Case.of_a_workload, Case.of_a_policy, Case.of_an_envelope)
_WEIGHTS: Final = (79, 10, 2, 9)


def features() -> frozenset[str]:
    """Return every feature that a case can have."""
    found = {
        *_CHANGES,
        *wrong.CHANGES,
        "a list at its bound",
        "a large text",
        "copy",
        "debugged",
        "like an earlier one",
    }
    found |= {f"update: {how}" for how in (*_UPDATES, "forged")} | {f"forged record: {sort}" for sort in records.SORTS}
    found |= {f"envelope: {name}" for name in (*envelopes.CHANGES, "no text of JSON")} | {"workload", "policy"}
    return frozenset(found)


def _is_pod(document: JSON) -> bool:
    """Say whether a document has the shape of a pod, so that whoever changes it finds what there is to be changed."""
    whole = all(isinstance(document.get(part), dict) for part in ("metadata", "spec"))
    return whole and not shape_problems(document)


def _has_record(document: JSON) -> bool:
    """Say whether a pod has a record, of this case or of an earlier one."""
    if not _is_pod(document) or not values.is_plain(orjson.dumps(document)):
        return False
    return APPLIED_ANNOTATION in (document["metadata"].get("annotations") or {})


def _without(pod: JSON) -> JSON:
    """Return the pod without a record."""
    copy = deepcopy(pod)
    (copy["metadata"].get("annotations") or {}).pop(APPLIED_ANNOTATION, None)
    return copy


def _unsized(asked: Asked) -> JSON:
    """Return a response whose warnings do not say how many bytes the review has, for a record has bytes, too."""
    if "warnings" not in asked.response:
        return asked.response
    return {**asked.response, "warnings": [_BYTES.sub("got bytes", each) for each in asked.response["warnings"]]}


def _compared(asked: Asked, before: JSON | None) -> tuple[object, ...]:
    """Return all of an answer to a creation, but for the record."""
    after = before if asked.after is None else asked.after
    denial = asked.response.get("status")
    return asked.status, asked.response.get("warnings"), denial, _bare(after) if after is not None else None


def _bare(pod: JSON) -> JSON:
    """Return a pod without a record, without what is said about who sent one, and without empty annotations."""
    bare = _without(pod) if _is_pod(pod) else pod
    metadata = bare.get("metadata")
    if isinstance(metadata, dict):
        metadata.pop("managedFields", None)
        if not metadata.get("annotations"):
            metadata.pop("annotations", None)
    return bare


def _difference(seen: Any, wanted: Any, where: str = "") -> str:
    """Say where two documents differ first."""
    if isinstance(seen, dict) and isinstance(wanted, dict):
        for key in {**seen, **wanted}:
            if seen.get(key) != wanted.get(key):
                return _difference(seen.get(key), wanted.get(key), f"{where}/{key}")
    if isinstance(seen, (list, tuple)) and isinstance(wanted, (list, tuple)) and len(seen) == len(wanted):
        for index, (one, other) in enumerate(zip(seen, wanted, strict=True)):
            if one != other:
                return _difference(one, other, f"{where}/{index}")
    return f"{where}: got {str(seen)[:200]}, without the record {str(wanted)[:200]}"


def _templates(document: Any) -> list[JSON]:
    """Return every pod template in a workload, as something that can be changed like a pod."""
    found: list[JSON] = []
    if isinstance(document, dict):
        spec = document.get("spec")
        if isinstance(spec, dict) and isinstance(spec.get("containers"), list) and "kind" not in document:
            document.setdefault("metadata", {})
            found.append(document)
        for each in document.values():
            found += _templates(each)
    elif isinstance(document, list):
        for each in document:
            found += _templates(each)
    return found
