"""What MutatingAdmissionPolicies make of an object, in order, with errors and a second pass."""

from typing import Any

import pytest

from natives import apply_configuration, config_map, environment, json_patch, located, mutating, rule
from podberth.cel.engine import ReviewContext
from podberth.conventions import Conventions
from podberth.native.documents import read
from podberth.native.mutating import Mutated, MutatingPolicies
from podberth.native.params import Objects
from podberth.native.request import creation_of
from podberth.native.resources import Resources
from podberth.topology.index import TopologyIndex
from podberth.topology.need import Need

_LABEL = "Object{metadata: Object.metadata{labels: {'a': 'b'}}}"


def mutated(*documents: dict[str, Any], of: dict[str, Any] | None = None) -> Mutated:
    resources = Resources()
    found = read(located(*documents))
    review = ReviewContext(TopologyIndex.build([], Conventions()), Need())
    policies = MutatingPolicies(found, environment(), review, Objects([], resources, "default"), {})
    assert not found.problems, found.problems
    assert not policies.problems, policies.problems
    document = of or config_map("a")
    creation, problems = creation_of(document, resources, namespace="default", user={}, received=True)
    assert creation is not None, problems
    return policies.mutate(creation)


def test_each_mutation_sees_what_the_earlier_ones_wrote() -> None:
    path = "'/metadata/labels/' + jsonpatch.escapeKey('x/y')"
    escaped = f"[JSONPatch{{op: 'add', path: {path}, value: object.metadata.labels.a}}]"
    done = mutated(*mutating("p", apply_configuration(_LABEL), json_patch(escaped)))
    assert done.creation.object["metadata"]["labels"] == {"a": "b", "x/y": "b"}
    assert [each.policy for each in done.writes] == ["p"]


@pytest.mark.parametrize(
    ("mutation", "said"),
    [
        (apply_configuration("Object{unknown: 1}"), "unknown field"),
        (apply_configuration("Object{data: Object.metadata{a: 'b'}}"), "type mismatch"),
        (apply_configuration("Object{data: null}"), "data: got null"),
        (apply_configuration("Object{metadata: Object.metadata{labels: {'a': null}}}"), "metadata.labels.a: got null"),
        (json_patch("[JSONPatch{op: 'remove', path: '/data/none'}]"), "JSON Patch"),
    ],
)
def test_an_error_denies_under_fail_and_the_rest_is_written_under_ignore(mutation: dict[str, Any], said: str) -> None:
    [denial] = mutated(*mutating("p", mutation)).decisions
    assert denial.text.startswith("policy 'p' with binding 'p' denied request: ")
    assert said in denial.text
    done = mutated(*mutating("p", mutation, apply_configuration(_LABEL), failurePolicy="Ignore"))
    assert (done.decisions, done.creation.object["metadata"]["labels"]) == ([], {"a": "b"})


