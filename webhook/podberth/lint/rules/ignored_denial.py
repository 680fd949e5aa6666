"""failurePolicy Ignore on a policy that denies.

If the evaluation of an expression fails for a pod, a validation under `Ignore` passes. So a user evades the validation
by making the expression fail, with a missing label or an unexpected value. A policy that denies needs `Fail`, and
expressions that allow for absent fields; a policy that need not deny should use `Warn`.

Bad:

    failurePolicy: Ignore
    validations:
    - {expression: "object.metadata.labels['team'] != ''", message: say the team}
    validationActions: [Deny]

Good:

    validations:
    - {expression: "object.metadata.?labels[?'team'].orValue('') != ''", message: say the team}
    validationActions: [Deny]
"""

from collections.abc import Iterator

from ...errors import Problem
from ..findings import Library


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each policy that denies pods, but allows a pod if the evaluation of an expression fails."""
    for policy in library.policies:
        if policy.spec.failure_policy == "Ignore" and "Deny" in policy.spec.validation_actions:
            message = "got Ignore with Deny: a pod on which an expression errs is admitted; want Fail, or Warn"
            yield policy.problem(("spec", "failurePolicy"), message)
