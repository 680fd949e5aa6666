"""/validate-workload: when a workload is applied, returns warnings about the decisions on the workload's future pods.

The endpoint never denies and never patches, because the pods get reviews of their own. A denial that a pod would get is
a warning here.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from ..errors import ReviewError
from ..group_checks.case import MOST_ROLES
from ..kube.patch import apply
from ..kube.pod_limits import GPU_REQUESTS, MOST_VALUES, entries_in, values_up_to
from ..kube.positions import render_path
from ..kube.unchecked import key_of, mapping_at
from ..workload.extent import excess_of_workload
from ..workload.gpus import GpuFacts, gpu_facts
from ..workload.kinds import row_for
from ..workload.templates import Template, each_template
from . import answering, messages
from .creation import OF_A_CREATION
from .decide import mutate, validate
from .groups import wrong_in_workload
from .outcome import Action, Decision, Outcome
from .review import AdmissionRequest
from .snapshot import Snapshot

_ONLY: Final = "only the first {} are judged, and groups and queues not at all; for all of them: podberth check"
_MANY: Final = f"got more than {MOST_ROLES} pod templates: {_ONLY}"
_CHOOSING: Final = ("nodeSelector", "affinity", "tolerations")
MOST_CHOICES: Final = 4
"""The maximum number of different needs (node selection and accelerators) among the pod templates of one object. No
workload among this repository's manifests and tests has more."""
MOST_ACCELERATED: Final = 3
"""The maximum number of different needs with accelerators among the pod templates of one object. Finding the nodes for
such a need takes up to 30 ms (``bench.hostile``); for a launcher or frontend without accelerators a tenth of that."""
_WAYS: Final = f"{MOST_CHOICES} choices of nodes in the pod templates, or {MOST_ACCELERATED} with accelerators"
_UNLIKE: Final = f"got more than {_WAYS}: {_ONLY}"
_LONGEST_PLACES: Final = 80
"""The maximum length, in characters, of the list of pod templates in one warning."""
MOST_ENTRIES: Final = 800
"""The maximum number of entries in the lists and maps of all pod templates of one object together. 12 templates of 60
entries are below it, and a published template has 30. Four roles with 700 entries each took 190 ms."""
MOST_VALUES_TOGETHER: Final = 20_000
"""The maximum number of values in all lists and maps of all pod templates of one object together, unknown fields
included. An entry has five values or fewer."""
_LONG: Final = f"got more than {MOST_ENTRIES:,} entries in the lists of all pod templates: {_ONLY}"
_ASKING: Final = f"got more than {GPU_REQUESTS} accelerator resources in all pod templates: {_ONLY}"


def validate_workload(request: AdmissionRequest, snapshot: Snapshot) -> Outcome:
    """Return the outcome of one review of a workload: the admission, with warnings about the workload's future pods.

    Raises:
        ReviewError: a template of the workload is not a pod template.
    """
    if request.operation not in ("CREATE", "UPDATE") or not (request.unparsed or row_for(request.object or {})):
        return answering.unchanged(request)
    if excess := request.excess or excess_of_workload(request.object or {}):
        return answering.unread(request, f"{excess}; for all of it: podberth check")
    spec, before = (mapping_at(each).get("spec") for each in (request.object, request.old_object))
    if request.operation == "UPDATE" and before == spec:
        return answering.unchanged(request)  # only a change of the spec can affect the workload's pods
    found, left_out = _judged(each_template(request.object or {}, namespace=request.namespace))
    named = Counter(each.role for each in found)
    too_large = [f"{_place(each, named)}: {each.too_large}" for each in found if each.too_large]
    found = [each for each in found if not each.too_large]
    problems = [f"{_place(each, named)}: {problem}" for each in found for problem in each.problems]
    if problems:
        raise ReviewError(400, "; ".join(problems[:5]))
    made = [(each, *decide_on(each, request, snapshot)) for each in found]
    pods = [(each, pod) for each, _, pod in made]
    # Only all roles together show whether a group is too small, or whether a launcher is not counted.
    complete = not (left_out or too_large)
    groups = wrong_in_workload(request.object or {}, pods, request.namespace, snapshot) if complete else ()
    wrong = [Decision("", "warn", str(each)) for each in groups]
    places = [(_place(each, named), items) for each, items, _ in made]
    of_cluster, of_namespace = (
        list(_lines([(place, [one for one in items if one.of_namespace == own]) for place, items in places]))
        for own in (False, True)
    )
    return answering.of_warnings(
        request,
        [*(Decision("", "warn", each) for each in too_large), *(one for _, items in places for one in items), *wrong],
        # The problems of groups come before other warnings: in a group that never starts, nothing else matters.
        [
            *([messages.line("", left_out)] if left_out else ()),
            *(messages.line("", each) for each in too_large),
            *(line for action, line in of_cluster if action == "deny"),
            *(messages.line("", each.message) for each in wrong),
            *(line for action, line in of_cluster if action not in ("deny", "mutate")),
            *(line for action, line in of_cluster if action == "mutate"),
        ],
        [line for first in (True, False) for action, line in of_namespace if (action == "deny") == first],
    )


