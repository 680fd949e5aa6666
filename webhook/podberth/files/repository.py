"""Recognises templates of Helm charts and patches of kustomizations among the files of a repository.

Callers pass only files that were found in a folder, not files that the user named.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from ..check.other_files import CHART, KUSTOMIZATIONS, patches_of
from ..check.sources import read
from ..errors import Problem
from .manifests import read_manifest

_TEMPLATES: Final = "templates"
_CHARTS: Final = "charts"


def charts(files: Iterable[str]) -> dict[str, str]:
    """Return a mapping from each file that is a template of a Helm chart to the folder of the chart.

    If a chart is inside another, the folder is the outer chart's.
    """
    found: dict[str, str] = {}
    for file in files:
        above = (folder.parent for folder in Path(file).parents if folder.name == _TEMPLATES)
        chart = next((each for each in above if (each / CHART).is_file()), None)
        if chart is not None:
            found[file] = str(_outermost(chart))
    return found


def _outermost(chart: Path) -> Path:
    holder = chart.parent
    inside = holder.name == _CHARTS and (holder.parent / CHART).is_file()
    return _outermost(holder.parent) if inside else chart


def patches(files: Iterable[str]) -> dict[str, str]:
    """Return a mapping from each file that a kustomization uses as a patch to the path of the kustomization."""
    found: dict[str, str] = {}
    for file in files:
        path = Path(file)
        text = read_manifest(file) if path.name in KUSTOMIZATIONS else None
        if text is None or isinstance(text, Problem):
            continue
        for source in read(*text).sources:
            for each in patches_of(source.content):
                found.setdefault(str((path.parent / each).resolve()), file)
    if not found:
        return {}
    resolved = ((file, found.get(str(Path(file).resolve()))) for file in files)
    return {file: kustomization for file, kustomization in resolved if kustomization is not None}
