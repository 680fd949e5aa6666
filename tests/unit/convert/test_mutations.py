"""A converted mutation writes on each pod what the GPUPolicy writes, and what cannot be said is named."""

from collections import Counter
from typing import Any

import pytest
import yaml

from builders import container, pod
from converted import Both, back, cases, converted, random_pods, shipped_policies
from natives import apply_configuration, json_patch, mutating
from pages import ROOT
from podberth.convert.mutations import LEFT_OUT
from podberth.convert.patches import as_maps, as_object, as_patches, written_by_object, written_by_patches
from podberth.convert.result import Converted
from podberth.kube.schema import PodSchema
from podberth.lint.runner import lint
from podberth.policy.model import CONCERNS
from snapshots import environment, policy

SHIPPED = {name: (folder, text) for folder, name, text in shipped_policies()}
ENTRIES = {
    "labels": "labels: {team: \"'c'\", vendor: gpu.vendor, none: \"object.metadata.?annotations[?'x']\"}",
    "annotations": 'annotations: {gpus: "gpu.count > 1 ? optional.of(string(gpu.count)) : optional.none()"}',
    "a dyn value": "annotations: {copy: \"dyn(object.metadata.?labels[?'team'].orValue('none'))\"}",
    "when": "{when: gpu.kind == 'whole' && gpu.count > 1, labels: {size: \"'large'\"}}",
    "env": "env: {COUNT: string(gpu.count), MODE: \"gpu.count > 2 ? optional.of('x') : optional.none()\"}",
    "env when": "{when: gpu.count > 2, env: {MANY: \"'1'\"}}",
    "tolerations": "tolerations: \"[{'key': 'nvidia.com/gpu', 'operator': 'Exists'},"
    " {'key': 'team', 'value': object.metadata.?labels[?'team'].orValue('none'), 'effect': 'NoSchedule'}]\"",
    "tolerations when": "{when: \"'team' in object.metadata.?labels.orValue({})\","
    " tolerations: \"[{'key': string(object.metadata.labels['team']), 'operator': 'Exists', 'effect': 'NoExecute'}]\"}",
    "runtimeClassName": "{when: gpu.vendor == 'nvidia', runtimeClassName: \"gpu.count > 1 ? 'nvidia' : ''\"}",
    "applyConfiguration": "applyConfiguration: \"{'metadata': {'labels': {'n': string(gpu.count)}}, 'spec': {"
    "'activeDeadlineSeconds': 60, 'containers': object.spec.containers.map(c, {'name': c.name,"
    " 'env': [{'name': 'A', 'value': c.name}]})}}\"",
    "jsonPatch": "{when: '!has(object.spec.hostNetwork)', jsonPatch: \"[{'op': 'add', 'path': '/spec/priority',"
    " 'value': 5}] + (gpu.count > 1 ? [{'op': 'add', 'path': '/spec/volumes', 'value':"
    " [{'name': gpu.vendor}]}] : [])\"}",
}
TOLERANT: list[dict[str, Any]] = [
    {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
    {"operator": "Exists"},
    {"key": "team", "operator": "Equal", "value": "a"},
    {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5},
]


def of(*entries: str, scope: str = "All", more: str = "") -> str:
    listed = "\n".join(f"  - {each}" for each in entries)
    return policy("p", f"\n  scope: {scope}\n{more}  mutations:\n{listed}\n")


def pods(seed: str) -> list[dict[str, Any]]:
    """Return pods with what the entries look for: tolerations, labels, variables and a class of their own."""
    found = list(random_pods(seed, 60))
    for number, each in enumerate(found):
        spec = each["spec"]
        spec["tolerations"] = TOLERANT[: number % 5]
        if number % 4 == 0:
            spec["containers"][0]["env"] = [{"name": "COUNT", "value": "own"}]
            spec["runtimeClassName"] = "own"
        if number % 6 == 0:
            spec["containers"][-1]["envFrom"] = [{"prefix": "MO", "configMapRef": {"name": "m"}}]
    return found


def agree(both: Both, given: list[dict[str, Any]]) -> Counter[bool]:
    """Put pods to both forms, and return how many of them are changed."""
    seen: Counter[bool] = Counter()
    for each in given:
        before, ours, theirs = both.written(each)
        assert ours == theirs, each
        seen[ours != before] += 1
    return seen


def lines(found: Converted) -> list[str]:
    return [f"{each.where}: {each.message.removeprefix('left out: ')}" for each in found.left_out]


def test_each_mutation_is_converted_or_left_out_for_a_reason() -> None:
    assert set(CONCERNS) == {each for each in CONCERNS if f"{each}:" in str(ENTRIES)} | LEFT_OUT.keys()


@pytest.mark.parametrize("name", ENTRIES)
def test_both_forms_write_the_same(name: str) -> None:
    both = Both(of(ENTRIES[name]))
    assert not both.converted.left_out
    assert [each["kind"] for each in both.converted.documents] == [
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
    ]
    assert agree(both, pods(name))[True] > 5


def test_entries_one_after_the_other_write_the_same() -> None:
    entries = (
        "tolerations",
        "labels: {a: \"'b'\"}",
        "env: {A: \"'b'\"}",
        "a dyn value",
        "env: {A: \"'c'\", B: \"'d'\"}",
    )
    both = Both(of(*(ENTRIES.get(each, each) for each in entries)))
    assert [each.where for each in both.converted.left_out] == ["spec.mutations[3]"]
    assert agree(both, pods("all"))[True] > 50


def test_a_toleration_of_every_taint_is_written_by_neither() -> None:
    item = "{'key': object.metadata.?labels[?'none'].orValue(''), 'operator': 'Exists'}"
    assert not agree(Both(of(f'tolerations: "[{item}]"')), pods("every taint"))[True]
    without_key = Both(of("tolerations: \"[{'operator': 'Exists'}]\""))
    with pytest.raises(AssertionError, match="no such key: key"):  # the decision of the native policy, a denial
        without_key.written(pod(container("c")))


def test_the_shipped_policy_that_writes_natively_writes_the_same() -> None:
    [name] = [
        each for each, (_, text) in SHIPPED.items() if "MutatingAdmissionPolicy" in str(converted(text).documents)
    ]
    assert name == "arm64-gpu-nodes"
    folder, text = SHIPPED[name]
    agree(Both(text), [*cases()[folder], *random_pods(name, 20)])


def test_a_policy_that_writes_and_judges_is_two_and_back_one() -> None:
    validation = "  validations: [{expression: gpu.count < 9, message: m}]\n  validationActions: [Deny]\n"
    found = converted(of(ENTRIES["labels"], more=validation))
    assert [each["kind"].removesuffix("Binding") for each in found.documents] == [
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicy",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicy",
    ]
    again = back(found)
    assert not again.left_out
    [one] = again.documents
    assert [key for key in one["spec"] if key in ("mutations", "validations")] == ["mutations", "validations"]
    found.documents[0]["spec"]["failurePolicy"] = "Ignore"
    assert [each["metadata"]["name"] for each in back(found).documents] == ["p", "p.mutations"]


@pytest.mark.parametrize("name", ENTRIES)
def test_the_way_back_writes_the_same(name: str) -> None:
    text = of(ENTRIES[name])
    again = back(converted(text))
    assert not again.left_out
    one, other = Both(text), Both(yaml.safe_dump_all(again.documents))
    for each in pods(name):
        assert one.written(each)[1] == other.written(each)[1]


@pytest.mark.parametrize(
    ("entry", "where", "why"),
    [
        ("nodeSelector: {a: \"'b'\"}", "", "nodeSelector: which system places the pod's gang"),
        ("schedulerName: \"'x'\"", "", "schedulerName: which system"),
        ("priorityClassName: \"'x'\"", "", "priorityClassName: the API server has computed"),
        ("labels: {a: gang.name}", ".labels.a", "gang: "),
        ("{when: topology.known, labels: {a: \"'b'\"}}", ".when", "topology: "),
        ("tolerations: topology.nodes(gpu).tolerations", ".tolerations", "topology: "),
        (
            "tolerations: \"[{'key': 'a', 'tolerationSeconds': 5}]\"",
            ".tolerations",
            "expected type 'string' but found 'int'; in a native policy, the values of a list or a map have one type",
        ),
        ("applyConfiguration: \"{'spec': {'contaners': []}}\"", ".applyConfiguration", "Object: unknown field"),
        (
            "applyConfiguration: \"{'spec': {gpu.vendor: 1}}\"",
            ".applyConfiguration",
            "the name of the field is no literal",
        ),
    ],
)
def test_a_mutation_that_cannot_be_said_is_named_and_the_others_are_written(entry: str, where: str, why: str) -> None:
    found = converted(of(entry, "labels: {z: \"'z'\"}"))
    [line] = lines(found)
    assert line.startswith(f"spec.mutations[0]{where}: {why}")
    assert len(found.documents[0]["spec"]["mutations"]) == 1


def test_a_reason_and_what_ignore_means_are_named() -> None:
    more = "  failurePolicy: Ignore\n"
    found = converted(of("{labels: {a: \"'b'\"}, reason: \"'r'\"}", "labels: {c: \"'d'\"}", more=more))
    assert [each.split(": ")[0] for each in lines(found)] == ["spec.failurePolicy", "spec.mutations[0].reason"]
    assert not converted(of("labels: {a: \"'b'\"}", more=more)).left_out


def test_what_reads_an_earlier_write_is_named() -> None:
    second = "labels: {b: \"object.metadata.?labels[?'a'].orValue('')\"}"
    found = converted(of("labels: {a: \"'x'\"}", second))
    assert lines(found) == [
        "spec.mutations[1]: it reads what mutations[0] writes, and would natively see the new value"
    ]
    env = "env: {A: \"'b'\"}"
    assert not converted(of(env, "labels: {n: string(gpu.count)}")).left_out


def test_a_policy_for_updates_alone_writes_nothing_natively() -> None:
    rule = "{apiGroups: [''], apiVersions: [v1], operations: [UPDATE], resources: [pods]}"
    found = converted(of("labels: {a: \"'b'\"}", more=f"  matchConstraints: {{resourceRules: [{rule}]}}\n"))
    assert not found.documents
    assert lines(found) == ["spec.mutations: podberth writes on created pods alone, and no rule is about these"]


PODS = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["pods"]}
LABEL = apply_configuration("Object{metadata: Object.metadata{labels: {'a': 'b'}}}")


