"""Converts a native policy to GPUPolicies, one for each binding."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Final

from pydantic import ValidationError

from ..cel.engine import Environment, Room, never
from ..errors import Problem
from ..kube.paths import FieldPath, Path
from ..kube.unchecked import mapping_at
from ..native.documents import Located
from ..native.model import MUTATING, MUTATING_BINDING, VALIDATING, VALIDATING_BINDING
from ..policy.compile import CompiledPolicy
from ..policy.model import GPUPolicy
from ..policy.parse import ParsedPolicy
from ..policy.refusals import refusals
from ..policy.wording import explain
from ..wellknown import API_VERSION, POLICY_KIND
from .expressions import FACT_VARIABLES, from_condition, without_variables
from .mutations import PATCH_TYPES, WRITTEN, first_clash, tolerations_in
from .patches import as_maps, written_by_object, written_by_patches
from .result import Converted, Document, present
from .to_native import DESCRIPTION, EXEMPT, NO_MIRROR_POD, NOT_WRITTEN, OF_GPU_SCOPE, OF_UPDATES, default_message

_ASKED: Final[Mapping[str, frozenset[str]]] = {
    "apiGroups": frozenset({""}),
    "apiVersions": frozenset({"v1"}),
    "operations": frozenset({"CREATE", "UPDATE"}),
    "resources": frozenset({"pods", "pods/ephemeralcontainers"}),
}
"""The only requests that podberth receives, as the values that each list of a native policy's rule may have."""
_WRITTEN: Final[Mapping[str, frozenset[str]]] = {
    **_ASKED,
    "operations": frozenset({"CREATE"}),
    "resources": frozenset({"pods"}),
}
"""The only requests on which podberth writes, in the same form."""
_PODS_ALONE: Final = "podberth is asked about creations and updates of pods alone"
_SPEC_ALONE: Final = (
    "podberth is asked about updates that change the spec alone, and about no pod that is being deleted"
)
_CREATED_ALONE: Final = "podberth writes on created pods alone"
_BELOW_A_LIST: Final = 2
_EXPRESSIONS: Final = frozenset({"expression", "messageExpression", "valueExpression"})


def from_native(documents: Sequence[Located], environment: Environment) -> Converted:
    """Return the GPUPolicies that native policies convert to, and a problem for each part that is left out.

    Args:
        documents: policies and bindings that the API server accepts.
        environment: the CEL environment of GPUPolicies.
    """
    converted = Converted()
    for kind, binding_kind in ((VALIDATING, VALIDATING_BINDING), (MUTATING, MUTATING_BINDING)):
        _add(documents, kind, binding_kind, environment, converted)
    converted.left_out.sort()
    return converted


def _add(
    documents: Sequence[Located], kind: str, binding_kind: str, environment: Environment, converted: Converted
) -> None:
    """Add the GPUPolicies of one kind of native policies to the converted documents."""
    bindings = [each for each in documents if each.content["kind"] == binding_kind]
    names: set[str] = set()
    for policy in (each for each in documents if each.content["kind"] == kind):
        name = policy.content["metadata"]["name"]
        names.add(name)
        own = [each for each in bindings if each.content["spec"]["policyName"] == name]
        if not own:
            _leave_out(converted, policy, (), "no binding of it is given, so it judges nothing; so it is not written")
        for binding in own:
            named = name if len(own) == 1 else f"{name}.{binding.content['metadata']['name']}"
            _Pair(policy, binding, environment, converted).add(named)
    for binding in bindings:
        if binding.content["spec"]["policyName"] not in names:
            _leave_out(converted, binding, ("spec", "policyName"), "no such policy is given")


