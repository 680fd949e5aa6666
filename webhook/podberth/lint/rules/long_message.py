"""A line for the user that is longer than 120 characters.

The user reads `podberth <policy>: <message>` behind `Warning:` in a terminal. The rule counts the characters of the
line with the policy's name; of a message that is an expression, it counts the literals that are always in it. Say first
what is wrong, then what to do; put the reasons into the description.

Bad:

    validations:
    - expression: gpu.count < 9
      message: >-
        this pod asks for more GPUs than one of our machines has, so it will wait in the queue of the scheduler for ever
        and no message will follow
    validationActions: [Warn]

Good:

    validations:
    - {expression: gpu.count < 9, message: no node has more than 8 GPUs; ask for 8 and start more pods}
    validationActions: [Warn]
"""

from collections.abc import Iterator

from ...admission.messages import MAX_LINE
from ...errors import Problem
from ..findings import Library
from ..line_lengths import shortest_lines

MAX_COMFORTABLE = 120
"""The most characters of a line that is comfortable to read: docs/rules.md, rule 14."""


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each message or reason that is longer than MAX_COMFORTABLE and short enough to be shown."""
    for policy in library.policies:
        for path, length in shortest_lines(policy):
            if MAX_COMFORTABLE < length <= MAX_LINE:
                yield policy.problem(path, f"makes a line of {length} characters or more, want {MAX_COMFORTABLE}")
