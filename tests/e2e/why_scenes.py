"""Pods and workloads that wait, each for one planted cause, on the cluster of ``why_nodes``.

Every scene has a namespace of its own, and chooses its node by the label ``pool``, so that none takes room of another.
"""

from . import why_scenes_groups, why_scenes_nodes, why_scenes_objects, why_scenes_placed, why_scenes_refused
from .why_scene import Scene

SCENES: tuple[Scene, ...] = tuple(
    scene
    for module in (why_scenes_refused, why_scenes_placed, why_scenes_objects, why_scenes_nodes, why_scenes_groups)
    for scene in module.SCENES
)
"""Every planted cause."""
