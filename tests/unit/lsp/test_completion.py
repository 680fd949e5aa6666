"""Completions of keys, values and names of CEL."""

from dataclasses import replace
from pathlib import Path

import pytest

from editing import FILE, HEAD, MARK, PARAMS, VALIDATING, WITH_PARAMS, checkers, completed, diagnosed, labels, part
from podberth.cel.compile_limits import MAX_TEXT_BYTES
from podberth.cli.main import main
from podberth.lsp.answers.completion import Item, complete
from podberth.lsp.answers.document import OpenDocument, Question
from podberth.lsp.answers.text import Place, Text


def item(marked: str, label: str) -> Item:
    return next(each for each in completed(marked).items if each.label == label)


def with_expression(expression: str) -> str:
    return f'{HEAD}  validations:\n  - message: m\n    expression: "{expression}"\n'


# ---- documents ------------------------------------------------------------------------------------------------------


def test_the_keys_of_an_object_are_offered_without_those_that_it_has() -> None:
    found = labels(f"{HEAD}  order: 1\n  ^\n")
    assert {"scope", "variables", "mutations"} <= set(found)
    assert "order" not in found


def test_a_key_has_its_type_its_description_and_its_colon() -> None:
    found = item(f"{HEAD}  mutations:\n  - wh^\n", "when")
    assert (found.detail, found.insert) == ("CEL: bool", "when: ")
    assert found.meaning == "The condition of this entry; if it is false, the entry is skipped."
    assert item(f"{HEAD}  fail^: Fail\n", "failurePolicy").insert == "failurePolicy"


def test_a_key_of_an_object_that_begins_there_is_inserted_on_a_line_below() -> None:
    assert item(f"{HEAD}  mutations:\n  - topology: ^\n", "level").insert == "\n      level: "
    assert item(f"{HEAD}  matchConstraints: ^\n", "namespaceSelector").insert == "\n    namespaceSelector: "
    assert item(f"{HEAD}  mutations:\n  - {{topology: ^}}\n", "level").insert == "{level: }"
    assert item(f"{HEAD}  mutations:\n  - topology: lev^\n", "level").insert == "\n      level: "


def test_the_first_item_of_a_list_begins_the_list() -> None:
    assert item(f"{HEAD}  mutations: ^\n", "topology").insert == "\n  - topology: "
    assert item(f"{HEAD}  mutations:\n    ^\n", "topology").insert == "- topology: "
    assert item(f"{HEAD}  validationActions: De^\n", "Deny").insert == "[Deny]"
    assert item(f"{HEAD}  validationActions:\n  - ^\n", "Deny").insert == "Deny"
    assert item(f"{HEAD.replace('GPUPolicy', 'GPUPolicyException')}  policies: ^\n", "gpu-tolerations").insert == (
        "[gpu-tolerations]"
    )
    assert labels(f"{HEAD}  mutations: {{^}}\n") == []


@pytest.mark.parametrize(
    ("marked", "values"),
    [
        ("  failurePolicy: ^\n", ["Fail", "Ignore"]),
        ("  failurePolicy: Ig^\n", ["Fail", "Ignore"]),
        ("  validationActions: [^]\n", ["Deny", "Warn", "Audit"]),
        ("  validationActions:\n  - ^\n", ["Deny", "Warn", "Audit"]),
        ("  validationActions: ^\n", ["Deny", "Warn", "Audit"]),
        ("  disabled: ^\n", ["true", "false"]),
        ("  mutations:\n  - topology: {mode: ^\n", ["required", "preferred"]),
    ],
)
def test_the_values_of_a_field(marked: str, values: list[str]) -> None:
    assert labels(HEAD + marked) == values


def test_a_labels_key_is_anything_and_its_value_is_cel() -> None:
    assert labels(f"{HEAD}  mutations:\n  - labels: {{^}}\n") == []
    assert "kind" in labels(f'{HEAD}  mutations:\n  - labels: {{a: "gpu.^"}}\n')


def test_the_kinds_of_podberths_documents() -> None:
    text = HEAD.replace("kind: GPUPolicy", "kind: ^")
    assert labels(text) == ["GPUPolicy", "NamespacedGPUPolicy", "GPUPolicyException"]


