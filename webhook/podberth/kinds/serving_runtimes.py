"""Finds the runtimes that services refer to by name. A service's own fields replace the runtime's fields."""

from ..kube.unchecked import at
from .places import Found, Scene


def runtime_of(scene: Scene, group: str, name: str) -> Found:
    """Return the ServingRuntime or ClusterServingRuntime called ``name``; empty if both are unknown.

    If both exist, the result is the ServingRuntime in the service's namespace. ``group`` is the API group of the
    runtime.
    """
    named = [
        each
        for each in scene.known
        if at(each, "metadata", "name") == name and str(at(each, "apiVersion")).startswith(f"{group}/")
    ]
    for each in named:
        if at(each, "kind") == "ServingRuntime" and at(each, "metadata", "namespace") in (None, scene.namespace):
            return each
    return next((each for each in named if at(each, "kind") == "ClusterServingRuntime"), {})
