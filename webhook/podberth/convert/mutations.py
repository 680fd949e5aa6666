"""Converts a mutation of a GPUPolicy to a mutation of a MutatingAdmissionPolicy.

A native mutation sees the pod with the changes of the policy's earlier mutations, while the mutations of a GPUPolicy
all see the pod as it was. So a mutation that reads what an earlier one writes is not converted (``first_clash``).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from ..cel.engine import CelProblem, CompileError, Expression, Want
from ..cel.types import BOOL, DYN, OPTIONAL, STRING
from ..kube.paths import ELEMENT, FieldPath, Path
from ..kube.schema import PodSchema
from ..policy.compile import CompiledMutation
from ..policy.model import Leaf, Mutation, leaves_of
from .expressions import MUTATION_NAMES, Native
from .patches import as_object, as_patches, written_by_object, written_by_patches
from .result import Document

_SYSTEM: Final = "which system places the pod's gang decides about it, and a native policy does not know that"
LEFT_OUT: Final[Mapping[str, str]] = {
    **dict.fromkeys(("nodeSelector", "nodeAffinity", "topology", "gang", "schedulerName", "resources"), _SYSTEM),
    "resourceClaims": "whether the cluster has the template is not in the pod",
    "priorityClassName": "the API server has computed the pod's priority before, and refuses another class",
}
"""The mutations that are not converted, each with the reason."""
_APPLY: Final = "ApplyConfiguration"
_JSON_PATCH: Final = "JSONPatch"
PATCH_TYPES: Final[Mapping[str, tuple[str, Want]]] = {
    _APPLY: ("applyConfiguration", Want.OBJECT),
    _JSON_PATCH: ("jsonPatch", Want.JSON_PATCHES),
}
"""The field of each patch type, with the type of the expression there."""
_LISTS: Final = ("containers", "initContainers")
WRITTEN: Final[Mapping[str, frozenset[FieldPath]]] = {
    **{field: frozenset({("object", "metadata", field)}) for field in ("labels", "annotations")},
    **{field: frozenset({("object", "spec", field)}) for field in ("tolerations", "runtimeClassName")},
    "env": frozenset(("object", "spec", each, "env") for each in _LISTS),
}
"""The paths in the pod that each mutation of a fixed place writes, without indexes."""
_NONE: Final = "optional.none()"
# As kube.selector.covers; the toleration t is one that the policy wants, and o one of the pod's own.
_COVERS: Final = (
    "o.?effect.orValue('') in ['', t[?'effect'].orValue('')]"
    " && (o.?operator.orValue('') == 'Exists' ? o.?key.orValue('') in ['', t[?'key'].orValue('')]"
    " : o.?operator.orValue('') in ['', 'Equal'] && o.?key.orValue('') == t[?'key'].orValue('')"
    " && t[?'operator'].orValue('') != 'Exists' && o.?value.orValue('') == t[?'value'].orValue(''))"
    " && (!has(o.tolerationSeconds) || !(t[?'effect'].orValue('') in ['', 'NoExecute'])"
    " || t[?'tolerationSeconds'].optMap(s, dyn(s) <= dyn(o.tolerationSeconds)).orValue(false))"
)
_READ_BY_GPU: Final[frozenset[FieldPath]] = frozenset(
    ("object", "spec", *path)
    for path in (
        ("containers", "resources"),
        ("initContainers", "resources"),
        ("initContainers", "restartPolicy"),
    )
)
"""The paths in the pod that decide the fields of ``gpu``."""
_HEAD: Final = "(has(object.spec.tolerations) ? [] : [JSONPatch{op: 'add', path: '/spec/tolerations', value: []}]) + ("
# A toleration without a key would tolerate every taint; with ``t['key']`` it is an error, as in a GPUPolicy.
_TAIL: Final = (
    f").filter(t, string(t['key']) != '' && !object.spec.?tolerations.orValue([]).exists(o, {_COVERS}))"
    ".map(t, JSONPatch{op: 'add', path: '/spec/tolerations/-', value: t})"
)


class NotSaidError(Exception):
    """A mutation cannot be converted.

    ``path`` leads to the reason, from the mutation on; ``at`` is the reason's position in the expression there, if the
    reason is in an expression.
    """

    def __init__(self, path: Path, why: str, at: CelProblem | None = None) -> None:
        super().__init__(why)
        self.path, self.why, self.at = path, why, at


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeMutation:
    """A converted mutation."""

    document: Document
    writes: frozenset[FieldPath]
    """The paths in the pod that the mutation may write, without indexes."""
    variables: frozenset[str]
    """The variables of the native policy that the mutation uses itself."""


class _Value(NamedTuple):
    """The native expression of a string: ``text`` if it always has a value, else ``optional``."""

    text: str
    optional: str

    @property
    def as_optional(self) -> str:
        """The expression as one of an optional string."""
        return self.optional or f"optional.of({self.text})"


class _Patch(NamedTuple):
    """The native expression of a mutation, with the paths that it may write."""

    kind: str
    source: str
    writes: frozenset[FieldPath]


class Mutations:
    """Converts the mutations of one GPUPolicy."""

    def __init__(self, native: Native, text: Callable[[str], str]) -> None:
        """Take the compiler of the native policy, and a function for the text that an expression has there."""
        self._native, self._text = native, text

    def said(self, item: Mutation) -> NativeMutation:
        """Return the native mutation.

        Raises:
            NotSaidError: the mutation cannot be converted.
        """
        if why := LEFT_OUT.get(item.concern):
            raise NotSaidError((), f"{item.concern}: {why}")
        when = self._compiled(("when",), item.when) if item.when is not None else None
        if when is not None and when.type not in (BOOL, DYN):
            raise NotSaidError(("when",), f"got {when.type}, want {BOOL}: a native policy takes no optional value")
        leaves = {each.name: each for each in leaves_of(item)[0]}
        patch = self._patch(item.concern, leaves, "" if when is None else f"({_of_bool(when)})")
        field, want = PATCH_TYPES[patch.kind]
        try:
            made = self._native.compiled(patch.source, MUTATION_NAMES, want)
        except CompileError as error:
            raise NotSaidError((item.concern,), error.problems[0].message) from error
        return NativeMutation(
            document={"patchType": patch.kind, field: {"expression": patch.source}},
            writes=patch.writes,
            variables=frozenset(path[1] for path in made.reads if path[0] == "variables" and len(path) > 1),
        )

    def _patch(self, concern: str, leaves: Mapping[str, Leaf], condition: str) -> _Patch:
        """Return the patch of a mutation; ``condition`` is empty, or in brackets."""
        if concern in ("applyConfiguration", "jsonPatch"):
            return self._whole(concern, leaves[""], condition)
        compiled = {name: self._compiled(each.path, each.source) for name, each in leaves.items()}
        if concern == "tolerations":
            return _Patch(_JSON_PATCH, _tolerations(compiled[""].source, condition), WRITTEN[concern])
        values = {name: _value(each) for name, each in compiled.items()}
        if concern == "env":
            source = _environment(values, condition)
        elif concern == "runtimeClassName":
            source = _runtime_class(values[""], condition)
        else:
            source = _labels(concern, values, condition)
        return _Patch(_APPLY, source, WRITTEN[concern])

    def _whole(self, concern: str, leaf: Leaf, condition: str) -> _Patch:
        schema = PodSchema.packaged()
        try:
            text = self._text(leaf.source)
            source = as_patches(text) if concern == "jsonPatch" else as_object(text, schema)
        except CompileError as error:
            raise NotSaidError(leaf.path, error.problems[0].message, error.problems[0]) from error
        kind = _JSON_PATCH if concern == "jsonPatch" else _APPLY
        writes = written_by_patches(leaf.source) if concern == "jsonPatch" else written_by_object(leaf.source, schema)
        nothing = "[]" if concern == "jsonPatch" else "Object{}"
        if condition:
            source = f"{condition} ? {source} : {nothing}"
        return _Patch(kind, source, writes)

    def _compiled(self, path: Path, source: str) -> Expression:
        try:
            return self._native.compiled(self._text(source), MUTATION_NAMES)
        except CompileError as error:
            raise NotSaidError(path, error.problems[0].message, error.problems[0]) from error


def first_clash(mutation: CompiledMutation, earlier: Mapping[int, frozenset[FieldPath]]) -> int | None:
    """Return the index of the first mutation in ``earlier`` that may write what ``mutation`` reads; None if none does.

    ``earlier`` has the paths that each earlier mutation may write, without indexes.
    """
    every = {*mutation.reads, *mutation.facts.values()}
    reads = {tuple(step for step in path if step not in (ELEMENT, "")) for path in every if path[0] == "object"}
    reads |= _READ_BY_GPU if any(path[0] == "gpu" for path in every) else frozenset()
    for index, writes in earlier.items():
        if any(one[: len(other)] == other[: len(one)] for one in reads for other in writes):
            return index
    return None


def _of_bool(found: Expression) -> str:
    return f"({found.source}) == true" if found.type == DYN else found.source


def _value(found: Expression) -> _Value:
    if found.type == STRING:
        return _Value(found.source, "")
    if found.type.name == OPTIONAL:
        return _Value("", f"({found.source}).optMap(v, string(v))")
    return _Value("", f"(dyn({found.source}) == null ? {_NONE} : optional.of(string({found.source})))")


def _and(condition: str) -> str:
    return f"{condition} && " if condition else ""


def _labels(field: str, values: Mapping[str, _Value], condition: str) -> str:
    taken = f"object.metadata.?{field}.orValue({{}})"
    entries = (
        f"?'{key}': {_and(condition)}!('{key}' in {taken}) ? {value.as_optional} : {_NONE}"
        for key, value in values.items()
    )
    return f"Object{{metadata: Object.metadata{{{field}: {{{', '.join(entries)}}}}}}}"


def _runtime_class(value: _Value, condition: str) -> str:
    text = f"({value.text})" if value.text else f"{value.optional}.orValue('')"
    name = f"{_and(condition)}!has(object.spec.runtimeClassName) && {text} != '' ? {value.as_optional} : {_NONE}"
    return f"Object{{spec: Object.spec{{?runtimeClassName: {name}}}}}"


def _environment(values: Mapping[str, _Value], condition: str) -> str:
    def of_list(field: str) -> str:
        variables = " + ".join(_variable(f"Object.spec.{field}.env", *each, condition) for each in values.items())
        return f"object.spec.{field}.map(c, Object.spec.{field}{{name: c.name, env: {variables}}})"

    main, init = map(of_list, _LISTS)
    optional = f"has(object.spec.initContainers) ? optional.of({init}) : {_NONE}"
    return f"Object{{spec: Object.spec{{containers: {main}, ?initContainers: {optional}}}}}"


def _variable(kind: str, name: str, value: _Value, condition: str) -> str:
    """Return a list with one variable; it is empty if the container c has the variable, or may have it elsewhere."""
    there = f"c.?env.orValue([]).exists(e, e.name == '{name}')"
    elsewhere = f"c.?envFrom.orValue([]).exists(e, '{name}'.startsWith(e.?prefix.orValue('')))"
    given = f" && {value.optional}.hasValue()" if value.optional else ""
    text = value.text or f"{value.optional}.value()"
    return f"({_and(condition)}!{there} && !{elsewhere}{given} ? [{kind}{{name: '{name}', value: {text}}}] : [])"


def _tolerations(wanted: str, condition: str) -> str:
    return f"{_HEAD}{f'{condition} ? {wanted} : []' if condition else wanted}{_TAIL}"


def tolerations_in(source: str) -> Document | None:
    """Return the ``tolerations`` of a GPUPolicy that a JSONPatch was made from; None if it was made from none."""
    if not (source.startswith(_HEAD) and source.endswith(_TAIL)):
        return None
    return {"tolerations": source.removeprefix(_HEAD).removesuffix(_TAIL)}
