"""What ValidatingAdmissionPolicies decide, in the API server's words and order."""

from dataclasses import replace
from typing import Any

import pytest

from natives import NAMESPACES, USER, binding, compiled, config_map, judged, policy, read_all, rule, texts
from podberth.cel.engine import Environment, Late
from podberth.kube.schema import PodSchema
from podberth.native.refusals import MAX_VARIABLES
from podberth.native.request import creation_of, matched_kind
from podberth.native.resources import ResourceKind, Resources
from podberth.policy.compile import LATE

PARAMS = {"apiVersion": "v1", "kind": "ConfigMap"}
FAILS = "object.data.missing == 'a'"
ERROR = f"expression '{FAILS}' resulted in error: no such key: missing"


def with_params(expression: str = "object.data.key == params.data.key", **spec: Any) -> dict[str, Any]:
    return policy(expression, paramKind=PARAMS, **spec)


def param_ref(action: str = "Allow", **fields: Any) -> dict[str, Any]:
    return {"paramRef": {"parameterNotFoundAction": action, **fields}}


def limits(name: str, value: str, **labels: str) -> dict[str, Any]:
    return {**config_map(name, namespace="default", labels=labels), "data": {"key": value}}


def test_a_denial_is_in_the_api_servers_words_with_its_reason() -> None:
    validation = {"expression": "false", "message": "no", "reason": "Forbidden"}
    [denial] = judged(policy(validations=[validation]), binding())
    assert denial.text == "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no"
    assert (denial.action, denial.reason) == ("deny", "Forbidden")


def test_a_warning_is_in_the_api_servers_words() -> None:
    [warning] = judged(policy("1 == 2"), binding("Warn"))
    said = "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': failed expression: 1 == 2"
    assert (warning.action, warning.text) == ("warn", said)


def test_every_validation_and_every_binding_is_judged() -> None:
    found = judged(policy("1 == 2", "true", "3 == 4"), binding("Deny", "Audit"), binding("Warn", name="c"))
    assert [(each.action, each.binding, each.message[-6:]) for each in found] == [
        (action, name, expression)
        for name, actions in (("b", ("deny", "audit")), ("c", ("warn",)))
        for expression in ("1 == 2", "3 == 4")
        for action in actions
    ]


@pytest.mark.parametrize(
    ("failure_policy", "actions", "expected"),
    [
        ("Fail", ("Deny",), [("deny", ERROR)]),
        ("Fail", ("Warn",), [("warn", ERROR)]),
        ("Ignore", ("Deny",), []),
    ],
)
def test_an_error_goes_by_the_failure_policy_and_the_actions(
    failure_policy: str, actions: tuple[str, ...], expected: list[tuple[str, str]]
) -> None:
    validations = [{"expression": FAILS, "reason": "Forbidden"}]
    found = judged(policy(validations=validations, failurePolicy=failure_policy), binding(*actions))
    assert texts(found) == expected
    assert {each.reason for each in found} <= {"Invalid"}


def test_a_false_condition_skips_the_policy_even_where_another_fails() -> None:
    conditions = [{"name": "fails", "expression": FAILS}, {"name": "false", "expression": "false"}]
    assert not judged(policy("false", matchConditions=conditions), binding())
    assert texts(judged(policy("false", matchConditions=conditions[:1]), binding())) == [("deny", ERROR)]


def test_errors_of_several_conditions_are_one_message_equal_ones_once() -> None:
    other = "object.data.absent == 'a'"
    conditions = [{"name": name, "expression": each} for name, each in zip("abc", (FAILS, FAILS, other), strict=True)]
    assert texts(judged(policy("true", matchConditions=conditions[:2]), binding())) == [("deny", ERROR)]
    second = f"expression '{other}' resulted in error: no such key: absent"
    assert texts(judged(policy("true", matchConditions=conditions), binding())) == [("deny", f"[{ERROR}, {second}]")]