@pytest.mark.parametrize(
    ("marked", "version"),
    [
        ("apiVersion: ^", "podberth.io/v1alpha1"),
        ("# mine\n---\napiVersion: podb^\n", "podberth.io/v1alpha1"),
        ("apiVersion: ^\nkind: GPUPolicyException\n", "podberth.io/v1alpha1"),
        ("apiVersion: adm^\nkind: ValidatingAdmissionPolicy\n", "admissionregistration.k8s.io/v1"),
    ],
)
def test_the_version_of_a_document_that_has_no_other_kind(marked: str, version: str) -> None:
    assert labels(marked)[:1] == [version]


@pytest.mark.parametrize("marked", ["^", "GPUP^", "# mine\n---\n^\n", "\napi^"])
def test_a_new_document_is_offered_whole_policies_and_an_exception_without_findings(marked: str) -> None:
    found = completed(marked).items
    assert [each.label for each in found] == ["GPUPolicy", "GPUPolicy with validations", "GPUPolicyException"]
    for each in found:
        assert each.kind == "skeleton"
        assert diagnosed(each.insert) == ()
        assert "name: ${1:my-" in each.snippet


def test_new_tests_are_offered_a_whole_suite(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = OpenDocument("policy.yaml", Text(""))
    suite = replace(policy, file="folder/tests.yaml")
    for document in (policy, suite):
        item = complete(Question(document, Place(0, 0), checkers())).items[0]
        (tmp_path / document.file.rpartition("/")[2]).write_text(item.insert)
    assert main(["test", str(tmp_path)]) == 0
    assert "1 case" in capsys.readouterr().out


@pytest.mark.parametrize(
    "text", ["a: ^", "apiVersion: ^\nkind: Job", "  a^", "a\nb^", "apiVersion: apps/v1\nkind: Deployment\nspec:\n  ^"]
)
def test_other_documents_are_left_alone(text: str) -> None:
    assert labels(text) == []


def test_a_document_that_is_too_large_is_left_alone() -> None:
    assert labels(f"{HEAD}  order: 1\n  ^\n# {'x' * MAX_TEXT_BYTES}\n") == []


def test_an_exception_names_policies_beside_it_and_shipped_ones() -> None:
    exception = HEAD.replace("GPUPolicy", "GPUPolicyException") + "  policies: [^]\n"
    assert labels(exception, (f"{FILE}.b", HEAD.replace("name: a", "name: own"))) == ["own", "gpu-tolerations"]


def test_a_suite_has_its_own_fields() -> None:
    assert labels("cases:\n- name: a\n  ^\n", is_suite=True)[:3] == ["topology", "objects", "params"]
    assert "hgx-h100-8" in labels("topology:\n- shape: ^\n", is_suite=True)
    assert labels("cases:\n- name: a\n  expect: {verdict: ^}\n", is_suite=True)[0] == "admitted"


def test_a_pod_of_a_suite_has_the_fields_of_a_pod() -> None:
    pod = "cases:\n- name: a\n  pod:\n    spec:\n      containers:\n      - name: main\n        ^\n"
    found = labels(pod, is_suite=True)
    assert {"image", "resources"} <= set(found)
    assert "name" not in found
    assert "tolerations" in labels("cases:\n- expect:\n    patched:\n      spec:\n        ^\n", is_suite=True)
    assert labels("cases:\n- pod:\n    none:\n      ^\n", is_suite=True) == []


# ---- CEL ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "some"),
    [
        ("^", ["gpu", "object", "variables", "has", "sets.contains"]),
        ("gpu.^", ["count", "requests", "kind"]),
        ("gpu.requests.^", ["all", "filter", "map", "sortBy", "distinct"]),
        ("gpu.requests.all(r, r.^", ["resource", "profile"]),
        ("object.spec.containers.exists(c, c.resources.limits.exists(k, k.^", ["startsWith", "matches"]),
        ("object.spec.?affinity.^", ["nodeAffinity", "orValue", "hasValue"]),
        ("topology.nodes(gpu).withLinkDomain(2).^", ["exist", "terms", "narrowestLevel"]),
        ("mig.^", ["smallest", "parse", "known"]),
        ("sets.^", ["contains", "intersects"]),
        ("quantity('1').^", ["add", "isGreaterThan"]),
        ("dyn(gpu).^", ["startsWith", "map"]),
        ("request.userInfo.^", ["username", "groups"]),
        ("gpu.count > 0 &&\n       gang.^", ["size", "system"]),
    ],
)
def test_names_by_the_type_of_the_value_before_the_dot(expression: str, some: list[str]) -> None:
    found = labels(with_expression(expression))
    assert set(some) <= set(found)


