"""A line for the user that is longer than 256 characters, and is truncated there.

The API server truncates warnings at 256 characters, so podberth truncates a longer line itself, at the end of a word.
Advice at the end of the message is lost. The rule counts the characters of the line with the policy's name; of a
message that is an expression, it counts the literals that are always in it.

Bad:

    validations:
    - expression: gpu.count < 9
      message: >-
        this pod asks for more GPUs than one of our machines has, so it will wait in the queue of the scheduler for ever
        and no message will follow; the largest machines have eight, and if you need more than that, then start several
        pods, and let the framework of your choice connect them over the network
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


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each message or reason that is always too long to be shown in full."""
    for policy in library.policies:
        for path, length in shortest_lines(policy):
            if length > MAX_LINE:
                yield policy.problem(path, f"makes a line of {length} or more characters, truncated at {MAX_LINE}")
