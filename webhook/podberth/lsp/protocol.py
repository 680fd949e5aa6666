"""Speaks the Language Server Protocol with an editor, over standard input and output.

This module converts positions and answers; ``answers`` and ``diagnosing`` have the content. Only this module imports
pygls. An editor sends the whole text at each change: pygls takes more characters for line ends than the protocol has.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeAlias

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

from .. import __version__
from ..cel.engine import Environment
from ..lint.findings import Level
from .answers.completion import Item, complete
from .answers.definition import define
from .answers.diagnostics import Diagnostic, Linting, diagnose
from .answers.document import OpenDocument, Question
from .answers.hover import explain
from .answers.language import Checkers
from .answers.text import Range, Text, Units
from .diagnosing import Cluster, Diagnosing
from .folder import OpenFiles, tests_beside

SOURCE: Final = "podberth"
"""The source of every diagnostic."""
_SEVERITIES: Final = {
    Level.ERROR: types.DiagnosticSeverity.Error,
    Level.WARNING: types.DiagnosticSeverity.Warning,
    Level.NOTE: types.DiagnosticSeverity.Hint,
}
_KINDS: Final = {
    "key": types.CompletionItemKind.Property,
    "value": types.CompletionItemKind.EnumMember,
    "variable": types.CompletionItemKind.Variable,
    "field": types.CompletionItemKind.Field,
    "function": types.CompletionItemKind.Function,
    "skeleton": types.CompletionItemKind.Snippet,
}
Positioned: TypeAlias = types.CompletionParams | types.HoverParams | types.DefinitionParams
"""The requests about a position of a document."""
_TRIGGERS: Final = (".", "?", "'")


class PolicyServer(LanguageServer):
    """The language server of policies."""

    def __init__(self, cluster: Cluster) -> None:
        """Create the server, which judges policies for the cluster ``cluster``."""
        super().__init__(
            "podberth", __version__, text_document_sync_kind=types.TextDocumentSyncKind.Full, max_workers=2
        )
        self.files = OpenFiles()
        self._uris: dict[str, str] = {}
        self.checkers = Checkers(Environment(cluster.pod_schema))
        self.diagnosing = Diagnosing(cluster)
        self.is_shut_down = False
        """Whether the editor has asked for the end, as the protocol wants before the process ends."""
        for name, (feature, options) in _FEATURES.items():
            self.feature(name, options)(feature)

    @property
    def units(self) -> Units:
        """The function that measures a text in the units of the editor, usually UTF-16."""
        units: Units = self.workspace.position_codec.client_num_units
        return units

    @property
    def has_snippets(self) -> bool:
        """Whether the editor understands the placeholders of snippets."""
        document = self.client_capabilities.text_document
        item = document.completion.completion_item if document and document.completion else None
        return bool(item and item.snippet_support)

    def serve(self) -> bool:
        """Answer the editor until it ends the conversation; return whether it has done so in order."""
        self.start_io()
        self.diagnosing.close()
        return self.is_shut_down

    def changed(self, file: str) -> None:
        """Diagnose the open documents in the folder of a file, whose findings may depend on the file."""
        for each in self.files.beside(file):
            document = self.files.document(each)
            if document is not None:
                uri = self.uri_of(each)
                version = self.workspace.get_text_document(uri).version
                publish = partial(self._publish, uri, version, document.text)
                self.diagnosing.changed(uri, partial(_diagnose, document), publish)

    def opened(self, uri: str, content: str) -> None:
        """Open a document, or replace its text, and diagnose it and the open documents beside it."""
        file = _file_of(uri)
        self._uris[file] = uri
        self.files.put(file, content)
        self.changed(file)

    def closed(self, uri: str) -> None:
        """Forget a document, and diagnose the open documents beside it once more."""
        file = _file_of(uri)
        self._uris.pop(file, None)
        self.files.close(file)
        self.diagnosing.forget(uri)
        self.changed(file)

    def uri_of(self, file: str) -> str:
        """Return the URI of a file: as the editor spells it if the file is open."""
        return self._uris.get(file) or _uri_of(file)

    def question(self, params: Positioned) -> Question | None:
        """Return the question about a position of an open document; None if the document is not open."""
        document = self.files.document(_file_of(params.text_document.uri))
        if document is None:
            return None
        place = document.text.of_editor(params.position.line, params.position.character, self.units)
        return Question(document, place, self.checkers)

    def range_of(self, text: Text, found: Range) -> types.Range:
        """Return a range in the units of the editor."""
        return types.Range(*(types.Position(*text.to_editor(place, self.units)) for place in found))

    def _publish(self, uri: str, version: int | None, text: Text, found: tuple[Diagnostic, ...]) -> None:
        diagnostics = [
            types.Diagnostic(
                range=self.range_of(text, each.range),
                message=each.message,
                severity=_SEVERITIES[each.level],
                code=each.rule,
                source=SOURCE,
                data=None if each.fix is None else {"text": each.fix.text},
            )
            for each in found
        ]
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, diagnostics, version))


def _diagnose(document: OpenDocument, linting: Linting) -> tuple[Diagnostic, ...]:
    return diagnose(document, tests_beside(document.file), linting)


def _file_of(uri: str) -> str:
    """Return the name of the file with a URI; the URI itself for a document that is not saved."""
    return (to_fs_path(uri) if uri.startswith("file:") else None) or uri


def _uri_of(file: str) -> str:
    return from_fs_path(file) or file if file.startswith("/") else file


# ---- the features ---------------------------------------------------------------------------------------------------


def _opened(ls: PolicyServer, params: types.DidOpenTextDocumentParams) -> None:
    ls.opened(params.text_document.uri, params.text_document.text)


def _edited(ls: PolicyServer, params: types.DidChangeTextDocumentParams) -> None:
    uri = params.text_document.uri
    ls.opened(uri, ls.workspace.get_text_document(uri).source)


def _saved(ls: PolicyServer, params: types.DidSaveTextDocumentParams) -> None:
    ls.changed(_file_of(params.text_document.uri))


def _closed(ls: PolicyServer, params: types.DidCloseTextDocumentParams) -> None:
    uri = params.text_document.uri
    ls.closed(uri)
    ls.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))


def _completed(ls: PolicyServer, params: types.CompletionParams) -> types.CompletionList | None:
    question = ls.question(params)
    if question is None:
        return None
    found = complete(question)
    replaced = ls.range_of(question.document.text, found.replaced)
    return types.CompletionList(
        is_incomplete=False,
        items=[_item(each, replaced, number, snippets=ls.has_snippets) for number, each in enumerate(found.items)],
    )


def _item(item: Item, replaced: types.Range, number: int, *, snippets: bool) -> types.CompletionItem:
    is_snippet = bool(item.snippet) and snippets
    return types.CompletionItem(
        label=item.label,
        kind=_KINDS[item.kind],
        detail=item.detail or None,
        documentation=types.MarkupContent(types.MarkupKind.Markdown, item.meaning) if item.meaning else None,
        sort_text=f"{number:04}",
        # An author of a new document may type its kind or its first key.
        filter_text=f"{item.label} {item.insert.partition(':')[0]}" if item.snippet else item.label,
        insert_text_format=types.InsertTextFormat.Snippet if is_snippet else None,
        # The lines are indented already.
        insert_text_mode=types.InsertTextMode.AsIs if item.insert.startswith("\n") else None,
        text_edit=types.TextEdit(replaced, item.snippet if is_snippet else item.insert or item.label),
    )


def _hovered(ls: PolicyServer, params: types.HoverParams) -> types.Hover | None:
    question = ls.question(params)
    found = None if question is None else explain(question)
    if question is None or found is None:
        return None
    content = types.MarkupContent(types.MarkupKind.Markdown, found.text)
    return types.Hover(content, ls.range_of(question.document.text, found.range))


def _defined(ls: PolicyServer, params: types.DefinitionParams) -> types.Location | None:
    question = ls.question(params)
    found = None if question is None else define(question)
    if question is None or found is None:
        return None
    text = next((Text(content) for file, content in question.document.beside() if file == found.file), None)
    return types.Location(ls.uri_of(found.file), ls.range_of(text or question.document.text, found.range))


def _fixed(ls: PolicyServer, params: types.CodeActionParams) -> list[types.CodeAction]:  # noqa: ARG001 - the form of a feature
    uri = params.text_document.uri
    found = []
    for each in params.context.diagnostics:
        data: Any = each.data
        if each.source == SOURCE and isinstance(data, dict) and isinstance(data.get("text"), str):
            edit = types.WorkspaceEdit(changes={uri: [types.TextEdit(each.range, data["text"])]})
            found.append(
                types.CodeAction(
                    title=f"Replace by {data['text']}",
                    kind=types.CodeActionKind.QuickFix,
                    diagnostics=[each],
                    is_preferred=True,
                    edit=edit,
                )
            )
    return found


def _shut_down(ls: PolicyServer, _: Any) -> None:
    ls.is_shut_down = True


_FEATURES: Final[dict[str, tuple[Callable[..., Any], Any]]] = {
    types.TEXT_DOCUMENT_DID_OPEN: (_opened, None),
    types.TEXT_DOCUMENT_DID_CHANGE: (_edited, None),
    types.TEXT_DOCUMENT_DID_SAVE: (_saved, None),
    types.TEXT_DOCUMENT_DID_CLOSE: (_closed, None),
    types.TEXT_DOCUMENT_COMPLETION: (_completed, types.CompletionOptions(trigger_characters=list(_TRIGGERS))),
    types.TEXT_DOCUMENT_HOVER: (_hovered, None),
    types.TEXT_DOCUMENT_DEFINITION: (_defined, None),
    types.TEXT_DOCUMENT_CODE_ACTION: (
        _fixed,
        types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix]),
    ),
    types.SHUTDOWN: (_shut_down, None),
}
