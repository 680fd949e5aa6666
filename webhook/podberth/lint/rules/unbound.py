"""A native policy or binding that has no effect, because its counterpart is not beside it.

The API server takes a ValidatingAdmissionPolicy or MutatingAdmissionPolicy without a binding, and a binding without its
policy, and evaluates neither. Without a `paramRef` the params of a policy with a `paramKind` are null; without a
`paramKind` a `paramRef` is ignored. Of two documents with the same kind and name, the one that is applied last counts.
If the counterpart is in another folder, lint both together.

Bad:

    apiVersion: admissionregistration.k8s.io/v1
    kind: ValidatingAdmissionPolicyBinding
    metadata: {name: owned}
    spec: {policyName: own, validationActions: [Deny]}

Good:

    apiVersion: admissionregistration.k8s.io/v1
    kind: ValidatingAdmissionPolicy
    metadata: {name: owned}
    spec:
      matchConstraints:
        resourceRules:
        - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}
      validations: [{expression: "has(object.metadata.labels) && 'owner' in object.metadata.labels"}]
    ---
    apiVersion: admissionregistration.k8s.io/v1
    kind: ValidatingAdmissionPolicyBinding
    metadata: {name: owned}
    spec: {policyName: owned, validationActions: [Deny]}
"""

from collections.abc import Iterator, Mapping
from typing import Final

from ...errors import Problem
from ...kube.paths import Path
from ...kube.unchecked import mapping_at, text_at
from ...native.documents import Located, identity_of
from ...words import did_you_mean
from ..findings import Library

_NAME: Final[Path] = ("metadata", "name")
_BINDING: Final = "Binding"


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each native policy or binding whose counterpart is missing, unlike it, or there twice."""
    known: dict[tuple[str, str], Located] = {}
    for each in library.native_documents:
        identity = identity_of(each.content)
        if identity in known:
            message = f"another {' '.join(identity)} is {known[identity].where}; the one that is applied last counts"
            yield _problem(each, _NAME, message)
        known.setdefault(identity, each)
    bound = {(kind, text_at(each.content, "spec", "policyName")) for (kind, _), each in known.items()}
    for (kind, name), each in known.items():
        if kind.endswith(_BINDING):
            yield from _of_binding(each, kind.removesuffix(_BINDING), known)
        elif (f"{kind}{_BINDING}", name) not in bound:
            yield _problem(each, _NAME, f"no {kind}{_BINDING} names it, so it is never evaluated; add one")


def _of_binding(binding: Located, kind: str, known: Mapping[tuple[str, str], Located]) -> Iterator[Problem]:
    name = text_at(binding.content, "spec", "policyName")
    policy = known.get((kind, name))
    if policy is None:
        meant = did_you_mean(name, [each for of, each in known if of == kind])
        path: Path = ("spec", "policyName")
        yield _problem(binding, path, f"no {kind} {name} is beside it, so it has no effect{meant or '; add it'}")
        return
    has_kind, has_reference = (
        bool(mapping_at(document.content, "spec", field))
        for document, field in ((policy, "paramKind"), (binding, "paramRef"))
    )
    if has_kind and not has_reference:
        yield _problem(binding, ("spec",), f"{kind} {name} has a paramKind, and params is null; add paramRef")
    if has_reference and not has_kind:
        message = f"{kind} {name} has no paramKind, so this is ignored; remove it, or add paramKind"
        yield _problem(binding, ("spec", "paramRef"), message)


def _problem(document: Located, path: Path, message: str) -> Problem:
    return document.positions.problem(document.file, path, message)