def native(*mutations: dict[str, Any]) -> Converted:
    return converted(yaml.safe_dump_all(mutating("m", *mutations, matchConstraints={"resourceRules": [PODS]})))


FACTS = "gpu.kind == 'mig' ? gpu.vendor + string(gpu.count) : string(gpu.perContainer)"


def compiled(*mutations: str) -> list[str]:
    """Return the problems of the policies that come of these mutations, each of a GPUPolicy's mutations."""
    some = "  scope: All\n  matchConditions: [{name: some, expression: gpu.count > 0}]\n  mutations:\n"
    texts = [policy(f"p{number}", f"\n{some}  - {each}\n") for number, each in enumerate(mutations)]
    files = [("p.yaml", yaml.safe_dump(document)) for text in texts for document in converted(text).documents]
    return [each.problem.message for each in lint(files, environment()).findings if each.rule == "invalid"]


def test_two_mutations_that_read_many_facts_are_beyond_the_bound_and_one_with_both_is_not() -> None:
    first, second = f'a: "{FACTS}"', f'b: "{FACTS}"'
    [beyond] = compiled(f"labels: {{{first}}}\n  - labels: {{{second}}}")
    page = (ROOT / "docs" / "convert.md").read_text(encoding="utf-8")
    said = beyond.partition("; ")[0]
    assert f"`{said}`" in page
    assert compiled(f"labels: {{{first}, {second}}}") == []
    assert compiled(f"labels: {{{first}}}", f"labels: {{{second}}}") == []


