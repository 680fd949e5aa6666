"""Reads native policies and bindings as strictly as the API server does at their creation: field by field.

A policy is put into the form that ``policy.compile`` compiles. The path of an expression stays its path in the
document, so a message names the right line.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, get_args

from pydantic import ValidationError

from ..errors import Problem
from ..kube.documents import PositionedDocument, load_documents
from ..kube.positions import Positions
from ..kube.unchecked import mapping_at, text_at
from ..policy.compile import Names
from ..policy.model import GPUPolicy, MatchConstraints, Spec
from ..policy.parse import ParsedPolicy
from ..policy.partial import without_refused
from ..policy.wording import explain
from ..wellknown import API_VERSION as GPU_API_VERSION
from ..wellknown import POLICY_KIND
from .model import (
    API_VERSION,
    MUTATING,
    MUTATING_BINDING,
    VALIDATING,
    VALIDATING_BINDING,
    AnyBinding,
    AnyPolicy,
    MutatingAdmissionPolicy,
    MutatingAdmissionPolicyBinding,
    MutatingSpec,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
)
from .refusals import of_binding, of_policy, too_large

GROUP: Final = "admissionregistration.k8s.io"
MODELS: Final[Mapping[str, type[AnyPolicy | AnyBinding]]] = {
    VALIDATING: ValidatingAdmissionPolicy,
    VALIDATING_BINDING: ValidatingAdmissionPolicyBinding,
    MUTATING: MutatingAdmissionPolicy,
    MUTATING_BINDING: MutatingAdmissionPolicyBinding,
}
"""The models of native policies and bindings, by kind."""
# The API server reads an empty text in these fields as none.
_MAY_BE_EMPTY: Final = frozenset({"message", "messageExpression"})
_AUTHORIZER: Final = frozenset({"authorizer", "authorizer.requestResource"})
_CONDITIONS: Final = frozenset({"object", "oldObject", "request", "namespaceObject"}) | _AUTHORIZER


@dataclass(frozen=True, slots=True)
class Located:
    """A document with the document's position in a file."""

    file: str
    content: Mapping[str, Any]
    positions: Positions

    @classmethod
    def of(cls, file: str, document: PositionedDocument) -> "Located":
        """Return a whole document of a file, with the document's position."""
        return cls(file, document.document, document.positions)

    @property
    def where(self) -> str:
        """The document's file and line as text for a message; without a file, the text "in a checked file"."""
        return f"in {self.file}:{self.positions.key(()).line}" if self.file else "in a checked file"


@dataclass(frozen=True, slots=True)
class Policy:
    """A native policy whose fields the API server accepts; the expressions are not checked yet."""

    model: AnyPolicy
    parsed: ParsedPolicy
    """The policy in the form that ``policy.compile`` compiles."""
    names: Names
    """The names that the policy's expressions may use."""

    @property
    def name(self) -> str:
        """The policy's name."""
        return self.model.metadata.name

    @property
    def constraints(self) -> MatchConstraints:
        """The constraints of the policy, which say what requests the policy matches."""
        return self.model.spec.match_constraints


@dataclass(frozen=True, slots=True)
class Read:
    """Native policies and bindings by name, and the problems of documents that the API server refuses."""

    policies: tuple[Policy, ...]
    bindings: tuple[AnyBinding, ...]
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]
    """Lines for the user about documents with the same kind and name."""
    refused: tuple[Policy, ...] = ()
    """The policies with problems, as far as they could be read, but for those that are too large. They are only
    compiled, for the problems of their expressions."""

    def of_kind(self, kind: str) -> tuple[list[Policy], list[AnyBinding]]:
        """Return (the policies of the kind ``kind``, the bindings of policies of the kind)."""
        policies = [each for each in self.policies if each.model.kind == kind]
        return policies, [each for each in self.bindings if each.kind == f"{kind}Binding"]


def is_native(content: Mapping[str, Any]) -> bool:
    """Return whether a document is a native policy or a binding of a native policy."""
    return text_at(content, "kind") in MODELS and text_at(content, "apiVersion").startswith(f"{GROUP}/")


def identity_of(content: Mapping[str, Any]) -> tuple[str, str]:
    """Return (kind, name) of a native policy or binding, which has no namespace."""
    return text_at(content, "kind"), text_at(content, "metadata", "name")


Kinds: TypeAlias = Container[tuple[str, str]]


def is_beside(document: Mapping[str, Any], kinds: Kinds = ()) -> bool:
    """Return whether a document is a native policy or an object that native policies may need.

    Objects that native policies may need are bindings, CustomResourceDefinitions and params; ``kinds`` are the kinds of
    params, as (API group, kind).
    """
    version, kind = text_at(document, "apiVersion"), text_at(document, "kind")
    return is_native(document) or kind == "CustomResourceDefinition" or (version.rpartition("/")[0], kind) in kinds


