"""The CEL of one document: the names that an expression may use, with their types and the manual's sentences.

The type checker of ``cel`` finds the types. A policy's variable has the type of its expression.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

from ...cel.engine import CompileError, Environment
from ...cel.libraries import AUTHORIZATION, Overload
from ...cel.types import DYN, OPTIONAL, CelType, parse
from ...cel.typing import NATIVE_VARIABLES, VARIABLES, Fields, messages
from ...kube.paths import Path
from ...kube.unchecked import list_at, text, text_at
from ...native.documents import is_native, names_of
from ...native.model import MUTATING
from ...policy import exceptions, namespaced
from ...policy.compile import OF_GPU_POLICIES, Names
from ...wellknown import EXCEPTION_KIND, NAMESPACED_KIND
from ..manual import lookup
from ..manual import variables as manual
from ..manual.variables import Manual

_SHORT: Final = {"google.protobuf.Duration": "duration", "google.protobuf.Timestamp": "timestamp", OPTIONAL: "optional"}
_PACKAGES: Final = ("podberth.", "k8s.", "kubernetes.", "net.")
_PODS: Final = frozenset({"pods", "pods/ephemeralcontainers"})


def shown(found: CelType) -> str:
    """Return a type for readers, without the names of packages: ``list(Container)``."""
    name = _SHORT.get(found.name, found.name)
    for package in _PACKAGES:
        name = name.removeprefix(package)
    return str(CelType(name, tuple(CelType(shown(each)) for each in found.parameters)))


@dataclass(frozen=True, slots=True)
class Signature:
    """A function or macro that can be called: how it is written, the type of its result, and the manual."""

    name: str
    written: str
    manual: Manual | None


class Checkers:
    """The CEL environments in which expressions of GPUPolicies and of native policies are type-checked."""

    def __init__(self, environment: Environment) -> None:
        """Create the object; ``environment`` is the environment of GPUPolicies. Only one thread may use the object."""
        self.of_gpu = environment

    @cached_property
    def native(self) -> Environment:
        """The environment of native policies."""
        return self.of_gpu.native()

    @cached_property
    def messages(self) -> Mapping[str, Fields]:
        """The fields of each message type with their types."""
        return messages(self.of_gpu.schema)


@dataclass(frozen=True)
class Language:
    """The names that an expression at one place of a document may use, and their types."""

    checkers: Checkers
    document: Mapping[str, Any]
    path: Path
    """The path of the expression in the document."""

    @cached_property
    def is_native(self) -> bool:
        """Whether the document is a native policy."""
        return is_native(self.document)

    @cached_property
    def names(self) -> frozenset[str]:
        """The names that the expression may use, with ``variables`` if it may use the policy's variables."""
        kind = text_at(self.document, "kind")
        if kind == EXCEPTION_KIND:
            return exceptions.NAMES
        names: Names = OF_GPU_POLICIES
        if kind == NAMESPACED_KIND:
            names = namespaced.NAMES
        elif self.is_native:
            names = names_of(self.document)
            if kind == MUTATING:
                names = replace(names, others=names.others | {"jsonpatch"})
        if self.path[1:2] == ("matchConditions",):
            return names.conditions
        return names.others - names.hidden_from_messages if self.path[-1:] == ("messageExpression",) else names.others

    @cached_property
    def variables(self) -> Mapping[str, str]:
        """The sources of the policy's variables that the expression may use, by name, in the document's order."""
        if "variables" not in self.names:
            return {}
        found = list_at(self.document, "spec", "variables")
        if self.path[1:2] == ("variables",) and len(self.path) > 2:  # noqa: PLR2004 - an index follows
            found = found[: int(self.path[2])]
        return {text_at(each, "name"): text_at(each, "expression") for each in found if text_at(each, "name")}

    @cached_property
    def variable_types(self) -> Mapping[str, CelType]:
        """The types of the policy's variables, by name; ``dyn`` for a variable that does not compile."""
        types: dict[str, CelType] = {}
        for name, source in self.variables.items():
            types[name] = self._checked(source, types) or DYN
        return types

    def type_of(self, source: str) -> CelType | None:
        """Return the type of an expression; None if it does not compile."""
        return self._checked(source, self.variable_types)

    def global_type(self, name: str) -> CelType:
        """Return the type of a variable of the engine, such as ``object``."""
        return self.type_of(name) or CelType((NATIVE_VARIABLES if self.is_native else VARIABLES).get(name, DYN.name))

    def fields(self, owner: CelType) -> Mapping[str, CelType]:
        """Return the fields of a type with their types; empty if the type has no named fields."""
        if owner.name == OPTIONAL:
            return self.fields(owner.parameters[0])
        found = self.checkers.messages.get(owner.name, {})
        return {name: parse(spelled) for name, spelled in found.items()}

    def members(self, owner: CelType) -> Iterator[Signature]:
        """Yield the functions and macros that can be called on a value of a type."""
        for macro, about in lookup.macros():
            if macro.receiver and _takes(parse(macro.receiver), owner):
                written = f"{macro.name}({', '.join(shown(parse(each)) for each in macro.arguments)})"
                yield Signature(macro.name, f"{written}: {shown(parse(macro.result))}", about)
        for row, sentence in self._functions:
            if row.is_member and _takes(parse(row.parameters[0]), owner):
                yield Signature(row.name, _written(row), sentence)

    def globals(self) -> Iterator[Signature]:
        """Yield the functions and macros that are called without a receiver; a name may have a dot inside."""
        for macro, about in lookup.macros():
            if not macro.receiver:
                yield Signature(macro.name, f"{macro.name}({', '.join(macro.arguments)}): {macro.result}", about)
        for row, sentence in self._functions:
            if not row.is_member:
                yield Signature(row.name, _written(row), sentence)

    @property
    def _functions(self) -> Iterator[tuple[Overload, Manual | None]]:
        """Yield the functions that the expression may call."""
        of_authorizer = frozenset(each.id for each in AUTHORIZATION)
        for row, sentence in lookup.functions():
            if "authorizer" in self.names or row.id not in of_authorizer:
                yield row, sentence

    def _checked(self, source: str, variables: Mapping[str, CelType]) -> CelType | None:
        if not source.strip():
            return None
        for environment in self._environments:
            try:
                return environment.type_of(source, variables)
            except CompileError:
                continue
        return None

    @property
    def _environments(self) -> Sequence[Environment]:
        """The environments in which types are sought, in order.

        The ``object`` of a native policy has no type. If the policy matches only pods, it has the type of a Pod here.
        """
        if not self.is_native:
            return (self.checkers.of_gpu,)
        return (self.checkers.of_gpu, self.checkers.native) if _only_pods(self.document) else (self.checkers.native,)


