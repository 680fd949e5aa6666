"""The causes of a pod's place beside other pods: pod affinity, anti-affinity, topology spread, and host ports."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from ..kube.pod import labels
from ..kube.selector import label_selector_matches
from ..kube.unchecked import list_at, text_at
from .finding import Finding, counted, listed, named
from .machines import Machine
from .picture import Document
from .selection import selects
from .steps import Step

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True)
class Around:
    """The pods beside which a pod has to find its place."""

    step: Step

    @cached_property
    def _pod(self) -> Document:
        return self.step.picture.pod or {}

    @cached_property
    def _placed(self) -> list[tuple[Machine, Document]]:
        return [(machine, pod) for machine in self.step.every for pod in machine.held_by]

    @property
    def is_asked(self) -> bool:
        """Whether the pod has a rule about other pods, or the scheduler says that one of theirs holds it."""
        affinity = self._pod.get("spec", {}).get("affinity") or {}
        rules = [each for kind in ("podAffinity", "podAntiAffinity") for each in list_at(affinity, kind, _REQUIRED)]
        spreads = list_at(self._pod, "spec", "topologySpreadConstraints")
        return bool(rules or spreads) or "anti-affinity" in text_at(self.step.picture.scheduled, "message")

    @cached_property
    def _bad_domains(self) -> dict[str, tuple[set[tuple[str, str]], bool]]:
        """The topology domains that each rule allows (True) or forbids (False), by the words for the rule."""
        found: dict[str, tuple[set[tuple[str, str]], bool]] = {}
        for term in list_at(self._pod, "spec", "affinity", "podAffinity", _REQUIRED):
            domains = self._domains(term, self._pod)
            if not domains and self._matches(term, self._pod, self._pod):
                continue  # the first of a group that wants to be together
            found[f"pod affinity to {_phrase(term)}"] = domains, True
        for term in list_at(self._pod, "spec", "affinity", "podAntiAffinity", _REQUIRED):
            found[f"pod anti-affinity to {_phrase(term)}"] = self._domains(term, self._pod), False
        for machine, other in self._placed:
            for term in list_at(other, "spec", "affinity", "podAntiAffinity", _REQUIRED):
                key = text_at(term, "topologyKey")
                if key in machine.labels and self._matches(term, other, self._pod):
                    domains, _ = found.setdefault(
                        f"anti-affinity of {text_at(other, 'metadata', 'name')}", (set(), False)
                    )
                    domains.add((key, machine.labels[key]))
        return found

    @cached_property
    def _spreads(self) -> dict[str, tuple[str, set[str]]]:
        """The topology key, and the domains that still take the pod, of each spread constraint, by its words."""
        found: dict[str, tuple[str, set[str]]] = {}
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
            found[f"topology spread over {key}"] = key, {d for d, n in counts.items() if n + own - least <= most}
        return found

    @cached_property
    def _ports(self) -> set[tuple[str, int]]:
        return set(_host_ports(self._pod))

    def against(self, machine: Machine) -> list[str]:
        """Return the words for the rules because of which the pod cannot be on a node; empty if it can."""
        found = []
        for words, (domains, wanted) in self._bad_domains.items():
            inside = any(machine.labels.get(key) == value for key, value in domains)
            if inside is not wanted:
                found.append(words)
        found += [words for words, (key, left) in self._spreads.items() if machine.labels.get(key) not in left]
        if self._ports and any(self._ports.intersection(_host_ports(pod)) for pod in machine.held_by):
            found.append(f"host port {listed(sorted(str(port) for _, port in self._ports))}")
        return found

    def _domains(self, term: Document, of: Document) -> set[tuple[str, str]]:
        key = text_at(term, "topologyKey")
        return {
            (key, machine.labels[key])
            for machine, pod in self._placed
            if key in machine.labels and self._matches(term, of, pod)
        }

    @staticmethod
    def _matches(term: Document, of: Document, pod: Document) -> bool:
        """Return whether a term of the pod ``of`` selects a pod. A namespaceSelector counts as every namespace."""
        spaces: Sequence[Any] = list_at(term, "namespaces")
        mine = text_at(of, "metadata", "namespace")
        if not isinstance(term.get("namespaceSelector"), dict) and text_at(pod, "metadata", "namespace") not in (
            spaces or [mine]
        ):
            return False
        return label_selector_matches(term.get("labelSelector"), labels(pod))


def _host_ports(pod: Document) -> Iterator[tuple[str, int]]:
    for container in list_at(pod, "spec", "containers"):
        for port in list_at(container, "ports"):
            if number := port.get("hostPort"):
                yield text_at(port, "protocol") or "TCP", number


def _phrase(term: Document) -> str:
    selector = term.get("labelSelector") or {}
    texts = [f"{key}={value}" for key, value in (selector.get("matchLabels") or {}).items()]
    texts += [f"{each.get('key')} {each.get('operator')}" for each in selector.get("matchExpressions") or ()]
    return f"pods {', '.join(texts) or 'of any label'} by {text_at(term, 'topologyKey')}"


def crowded(step: Step, around: Around) -> Finding:
    """Return the finding that no node with room is allowed beside, or apart from, the pods that are there."""
    by_rule: dict[str, list[str]] = {}
    for machine in step.nodes:
        for words in around.against(machine):
            by_rule.setdefault(words, []).append(machine.name)
    rules = sorted(by_rule, key=lambda words: -len(by_rule[words]))
    rule = rules[0]
    return Finding(
        cause="neighbours",
        title=f"its {rule} leaves none of {counted(len(step.nodes), 'node')} with room"
        if not rule.startswith("anti-affinity of")
        else f"{rule} keeps it off the nodes that have room",
        evidence=(*(f"{words}: against {named(by_rule[words])}" for words in rules[:4]), *step.by_reason),
        do=(
            "loosen the rule in the template (preferred instead of required, ScheduleAnyway instead of DoNotSchedule)",
            "or add nodes with the labels that it names",
        ),
    )