class _Pair:
    """Converts a native policy, together with one binding, to one GPUPolicy."""

    def __init__(self, policy: Located, binding: Located, environment: Environment, converted: Converted) -> None:
        self._policy, self._binding = policy, binding
        self._spec: Document = policy.content["spec"]
        self._bound: Document = binding.content["spec"]
        self._environment, self._converted = environment, converted
        writes = policy.content["kind"] == MUTATING
        self._asked, self._alone = (_WRITTEN, _CREATED_ALONE) if writes else (_ASKED, _PODS_ALONE)

    def add(self, name: str) -> None:
        """Add the GPUPolicy ``name`` to the converted documents; if it cannot be made, report the reasons."""
        rules, narrowed = self._rules()
        if refused := [*self._refused(), *([] if rules else [(_RULES, self._alone + NOT_WRITTEN)])]:
            for path, why in refused:
                _leave_out(self._converted, self._policy, path, why)
            return
        if any(each in self._bound.get("matchResources", {}) for each in ("resourceRules", "excludeResourceRules")):
            why = "a GPUPolicy has one list of rules; so the policy is not written"
            _leave_out(self._converted, self._binding, ("spec", "matchResources"), why)
            return
        document = self._document(name, rules)
        problems = self._problems(document)
        self._converted.left_out += problems
        if problems:
            return
        self._place(document)
        for path, why in narrowed:
            _leave_out(self._converted, self._policy, path, why)

    def _place(self, document: Document) -> None:
        """Add a GPUPolicy to the converted documents.

        If there is one of the same name, from a native policy of the other kind, both become one. If they differ in
        more than what they write and judge, the name of ``document`` gets an end.
        """
        name = document["metadata"]["name"]
        for index, other in enumerate(self._converted.documents):
            if other["metadata"]["name"] == name:
                if (merged := _merged(other, document)) is not None and not self._problems(merged):
                    self._converted.documents[index] = merged
                    return
                document["metadata"]["name"] = f"{name}.mutations"
        self._converted.documents.append(document)

    def _refused(self) -> Iterator[tuple[Path, str]]:
        kind = self._spec.get("paramKind")
        if kind and (kind.get("apiVersion"), kind.get("kind")) != ("v1", "ConfigMap"):
            yield ("spec", "paramKind"), "the params of a GPUPolicy are ConfigMaps; so the policy is not written"
        elif kind and not self._bound.get("paramRef"):
            yield ("spec", "paramKind"), "its binding names no params; so the policy is not written"

    def _rules(self) -> tuple[list[Document], list[tuple[Path, str]]]:
        """Return (rules, problems): the rules that match requests for podberth, and pairs of (path, message).

        ``problems`` has a pair for each rule that also, or only, matches other requests.
        """
        found, narrowed = [], list[tuple[Path, str]]()
        conditions = self._spec.get("matchConditions") or ()
        leaves_out = all(each in conditions for each in OF_UPDATES)
        for index, rule in enumerate(self._spec["matchConstraints"]["resourceRules"]):
            about = any(each.partition("/")[0] in ("pods", "*") for each in rule["resources"])
            asked = self._asked
            within = all("*" in rule[key] or asked[key] & set(rule[key]) for key in asked if key != "resources")
            if about and within:
                found.append(rule)
            if not all(set(rule[key]) <= asked[key] for key in asked):
                narrowed.append(((*_RULES, index), self._alone))
            elif "UPDATE" in rule["operations"] and not leaves_out:
                narrowed.append(((*_RULES, index), _SPEC_ALONE))
        return found, narrowed

    def _document(self, name: str, rules: list[Document]) -> Document:
        metadata = self._policy.content["metadata"]
        annotations = dict(metadata.get("annotations") or {})
        description = annotations.pop(DESCRIPTION, None)
        conditions = list(self._spec.get("matchConditions") or ())
        scope = "GPU" if OF_GPU_SCOPE in conditions else "All"
        params = self._spec.get("paramKind")
        spec = {
            "description": description,
            "scope": scope if scope == "All" else None,
            "matchConstraints": self._constraints(rules),
            "matchConditions": [
                {**each, "expression": from_condition(each["expression"])} for each in _stated(conditions)
            ],
            "paramKind": params,
            "paramRef": self._bound.get("paramRef") if params else None,
            "variables": list(_texts(_own(self._spec.get("variables") or ()))),
            "mutations": list(map(_mutation, self._spec.get("mutations") or ())),
            "validations": list(_texts(self._spec.get("validations") or ())),
            "validationActions": self._bound["validationActions"] if self._spec.get("validations") else None,
            "auditAnnotations": list(_texts(self._spec.get("auditAnnotations") or ())),
            "failurePolicy": "Ignore" if self._spec.get("failurePolicy") == "Ignore" else None,
        }
        named = {"name": name, "labels": metadata.get("labels"), "annotations": annotations}
        document = {"apiVersion": API_VERSION, "kind": POLICY_KIND}
        return deepcopy({**document, "metadata": present(named), "spec": present(spec)})

    def _constraints(self, rules: list[Document]) -> Document:
        own, bound = self._spec["matchConstraints"], self._bound.get("matchResources") or {}
        every = [rule for rule in rules if not _is_default(rule)]
        made = {
            "resourceRules": rules if every or len(rules) > 1 else None,
            "excludeResourceRules": own.get("excludeResourceRules"),
            **{key: _both(own.get(key), bound.get(key)) for key in ("namespaceSelector", "objectSelector")},
            "matchPolicy": "Exact" if own.get("matchPolicy") == "Exact" else None,
        }
        return present(made)

    def _problems(self, document: Document) -> list[Problem]:
        """Return the problems of the converted GPUPolicy, each with a position in the native policy."""
        try:
            model = GPUPolicy.model_validate(document)
        except ValidationError as error:
            return [self._problem(path, why, of_key=key) for path, key, why in explain(error, GPUPolicy)]
        if found := refusals(model):
            return [self._problem(path, why) for path, why in found]
        placed = _Placed(self._policy.file, self._policy.positions, model, self._original)
        compiled = CompiledPolicy(placed, self._environment, Room.of_policy(None))
        problems = compiled.check(never) or tuple(self._clashes(compiled))
        return [replace(each, message=f"left out: {each.message}{NOT_WRITTEN}") for each in problems]

    def _clashes(self, compiled: CompiledPolicy) -> Iterator[Problem]:
        """Yield a problem for each mutation that may read what an earlier one writes."""
        earlier: dict[int, frozenset[FieldPath]] = {}
        for index, each in enumerate(compiled.source.spec.mutations):
            clash = first_clash(compiled.mutations[index], earlier)
            if clash is not None:
                why = f"it may read what mutations[{clash}] writes; in a GPUPolicy it sees the pod without that"
                place = self._original(("spec", "mutations", index))
                yield self._policy.positions.problem(self._policy.file, place, why)
            if each.json_patch is not None:
                earlier[index] = written_by_patches(each.json_patch)
            elif each.apply_configuration is not None:
                earlier[index] = written_by_object(each.apply_configuration, self._environment.schema)
            else:
                earlier[index] = WRITTEN[each.concern]

    def _problem(self, path: Path, why: str, *, of_key: bool = False) -> Problem:
        message = f"left out: {why}{NOT_WRITTEN}"
        return self._policy.positions.problem(self._policy.file, self._original(path), message, of_key=of_key)

    def _original(self, path: Path) -> Path:
        """Return the path in the native policy for a path in the GPUPolicy.

        Only list indexes may differ: the GPUPolicy leaves out variables and conditions that the conversion of a
        GPUPolicy to a native policy adds, such as the variables for fields of ``gpu``.
        """
        lists = {
            "variables": (_own, self._spec.get("variables") or ()),
            "matchConditions": (_stated, self._spec.get("matchConditions") or ()),
        }
        if len(path) <= _BELOW_A_LIST or path[1] not in lists or not isinstance(path[2], int):
            return path
        among, entries = lists[path[1]]
        kept = list(among(entries))
        return (*path[:2], list(entries).index(kept[path[2]]), *path[3:])


