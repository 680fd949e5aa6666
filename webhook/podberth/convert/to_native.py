"""Converts a GPUPolicy to a ValidatingAdmissionPolicy and a MutatingAdmissionPolicy, each with a binding."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias

from ..cel.compile_limits import MAX_EXPRESSION_BYTES
from ..cel.engine import CelProblem, CompileError, Environment, Room
from ..cel.types import BOOL, DYN, STRING
from ..kube.paths import FieldPath, Path
from ..native.model import API_VERSION, MUTATING, MUTATING_BINDING, VALIDATING, VALIDATING_BINDING
from ..policy.compile import CompiledPolicy
from ..policy.model import Rule
from ..policy.parse import ParsedPolicy
from ..wellknown import EXEMPT_LABEL, EXEMPT_NAMESPACES
from .expressions import CONDITION_NAMES, FACT_VARIABLES, Native, as_condition, check_facts, conjuncts, with_variables
from .gpu_facts import NO_DIALECT
from .mutations import Mutations, NotSaidError, first_clash
from .result import Converted, Document, present

DESCRIPTION: Final = "kubernetes.io/description"
"""The annotation key of an object's description, which any object may have (kubernetes.io, labels-annotations-taints).
"""
EXEMPT: Final = (
    {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": list(EXEMPT_NAMESPACES)},
    {"key": EXEMPT_LABEL, "operator": "DoesNotExist"},
)
"""The requirements of a namespaceSelector that leave out the namespaces that the webhook configurations exempt."""
NO_MIRROR_POD: Final = {
    "name": "no-mirror-pod",
    "expression": "!('kubernetes.io/config.mirror' in object.metadata.?annotations.orValue({}))",
}
"""The match condition that leaves out mirror pods (of files on a node), as the webhook configurations do."""
OF_UPDATES: Final = (
    {"name": "spec-changed", "expression": "request.operation != 'UPDATE' || object.spec != oldObject.spec"},
    {"name": "not-being-deleted", "expression": "!has(object.metadata.deletionTimestamp)"},
)
"""The match conditions that leave out the updates that the webhook configurations leave out: those that keep the spec,
as that of a finalizer, and those of pods that are being deleted.
"""
OF_GPU_SCOPE: Final = {"name": "no-sharing-dialect", "expression": NO_DIALECT}
"""The match condition for a policy of ``scope: GPU``: the pod uses no sharing dialect."""
NOT_WRITTEN: Final = "; so the policy is not written"
"""The end of a problem because of which a whole policy is left out."""
_Asked: TypeAlias = tuple[Sequence[str], Sequence[str]]
_JUDGES: Final[_Asked] = (("CREATE", "UPDATE"), ("pods", "pods/ephemeralcontainers"))
"""The operations and resources of the requests that podberth judges."""
_WRITES: Final[_Asked] = (("CREATE",), ("pods",))
"""The operations and resources of the requests on which podberth writes."""
# Conditions that hold only for a pod that asks for accelerators by a resource.
_ASKS: Final = re.compile(
    r"gpu\.(?:count|perContainer) (?:> \d+|>= [1-9]\d*|!= 0|== [1-9]\d*)"
    r"|gpu\.vendor == '[a-z]+'|gpu\.vendor != ''|gpu\.kind == '(?:whole|mig|shared|mixed)'"
    r"|gpu\.(?:vendor|kind) in \['[a-z]+'(?:, '[a-z]+')*\]"
)


def to_native(parsed: ParsedPolicy, of_gpu: Environment, of_native: Environment) -> Converted:
    """Return a GPUPolicy as native policies with bindings: one that writes, and one that judges, where it does so.

    ``of_gpu`` and ``of_native`` are the CEL environments of both kinds. The policy must have compiled as a GPUPolicy.
    """
    return _Conversion(parsed, of_gpu, of_native).run()


class _NotSaidError(Exception):
    """The GPUPolicy cannot be converted at all; the reason is the last problem in ``Converted.left_out``."""


class _Conversion:
    """The conversion of one GPUPolicy to a native policy."""

    def __init__(self, parsed: ParsedPolicy, of_gpu: Environment, of_native: Environment) -> None:
        self._parsed, self._spec = parsed, parsed.policy.spec
        self._compiled = CompiledPolicy(parsed, of_gpu, Room.of_policy(None))
        self._native = Native(of_native)
        self._converted = Converted()
        self._unsaid: dict[str, str] = {}
        """The reason why a variable of the policy cannot be converted, by the variable's name."""
        self._variables: dict[str, str] = {}
        """The native expression of each variable of the policy that can be converted."""
        self._used: set[str] = set()

    def run(self) -> Converted:
        """Return the native policies with bindings, and a problem for each part that is left out."""
        try:
            self._whole()
            conditions = list(self._conditions())
            self._read_variables()
            if self._spec.mutations:
                self._mutating(conditions)
            if self._spec.validations or self._spec.audit_annotations:
                self._validating(conditions)
        except _NotSaidError:
            pass
        self._converted.left_out.sort()
        return self._converted

    def _whole(self) -> None:
        """Refuse a policy with a field that native policies have no equivalent of, such as ``disabled`` or ``rollout``.

        Raises:
            _NotSaidError: the policy has such a field.
        """
        if self._spec.disabled:
            self._refuse(
                ("disabled",), "a native policy that is off is one without a binding; delete the binding instead"
            )
        if self._spec.rollout is not None:
            self._refuse(("rollout",), "a native policy applies to all workloads")
        for index, each in enumerate(self._spec.variables):
            if each.name in FACT_VARIABLES:
                self._refuse(("variables", index, "name"), f"{each.name} is the name of a converted fact; rename it")

    def _mutating(self, conditions: list[Document]) -> None:
        mutations = list(self._mutations())
        if not mutations:
            return
        if self._spec.failure_policy == "Ignore" and len(mutations) > 1:
            why = "Ignore: an error leaves out all mutations of the policy; natively it leaves out its own"
            self._leave_out(("failurePolicy",), why)
        spec = {
            "failurePolicy": self._spec.failure_policy,
            "reinvocationPolicy": "IfNeeded",
            "paramKind": _dumped(self._spec.param_kind),
            "matchConstraints": self._constraints(_WRITES),
            "matchConditions": _numbered(conditions),
            "variables": list(self._needed()),
            "mutations": mutations,
        }
        self._add(MUTATING, spec, MUTATING_BINDING, {})

    def _validating(self, conditions: list[Document]) -> None:
        self._used.clear()
        validations = list(self._validations())
        annotations = list(self._audit_annotations())
        if not validations and not annotations:
            return
        if self._spec.failure_policy == "Ignore":
            self._leave_out(("failurePolicy",), "Ignore: the warning about an error; natively it is silent")
        constraints = self._constraints(_JUDGES)
        if any("UPDATE" in rule["operations"] for rule in constraints["resourceRules"]):
            conditions = [*OF_UPDATES, *conditions]
        spec = {
            "failurePolicy": self._spec.failure_policy,
            "paramKind": _dumped(self._spec.param_kind),
            "matchConstraints": constraints,
            "matchConditions": _numbered(conditions),
            "variables": list(self._needed()),
            "validations": validations,
            "auditAnnotations": annotations,
        }
        # Without validations it is about errors of conditions alone, which a GPUPolicy lets pass, too.
        actions = list(self._spec.validation_actions) or ["Audit"]
        self._add(VALIDATING, spec, VALIDATING_BINDING, {"validationActions": actions})

    def _add(self, kind: str, spec: Document, binding_kind: str, bound: Document) -> None:
        """Add a native policy, and its binding with the fields ``bound`` besides the names of policy and params."""
        metadata = self._parsed.policy.metadata
        described = {DESCRIPTION: self._spec.description} if self._spec.description else {}
        labels, annotated = dict(metadata.labels), {**metadata.annotations, **described}
        named = {"name": metadata.name, **present({"labels": labels, "annotations": annotated})}
        binding = {"policyName": metadata.name, **bound, "paramRef": _dumped(self._spec.param_ref)}
        self._converted.documents += [
            {"apiVersion": API_VERSION, "kind": kind, "metadata": named, "spec": present(spec)},
            {
                "apiVersion": API_VERSION,
                "kind": binding_kind,
                "metadata": {"name": metadata.name},
                "spec": present(binding),
            },
        ]

    # ---- requests -----------------------------------------------------------------------------------------------

    def _constraints(self, asked: "_Asked") -> Document:
        constraints = self._spec.match_constraints
        rules = [found for each in constraints.resource_rules if (found := _rule(each, asked)) is not None]
        selector = _dumped(constraints.namespace_selector) or {}
        selector["matchExpressions"] = [*selector.get("matchExpressions", ()), *EXEMPT]
        return present(
            {
                "resourceRules": rules,
                "excludeResourceRules": [_dumped(each) for each in constraints.exclude_resource_rules],
                "namespaceSelector": selector,
                "objectSelector": _dumped(constraints.object_selector),
                "matchPolicy": "Exact" if constraints.match_policy == "Exact" else None,
            }
        )

    def _conditions(self) -> Iterator[Document]:
        """Yield the matchConditions of the native policy.

        Raises:
            _NotSaidError: a condition cannot be converted, and the policy would apply to more pods without the
                condition.
        """
        if not any(_rule(each, _JUDGES) for each in self._spec.match_constraints.resource_rules):
            self._refuse(("matchConstraints", "resourceRules"), "no rule is about pods that podberth is asked about")
        yield dict(NO_MIRROR_POD)
        if self._spec.scope == "GPU":
            yield dict(OF_GPU_SCOPE)
            said = (
                " ".join(part.split()) for each in self._spec.match_conditions for part in conjuncts(each.expression)
            )
            if not any(map(_ASKS.fullmatch, said)):
                why = "GPU: a native policy knows neither claims for accelerators nor gangs; say scope: All, or begin "
                self._refuse(("scope",), f"{why}a condition with gpu.count > 0 &&")
        for index, each in enumerate(self._spec.match_conditions):
            path: Path = ("matchConditions", index, "expression")
            try:
                check_facts(each.expression)
                found = [
                    self._native.of_type(as_condition(part), BOOL, CONDITION_NAMES) for part in _parts(each.expression)
                ]
            except CompileError as error:
                message = f"{error.problems[0].message}{NOT_WRITTEN}"
                self._leave_out(path, message, error.problems[0])
                raise _NotSaidError from error
            yield from ({"name": each.name, "expression": condition.source} for condition in found)

    # ---- expressions --------------------------------------------------------------------------------------------

    def _read_variables(self) -> None:
        for name, source in FACT_VARIABLES.items():
            self._native.variables[name] = self._native.compiled(source)
        for each in self._spec.variables:
            try:
                text = self._text(each.expression)
                self._native.variables[each.name] = self._native.compiled(text)
            except CompileError as error:
                self._unsaid[each.name] = error.problems[0].message
            else:
                self._variables[each.name] = text

    def _text(self, source: str, *, writes: bool = False) -> str:
        """Return an expression of the policy, which may use variables, as an expression of the native policy.

        ``writes`` says that the expression belongs to a mutation.

        Raises:
            CompileError: the expression cannot be converted.
        """
        for name, why in self._unsaid.items():
            if found := re.search(rf"\bvariables\s*\.\s*{name}\b", source):
                head = source[: found.start()]
                line, column = head.count("\n") + 1, found.start() - head.rfind("\n")
                raise CompileError((CelProblem(line, column, f"variables.{name}: {why}"),))
        check_facts(source, writes=writes)
        return with_variables(source)

    def _of_type(self, source: str, wanted: Any) -> str:
        found = self._native.of_type(self._text(source), wanted)
        self._used |= {path[1] for path in found.reads if path[0] == "variables" and len(path) > 1}
        return found.source

    def _validations(self) -> Iterator[Document]:
        for index, each in enumerate(self._spec.validations):
            path: Path = ("validations", index)
            try:
                expression = self._of_type(each.expression, BOOL)
            except CompileError as error:
                self._leave_out((*path, "expression"), error.problems[0].message, error.problems[0])
                continue
            computed = None
            try:
                computed = self._of_type(each.message_expression, STRING) if each.message_expression else None
            except CompileError as error:
                self._leave_out((*path, "messageExpression"), error.problems[0].message, error.problems[0])
            reason = each.reason if each.reason != "Unauthorized" else "Invalid"
            if reason != each.reason:
                self._leave_out(
                    (*path, "reason"), "Unauthorized: native policies have no such reason; written as Invalid"
                )
            message = each.message
            if message is None and ("\n" in expression.strip() or expression != each.expression):
                message = default_message(each.expression)
            made = {"expression": expression, "message": message, "messageExpression": computed}
            yield present({**made, "reason": reason if reason != "Invalid" else None})

    def _mutations(self) -> Iterator[Document]:
        """Yield the native mutations; a mutation that reads what an earlier one writes is left out."""
        if not any(_rule(each, _WRITES) for each in self._spec.match_constraints.resource_rules):
            self._leave_out(("mutations",), "podberth writes on created pods alone, and no rule is about these")
            return
        mutations = Mutations(self._native, lambda source: self._text(source, writes=True))
        earlier: dict[int, frozenset[FieldPath]] = {}
        for index, each in enumerate(self._spec.mutations):
            path: Path = ("mutations", index)
            try:
                found = mutations.said(each)
            except NotSaidError as error:
                self._leave_out((*path, *error.path), error.why, error.at)
                continue
            clash = first_clash(self._compiled.mutations[index], earlier)
            if clash is not None:
                self._leave_out(path, f"it reads what mutations[{clash}] writes, and would natively see the new value")
                continue
            if each.reason is not None:
                self._leave_out((*path, "reason"), "a MutatingAdmissionPolicy says nothing to the user")
            earlier[index] = found.writes
            self._used |= found.variables
            yield found.document

    def _audit_annotations(self) -> Iterator[Document]:
        for index, each in enumerate(self._spec.audit_annotations):
            source = each.value_expression
            if self._compiled.audit_annotations[index][1].type == DYN:
                # Null leaves out the annotation, as a blank text does; string(null) would be an error, and a denial.
                source = f"dyn({source}) == null ? '' : string({source})"
            try:
                yield {"key": each.key, "valueExpression": self._of_type(source, STRING)}
            except CompileError as error:
                path: Path = ("auditAnnotations", index, "valueExpression")
                self._leave_out(path, error.problems[0].message, error.problems[0])

    def _needed(self) -> Iterator[Document]:
        """Yield the variables that the native policy needs; a variable comes before the variables that use it."""
        every = {**FACT_VARIABLES, **self._variables}
        yield from ({"name": name, "expression": source} for name, source in every.items() if name in self._used)

    # ---- what is left out ---------------------------------------------------------------------------------------

    def _leave_out(self, path: Path, why: str, at: CelProblem | None = None) -> None:
        line, column = (at.line, at.column) if at is not None else (1, 1)
        self._converted.left_out.append(self._parsed.problem(("spec", *path), f"left out: {why}", line, column))

    def _refuse(self, path: Path, why: str) -> None:
        self._leave_out(path, f"{why}{NOT_WRITTEN}")
        raise _NotSaidError


