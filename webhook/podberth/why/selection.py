"""Finds whether a pod waits because of its choice of nodes.

A choice is a node selector, node affinity or tolerations. Cordoned and unready nodes are excluded, too. The author of
the pod, or podberth, has written the selectors and the affinity.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..kube.amounts import number, shown
from ..kube.pod import annotations
from ..kube.selector import node_selector_matches, tolerated
from ..kube.unchecked import list_at, mapping_at, text_at
from ..wellknown import APPLIED_ANNOTATION
from ..words import counted, listed, named
from . import agents
from .diagnosis import Diagnosis
from .machines import Machine, machines
from .picture import Document, Picture, Ref
from .steps import Step

_REQUIRED: Final = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
_MOST_VALUES: Final = 4
_MOST_NODES: Final = 2
# The taints that the node controller and `kubectl cordon` write: no toleration is the remedy.
# https://kubernetes.io/docs/reference/labels-annotations-taints/
_STATES: Final = {
    "node.kubernetes.io/not-ready": "not ready",
    "node.kubernetes.io/unreachable": "unreachable",
    "node.kubernetes.io/unschedulable": "cordoned",
    "node.kubernetes.io/disk-pressure": "short of disk",
    "node.kubernetes.io/memory-pressure": "short of memory",
    "node.kubernetes.io/pid-pressure": "short of processes",
    "node.kubernetes.io/network-unavailable": "without network",
    "node.cloudprovider.kubernetes.io/uninitialized": "not initialized",
}
_UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"


def selects(step: Step, machine: Machine) -> bool:
    """Return whether the pod's nodeSelector and required node affinity select a node."""
    spec = step.picture.spec
    return _selected(mapping_at(spec, "nodeSelector"), machine, list_at(spec, *_REQUIRED))


def _selected(selector: Mapping[str, Any], machine: Machine, terms: list[Any]) -> bool:
    if any(machine.labels.get(key) != value for key, value in selector.items()):
        return False
    return not terms or machine.is_selected(terms)


def needs(picture: Picture) -> Iterator[Ref]:
    """Yield the reference to the agents' Leases if requirements of podberth keep a waiting pod off all nodes."""
    if not picture.is_waiting or APPLIED_ANNOTATION not in annotations(picture.pod or {}):
        return
    every = machines(picture)
    step = Step(picture=picture, every=every, nodes=every, gone={})
    able = tuple(each for each in every if all(each.offers.get(name, 0) >= n for name, n in step.wants.items()))
    if not any(selects(step, each) for each in able) and _of_podberth(picture, able)[1]:
        yield agents.LEASES


def unselected(step: Step) -> Diagnosis:
    """Return the diagnosis that the pod's nodeSelector or node affinity selects no node with the pod's resources."""
    spec, terms = step.picture.spec, list_at(step.picture.spec, *_REQUIRED)
    selector = mapping_at(spec, "nodeSelector")
    policies, mine = _of_podberth(step.picture, step.nodes)
    others = [each for each in step.every if _selected(selector, each, terms)]
    pairs = [f"nodeSelector {key}={value}" for key, value in sorted(selector.items())]
    wanted = listed([*pairs, *(["its node affinity"] if terms else [])])
    if mine:
        title = f"podberth's policy {listed(policies)} requires nodes of which none fits"
    elif others:
        title = f"only nodes that lack what it asks for match {wanted}: {named(sorted(each.name for each in others))}"
    else:
        title = f"no node matches {wanted}"
    evidence = [*filter(None, (_lacking(step, each) for each in others[:_MOST_NODES])), *_requirements(step, terms)]
    evidence += step.by_reason
    if policies:
        evidence.append(f"podberth wrote part of its choice of nodes (policy {listed(policies)})")
    if mine:
        evidence += agents.silent(step)
    do = (
        (
            "delete the pod, so that its controller makes it again and podberth decides again",
            f"or take the requirement back for new pods: mode preferred in the params of {listed(policies)}",
        )
        if mine
        else ("change nodeSelector or node affinity in the template to labels that such nodes have",)
    )
    return Diagnosis(cause="selector", title=title, evidence=tuple(evidence), do=do)


def _lacking(step: Step, machine: Machine) -> str:
    """Return the text that names the resources of which a node has too little for the pod even without other pods.

    The text also has the name of the node, and the offered and the requested amounts. It is empty if there is no such
    resource.
    """
    texts = [
        f"{number(name, machine.offers.get(name, 0))} of {shown(name, each)}"
        for name, each in sorted(step.wants.items())
        if machine.offers.get(name, 0) < each
    ]
    return f"{machine.name} has {listed(texts)}" if texts else ""


def _of_podberth(picture: Picture, nodes: tuple[Machine, ...]) -> tuple[list[str], bool]:
    """Return (the policies that wrote requirements on nodes, whether the user's own requirements select a node)."""
    spec = picture.spec
    policies, chosen, own = _without_podberth(
        picture.pod or {}, mapping_at(spec, "nodeSelector"), list_at(spec, *_REQUIRED)
    )
    return policies, bool(policies) and any(_selected(chosen, each, own) for each in nodes)


def _requirements(step: Step, terms: list[Any]) -> Iterator[str]:
    """Yield a line for each requirement on labels, with the number of nodes that meet the requirement.

    If no node meets the requirement, the line has the values that the nodes have.
    """
    selector = mapping_at(step.picture.spec, "nodeSelector")
    wanted: list[dict[str, Any]] = [
        {"key": key, "operator": "In", "values": [value]} for key, value in sorted(selector.items())
    ]
    wanted += [each for term in terms for each in term.get("matchExpressions") or () if each not in wanted]
    for each in wanted:
        key = str(each.get("key"))
        alone = [{"matchExpressions": [each]}]
        meeting = [one for one in step.nodes if node_selector_matches(alone, one.labels, {})]
        values = Counter(one.labels[key] for one in step.nodes if key in one.labels)
        have = [f"{value} ({counted(n, 'node')})" for value, n in values.most_common(_MOST_VALUES)]
        there = f"they have {listed(have)}" if have else "none has this label"
        yield (
            f"{_phrase(each)}: {len(meeting):,} of {counted(len(step.nodes), 'node')} that could hold it"
            f"{'' if meeting else f'; {there}'}"
        )


