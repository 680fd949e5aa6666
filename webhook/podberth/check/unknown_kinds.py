"""Finds signs of pods and of accelerators in documents of kinds that podberth does not know."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..devices.resources import recognise
from ..kube.patch import Path
from ..kube.walk import values

# A PodSpec's list
_CONTAINERS: Final = "containers"


def names_accelerators(content: Mapping[str, Any]) -> bool:
    """Return whether a document names an accelerator resource; podberth ignores pods without accelerators."""
    for _, key, value in _fields(content):
        if recognise(key) is not None:
            return True
        if key == "key":  # of a taint or a label: nodes are chosen by it, and nothing is asked for
            continue
        named = value if isinstance(value, list) else [value]
        if any(isinstance(each, str) and recognise(each) is not None for each in named):
            return True
    return False


def places_of_pods(content: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the paths at which a document has PodSpecs, in the format of ``--template-path``, each once."""
    found: dict[str, None] = {}
    for above, key, value in _fields(content):
        is_spec = key == _CONTAINERS and isinstance(value, list) and value and isinstance(value[0], dict)
        # A step with a dot cannot be given.
        if is_spec and above and not any(isinstance(step, str) and "." in step for step in above):
            steps = ["[*]" if isinstance(step, int) else f".{step}" for step in above]
            found["".join(steps).removeprefix(".")] = None
    return tuple(found)


def _fields(content: Mapping[str, Any]) -> Iterator[tuple[Path, str, Any]]:
    """Yield each field of a document in its order: the path of the object around it, its key and its value."""
    for path, value in values(content):
        if path and isinstance(path[-1], str):
            yield path[:-1], path[-1], value