def test_a_native_policy_becomes_a_gpu_policy() -> None:
    patch = json_patch("has(object.spec.x) ? [] : [JSONPatch{op: 'add', path: '/spec/priority', value: 5}]")
    found = native(LABEL, json_patch("[JSONPatch{op: 'add', path: '/spec/priority', value: 5}]"))
    assert found.documents[0]["spec"]["mutations"] == [
        {"applyConfiguration": "{'metadata': {'labels': {'a': 'b'}}}"},
        {"jsonPatch": "[{'op': 'add', 'path': '/spec/priority', 'value': 5}]"},
    ]
    assert lines(found) == ["spec.matchConstraints.resourceRules[0]: podberth writes on created pods alone"]
    assert "undefined field 'x'" in lines(native(patch))[0]


def test_a_native_policy_that_reads_its_own_writes_is_named() -> None:
    found = native(LABEL, apply_configuration("Object{spec: Object.spec{hostname: object.metadata.labels['a']}}"))
    assert not found.documents
    assert lines(found)[0].startswith("spec.mutations[1]: it may read what mutations[0] writes")


LITERALS = {
    "{'metadata': {'labels': {'a': 'b'}}}": "Object{metadata: Object.metadata{labels: {'a': 'b'}}}",
    "{}": "Object{}",
    "true ? {'spec': {?'hostname': optional.of('a')}} : {}": "true ? "
    "Object{spec: Object.spec{?hostname: optional.of('a')}} : Object{}",
    "{'spec': {'containers': object.spec.containers.map(c, {'name': {'a': c.name}['a']})}}": "Object{spec: "
    "Object.spec{containers: object.spec.containers.map(c, Object.spec.containers{name: {'a': c.name}['a']})}}",
    "variables.whole": "variables.whole",
}


@pytest.mark.parametrize("maps", LITERALS)
def test_literals_have_types_where_the_fields_say_so(maps: str) -> None:
    typed = as_object(maps, PodSchema.packaged())
    assert typed == LITERALS[maps]
    assert as_maps(typed) == maps


def test_the_operations_of_a_patch_have_types_and_their_values_none() -> None:
    maps = "[{'op': 'add', 'path': '/a', 'value': {'op': 'x'}}] + ['b'].map(k, {'op': 'remove', 'path': k})"
    typed = "[JSONPatch{op: 'add', path: '/a', value: {'op': 'x'}}] + ['b'].map(k, JSONPatch{op: 'remove', path: k})"
    assert as_patches(maps) == typed
    assert as_maps(typed) == maps


def test_written_paths_end_where_they_are_not_known() -> None:
    schema = PodSchema.packaged()
    assert written_by_object("{'spec': {'hostname': 'a'}}", schema) == {("object", "spec", "hostname")}
    assert written_by_object("variables.whole", schema) == {("object",)}
    assert written_by_patches("[{'op': 'add', 'path': '/spec/containers/0/env', 'value': []}]") == {
        ("object", "spec", "containers")
    }
    assert written_by_patches("[{'op': 'add', 'path': '/metadata/labels/' + 'a', 'value': 'b'}]") == {
        ("object", "metadata", "labels")
    }
    assert written_by_patches("[{'op': 'remove', 'path': variables.path}]") == {("object",)}
