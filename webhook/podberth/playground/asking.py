"""Answers a request of the page: a session as it is read, the answer to it, or completions and an explanation."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from ..cel.engine import Environment
from ..conventions import Conventions
from ..errors import UsageError
from ..lsp.answers.completion import complete
from ..lsp.answers.document import OpenDocument, Question
from ..lsp.answers.hover import explain
from ..lsp.answers.language import Checkers
from ..lsp.answers.text import Place, Text
from ..suite.case_file import SuiteCluster
from .answer import POLICY, answer, units
from .cluster import FILE as CLUSTER
from .session import session_of


class Asking:
    """Answers requests, one after the other, with one CEL environment and the names of one cluster."""

    def __init__(self, environment: Environment, conventions: Conventions) -> None:
        """Create the object; only one thread may use it."""
        self._environment = environment
        self._conventions = conventions
        self._checkers = Checkers(environment)

    def __call__(self, kind: str, request: Mapping[str, Any], now: datetime) -> Any:
        """Return the answer to a request as JSON; None if there is nothing to complete or to explain.

        Raises:
            UsageError: the request is not one of the page.
        """
        session = session_of(request.get("session"))
        if kind == "session":
            return session.as_json()
        if kind == "answer":
            return answer(session, self._environment, self._conventions, now)
        texts = {"policy": (POLICY, session.policy), "cluster": (CLUSTER, session.cluster)}
        line, column, where = (request.get(name) for name in ("line", "column", "in"))
        if not (isinstance(line, int) and isinstance(column, int) and isinstance(where, str)):
            raise UsageError(f"{kind}: got no place, want line, column and the name of an editor")
        if where not in texts:
            return None
        file, content = texts[where]
        text = Text(content)
        beside = [(file, content)]
        document = OpenDocument(file, text, lambda: beside, is_suite=where == "cluster", suite=SuiteCluster)
        question = Question(document, text.of_editor(line, column, units), self._checkers)
        return _completions(question) if kind == "complete" else _explanation(question)


def _completions(question: Question) -> dict[str, Any] | None:
    found = complete(question)
    if not found.items:
        return None
    return {
        "from": _place(question, found.replaced.start),
        "items": [
            {
                "label": each.label,
                "kind": {"key": "property", "value": "enum", "field": "property"}.get(each.kind, each.kind),
                "detail": each.detail,
                "meaning": each.meaning,
                "insert": each.insert or each.label,
            }
            for each in found.items
        ],
    }


def _explanation(question: Question) -> dict[str, Any] | None:
    found = explain(question)
    if found is None:
        return None
    return {"text": found.text, "from": _place(question, found.range.start), "to": _place(question, found.range.end)}


def _place(question: Question, place: Place) -> dict[str, int]:
    line, column = question.document.text.to_editor(place, units)
    return {"line": line, "column": column}
