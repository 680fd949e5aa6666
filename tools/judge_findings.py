"""Compare the findings of ``podberth check`` on real manifests with the judgements in tests/precision.

    .venv/bin/python tools/judge_findings.py FOLDER                          # no topology
    .venv/bin/python tools/judge_findings.py FOLDER --topology mixed.yaml    # another run for each, findings joined
    .venv/bin/python tools/judge_findings.py FOLDER --optional               # what optional policies say and write

FOLDER holds the manifests of tests/precision/manifests.tsv as OWNER+NAME/PATH; tests/precision/README.md says how to
get them, and what the sets are that ``--set`` chooses from; those of the set ``threads`` cannot be got. Each finding is
printed with its document, its topologies and its verdict, or ``new`` where nobody has judged it. ``lost`` is a finding
that was judged useful, is not recorded as gone, and does not come any more on a manifest that FOLDER holds. Then the
counts of each policy. Exits with 1 if a finding is new, wrong or lost.

That no known node has what a pod asks for is left out: it is about the nodes of a topology here, which are those of
nobody's cluster, and not about the manifest.

With ``--optional`` the lists are optional.tsv and optional.jsonl, five optional policies are asked and no others, and
each write is a finding: its words are ``writes:`` and the reason, without the number of nodes that it prefers.
"""

import argparse
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[1]
JUDGEMENTS: Final = ROOT / "tests/precision/judgements.jsonl"
MANIFESTS: Final = ROOT / "tests/precision/manifests.tsv"
OPTIONAL: Final = (
    "cuda-fits-driver",
    "fabric-guard",
    "no-gpu-visibility-beyond-request",
    "protect-running",
    "workload-shape",
)
"""The optional policies whose findings are judged, in files of their own: optional.jsonl and optional.tsv."""
VERDICTS: Final = ("useful", "noise", "wrong", "new", "lost")
WITHOUT: Final = "none"
"""The topology of a run without nodes."""
OF_NODES: Final = re.compile(r"no known node (has \S+(; (did you mean|they have) .*)?|has as many: .*|with these .*)")
"""Words of ``podberth check`` about the nodes that are given, and not about the manifest: ``admission.unplaced``."""
THREAD: Final = "thread"
"""What stands for the commit of a block of YAML in a thread of issues, which no command gets."""


class Found(NamedTuple):
    """One finding: ``document`` is KIND/NAME, ``policy`` is empty for podberth's own."""

    repository: str
    path: str
    document: str
    policy: str
    message: str


class Judgement(NamedTuple):
    """A person's verdict about a finding.

    ``state`` is ``current``, ``gone`` (the field ``gone`` has the reason), or ``unchecked``: not compared since then.
    ``topologies`` are the runs that the finding is expected in; empty: not recorded.
    """

    verdict: str
    state: str
    topologies: frozenset[str]


def main(arguments: Sequence[str] | None = None, judgements: Path | None = None, manifests: Path = MANIFESTS) -> int:
    """Check, print and count. ``judgements`` are those of tests/precision if none are given."""
    options = _options(arguments, manifests)
    judgements = judgements or (JUDGEMENTS.with_name("optional.jsonl") if options.optional else JUDGEMENTS)
    chosen = {place for place, name in sets(manifests).items() if options.set in {None, name}}
    if options.set in of_threads(manifests) and not any(has(options.folder, *place) for place in chosen):
        print(f"{options.set}: got none of its blocks of threads, which no command gets", file=sys.stderr)
        return 2
    judged = verdicts(judgements)
    found: dict[Found, set[str]] = {}
    notes: set[Found] = set()
    for topology in options.topology or [None]:
        for each, is_note in said(options.folder, topology, OPTIONAL if options.optional else ()):
            if is_note:
                notes.add(each)
            else:
                found.setdefault(each, set()).add(run_name(topology))
    runs = {run_name(topology) for topology in options.topology or [None]}
    missing = lost(judged, {*found, *notes}, options.folder, runs)
    printed = {each: verdict_of(each, judged) for each in found} | dict.fromkeys(missing, "lost")
    listed = {each for each in printed if options.set is None or (each.repository, each.path) in chosen}
    wanted = sorted(each for each in listed if options.policy in {None, each.policy})
    for each in wanted:
        where = f"{each.repository} {each.path} {each.document} ({', '.join(sorted(found.get(each, runs)))})"
        print(f"{printed[each]:6} {each.policy or '-'}: {each.message}\n       {where}")
    counts = Counter((each.policy, printed[each]) for each in wanted)
    print(*table(counts), sep="\n")
    return 1 if any(verdict in {"wrong", "new", "lost"} for _, verdict in counts) else 0


def sets(file: Path) -> dict[tuple[str, str], str]:
    """Return the set of each listed manifest, by repository and path."""
    return {(repository, path): name for repository, _, path, _, name in _rows(file)}