def _lines(made: Sequence[tuple[str, Sequence[Decision]]]) -> Iterator[tuple[Action, str]]:
    """Yield each warning about pod templates with its action; a decision on several templates is one warning."""
    said: dict[tuple[Decision, ...], list[str]] = {}
    for place, items in made:
        plain = [replace(item, fault=False) for item in items if item.action not in ("audit", "note")]
        changed = tuple(item for item in plain if item.action == "mutate")
        each_alone = [(item,) for item in plain if item.action != "mutate"]
        for key in dict.fromkeys([*each_alone, *([changed] if changed else ())]):
            said.setdefault(key, []).append(place)
    for items, places in said.items():
        whose = "" if len(places) == len(made) else _joined(places)
        if items[0].action == "mutate":
            start = f"{whose}: " if whose else ""
            yield "mutate", messages.line("", start + messages.changes(items, messages.MAX_LINE - len(start)))
        else:
            yield items[0].action, messages.line(items[0].policy, _would_be(items[0], whose))


def _joined(places: Sequence[str]) -> str:
    """Return the names of pod templates as one text; a list that is too long becomes the first name and a count."""
    text = " and ".join(filter(None, (", ".join(places[:-1]), places[-1])))
    return text if len(text) <= _LONGEST_PLACES else f"{places[0]} and {len(places) - 1} more"


def _judged(found: Iterable[Template]) -> tuple[list[Template], str]:
    """Return (the pod templates to decide on, a message about templates that are left out).

    The message is empty if no template is left out. The search stops at the first template that is left out: with it,
    all templates so far exceed a limit together. The limits are for the numbers of templates, of list and map items in
    the templates, of requests for accelerators, and of different node searches.
    """
    judged = list[Template]()
    entries = values = requests = 0
    choices, accelerated = set[bytes](), set[bytes]()
    for each in found:
        usable = not (each.too_large or each.problems)
        gpu = gpu_facts(each.pod) if usable else GpuFacts()
        choice = _choice(each, gpu) if usable else b""
        entries += entries_in(each.own)
        values += 0 if each.too_large else values_up_to(MOST_VALUES, each.own)
        requests += len(gpu.requests)
        choices.add(choice)
        if gpu.kind != "none":
            accelerated.add(choice)
        beyond = ""
        if len(judged) >= MOST_ROLES:
            beyond = _MANY
        elif judged and (entries > MOST_ENTRIES or values > MOST_VALUES_TOGETHER):
            beyond = _LONG
        elif judged and requests > GPU_REQUESTS:
            beyond = _ASKING
        elif len(choices) > MOST_CHOICES or len(accelerated) > MOST_ACCELERATED:
            beyond = _UNLIKE
        if beyond:
            return judged, beyond.format(len(judged))
        judged.append(each)
    return judged, ""


def _choice(template: Template, gpu: GpuFacts) -> bytes:
    """Return a key of the template's node selection and accelerators; nodes are searched once for equal keys."""
    spec = mapping_at(template.own, "spec")
    return key_of([[spec.get(field) for field in _CHOOSING], gpu.totals, gpu.per_container, gpu.memory_mib])


def decide_on(
    template: Template, request: AdmissionRequest, snapshot: Snapshot
) -> tuple[list[Decision], dict[str, Any]]:
    """Return (the decisions of all policies on a pod made from the template, the pod after the policies' writes).

    If /mutate denies the pod, the decisions of /validate are left out, and the pod is unchanged.
    """
    known = snapshot.with_owners(template.owners)
    pod_request = _pod_request(request, template.pod)
    mutated = mutate(pod_request, known)
    if mutated.verdict == "denied":
        return list(mutated.decisions), template.pod
    final = apply(template.pod, mutated.patch)
    return [*mutated.decisions, *validate(replace(pod_request, object=final), known).decisions], final


def _place(template: Template, among: Counter[str]) -> str:
    """Return a pod template's name for messages: the role, or the path if several in ``among`` have an equal role."""
    if among.total() == 1:
        return "template"
    named = template.role and among[template.role] == 1
    return template.role if named else render_path(template.path)


def _pod_request(request: AdmissionRequest, pod: dict[str, Any]) -> AdmissionRequest:
    """Return the request that creates ``pod``, as the workload's controller would send it."""
    envelope = {**request.envelope, **OF_A_CREATION, "name": ""}
    return replace(
        request,
        group="",
        version="v1",
        kind="Pod",
        resource="pods",
        sub_resource="",
        name="",
        operation="CREATE",
        object=pod,
        old_object=None,
        envelope=envelope,
    )


def _would_be(item: Decision, place: str) -> str:
    whose = f"{place} pods" if place else "pods"
    if item.action == "deny":
        return f"{whose} of this workload would be denied: {item.message}"
    return f"{place}: {item.message}" if place else item.message
