"""A claim template that no `resourceClaims` names.

No controller creates the template, and a pod that should get a claim gets none. The cause is often a misspelled
`template`, which podberth takes for the name of a template that a user creates. If an expression computes a template's
name, the rule reports nothing.

Bad:

    claimTemplates:
    - {name: pair, spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]}}}}
    mutations:
    - resourceClaims: "[{'name': 'pair', 'template': 'piar'}]"

Good:

    claimTemplates:
    - {name: pair, spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]}}}}
    mutations:
    - resourceClaims: "[{'name': 'pair', 'template': 'pair'}]"
"""

from collections.abc import Iterator
from difflib import get_close_matches

from ...cel.tree import Entries, Literal, Tree, walk
from ...errors import Problem
from ..findings import Library, Linted


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each declared claim template that no mutation ``resourceClaims`` of the policy names.

    If a mutation computes the name of a template, nothing is reported for the policy.
    """
    for policy in library.policies:
        written = list(_written(policy)) if policy.spec.claim_templates else []
        names = {str(each.value) for each in written if isinstance(each, Literal)}
        computed = any(not isinstance(each, Literal) for each in written)
        for index, template in enumerate(() if computed else policy.spec.claim_templates):
            if template.name not in names:
                near = get_close_matches(template.name, names, n=1)
                meant = f"is {near[0]} meant?" if near else "remove it"
                path = ("spec", "claimTemplates", index, "name")
                yield policy.problem(path, f"no resourceClaims names {template.name}; {meant}")


def _written(policy: Linted) -> Iterator[Tree]:
    """Yield each value of the key ``template`` in the expressions for resourceClaims.

    Variables that the expressions read are included.
    """
    for mutation in policy.mutations:
        for leaf in mutation.leaves if mutation.source.concern == "resourceClaims" else ():
            for _, tree in policy.reached(leaf.source):
                for part in walk(tree):
                    found = part.get("template") if isinstance(part, Entries) else None
                    if found is not None:
                        yield found
