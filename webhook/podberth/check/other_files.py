"""Recognises files of a repository that are not plain manifests: charts, patches, templates, YAML of other programs.

A file that the user names is always checked. A file that is found in a folder and is no manifest is skipped and
counted; if the file may have pods, the report has a warning or a note about the file.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from ..kube.mishaps import BY_HELM
from ..kube.walk import values
from .result import Finding, Report, Result
from .sources import Source, SourceFile

CHART: Final = "Chart.yaml"
"""The name of the file that makes a folder a Helm chart: https://helm.sh/docs/topics/charts/"""
_HELM_CHART: Final = "Helm chart"
_TEMPLATE: Final = "template"
_OF_HELM: Final = frozenset({CHART, "index.yaml"})  # https://helm.sh/docs/topics/chart_repository/
KUSTOMIZATIONS: Final = frozenset({"kustomization.yaml", "kustomization.yml", "Kustomization"})
"""The names that a kustomization file may have: kustomize api/konfig/general.go, RecognizedKustomizationFileNames."""

_OBJECT: Final = re.compile(r"""^(?:[-{][ \t]*)?["']?(?:apiVersion|kind)["']?[ \t]*:""", re.MULTILINE)
# A list behind comments and the document's start
_LIST: Final = re.compile(r"(?:[ \t]*(?:#.*|---.*)?\n)*[ \t]*(?:-[ \n]|\[)")
# Custom tags, as in CloudFormation, mkdocs and GitLab; Kubernetes has none
_TAG: Final = re.compile(r"(?:^|[\s:-])!{1,2}[A-Za-z][\w./:]*(?:\s|$)", re.MULTILINE)
_KIND: Final = re.compile(r"[A-Z][A-Za-z0-9]*")
# A key of Chainsaw's assertion trees, as in "(length(@)): 3": https://kyverno.github.io/kyverno-json/main/policies/asserts/
_ASSERTION: Final = re.compile(r"^[ \t]*(?:- )?['\"]?\(.+\)['\"]?[ \t]*:", re.MULTILINE)
# Fields of a kustomization that may name files beside it: kustomize api/types/kustomization.go
_PATCH_FIELDS: Final = ("patches", "patchesJson6902", "patchesStrategicMerge", "replacements", "configurations")


def is_foreign(file: SourceFile) -> bool:
    """Return whether an unparsable file is surely no manifest.

    A file is no manifest if it was found in a folder, no object could be read from the file, and the text begins with a
    list or has YAML tags of another program.
    """
    if not file.found or not file.problems or file.sources or _OBJECT.search(file.text):
        return False
    return bool(_LIST.match(file.text) or _TAG.search(file.text))


def is_other_data(content: Mapping[str, Any]) -> bool:
    """Return whether a document is no Kubernetes object, such as the values of a Helm chart.

    A document is no Kubernetes object if it has no apiVersion and one of two conditions holds: the field ``kind`` is
    absent or has no name in the form of a Kubernetes kind; or the document has neither metadata nor spec.
    """
    if "apiVersion" in content:
        return False
    kind = content.get("kind")
    is_kind = isinstance(kind, str) and _KIND.fullmatch(kind) is not None
    return not is_kind or not ("metadata" in content or "spec" in content)


def asserts(file: SourceFile) -> bool:
    """Return whether a file that was found in a folder holds assertions for the test tool Chainsaw, and no objects.

    Objects of Kyverno are not searched for assertions, because conditional anchors in Kyverno's policies look like
    assertions (https://kyverno.io/docs/policy-types/cluster-policy/validate/#anchors).
    """
    if not file.found or not _ASSERTION.search(file.text):
        return False
    sources = (each for each in file.sources if not each.api_version.startswith("kyverno.io/"))
    keys = (path[-1] for source in sources for path, _ in values(source.content) if path)
    return any(isinstance(key, str) and key.startswith("(") and key.endswith(")") for key in keys)


def is_part_of_a_tool(source: Source) -> bool:
    """Return whether an object is part of a file of Helm or kustomize, by the file's name."""
    name = _split(source.file)[1]
    return name in KUSTOMIZATIONS or (name in _OF_HELM and not source.kind)


def _split(path: str) -> tuple[str, str]:
    """Return (the folder of a path, the last component of the path)."""
    folder, _, name = path.rpartition("/")
    return folder or ".", name


