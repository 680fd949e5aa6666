"""Reads the topology that a workload's own fields require: how many pods one domain of a level has to hold."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, Final

from ..kinds.dossiers import DOSSIERS
from ..kinds.forms import find
from ..kinds.group_rules import JOB_SCHEDULING
from ..kinds.pod_sets import PodSets
from ..kinds.starts import Start, all_of
from ..kube.paths import Path
from ..kube.selector import LabelSets
from ..kube.unchecked import at, list_at, mapping_at, text, text_at
from ..topology.need import covers
from .case import GroupCase, Pods, Wrong
from .least_pods import exactly, start_of

_POD_SETS: Final = tuple(row.pod_sets for row in DOSSIERS if row.pod_sets is not None)
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
# The most terms of a pod that are read; published manifests have one or two.
_MOST_TERMS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelDemand:
    """One requirement on topology: one domain of the level ``key`` has to hold the pods that ``start`` counts."""

    key: str
    start: Start[Pods]
    wrong: Callable[[str], Wrong]
    """The function that returns a problem, with a message, of the field that states the requirement."""
    domains: int = 1
    """The number of domains that are needed, one for each gang."""

    def concerns(self, other: "LevelDemand") -> bool:
        """Return whether this requirement and the requirement ``other`` apply to pods from a common template."""
        return any(share.pods.template.path in other.paths for share in self.start.shares)

    @property
    def paths(self) -> frozenset[Path]:
        """The paths of the templates whose pods the requirement applies to."""
        return frozenset(share.pods.template.path for share in self.start.shares)


def exclusive_levels(case: GroupCase) -> Iterator[LevelDemand]:
    """Yield the topology that annotations for exclusive placement require: each gang alone in a domain of a level.

    The kind of the object decides which pods have to be in one domain: the pods of one group, of one Job of a
    replicated job, or of all roles but those with an annotation that exempts them.
    """
    rules = case.rules
    for name, disabled in rules.exclusive.items():
        if rules.groups is None:
            roles = [each for each in case.pods if not each.annotations.get(disabled)]
            yield from _of_groups(case, name, roles, 1)
        elif rules.whole_groups:
            yield from _of_groups(case, name, case.pods, rules.groups(case.document, ()))
        else:
            yield from _of_jobs(case, name)


def _of_jobs(case: GroupCase, name: str) -> Iterator[LevelDemand]:
    steps = ("metadata", "annotations", name)
    found = [(each, *_job_key(case, each, steps)) for each in case.pods]
    for pods, key, place in found:
        if key:
            alike = [each for each, other, _ in found if other == key]
            yield LevelDemand(
                key=key,
                start=_of_one_group(case, pods),
                wrong=partial(pods.wrong, steps) if place is None else partial(case.wrong, (*place, *steps)),
                domains=sum(_groups(case, each) for each in _rivals(case, pods, alike)),
            )


def _job_key(case: GroupCase, pods: Pods, steps: tuple[str, ...]) -> tuple[str, Path | None]:
    """Return (the level that a role's exclusive topology requires, the path of the object's part with the annotation).

    The annotation is looked for in three places: on the pod template (then the result's path is None), on the role, and
    on the whole object (an empty path). ``steps`` is the annotation's path within each place. If none of the places has
    the annotation, the level is empty.
    """
    if own := text_at(pods.template.own, *steps):
        return own, None
    place = _of_its_part(case, pods)
    of_part = text_at(find(case.document, place), *steps) if place else ""
    return (of_part, place) if of_part else (text_at(case.document, *steps), ())


def _rivals(case: GroupCase, pods: Pods, alike: Sequence[Pods]) -> Iterator[Pods]:
    """Yield the replicated jobs in ``alike`` whose Jobs compete for domains with the Jobs of ``pods``.

    ``alike`` are the replicated jobs that require the same level as ``pods``; ``pods`` itself is yielded, too. Jobs of
    different stages do not compete.
    """
    members = _of_one_group(case, pods).least
    for each in alike:
        beside = case.stages[each.template.path] == case.stages[pods.template.path]
        if beside and covers(pods.need, each.need) and _of_one_group(case, each).least >= members:
            yield each


def _of_groups(case: GroupCase, name: str, pods: Sequence[Pods], groups: int) -> Iterator[LevelDemand]:
    steps = ("metadata", "annotations", name)
    said = text_at(case.document, *steps)
    by = next((each for each in pods if said or text_at(each.template.own, *steps)), None)
    if by is not None and groups:
        start = all_of(pods, lambda each: each.replicas // groups)
        key = said or text_at(by.template.own, *steps)
        wrong = partial(case.wrong if said else by.wrong, steps)
        yield LevelDemand(key=key, start=start, wrong=wrong, domains=groups)


def _of_its_part(case: GroupCase, pods: Pods) -> Path:
    """Return the path of the part of the object that has the template of ``pods`` and may have annotations itself.

    Such a part is, for example, the Job template of a replicated job. The path is () if there is no such part.
    """
    part = case.rules.annotated_part
    return () if part is None else part(pods.template.path[len(case.base) :])


def _of_one_group(case: GroupCase, pods: Pods) -> Start[Pods]:
    """Return how many pods of a template are in one gang.

    A gang is one Job of a JobSet, or one group of a LeaderWorkerSet.
    """
    groups = _groups(case, pods)
    return all_of([pods], lambda each: each.replicas // groups if groups else 0)


def _groups(case: GroupCase, pods: Pods) -> int:
    """Return the number of gangs that have pods of a template; 0 if unknown."""
    groups = case.rules.groups
    return 0 if groups is None else groups(case.document, pods.template.path[len(case.base) :])


def pod_set_levels(case: GroupCase, *, preferred: bool = False) -> Iterator[LevelDemand]:
    """Yield the topology that annotations of pod templates require for pod sets.

    With ``preferred``, preferred topology is yielded too. Pod sets that name the same group in the same queueing system
    have to be in one domain.
    """
    for form in _POD_SETS:
        if case.kind[1] not in form.single:
            yield from _of_pod_sets(case, form, (form.required, form.preferred) if preferred else (form.required,))


def _of_pod_sets(case: GroupCase, form: PodSets, names: Sequence[str]) -> Iterator[LevelDemand]:
    for name in names:
        for sets in _pod_sets(case, form, name):
            yield _annotated(sets[0], name, _joined([_pod_set(case, form, each) for each in sets]))
    for pods in case.pods:
        said = mapping_at(pods.template.own, "metadata", "annotations")
        size = text(said.get(form.slice_size))
        if text(said.get(form.slice_required)) and size.isdecimal() and len(size) < len(str(2**31)):
            yield _annotated(pods, form.slice_required, exactly(int(size), pods))


def _pod_sets(case: GroupCase, form: PodSets, name: str) -> Iterator[list[Pods]]:
    """Yield each set of pods that a group system keeps in one domain because of the annotation ``name``.

    ``form`` has the group system's annotations. Templates with one group in the annotation ``form.group`` form one set.
    A template that names no group is a set by itself.
    """
    groups: dict[object, list[Pods]] = {}
    for place, pods in enumerate(case.pods):
        said = mapping_at(pods.template.own, "metadata", "annotations")
        if key := text(said.get(name)):
            group = text(said.get(form.group))
            groups.setdefault((group, key) if group else place, []).append(pods)
    yield from groups.values()


def _pod_set(case: GroupCase, form: PodSets, pods: Pods) -> Start[Pods]:
    """Return the pods of a template that start together, as the group system of the pod set counts them.

    Minimums that only other group systems read are ignored.
    """
    if case.rules.whole_groups:
        return _of_one_group(case, pods)
    return start_of(case, [pods]) if case.kind in form.own_minimums else all_of([pods])


def _joined(starts: Sequence[Start[Pods]]) -> Start[Pods]:
    shares = tuple(share for each in starts for share in each.shares)
    return Start(shares=shares, least=sum(each.least for each in starts))


def _annotated(pods: Pods, name: str, start: Start[Pods]) -> LevelDemand:
    key = text_at(pods.template.own, "metadata", "annotations", name)
    return LevelDemand(key=key, start=start, wrong=partial(pods.wrong, ("metadata", "annotations", name)))


def native_levels(case: GroupCase) -> Iterator[LevelDemand]:
    """Yield the topology that the field ``scheduling`` of a Job requires (KEP-5732, the feature gate WorkloadWithJob).

    The pods of a Job are placed one by one unless the Job asks to be a gang (KEP-5547, "Defaulting Rules").
    """
    asked = at(case.document, "spec", *JOB_SCHEDULING, "gang") is not None
    if case.kind != ("batch", "Job") or not (asked or all(each.gang.known for each in case.pods)):
        return
    steps = ("spec", "scheduling", "schedulingConstraints", "topology")
    for pods in case.pods:
        for index, each in enumerate(list_at(case.document, *steps)):
            if key := text_at(each, "key"):
                wrong = partial(case.wrong, (*steps, index, "key"))
                yield LevelDemand(key=key, start=start_of(case, [pods]), wrong=wrong)


def affinity_levels(case: GroupCase) -> Iterator[LevelDemand]:
    """Yield the topology that pods require by pod affinity to pods of their gang, after the writes of policies.

    A term requires one domain for its pods only if each role that the term selects has such a term, because a role
    without a term may be placed elsewhere; other terms are left out. Equal terms are yielded once, for the first role.
    """
    roles = _Roles(case)
    first: dict[tuple[str, frozenset[int]], tuple[Pods, Path]] = {}
    asking: dict[tuple[str, frozenset[int]], set[int]] = {}
    for place, pods in enumerate(case.pods):
        for steps, term in islice(_terms(pods.pod), _MOST_TERMS):
            wish = text(term.get("topologyKey")), roles.selected(term, place)
            if wish[0] and place in wish[1]:
                first.setdefault(wish, (pods, steps))
                asking.setdefault(wish, set()).add(place)
    for (key, mates), (pods, steps) in first.items():
        those = [places for (other, more), places in asking.items() if other == key and more >= mates]
        if mates <= set[int]().union(*those):
            start = start_of(case, [case.pods[place] for place in sorted(mates)])
            yield LevelDemand(key=key, start=start, wrong=partial(pods.wrong, (*steps, "topologyKey")))


def affinity_keys(case: GroupCase) -> Iterator[LevelDemand]:
    """Yield the topology that pods require or prefer by pod affinity to other pods of their role."""
    roles = _Roles(case)
    for place, pods in enumerate(case.pods):
        for steps, term in _terms(pods.pod, preferred=True):
            if place in roles.selected(term, place) and (key := text(term.get("topologyKey"))):
                wrong = partial(pods.wrong, (*steps, "topologyKey"))
                yield LevelDemand(key=key, start=all_of([pods]), wrong=wrong)


class _Roles:
    """The roles of an object by index; finds which of the roles a term of pod affinity selects."""

    def __init__(self, case: GroupCase) -> None:
        self._namespace = case.namespace
        self._labels = LabelSets([mapping_at(each.pod, "metadata", "labels") for each in case.pods])
        self._numbers = [case.stages[each.template.path] for each in case.pods]
        self._beside: dict[int, set[int]] = {}
        for place, number in enumerate(self._numbers):
            self._beside.setdefault(number, set()).add(place)

    def selected(self, term: dict[str, Any], place: int) -> frozenset[int]:
        """Return the indexes of the roles that a pod affinity term of the role with the index ``place`` selects.

        Only roles that run at the same time as the term's own role are in the result. The result is empty if the term
        has ``matchLabelKeys`` or a similar field, because the selected pods are then unknown.
        """
        if term.get("matchLabelKeys") or term.get("mismatchLabelKeys") or term.get("namespaceSelector") is not None:
            return frozenset()
        if (named := term.get("namespaces")) and self._namespace not in named:
            return frozenset()
        return self._labels.selected(term.get("labelSelector")) & self._beside[self._numbers[place]]


def _terms(pod: dict[str, Any], *, preferred: bool = False) -> Iterator[tuple[Path, dict[str, Any]]]:
    base = ("spec", "affinity", "podAffinity")
    for index, term in enumerate(list_at(pod, *base, _REQUIRED)):
        yield (*base, _REQUIRED, index), term
    for index, each in enumerate(list_at(pod, *base, _PREFERRED) if preferred else ()):
        if isinstance(term := at(each, "podAffinityTerm"), dict):
            yield (*base, _PREFERRED, index, "podAffinityTerm"), term