def test_a_condition_sees_no_namespace_and_no_variables() -> None:
    conditions = [{"name": "c", "expression": "namespaceObject == null"}]
    validations = "namespaceObject.metadata.labels.team == 'b'"
    assert judged(policy(validations, matchConditions=conditions), binding())
    problems = compiled(
        policy(
            "true",
            variables=[{"name": "v", "expression": "1"}],
            matchConditions=[{"name": "c", "expression": "variables.v == 1"}],
        )
    ).problems
    assert [each.where for each in problems] == ["spec.matchConditions[0].expression"]


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("'  got ' + object.data.key + '\\n'", "got a"),
        ("' '", "fixed"),
        ("'a\\nb'", "fixed"),
        ("object.data.missing", "fixed"),
        ("lists.range(300).map(i, 'twenty characters...').join()", "fixed"),
    ],
)
def test_a_message_expression_is_trimmed_or_falls_back(expression: str, message: str) -> None:
    validation = {"expression": "false", "messageExpression": f"string({expression})", "message": " fixed "}
    assert texts(judged(policy(validations=[validation]), binding())) == [("deny", message)]


def test_an_error_of_a_variable_names_it() -> None:
    variables = [{"name": "a", "expression": "object.data.missing"}, {"name": "b", "expression": "variables.a + 'x'"}]
    [denial] = judged(policy("variables.b == 'x'", variables=variables), binding())
    assert denial.message == (
        "expression 'variables.b == 'x'' resulted in error: composited variable \"b\" fails to evaluate: "
        'composited variable "a" fails to evaluate: no such key: missing'
    )


def test_each_params_object_is_judged_by_itself() -> None:
    objects = [limits("one", "a", set="x"), limits("two", "b", set="x"), limits("other", "c")]
    selected = binding(**param_ref(selector={"matchLabels": {"set": "x"}}))
    message = "'want ' + params.data.key"
    validations = [{"expression": "object.data.key == params.data.key", "messageExpression": message}]
    made = policy(validations=validations, paramKind=PARAMS)
    assert texts(judged(made, selected, objects=objects)) == [("deny", "want b")]


def test_params_are_null_without_a_param_ref() -> None:
    assert not judged(with_params("params == null"), binding())


@pytest.mark.parametrize("failure_policy", ["Fail", "Ignore"])
def test_missing_params_deny_whatever_the_actions(failure_policy: str) -> None:
    missing = binding("Warn", **param_ref("Deny", name="limits"))
    found = judged(with_params(failurePolicy=failure_policy), missing)
    said = "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
    assert texts(found) == ([("deny", said)] if failure_policy == "Fail" else [])
    assert not judged(with_params(), binding(**param_ref("Allow", name="limits")))


def test_params_of_no_namespace_are_those_of_the_requests_own() -> None:
    named = binding(**param_ref("Deny", name="limits"))
    assert not judged(with_params(), named, objects=[limits("limits", "a")])
    definition = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "r"}}
    [denial] = judged(with_params(), named, on=definition)
    assert "cannot use namespaced paramRef" in denial.message


def test_an_unknown_param_kind_is_not_judged() -> None:
    unknown = policy("true", paramKind={"apiVersion": "example.com/v1", "kind": "Limits"})
    [unjudged] = judged(unknown, binding(**param_ref(name="limits")))
    assert unjudged.action == "unjudged"
    assert "Limits" in unjudged.text


def test_params_may_be_of_a_kind_that_the_files_define() -> None:
    names = {"kind": "Limits", "plural": "limits"}
    spec = {"group": "example.com", "scope": "Cluster", "names": names, "versions": [{"name": "v1", "served": True}]}
    definition = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": spec}
    given = {"apiVersion": "example.com/v1", "kind": "Limits", "metadata": {"name": "one"}, "most": 3}
    made = policy("params.most > 3", paramKind={"apiVersion": "example.com/v1", "kind": "Limits"})
    found = judged(made, binding(**param_ref(name="one")), objects=[definition, given])
    assert texts(found) == [("deny", "failed expression: params.most > 3")]


def test_what_exceeds_the_engines_iterations_is_not_judged() -> None:
    loop = "lists.range(200).all(x, lists.range(200).all(y, x + y >= 0))"
    [unjudged] = judged(policy(loop, failurePolicy="Ignore"), binding())
    assert unjudged.action == "unjudged"


def test_audit_annotations_are_entries_and_their_errors_deny_whatever_the_actions() -> None:
    annotations = [
        {"key": "good", "valueExpression": "string(object.data.key)"},
        {"key": "blank", "valueExpression": "''"},
        {"key": "bad", "valueExpression": "string(object.data.missing)"},
    ]
    found = judged(policy(auditAnnotations=annotations), binding("Warn"))
    error = "expression 'string(object.data.missing)' resulted in error: no such key: missing"
    assert texts(found) == [("deny", error), ("audit", "p/good: a")]


