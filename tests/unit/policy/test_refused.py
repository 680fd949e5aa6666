"""The problems of the expressions in documents that are refused for other reasons."""

import json
from typing import Any

import pytest

from broken_policies import BROKEN
from podberth.admission.snapshot import load_snapshot
from podberth.cel.compile_limits import MAX_ENTRIES
from podberth.checking.run import over
from podberth.conventions import Conventions
from podberth.convert.folder import convert
from podberth.errors import PolicyError
from podberth.facts.cluster import ClusterFacts
from podberth.kube.yaml_text import as_yaml
from podberth.policy.parse import ParsedPolicies, parse_policies
from podberth.policy.refusals import MAX_AUDIT_ANNOTATIONS, MAX_MATCH_CONDITIONS
from podberth.policy.refused import problems_of_refused
from podberth.wellknown import API_VERSION, POLICY_KIND
from snapshots import environment, policy

VALIDATION = """
  validations:
  - {expression: object.spec.nodeSelectr != null, message: none}
  validationActions: [Deny]
"""
UNDEFINED = "spec.validations[0].expression: undefined field 'nodeSelectr' in PodSpec; did you mean nodeSelector?"


def compiled(parsed: ParsedPolicies) -> list[str]:
    return [f"{each.where}: {each.message}" for each in problems_of_refused(parsed, environment())]


def problems_of(text: str) -> list[str]:
    return compiled(parse_policies([("p.yaml", text)]))


@pytest.mark.parametrize(
    ("part", "instead"),
    [
        ("message: none", "mesage: none"),
        ("message: none", "message: 5"),
        ("message: none", "message: ' '"),
        ("[Deny]", "[deny]"),
        ("[Deny]", "[Deny, Warn]"),
        ("validationActions: [Deny]", ""),
        ("validationActions: [Deny]", "validationActions: [Deny]\n  rollout: 5"),
        ("validationActions: [Deny]", "validationActions: [Deny]\n  matchConstraints: {resourceRules: [{}]}"),
        ("validationActions: [Deny]", "validationActions: [Deny]\n  mutations: [{tolerationz: '[]'}]"),
        ("validationActions: [Deny]", "validationActions: [Deny]\n  mutations: [{gang: {nme: object.x}}]"),
        ("validationActions: [Deny]", "validationActions: [Deny]\n  variables: [{name: a, expresion: '1'}]"),
        ("validationActions: [Deny]", "validationActions: [Deny]\n  mutations: [{labels: {'a b': object.x}}]"),
        ("validationActions: [Deny]", "validationActions: [Deny]\n  matchCondition: [{name: a, expression: 'true'}]"),
        (
            "validationActions: [Deny]",
            "validationActions: [Deny]\n  matchConditions: [{name: a b, expression: object.x}]",
        ),
        ("name: p", "name: P"),
        ("metadata: {name: p}", "metadata: p"),
        ("metadata: {name: p}", ""),
        ("podberth.io/v1alpha1", "podberth.io/v1alpha1\nlabels: {}"),
    ],
)
def test_an_expression_is_compiled_whatever_else_is_wrong(part: str, instead: str) -> None:
    text = policy("p", VALIDATION)
    assert part in text
    parsed = parse_policies([("p.yaml", text.replace(part, instead))])

    assert parsed.policies == ()
    assert parsed.problems
    assert compiled(parsed) == [UNDEFINED]


def test_a_second_policy_of_the_same_name_is_compiled_too() -> None:
    assert problems_of(f"{policy('p', VALIDATION)}---\n{policy('p', VALIDATION)}") == [UNDEFINED]


def test_all_of_a_mutation_that_writes_two_things_is_compiled() -> None:
    mutation = "{tolerations: '[gpu.cuont]', labels: {a: gpu.knd}, gang: {name: gang.nam}}"
    assert len(problems_of(policy("p", f"\n  mutations: [{mutation}]"))) == 3


def test_the_other_fields_of_a_mutation_with_a_misspelt_one_are_compiled() -> None:
    assert problems_of(policy("p", "\n  mutations:\n  - {when: gpu.cuont > 0, tolerationz: '[]'}")) == [
        "spec.mutations[0].when: undefined field 'cuont' in Gpu; did you mean count?"
    ]


@pytest.mark.parametrize(
    "field",
    [
        "vars: [{name: a, expression: '1'}]",
        "variables: [{nme: a, expression: '1'}]",
        "variables: [{name: a-b, expression: '1'}]",
    ],
)
def test_variables_that_cannot_be_read_are_not_reported_as_unknown(field: str) -> None:
    text = policy("p", f"\n  {field}\n  validations: [{{expression: variables.a == 1}}]\n  validationActions: [Deny]\n")
    parsed = parse_policies([("p.yaml", text)])

    assert parsed.problems
    assert compiled(parsed) == []


