"""The changes that the API server makes to a pod's spec at its creation, before validation sees it.

Source: PrepareForCreate, pkg/registry/core/pod/strategy.go of kubernetes 1.36.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

_PREFIX: Final = "container.apparmor.security.beta.kubernetes.io/"
_LOCALHOST: Final = "localhost/"
_PROFILES: Final = {"unconfined": "Unconfined", "runtime/default": "RuntimeDefault"}
_LONGEST_PROFILE: Final = 4095
_TERMS: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_WEIGHED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def complete_pod(pod: dict[str, Any]) -> None:
    """Change the spec of a pod in place, as the API server does at the creation of the pod.

    The pod may be invalid, such as without containers: only the API server's validation refuses it.
    """
    labels = pod["metadata"].get("labels") or {}
    for selected, operators in _selected(pod["spec"]):
        _complete_selector(selected, operators, labels)
    _set_app_armor_profiles(pod)


def _selected(spec: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], Mapping[str, str]]]:
    """Yield (term, operators) for each affinity term and topology spread constraint with a label selector.

    ``operators`` is a mapping from a field with label keys, such as matchLabelKeys, to the operator of the requirement
    that the API server makes of each key.
    """
    both = {"matchLabelKeys": "In", "mismatchLabelKeys": "NotIn"}
    for kind in ("podAffinity", "podAntiAffinity"):
        affinity = (spec.get("affinity") or {}).get(kind) or {}
        yield from ((each["podAffinityTerm"], both) for each in affinity.get(_WEIGHED) or ())
        yield from ((each, both) for each in affinity.get(_TERMS) or ())
    for each in spec.get("topologySpreadConstraints") or ():
        yield each, {"matchLabelKeys": "In"}


def _complete_selector(selected: dict[str, Any], operators: Mapping[str, str], labels: Mapping[str, str]) -> None:
    """Add the values of the pod's labels to the label selector in ``selected`` (applyLabelKeysToLabelSelector).

    Without a label selector, nothing is changed.
    """
    added = [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for field, operator in operators.items()
        for key in selected.get(field) or ()
        if key in labels
    ]
    selector = selected.get("labelSelector")
    if added and selector is not None:
        selector["matchExpressions"] = [*(selector.get("matchExpressions") or ()), *added]


def _set_app_armor_profiles(pod: dict[str, Any]) -> None:
    """Write the AppArmor profile that an annotation states for a container into the container's securityContext.

    A container that already has a profile keeps it (applyAppArmorVersionSkew).
    """
    spec = pod["spec"]
    annotations = pod["metadata"].get("annotations") or {}
    if (spec.get("os") or {}).get("name") == "windows":
        return
    of_pod = (spec.get("securityContext") or {}).get("appArmorProfile")
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        profile = _profile(annotations.get(f"{_PREFIX}{container.get('name')}", ""))
        stated = (container.get("securityContext") or {}).get("appArmorProfile")
        if profile is not None and stated is None and profile != of_pod:
            container["securityContext"] = {**(container.get("securityContext") or {}), "appArmorProfile": profile}


def _profile(annotation: str) -> dict[str, str] | None:
    """Return the AppArmor profile that an annotation names; None if the annotation is not valid."""
    if annotation in _PROFILES:
        return {"type": _PROFILES[annotation]}
    name = annotation.removeprefix(_LOCALHOST)
    if not annotation.startswith(_LOCALHOST) or not name or name.strip() != name or len(name) > _LONGEST_PROFILE:
        return None
    return {"type": "Localhost", "localhostProfile": name}
