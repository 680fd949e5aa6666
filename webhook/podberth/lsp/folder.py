"""The open documents of an editor, and the files beside each: a file that is open has the text of the editor."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

from ..errors import PodberthError
from ..files.library import shipped
from ..files.loading import read_folder
from ..kube.documents import load_documents
from ..policy.parse import excess_of_text
from ..suite import TESTS
from .answers.document import OpenDocument, has_policy, may_be_read
from .answers.text import Text


@dataclass
class OpenFiles:
    """The documents that are open in the editor, by file name. An unsaved document has its URI as file name."""

    _texts: dict[str, Text] = field(default_factory=dict)
    _good: dict[str, Text] = field(default_factory=dict)

    def put(self, file: str, content: str) -> None:
        """Open a document, or replace its text."""
        text = Text(content)
        self._texts[file] = text
        if (_may_be_suite(file, content) or may_be_read(text.content)) and not load_documents(text.content, file)[1]:
            self._good[file] = text

    def close(self, file: str) -> None:
        """Forget a document; from now on, the file on disk counts."""
        self._texts.pop(file, None)
        self._good.pop(file, None)

    def beside(self, file: str) -> list[str]:
        """Return the open documents in the folder of a file, with the file itself."""
        return [each for each in self._texts if Path(each).parent == Path(file).parent]

    def document(self, file: str) -> OpenDocument | None:
        """Return an open document as it is now; None if it is not open.

        The files beside it are read when they are needed, which may be in another thread.
        """
        if file not in self._texts:
            return None
        opened = {each: self._texts[each].content for each in self.beside(file)}
        beside = partial(_texts_beside, file, opened)
        is_suite = _is_tests(file) and any(has_policy(text) for _, text in beside())
        return OpenDocument(file, self._texts[file], beside, is_suite, described, self._good.get(file))


def _is_tests(file: str) -> bool:
    return Path(file).name in TESTS


def _may_be_suite(file: str, content: str) -> bool:
    return _is_tests(file) and "cases" in content and not excess_of_text(content)


def tests_beside(file: str) -> tuple[str, ...]:
    """Return the files with tests in the folder of a file."""
    folder = Path(file).parent
    return read_folder(folder).tests if folder.is_dir() else ()


def _texts_beside(file: str, opened: Mapping[str, str]) -> Sequence[tuple[str, str]]:
    """Return (file, text) of each policy file in the folder of ``file``, with the texts of the editor."""
    folder = Path(file).parent
    saved = dict(read_folder(folder).policies) if folder.is_dir() else {}
    return sorted({**saved, **{each: text for each, text in opened.items() if not _is_tests(each)}}.items())


@cache
def described() -> Mapping[str, str]:
    """Return the description of each shipped policy, by its name; empty if the library cannot be read."""
    try:
        return {each.name: each.description for each in shipped()}
    except PodberthError:
        return {}
