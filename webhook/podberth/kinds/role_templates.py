"""Finds the pods of a RoleBasedGroup's role, by template: a template, and the patches that are applied to the template.

A role has a template, or refers to a role template of the group and patches the role template.

The leader and the workers may have further patches. Source: sgl-project/rbg api/workloads/v1alpha2/helper.go
GetResolvedTemplate; v1alpha1 has the patch beside the reference.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..kube.paths import Path
from ..kube.unchecked import at, count, list_at, text_at, unread
from .forms import find
from .places import Found
from .roles import Asks, Role, asks_of
from .strategic_merge import merged

PATTERNS: Final = ("leaderWorkerPattern", "leaderWorkerSet")
"""The fields of a role whose replicas are a leader and workers (v1alpha2, v1alpha1)."""
_LEADER_PATCHES: Final = (("leaderWorkerPattern", "leaderTemplatePatch"), ("leaderWorkerSet", "patchLeaderTemplate"))
_WORKER_PATCHES: Final = (("leaderWorkerPattern", "workerTemplatePatch"), ("leaderWorkerSet", "patchWorkerTemplate"))
PATCHES: Final[tuple[tuple[str, ...], ...]] = (
    *_LEADER_PATCHES,
    *_WORKER_PATCHES,
    *((each, "templateRef", "patch") for each in ("leaderWorkerPattern", "standalonePattern")),
    ("templatePatch",),
)
"""The paths in a role at which patches of the role's template may be."""


@dataclass(frozen=True, slots=True)
class RolePods:
    """The pods of a replica of a role that are made from one template and its patches."""

    count: int
    layers: tuple[Path, ...]
    """The paths, in the role, of the role's own template (if it has one), and then of the patches, the topmost patch
    last.
    """
    shared: str = ""
    """The name of the role template below the patches; empty if the role has a template of its own."""


def pods_of(role: object) -> tuple[RolePods, ...]:
    """Return the pods of one replica of a role, by template, for a role without ``customComponentsPattern``.

    The function ``instance`` reads the components of ``customComponentsPattern``. If the pods are unknown, the result
    is one ``RolePods`` with the count 0.
    """
    holder = _holder(role)
    shared = text_at(role, *holder, "templateRef", "name")
    base = _patch(role, (*holder, "templateRef", "patch"), ("templatePatch",)) if shared else _template(role)
    leader = _patch(role, *_LEADER_PATCHES)
    workers = _patch(role, *_WORKER_PATCHES)
    size = count(_size(role), 1)
    first = 1 if leader and size else 0
    others = max(size - 1, 0) if workers else 0
    found = ((size - first - others, base), (first, (*base, *leader)), (others, (*base, *workers)))
    made = tuple(RolePods(number, layers, shared) for number, layers in found if number)
    return made or (RolePods(0, base, shared),)


def _size(role: object) -> object:
    return next((at(role, each, "size") for each in PATTERNS if isinstance(at(role, each), Mapping)), None)


def _holder(role: object) -> tuple[str, ...]:
    fields = ("leaderWorkerPattern", "standalonePattern")
    return next(((each,) for each in fields if isinstance(at(role, each), Mapping)), ())


def _template(role: object) -> tuple[Path, ...]:
    places = (*((each, "template") for each in (*PATTERNS, "standalonePattern")), ("template",))
    return next(((each,) for each in places if at(role, *each)), ())


def _patch(role: object, *paths: Path) -> tuple[Path, ...]:
    return next(((path,) for path in paths if isinstance(found := find(role, path), Mapping) and found), ())


def shared_templates(document: Found | None) -> Mapping[str, object]:
    """Return a mapping from name to role template of a RoleBasedGroup."""
    return {text_at(each, "name"): at(each, "template") for each in list_at(document, "spec", "roleTemplates")}


def merged_below(role: object, pods: RolePods, shared: Mapping[str, object]) -> Any:
    """Return the pod template of a role with all of the role's patches applied except the last.

    ``role`` has the patches, at the paths ``pods.layers``. The template is the group's role template that the role
    names, from ``shared`` by name, or else the first layer. The result is None if there is no such role template, or
    if the role's own template is the only layer.
    """
    found = shared.get(pods.shared) if pods.shared else None
    for index, path in enumerate(pods.layers[:-1]):
        layer = find(role, path)
        found = merged(found, layer) if index or pods.shared else layer
    return found


def instance(role: object, shared: Mapping[str, object]) -> Iterator[Role]:
    """Yield the pods of one replica of a role, by template; ``shared`` are the role templates of the group.

    If a template is too long to be read, the template is not merged with patches, and the requirements are unknown.
    """
    components = at(role, "customComponentsPattern", "components")
    if isinstance(components, list):
        for each in components:
            size = at(each, "size")
            yield Role(count(size, 1), asks_of(at(each, "template")), unread(size))
        return
    wrong = unread(_size(role))
    for pods in pods_of(role):
        yield Role(pods.count, _asks(role, pods, shared), wrong)


def _asks(role: object, pods: RolePods, shared: Mapping[str, object]) -> Asks | None:
    base = shared.get(pods.shared) if pods.shared else find(role, pods.layers[0]) if pods.layers else None
    patches = [find(role, path) for path in (pods.layers if pods.shared else pods.layers[1:])]
    found = asks_of(base)
    if found is None or all(at(each, "spec") is None for each in patches):
        return found
    if isinstance(base, Asks):  # a kept owner has no template that could be merged
        return None
    for each in patches:
        base = merged(base, each)
    return asks_of(base)