@pytest.mark.parametrize(
    ("constraints", "matches"),
    [
        ({"resourceRules": [rule(apiGroups=["apps"])]}, False),
        ({"resourceRules": [rule(resources=["configmaps"])]}, True),
        ({"resourceRules": [rule(resources=["*/*"], scope="Cluster")]}, False),
        ({"resourceRules": [rule(operations=["UPDATE"])]}, False),
        ({"resourceRules": [rule(resourceNames=["object"])]}, True),
        ({"resourceRules": [rule()], "excludeResourceRules": [rule(resources=["configmaps"])]}, False),
        ({"resourceRules": [rule()], "namespaceSelector": {"matchLabels": {"team": "a"}}}, True),
        ({"resourceRules": [rule()], "namespaceSelector": {"matchLabels": {"team": "b"}}}, False),
        ({"resourceRules": [rule()], "objectSelector": {"matchLabels": {"team": "a"}}}, False),
    ],
)
def test_a_policy_and_a_binding_both_have_to_match(constraints: dict[str, Any], matches: bool) -> None:
    assert bool(judged(policy("false", matchConstraints=constraints), binding())) is matches
    assert bool(judged(policy("false"), binding(matchResources=constraints))) is matches


def test_native_policies_never_judge_native_policies() -> None:
    assert not judged(policy("false"), binding(), on=policy("true", name="other"))


def test_an_equivalent_resource_in_another_version_is_not_judged_but_matched() -> None:
    scaler = {"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "s"}}
    constraints = {"resourceRules": [rule(apiGroups=["autoscaling"], apiVersions=["v2"])]}
    [unjudged] = judged(policy("false", matchConstraints=constraints), binding(), on=scaler)
    assert unjudged.action == "unjudged"
    assert not judged(policy("false", matchConstraints={**constraints, "matchPolicy": "Exact"}), binding(), on=scaler)


def test_a_policy_that_does_not_compile_is_a_problem_and_judges_nothing() -> None:
    policies = compiled(policy("object.spec >", "{'a': 1}.transformMap(k, v, v).size() > 0"), binding())
    assert [each.where for each in policies.problems] == ["spec.validations[0].expression"] + [
        "spec.validations[1].expression"
    ] * (len(policies.problems) - 1)
    assert not policies.names


def test_what_judges_nothing_is_said() -> None:
    assert len(compiled(policy("true")).notes) == 1
    assert len(compiled(binding()).notes) == 1
    assert not compiled(policy("true"), binding()).notes


def test_a_reader_of_the_requester_is_named() -> None:
    made = policy("request.userInfo.username == 'someone'")
    assert list(compiled(made, binding()).reads_user()) == [("p", "request.userInfo")]
    assert not judged(made, binding())
    assert not list(compiled(policy("true"), binding()).reads_user())
    asks = policy("authorizer.path('/').check('get').allowed()")
    assert list(compiled(asks, binding()).reads_user()) == [("p", "authorizer")]


def test_an_unknown_resource_may_match_in_another_version_unless_matching_is_exact() -> None:
    constraints = {"resourceRules": [rule(apiGroups=["example.com"], apiVersions=["v1"])]}
    for match_policy, expected in (("Equivalent", True), ("Exact", False)):
        made = policy("true", matchConstraints={**constraints, "matchPolicy": match_policy})
        policies = compiled(made, binding())
        assert policies.may_match("example.com/v2") is expected
        assert policies.may_match("example.com/v1")
        assert not policies.may_match("example.org/v1")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"operations": ["UPDATE", "DELETE"]}, "no rule about creations"),
        ({"apiGroups": ["example.com"], "resources": ["foos"]}, "no rule about the creation of a resource that"),
        ({"apiGroups": ["apps"], "apiVersions": ["v1beta1"]}, "no rule about the creation of a resource that"),
        ({"resources": ["pods/exec"]}, "no rule about the creation of a resource that"),
        ({"apiGroups": ["authentication.k8s.io"]}, "no rule about the creation of a resource that"),
    ],
)
def test_a_policy_that_can_judge_no_creation_is_said_and_not_counted(changes: dict[str, Any], said: str) -> None:
    policies = compiled(policy("true", matchConstraints={"resourceRules": [rule(**changes)]}), binding())
    assert not policies.names
    [note] = policies.notes
    assert said in note


