"""What the rules find beyond their manuals' examples, and what they leave alone."""

import pytest

from exceptions import exception
from lint_findings import found, spec
from tenants import own_policy

WHOLE = "gpu.kind == 'whole'"
LABEL = "labels: {example.com/a: gpu.kind}"


def conditions(*expressions: str, when: str = "") -> str:
    rows = "".join(f"- name: c{index}\n  expression: >-\n    {text}\n" for index, text in enumerate(expressions))
    guard = f"  when: >-\n    {when}\n" if when else ""
    return spec(
        f"matchConditions:\n{rows}mutations:\n- {LABEL}\n{guard}" if rows else f"mutations:\n- {LABEL}\n{guard}"
    )


@pytest.mark.parametrize(
    "expressions",
    [
        ["false"],
        ["gpu.kind == 'gpu'"],
        ["1 > 2"],
        ["1 + 1 == 3"],
        ["'a' + 'b' != 'ab'"],
        ["'nvidia.com/gpu'.startsWith('amd.com/')"],
        ["['a', 'b'].size() > 'abc'.size()"],
        ["gpu.count < 0"],
        ["gpu.kind == 'none' && gpu.count > 0"],
        ["gpu.kind == 'none' && !gang.known"],
        [WHOLE, "gpu.kind == 'mig'"],
        [WHOLE, "gpu.kind in ['mig', 'shared']"],
        ["gpu.count == 1", "gpu.count > 1"],
        ["gpu.perContainer > 0", "gpu.count == 0"],
        ["gang.system == 'slurm'"],
        ["has(object.spec.nodeName)", "!has(object.spec.nodeName)"],
        ["'a' in object.metadata.labels", "!object.metadata.?labels[?'a'].hasValue()"],
        ["object.metadata.?labels[?'a'].orValue('') == 'x'", "!('a' in object.metadata.labels)"],
        ["object.spec.containers.size() < 0"],
        ["object.spec.containers.exists(c, c.name == 'a')", "!object.spec.containers.exists(c, c.name == 'a')"],
    ],
)
def test_conditions_that_exclude_each_other_are_unreachable(expressions: list[str]) -> None:
    [finding] = found(conditions(*expressions), "unreachable")

    assert finding.problem.where == f"spec.matchConditions[{len(expressions) - 1}].expression"


@pytest.mark.parametrize(
    "expressions",
    [
        ["gpu.kind in ['whole', 'mig']", WHOLE],
        ["gpu.count > 1", "gpu.count < 3"],
        ["9223372036854775807 + 1 > 0"],
        ["'' + gpu.kind == 'whole'"],
        ["[?object.spec.?nodeName].size() == 0"],
        ["object.metadata.?labels[?'a'].orValue('x') == 'x'", "!object.metadata.?labels[?'a'].hasValue()"],
        ["gang.known && gpu.kind == 'none'"],
        ["object.metadata.name == 'a'", "object.metadata.namespace == 'b'"],
        ["object.spec.containers.exists(c, c.name == 'a')", "object.spec.containers.exists(c, c.name == 'b')"],
        ["quantity('1.5').asApproximateFloat() > 1.0", "object.metadata.name < 'a'"],
    ],
)
def test_conditions_that_can_hold_together_are_left_alone(expressions: list[str]) -> None:
    assert found(conditions(*expressions), "unreachable") == ()


def test_a_when_is_looked_at_with_the_conditions_and_the_variables() -> None:
    text = (
        "matchConditions:\n- {name: c, expression: gpu.count > 1}\n"
        "variables:\n- {name: one, expression: gpu.count == 1}\n"
    )
    [finding] = found(spec(f"{text}mutations:\n- {LABEL}\n  when: variables.one\n"), "unreachable")

    assert (finding.problem.where, "where the matchConditions hold" in finding.problem.message) == (
        "spec.mutations[0].when",
        True,
    )


@pytest.mark.parametrize("expression", ["true", "gpu.count >= 0", "gpu.kind != 'none' || gang.known", "1 < 2"])
def test_a_condition_that_says_nothing_is_reported(expression: str) -> None:
    assert len(found(conditions(expression), "always-true")) == 1


