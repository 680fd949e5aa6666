"""Finds the pod template of an object to which a path belongs.

A template may be inside another template, and two templates may have one path.
"""

from collections import Counter
from collections.abc import Sequence

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


def is_of(path: Path, index: int, found: Sequence[Template]) -> bool:
    """Return whether the template at ``index`` in ``found`` contains a path; a template inside it may contain it, too.

    A path outside all templates belongs to the first template.
    """
    return _inside(path, found[index]) or not (index or any(_inside(path, template) for template in found))


def innermost(path: Path, found: Sequence[Template]) -> int:
    """Return the index of the innermost template that contains a path; 0 (the first template) if no template does."""
    return max(range(len(found)), key=lambda index: len(found[index].path) if _inside(path, found[index]) else -1)