def meaning_of(name: str) -> str:
    """Return the manual's sentence about a variable of the engine; empty if there is none."""
    return manual.VARIABLES.get(name, "")


def meaning_of_field(owner: CelType, name: str) -> str:
    """Return the manual's sentence about a field of a message type; empty if there is none."""
    if owner.name == OPTIONAL:
        return meaning_of_field(owner.parameters[0], name)
    return lookup.fields().get((owner.name, name), "")


def _written(row: Overload) -> str:
    operands = [shown(parse(each)) for each in row.parameters]
    return f"{row.name}({', '.join(operands[1:] if row.is_member else operands)}): {shown(parse(row.result))}"


def _takes(parameter: CelType, given: CelType) -> bool:
    """Return whether a parameter of a function takes a value of a type; also True if that is uncertain."""
    if parameter.is_parameter or DYN in (parameter, given):
        return True
    pairs = zip(parameter.parameters, given.parameters, strict=False)
    return parameter.name == given.name and all(_takes(*pair) for pair in pairs)


def _only_pods(document: Mapping[str, Any]) -> bool:
    rules = list_at(document, "spec", "matchConstraints", "resourceRules")
    resources = [resource for rule in rules for resource in list_at(rule, "resources")]
    return bool(resources) and all(text(each) in _PODS for each in resources)
