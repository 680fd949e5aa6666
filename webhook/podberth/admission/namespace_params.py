"""The ConfigMaps of one namespace that policies may read as params, within bounds.

Outside podberth's own namespace, tenants write these ConfigMaps. So there are bounds for the number and the size of a
namespace's ConfigMaps: beyond a bound, every policy that looks for params in the namespace has an error. Policies that
look for params in other namespaces are not affected.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import orjson

from ..kube.pod_limits import ENTRIES
from ..kube.shape import kind_of
from ..kube.unchecked import at, mapping_at, text_at
from ..policy.evaluate import Params
from ..wellknown import NAMESPACE, PARAMS_LABEL

MOST_BYTES: Final = 32 * 1024
"""The maximum size of one ConfigMap as JSON, kubectl's own annotation included. Params are a few short texts."""
MOST_ENTRIES: Final = ENTRIES
"""The maximum number of entries in each map of a ConfigMap: the cost of an expression is computed for so many."""
MOST_OF_NAMESPACE: Final = 200
"""The maximum number of ConfigMaps in one namespace: no policy is evaluated with more (``most_params``)."""
MOST_BYTES_OF_NAMESPACE: Final = 256 * 1024
"""The maximum size of all ConfigMaps of one namespace together."""
_MAPS: Final = (("data",), ("binaryData",), ("metadata", "labels"), ("metadata", "annotations"))


@dataclass(frozen=True, slots=True)
class NamespaceParams:
    """The ConfigMaps of one namespace by name, in the order of the names."""

    config_maps: Mapping[str, Params]
    excess: str = ""
    """The message of the bound that the namespace exceeds; empty if the namespace exceeds no bound. Beyond a bound,
    ``config_maps`` is not used."""


NONE: Final = NamespaceParams({})
"""The params of a namespace without any."""


def is_read(config_map: Params) -> bool:
    """Return whether policies may read a ConfigMap: it has the label PARAMS_LABEL, or is in podberth's own namespace.

    Outside its own namespace, ``podberth serve`` watches only ConfigMaps with this label. A ConfigMap that is read from
    a file needs the label, too.
    """
    marked = text_at(config_map, "metadata", "labels", PARAMS_LABEL) == "true"
    return marked or text_at(config_map, "metadata", "namespace") == NAMESPACE


def bounded(namespace: str, config_maps: Iterable[Params]) -> NamespaceParams:
    """Return the ConfigMaps of a namespace, by name; if they exceed a bound, ``excess`` of the result has a message."""
    found = {text_at(each, "metadata", "name"): each for each in config_maps}
    measured = {name: measure(each) for name, each in found.items()}
    wrong = [name for name, each in measured.items() if each.excess]
    excess = f"ConfigMap {namespace}/{min(wrong)}: {measured[min(wrong)].excess}" if wrong else ""
    total = sum(each.size for each in measured.values())
    return NamespaceParams(dict(sorted(found.items())), excess or excess_of_all(namespace, len(found), total))


@dataclass(frozen=True, slots=True)
class Measured:
    """The size of one ConfigMap in bytes, and the message if the ConfigMap is too large or malformed; else empty."""

    size: int
    excess: str


def measure(config_map: Params) -> Measured:
    """Return the size of a ConfigMap, with a message if the ConfigMap is too large or has values other than strings."""
    try:
        size = len(orjson.dumps(config_map))
    except TypeError as error:
        return Measured(0, f"got a value that no API server sends ({error}), want strings")
    entries = max(len(mapping_at(config_map, *path)) for path in _MAPS)
    if size > MOST_BYTES:
        return Measured(size, f"got {size:,} bytes, want {MOST_BYTES:,} at most; make it smaller")
    if entries > MOST_ENTRIES:
        return Measured(size, f"got {entries:,} entries, want {MOST_ENTRIES:,} at most; make it smaller")
    return Measured(size, _misshapen(config_map))


def excess_of_all(namespace: str, count: int, size: int) -> str:
    """Return a message if a namespace has too many ConfigMaps, or too many bytes in its ConfigMaps; else empty."""
    if count > MOST_OF_NAMESPACE:
        got, most = f"{count:,} ConfigMaps", f"{MOST_OF_NAMESPACE:,}"
    elif size > MOST_BYTES_OF_NAMESPACE:
        got, most = f"{size:,} bytes of ConfigMaps", f"{MOST_BYTES_OF_NAMESPACE:,}"
    else:
        return ""
    return f"namespace {namespace}: got {got} with the label of params, want {most} at most; delete some"


def _misshapen(config_map: Params) -> str:
    """Return a message about the first value in ``data``, labels or annotations that is no string; else empty."""
    for path in _MAPS:
        held = at(config_map, *path)
        if held is None:
            continue
        if not isinstance(held, Mapping):
            return f"{'.'.join(path)}: got {kind_of(held)}, want a map of strings"
        wrong = next((key for key, value in held.items() if not isinstance(value, str)), None)
        if wrong is not None:
            return f"{'.'.join((*path, str(wrong)))}: got {kind_of(held[wrong])}, want a string"
    return ""