def _numbered(conditions: Iterable[Document]) -> list[Document]:
    """Return match conditions under distinct names: the second one of a name ends in ``-2``."""
    found: dict[str, Document] = {}
    for each in conditions:
        name, number = each["name"], 2
        while name in found:
            name, number = f"{each['name']}-{number}", number + 1
        found[name] = {**each, "name": name}
    return list(found.values())


def _parts(condition: str) -> list[str]:
    """Return a list of matchConditions that are all true if and only if ``condition`` is true.

    There is one matchCondition, unless native expressions make it too long: then there is one for each operand of "&&".
    """
    is_long = len(as_condition(condition).encode()) > MAX_EXPRESSION_BYTES
    return list(conjuncts(condition)) if is_long else [condition]


def default_message(expression: str) -> str:
    """Return the message for a GPUPolicy's validation that states no message, in one line."""
    return f"failed expression: {' '.join(expression.split())}"


def _rule(rule: Rule, asked: _Asked) -> Document | None:
    """Return the part of a rule for the requests ``asked``; None if the rule matches no such request."""
    operations = [each for each in asked[0] if {"*", each} & set(rule.operations)]
    resources = [each for each in asked[1] if _names(rule, each)]
    if not (operations and resources and {"*", ""} & set(rule.api_groups) and {"*", "v1"} & set(rule.api_versions)):
        return None
    if rule.scope == "Cluster":
        return None
    found = {"apiGroups": [""], "apiVersions": ["v1"], "operations": operations, "resources": resources}
    return present({**found, "resourceNames": list(rule.resource_names)})


def _names(rule: Rule, resource: str) -> bool:
    name, _, sub = resource.partition("/")
    wanted = {name, "*"} if not sub else {resource, f"*/{sub}"}
    return bool((wanted | {f"{name}/*", "*/*"}) & set(rule.resources))


def _dumped(model: Any) -> Any:
    """Return a part of the policy's model as JSON; fields with default values are left out."""
    return None if model is None else model.model_dump(mode="json", by_alias=True, exclude_defaults=True)