def of_threads(file: Path) -> set[str]:
    """Return the sets that hold blocks of threads."""
    return {name for _, commit, _, _, name in _rows(file) if commit == THREAD}


def _rows(file: Path) -> list[list[str]]:
    return [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines()[1:]]


def has(folder: Path, repository: str, path: str) -> bool:
    """Return whether a folder holds a manifest."""
    return (folder / repository.replace("/", "+", 1) / path).is_file()


def verdicts(file: Path) -> dict[Found, Judgement]:
    """Return each finding that a person has judged, with the verdict."""
    entries = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return {
        Found(*(each[field] for field in Found._fields)): Judgement(
            each["verdict"], each["state"], frozenset(each.get("topologies", []))
        )
        for each in entries
    }


def verdict_of(found: Found, judged: Mapping[Found, Judgement]) -> str:
    """Return the verdict about a finding; ``new`` if there is none."""
    return judged[found].verdict if found in judged else "new"


def run_name(topology: Path | None) -> str:
    """Return the name of a run: ``mixed`` for topology-mixed.yaml, ``none`` without nodes."""
    return topology.stem.removeprefix("topology-") if topology else WITHOUT


def lost(judged: Mapping[Found, Judgement], found: Collection[Found], folder: Path, runs: set[str]) -> set[Found]:
    """Return the useful findings that these runs should have and lack.

    A finding whose manifest is not in the folder is not lost, nor one of topologies that were not run.
    """
    return {
        each
        for each, judgement in judged.items()
        if each not in found and judgement.verdict == "useful" and judgement.state != "gone"
        if not judgement.topologies or judgement.topologies & runs
        if has(folder, each.repository, each.path)
    }


def findings(folder: Path, topology: Path | None) -> Iterator[Found]:
    """Yield the denials, warnings and errors on all manifests of a folder."""
    return (each for each, is_note in said(folder, topology) if not is_note)


def said(folder: Path, topology: Path | None, optional: Sequence[str] = ()) -> Iterator[tuple[Found, bool]]:
    """Yield (finding, whether it is a note) for all manifests of a folder; nobody judges notes.

    ``optional`` are the optional policies that are asked in place of the shipped ones, and whose writes are findings.
    """
    option = ["--topology", str(topology)] if topology else []
    option += [f"--policies={ROOT / 'optional-policies' / name}" for name in optional]
    command = [sys.executable, "-I", "-m", "podberth", "check", "-o", "json", *option, str(folder)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    for result in json.loads(done.stdout)["results"]:
        place, _, path = str(Path(result["file"]).relative_to(folder)).partition("/")
        document = f"{result['kind']}/{result['name']}"
        judged = [*result["denials"], *result["warnings"], *result["errors"]]
        notes = result["notes"]
        if optional:
            judged = [each for each in [*judged, *written(result["changes"])] if each["policy"] in optional]
            notes = []
        for at, each in enumerate([*judged, *notes]):
            # That several files of a folder are templates names the folder as it lies here
            message = each["message"].replace(f"{folder}/", "")
            if not each["policy"] and OF_NODES.fullmatch(message):
                continue
            yield Found(place.replace("+", "/", 1), path, document, each["policy"], message), at >= len(judged)


def written(changes: Sequence[Mapping[str, str]]) -> Iterator[dict[str, str]]:
    """Yield each write as a finding, in words that are the same with every topology."""
    for each in changes:
        reason = re.sub(r": prefers \d+ of \d+ nodes$", "", each["reason"])
        yield {"policy": each["policy"], "message": f"writes: {reason}"}


def table(counts: Counter[tuple[str, str]]) -> Iterator[str]:
    """Yield the rows of a table in Markdown: the number of findings of each policy by verdict."""
    yield f"\n| policy | {' | '.join(VERDICTS)} |\n|---{'|---' * len(VERDICTS)}|"
    for policy in sorted({policy for policy, _ in counts}):
        cells = " | ".join(str(counts[policy, verdict]) for verdict in VERDICTS)
        yield f"| {policy or 'of no policy'} | {cells} |"
    cells = " | ".join(str(sum(n for (_, each), n in counts.items() if each == verdict)) for verdict in VERDICTS)
    yield f"| all | {cells} |"


def _options(arguments: Sequence[str] | None, manifests: Path) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--topology", type=Path, action="append", default=[], metavar="FILE", help="'none': no nodes")
    parser.add_argument("--policy", help="only the findings of this policy")
    parser.add_argument("--optional", action="store_true", help="what optional policies say and write")
    parser.add_argument("--set", choices=sorted(set(sets(manifests).values())), help="only the manifests of this set")
    options = parser.parse_args(arguments)
    options.topology = [None if str(each) == WITHOUT else each for each in options.topology]
    return options


if __name__ == "__main__":
    sys.exit(main())
