"""Reads the requirements of a gang's roles on nodes from the pod templates of the gang's owner.

A template is read once, when podberth first sees the owner. Equal results are one object, because thousands of owners
have only a dozen different templates.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeVar

import orjson

from ..kube.pod import containers
from ..kube.pod_limits import is_within
from ..kube.quantity import parse_count, reserved
from ..kube.shape import CONTAINER_LISTS, shape_problems
from ..kube.unchecked import at, count, unread

# The limit of topology.need for a pod's own choice. A longer choice is not kept, and the requirements are unknown.
_LONGEST_CHOICE: Final = 4096
_MOST_CLAIMS: Final = 16
# An owner has MOST_PARTS templates that any tenant may fill, and all of them are read at once: a container takes
# 7 us, another entry 0.5 us, so together at most 90 ms. 900,000 empty containers took 2 s.
_MOST_CONTAINERS: Final = 24
_MOST_ENTRIES: Final = 400
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_CHOICE: Final = ("nodeSelector", "tolerations")
MOST_PARTS: Final = 256
"""The most replicated jobs, tasks, roles or cliques that are read from one object; known examples have ten."""
MOST_KINDS: Final = 16
"""The most different requirements among the roles of one gang. Each review of a pod searches the nodes for all of these
requirements.
"""
_OF_A_CLAIM: Final = ("name", "resourceClaimName", "resourceClaimTemplateName")


@dataclass(frozen=True, slots=True)
class Asks:
    """The requirements of a template's pods on a node: extended resources, claims and node selection."""

    amounts: tuple[tuple[str, int], ...] = ()
    """The amount of each extended resource that the scheduler reserves, by name; not all are accelerators."""
    claims: tuple[tuple[tuple[str, str], ...], ...] = ()
    """The claims that containers use: for each claim, the fields of its entry in ``resourceClaims``."""
    choice: str = ""
    """The fields of a PodSpec that select nodes, as JSON; empty if the pod selects all nodes."""

    def chosen(self) -> dict[str, Any]:
        """Return the fields of a PodSpec that select nodes."""
        found: dict[str, Any] = orjson.loads(self.choice) if self.choice else {}
        return found


@dataclass(frozen=True, slots=True)
class Role:
    """The pods of a gang that are made from one template."""

    count: int
    asks: Asks | None
    """The requirements of one pod; None: unknown."""
    unread: str = ""
    """The value that the owner states in place of a number, so that ``count`` is unknown; empty: ``count`` is known."""


class Predicted(dict[str, Any]):
    """An owner of pods that does not exist yet, but that a controller will make.

    podberth computes the pod of each pod template of the owner, and reads the same fields of the owner for each pod. So
    ``read_once`` caches its results in ``found``.
    """

    __slots__ = ("found",)

    def __init__(self, document: Mapping[str, Any]) -> None:
        """Copy the top level of a document; the values are shared with the document and must not change."""
        super().__init__(document)
        self.found: dict[Hashable, Any] = {}


def predicted(api_version: object, kind: str, metadata: object, spec: object) -> Predicted:
    """Return the object of this kind, metadata and spec that a controller will make."""
    return Predicted({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec})


_Read = TypeVar("_Read")


def read_once(owner: Mapping[str, Any] | None, read: Callable[..., _Read], *more: str) -> _Read:
    """Return ``read(owner, *more)``, and cache the result in an owner that does not exist yet.

    ``more`` are the further arguments of the function ``read``.
    """
    if not isinstance(owner, Predicted):
        return read(owner, *more)
    key = (read, *more)
    if key not in owner.found:
        owner.found[key] = read(owner, *more)
    found: _Read = owner.found[key]
    return found


def asks_of(template: object) -> Asks | None:
    """Return the requirements of the pods of a PodTemplateSpec of any shape; None if the requirements are unknown.

    ``template`` may be an ``Asks``, the requirements themselves, and is then returned unchanged.
    """
    if isinstance(template, Asks):
        return template
    return asks_in(template.get("spec")) if isinstance(template, Mapping) else None


def asks_in(pod_spec: object) -> Asks | None:
    """Return the requirements of the pods of an unchecked PodSpec.

    None if the PodSpec is invalid, has no containers, or is too long to be read or kept (the limits _MOST_ENTRIES,
    _MOST_CONTAINERS, _MOST_CLAIMS and _LONGEST_CHOICE).
    """
    if isinstance(pod_spec, Asks):
        return pod_spec
    pod = {"metadata": {}, "spec": pod_spec}
    if not isinstance(pod_spec, dict) or not pod_spec.get("containers") or not is_within(pod, _MOST_ENTRIES):
        return None
    lists = (pod_spec.get(each) for each in CONTAINER_LISTS)
    if sum(len(each) for each in lists if isinstance(each, list)) > _MOST_CONTAINERS or shape_problems(pod):
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
    """Return the fields of a PodSpec that select nodes, as JSON.

    If the fields cannot be JSON, the result is longer than _LONGEST_CHOICE: the caller refuses such a text.
    """
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
    """Return one object for all equal requirements (the first of them), so that equal requirements share memory."""
    return asks


def role_of(part: object, default: int = 1) -> Role:
    """Return the role that an object in an owner's document describes, such as an item of the list of roles.

    The role is read from the object's fields ``template`` and ``replicas`` (``default`` if absent).
    """
    replicas = at(part, "replicas")
    return Role(count(replicas, default), asks_of(at(part, "template")), unread(replicas))


def counted(roles: Iterable[Role]) -> int:
    """Return the total number of pods of some roles; 0 if the number of pods of any role is unknown."""
    total = 0
    for role in roles:  # each review of a gang's pod comes here: a loop makes no call for a role
        if role.unread:
            return 0
        total += role.count
    return total


def alike(roles: Iterable[Role]) -> tuple[Role, ...]:
    """Return the roles, with roles of equal requirements merged into one role."""
    counts: dict[Asks | None, int] = {}
    for role in roles:
        counts[role.asks] = counts.get(role.asks, 0) + role.count
    return tuple(Role(count, asks) for asks, count in counts.items())
