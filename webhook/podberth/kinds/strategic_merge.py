"""Applies strategic merge patches to pod templates: objects merge field by field, lists with a merge key item by item.

A list without a merge key is replaced. The arguments may have any shape, and no function raises or changes its
arguments.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..kube.paths import Path
from ..kube.unchecked import at

# kubernetes/api core/v1/types.go patchMergeKey, and JobSet's (api/jobset/v1alpha2/jobset_types.go). Tolerations and the
# lists of affinity have no key: they are replaced.
_MERGE_KEYS: Final[Mapping[str, str]] = {
    "containers": "name",
    "env": "name",
    "imagePullSecrets": "name",
    "initContainers": "name",
    "replicatedJobs": "name",
    "schedulingGates": "name",
    "volumeMounts": "mountPath",
    "volumes": "name",
}
_DIRECTIVE: Final = "$patch"  # apimachinery pkg/util/strategicpatch/patch.go directiveMarker


def merged(value: object, patch: object, field: str = "") -> Any:
    """Return ``value`` with a strategic merge patch applied; ``field`` is the name of the field that has the value."""
    if isinstance(patch, Mapping):
        replaces = patch.get(_DIRECTIVE) == "replace"
        result = dict(value) if isinstance(value, Mapping) and not replaces else {}
        for key, each in patch.items():
            if isinstance(key, str) and key.startswith("$"):
                continue
            if each is None:
                result.pop(key, None)
            else:
                result[key] = merged(result.get(key), each, key)
        return result
    key = _MERGE_KEYS.get(field)
    if key and isinstance(value, list) and isinstance(patch, list):
        return _merged_lists(value, patch, key)
    return patch


def _merged_lists(values: list[Any], patches: list[Any], key: str) -> list[Any]:
    result: dict[object, Any] = {}  # by name; an item without a name of its own is kept by its index
    for index, value in enumerate(values):
        name = at(value, key)
        result[name if isinstance(name, str) and name not in result else index] = value
    for index, patch in enumerate(patches, start=len(values)):
        name = at(patch, key)
        known = isinstance(name, str) and name in result
        if at(patch, _DIRECTIVE) == "delete":
            result.pop(name if known else index, None)
        elif known:
            result[name] = merged(result[name], patch)
        else:
            result[name if isinstance(name, str) else index] = patch
    return list(result.values())


def replaced_lists(below: object, patch: object, holder: str, other: str) -> Iterator[tuple[Path, str]]:
    """Yield (path, message) for each field of the pod ``below`` that would be lost if ``patch`` also got the field.

    The fields are affinity, tolerations and topologySpreadConstraints, which a patch replaces as a whole. A field that
    ``patch`` has already is left out. The path leads from the pod to the field. In the message, ``holder`` names the
    object that has the template ``below``, and ``other`` names the patch.
    """
    for key in ("affinity", "tolerations", "topologySpreadConstraints"):
        if at(below, "spec", key) and at(patch, "spec", key) is None:
            yield ("spec", key), f"{holder} has {key}, which {other} would replace"
