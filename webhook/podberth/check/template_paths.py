"""Finds the pod template of an object to which a path belongs.

A template may be inside another template, and two templates may have one path.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import takewhile

from ..kube.patch import Patch
from ..kube.paths import Path, pointer
from ..workload.templates import Template


def apart(found: Sequence[Template]) -> frozenset[Path]:
    """Return the paths of the templates that overlap with no other template.

    Two templates overlap if they have one path, or if one template is inside the other template.
    """
    above = Counter(each.path[:length] for each in found for length in range(len(each.path) + 1))
    paths = {each.path for each in found}
    return frozenset(
        path for path in paths if above[path] == 1 and not any(path[:length] in paths for length in range(len(path)))
    )


def all_inside(patch: Patch, template: Template) -> bool:
    """Return whether every operation of a patch is inside a template."""
    start = f"{pointer(template.path)}/"
    return all(each["path"].startswith(start) for each in patch)


def _inside(path: Path, template: Template) -> bool:
    return path[: len(template.path)] == template.path


def of_each(paths: Iterable[Path], found: Sequence[Template]) -> list[set[Path]]:
    """Return, for each template, those of the paths that it contains; a path outside all belongs to the nearest."""
    paths_of: list[set[Path]] = [set() for _ in found]
    for path in paths:
        for index in [at for at, each in enumerate(found) if _inside(path, each)] or [innermost(path, found)]:
            paths_of[index].add(path)
    return paths_of


def innermost(path: Path, found: Sequence[Template]) -> int:
    """Return the index of the innermost template that contains a path; without one, of the nearest.

    The nearest template shares the most steps with the path, as the template of a worker group does with the group's
    ``replicas``; of several, it is the first.
    """

    def shared(index: int) -> int:
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(path, found[index].path, strict=False)))

    return max(range(len(found)), key=lambda index: (_inside(path, found[index]), shared(index)))
