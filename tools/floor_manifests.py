"""Write manifests/components/floor/policies.yaml: native policies with the part of the shipped policies for outages.

    .venv/bin/python tools/floor_manifests.py [--check]

The names that nobody serves, and the messages about them, are those of policies/vendor-names. Sharing dialects, group
systems and the keys of gangs are those of podberth's tables.
"""

import sys
from collections.abc import Iterable
from typing import Any, Final

import yaml
from generated import ROOT, main

from podberth.cel.engine import Environment
from podberth.convert.gpu_facts import NO_DIALECT
from podberth.convert.result import as_text
from podberth.convert.to_native import DESCRIPTION, NO_MIRROR_POD, to_native
from podberth.kinds.replica_specs import REPLICA_GROUPS
from podberth.kube.schema import PodSchema
from podberth.native.documents import is_native
from podberth.native.model import API_VERSION, MUTATING, MUTATING_BINDING
from podberth.policy.parse import parse_policies
from podberth.wellknown import (
    EXEMPT_LABEL,
    EXEMPT_NAMESPACES,
    FLOOR_KEY,
    FLOOR_PARAMS,
    FLOOR_VALUE,
    GANG_LABEL,
    GANG_SIZE_ANNOTATION,
    NAMESPACE,
)
from podberth.workload.memberships import MEMBERSHIPS
from podberth.workload.systems import SYSTEMS

Document = dict[str, Any]

PAGE: Final = "manifests/components/floor/policies.yaml"
_HEAD: Final = f"""\
# Written by tools/floor_manifests.py; change that. What pods get while podberth does not answer:
# docs/native-policies.md, "The floor".
#
# A pod has the label {FLOOR_KEY} then, and an annotation of the same name that says what was written. podberth
# takes both away, undoes what was written, and decides itself. By the label the other policies see that podberth was
# not asked.
"""
_PARAM_KIND: Final = {"apiVersion": "v1", "kind": "ConfigMap"}
_PARAM_REF: Final = {"name": FLOOR_PARAMS, "namespace": NAMESPACE, "parameterNotFoundAction": "Allow"}
_EVERY: Final = "(object.spec.containers + object.spec.?initContainers.orValue([]))"
_ANNOTATIONS: Final = "object.metadata.?annotations.orValue({})"
_LABELS: Final = "object.metadata.?labels.orValue({})"
_MARKED: Final = {"matchLabels": {FLOOR_KEY: FLOOR_VALUE}}
"""The selector of pods on which the floor wrote, and on which podberth has not decided.

A selector costs the API server nothing; for a condition it converts the whole pod.
"""
_NOT_EXEMPT: Final = {
    "name": "no-exempt-namespace",
    "expression": f"!(request.namespace in [{', '.join(map(repr, EXEMPT_NAMESPACES))}])",
}
_VENDOR_NAMES: Final = {"vendor-names": "podberth-floor-names", "vendor-name-unserved": "podberth-floor-names-unknown"}
_OPERATORS: Final = (
    "jobset.sigs.k8s.io/jobset-name",
    "leaderworkerset.sigs.k8s.io/name",
    "training.kubeflow.org/job-name",
    "ray.io/cluster",
)
"""The labels by which pods name their gang, and from which a native policy can compute the name."""
_LONGEST_NAME: Final = 63


def _quoted(names: Iterable[str]) -> str:
    return "[" + ", ".join(f"'{each}'" for each in sorted(names)) + "]"


def _key(name: str) -> str:
    """Return the expression of a resource's key in the params, where a slash cannot stand."""
    return f"{name}.replace('/', '_')"


# ---- names that nobody serves ---------------------------------------------------------------------------------------


def vendor_names() -> list[Document]:
    """Return the policies of policies/vendor-names about names that nobody serves, which read the params."""
    found = []
    for document in yaml.safe_load_all((ROOT / "policies/vendor-names/policy.yaml").read_text(encoding="utf-8")):
        if document["metadata"]["name"] in _VENDOR_NAMES:
            document["metadata"] = {"name": _VENDOR_NAMES[document["metadata"]["name"]]}
            spec = document["spec"]
            spec |= {"paramKind": _PARAM_KIND, "paramRef": _PARAM_REF, "failurePolicy": "Ignore"}
            for each in (*spec["matchConditions"], *spec["variables"], *spec["validations"]):
                for field in ("expression", "messageExpression"):
                    if field in each:
                        each[field] = _by_params(each[field])
            found.append(document)
    return found