def test_a_broken_rest_does_not_matter() -> None:
    assert "count" in labels(with_expression("(gpu.^ && [ =="))


def test_fields_and_functions_have_the_sentences_of_the_manual() -> None:
    field = item(with_expression("gpu.^"), "memoryMiB")
    assert (field.kind, field.detail) == ("field", "int")
    assert field.meaning.startswith("MiB of GPU memory that the pod declares")
    function = item(with_expression("mig.^"), "known")
    assert (function.kind, function.detail) == ("function", "known(string): bool")
    assert "some GPU model has this profile" in function.meaning
    assert "mig.known('1g.10gb')" in function.meaning
    assert item(with_expression("object.^"), "spec").detail == "PodSpec"


def test_the_typed_beginning_is_replaced() -> None:
    marked = with_expression("gpu.cou^")
    assert part(marked.replace(MARK, ""), completed(marked).replaced) == "cou"
    marked = f"{HEAD}  fail^"
    assert part(marked.replace(MARK, ""), completed(marked).replaced) == "fail"


def test_variables_are_those_above_with_the_types_of_their_expressions() -> None:
    variables = (
        f"{HEAD}  variables:\n  - name: nodes\n    expression: topology.nodes(gpu)\n"
        "  - name: second\n    expression: EXPRESSION\n  - name: third\n    expression: '1'\n"
    )
    assert labels(variables.replace("EXPRESSION", "variables.^")) == ["nodes"]
    assert "terms" in labels(variables.replace("EXPRESSION", "variables.nodes.^"))
    after = variables.replace("EXPRESSION", "gpu.") + "  validations:\n  - expression: variables.^\n"
    assert labels(after) == ["nodes", "second", "third"]
    assert item(after, "second").detail == "dyn"
    assert item(after, "nodes").detail == "Nodes"


def test_match_conditions_have_no_variables_and_no_namespace() -> None:
    found = labels(f"{HEAD}  matchConditions:\n  - name: a\n    expression: ^\n")
    assert {"variables", "namespaceObject"}.isdisjoint(found)
    assert "gpu" in found


def test_a_policy_of_a_namespace_sees_no_nodes() -> None:
    text = with_expression("^").replace("GPUPolicy", "NamespacedGPUPolicy")
    assert {"topology", "mig"}.isdisjoint(labels(text))


def test_the_keys_of_params_are_those_of_the_config_map_beside() -> None:
    marked = f"{WITH_PARAMS}  validations:\n  - expression: \"params.?data[?'^'].orValue('') == ''\"\n"
    assert labels(marked, PARAMS) == ["mode"]
    assert labels(marked) == []


@pytest.mark.parametrize(("resource", "offered"), [("pods", True), ("deployments", False)])
def test_a_native_policy_about_pods_has_the_fields_of_a_pod(resource: str, *, offered: bool) -> None:
    text = VALIDATING.replace("RESOURCE", resource) + "  validations:\n  - expression: object.spec.^\n"
    assert ("containers" in labels(text)) is offered


def test_a_native_policy_has_upstreams_names() -> None:
    text = VALIDATING.replace("RESOURCE", "pods") + "  validations:\n  - expression: ^\n"
    found = labels(text)
    assert {"authorizer", "object"} <= set(found)
    assert {"gpu", "topology", "params"}.isdisjoint(found)
    with_params = text.replace("spec:\n", "spec:\n  paramKind: {apiVersion: v1, kind: ConfigMap}\n")
    assert "params" in labels(with_params)
    assert "check" in labels(text.replace("^", "authorizer.group('').resource('pods').^"))


def test_a_native_policy_has_its_own_keys_with_descriptions() -> None:
    text = VALIDATING.replace("RESOURCE", "pods") + "  ^\n"
    assert "auditAnnotations" in labels(text)
    assert {"mutations", "order"}.isdisjoint(labels(text))
    assert all(each.meaning for each in completed(text).items)
    mutating = text.replace("ValidatingAdmission", "MutatingAdmission")
    assert {"mutations", "reinvocationPolicy"} <= set(labels(mutating))