def test_a_policy_about_a_defined_resource_counts() -> None:
    names = {"kind": "Foo", "plural": "foos"}
    spec = {"group": "example.com", "scope": "Cluster", "names": names, "versions": [{"name": "v1", "served": True}]}
    made = policy("true", matchConstraints={"resourceRules": [rule(apiGroups=["example.com"], resources=["foos"])]})
    policies = compiled(made, binding(), objects=[{"kind": "CustomResourceDefinition", "spec": spec}])
    assert (policies.names, policies.notes) == (("p",), ())


def test_a_message_that_exceeds_the_engines_iterations_is_said_beside_the_denial() -> None:
    loop = "lists.range(200).all(x, lists.range(200).all(y, x + y >= 0)) ? 'a' : 'b'"
    validation = {"expression": "false", "message": "fixed", "messageExpression": loop}
    denial, unjudged = judged(policy(validations=[validation]), binding())
    assert (denial.action, denial.message) == ("deny", "fixed")
    assert unjudged.action == "unjudged"
    assert unjudged.message.startswith(f"expression '{loop}' resulted in error: ")


@pytest.mark.parametrize(
    ("version", "kind"),
    [
        ("authentication.k8s.io/v1", "TokenReview"),
        ("authorization.k8s.io/v1", "SubjectAccessReview"),
        ("authorization.k8s.io/v1", "LocalSubjectAccessReview"),
    ],
)
def test_reviews_are_never_judged(version: str, kind: str) -> None:
    assert not judged(policy("false"), binding(), on={"apiVersion": version, "kind": kind, "metadata": {"name": "a"}})


def test_the_first_rule_that_matches_an_equivalent_decides_which() -> None:
    event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": "default"}}
    known = Resources()
    creation, _ = creation_of(event, known, namespace="default", user=USER)
    assert creation is not None
    other = ResourceKind("other.example.com", "v1", "Event", "events", namespaced=True)
    creation = replace(creation, equivalents=[*creation.equivalents, other])
    rules = [rule(apiGroups=[group]) for group in ("other.example.com", "events.k8s.io")]
    [read] = read_all(policy("true", matchConstraints={"resourceRules": rules})).policies
    assert matched_kind(read.constraints, creation, NAMESPACES) == other
    [read] = read_all(policy("true", matchConstraints={"resourceRules": [*rules, rule(apiGroups=[""])]})).policies
    assert matched_kind(read.constraints, creation, NAMESPACES) == creation.kind


def chain(length: int) -> dict[str, Any]:
    """Return a policy with a chain of variables, of which the first fails."""
    variables = [{"name": "v0", "expression": "object.data.missing"}]
    variables += [{"name": f"v{at}", "expression": f"variables.v{at - 1}"} for at in range(1, length)]
    return policy(f"variables.v{length - 1} == ''", variables=variables)


def test_the_longest_chain_of_variables_is_judged_and_a_longer_one_is_a_problem() -> None:
    [denial] = judged(chain(MAX_VARIABLES), binding())
    assert denial.message.count("fails to evaluate") == MAX_VARIABLES
    found = read_all(chain(1200), binding())
    [problem] = found.problems
    assert problem.message == "got 1200 variables, of which podberth judges 256 at most; the API server more"
    assert found.refused == ()  # to compile it would take seconds


def test_the_params_of_a_policy_with_a_wrong_param_kind_are_not_reported_as_unknown() -> None:
    right = compiled(policy("params.x == unknown", paramKind={"apiVersion": "v1", "kind": "ConfigMap"})).problems
    wrong = compiled(policy("params.x == unknown", paramKind="ConfigMap")).problems
    assert [each.message for each in wrong] == [each.message for each in right] != []


def test_policies_are_compiled_under_one_deadline() -> None:
    begun = 0

    def begin() -> Late:
        nonlocal begun
        begun += 1
        return lambda: True

    over = Environment(PodSchema.packaged(), native=True, deadline=begin)
    found = compiled(policy("1 == 2"), policy("1 == 3", name="q"), within=over)
    assert [each.message for each in found.problems] == [LATE, LATE]
    assert begun == 1
