"""The demands of a gang's roles on a node, read from the pod templates of its owner.

A template is read once, when its owner is kept (``owners``). Equal results are shared, because thousands of owners have
only a dozen different templates.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeVar

import orjson

from ..kube.pod import containers
from ..kube.quantity import parse_count, reserved
from ..kube.shape import shape_problems
from ..kube.unchecked import at, count, unread

# The limit of topology.need for a pod's own choice. A longer choice is not kept, and the role's demands are unknown.
_LONGEST_CHOICE: Final = 4096
_MOST_CLAIMS: Final = 16
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_CHOICE: Final = ("nodeSelector", "tolerations")
MOST_PARTS: Final = 256
"""The most replicated jobs, tasks, roles or cliques that are read from an object; the largest known example has ten."""
MOST_KINDS: Final = 16
"""The most different demands of the roles of one gang: every member's review looks for room for all of them."""
_OF_A_CLAIM: Final = ("name", "resourceClaimName", "resourceClaimTemplateName")


@dataclass(frozen=True, slots=True)
class Asks:
    """The demands of a pod of a template."""

    amounts: tuple[tuple[str, int], ...] = ()
    """The amount of each extended resource that the scheduler reserves, by name; some may be no accelerators."""
    claims: tuple[tuple[tuple[str, str], ...], ...] = ()
    """The claims that containers use, each as the fields of its ``resourceClaims`` entry."""
    choice: str = ""
    """The choice of nodes, as JSON of a PodSpec's fields; empty if the pod may use every node."""

    def chosen(self) -> dict[str, Any]:
        """Return the fields of a PodSpec that choose nodes."""
        found: dict[str, Any] = orjson.loads(self.choice) if self.choice else {}
        return found


@dataclass(frozen=True, slots=True)
class Role:
    """The members of a gang that are made from one template."""

    count: int
    asks: Asks | None
    """None: not known."""
    unread: str = ""
    """What the owner has in the place of a number, if that is none: then ``count`` is not known."""


class Predicted(dict[str, Any]):
    """The predicted owner of the pods of several templates; it remembers what readers found in it."""

    __slots__ = ("found",)

    def __init__(self, document: Mapping[str, Any]) -> None:
        """Copy the top level of a document; its values are shared, and must not change."""
        super().__init__(document)
        self.found: dict[Hashable, Any] = {}


_Read = TypeVar("_Read")


def read_once(owner: Mapping[str, Any] | None, read: Callable[..., _Read], *more: str) -> _Read:
    """Return ``read(owner, *more)``; for a Predicted owner the result of the first call is remembered."""
    if not isinstance(owner, Predicted):
        return read(owner, *more)
    key = (read, *more)
    if key not in owner.found:
        owner.found[key] = read(owner, *more)
    found: _Read = owner.found[key]
    return found


def asks_of(template: object) -> Asks | None:
    """Return the demands of the pods of an unchecked PodTemplateSpec, or of its ``Asks``; None if it is invalid."""
    if isinstance(template, Asks):
        return template
    return asks_in(template.get("spec")) if isinstance(template, Mapping) else None


def asks_in(pod_spec: object) -> Asks | None:
    """Return the demands of the pods of an unchecked PodSpec; None if it is invalid, or too long to be kept."""
    if isinstance(pod_spec, Asks):
        return pod_spec
    pod = {"metadata": {}, "spec": pod_spec}
    if not isinstance(pod_spec, dict) or not pod_spec.get("containers") or shape_problems(pod):
        return None
    found: list[tuple[str, str, int]] = []
    used: set[str] = set()
    for container in containers(pod):
        resources = container.body.get("resources") or {}
        used.update(str(each.get("name")) for each in resources.get("claims") or ())
        limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
        for name in {**limits, **requests}:
            amount = limits.get(name)
            try:
                quantity = parse_count(requests.get(name) if amount is None else amount) if "/" in name else 0
            except ValueError:
                continue  # as in ``gpus``: an invalid amount counts as none
            if quantity:
                found.append((container.kind, name, quantity))
    named = (each for each in pod_spec.get("resourceClaims") or () if each.get("name"))
    claims = tuple(_claim(each) for each in named if each["name"] in used)
    choice = _choice(pod_spec)
    if len(choice) > _LONGEST_CHOICE or len(claims) > _MOST_CLAIMS:
        return None
    return _shared(Asks(tuple(sorted(reserved(found).items())), claims, choice))


def _claim(entry: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple((key, str(entry[key])) for key in _OF_A_CLAIM if entry.get(key))


def _choice(pod_spec: Mapping[str, Any]) -> str:
    """Return the choice of nodes as JSON; with a number that JSON cannot have, a text that is too long to be kept."""
    kept = {key: pod_spec[key] for key in _CHOICE if pod_spec.get(key)}
    required = ((pod_spec.get("affinity") or {}).get("nodeAffinity") or {}).get(_REQUIRED)
    if required:
        kept["affinity"] = {"nodeAffinity": {_REQUIRED: required}}
    try:
        return orjson.dumps(kept, option=orjson.OPT_SORT_KEYS).decode() if kept else ""
    except TypeError:
        return " " * (_LONGEST_CHOICE + 1)


@lru_cache(maxsize=4096)
def _shared(asks: Asks) -> Asks:
    """Return the first object that was equal, so that equal demands are one object."""
    return asks


def role_of(part: object) -> Role:
    """Return the pods of a part of an owner that has ``replicas`` and a ``template``."""
    replicas = at(part, "replicas")
    return Role(count(replicas, 1), asks_of(at(part, "template")), unread(replicas))


def counted(roles: Iterable[Role]) -> int:
    """Return how many pods roles have together; 0 where that is not known of one."""
    total = 0
    for role in roles:  # each review of a gang's pod comes here: a loop makes no call for a role
        if role.unread:
            return 0
        total += role.count
    return total


def alike(roles: Iterable[Role]) -> tuple[Role, ...]:
    """Return the roles; those with equal demands are merged into one."""
    counts: dict[Asks | None, int] = {}
    for role in roles:
        counts[role.asks] = counts.get(role.asks, 0) + role.count
    return tuple(Role(count, asks) for asks, count in counts.items())
