"""Questions about a place of a document, as an editor asks them: the place is marked in the text."""

from functools import cache

from podberth.cel.engine import Environment
from podberth.conventions import Conventions
from podberth.kube.schema import PodSchema
from podberth.lsp.answers.completion import Completion, complete
from podberth.lsp.answers.definition import Definition, define
from podberth.lsp.answers.diagnostics import Diagnostic, Linting, diagnose
from podberth.lsp.answers.document import OpenDocument, Question
from podberth.lsp.answers.hover import explain
from podberth.lsp.answers.language import Checkers
from podberth.lsp.answers.text import Place, Range, Text

FILE = "folder/policy.yaml"
MARK = "^"
HEAD = "apiVersion: podberth.io/v1alpha1\nkind: GPUPolicy\nmetadata: {name: a}\nspec:\n"
VALIDATING = (
    "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: a}\nspec:\n"
    "  matchConstraints:\n    resourceRules:\n"
    '    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [RESOURCE]}\n'
)

PARAMS = (
    "folder/params.yaml",
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: podberth-system}\ndata: {mode: required}\n",
)
WITH_PARAMS = (
    f"{HEAD}  paramKind: {{apiVersion: v1, kind: ConfigMap}}\n"
    "  paramRef: {name: b, namespace: podberth-system, parameterNotFoundAction: Allow}\n"
)


def place(marked: str) -> tuple[str, Place]:
    """Return (the text without the mark, the place of the mark)."""
    before, mark, after = marked.partition(MARK)
    assert mark, "want a mark in the text"
    return before + after, Place(before.count("\n"), len(before.rpartition("\n")[2]))


def document(text: str, *beside: tuple[str, str], is_suite: bool = False, good: str = "") -> OpenDocument:
    """Return an open document with the files beside it."""
    return OpenDocument(
        FILE,
        Text(text),
        lambda: sorted([(FILE, text), *beside]),
        is_suite,
        lambda: {"gpu-tolerations": "Tolerates taints."},
        Text(good) if good else None,
    )


@cache
def checkers() -> Checkers:
    """Return the checkers that all questions share."""
    return Checkers(Environment(PodSchema.packaged()))


def question(marked: str, *beside: tuple[str, str], is_suite: bool = False, good: str = "") -> Question:
    """Return the question about the marked place."""
    text, where = place(marked)
    return Question(document(text, *beside, is_suite=is_suite, good=good), where, checkers())


def completed(marked: str, *beside: tuple[str, str], is_suite: bool = False, good: str = "") -> Completion:
    """Return the completions at the marked place."""
    return complete(question(marked, *beside, is_suite=is_suite, good=good))


def labels(marked: str, *beside: tuple[str, str], is_suite: bool = False, good: str = "") -> list[str]:
    """Return the names that are offered at the marked place."""
    return [each.label for each in completed(marked, *beside, is_suite=is_suite, good=good).items]


def hovered(marked: str, *beside: tuple[str, str], is_suite: bool = False) -> str:
    """Return the explanation of the marked place; empty if there is none."""
    found = explain(question(marked, *beside, is_suite=is_suite))
    return "" if found is None else found.text


def defined(marked: str, *beside: tuple[str, str]) -> Definition | None:
    """Return the definition of the name at the marked place."""
    return define(question(marked, *beside))


def diagnosed(text: str, *beside: tuple[str, str], is_suite: bool = False) -> tuple[Diagnostic, ...]:
    """Return the findings about a document."""
    linting = Linting(environment=checkers().of_gpu, conventions=Conventions())
    return diagnose(document(text, *beside, is_suite=is_suite), ("folder/tests.yaml",), linting)


def part(text: str, found: Range) -> str:
    """Return the text of a range within one line."""
    assert found.start.line == found.end.line
    return text.split("\n")[found.start.line][found.start.column : found.end.column]