def _phrase(requirement: Mapping[str, Any]) -> str:
    key, operator = requirement.get("key"), requirement.get("operator")
    values = [str(each) for each in requirement.get("values") or ()]
    if operator == "In" and len(values) == 1:
        return f"{key}={values[0]}"
    return f"{key} {operator} {'|'.join(values)}".rstrip()


def _without_podberth(
    pod: Document, selector: Mapping[str, Any], terms: list[Any]
) -> tuple[list[str], Mapping[str, Any], list[Any]]:
    """Return (policies, selector, terms): the policies that wrote requirements, and the user's requirements.

    The pod's record names the policies. podberth joins its expressions with each of the user's terms, so removing the
    expressions leaves the user's terms. If nothing remains of a term, the user had no required term.
    """
    policies: list[str] = []
    if APPLIED_ANNOTATION not in annotations(pod):
        return policies, selector, terms
    from ..mutation.record import claimed  # noqa: PLC0415 - it knows every mutation, and most pods have no record

    wrote: list[Any] = []
    for policy, changes in claimed(pod).items():
        labels, required = mapping_at(changes, "nodeSelector"), list_at(changes.get("nodeAffinity"), "required")
        if labels or required:
            policies.append(policy)
            selector = {key: value for key, value in selector.items() if labels.get(key) != value}
            wrote += [each for term in required for each in term.get("matchExpressions") or ()]
    left = [
        {**term, "matchExpressions": [each for each in term.get("matchExpressions") or () if each not in wrote]}
        for term in terms
    ]
    users = [term for term in left if term["matchExpressions"] or term.get("matchFields")]
    return policies, selector, users if len(users) == len(left) else []


def accepts(step: Step, machine: Machine) -> bool:
    """Return whether the pod tolerates all taints of a node, and the node is not cordoned."""
    tolerations = list_at(step.picture.spec, "tolerations")
    if machine.is_cordoned and not tolerated(tolerations, {"key": _UNSCHEDULABLE, "effect": "NoSchedule"}):
        return False
    return all(tolerated(tolerations, each) for each in machine.taints)


def barriers(step: Step, machine: Machine) -> list[str]:
    """Return the taints and states of a node that keep the pod off, as texts; empty if the node accepts the pod."""
    tolerations = list_at(step.picture.spec, "tolerations")
    keeping = [each for each in machine.taints if not tolerated(tolerations, each)]
    texts = [_STATES.get(text_at(each, "key"), "") or f"tainted {_taint(each)}" for each in keeping]
    return list(dict.fromkeys([*texts, *(["cordoned"] if machine.is_cordoned else [])]))


def tainted(step: Step) -> Diagnosis:
    """Return the diagnosis that all nodes with the requested resources are tainted, cordoned or not ready."""
    tolerations = list_at(step.picture.spec, "tolerations")
    keeping: dict[str, list[str]] = {}
    taints: dict[str, Mapping[str, str]] = {}
    for machine in step.nodes:
        for each in machine.taints:
            if not tolerated(tolerations, each):
                word = _STATES.get(text_at(each, "key"), "") or _taint(each)
                if machine.name not in keeping.setdefault(word, []):  # a state is a taint of two effects
                    keeping[word].append(machine.name)
                taints.setdefault(word, each)
        if machine.is_cordoned and machine.name not in keeping.get("cordoned", ()):
            keeping.setdefault("cordoned", []).append(machine.name)
    states = [word for word in keeping if word in _STATES.values()]
    by_taint = [word for word in keeping if word not in states]
    all_of = f"{'the only node' if len(step.nodes) == 1 else f'all {len(step.nodes):,} nodes'} that could hold it"
    verb = "is" if len(step.nodes) == 1 else "are"
    title = (
        f"{all_of} {verb} tainted {listed(by_taint[:2])}, which it does not tolerate"
        if by_taint
        else f"{all_of} {verb} {listed(states)}"
    )
    if by_taint and states:
        title = f"{all_of} {verb} tainted ({listed(by_taint[:2])}) or {listed(states, 'or')}"
    return Diagnosis(
        cause="taint",
        title=title,
        evidence=(
            *(f"{word}: {counted(len(n), 'node')} ({named(sorted(n))})" for word, n in keeping.items()),
            *step.by_reason,
        ),
        do=tuple(_remedies(states, by_taint, taints, keeping)),
    )


def _remedies(
    states: list[str], by_taint: list[str], taints: Mapping[str, Mapping[str, str]], nodes: Mapping[str, list[str]]
) -> Iterator[str]:
    for word in by_taint:
        taint = taints[word]
        value = f", value: {taint['value']}" if taint.get("value") else ""
        operator = "Equal" if value else "Exists"
        yield (
            f"if it may run there, add to spec.tolerations: {{key: {taint.get('key')}, operator: {operator}{value}, "
            f"effect: {taint.get('effect')}}}"
        )
    if "cordoned" in states:
        yield f"if the node is fit again: kubectl uncordon {nodes['cordoned'][0]}"
    if others := [word for word in states if word != "cordoned"]:
        yield f"see why the node is {listed(others)}: kubectl describe node {nodes[others[0]][0]}"


def _taint(taint: Mapping[str, str]) -> str:
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint.get('key')}{value}:{taint.get('effect')}"
