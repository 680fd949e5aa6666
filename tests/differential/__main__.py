"""``python -m differential``: puts generated policies to an API server and to podberth, and prints the differences."""

import argparse
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

from controlplane.api import Api
from controlplane.cluster import ControlPlane

from . import expressions, mutating, rows
from .files import Files
from .run import compare, compare_files
from .tally import Pair, Tally

_SHOWN = 20


def main() -> int:
    """Compare and print; the exit code is 1 where any pair differs."""
    parser = argparse.ArgumentParser(prog="python -m differential", description=__doc__)
    parser.add_argument("--policies", type=int, default=1000, help="how many policies; each is put with 13 objects")
    parser.add_argument(
        "--mutating", action="store_true", help="generate MutatingAdmissionPolicies, one or two at a time"
    )
    parser.add_argument(
        "--files", type=Path, help="a folder with people's ValidatingAdmissionPolicies, in place of generated ones"
    )
    parser.add_argument("--rows", action="store_true", help="put the rows of differential/rows.py")
    parser.add_argument(
        "--expressions", type=int, metavar="PAIRS", help="generate expressions over pods, until there are so many pairs"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kubeconfig", type=Path, help="of a control plane of tests/controlplane that runs already")
    parser.add_argument("--verbose", action="store_true", help="print the documents of the pairs that differ")
    options = parser.parse_args()
    if options.mutating and options.files:
        parser.error("--mutating generates policies; got --files as well, want one of them")
    files = Files.below(options.files) if options.files else None
    for problem in files.problems if files else ():
        sys.stderr.write(f"{problem}\n")
    if files and not (files.policies or files.mutating):
        parser.error(f"--files: {options.files}: got no native policy below it, want one or more")
    if options.kubeconfig:
        tally = _compared(Api.from_kubeconfig(options.kubeconfig), options, files)
    else:
        with (
            tempfile.TemporaryDirectory(prefix="podberth-differential-") as folder,
            ControlPlane.start(Path(folder)) as plane,
        ):
            tally = _compared(plane.api, options, files)
    _print(tally, verbose=options.verbose)
    return 1 if tally.differing else 0


def _compared(api: Api, options: argparse.Namespace, files: Files | None) -> Tally:
    if files:
        return compare_files(api, files, seed=options.seed)
    if options.rows:
        return rows.compare(api)
    if options.expressions:
        return expressions.compare(api, pairs=options.expressions, seed=options.seed)
    put = mutating.compare if options.mutating else compare
    return put(api, policies=options.policies, seed=options.seed)


def _print(tally: Tally, *, verbose: bool) -> None:
    say = sys.stdout.write
    say(f"{tally.pairs:,} pairs of policy and object, {len(tally.differing)} differ\n")
    for outcome, count in tally.outcomes.most_common():
        say(f"  {count:6,} {outcome}\n")
    for differs, count in Counter(each.differs for each in tally.differing).most_common():
        say(f"differ in {differs}: {count}\n")
    once = {(_names(each), each.differs): each for each in tally.differing}
    for pair in sorted(once.values(), key=lambda pair: pair.differs)[:_SHOWN]:
        say(f"\n{pair.differs}: {_names(pair)}, {pair.given['kind']}\n")
        say(f"  ours   {pair.ours}\n  theirs {pair.theirs}\n")
        if verbose:
            say(f"  {json.dumps([each['spec'] for each in pair.policies])}\n  {json.dumps(pair.given)}\n")
    if tally.worded:
        say(f"\nerrors in other words: {sum(tally.worded.values())}\n")
    for (ours, theirs), count in tally.worded.most_common(_SHOWN):
        say(f"  {count:5} {ours!r} / {theirs!r}\n")


def _names(pair: Pair) -> str:
    return " and ".join(each["metadata"]["name"] for each in pair.policies)


sys.exit(main())