def _by_params(expression: str) -> str:
    """Return an expression that asks the params where ``expression`` asks the topology."""
    data = "params.?data.orValue({})"
    known = expression.replace("topology.known", f"('nodes' in {data})")
    return known.replace("topology.offers(name)", f"({_key('name')} in {data})")


def _converted(documents: list[Document]) -> list[Document]:
    schema = PodSchema.packaged()
    parsed = parse_policies([("policy.yaml", yaml.safe_dump_all(documents))], is_native)
    if parsed.problems:
        raise SystemExit("\n".join(map(str, parsed.problems)))
    environments = Environment(schema), Environment(schema, native=True)
    found: list[Document] = []
    for policy in parsed.policies:
        converted = to_native(policy, *environments)
        lost = [each for each in converted.left_out if not each.where.endswith("failurePolicy")]
        if lost:
            raise SystemExit("\n".join(map(str, lost)))
        found += converted.documents
    for each in found:
        spec = each["spec"]
        if "matchConstraints" in spec:
            spec["matchConstraints"] = {**_constraints("CREATE"), "objectSelector": _MARKED}
            spec["matchConditions"] = [_NOT_EXEMPT, *spec["matchConditions"]]
    return found


def _wrong_names() -> str:
    [variable] = [each for each in vendor_names()[0]["spec"]["variables"] if each["name"] == "right"]
    return _quoted(yaml.safe_load(variable["expression"]))


# ---- mutations ------------------------------------------------------------------------------------------------------


def _constraints(operation: str) -> Document:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": [operation], "resources": ["pods"]}
    exempt = {"key": EXEMPT_LABEL, "operator": "DoesNotExist"}
    return {"resourceRules": [rule], "namespaceSelector": {"matchExpressions": [exempt]}}


def _asks() -> str:
    known = f"!params.?data[?{_key('k')}].orValue('other').startsWith('other')"
    asked = f"k.contains('/') && ({known} || k in {_wrong_names()})"
    return f"{_EVERY}.exists(c, ['limits', 'requests'].exists(f, c.?resources[?f].orValue({{}}).exists(k, {asked})))"


def _tolerable() -> str:
    """Return the expression that is true if podberth, too, may write tolerations: no system has accounted the pod."""
    kept = [each for each in SYSTEMS if each.keeps and not each.tolerates]
    signs = {
        field: _quoted(key for each in kept for key in getattr(each, field)) for field in ("labels", "annotations")
    }
    schedulers = _quoted(key for each in kept for key in each.schedulers)
    return (
        f"{NO_DIALECT} && !(object.spec.?schedulerName.orValue('') in {schedulers})"
        f" && !{_LABELS}.exists(k, k in {signs['labels']}) && !{_ANNOTATIONS}.exists(k, k in {signs['annotations']})"
    )


def _taints() -> str:
    asked = "k.contains('/') && string(c.resources.limits[k]) != '0'"
    values = f"c.?resources.?limits.orValue({{}}).map(k, {asked}, params.?data[?{_key('k')}].orValue('')).join(' ')"
    words = f"{_EVERY}.map(c, {values}).join(' ').split(' ').filter(word, word.contains(':'))"
    return f"variables.tolerable ? {words}.distinct().sort() : []"