@dataclass(frozen=True, slots=True)
class _Placed(ParsedPolicy):
    """A GPUPolicy that was converted from a native policy; problems have positions in the native policy."""

    original: Callable[[Path], Path]

    def problem(self, path: Path, message: str, line: int = 1, column: int = 1) -> Problem:
        """Return a problem in an expression of the GPUPolicy, at the expression's position in the native policy."""
        return ParsedPolicy.problem(self, self.original(path), message, line, column)


_RULES: Final[Path] = ("spec", "matchConstraints", "resourceRules")


def _leave_out(converted: Converted, document: Located, path: Path, why: str) -> None:
    converted.left_out.append(document.positions.problem(document.file, path, f"left out: {why}"))


def _own(variables: Iterable[Document]) -> Iterator[Document]:
    """Yield the variables that the native policy's author wrote, without the variables for fields of ``gpu``."""
    return (each for each in variables if FACT_VARIABLES.get(each["name"]) != each["expression"])


def _merged(judging: Document, writing: Document) -> Document | None:
    """Return a GPUPolicy that does what both do; None if they match different pods, or differ otherwise."""
    one, other = judging["spec"], writing["spec"]
    own = {"variables", "mutations", "validations", "validationActions", "auditAnnotations"}
    if {key: one[key] for key in one.keys() - own} != {key: other[key] for key in other.keys() - own}:
        return None
    variables = {each["name"]: each for each in other.get("variables", ())}
    for each in one.get("variables", ()):
        if variables.setdefault(each["name"], each) != each:
            return None
    spec = {**one, "variables": list(variables.values()), "mutations": other["mutations"]}
    behind = {key: spec.pop(key) for key in ("validations", "validationActions", "auditAnnotations") if key in spec}
    return {**judging, "spec": present({**spec, **behind})}


