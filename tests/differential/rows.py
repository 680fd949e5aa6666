"""Rows that are written by hand: what podberth once judged otherwise than an API server, each with its own policy.

A row names the finding that it proves; ``differential.findings`` has the list, which tests hold complete.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from controlplane.api import Api

from . import mutating
from .authorizer import rights_in
from .ours import Ours
from .run import BATCH, pair
from .scenes import CASE, VERSION, Document, Scene, namespace_name, namespaces
from .tally import Tally
from .upstream import Upstream

_PARAMS: Final = {"one": "1", "two": "x"}
"""The ConfigMaps of each namespace, with their number; a selector finds both."""


@dataclass(frozen=True, slots=True)
class Row:
    """One policy with its binding, for one object."""

    finding: str
    spec: Document
    binding: Document
    kind: str = "Pod"

    @property
    def mutates(self) -> bool:
        """Whether it is a MutatingAdmissionPolicy."""
        return "mutations" in self.spec

    def documents(self, number: int, name: str) -> tuple[Document, Document]:
        """Return policy and binding for the namespace of a number."""
        rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["*"]}
        constraints = {"resourceRules": [rule], "namespaceSelector": {"matchLabels": {CASE: str(number)}}}
        kind = "MutatingAdmissionPolicy" if self.mutates else "ValidatingAdmissionPolicy"
        return (
            _named(kind, name, {"matchConstraints": constraints, **self.spec}),
            _named(f"{kind}Binding", name, {"policyName": name, **self.binding}),
        )

    def given(self, number: int) -> Document:
        """Return the object for the namespace of a number."""
        metadata = {"name": "web", "namespace": namespace_name(number), "labels": {"team": "a"}}
        pod = {"containers": [{"name": "main", "image": "nginx"}], "automountServiceAccountToken": False}
        if self.kind == "Pod":
            return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod}
        template = {"metadata": {"labels": {"app": "web"}}, "spec": pod}
        spec = {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": template}
        return {"apiVersion": "apps/v1", "kind": self.kind, "metadata": metadata, "spec": spec}


def compare(api: Api) -> Tally:
    """Return what came of all rows, put to an API server and to podberth."""
    tally, world = Tally(), namespaces(BATCH)
    upstream = Upstream(api, world, [_config_map(each, name) for each in world for name in _PARAMS])
    try:
        for mutates in (False, True):
            rows = [row for row in ROWS if row.mutates is mutates]
            put = _mutated if mutates else _validated
            for start in range(0, len(rows), BATCH):
                put(upstream, rows[start : start + BATCH], f"row-{start}", tally)
    finally:
        upstream.remove()
    return tally


def _validated(upstream: Upstream, rows: Sequence[Row], name: str, tally: Tally) -> None:
    ours = Ours(upstream.namespaces, upstream.params, upstream.user, rights=rights_in(upstream.api))
    scenes = [Scene(number, *_split(row, number, name)) for number, row in enumerate(rows)]
    with upstream.in_force(scenes) as refused:
        for row, scene in zip(rows, scenes, strict=True):
            given = row.given(scene.number)
            tally.add(*pair(upstream, scene, given, ours.answers(scene, [given])[0], refused))


def _mutated(upstream: Upstream, rows: Sequence[Row], name: str, tally: Tally) -> None:
    ours = mutating.Ours(upstream)
    scenes = []
    for number, row in enumerate(rows):
        policy, bindings = _split(row, number, name)
        scenes.append(mutating.Scene(number, [policy], bindings))
    with upstream.mutating(scenes) as refused:
        for row, scene in zip(rows, scenes, strict=True):
            for each in mutating.pairs(upstream, ours, scene, [row.given(scene.number)], refused):
                tally.add(*each)


def _split(row: Row, number: int, name: str) -> tuple[Document, list[Document]]:
    policy, binding = row.documents(number, f"{name}-{number}")
    return policy, [binding]


def _named(kind: str, name: str, spec: Document) -> Document:
    return {"apiVersion": VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}


def _config_map(namespace: Document, name: str) -> Document:
    metadata = {"name": name, "namespace": namespace["metadata"]["name"], "labels": {"set": "x"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"number": _PARAMS[name]}}


# ---- makers of rows -------------------------------------------------------------------------------------------------


def _values(finding: str, *expressions: str) -> Row:
    """Return a row that warns with the value of each expression, or that it has none."""
    validations = [
        {
            "expression": "false",
            "messageExpression": f"'{place}: ' + '%s'.format([{each}])",
            "message": f"{place}: no value",
        }
        for place, each in enumerate(expressions)
    ]
    return Row(finding, {"validations": validations}, {"validationActions": ["Warn"]})


def _each(finding: str, *expressions: str) -> Iterator[Row]:
    """Yield a row for each expression, which may be refused."""
    return (_values(finding, each) for each in expressions)


def _denies(finding: str, *validations: Document | str, actions: Sequence[str] = ("Deny",), **spec: Any) -> Row:
    listed = [{"expression": each} if isinstance(each, str) else each for each in validations]
    binding: Document = {"validationActions": list(actions)}
    if reference := spec.pop("paramRef", None):
        spec["paramKind"] = {"apiVersion": "v1", "kind": "ConfigMap"}
        binding["paramRef"] = reference
    return Row(finding, {"validations": listed, **spec}, binding)


def _mutates(finding: str, *mutations: Document, kind: str = "Pod", **spec: Any) -> Row:
    return Row(finding, {"reinvocationPolicy": "Never", "mutations": list(mutations), **spec}, {}, kind)


def _applied(expression: str) -> Document:
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": f"Object{{{expression}}}"}}


def _spec(fields: str) -> Document:
    return _applied(f"spec: Object.spec{{{fields}}}")


def _patched(*operations: str) -> Document:
    listed = ", ".join(f"JSONPatch{{{each}}}" for each in operations)
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": f"[{listed}]"}}


def _add(path: str, value: str) -> str:
    return f"op: 'add', path: '{path}', value: {value}"


_LABEL: Final = _applied("metadata: Object.metadata{labels: {'b': 'c'}}")

_PODS: Final = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
_ONE: Final = {"name": "one", "parameterNotFoundAction": "Deny"}
_BOTH: Final = {"selector": {"matchLabels": {"set": "x"}}, "parameterNotFoundAction": "Deny"}
_ABSENT: Final = {"name": "absent", "parameterNotFoundAction": "Deny"}
_ABSENT_ALLOWED: Final = {"name": "absent", "parameterNotFoundAction": "Allow"}
_ERRS: Final = [{"name": "c", "expression": "object.spec.absent == 1"}]
_FALSE: Final = [{"name": "c", "expression": "false"}]
_OF_ONE: Final = [{"name": "c", "expression": "int(params.data.number) == 1"}]

_ASKS: Final = "authorizer.path('/x').check('get').allowed()"
_MAY: Final = [{"name": "may", "expression": _ASKS}]

ROWS: Final[Sequence[Row]] = (
    # What is absent, and a null oldObject
    _values(
        "1",
        "object.spec.?containers[1].hasValue()",
        "object.spec.?containers[1].optMap(c, 'yes').orValue('no')",
        "object.spec.?containers[1] == optional.none()",
        "object.spec.?containers[?1].orValue({}) == {}",
        "object.spec.?containers[1].or(optional.of('x')).value()",
        "object.spec.?containers[0].?image.orValue('none')",
    ),
    _denies("1", "object.spec.?containers[3].hasValue()"),
    _values(
        "2",
        "oldObject.?metadata.?labels[?'x'].orValue('')",
        "has(oldObject.spec)",
        "has(dyn(5).a)",
        "dyn('x').?a.hasValue()",
        "optional.of(dyn(1)).b.hasValue()",
    ),
    # Params: which are missing, which fail, and what comes first
    *(_denies("3", "true", actions=actions, paramRef=_ABSENT) for actions in (["Warn"], ["Audit"], ["Deny"])),
    *(
        _denies("4", "false", matchConditions=_OF_ONE, paramRef=_BOTH, failurePolicy=policy, actions=actions)
        for policy in ("Ignore", "Fail")
        for actions in (["Deny"], ["Warn"])
    ),
    _denies("5", "true", matchConditions=_FALSE, paramRef=_ABSENT),
    _denies("5", "true", matchConditions=_ERRS, paramRef=_ABSENT_ALLOWED),
    _denies("5", "true", matchConditions=_ERRS, paramRef=_ONE),
    # Texts and other values
    _values(
        "6",
        "string(duration('1500ms'))",
        "string(timestamp('2026-01-01T00:00:00.250Z'))",
        "string(timestamp('2026-01-01T00:00:00+05:30'))",
        "string(1.0 / 0.0)",
        "['a', {'a': 1}].map(x, x)[0]",
        "{'a': 1}",
        "0.1 + 0.2",
        "'%.2f'.format([1234567.89])",
        "'%.1f'.format([-0.0])",
        "'%f'.format([1.0 / 0.0])",
        "duration('1500ms')",
        "1234567890.5",
    ),
    _values(
        "7",
        "'abc'.lastIndexOf('c', 3)",
        "''.split('').size()",
        "optional.ofNonZeroValue(timestamp(0)).hasValue()",
        "dyn(quantity('1')) == dyn(quantity('1000m'))",
        "int(object.metadata.name == 'web')",
        "int(' ' + string(object.metadata.name.size()))",
        "double('1e' + string(object.metadata.name.size() * 200))",
        "0.0 / 0.0 < 1.0",
        "['[[:alpha:](]'].map(p, 'a:b(c'.findAll(p))",
    ),
    _denies("8", "false", matchConstraints={"resourceRules": [_PODS], "objectSelector": {"matchLabels": {"a": "b c"}}}),
    _values("9", "b'\\xff'"),
    _values(
        "10",
        "'abc'.substring(0, 3)",
        "object.spec.containers[0].image.substring(5, size(object.spec.containers[0].image))",
        "'abc'.indexOf('c', 9)",
        "'abc'.lastIndexOf('c', 9)",
    ),
    _values(
        "11",
        "duration('1µs')",
        "bool('T')",
        "[1, 2][?dyn(1.0)].hasValue()",
        "'a'.matches(r'\\Qa')",
    ),
    # What must be taken, or refused
    *_each(
        "12",
        "1 < 2.5",
        "1 < 2u",
        "object.spec.priority > 1.5",
        "object['metadata'].name",
        "'x' in object.metadata",
        "object.metadata[?'labels'].hasValue()",
        "object.spec.securityContext == {}",
    ),
    _denies("12", {"expression": "false", "message": "ends with a break\n"}),
    # Errors, reasons and long messages
    _denies("14", "object.spec.absent == 1", "false", failurePolicy="Ignore"),
    _denies("14", "true", matchConditions=_ERRS, actions=["Audit"]),
    _denies("14", "true", auditAnnotations=[{"key": "k", "valueExpression": "string(object.spec.absent)"}]),
    _denies("15", {"expression": "object.spec.absent == 1", "reason": "Forbidden"}),
    _denies("15", {"expression": "object.spec.absent == 1", "reason": "RequestEntityTooLarge"}),
    *(
        _denies("15", {"expression": "false", "message": "plain", "messageExpression": each})
        for each in ("lists.range(600).map(i, 'ten chars.').join('')", "'x\\n'", "' padded '", "'  '", "'two\\nlines'")
    ),
    _denies("16", {"expression": "false", "reason": "Unauthorized"}),
    _denies("16", "true", variables=[{"name": "for", "expression": "1"}]),
    *_each(
        "16",
        "[1, 'a'].size()",
        "'a'.matches('[')",
        "int('x')",
        "timestamp('not a time')",
        "duration('1d')",
        "'a'.matches('\\\\C')",
        "params.data.number",
        "int(dyn(true))",
        "int(dyn(' 1'))",
        "double(dyn('1e400'))",
        "namespaceObject.kind",
        "namespaceObject.metadata.uid",
        "object.metadata.__namespace__",
    ),
    _denies("16", "object.metadata.name"),
    # Messages, annotations and formats that are refused
    *(
        _denies("16", {"expression": "false", "messageExpression": each})
        for each in (
            "dyn('x')",
            "object.metadata.name",
            "string(object.metadata.name)",
            "true ? dyn('a') : 'b'",
            "optional.of('x')",
        )
    ),
    *(
        _denies("16", "true", auditAnnotations=[{"key": "k", "valueExpression": each}])
        for each in ("object.metadata.name", "string(object.metadata.name)", "null", "1")
    ),
    *_each(
        "16",
        "'%d'.format([1.0])",
        "'%s'.format([1, 2])",
        "'%s %s'.format([1])",
        "'%z'.format([1])",
        "'%d'.format([dyn(1.0)])",
        "'%s'.format([request.userInfo])",
        "'%s'.format([[quantity('1')]])",
    ),
    # Maps and numbers
    _values(
        "11",
        "{'a': 1, 'a': 2}",
        "{'a': 1, 'a': 2, 'b': 3}.size()",
        "{1: 'a', 1: 'b'}",
        "{true: 1, true: 2}",
        "{'a': 1 / object.metadata.name.size() * 0 / 0, 'a': 2}",
        "{'a': {'b': 1, 'b': 2}, 'a': {'b': 3, 'b': 4}}",
        "{1.5: 'x'}",
        "5u / dyn(5.0)",
        "dyn(5u) / 5",
        "dyn(5.0) * 2.0",
        "-dyn(5u)",
    ),
    # Numbers of a mutation, and the bits of their fields
    *(
        _mutates("13", _spec(f"replicas: {number}"), kind="Deployment")
        for number in ("4294967298", "-2147483649", "2147483647", "2.0", "2u", "2.5", "18446744073709551615u")
    ),
    *(
        _mutates("13", _patched(_add("/spec/replicas", number)), kind="Deployment", failurePolicy="Ignore")
        for number in ("2147483648", "9007199254740993", "2u", "2.0", "2.5", "1e20", "dyn(3)")
    ),
    _mutates("13", _patched(_add("/metadata/labels/n", "9007199254740993"))),
    _mutates("13", _patched(_add("/metadata/labels/n", "9007199254740991"))),
    # Operations without a value, and the signs of an index
    *(
        _mutates("13", _patched(each))
        for each in (
            "op: 'copy', from: '/metadata/labels/none', path: '/metadata/labels/x'",
            "op: 'copy', from: '/metadata/none/a', path: '/metadata/labels/x'",
            "op: 'copy', from: '/spec/none', path: '/spec/priorityClassName'",
            "op: 'copy', from: '/spec/none', path: '/spec/containers/-'",
            "op: 'move', from: '/metadata/labels/none', path: '/metadata/labels/x'",
            "op: 'add', path: '/metadata/labels/x'",
            "op: 'add', path: '/spec/priorityClassName'",
            "op: 'replace', path: '/metadata/labels/team'",
            _add("/metadata/labels/x", "null"),
            _add("/spec/containers/-0", "{'name': 'b', 'image': 'x'}"),
            _add("/spec/containers/+1", "{'name': 'b', 'image': 'x'}"),
            _add("/spec/containers/2", "{'name': 'b', 'image': 'x'}"),
            "op: 'replace', path: '/spec/containers/-0/image', value: 'x'",
            "op: 'replace', path: '/spec/containers/00/image', value: 'x'",
        )
    ),
    _mutates("13", _patched("op: 'add', path: '/metadata/labels/x'", "op: 'test', path: '/metadata/labels/x'")),
    _mutates("13", _patched("op: 'test', path: '/metadata/labels/x', value: null", _add("/metadata/labels/y", "'z'"))),
    _mutates("13", _patched(_add("/spec/priority", "'x'"), "op: 'test', path: '/metadata/labels/team', value: 'z'")),
    # What a failing mutation leaves, what a later one reads, and null
    _mutates("13", _spec("priority: object.spec.absent"), _LABEL, failurePolicy="Ignore"),
    _mutates("13", _LABEL, _applied("metadata: Object.metadata{labels: {'d': object.metadata.labels.b}}")),
    _values("7", "quantity('1') != dyn(1)", "semver('1.0.0') != dyn('1.0.0')", "quantity('1') == dyn(1)"),
    # A message that is null, an optional entry with the key of another, and a number whose type is dyn
    *(
        _denies("since", {"expression": "false", "message": "plain", "messageExpression": each})
        for each in (
            "null",
            "true ? null : 'a'",
            "object.metadata.name == 'web' ? 'a' : null",
            "optional.none().orValue(null)",
            "[null][0]",
            "optional.of('a').optMap(x, x).orValue('b')",
            "dyn(null)",
            "string(null)",
            "request.name",
            "request.subResource",
            "request.userInfo.uid",
            "namespaceObject.metadata.generateName",
        )
    ),
    *_each(
        "since",
        *(
            f"[{each}].map(m, [m.size(), m[?'a'].orValue(-1), m[?'web'].orValue(-1)])[0]"
            for each in (
                "{'a': 1, ?'a': optional.of(2)}",
                "{?'a': optional.of(1), 'a': 2}",
                "{?'a': optional.none(), 'a': 2}",
                "{'a': 1, ?'a': object.metadata.?labels.absent}",
                "{'a': 1, ?'a': optional.none()}",
                "{?'a': optional.of(1), ?'a': optional.of(2)}",
                "{?'a': optional.of(1), ?'a': optional.none()}",
                "{?'a': optional.of(1), ?'a': optional.none(), 'a': 3}",
                "{'a': 1, ?'a': optional.none(), 'b': 3, ?'b': optional.of(4), 'a': 5, ?'a': optional.of(6)}",
                "{?'a': optional.of(1 / (object.metadata.name.size() - 3)), 'a': 2}",
                "{object.metadata.name: 1, 'web': 2}",
                "{'web': 1, object.metadata.name: 2}",
                "{'web': 1, 'a': 2, object.metadata.name: 3, 'web': 4}",
                "{object.metadata.name: 1, object.metadata.name: 2, object.metadata.labels.team: 3}",
                "{object.metadata.name: 1 / (object.metadata.name.size() - 3), 'web': 2}",
                "{?object.metadata.name: optional.of(1), 'web': 2}",
                "{'web': 1, ?object.metadata.name: optional.none()}",
                "{'a': {'a': 1, ?'a': optional.of(2)}['a'], object.metadata.labels.team: 7}",
            )
        ),
    ),
    *(
        _mutates("since", _spec(f"replicas: {number}"), kind="Deployment", failurePolicy=policy)
        for number in (
            "dyn(2u)",
            "true ? dyn(2u) : dyn(2)",
            "object.spec.replicas > 5 ? dyn(2u) : dyn(2)",
            "dyn(2.0)",
            "[dyn(2u)][0]",
        )
        for policy in ("Fail", "Ignore")
    ),
    _mutates(
        "since",
        _spec("template: Object.spec.template{spec: Object.spec.template.spec{priority: dyn(2u)}}"),
        kind="Deployment",
    ),
    _mutates(
        "since",
        _spec("tolerations: [Object.spec.tolerations{key: 'a', operator: 'Exists', tolerationSeconds: dyn(5u)}]"),
    ),
    _mutates(
        "since",
        _spec("tolerations: [Object.spec.tolerations{key: 'a', effect: 'NoExecute', tolerationSeconds: 5u}]"),
    ),
    _mutates("since", _applied("metadata: Object.metadata{labels: {'a': string(dyn(5u))}}")),
    _mutates("since", _spec("nodeSelector: {'a': dyn(5u)}")),
    *(
        _mutates("since", _spec(f"?replicas: {each}"), kind="Deployment")
        for each in (
            "optional.of(2u)",
            "optional.of(dyn(2u))",
            "optional.of(2)",
            "optional.none()",
            "object.spec.?absent",
        )
    ),
    # Who may what
    _denies(
        "since",
        "authorizer.requestResource.check('create').allowed()",
        "!authorizer.path('/x').check('get').allowed()",
    ),
    _denies("since", "false", matchConditions=[{"name": "c", "expression": _ASKS}]),
    _denies("since", "false", matchConditions=[{"name": "c", "expression": f"!{_ASKS}"}]),
    _denies("since", "authorizer.serviceAccount('default', 'default').path('/x').check('get').allowed()"),
    _denies(
        "since",
        f"authorizer.path('').check('get').allowed() || {_ASKS}",
        "authorizer.path('').check('get').allowed()",
    ),
    _denies("since", "authorizer.path('').check('get').allowed()", failurePolicy="Ignore"),
    _denies("since", {"expression": "false", "messageExpression": f"string({_ASKS})"}),
    *(
        _denies(
            "since",
            {"expression": "!variables.may", "message": "plain", "messageExpression": each},
            variables=_MAY,
        )
        for each in ("'may: ' + string(variables.may)", "'may: ' + string(true || variables.may)", "'without'")
    ),
    *(
        _denies(
            "since",
            "true",
            auditAnnotations=[{"key": "k", "valueExpression": each}],
            variables=_MAY,
            failurePolicy=policy,
        )
        for each in (f"string({_ASKS})", "string(variables.may)", "string(true || variables.may)")
        for policy in ("Fail", "Ignore")
    ),
    _mutates("13", _spec("nodeSelector: null")),
    _mutates("13", _spec("priorityClassName: null"), _LABEL, failurePolicy="Ignore"),
)