def test_a_policy_that_is_only_about_updates_needs_no_other_pods_than_those_that_are_sent() -> None:
    rule = "{operations: [UPDATE], apiGroups: [''], apiVersions: [v1], resources: [pods]}"
    judged = "validations:\n- {expression: gpu.count < 9, message: m}\nvalidationActions: [Deny]\n"
    every = spec(f"scope: All\n{judged}")

    assert [each.problem.where for each in found(every, "needs-every-pod")] == ["spec.scope"]
    assert (
        found(
            every.replace("  scope: All\n", f"  scope: All\n  matchConstraints: {{resourceRules: [{rule}]}}\n"),
            "needs-every-pod",
        )
        == ()
    )


def test_a_level_without_a_gang_before_it_is_reported() -> None:
    topology = "- topology: {level: \"'example.com/rack'\", mode: preferred}\n"
    gang = "- gang: {name: gang.name, size: gang.size}\n"
    member = "matchConditions:\n- {name: c, expression: gang.known}\nmutations:\n"

    assert [each.problem.where for each in found(spec(member + topology), "topology-without-gang")] == [
        "spec.mutations[0].topology"
    ]
    assert found(spec(member + gang + topology), "topology-without-gang") == ()


def test_the_scheduler_of_a_group_system_wants_a_group() -> None:
    gang = "- gang: {name: gang.name, size: gang.size, system: \"'koordinator'\"}\n"
    member = "matchConditions:\n- {name: c, expression: gang.known}\nmutations:\n"
    volcano = "- {schedulerName: \"gpu.count > 1 ? 'volcano' : ''\"}\n"

    assert [str(each.problem.message) for each in found(spec(member + volcano), "scheduler-without-group")] == [
        "Volcano starts pods of no group one by one, and this makes no group (docs/systems.md)"
    ]
    assert found(spec(member + gang + volcano), "scheduler-without-group") == ()
    assert found(spec(member + "- {schedulerName: \"'bin-packer'\"}\n"), "scheduler-without-group") == ()


def test_what_is_true_of_one_scope_only_is_reported_there_alone() -> None:
    text = conditions("gpu.kind != 'none' || gang.known").replace("spec:\n", "spec:\n  scope: All\n")

    assert found(text, "always-true") == ()


def test_a_literal_false_is_meant() -> None:
    text = (
        f"matchConditions:\n- {{name: c, expression: {WHOLE}}}\n"
        "validations:\n- {expression: '%s', message: never}\nvalidationActions: [Deny]\n"
    )

    assert found(spec(text % "false"), "constant-validation") == ()
    assert len(found(spec(text % "gpu.count < 0"), "constant-validation")) == 1
    assert len(found(spec(text % "gpu.count >= 0"), "constant-validation")) == 1


@pytest.mark.parametrize(
    "mutation",
    [
        "tolerations: '[]'",
        "schedulerName: \"''\"",
        "schedulerName: \"'default-scheduler'\"",
        "runtimeClassName: optional.none()",
        "labels: {example.com/a: 'gpu.count > 3 ? optional.none() : optional.none()'}",
        "applyConfiguration: '{}'",
        "resources: \"[{'container': 'main', 'from': 'nvidia.com/gpu', 'to': 'nvidia.com/gpu', 'quantity': 1}]\"",
        "{when: \"'example.com/a' in object.metadata.labels\", labels: {example.com/a: gpu.kind}}",
        "{when: \"object.spec.schedulerName == 'volcano'\", schedulerName: \"'x'\"}",
    ],
)
def test_a_mutation_that_comes_to_nothing_is_reported(mutation: str) -> None:
    assert len(found(spec(f"mutations:\n- {mutation}\n"), "never-writes")) == 1


@pytest.mark.parametrize(
    "mutation",
    [
        "labels: {example.com/a: \"''\"}",
        "nodeSelector: {example.com/a: \"''\"}",
        "schedulerName: \"gpu.count > 1 ? 'x' : ''\"",
        "{when: \"object.spec.schedulerName == 'default-scheduler'\", schedulerName: \"'x'\"}",
        "{when: \"!object.metadata.?labels[?'example.com/a'].hasValue()\", labels: {example.com/a: gpu.kind}}",
    ],
)
def test_a_mutation_that_may_write_is_left_alone(mutation: str) -> None:
    assert found(spec(f"mutations:\n- {mutation}\n"), "never-writes") == ()