_WANTED: Final = (
    "variables.taints.map(taint, taint.contains('=') ? "
    "{'key': taint.split('=')[0], 'operator': 'Equal', 'value': taint.split('=')[1].split(':')[0], "
    "'effect': taint.split(':')[1]} : "
    "{'key': taint.split(':')[0], 'operator': 'Exists', 'effect': taint.split(':')[1]})"
)
# As podberth.kube.selector.covers, for the tolerations above.
_MISSING: Final = (
    "variables.wanted.filter(t, !variables.own.exists(o, o.?effect.orValue('') in ['', t.effect] && "
    "(o.?operator.orValue('') == 'Exists' ? o.?key.orValue('') in ['', t.key] : "
    "o.?operator.orValue('') in ['', 'Equal'] && o.?key.orValue('') == t.key && "
    "t.operator == 'Equal' && o.?value.orValue('') == t[?'value'].orValue(''))))"
)


def _gang() -> str:
    """Return the expression of the gang's name as podberth computes it; empty if only podberth knows it."""
    others = [each for each in MEMBERSHIPS if each.label not in _OPERATORS]
    labels = {each.label for each in others if each.label} | {key for each in SYSTEMS for key in each.labels}
    annotations = {each.annotation for each in others if each.annotation} | {
        key for each in SYSTEMS for key in each.annotations
    }
    fields = {each.field for each in MEMBERSHIPS if each.field}
    schedulers = _quoted(key for each in SYSTEMS for key in each.schedulers)
    # A Job of a JobSet indexes its pods, and says no gang of its own.
    labels -= {"batch.kubernetes.io/job-completion-index"}
    annotations -= {"batch.kubernetes.io/job-completion-index"}
    taken = " || ".join(
        (
            f"{_LABELS}.exists(k, k in {_quoted({GANG_LABEL, *labels})})",
            f"{_ANNOTATIONS}.exists(k, k in {_quoted({GANG_SIZE_ANNOTATION, *annotations})})",
            f"object.spec.?schedulerName.orValue('') in {schedulers}",
            *(f"has(object.spec.{each})" for each in sorted(fields)),
            f"{_quoted(_OPERATORS)}.filter(k, {_LABELS}[?k].orValue('') != '').size() != 1",
        )
    )
    return f"{taken} ? '' : variables.named.size() > {_LONGEST_NAME} ? '' : variables.named"


def _named() -> str:
    def label(key: str) -> str:
        return f"{_LABELS}[?'{key}'].orValue('')"

    job, cluster = label("training.kubeflow.org/job-name"), label("ray.io/cluster")
    job_set = "jobset.sigs.k8s.io/jobset"
    key = label("leaderworkerset.sigs.k8s.io/group-key")
    return (
        f"{label(f'{job_set}-name')} != '' ? 'jobset-' + ({label(f'{job_set}-uid')} != '' ? "
        f"{label(f'{job_set}-uid')} : {label(f'{job_set}-name')})"
        f" : {label('leaderworkerset.sigs.k8s.io/name')} != '' ? ({key} != '' ? 'lws-' + {key} : '')"
        f" : {job} != '' ? (variables.owners.exists(o, o.apiVersion.split('/')[0] in {_quoted(REPLICA_GROUPS)}"
        " && o.kind != 'MPIJob') ? "
        f"variables.owners[0].kind.lowerAscii() + '-' + variables.owners[0].uid : 'mpijob-' + {job})"
        f" : {cluster} != '' && {label('ray.io/node-type')} in ['head', 'worker'] ? "
        f"'raycluster-' + (variables.owners.size() > 0 ? variables.owners[0].uid : {cluster}) : ''"
    )


def _marking(words: str) -> str:
    """Return the expression of the patches that mark a pod; ``words`` is the expression of the annotation's value."""

    def added(field: str, value: str) -> str:
        place = f"/metadata/{field}"
        whole = f"[JSONPatch{{op: 'add', path: '{place}', value: {{'{FLOOR_KEY}': {value}}}}}]"
        one = f"[JSONPatch{{op: 'add', path: '{place}/{FLOOR_KEY.replace('/', '~1')}', value: {value}}}]"
        return f"(has(object.metadata.{field}) ? {one} : {whole})"

    return f"{added('labels', repr(FLOOR_VALUE))} + {added('annotations', words)}"