def deployment() -> dict[str, Any]:
    container = {"name": "main", "image": "web:1"}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "replicas": 3, "template": template}
    metadata = {"name": "web", "labels": {"team": "a"}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


@pytest.mark.parametrize(
    ("number", "written"), [("4294967298", 2), ("-2147483649", 2147483647), ("2147483647", 2147483647), ("2.0", 2)]
)
def test_a_merged_number_keeps_the_bits_of_its_field(number: str, written: int) -> None:
    done = mutated(
        *mutating("p", apply_configuration(f"Object{{spec: Object.spec{{replicas: {number}}}}}")), of=deployment()
    )
    assert (done.decisions, done.creation.object["spec"]["replicas"]) == ([], written)


@pytest.mark.parametrize("number", ["2147483648", "-2147483649", "9007199254740993", "99999999999u", "1e20"])
def test_a_patched_number_that_its_field_cannot_hold_is_an_error_of_the_api_server(number: str) -> None:
    patch = f"[JSONPatch{{op: 'add', path: '/spec/replicas', value: {number}}}]"
    [denial] = mutated(*mutating("p", json_patch(patch), failurePolicy="Ignore"), of=deployment()).decisions
    assert denial.text.startswith("Internal error occurred: object.spec.replicas: got ")


def test_a_patched_number_that_no_double_holds_is_a_text() -> None:
    patch = "[JSONPatch{op: 'add', path: '/metadata/labels/n', value: 9007199254740993}]"
    done = mutated(*mutating("p", json_patch(patch)), of=deployment())
    assert done.creation.object["metadata"]["labels"] == {"team": "a", "n": "9007199254740993"}


def test_an_unsigned_number_is_not_merged() -> None:
    mutation = apply_configuration("Object{spec: Object.spec{replicas: 2u}}")
    [denial] = mutated(*mutating("p", mutation), of=deployment()).decisions
    assert "replicas: expected numeric (int or float), got uint64" in denial.text


@pytest.mark.parametrize(
    ("operation", "labels"),
    [
        ("op: 'copy', from: '/metadata/none', path: '/metadata/labels/x'", {"team": "a", "x": ""}),
        ("op: 'add', path: '/metadata/labels/x'", {"team": "a", "x": ""}),
        ("op: 'add', path: '/metadata/labels/x', value: null", {"team": "a", "x": ""}),
        ("op: 'replace', path: '/metadata/labels/team'", {"team": ""}),
        ("op: 'copy', from: '/spec/none', path: '/spec/replicas'", {"team": "a"}),
        ("op: 'add', path: '/spec/template/spec/priorityClassName'", {"team": "a"}),
    ],
)
def test_a_patch_without_a_value_writes_null_which_is_read_as_the_type_says(
    operation: str, labels: dict[str, str]
) -> None:
    done = mutated(*mutating("p", json_patch(f"[JSONPatch{{{operation}}}]")), of=deployment())
    assert (done.decisions, done.creation.object["metadata"]["labels"]) == ([], labels)
    assert "priorityClassName" not in done.creation.object["spec"]["template"]["spec"]
    assert done.creation.object["spec"]["replicas"] in (1, 3)  # 1 is the default


@pytest.mark.parametrize(("index", "images"), [("-0", ["b", "web:1"]), ("+0", ["b", "web:1"]), ("+1", ["web:1", "b"])])
def test_an_index_may_have_a_sign(index: str, images: list[str]) -> None:
    path = f"/spec/template/spec/containers/{index}"
    patch = f"[JSONPatch{{op: 'add', path: '{path}', value: {{'name': 'b', 'image': 'b'}}}}]"
    done = mutated(*mutating("p", json_patch(patch)), of=deployment())
    assert [each["image"] for each in done.creation.object["spec"]["template"]["spec"]["containers"]] == images


@pytest.mark.parametrize(
    "mutation",
    [
        apply_configuration("Object{metadata: Object.metadata{labels: ['a']}}"),
        apply_configuration("Object{metadata: ['a']}"),
        json_patch("[JSONPatch{op: 'add', path: '/metadata/labels', value: ['a']}]"),
        json_patch("[JSONPatch{op: 'add', path: '/metadata', value: ['a']}]"),
        json_patch("[JSONPatch{op: 'add', path: '/metadata/finalizers', value: {'a': 'b'}}]"),
    ],
)
def test_a_list_in_place_of_a_map_denies(mutation: dict[str, Any]) -> None:
    [denial] = mutated(*mutating("p", mutation)).decisions
    assert denial.action == "deny"


def test_what_has_no_type_is_not_emptied() -> None:
    document = config_map("a")
    document["metadata"]["managedFields"] = [{"manager": "m", "fieldsV1": {"f:data": {}}}]
    done = mutated(*mutating("p", json_patch("[JSONPatch{op: 'add', path: '/data/b', value: 'c'}]")), of=document)
    assert done.creation.object["metadata"].get("managedFields", document["metadata"]["managedFields"]) == [
        {"manager": "m", "fieldsV1": {"f:data": {}}}
    ]


def test_a_failed_test_leaves_the_object_without_an_error() -> None:
    patch = json_patch("[JSONPatch{op: 'test', path: '/kind', value: 'Pod'}, JSONPatch{op: 'remove', path: '/data'}]")
    done = mutated(*mutating("p", patch))
    assert (done.decisions, done.writes) == ([], [])


def test_what_the_api_server_cannot_read_denies_whatever_the_failure_policy() -> None:
    patch = json_patch("[JSONPatch{op: 'add', path: '/data', value: 1}]")
    [denial] = mutated(*mutating("p", patch, failurePolicy="Ignore")).decisions
    assert (denial.action, denial.reason) == ("deny", "InternalError")


def test_if_needed_is_asked_twice_and_never_once() -> None:
    longer = "Object{data: {'n': object.?data.?n.orValue('') + 'x'}}"
    once = mutated(*mutating("p", apply_configuration(longer)))
    twice = mutated(*mutating("p", apply_configuration(longer), reinvocationPolicy="IfNeeded"))
    assert (once.creation.object["data"]["n"], twice.creation.object["data"]["n"]) == ("x", "xx")


def test_policies_whose_order_counts_are_noted() -> None:
    rows = [mutating(each, apply_configuration(f"Object{{data: {{'a': '{each}'}}}}")) for each in "pq"]
    done = mutated(*(document for row in rows for document in row))
    assert [each.action for each in done.decisions] == ["note"]
    assert done.creation.object["data"]["a"] == "q"


def test_deletions_and_two_patches_in_one_mutation_are_refused() -> None:
    both = {**json_patch("[JSONPatch{}]"), **apply_configuration("Object{}")}
    rules = {"resourceRules": [rule(operations=["DELETE"])]}
    documents = located(*mutating("p", both, matchConstraints=rules))
    where = [str(each.where) for each in read(documents).problems]
    assert [each.rpartition(".")[2] for each in where] == ["operations", "jsonPatch"]
