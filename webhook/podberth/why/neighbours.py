"""Finds whether other pods keep a pod off nodes: pod affinity, anti-affinity, topology spread, and host ports."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeAlias

from ..kube.pod import labels
from ..kube.selector import LabelRequirements
from ..kube.unchecked import list_at, text_at
from ..words import counted, listed, named
from .diagnosis import Diagnosis
from .machines import Machine
from .picture import Document, place_of
from .selection import selects
from .steps import Step

_Port: TypeAlias = tuple[str, int, str]  # protocol, number, address
# kubernetes pkg/scheduler/framework, DefaultBindAllHostIP
_ANY_ADDRESS: Final = "0.0.0.0"  # noqa: S104 - it is compared, and nothing listens on it
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True)
class Around:
    """The rules about other pods that a pod has to meet on a node, and the pods on the nodes."""

    step: Step

    @cached_property
    def _pod(self) -> Document:
        return self.step.picture.pod or {}

    @cached_property
    def _placed(self) -> list[tuple[Machine, Document]]:
        return [(machine, pod) for machine in self.step.every for pod in machine.held_by]

    @property
    def is_asked(self) -> bool:
        """Whether rules about other pods may keep the pod off nodes, by the pod's spec or the scheduler's message."""
        affinity = self._pod.get("spec", {}).get("affinity") or {}
        rules = [each for kind in ("podAffinity", "podAntiAffinity") for each in list_at(affinity, kind, _REQUIRED)]
        spreads = list_at(self._pod, "spec", "topologySpreadConstraints")
        return bool(rules or spreads) or "anti-affinity" in text_at(self.step.picture.scheduled, "message")

    @cached_property
    def _rules(self) -> list[tuple[str, str, set[str], bool]]:
        """(text, topology key, domains, required) for each rule about domains.

        If ``required`` is True, the pod has to be in one of the domains; if False, the pod must be in none.
        """
        found: list[tuple[str, str, set[str], bool]] = []
        for term in list_at(self._pod, "spec", "affinity", "podAffinity", _REQUIRED):
            domains = self._domains(term, self._pod)
            if not domains and self._matches(term, self._pod, self._pod):
                continue  # the first of a group that wants to be together
            found.append((f"pod affinity to {_phrase(term)}", text_at(term, "topologyKey"), domains, True))
        for term in list_at(self._pod, "spec", "affinity", "podAntiAffinity", _REQUIRED):
            domains = self._domains(term, self._pod)
            found.append((f"pod anti-affinity to {_phrase(term)}", text_at(term, "topologyKey"), domains, False))
        return found

    @cached_property
    def _kept_off(self) -> dict[str, dict[str, str]]:
        """A mapping from topology key to the domains from which other pods keep the pod by their anti-affinity.

        Each value is a mapping from the domain's name to the name of a pod with such an anti-affinity.
        """
        found: dict[str, dict[str, str]] = {}
        for machine, other in self._placed:
            for term in list_at(other, "spec", "affinity", "podAntiAffinity", _REQUIRED):
                key = text_at(term, "topologyKey")
                value = machine.labels.get(key)
                if value is not None and value not in found.get(key, {}) and self._matches(term, other, self._pod):
                    found.setdefault(key, {})[value] = place_of(other)
        return found

    @cached_property
    def _spreads(self) -> list[tuple[str, str, set[str]]]:
        """(text, topology key, domains that the constraint allows for the pod) for each topology spread constraint."""
        found: list[tuple[str, str, set[str]]] = []
        for each in list_at(self._pod, "spec", "topologySpreadConstraints"):
            key = text_at(each, "topologyKey")
            if each.get("whenUnsatisfiable") == "ScheduleAnyway":
                continue
            eligible = [one for one in self.step.every if key in one.labels and selects(self.step, one)]
            counts: Counter[str] = Counter({one.labels[key]: 0 for one in eligible})
            for one in eligible:
                counts[one.labels[key]] += sum(self._matches(each, self._pod, pod) for pod in one.held_by)
            own = self._matches(each, self._pod, self._pod)
            enough = len(counts) >= (each.get("minDomains") or 1)
            least = min(counts.values(), default=0) if enough else 0
            most = each.get("maxSkew") or 1
            left = {domain for domain, number in counts.items() if number + own - least <= most}
            found.append((f"topology spread over {key}", key, left))
        return found

    @cached_property
    def _ports(self) -> list[_Port]:
        return list(_host_ports(self._pod))

    def against(self, machine: Machine) -> list[str]:
        """Return the texts of the rules because of which the pod cannot be on a node; empty if the pod can."""
        own = machine.labels
        found = [words for words, key, domains, wanted in self._rules if (own.get(key) in domains) is not wanted]
        for key, values in self._kept_off.items():
            if own.get(key) in values:
                found.append(f"anti-affinity of {values[own[key]]}")
        found += [words for words, key, left in self._spreads if own.get(key) not in left]
        taken = [port for pod in machine.held_by for port in _host_ports(pod)] if self._ports else []
        if clashing := [port for port in self._ports if any(_clash(port, each) for each in taken)]:
            found.append(f"host port {listed(sorted(str(port) for _, port, _ in clashing))}")
        return list(dict.fromkeys(found))

    def _domains(self, term: Document, of: Document) -> set[str]:
        key = text_at(term, "topologyKey")
        return {
            machine.labels[key]
            for machine, pod in self._placed
            if key in machine.labels and self._matches(term, of, pod)
        }

    @staticmethod
    def _matches(term: Document, of: Document, pod: Document) -> bool:
        """Return whether a pod affinity term of the pod ``of`` selects the pod ``pod``.

        A term with a namespaceSelector is taken to select pods of every namespace.
        """
        spaces: Sequence[Any] = list_at(term, "namespaces")
        mine = text_at(of, "metadata", "namespace")
        if not isinstance(term.get("namespaceSelector"), dict) and text_at(pod, "metadata", "namespace") not in (
            spaces or [mine]
        ):
            return False
        return LabelRequirements(term.get("labelSelector")).match(labels(pod))


def _host_ports(pod: Document) -> Iterator[_Port]:
    for container in list_at(pod, "spec", "containers"):
        for port in list_at(container, "ports"):
            if number := port.get("hostPort"):
                yield text_at(port, "protocol") or "TCP", number, text_at(port, "hostIP") or _ANY_ADDRESS


def _clash(one: _Port, other: _Port) -> bool:
    """Return whether two host ports clash.

    They clash if ports and protocols are equal, and the addresses are equal or one is 0.0.0.0.
    """
    addresses = {one[2], other[2]}
    return one[:2] == other[:2] and (len(addresses) == 1 or _ANY_ADDRESS in addresses)


def _phrase(term: Document) -> str:
    selector = term.get("labelSelector") or {}
    texts = [f"{key}={value}" for key, value in (selector.get("matchLabels") or {}).items()]
    texts += [f"{each.get('key')} {each.get('operator')}" for each in selector.get("matchExpressions") or ()]
    return f"pods {', '.join(texts) or 'of any label'} by {text_at(term, 'topologyKey')}"


def crowded(step: Step, around: Around) -> Diagnosis:
    """Return the diagnosis that rules about other pods keep the pod off every node that has room for it."""
    by_rule: dict[str, list[str]] = {}
    for machine in step.nodes:
        for words in around.against(machine):
            by_rule.setdefault(words, []).append(machine.name)
    rules = sorted(by_rule, key=lambda words: -len(by_rule[words]))  # stable: the pod's own rules come first
    rule = rules[0]
    return Diagnosis(
        cause="neighbours",
        title=f"its {rule} leaves none of {counted(len(step.nodes), 'node')} with room"
        if not rule.startswith("anti-affinity of")
        else f"{rule} keeps it off the nodes that have room",
        evidence=(*(f"{words}: against {named(sorted(by_rule[words]))}" for words in rules[:4]), *step.by_reason),
        do=(
            "loosen the rule in the template (preferred instead of required, ScheduleAnyway instead of DoNotSchedule)",
            "or add nodes with the labels that it names",
        ),
    )