def _mutation(entry: Document) -> Document:
    """Return a native mutation as a mutation of a GPUPolicy."""
    field, _ = PATCH_TYPES[entry["patchType"]]
    source = entry[field]["expression"]
    found = tolerations_in(source) or {field: as_maps(source)}
    return {key: without_variables(value) for key, value in found.items()}


def _texts(entries: Iterable[Document]) -> Iterator[Document]:
    """Yield items of a native policy, such as validations, with fields of ``gpu`` in place of the variables for them.

    A message is left out if it is the default message of a GPUPolicy.
    """
    for each in entries:
        made = {key: without_variables(value) if key in _EXPRESSIONS else value for key, value in each.items()}
        expression = made.get("expression", "")
        is_default = made.get("messageExpression") or "\n" not in expression.strip()
        if made.get("message") == default_message(expression) and is_default:
            del made["message"]
        yield present(made)


def _stated(conditions: Iterable[Document]) -> Iterator[Document]:
    """Yield the match conditions of a native policy that a GPUPolicy needs.

    Left out are conditions that the GPUPolicy's scope or the webhook configurations imply.
    """
    return (each for each in conditions if each not in (NO_MIRROR_POD, OF_GPU_SCOPE, *OF_UPDATES))


def _is_default(rule: Document) -> bool:
    listed = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    return {key: value for key, value in rule.items() if (key, value) != ("scope", "*")} == listed


def _both(one: Document | None, other: Document | None) -> Document | None:
    """Return a label selector that selects only what both selectors select; None if everything is selected.

    The requirements that exclude exempt namespaces are left out, because the webhook configurations have them.
    """
    found = dict(one or {})
    if other:
        labels = (
            {"key": key, "operator": "In", "values": [value]} for key, value in mapping_at(other, "matchLabels").items()
        )
        found["matchExpressions"] = [*found.get("matchExpressions", ()), *labels, *other.get("matchExpressions", ())]
    found["matchExpressions"] = [each for each in found.get("matchExpressions", ()) if each not in EXEMPT]
    return present(found) or None
