"""Recognises why a text is not YAML: it is an unexpanded template or an excerpt, or has a Git conflict.

The message about the cause replaces the parser's errors. The module is called only for texts with errors, so a false
match does no harm.
"""

import re
from collections.abc import Sequence
from typing import Final

from .positions import Chunk, Position

Wrong = tuple[Position, str]

_CONFLICT: Final = re.compile(r"^(?:<{7}|={7}|>{7}|\|{7})(?: .*)?$", re.MULTILINE)
_TEMPLATE: Final = re.compile(r"""^[^"'#\n]*(\{\{|\{%)""", re.MULTILINE)
BY_HELM: Final = "expand it first, for example: helm template … | podberth check -"
"""The advice about a template of a chart."""
# The objects of a chart's templates, and functions that Helm adds: https://helm.sh/docs/chart_template_guide/
_HELM: Final = re.compile(r"\.(?:Values|Release|Chart|Files|Capabilities)\b|\b(?:include|tpl|toYaml)\b")
# A line that stands for left-out lines. A document may end with such a line: YAML 1.2.2, 9.1.3 (c-document-end)
_LEFT_OUT: Final = re.compile(r"^[ \t]*(?:\.\.\.|…)[ \t]*$(?=\s*\S)", re.MULTILINE)


def advice(template: str) -> str:
    """Return advice on how to expand a template such as ``{{ .Values.gpus }}``: by Helm, or by hand."""
    return BY_HELM if _HELM.search(template) else "fill it in first"


def is_template(text: str, line: int) -> bool:
    """Return whether the document with an error at ``line`` (counted from 1) is a template that was not expanded."""
    return _TEMPLATE.search(_document(text, line)) is not None


def is_excerpt(text: str, line: int) -> bool:
    """Return whether a line "..." stands for left-out lines in the document with an error at ``line``."""
    return _LEFT_OUT.search(_document(text, line)) is not None


def _document(text: str, line: int) -> str:
    """Return the text of the document at ``line``."""
    lines = text.splitlines()
    bounds = [at for at, each in enumerate(lines, 1) if each.startswith("---")]
    start = max((at for at in bounds if at <= line), default=1)
    end = min((at for at in bounds if at > line), default=len(lines) + 1)
    return "\n".join(lines[start - 1 : end - 1])


def mishap(chunk: Chunk, wrong: Sequence[Wrong]) -> list[Wrong]:
    """Return the error that explains why a text is not YAML: the text has a Git conflict, or is a template.

    The result is empty if the text has neither. ``wrong`` has the YAML parser's errors, at least one; the message about
    a template quotes the first error.
    """
    conflict = _CONFLICT.search(chunk.text)
    if conflict is not None:
        message = f"got the mark of a Git conflict, {conflict[0][:7]}; resolve the conflict"
        return [(_position(chunk, conflict.start()), message)]
    template = _TEMPLATE.search(chunk.text)
    if template is not None:
        line = chunk.text[: template.end()].rpartition("\n")[2] + chunk.text[template.end() :].partition("\n")[0]
        message = f"this is a template and no YAML yet: {line.strip()[:60]}; {advice(chunk.text)} ({wrong[0][1]})"
        return [(_position(chunk, template.start(1)), message)]
    return []


def _position(chunk: Chunk, index: int) -> Position:
    line = chunk.text.count("\n", 0, index)
    return Position(chunk.lines_before + line + 1, index - chunk.text.rfind("\n", 0, index))