def test_who_loads_or_converts_policies_gets_all_problems() -> None:
    parsed = parse_policies([("p.yaml", policy("p", VALIDATION.replace("message:", "mesage:")))])
    ways = (
        lambda: load_snapshot(parsed, ClusterFacts(), environment(), Conventions()),
        lambda: convert(parsed, environment(), environment()),
    )
    for way in ways:
        with pytest.raises(PolicyError) as caught:
            way()
        assert [each.where for each in caught.value.problems] == [
            "spec.validations[0].expression",
            "spec.validations[0].mesage",
        ]


def test_a_problem_at_the_same_field_of_another_document_hides_no_problem() -> None:
    wrong = policy("a", VALIDATION.replace("object.spec.nodeSelectr != null", "5"))
    assert problems_of(f"{wrong}---\n{policy('b', VALIDATION)}  oder: 5\n") == [UNDEFINED]


@pytest.mark.parametrize("value", ["5", "' '", "|\n     \n", "[]", "", ">-\n    \n"])
@pytest.mark.parametrize("field", ["tolerations", "when", "reason"])
def test_a_wrong_value_in_the_place_of_an_expression_has_one_problem(field: str, value: str) -> None:
    assert problems_of(policy("p", f"\n  mutations:\n  - labels: {{a: '\"b\"'}}\n    {field}: {value}\n")) == []


@pytest.mark.parametrize("value", ["5", "' '", "|\n     \n", "[]", ""])
def test_a_wrong_value_in_the_place_of_a_condition_has_one_problem(value: str) -> None:
    assert problems_of(policy("p", f"\n  matchConditions:\n  - name: a\n    expression: {value}\n")) == []
    annotation = f"\n  auditAnnotations:\n  - key: a\n    valueExpression: {value}\n"
    assert problems_of(policy("p", annotation)) == []


def test_a_disabled_policy_is_not_compiled() -> None:
    assert problems_of(policy("p", f"{VALIDATION}  disabled: true\n  oder: 5")) == []


@pytest.mark.parametrize(
    ("field", "entry", "limit"),
    [
        ("variables", {"name": "v", "expression": "1 +"}, MAX_ENTRIES),
        ("validations", {"expression": "1 +", "message": "m"}, MAX_ENTRIES),
        ("mutations", {"tolerations": "1 +"}, MAX_ENTRIES),
        ("matchConditions", {"name": "c", "expression": "1 +"}, MAX_MATCH_CONDITIONS),
        ("auditAnnotations", {"key": "k", "valueExpression": "1 +"}, MAX_AUDIT_ANNOTATIONS),
    ],
)
def test_a_policy_with_more_entries_than_the_limit_is_not_compiled(
    field: str, entry: dict[str, str], limit: int
) -> None:
    found = [
        problems_of(policy("p", f"\n  oder: 5\n  {field}: {json.dumps([entry] * number)}\n"))
        for number in (limit, limit + 1)
    ]
    assert found[0]
    assert found[1] == []


def test_a_policy_with_more_bytes_of_expressions_than_the_limit_is_not_compiled() -> None:
    long = f"1 + {' ' * 5_000}"
    assert problems_of(policy("p", f"\n  oder: 5\n  matchConditions: {json.dumps(conditions(long, 14))}\n")) == []
    assert problems_of(policy("p", f"\n  oder: 5\n  matchConditions: {json.dumps(conditions(long, 2))}\n"))


def conditions(expression: str, number: int) -> list[dict[str, str]]:
    return [{"name": f"c{at}", "expression": expression} for at in range(number)]


def test_policies_of_namespaces_and_exceptions_are_compiled_by_their_own_names() -> None:
    text = policy("p", VALIDATION.replace("[Deny]", "[deny]").replace("object.spec.nodeSelectr != null", "mig == null"))
    text = text.replace("kind: GPUPolicy", "kind: NamespacedGPUPolicy").replace("name: p", "name: p, namespace: team")
    exception = """\
apiVersion: podberth.io/v1alpha1
kind: GPUPolicyException
metadata: {name: e}
spec: {policy: a, policies: [a], namespaces: [team], expression: params.x, reason: r, requestedBy: t,
  expiresAt: '2030-01-01T00:00:00Z'}
"""
    assert [each.partition(";")[0] for each in problems_of(f"{text}---\n{exception}")] == [
        "spec.validations[0].expression: mig is not available here",
        "spec.expression: params is not available here",
    ]


def test_a_check_reports_the_refused_documents_of_files_and_of_the_cluster() -> None:
    files, cluster = (parse_policies([(f"{name}.yaml", policy(name, VALIDATION + "  oder: 5"))]) for name in "ab")

    assert compiled(over(files, [cluster])) == [UNDEFINED] * 2


@pytest.mark.parametrize("spec", [spec for spec, _ in BROKEN])
def test_leaving_a_wrong_field_out_makes_no_problem_of_an_expression(spec: dict[str, Any]) -> None:
    document = {"apiVersion": API_VERSION, "kind": POLICY_KIND, "metadata": {"name": "p"}, "spec": spec}
    parsed = parse_policies([("p.yaml", as_yaml(document))])

    assert parsed.problems
    assert compiled(parsed) == []