def test_mutations_under_rules_without_creation_are_reported() -> None:
    rules = (
        "matchConstraints:\n  resourceRules:\n"
        "  - {apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [UPDATE]}\n"
    )
    judged = "validations:\n- {expression: gpu.count < 9, message: never}\nvalidationActions: [Warn]\n"

    assert len(found(spec(f"{rules}mutations:\n- {LABEL}\n"), "never-asked")) == 1
    assert len(found(spec(f"{rules}mutations:\n- {LABEL}\n{judged}"), "never-asked")) == 1
    assert found(spec(f"{rules}{judged}"), "never-asked") == ()


def test_what_does_not_load_is_reported_at_its_place_and_the_rest_is_linted() -> None:
    broken = spec("mutations:\n- labels: {example.com/a: gpu.cout}\n", "broken")
    unused = spec("variables:\n- {name: a, expression: gpu.count}\nmutations:\n- " + LABEL + "\n", "unused")

    findings = found(f"{broken}---\n{unused}")

    assert [(each.rule, each.problem.line) for each in findings if each.level > 1] == [
        ("invalid", 7),
        ("unused-variable", 15),
    ]


def test_a_policy_without_tests_beside_it_is_reported() -> None:
    text = spec(f"mutations:\n- {LABEL}\n")

    assert len(found(text, "missing-tests", tested=False)) == 1
    assert found(text, "missing-tests") == ()


def test_a_policy_that_cannot_be_loaded_needs_tests_once_too() -> None:
    for wrong in ("mutation:\n- {}\n", "mutations:\n- labels: {example.com/a: gpu.cout}\n"):
        text = spec(f"{wrong}validations:\n- {{expression: 'false', message: no}}\n")

        assert len(found(text, "missing-tests", tested=False)) == 1
        assert found(text, "missing-tests") == ()


def test_a_hostname_in_a_variable_is_reported_at_the_variable() -> None:
    term = "[{'matchExpressions': [{'key': 'kubernetes.io/hostname', 'operator': 'In', 'values': ['a']}]}]"
    text = (
        f'variables:\n- name: terms\n  expression: "{term}"\n'
        "mutations:\n- nodeAffinity: {required: variables.terms}\n"
    )

    [finding] = found(spec(text), "hostname")

    assert finding.problem.where == "spec.variables[0].expression"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ("'operator': 'In', 'values': ['H100']", "did you mean NVIDIA-H100-80GB-HBM3?"),
        ("'operator': 'In', 'values': ['T4x']", "they have NVIDIA-GB200"),
    ],
)
def test_an_unknown_value_is_reported_with_what_nodes_have(values: str, said: str) -> None:
    term = f"[{{'matchExpressions': [{{'key': 'nvidia.com/gpu.product', {values}}}]}}]"
    text = spec(f"mutations:\n- nodeAffinity:\n    weight: 1\n    preferred: >-\n      {term}\n")

    [finding] = found(text, "unknown-affinity")

    assert said in finding.problem.message
    assert found(text, "unknown-affinity", nodes=False) == ()


@pytest.mark.parametrize(
    "requirement",
    [
        "{'key': 'no.such/label', 'operator': 'DoesNotExist'}",
        "{'key': 'nvidia.com/gpu.product', 'operator': 'NotIn', 'values': ['NVIDIA-L4']}",
        "{'key': gpu.kind, 'operator': 'Exists'}",
        "{'key': 'nvidia.com/gpu.product', 'operator': 'In', 'values': [gpu.kind]}",
    ],
)
def test_a_requirement_that_a_node_may_meet_is_left_alone(requirement: str) -> None:
    terms = f"[{{'matchExpressions': [{requirement}]}}]"
    text = spec(f"mutations:\n- nodeAffinity:\n    weight: 1\n    preferred: >-\n      {terms}\n")

    assert [each for each in found(text) if each.rule in ("unknown-affinity", "invalid")] == []


@pytest.mark.parametrize(
    ("label", "said"),
    [
        ("example.com/none: \"'a'\"", "no known node has the label example.com/none"),
        ("example.com/none: gpu.kind", "no known node has the label example.com/none"),
        ("nvidia.com/gpu.product: \"'H100'\"", "did you mean NVIDIA-H100-80GB-HBM3"),
    ],
)
def test_a_label_of_a_node_selector_that_no_node_has_is_reported(label: str, said: str) -> None:
    text = spec(f"mutations:\n- nodeSelector: {{{label}}}\n")
    [finding] = found(text, "unknown-affinity")

    assert said in finding.problem.message
    assert found(text, "unknown-affinity", nodes=False) == ()


