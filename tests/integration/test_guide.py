"""docs/guide.md is lived through: its files are written, its commands run in order in one shell, its CI runs.

Of its blocks, ``console`` has commands and what they print, ``yaml FILE`` is a file to write, ``diff`` a change to make,
and ``text CI`` what .github/workflows does with the last commit. A command that fails is followed by ``echo $?``.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from pages import ROOT, page

BLOCK = re.compile(r"^```(?P<what>console|diff|yaml (?P<file>\S+)|text CI)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
END = "\036"
CI = f"{sys.executable} {ROOT}/tests/pipelines.py"


def commands(body: str) -> list[str]:
    """Return the commands of a console block, each of the lines that begin with ``$`` and, after it, ``>``."""
    return [
        line.removeprefix("$ ").replace("\n> ", "\n")
        for line in re.findall(r"^\$ .*(?:\n> .*)*", body, re.MULTILINE)
    ]


def script(text: str) -> Iterator[str]:
    """Yield the lines of a shell script that does everything in order and marks the end and the status of each command."""
    for block in BLOCK.finditer(text):
        what, file, body = block["what"], block["file"], block["body"]
        if what == "console":
            for command in commands(body):
                yield f"{command}\nstatus=$?; printf '{END}%d{END}' $status; (exit $status)"
        elif what == "text CI":
            yield f"{CI}; printf '{END}0{END}'"
        elif what == "diff":
            yield f"git apply - <<'END' || exit 1\n{body}END"
        else:
            yield f"mkdir -p $(dirname {file}) && cat > {file} <<'END'\n{body}END"


def lived(text: str, results: list[tuple[str, int]]) -> str:
    """Return the page with what was printed instead of what it says."""
    left = iter(results)

    def with_outputs(block: re.Match[str]) -> str:
        if block["what"] == "text CI":
            body = next(left)[0]
        elif block["what"] == "console":
            shown = re.findall(r"^\$ .*(?:\n> .*)*", block["body"], re.MULTILINE)
            body = "".join(f"{command}\n{next(left)[0]}" for command in shown)
        else:
            return block[0]
        return f"```{block['what']}\n{body}```"

    return BLOCK.sub(with_outputs, text)


def test_the_guide_is_what_happens(tmp_path: Path, wheel: Path, shell: dict[str, str]) -> None:
    text = page("docs/guide.md")
    environment = {**shell, "PODBERTH": str(wheel), "HOME": str(tmp_path)}
    done = subprocess.run(
        ["bash", "-c", "exec 2>&1\n" + "\n".join(script(text))],
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    parts = done.stdout.split(END)
    results = list(zip(parts[0::2], map(int, parts[1::2]), strict=False))
    every = [command for block in BLOCK.finditer(text) for command in (commands(block["body"]) if block["what"] == "console" else ["CI"])]
    assert lived(text, results) == text
    assert parts[-1] == ""