def _patches() -> str:
    mark = "variables.missing.map(t, t.key + (t.operator == 'Equal' ? '=' + t.value : '') + ':' + t.effect)"
    marking = _marking(f"({mark} + (variables.gang == '' ? [] : ['gang'])).join(' ')")
    gang = "[JSONPatch{op: 'add', path: '/metadata/labels/podberth.io~1gang', value: variables.gang}]"
    return f"{marking} + {_tolerating('missing')} + (variables.gang == '' ? [] : {gang})"


def _tolerating(variable: str) -> str:
    """Return the expression of the patch that adds the tolerations of a variable to the pod's own."""
    value = f"variables.own + variables.{variable}"
    patch = f"[JSONPatch{{op: 'add', path: '/spec/tolerations', value: {value}}}]"
    return f"(variables.{variable}.size() == 0 ? [] : {patch})"


def _mutating(name: str, description: str, *, param: bool, **spec: Any) -> list[Document]:
    params, ref = ({"paramKind": _PARAM_KIND}, {"paramRef": _PARAM_REF}) if param else ({}, {})
    metadata = {"name": name, "annotations": {DESCRIPTION: description}}
    policy = {"failurePolicy": "Ignore", "reinvocationPolicy": "Never", **params, **spec}
    return [
        {"apiVersion": API_VERSION, "kind": MUTATING, "metadata": metadata, "spec": policy},
        {
            "apiVersion": API_VERSION,
            "kind": MUTATING_BINDING,
            "metadata": {"name": name},
            "spec": {"policyName": name, **ref},
        },
    ]


def _json_patch(expression: str) -> list[Document]:
    return [{"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}]


def _variables(**expressions: str) -> list[Document]:
    return [{"name": name, "expression": expression} for name, expression in expressions.items()]


def creations() -> list[Document]:
    """Return the policy that writes tolerations and the gang's label on new pods that ask for accelerators."""
    return _mutating(
        FLOOR_PARAMS,
        "A new pod tolerates the taints of the accelerators that it asks for, and names its gang.",
        param=True,
        matchConstraints=_constraints("CREATE"),
        matchConditions=[_NOT_EXEMPT, NO_MIRROR_POD, {"name": "asks-for-accelerators", "expression": _asks()}],
        variables=_variables(
            tolerable=_tolerable(),
            taints=_taints(),
            wanted=_WANTED,
            own="object.spec.?tolerations.orValue([])",
            missing=_MISSING,
            owners="object.metadata.?ownerReferences.orValue([]).filter(o, o.?controller.orValue(false))",
            named=_named(),
            gang=_gang(),
        ),
        mutations=_json_patch(_patches()),
    )


def updates() -> list[Document]:
    """Return the policy that gives an updated pod back the tolerations that the floor wrote on it.

    A manifest that is applied again lacks them, and the API server refuses to take a toleration from a pod.
    """
    text = "toleration.?key.orValue('') + (toleration.?operator.orValue('') == 'Equal' ? "
    text += "'=' + toleration.?value.orValue('') : '') + ':' + toleration.?effect.orValue('')"
    words = f"oldObject.metadata.?annotations[?'{FLOOR_KEY}'].orValue('')"
    lost = f"oldObject.spec.?tolerations.orValue([]).filter(toleration, {text} in variables.words && "
    lost += "!(toleration in variables.own))"
    patches = f"{_marking(words)} + {_tolerating('lost')}"
    return _mutating(
        f"{FLOOR_PARAMS}-updates",
        "An updated pod keeps the tolerations that podberth-floor wrote on it.",
        param=False,
        matchConstraints={**_constraints("UPDATE"), "objectSelector": _MARKED},
        matchConditions=[
            _NOT_EXEMPT,
            {"name": "not-being-deleted", "expression": "!has(object.metadata.deletionTimestamp)"},
            {"name": "spec-changed", "expression": "object.spec != oldObject.spec"},
        ],
        variables=_variables(words=f"{words}.split(' ')", own="object.spec.?tolerations.orValue([])", lost=lost),
        mutations=_json_patch(patches),
    )


def page() -> str:
    """Return the text of the file."""
    return _HEAD + as_text([*creations(), *updates(), *_converted(vendor_names())])


if __name__ == "__main__":
    sys.exit(main({PAGE: page()}))
