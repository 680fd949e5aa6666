"""Reads the objects of manifests, and the items of Lists, with positions; unreadable documents become problems.

This module does no I/O; ``run`` interprets the objects.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..errors import Problem
from ..kube.documents import PositionedDocument, load_documents
from ..kube.paths import Path
from ..kube.positions import Chunk, Place, Position, Positions, render_path
from ..kube.unchecked import text_at
from ..kube.walk import values
from .numbers import is_filled_in_later

Document = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One object of a file, with the object's position in the file.

    ``root`` is the object's path in the document; ``root`` is empty if the object is the whole document.
    """

    file: str
    document: PositionedDocument
    root: Path
    content: Document
    repeated: tuple[Problem, ...] = ()
    """The duplicate keys in the object."""

    @property
    def api_version(self) -> str:
        """The object's apiVersion; empty if the field is absent or no string."""
        return text_at(self.content, "apiVersion")

    @property
    def kind(self) -> str:
        """The object's kind; empty if the field is absent or no string."""
        return text_at(self.content, "kind")

    @property
    def name(self) -> str:
        """The object's name or generateName; empty if neither field is a string."""
        return text_at(self.content, "metadata", "name") or text_at(self.content, "metadata", "generateName")

    def namespace(self, default: str) -> str:
        """Return the object's namespace; ``default`` if the field is absent or a placeholder."""
        named = self._namespace
        return default if not named or is_filled_in_later(named) else named

    def unfilled_metadata(self, namespace: str) -> Iterator[tuple[Path, str]]:
        """Yield (path, message) if the name or the namespace is a placeholder; ``namespace`` is judged in its place."""
        if is_filled_in_later(self.name):
            said = f"metadata.name is the placeholder {self.name[:60]}: judged as without a name, so in no gang"
            yield ("metadata", "name"), said
        if is_filled_in_later(self._namespace):
            said = f"metadata.namespace is the placeholder {self._namespace[:60]}: judged as in namespace {namespace}"
            yield ("metadata", "namespace"), said

    @property
    def _namespace(self) -> str:
        return text_at(self.content, "metadata", "namespace")

    @property
    def positions(self) -> Positions:
        """The positions of the values in the object's document."""
        return self.document.positions

    def line(self, path: Path = ()) -> int:
        """Return the line of the key at a path in the object; if the path is absent, the line of the nearest parent."""
        return self.positions.key((*self.root, *path)).line

    def repeated_fields(self) -> list[str]:
        """Return, for each problem with a duplicate key in ``repeated``, the path of the key as a text.

        A path is known only for the last key of the same name, whose value the document has; for the keys before it,
        the text is empty.
        """
        if not self.repeated:
            return []
        paths = ((*self.root, *path) for path, _ in values(self.content))
        fields = {tuple(self.positions.key(path)[:2]): path for path in paths}
        found = (fields.get((each.line, each.column)) for each in self.repeated)
        return [render_path(path) if path else "" for path in found]

    def field(self, path: Path) -> str:
        """Return a path in the object as a text: the path from the root of the document."""
        return render_path((*self.root, *path))


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """A file with the file's objects; ``problems`` are the documents that could not be read."""

    name: str
    text: str
    documents: tuple[PositionedDocument, ...]
    sources: tuple[Source, ...]
    problems: tuple[Problem, ...]
    found: bool = False
    """Whether the file was found in a folder; False if the user named the file."""
    patch_of: str = ""
    """The kustomization that applies the file to other objects as a patch; empty if none does."""


def read(name: str, text: str, *, found: bool = False, patch_of: str = "") -> SourceFile:
    """Return the objects and problems in the text of a file with the name ``name``; no text raises an error.

    ``found`` says whether the file was found in a folder, and ``patch_of`` is the kustomization that applies the file
    as a patch, as in ``SourceFile``.
    """
    documents, problems = load_documents(text, name, last_wins=True)
    return replace(of_documents(name, text, documents, problems), found=found, patch_of=patch_of)


def of_documents(
    name: str, text: str, documents: Sequence[PositionedDocument], problems: Iterable[Problem] = ()
) -> SourceFile:
    """Return the file with the objects of documents that were read from its text, and further problems of them."""
    sources: list[Source] = []
    wrong = list(problems)
    for each in documents:
        items = list(_opened(Source(file=name, document=each, root=(), content=each.document), wrong))
        sources += _with_repeated(items, each.repeated) if each.repeated else items
    return SourceFile(
        name=name,
        text=text,
        documents=tuple(documents),
        sources=tuple(sources),
        problems=tuple(sorted(wrong)),
    )


def without_place(file: str, content: Document) -> Source:
    """Return a source for an object that was not read from a text, so that the source has no line numbers."""
    nowhere = Place(position=Position(0, 0), chunk=Chunk("", 0), index=0)
    return Source(file=file, document=PositionedDocument(content, Positions(lambda: nowhere)), root=(), content=content)


def _opened(source: Source, problems: list[Problem]) -> Iterator[Source]:
    """Yield the items of a List, and of Lists inside the List; the object itself if the object is no List."""
    items = source.content.get("items")
    if not (source.kind.endswith("List") and source.api_version and isinstance(items, list)):
        yield source
        return
    # The items of a raw PodList do not repeat their kind.
    own = source.kind.removesuffix("List")
    implied = {"apiVersion": source.api_version, "kind": own} if own else {}
    for index, item in enumerate(items):
        root = (*source.root, "items", index)
        if not isinstance(item, dict):
            message = "got no object, want one with apiVersion and kind"
            problems.append(source.positions.problem(source.file, root, message))
            continue
        inner = Source(
            file=source.file,
            document=source.document,
            root=root,
            content={**implied, **item} if implied else item,
        )
        yield from _opened(inner, problems)


def _with_repeated(sources: Sequence[Source], repeated: Sequence[Problem]) -> Iterator[Source]:
    """Yield the objects of a document in order of line, each with the duplicate keys inside the object."""
    starts = [source.line() for source in sources]
    for source, start, end in zip(sources, starts, [*starts[1:], math.inf], strict=True):
        first = 0 if source is sources[0] else start
        yield replace(source, repeated=tuple(each for each in repeated if first <= each.line < end))
