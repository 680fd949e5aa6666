"""The features of a policy that ValidatingAdmissionPolicy and MutatingAdmissionPolicy do not have.

The rule reports one note for each policy. The note lists the variables and functions that only podberth has, mutations
other than `applyConfiguration` and `jsonPatch` (which Kubernetes writes as `Object{...}` and `JSONPatch{...}`), a
rollout, and the scope GPU. All other fields are portable. But Kubernetes needs a binding beside the policy, has
separate objects for mutations and validations, and applies policies in no fixed order.

Bad:

    mutations:
    - labels: {example.com/vendor: gpu.vendor}

Good:

    scope: All
    validations:
    - {expression: object.spec.containers.size() < 10, message: too many containers}
    validationActions: [Deny]
"""

from collections.abc import Iterator

from ...cel.tree import Name, walk
from ...errors import Problem
from ..findings import Library, Linted

_OURS = ("gpu", "gang", "topology", "mig")
_THEIRS = ("applyConfiguration", "jsonPatch")


def check(library: Library) -> Iterator[Problem]:
    """Yield one note for each policy with features that Kubernetes' own admission policies do not have."""
    for policy in library.policies:
        said = list(_found(policy))
        if said:
            message = f"not portable to Kubernetes' own admission policies: {'; '.join(said)}"
            yield policy.problem(("spec",), message, of_key=True)


def _found(policy: Linted) -> Iterator[str]:
    trees = [policy.tree(placed.source) for placed in policy.expressions]
    names = {part.name.partition(".")[0] for tree in trees for part in walk(tree) if isinstance(part, Name)}
    ours = [name for name in _OURS if name in names]
    if ours:
        yield f"reads {', '.join(ours)}"
    kinds = dict.fromkeys(mutation.source.concern for mutation in policy.mutations)
    own = [kind for kind in kinds if kind not in _THEIRS]
    if own:
        yield f"mutations of kind {', '.join(own)}"
    maps = [kind for kind in kinds if kind in _THEIRS]
    if maps:
        yield f"{', '.join(maps)}, upstream written with Object and JSONPatch"
    if policy.spec.rollout is not None:
        yield "a rollout"
    if policy.spec.scope == "GPU":
        yield "scope GPU"
