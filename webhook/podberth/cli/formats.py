"""The output formats of ``podberth check``, as one table with the function that writes each format.

A format's module is imported when the format is used, so that a check of one manifest stays fast.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TextIO

import orjson

from .. import __version__
from ..check.report.results import by_file
from ..checking.run import Done
from . import output


@dataclass(frozen=True, slots=True)
class Format:
    """One row of the table of output formats."""

    name: str
    render: Callable[[Done, TextIO], None]
    sources: bool = False
    """Whether the format needs the parsed documents of the checked files."""
    of_manifests: bool = False
    """Whether the format can only show checks of manifests, and none of live workloads."""


def _text(done: Done, stream: TextIO) -> None:
    from .terminal import Terminal  # noqa: PLC0415

    if done.report.live is not None:
        from ..check.report.live_text import lines as live_lines  # noqa: PLC0415

        made = live_lines(done.report)
    else:
        from ..check.report.text import lines  # noqa: PLC0415

        made = lines(done.report, done.shown)
    Terminal.of(stream).put(made)


def _line(done: Done, stream: TextIO) -> None:
    from ..check.report.one_line import render  # noqa: PLC0415

    stream.write(render(done.report, done.shown))


def _json(done: Done, stream: TextIO) -> None:
    # The standard library indents in Python, which takes ten times as long
    stream.write(orjson.dumps(done.report.as_json(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode())


def _yaml(done: Done, stream: TextIO) -> None:
    from ..check.report.patched import render  # noqa: PLC0415

    results = by_file(done.report)
    separator = ""
    for file, text in done.texts.items():
        if all(each.verdict == "skipped" and not each.api_version for each in results.get(file, ())):
            continue  # no manifest: values of a chart, YAML of another program
        written, problems = render(text, file, results.get(file, ()))
        output.talk(map(str, problems))
        if written.strip():
            stream.write(separator if separator and not written.startswith("---") else "")
            stream.write(written if written.endswith("\n") else f"{written}\n")
            separator = "---\n"


def _junit(done: Done, stream: TextIO) -> None:
    from ..check.report.junit import render  # noqa: PLC0415

    stream.write(render(done.report))


def _sarif(done: Done, stream: TextIO) -> None:
    from ..check.report.sarif import as_sarif  # noqa: PLC0415

    stream.write(json.dumps(as_sarif(done.report, __version__, done.descriptions), indent=2) + "\n")


def _github(done: Done, stream: TextIO) -> None:
    from ..check.report.github import render  # noqa: PLC0415

    stream.write(render(done.report))


def _gitlab(done: Done, stream: TextIO) -> None:
    from ..check.report.gitlab import as_code_quality  # noqa: PLC0415

    stream.write(json.dumps(as_code_quality(done.report), indent=2) + "\n")


FORMATS: Final[tuple[Format, ...]] = (
    Format("text", _text, sources=True),
    Format("line", _line),
    Format("json", _json),
    Format("yaml", _yaml, sources=True, of_manifests=True),
    Format("junit", _junit),
    Format("sarif", _sarif),
    Format("github", _github),
    Format("gitlab", _gitlab),
)
"""All output formats of ``podberth check``; the first format is the default."""


def write(name: str, done: Done, file: str) -> None:
    """Write the outcome of a check in one format to ``file``, or to stdout if ``file`` is empty.

    Raises:
        UsageError: the file cannot be written.
    """
    render = next(each.render for each in FORMATS if each.name == name)
    output.write(lambda stream: render(done, stream), file)
