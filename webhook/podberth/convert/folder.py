"""Converts all documents of some files: GPUPolicies to native policies, and native policies to GPUPolicies."""

from dataclasses import replace
from typing import Final

from ..cel.engine import Environment, Room, never
from ..errors import PolicyError
from ..native.documents import Located, as_decoded, read
from ..policy.compile import CompiledPolicy
from ..policy.parse import ParsedPolicies
from ..policy.refused import problems_of_refused
from .from_native import from_native
from .result import Converted
from .to_native import to_native

_NO_EXCEPTIONS: Final = (
    "native policies have no exceptions; write it into the match conditions of the policies, else they judge these pods"
)
_NO_NAMESPACE: Final = "a native policy is of the cluster; write a GPUPolicy with a namespaceSelector"


def convert(parsed: ParsedPolicies, of_gpu: Environment, of_native: Environment) -> Converted:
    """Return GPUPolicies as native policies, native policies as GPUPolicies, and params unchanged.

    Args:
        parsed: the files; ``parsed.others`` has the native policies and bindings.
        of_gpu: the CEL environment of GPUPolicies.
        of_native: the CEL environment of native policies.

    Raises:
        PolicyError: a document cannot be read, or is a GPUPolicy that does not compile.
    """
    located = [Located.of(file, each) for file, each in parsed.others]
    problems = [*parsed.problems, *read(located).problems]
    for each in parsed.policies:
        problems += CompiledPolicy(each, of_gpu, Room.of_policy(None)).check(never, priced=False)
    problems += problems_of_refused(parsed, of_gpu, late=never)
    if problems:
        raise PolicyError(tuple(sorted(problems)))
    accepted = [replace(each, content=as_decoded(each.content)) for each in located]
    made = [*(to_native(each, of_gpu, of_native) for each in parsed.policies), from_native(accepted, of_gpu)]
    found = Converted([document for each in made for document in each.documents])
    found.documents += [dict(each) for _, each in sorted(parsed.params.items())]
    found.left_out += [problem for each in made for problem in each.left_out]
    found.left_out += [each.problem(("spec", "policies"), f"left out: {_NO_EXCEPTIONS}") for each in parsed.exceptions]
    found.left_out += [each.problem(("kind",), f"left out: {_NO_NAMESPACE}") for each in parsed.namespaced]
    found.left_out.sort()
    return found