def kinds_of_params(documents: Iterable[Mapping[str, Any]]) -> set[tuple[str, str]]:
    """Return the set of (API group, kind) of the params of all policies among the documents."""
    found = (mapping_at(each, "spec", "paramKind") for each in documents if is_native(each))
    kinds = ((text_at(each, "apiVersion").rpartition("/")[0], text_at(each, "kind")) for each in found)
    return {(group, kind) for group, kind in kinds if kind}


def native_policies(
    others: Iterable[tuple[str, PositionedDocument]],
) -> Iterator[tuple[str, PositionedDocument]]:
    """Return the (file, document) of each native policy among those of ``others_of``; bindings are left out."""
    return ((file, each) for file, each in others if each.document["kind"] in (VALIDATING, MUTATING))


def others_of(texts: Sequence[tuple[str, str]]) -> Callable[[Mapping[str, Any]], bool]:
    """Return a function that says whether a document is a native policy, or an object that native policies need.

    ``texts`` are pairs of (file name, text). The policies in ``texts`` determine the kinds of objects that may be
    params.
    """
    kinds: set[tuple[str, str]] | None = None

    def is_other(document: Mapping[str, Any]) -> bool:
        nonlocal kinds
        if kinds is None:
            found = (load_documents(text, file)[0] for file, text in texts if "paramKind" in text)
            kinds = kinds_of_params(each.document for documents in found for each in documents)
        return is_beside(document, kinds)

    return is_other


def read(documents: Iterator[Located] | list[Located]) -> Read:
    """Return the policies and bindings in native documents; of several with an equal name, the last is used."""
    found: dict[tuple[str, str], Policy | AnyBinding] = {}
    problems: list[Problem] = []
    refused: list[Policy] = []
    notes: list[str] = []
    places: dict[tuple[str, str], Located] = {}
    for each in documents:
        made, wrong = _read(each)
        problems += wrong
        if wrong and isinstance(made, Policy) and not too_large(made.model):
            refused.append(made)
        if wrong or made is None:
            continue
        identity = identity_of(each.content)
        earlier = places.get(identity)
        if earlier is not None and earlier.content != each.content:
            both = f"{earlier.where} and {each.where}"
            notes.append(f"{' '.join(identity)} is given twice, {both}, and differs: the last counts")
        places[identity], found[identity] = each, made
    ordered = [found[each] for each in sorted(found)]
    return Read(
        policies=tuple(each for each in ordered if isinstance(each, Policy)),
        bindings=tuple(each for each in ordered if not isinstance(each, Policy)),
        problems=tuple(problems),
        notes=tuple(notes),
        refused=tuple(refused),
    )


def _read(document: Located) -> tuple[Policy | AnyBinding | None, list[Problem]]:
    """Return (a document as far as it can be read, its problems); None if too little can be read."""
    content, positions, file = document.content, document.positions, document.file
    kind = MODELS[text_at(content, "kind")]
    if content.get("apiVersion") not in get_args(kind.model_fields["api_version"].annotation):
        message = f"got {content.get('apiVersion')}, want {API_VERSION}, the version that podberth judges"
        return None, [positions.problem(file, ("apiVersion",), message)]
    decoded = as_decoded(content)
    try:
        model = kind.model_validate(decoded)
    except ValidationError as error:
        found = explain(error, kind)
        problems = [positions.problem(file, path, message, of_key=of_key) for path, of_key, message in found]
        rest = without_refused(decoded, error, kind)
        return (_policy(rest, document) if isinstance(rest, AnyPolicy) else None), problems
    if isinstance(model, AnyPolicy):
        wrong = [positions.problem(file, path, message) for path, message in of_policy(model)]
        return _policy(model, document), wrong
    return model, [positions.problem(file, path, message) for path, message in of_binding(model)]


def _policy(model: AnyPolicy, document: Located) -> Policy:
    spec = model.spec
    source = GPUPolicy.model_construct(
        api_version=GPU_API_VERSION,
        kind=POLICY_KIND,
        metadata=model.metadata,
        spec=Spec.model_construct(
            scope="All",
            match_constraints=spec.match_constraints,
            match_conditions=spec.match_conditions,
            variables=spec.variables,
            validations=() if isinstance(spec, MutatingSpec) else spec.validations,
            audit_annotations=() if isinstance(spec, MutatingSpec) else spec.audit_annotations,
            failure_policy=spec.failure_policy,
        ),
    )
    return Policy(model, ParsedPolicy(document.file, document.positions, source), names_of(document.content))


def names_of(content: Mapping[str, Any]) -> Names:
    """Return the names (CEL variables) that the expressions of a native policy may use."""
    conditions = _CONDITIONS | ({"params"} if mapping_at(content, "spec").get("paramKind") else set())
    return Names(conditions, conditions | {"variables"}, _AUTHORIZER)


def as_decoded(value: Any) -> Any:
    """Return a copy without null fields and empty objects, which the API server reads as absent."""
    if isinstance(value, Mapping):
        return {
            key: as_decoded(each)
            for key, each in value.items()
            if each is not None and not (each == "" and key in _MAY_BE_EMPTY)
        }
    return [as_decoded(each) for each in value] if isinstance(value, list) else value
