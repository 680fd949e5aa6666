"""Pages that are lived through: their files are written, their commands run in order in one shell.

Of a page's blocks, ``console`` has commands and what they print, ``yaml FILE`` is a file to write, ``diff`` a change to
make, and ``text CI`` what .github/workflows does with the last commit. A command that fails is followed by ``echo $?``.
"""

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from pathlib import Path

from pages import ROOT

BLOCK = re.compile(
    r"^```(?P<what>console|diff|yaml (?P<file>\S+)|text CI)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL
)
END = "\036"
CI = f"{sys.executable} {ROOT}/tests/pipelines.py"


COMMAND = re.compile(r"^\$ .*(?:\n> .*)*", re.MULTILINE)


def _steps(text: str) -> Iterator[tuple[str, str]]:
    """Yield every command as it stands in the page, empty for a run of CI, and the lines of a shell that do the same.

    What only prepares, a file or a change, has no command of its own and stands before the next.
    """
    before = ""
    for block in BLOCK.finditer(text):
        what, file, body = block["what"], block["file"], block["body"]
        if what == "diff":
            before += f"git apply - <<'END' || exit\n{body}END\n"
        elif file:
            before += f"mkdir -p $(dirname {file}) && cat > {file} <<'END' || exit\n{body}END\n"
        else:
            for shown in COMMAND.findall(body) if what == "console" else [""]:
                command = shown.removeprefix("$ ").replace("\n> ", "\n") or CI
                yield shown, f"{before}(exit $status)\n{command}\nstatus=$?; printf '{END}%d{END}' $status\n"
                before = ""


def _lived(text: str, printed: Iterator[str]) -> str:
    """Return the page with what was printed in the place of what it says."""

    def block(found: re.Match[str]) -> str:
        if found["what"] == "console":
            body = "".join(f"{command}\n{next(printed)}" for command in COMMAND.findall(found["body"]))
        elif found["what"] == "text CI":
            body = next(printed)
        else:
            return found[0]
        return f"```{found['what']}\n{body}```"

    return BLOCK.sub(block, text)


def live_through(text: str, directory: Path, environ: Mapping[str, str]) -> None:
    """Do in a directory what a page says, and assert that what comes of it stands there."""
    every = list(_steps(text))
    done = subprocess.run(
        ["bash", "-c", "exec 2>&1; status=0\n" + "".join(lines for _, lines in every)],
        cwd=directory,
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    *parts, rest = done.stdout.split(END)
    printed, codes = parts[0::2], [int(code) for code in parts[1::2]]
    assert (len(printed), rest) == (len(every), "")
    lived = _lived(text, iter(printed))
    assert lived == text, "\n".join(unified_diff(text.splitlines(), lived.splitlines(), "the page", "what came", n=1))
    for (shown, _), code, (then, _) in zip(every, codes, [*every[1:], ("", "")], strict=True):
        assert code == 0 or then == "$ echo $?", shown
