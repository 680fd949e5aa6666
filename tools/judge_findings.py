"""Compare the findings of ``podberth check`` on real manifests with the judgements in tests/precision.

    .venv/bin/python tools/judge_findings.py FOLDER                          # no topology
    .venv/bin/python tools/judge_findings.py FOLDER --topology mixed.yaml    # another run for each, findings joined

FOLDER holds the manifests of tests/precision/manifests.tsv as OWNER+NAME/PATH; tests/precision/README.md says how to
get them, and what the sets are that ``--set`` chooses from. Each finding is printed with its document and its verdict,
or ``new`` where nobody has judged it; then the counts of each policy. Exits with 1 if a finding is new or wrong.
"""

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[1]
JUDGEMENTS: Final = ROOT / "tests/precision/judgements.jsonl"
MANIFESTS: Final = ROOT / "tests/precision/manifests.tsv"
VERDICTS: Final = ("useful", "noise", "wrong", "new")


class Found(NamedTuple):
    """One finding: ``document`` is KIND/NAME, ``policy`` is empty for podberth's own."""

    repository: str
    path: str
    document: str
    policy: str
    message: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Check, print and count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--topology", type=Path, action="append", default=[], metavar="FILE")
    parser.add_argument("--policy", help="only the findings of this policy")
    parser.add_argument("--set", choices=sorted(set(sets(MANIFESTS).values())), help="only the manifests of this set")
    options = parser.parse_args(arguments)
    chosen = {place for place, name in sets(MANIFESTS).items() if options.set in {None, name}}
    judged = verdicts(JUDGEMENTS)
    found = sorted({each for topology in options.topology or [None] for each in findings(options.folder, topology)})
    listed = [each for each in found if options.set is None or (each.repository, each.path) in chosen]
    wanted = [each for each in listed if options.policy in {None, each.policy}]
    for each in wanted:
        where = f"{each.repository} {each.path} {each.document}"
        print(f"{judged.get(each, 'new'):6} {each.policy or '-'}: {each.message}\n       {where}")
    counts = Counter((each.policy, judged.get(each, "new")) for each in wanted)
    print(*table(counts), sep="\n")
    return 1 if any(counts[each] for each in counts if each[1] in {"wrong", "new"}) else 0


def sets(file: Path) -> dict[tuple[str, str], str]:
    """Return the set of each listed manifest, by repository and path."""
    rows = [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines()[1:]]
    return {(repository, path): name for repository, _, path, _, name in rows}


def verdicts(file: Path) -> dict[Found, str]:
    """Return the verdict of each finding that a person has judged."""
    entries = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return {Found(*(each[field] for field in Found._fields)): each["verdict"] for each in entries}


def findings(folder: Path, topology: Path | None) -> Iterator[Found]:
    """Yield the denials, warnings and errors on all manifests of a folder."""
    option = ["--topology", str(topology)] if topology else []
    command = [sys.executable, "-I", "-m", "podberth", "check", "-o", "json", *option, str(folder)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    for result in json.loads(done.stdout)["results"]:
        place, _, path = str(Path(result["file"]).relative_to(folder)).partition("/")
        document = f"{result['kind']}/{result['name']}"
        for each in (*result["denials"], *result["warnings"], *result["errors"]):
            # That several files of a folder are templates names the folder as it lies here
            message = each["message"].replace(f"{folder}/", "")
            yield Found(place.replace("+", "/", 1), path, document, each["policy"], message)


def table(counts: Counter[tuple[str, str]]) -> Iterator[str]:
    """Yield the rows of a table in Markdown: the number of findings of each policy by verdict."""
    yield f"\n| policy | {' | '.join(VERDICTS)} |\n|---{'|---' * len(VERDICTS)}|"
    for policy in sorted({policy for policy, _ in counts}):
        cells = " | ".join(str(counts[policy, verdict]) for verdict in VERDICTS)
        yield f"| {policy or 'of no policy'} | {cells} |"
    cells = " | ".join(str(sum(n for (_, each), n in counts.items() if each == verdict)) for verdict in VERDICTS)
    yield f"| all | {cells} |"


if __name__ == "__main__":
    sys.exit(main())