@pytest.mark.parametrize("value", ["\"'NVIDIA-H100-80GB-HBM3'\"", "gpu.kind"])
def test_a_label_of_a_node_selector_that_a_node_may_have_is_left_alone(value: str) -> None:
    assert found(spec(f"mutations:\n- nodeSelector: {{nvidia.com/gpu.product: {value}}}\n"), "unknown-affinity") == ()


def test_a_key_of_params_that_the_default_lacks_is_reported_once() -> None:
    text = spec(
        "paramKind: {apiVersion: v1, kind: ConfigMap}\n"
        "paramRef: {name: p, namespace: system, parameterNotFoundAction: Allow}\n"
        "mutations:\n"
        "- {when: \"params.?data[?'mod'].orValue('') == 'a'\", labels: {example.com/a: \"params.data['mod']\"}}\n"
        "- labels: {example.com/b: \"params.data['mode']\"}\n"
    )
    default = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: p, namespace: system}\ndata: {mode: a}\n"
    marked = default.replace("namespace: system", "namespace: system, labels: {podberth.io/params: 'true'}")

    [finding] = found(text + marked, "params-default")

    assert "'mod'" in finding.problem.message
    [unread] = found(text + default, "params-default")
    assert unread.problem.message.startswith("ConfigMap system/p beside the policies is not read; want the label")


def test_params_of_the_requests_namespace_need_no_default() -> None:
    reference = "paramKind: {apiVersion: v1, kind: ConfigMap}\nparamRef: {%sname: p, parameterNotFoundAction: Allow}\n"
    text = spec(reference + "mutations:\n- labels: {example.com/b: \"params.data['mode']\"}\n")

    assert found(text % "", "params-default") == ()
    assert len(found(text % "namespace: a, ", "params-default")) == 1


def test_params_without_a_param_kind_are_null() -> None:
    [finding] = found(spec("mutations:\n- labels: {example.com/b: \"params.data['mode']\"}\n"), "params-default")

    assert "null" in finding.problem.message


def test_a_json_patch_of_what_no_policy_may_write_is_reported_and_a_test_of_it_is_not() -> None:
    text = "mutations:\n- jsonPatch: \"[{'op': '%s', 'path': '/spec/nodeName', 'value': 'a'}]\"\n"

    assert len(found(spec(text % "add"), "forbidden-write")) == 1
    assert found(spec(text % "test"), "forbidden-write") == ()


def test_a_portable_policy_is_one_without_our_words() -> None:
    [finding] = found(spec("mutations:\n- labels: {example.com/a: mig.nearest('a')}\n"), "not-portable")

    assert (
        finding.problem.message
        == "not portable to Kubernetes' own admission policies: reads mig; mutations of kind labels; scope GPU"
    )


TEMPLATES = (
    "claimTemplates:\n"
    "- {name: pair, spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]}}}}\n"
)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("'mine'", "no resourceClaims names pair; remove it"),
        ("'piar'", "no resourceClaims names pair; is piar meant?"),
        ("'pair'", ""),
        ("'pa' + 'ir'", ""),
        ("variables.of", ""),
    ],
)
def test_a_template_that_nothing_names_is_reported_where_names_are_literals(written: str, said: str) -> None:
    variables = "variables:\n- {name: of, expression: \"'pair'\"}\n" if "variables" in written else ""
    claims = f"mutations:\n- resourceClaims: \"[{{'name': 'c', 'template': {written}}}]\"\n"
    messages = [each.problem.message for each in found(spec(variables + TEMPLATES + claims), "unused-template")]
    assert messages == ([said] if said else [])


def test_a_template_that_a_variables_list_names_is_used() -> None:
    listed = "variables:\n- {name: all, expression: \"[{'name': 'c', 'template': 'pair'}]\"}\n"
    assert found(spec(f"{listed}{TEMPLATES}mutations:\n- resourceClaims: variables.all\n"), "unused-template") == ()


def claim_of(requests: str, more: str = "") -> str:
    return (
        f"claimTemplates:\n- {{name: pair, spec: {{spec: {{devices: {{requests: [{requests}]}}}}}}}}\n"
        f"mutations:\n- resourceClaims: \"[{{'name': 'c', 'template': 'pair', 'instead': 'nvidia.com/gpu'{more}}}]\"\n"
    )


def gpus(count: int | str = 1, name: str = "gpu") -> str:
    number = "allocationMode: All" if count == "All" else f"count: {count}"
    return f"{{name: {name}, exactly: {{deviceClassName: gpu.nvidia.com, {number}}}}}"