def patches_of(kustomization: Mapping[str, Any]) -> Iterator[str]:
    """Yield the paths of the files that a kustomization uses as patches, which are not whole objects."""
    for field in _PATCH_FIELDS:
        entries = kustomization.get(field)
        for entry in entries if isinstance(entries, list) else ():
            path = entry.get("path") if isinstance(entry, Mapping) else entry
            if isinstance(path, str) and "\n" not in path:
                yield path


def only_unexpanded(report: Report) -> bool:
    """Return whether a report has only skipped results, and at least one is an unexpanded template, as in a chart."""
    return {each.verdict for each in report.results} == {"skipped"} and any(
        each.kind in (_HELM_CHART, _TEMPLATE) for each in report.results
    )


# ---- their results ---------------------------------------------------------------------------------------------------


def skipped_file(file: str, kind: str = "", line: int = 1) -> Result:
    """Return a result with the verdict "skipped", for a file or a document that has nothing to check.

    ``kind`` says what the file is, such as "Helm chart"; empty if podberth has no name for it.
    """
    return Result(file=file, line=line, api_version="", kind=kind, namespace="", name="", path="", verdict="skipped")


def chart_result(folder: str, templates: int) -> Result:
    """Return the result for a Helm chart; ``templates`` is the number of template files, which are not checked."""
    several = f"{templates} templates are" if templates > 1 else "template is"
    message = f"its {several} not checked; check its output: helm template {folder} | podberth check -"
    finding = Finding(policy="", message=message, field="", line=1)
    return replace(skipped_file(f"{folder}/{CHART}", _HELM_CHART), name=_split(folder)[1], warnings=(finding,))


def patch_result(file: SourceFile) -> Result:
    """Return the result for a file that a kustomization applies to other files as a patch."""
    folder = _split(file.patch_of)[0]
    message = f"a patch of {file.patch_of}; check its output: kustomize build {folder} | podberth check -"
    finding = Finding(policy="", message=message, field="", line=1)
    return replace(skipped_file(file.name, "kustomize patch"), notes=(finding,))


def excerpt_result(file: str, line: int) -> Result:
    """Return the result for a document at ``line`` that cannot be read because lines of it are left out."""
    finding = Finding(policy="", message='lines are left out by "...": nothing of it is checked', field="", line=line)
    return replace(skipped_file(file, "excerpt", line), notes=(finding,))


def folded(results: Iterable[Result]) -> Iterator[Result]:
    """Yield the results, with the results of all unexpanded templates in one folder combined into one.

    The combined result is at the position of the first combined result.
    """
    kept = list(results)
    folders: dict[str, list[Result]] = {}
    for each in kept:
        if each.unexpanded:
            folders.setdefault(_split(each.file)[0], []).append(each)
    for each in kept:
        if not each.unexpanded:
            yield each
        elif each is folders[folder := _split(each.file)[0]][0]:
            yield _templates(folder, folders[folder])


def kinds_once(results: Iterable[Result]) -> Iterator[Result]:
    """Yield the results; why objects of a kind are not checked is a warning on the first of them, a note on the others.

    Such a warning is at the object's kind.
    """
    said: set[str] = set()
    for each in results:
        of_kind = [warning for warning in each.warnings if _is_of_kind(each, warning)]
        again = [warning for warning in of_kind if warning.message in said]
        said.update(warning.message for warning in of_kind)
        kept = tuple(warning for warning in each.warnings if warning not in again)
        yield replace(each, warnings=kept, notes=(*each.notes, *again)) if again else each


def _is_of_kind(result: Result, warning: Finding) -> bool:
    of_kind = warning.field.rpartition(".")[2] == "kind"
    return result.verdict == "skipped" and of_kind and not warning.policy


def _templates(folder: str, found: list[Result]) -> Result:
    first = found[0]
    files = list(dict.fromkeys(each.file for each in found))
    several = f"{len(files)} files of {folder} are templates" if len(files) > 1 else "this is a template"
    is_chart = any(BY_HELM in error.message for each in found for error in each.errors)
    how = "expand first, as in: helm template … | podberth check -" if is_chart else "nothing of it is checked"
    message = f"{several} and no YAML yet; {how}"
    finding = Finding(policy="", message=message, field="", line=first.line)
    result = skipped_file(first.file, _TEMPLATE, first.line)
    # Programs fill in other templates than Helm's; their authors run no check on the outcome
    return replace(result, warnings=(finding,)) if is_chart else replace(result, notes=(finding,))
