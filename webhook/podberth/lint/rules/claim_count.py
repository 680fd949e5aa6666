"""A claim template with a number of devices that no matched pod asks for.

podberth does not write a claim `instead` of an extended resource if the pod would lose or gain devices by it. The rule
finds templates whose number of devices cannot be known. It also finds templates with a number of devices that is
requested by no pod that passes the matchConditions and `when`, such as a claim for one GPU under `gpu.count == 2`.

Bad:

    matchConditions:
    - {name: two, expression: gpu.count == 2}
    claimTemplates:
    - {name: pair, spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]}}}}
    mutations:
    - resourceClaims: "[{'name': 'pair', 'template': 'pair', 'instead': 'nvidia.com/gpu'}]"

Good:

    matchConditions:
    - {name: one, expression: gpu.count == 1}
    claimTemplates:
    - {name: pair, spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]}}}}
    mutations:
    - resourceClaims: "[{'name': 'pair', 'template': 'pair', 'instead': 'nvidia.com/gpu'}]"
"""

from collections.abc import Iterator
from typing import Final

from ...cel.tree import Entries, Items, Literal, Tree
from ...devices.claims import KnownDevices, read_claim
from ...devices.resources import COUNTED_KINDS, recognise
from ...errors import Problem
from ..findings import Library, LintedMutation
from ..formula import Compares

_COUNT: Final = ("gpu", "count")


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each claim that replaces a resource with a number of devices that no matched pod asks for.

    A claim with an unknown number of devices is a problem, too.
    """
    declared = {
        policy.name: KnownDevices(
            declared={each.name: read_claim(each.document) for each in policy.spec.claim_templates}
        )
        for policy in library.policies
    }
    for mutation, place, part in library.parts("resourceClaims"):
        said = _wrong(mutation, declared[mutation.policy.name], part)
        if said:
            yield mutation.policy.within(place, part, said)


def _wrong(mutation: LintedMutation, devices: KnownDevices, part: Tree) -> str:
    """Return a message if the claim of ``part``, a map literal of resourceClaims, has a wrong number of devices.

    A number is wrong if no pod that ``mutation`` applies to requests it, or if it is unknown. ``devices`` has the
    policy's claim templates. The result is empty if the number is right, or if the item is computed.
    """
    if not isinstance(part, Entries):
        return ""
    template, resource = _text(part.get("template")), _text(part.get("instead"))
    accelerator = recognise(resource)
    if template not in devices.declared or accelerator is None or accelerator.kind not in COUNTED_KINDS:
        return ""
    requests, containers = part.get("requests"), part.get("containers")
    named = _constants(requests)
    if requests is not None and not named:
        return ""
    got = devices.in_stead("", {"resourceClaimTemplateName": template}, resource, named)
    if got is None:
        return f"how many devices {template} has cannot be known, so nothing is written; want exactly, with a count"
    # Without names of containers, the claim is written only if a single container asks for the resource.
    asks = Compares(_COUNT, "==" if containers is None else ">=", got)
    if got and mutation.policy.conditions.can_hold(mutation.applies, asks):
        return ""
    return f"got {got} for {resource} in {template}, which no pod asks for that the conditions let pass"


def _text(part: Tree | None) -> str:
    return part.value if isinstance(part, Literal) and isinstance(part.value, str) else ""


def _constants(part: Tree | None) -> tuple[str, ...]:
    items = part.items if isinstance(part, Items) else ()
    found = tuple(each.value for each in items if isinstance(each, Literal) and isinstance(each.value, str))
    return found if len(found) == len(items) else ()
