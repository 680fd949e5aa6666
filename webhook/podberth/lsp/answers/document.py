"""A document that is open in the editor, with the files beside it, and a question about a place in it."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from ...kube.documents import load_documents
from ...kube.paths import Path
from ...kube.positions import Positions
from ...kube.unchecked import mapping_at, text_at
from ...native.documents import MODELS
from ...policy.parse import excess_of_text
from ...suite.case_file import SuiteCluster, SuiteDocument
from .cursor import Cursor, cursor_at
from .fields import OWN, Spot, root_of, spot_at
from .language import Checkers, Language
from .text import Place, Range, Text

_KIND: Final = re.compile(rf"""(?m)^[ \t{{,]*["']?kind["']?[ \t]*:[ \t]*["']?(?:{"|".join((*OWN, *MODELS))})\b""")

_GROUP: Final = "podberth.io/v"
# A new document with its apiVersion alone, which may become podberth's.
_NEW: Final = re.compile(r"(?:#.*\n|---\n|\s)*apiVersion:.*\s*")


def has_policy(content: str) -> bool:
    """Return whether a text seems to have a document that podberth judges, even if the text cannot be parsed."""
    return _KIND.search(content) is not None


def is_judged(content: str) -> bool:
    """Return whether a text seems to have such a document, or names podberth's API, with whatever kind."""
    return _GROUP in content or has_policy(content)


def may_be_read(content: str) -> bool:
    """Return whether a text may have or become a document of podberth, and is not too large for a parse at each key."""
    return not excess_of_text(content) and (is_judged(content) or _NEW.fullmatch(content) is not None)


@dataclass(frozen=True)
class OpenDocument:
    """A document of the editor with the files of its folder."""

    file: str
    text: Text
    beside: Callable[[], Sequence[tuple[str, str]]] = tuple
    """Returns (file, text) of each policy file in the folder, with the document itself."""
    is_suite: bool = False
    """Whether the document is the test suite of a folder with policies."""
    shipped: Callable[[], Mapping[str, str]] = dict
    """Returns the description of each policy that podberth ships, by the policy's name."""
    good: Text | None = field(default=None, repr=False)
    """The last text of the document that could be parsed; None if there is none."""
    suite: type[SuiteCluster] = SuiteDocument
    """The model of a suite; ``SuiteCluster`` is that of a suite without cases, as in the playground."""

    def objects(self) -> Iterator[tuple[str, Mapping[str, Any], Positions]]:
        """Yield (file, content, positions) of each document in the folder that can be parsed."""
        for file, content in self.beside():
            for each in load_documents(content, file, last_wins=True)[0]:
                yield file, each.document, each.positions

    def named(self, kind: str, name: str, namespace: str = "") -> tuple[str, Mapping[str, Any], Positions] | None:
        """Return (file, content, positions) of the object with a kind and name; None if the folder has none.

        An empty namespace means any namespace.
        """
        for file, content, positions in self.objects():
            metadata = mapping_at(content, "metadata")
            same = text_at(content, "kind") == kind and text_at(metadata, "name") == name
            if same and (not namespace or text_at(metadata, "namespace") in (namespace, "")):
                return file, content, positions
        return None


@dataclass(frozen=True)
class Question:
    """A place in an open document, and what stands there."""

    document: OpenDocument
    place: Place
    checkers: Checkers

    @cached_property
    def cursor(self) -> Cursor | None:
        """The key or value at the place; None in a comment, in other documents, or if nothing can be parsed."""
        content = self.document.text.content
        if excess_of_text(content) if self.document.is_suite else not may_be_read(content):
            return None
        return cursor_at(self.document.text, self.place, self.document.good)

    @cached_property
    def root(self) -> Spot | None:
        """The type of the whole YAML document; None if podberth does not read such a document."""
        if self.cursor is None:
            return None
        return Spot(self.document.suite) if self.document.is_suite else root_of(self.cursor.document)

    @cached_property
    def spot(self) -> Spot | None:
        """The type of the value at the place; for a key, of the object that has the key."""
        return None if self.cursor is None or self.root is None else spot_at(self.root, self.cursor.path)

    @cached_property
    def language(self) -> Language | None:
        """The CEL of the expression at the place; None if there is no expression."""
        if self.cursor is None or self.cursor.key is not None or self.spot is None or self.spot.want is None:
            return None
        return Language(self.checkers, self.cursor.document, self.cursor.path)

    @property
    def word(self) -> Range:
        """The range of the word at the place."""
        return self.document.text.word(self.place)

    @property
    def path(self) -> Path:
        """The path of the key or value at the place; empty if nothing is there."""
        if self.cursor is None:
            return ()
        return self.cursor.path if self.cursor.key is None else (*self.cursor.path, self.cursor.key)