UNKNOWN = "how many devices pair has cannot be known, so nothing is written; want exactly, with a count"


@pytest.mark.parametrize(
    ("condition", "requests", "more", "said"),
    [
        ("gpu.count == 2", gpus(2), "", ""),
        ("gpu.count > 1", gpus(2), "", ""),
        ("gpu.kind == 'whole'", gpus(4), "", ""),
        (
            "gpu.count == 1",
            gpus(2),
            "",
            "got 2 for nvidia.com/gpu in pair, which no pod asks for that the conditions let pass",
        ),
        (
            "gpu.count > 2",
            gpus(2),
            "",
            "got 2 for nvidia.com/gpu in pair, which no pod asks for that the conditions let pass",
        ),
        ("gpu.count == 2", gpus(1), ", 'containers': ['a']", ""),
        ("gpu.count == 2", gpus(1), ", 'containers': [gpu.kind]", ""),
        ("gpu.count == 2", f"{gpus(2)}, {gpus(3, 'more')}", ", 'requests': ['gpu']", ""),
        ("gpu.count == 2", f"{gpus(2)}, {gpus(3, 'more')}", ", 'requests': [gpu.kind]", ""),
        ("gpu.count == 2", gpus("All"), "", UNKNOWN),
        (
            "gpu.count == 2",
            "{name: g, firstAvailable: [{name: a, deviceClassName: x}, {name: b, deviceClassName: x, count: 2}]}",
            "",
            UNKNOWN,
        ),
        (
            "gpu.count == 1",
            "{name: nic, exactly: {deviceClassName: mrdma.google.com}}",
            "",
            "got 0 for nvidia.com/gpu in pair, ",
        ),
    ],
)
def test_a_claim_that_no_pod_can_get_is_reported_where_constants_say_so(
    condition: str, requests: str, more: str, said: str
) -> None:
    conditions = f'matchConditions:\n- {{name: c, expression: "{condition}"}}\n'
    messages = [each.problem.message for each in found(spec(conditions + claim_of(requests, more)), "claim-count")]
    assert [each.startswith(said) for each in messages] == ([True] if said else [])


def test_a_broken_exception_beside_policies_is_invalid() -> None:
    broken = exception("e", "example", more="  expression: gpu.cuont == 1\n")
    [finding] = found(f"{spec(f'mutations: [{{{LABEL}}}]')}\n---\n{broken}", "invalid")
    assert finding.problem.where == "spec.expression"


@pytest.mark.parametrize("policy", [spec(f"mutations: [{{{LABEL}}}]"), spec("mutations: [{labels: 1}]")])
def test_an_exception_from_a_missing_policy_is_reported_also_beside_a_broken_policy(policy: str) -> None:
    [finding] = found(f"{policy}\n---\n{exception('e', 'example', 'exampel')}", "unknown-policy")
    said = "got 'exampel', and there is no policy of this name; did you mean example?"
    assert (finding.problem.where, finding.problem.message) == ("spec.policies[1]", said)


def test_exceptions_without_policies_are_not_compared_with_any() -> None:
    assert found(exception("e", "example"), "unknown-policy") == ()


def test_an_exception_with_a_misspelt_field_names_an_unknown_policy_too() -> None:
    text = exception("e", "exampel").replace("spec:\n", "spec:\n  reasons: none\n")

    assert {each.rule for each in found(f"{spec(f'mutations: [{{{LABEL}}}]')}\n---\n{text}") if each.level > 1} == {
        "invalid",
        "unknown-policy",
    }


def test_a_broken_policy_of_a_namespace_is_invalid_and_a_good_one_is_linted() -> None:
    [finding] = found(own_policy("vision", "own", "gpu.cuont == 1"), "invalid")
    assert finding.problem.where == "spec.validations[0].expression"
    [always] = found(own_policy("vision", "own", "true"), "constant-validation")
    assert always.problem.where == "spec.validations[0].expression"


def test_what_kubernetes_reads_from_the_author_of_a_pod_may_be_written() -> None:
    keys = ("cluster-autoscaler.kubernetes.io/safe-to-evict", "cluster-autoscaler.kubernetes.io/other")
    mutations = "".join(f"- annotations: {{{key}: \"'true'\"}}\n" for key in keys)
    [finding] = found(spec(f"mutations:\n{mutations}"), "reserved-key")
    assert finding.problem.where == f"spec.mutations[1].annotations[{keys[1]}]"
