"""As many exceptions as a namespace may have, none of which holds: what each pod there is compared with.

Each is from one policy, and for pods with one label that no pod has. Other mixtures of names and labels take less:
there are fewer exceptions to go through, or a policy is soon excepted from and not evaluated.
"""

from dataclasses import replace
from typing import Final

from exceptions import BEFORE, exception
from podberth.admission.snapshot import Snapshot
from podberth.policy.exceptions import MOST_COMPARED, compile_exceptions
from podberth.policy.parse import parse_policies

NUMBER: Final = MOST_COMPARED // 2
"""Of the exceptions: a name and a label are compared for each."""
_PER_FILE: Final = 1_000  # a file has half a mebibyte at most
_SELECTOR: Final = "  podSelector: {matchExpressions: [{key: example.com/absent, operator: Exists}]}\n"


def with_exceptions(snapshot: Snapshot, number: int = NUMBER) -> Snapshot:
    """Return the snapshot with so many exceptions of namespace "default", which are in force."""
    policies = [each.name for each in snapshot.policies]
    texts = [exception(f"e{at}", policies[at % len(policies)], more=_SELECTOR) for at in range(number)]
    files = ["---\n".join(texts[at : at + _PER_FILE]) for at in range(0, number, _PER_FILE)]
    parsed = parse_policies([(f"{at}.yaml", text) for at, text in enumerate(files)])
    compiled, problems = compile_exceptions(parsed.exceptions, snapshot.environment)
    if parsed.problems or problems:
        raise SystemExit("\n".join(map(str, (*parsed.problems, *problems))))
    return replace(snapshot, exceptions=compiled).at(BEFORE)
