"""The fields of the CEL variable ``gpu`` (such as ``gpu.count``) as CEL expressions of the pod, for native policies.

The expressions contain the resource names of ``devices.resources``. The expressions cannot know a resource that only a
DeviceClass of the cluster declares (its ``extendedResourceName``), nor the devices that a claim asks for. The requests
of init containers and sidecars are added as in ``kube.quantity.reserved``.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from ..devices.mig import RESOURCE_PREFIX, SHARED_SUFFIX
from ..devices.resources import COUNTED_KINDS, DEVICE_CLASS_PREFIX, DEVICE_CLASSES, TABLE
from ..workload.dialects import DIALECTS

_KNOWN: Final = {**TABLE, **{f"{DEVICE_CLASS_PREFIX}{name}": each for name, each in DEVICE_CLASSES.items()}}
_COUNTED: Final = {name: each for name, each in _KNOWN.items() if each.kind in COUNTED_KINDS}
_MAIN: Final = "object.spec.containers"
_INIT: Final = "object.spec.?initContainers.orValue([])"
_EVERY: Final = f"({_MAIN} + {_INIT})"


def _names(names: Iterable[str]) -> str:
    return "[" + ", ".join(f"'{each}'" for each in sorted(names)) + "]"


def _limits(container: str) -> str:
    return f"{container}.?resources.?limits.orValue({{}})"


def _is_accelerator(name: str) -> str:
    return f"({name}.startsWith('{RESOURCE_PREFIX}') || {name} in names)"


def _with_names(expression: str) -> str:
    """Return a CEL expression in which the variable ``names`` is the list of accelerator resource names."""
    return f"[{_names(_COUNTED)}].map(names, {expression})[0]"


def _amount(container: str, name: str) -> str:
    return f"quantity(string({container}.resources.limits[{name}])).asInteger()"


def _amount_or_zero(container: str, name: str) -> str:
    return f"({name} in {_limits(container)} ? {_amount(container, name)} : 0)"


def _of_container(container: str) -> str:
    return f"{_limits(container)}.map(k, {_is_accelerator('k')}, {_amount(container, 'k')}).sum()"


def _sidecar(container: str) -> str:
    return f"{container}.?restartPolicy.orValue('') == 'Always'"


def _plain(container: str) -> str:
    return f"{container}.?restartPolicy.orValue('') != 'Always'"


def _count() -> str:
    """Return the CEL expression of the field ``gpu.count``: the number of accelerators that a pod requests.

    Containers and sidecars run together, so their requests are added. If the init containers need more of a resource at
    one time, the difference is added.
    """
    running = f"({_MAIN} + {_INIT}.filter(c, {_sidecar('c')}))"
    first = f"{_is_accelerator('k')} && !{_INIT}.exists(j, d, j < i && {_plain('d')} && k in {_limits('d')})"
    before = f"{_INIT}.transformList(j, d, j < n && {_sidecar('d')}, {_amount_or_zero('d', 'k')}).sum()"
    peak = f"{_INIT}.transformList(n, e, {_plain('e')}, {_amount_or_zero('e', 'k')} + {before}).max()"
    run = f"{running}.map(e, {_amount_or_zero('e', 'k')}).sum()"
    excess = f"{_limits('c')}.map(k, {first}, [0, {peak} - {run}].max()).sum()"
    every = f"{_INIT}.transformList(i, c, {_plain('c')}, {excess}).sum()"
    return _with_names(f"{running}.map(c, {_of_container('c')}).sum() + {every}")


def _per_container() -> str:
    return _with_names(f"([0] + {_EVERY}.map(c, {_of_container('c')})).max()")


def _asks_for(condition: str) -> str:
    return f"{_EVERY}.exists(c, {_limits('c')}.exists(k, string(c.resources.limits[k]) != '0' && {condition}))"


def _one_of(groups: Mapping[str, list[str]], besides: str) -> str:
    """Return a CEL expression whose value is the key of ``groups`` that lists a resource which the pod requests.

    The value is 'mixed' if several keys list a requested resource, and '' if no key does. ``besides`` is a CEL
    condition with the variables ``k``, a requested resource, and ``v``, a key of ``groups``. If it is true, the key
    counts as listing the resource, too.
    """
    table = "{" + ", ".join(f"'{key}': {_names(names)}" for key, names in groups.items()) + "}"
    found = f"[{table}].map(t, t.filter(v, {_asks_for(f'(k in t[v] || {besides})')}).join(','))"
    return f"{found}.exists(f, f.contains(',')) ? 'mixed' : {found}.join('')"


def _grouped(by: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, each in _COUNTED.items():
        found.setdefault(getattr(each, by), []).append(name)
    return found


_MIG: Final = f"k.startsWith('{RESOURCE_PREFIX}')"
_SHARED: Final = f"k.endsWith('{SHARED_SUFFIX}')"
ASKED: Final = "asked"
"""The key in ``EXPANDED`` of the fact that ``gpu.count`` is more than 0."""
EXPANDED: Final[Mapping[str, tuple[str, str]]] = {
    ASKED: ("gpuAsked", _asks_for(f"({_MIG} || k in {_names(_COUNTED)})")),
    "count": ("gpuCount", _count()),
    "perContainer": ("gpuPerContainer", _per_container()),
    "vendor": ("gpuVendor", _one_of(_grouped("vendor"), f"v == 'nvidia' && {_MIG}")),
    "kind": (
        "gpuKind",
        _one_of(_grouped("kind"), f"{_MIG} && v == ({_SHARED} ? 'shared' : 'mig')"),
    ),
}
"""A mapping from a field of ``gpu``, or ``ASKED``, to (the native variable for the fact, the fact's expression).

``gpu.kind`` is empty for a pod that requests no accelerator resource, because the pod does not show which devices
claims ask for.
"""
KNOWN_KINDS: Final = frozenset({*COUNTED_KINDS, "mixed"})
"""The values with which an expression of a native policy can compare ``gpu.kind``."""


def _no_dialect() -> str:
    resources = {name for row in DIALECTS for name in row.resources}
    schedulers = {name for row in DIALECTS for name in row.schedulers}
    everywhere = {key for row in DIALECTS if not row.only_under for key in row.annotations}
    asked = (
        "['limits', 'requests'].exists(f, c.?resources[?f].orValue({}).exists(k,"
        f" k in {_names(resources)} && string(c.resources[f][k]) != '0'))"
    )
    under = [
        f"(k in {_names(row.annotations)} && object.spec.?schedulerName.orValue('') == '{row.only_under}')"
        for row in DIALECTS
        if row.only_under
    ]
    keys = " || ".join([f"k in {_names(everywhere)}", *under])
    return (
        f"!(object.spec.?schedulerName.orValue('') in {_names(schedulers)})"
        f" && !object.metadata.?annotations.orValue({{}}).exists(k, {keys})"
        f" && !{_EVERY}.exists(c, {asked})"
    )


NO_DIALECT: Final = _no_dialect()
"""The CEL expression that is true for a pod that uses no sharing dialect for devices (``workload.dialects``)."""
