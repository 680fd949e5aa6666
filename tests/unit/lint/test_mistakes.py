"""Mistakes that authors make, each in a policy of its own: lint names it, and what to write instead."""

import pytest

from lint_findings import found, spec

_DENIES = "validationActions: [Deny]\n"


def validates(expression: str) -> str:
    return spec(f"validations:\n- message: refused\n  expression: >-\n    {expression}\n{_DENIES}")


def mutates(mutation: str) -> str:
    return spec(f"mutations:\n- {mutation}\n")


def tolerates(toleration: str) -> str:
    return mutates(f'tolerations: "[{toleration}]"')


def requires(term: str) -> str:
    return mutates(f'nodeAffinity: {{required: "[{term}]"}}')


def patches(operation: str) -> str:
    return mutates(f'jsonPatch: "[{operation}]"')


REFUSED = {
    "the operator of a toleration": (tolerates("{'key': 'a', 'operator': 'Exist'}"), "Exists"),
    "the effect of a toleration": (
        tolerates("{'key': 'a', 'operator': 'Exists', 'effect': 'Noschedule'}"),
        "NoSchedule",
    ),
    "the value beside Exists": (tolerates("{'key': 'a', 'operator': 'Exists', 'value': 'x'}"), "want none"),
    "a field of a toleration": (tolerates("{'key': 'a', 'operater': 'Exists'}"), "operater"),
    "an effect beside what is read": (
        tolerates("{'key': gpu.vendor + '.com/gpu', 'operator': 'Exists', 'effect': 'Noschedule'}"),
        "did you mean NoSchedule?",
    ),
    "the operator of a term": (
        requires("{'matchExpressions': [{'key': 'a', 'operator': 'Equals', 'values': ['b']}]}"),
        "In",
    ),
    "an operator beside what is read": (
        requires("{'matchExpressions': [{'key': 'a', 'operator': 'Notin', 'values': [gpu.vendor]}]}"),
        "did you mean NotIn?",
    ),
    "the field of a term": (
        requires("{'matchExpression': [{'key': 'a', 'operator': 'In', 'values': ['b']}]}"),
        "did you mean matchExpressions?",
    ),
    "the value of a label": (mutates("labels: {a: \"'not a label value!'\"}"), "want a label value"),
    "the name of a class": (mutates("runtimeClassName: \"'Not A Name'\""), "want an object's name"),
    "a patch's operation": (
        patches("{'op': 'ad', 'path': '/spec/priorityClassName', 'value': 'x'}"),
        "did you mean add?",
    ),
    "a patch's path": (
        patches("{'op': 'add', 'path': '/spec/priorityClasName', 'value': 'x'}"),
        "did you mean priorityClassName?",
    ),
    "a patch's pointer": (patches("{'op': 'add', 'path': 'spec/priority', 'value': 1}"), "want a JSON Pointer"),
    "an item of a loop": (
        mutates("tolerations: \"[gpu.vendor].map(v, {'key': v + '.com/gpu', 'operator': 'Exist'})\""),
        "did you mean Exists?",
    ),
    "a branch of a choice": (
        mutates("tolerations: \"gpu.count > 1 ? [{'key': gpu.vendor, 'operator': 'Exist'}] : []\""),
        "did you mean Exists?",
    ),
    "a patch's field": (patches("{'op': 'add', 'pat': '/spec/priority', 'value': 1}"), "did you mean path?"),
}


@pytest.mark.parametrize("mistake", REFUSED)
def test_a_literal_that_every_pod_is_refused_for(mistake: str) -> None:
    text, advice = REFUSED[mistake]

    [finding] = found(text, "refused-value")

    assert (advice in finding.problem.message, finding.problem.where.startswith("spec.mutations[0]")) == (True, True)


@pytest.mark.parametrize(
    "mutation",
    [
        "tolerations: \"[{'key': 'a', 'operator': 'Exists', 'tolerationSeconds': 5, 'effect': 'NoExecute'}]\"",
        "jsonPatch: \"[{'op': 'add', 'path': '/spec/containers/0/env/-', 'value': {'name': 'A', 'value': 'B'}}]\"",
        "jsonPatch: \"[{'op': 'test', 'path': '/metadata/labels/a~1b', 'value': 'x'}]\"",
        "labels: {a: gpu.vendor}",
        "env: {A: \"'any value!'\"}",
        "jsonPatch: \"[{'op': 'add', 'path': '/spec/volumes/-', 'value': {'name': 's', 'hostPath': {'path': '/x'}}}]\"",
        "tolerations: \"[{'a': 'b', 'key': 'c'}].filter(r, r.a != '').map(r, {'key': r.key, 'operator': 'Exists'})\"",
        "gang: \"'g'\"",
    ],
)
def test_what_a_pod_may_have_is_left_alone(mutation: str) -> None:
    assert found(mutates(mutation), "refused-value") == ()


def test_maps_of_a_variable_that_are_no_tolerations_are_left_alone() -> None:
    rows = "{'a': {'key': 'a', 'notice': 'x'}}"
    variables = f'variables:\n- {{name: rows, expression: "{rows}"}}\n'
    text = spec(
        f"{variables}mutations:\n- tolerations: \"[{{'key': variables.rows['a']['key'], 'operator': 'Exists'}}]\"\n"
    )

    assert found(text, "refused-value") == ()


@pytest.mark.parametrize(
    "expression",
    [
        "quantity('1KiB').isGreaterThan(quantity('1'))",
        "cidr('10.0.0.0').prefixLength() == 8",
        "semver('1.2').major() > 1",
        "ip('1.2.3').family() == 4",
    ],
)
def test_an_argument_that_its_function_refuses(expression: str) -> None:
    assert len(found(validates(expression), "refused-argument")) == 1


@pytest.mark.parametrize(
    ("expression", "want"),
    [
        ("object.spec.?nodeName.orValue('').matches('[a')", "want a regular expression of RE2"),
        ("object.spec.?nodeName.orValue('').find('(') == ''", "want a regular expression of RE2"),
        ("duration('1d') > duration('1h')", "as in 1h30m"),
        ("timestamp('not a time') < timestamp('2026-01-01T00:00:00Z')", "want a time by RFC 3339"),
    ],
)
def test_a_constant_without_a_value_is_refused_when_the_policy_is_loaded(expression: str, want: str) -> None:
    findings = [each for each in found(validates(expression)) if each.rule in ("invalid", "refused-argument")]

    assert [each.rule for each in findings] == ["invalid"]
    assert want in findings[0].problem.message


def test_arguments_that_their_functions_take_are_left_alone() -> None:
    text = "duration('90s') < duration('1h') && 'a'.matches('^a$')"

    assert (
        found(validates(f"{text} && quantity('1.5Gi').isGreaterThan(quantity(gpu.vendor))"), "refused-argument") == ()
    )


@pytest.mark.parametrize(
    ("expression", "advice"),
    [
        ("gpu.vendor == 'Nvidia'", "did you mean nvidia?"),
        ("'NVIDIA' != gpu.vendor", "did you mean nvidia?"),
        ("gpu.vendor in ['nvidia', 'Amd']", "did you mean amd?"),
        ("gpu.kind != 'MIG'", "did you mean mig?"),
        ("gpu.requests.all(r, r.kind == 'MIG')", "did you mean mig?"),
        ("gpu.claims.exists(c, c.kind == 'shared')", "want one of mig"),
        ("gang.source == 'Pytorchjob'", "did you mean PyTorchJob?"),
        ("gang.system == 'Kueue'", "did you mean kueue?"),
        ("request.operation == 'Create'", "did you mean CREATE?"),
        ("object.spec.restartPolicy == 'Allways'", "did you mean Always?"),
        ("object.spec.?restartPolicy.orValue('') == 'Allways'", "did you mean Always?"),
        ("object.spec.containers.all(c, c.?imagePullPolicy.orValue('') != 'Allways')", "did you mean Always?"),
        (
            "object.spec.?tolerations.orValue([]).all(t, t.?effect.orValue('') != 'Noschedule')",
            "did you mean NoSchedule?",
        ),
        ("gpu.requests.all(i, r, r.kind != 'MIG')", "gpu.requests[].kind is never 'MIG'; did you mean mig?"),
        ("mig.known('1g.11gb')", "want one of 1g."),
    ],
)
def test_a_text_that_the_field_never_has(expression: str, advice: str) -> None:
    [finding] = found(validates(expression), "never-equal")

    assert advice in finding.problem.message


def test_a_variable_stands_for_its_field() -> None:
    text = "variables:\n- {name: vendor, expression: gpu.vendor}\n"
    validation = f"validations:\n- {{expression: \"variables.vendor != 'Nvidia'\", message: refused}}\n{_DENIES}"

    assert len(found(spec(text + validation), "never-equal")) == 1


@pytest.mark.parametrize(
    "expression",
    [
        "gpu.vendor in ['nvidia', 'mixed', '']",
        "gang.source == 'OurOwnJob'",
        "object.spec.?preemptionPolicy.orValue('none') != 'none'",
        "object.metadata.?labels[?'effect'].orValue('') == 'anything'",
        "object.spec.containers.exists(c, c.name == 'Always')",
        "mig.known('nvidia.com/mig-1g.10gb')",
        "object.spec.?tolerations.orValue([]).all(t, !has(t.effect) || t.effect == '')",
        "object.spec.containers.all(c, c.?resizePolicy.orValue([]).all(r, r.restartPolicy == 'NotRequired'))",
        "object.spec.?nodeSelector[?'operator'].orValue('') != 'team-a'",
        "[{'vendor': 'Nvidia'}].exists(gpu, gpu.vendor == 'Nvidia')",
    ],
)
def test_a_text_that_the_field_may_have_is_left_alone(expression: str) -> None:
    assert found(validates(expression), "never-equal") == ()


@pytest.mark.parametrize("convert", ["int", "double", "quantity"])
def test_a_text_of_the_author_is_no_number_before_it_is_asked(convert: str) -> None:
    text = "object.metadata.?annotations[?'a'].orValue('1')"
    [one] = found(validates(f"{convert}({text}) == {convert}('2')"), "unguarded-conversion")
    assert one.problem.message.startswith(f"metadata.annotations.a may be no number, and {convert}() fails then; ask ")
    for asked in (f"{text}.matches('^[0-9]$')", f"{text} in ['1', '2']", f"isQuantity({text})"):
        assert not found(validates(f"{asked} && {convert}({text}) == {convert}('2')"), "unguarded-conversion")


@pytest.mark.parametrize(
    "value", ["object.metadata.name.size()", "namespaceObject.metadata.?labels[?'a'].orValue('1')"]
)
def test_a_number_that_no_author_of_a_pod_writes_is_left_alone(value: str) -> None:
    assert not found(validates(f"int({value}) == 2"), "unguarded-conversion")


@pytest.mark.parametrize(
    "expression",
    [
        "object.spec.containers.all(c, c.?resources.?limits[?'memory'].orValue('0') < '8Gi')",
        "object.spec.containers.all(c, has(c.resources.limits) && c.resources.limits['nvidia.com/gpu'] > '1')",
        "'8Gi' >= object.spec.?resources.?requests[?'memory'].orValue('0')",
    ],
)
def test_amounts_that_are_compared_as_text(expression: str) -> None:
    assert len(found(validates(expression), "compares-text")) == 1


@pytest.mark.parametrize(
    "expression",
    [
        "object.metadata.labels['team'] != ''",
        "object.spec.nodeName == ''",
        "object.spec.containers.all(c, c.env.all(e, e.name != ''))",
        "object.spec.initContainers.size() == 0",
        "'team' in object.metadata.labels",
        "!has(object.spec.affinity.nodeAffinity)",
        "object.spec.containers.all(c, has(c.resources.limits.memory))",
        "object.spec.containers.all(i, c, c.securityContext.privileged == false)",
        "object.spec.?initContainers.orValue([]).all(c, c.restartPolicy != 'Always')",
    ],
)
def test_a_field_that_a_pod_may_lack(expression: str) -> None:
    assert found(validates(expression), "unguarded-field")


@pytest.mark.parametrize(
    "expression",
    [
        "has(object.metadata.labels) && 'team' in object.metadata.labels && object.metadata.labels['team'] != ''",
        "object.metadata.?labels[?'team'].orValue('') != ''",
        "object.spec.containers.all(c, has(c.env) && c.env.all(e, e.name != ''))",
        "object.spec.containers.all(c, c.name != '' && c.image != '')",
        "object.spec.restartPolicy == 'Always' && object.metadata.name != 'x'",
        "!has(object.spec.affinity) || !has(object.spec.affinity.nodeAffinity)",
        "object.spec.?volumes.orValue([]).all(v, !has(v.hostPath) || v.hostPath.path != '/')",
        "has(object.metadata.labels) && ['a'].all(k, k in object.metadata.labels) && object.metadata.labels['a'] != ''",
        "object.spec.containers.all(i, c, c.name != '')",
    ],
)
def test_a_field_that_is_asked_for_or_always_there_is_left_alone(expression: str) -> None:
    assert found(validates(expression), "unguarded-field") == ()


def with_variable(variable: str, expression: str) -> str:
    return spec(
        f"variables:\n- name: v\n  expression: >-\n    {variable}\n"
        f"validations:\n- message: refused\n  expression: >-\n    {expression}\n{_DENIES}"
    )


@pytest.mark.parametrize(
    ("variable", "expression", "place", "field"),
    [
        ("object.spec.nodeSelector", "variables.v['a'] == 'b'", "variables[0]", "spec.nodeSelector"),
        ("object.spec", "variables.v.nodeSelector['a'] == 'b'", "validations[0]", "spec.nodeSelector"),
        ("object.metadata.labels['a']", "variables.v == 'b'", "variables[0]", "metadata.labels"),
        ("object.spec.?nodeSelector.orValue({})", "variables.v['a'] == 'b'", "validations[0]", "spec.nodeSelector.a"),
        (
            "has(object.spec.nodeSelector) ? object.spec.nodeSelector : {}",
            "variables.v.a == 'b'",
            "validations[0]",
            "spec.nodeSelector.a",
        ),
        (
            "!has(object.spec.volumes) ? [] : object.spec.volumes",
            "variables.v.all(v, v.hostPath.path != '/')",
            "validations[0]",
            "spec.volumes[].hostPath",
        ),
        (
            "object.spec.containers + object.spec.?initContainers.orValue([])",
            "variables.v.all(c, c.ports.size() < 3)",
            "validations[0]",
            "spec.containers[].ports",
        ),
        (
            "object.spec.containers.filter(c, c.name == 'a')",
            "variables.v[0].ports.size() < 3",
            "validations[0]",
            "spec.containers[].ports",
        ),
    ],
)
def test_a_field_that_is_read_through_a_variable_is_reported_once(
    variable: str, expression: str, place: str, field: str
) -> None:
    [finding] = found(with_variable(variable, expression), "unguarded-field")
    assert finding.problem.where == f"spec.{place}.expression"
    assert finding.problem.message.startswith(f"a pod may have no {field};")


@pytest.mark.parametrize(
    ("variable", "expression"),
    [
        ("object.spec.?nodeSelector", "variables.v['a'].orValue('') == 'b'"),
        ("object.spec.nodeSelector", "!has(object.spec.nodeSelector) || variables.v.size() < 3"),
        ("object.spec.nodeSelector", "has(object.spec.nodeSelector) && 'a' in variables.v && variables.v['a'] == 'b'"),
        ("has(object.spec.nodeSelector) ? object.spec.nodeSelector : {}", "'a' in variables.v && variables.v.a == 'b'"),
        ("has(object.spec.nodeSelector) ? object.spec.nodeSelector : {'a': 'b'}", "variables.v.a == 'b'"),
        ("object.spec.containers.filter(c, has(c.ports))", "variables.v.all(c, c.ports.size() < 3)"),
        ("object.spec.containers.map(c, {'ports': c.name})", "variables.v.all(c, c.ports.size() < 3)"),
        ("object.metadata.?labels.orValue({}).filter(k, k.startsWith('a'))", "variables.v.all(k, k.size() < 3)"),
        ("object.spec.restartPolicy + 'x'", "variables.v == 'Alwaysx'"),
    ],
)
def test_a_field_that_is_guarded_where_a_variable_reads_it_or_is_read_is_left_alone(
    variable: str, expression: str
) -> None:
    assert found(with_variable(variable, expression), "unguarded-field") == ()


def test_a_pod_of_generate_name_has_no_name_before_it_is_made() -> None:
    assert len(found(mutates("labels: {a: object.metadata.name}"), "unguarded-field")) == 1
    assert found(validates("object.metadata.name != 'x'"), "unguarded-field") == ()


def test_labels_that_the_object_selector_wants_are_there() -> None:
    text = (
        "matchConstraints:\n  objectSelector: {matchLabels: {team: a}}\n"
        "  resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]\n"
    )
    assert (
        found(spec(f"{text}mutations:\n- labels: {{x: \"object.metadata.labels['team']\"}}\n"), "unguarded-field") == ()
    )


@pytest.mark.parametrize("concern", ["labels", "nodeSelector", "env"])
def test_two_policies_that_write_one_value_are_a_warning(concern: str) -> None:
    first, second = (spec(f"mutations:\n- {concern}: {{A: \"'{value}'\"}}\n", f"p{value}") for value in (1, 2))
    [finding] = found(f"{first}---\n{second}", "clash")

    assert str(finding.level) == "warning"
    assert "policy p1 writes it too" in finding.problem.message
    assert found(f"{first}---\n{first.replace('p1', 'p2')}", "clash") == ()


def test_a_limit_that_forgets_claims_is_found() -> None:
    assert len(found(validates("gpu.count <= 8"), "forgotten-claims")) == 1
    assert found(validates("gpu.count <= 8 && gpu.kind != 'claim'"), "forgotten-claims") == ()
    for other in ("gpu.count == 8", "gpu.count > 0", "gpu.count < 9 || gang.known", "gpu.count > 8 ? false : true"):
        assert found(validates(other), "forgotten-claims") == ()
    assert found(validates("gpu.count <= 8 && !has(object.spec.resourceClaims)"), "forgotten-claims") == ()
    assert found(validates("gpu.count <= 8 && gpu.devices < 12 && gpu.claims.size() < 2"), "forgotten-claims") == ()
    warns = validates("gpu.count <= 8").replace("[Deny]", "[Warn]")
    assert found(warns, "forgotten-claims") == ()


def test_a_limit_of_devices_counts_claims_for_an_unknown_number() -> None:
    (finding,) = found(validates("gpu.devices <= 8"), "forgotten-claims")
    assert (
        "gpu.devices counts a claim for an unknown number as one; add a validation gpu.claims.all(c, "
        in finding.problem.message
    )
    known = "gpu.devices <= 8 && gpu.claims.all(c, c.kind == 'none' || c.count > 0)"
    assert found(validates(known), "forgotten-claims") == ()


SPOT = "tolerations: \"[{'key': 'example.com/spot', 'operator': 'Exists'}]\""
AFFINITY = "nodeAffinity: {preferred: topology.nodes(gpu).preferredTerms, weight: 50}"


@pytest.mark.parametrize(
    "reader",
    [
        AFFINITY,
        "tolerations: topology.nodes(gpu).tolerations",
        "{when: topology.nodes(gpu).exist, labels: {a: gpu.kind}}",
        'labels: {a: "mig.smallest(gpu.memoryMiB).resource"}',
        "topology: {level: topology.narrowestLevel(gang), mode: preferred}",
    ],
)
def test_a_question_for_nodes_beside_tolerations_that_the_answer_does_not_know(reader: str) -> None:
    [finding] = found(spec(f"mutations:\n- {SPOT}\n- {reader}\n"), "split-policy")

    assert finding.problem.where.startswith("spec.mutations[1]")
    assert "mutations[0]" in finding.problem.message
    assert finding.problem.message.endswith("put the tolerations into an earlier policy")


def test_the_question_is_found_in_a_variable_and_so_are_the_tolerations() -> None:
    variables = (
        "variables:\n- {name: rows, expression: \"[{'key': 'example.com/spot', 'operator': 'Exists'}]\"}\n"
        "- {name: nodes, expression: topology.nodes(gpu)}\n"
    )
    mutations = (
        "mutations:\n- nodeAffinity: {preferred: variables.nodes.terms, weight: 5}\n- tolerations: variables.rows\n"
    )
    [finding] = found(spec(variables + mutations), "split-policy")

    assert finding.problem.where == "spec.variables[1].expression"


@pytest.mark.parametrize(
    "mutations",
    [
        f"- tolerations: topology.nodes(gpu).tolerations\n- {AFFINITY}",
        f"- tolerations: \"[{{'key': 'nvidia.com/gpu', 'operator': 'Exists'}}]\"\n- {AFFINITY}",
        f"- tolerations: \"[{{'key': 'sku', 'operator': 'Equal', 'value': 'gpu'}}]\"\n- {AFFINITY}",
        f"- {SPOT}\n- labels: {{a: \"topology.known && mig.known('1g.10gb') ? 'yes' : 'no'\"}}",
        f"- {SPOT}\n  when: '!topology.nodes(gpu).exist'",
        f"- {SPOT}\n  when: gpu.kind == 'mig'\n- {AFFINITY}\n  when: gpu.kind == 'whole'",
        AFFINITY.join(("- ", "")),
    ],
)
def test_a_question_that_no_toleration_of_the_policy_changes_is_left_alone(mutations: str) -> None:
    assert found(spec(f"mutations:\n{mutations}\n"), "split-policy") == ()


def test_a_question_of_a_validation_is_put_to_the_final_pod() -> None:
    text = f"mutations:\n- {SPOT}\nvalidations:\n- {{expression: topology.nodes(gpu).exist, message: none}}\n{_DENIES}"

    assert found(spec(text), "split-policy") == ()


@pytest.mark.parametrize(
    ("level", "advice"),
    [
        ("'topology.kubernetes.io/zones'", "did you mean topology.kubernetes.io/zone?"),
        ("'example.com/rack'", "no known node has the label example.com/rack; want a label key of the nodes"),
        ("'topology.kubernetes.io/rack'", "has the label topology.kubernetes.io/rack; want a label key of the nodes"),
        ("gpu.count > 8 ? 'kubernetes.io/hostnam' : ''", "did you mean kubernetes.io/hostname?"),
    ],
)
def test_a_level_that_no_node_has(level: str, advice: str) -> None:
    text = mutates(f'topology: {{level: "{level}", mode: preferred}}')
    [finding] = found(text, "unknown-level")

    assert (advice in finding.problem.message, finding.problem.where) == (True, "spec.mutations[0].topology.level")
    assert found(text, "unknown-level", nodes=False) == ()


@pytest.mark.parametrize(
    "level", ["''", "'ib.coreweave.cloud/leafgroup'", "'nvidia.com/gpu.product'", "topology.narrowestLevel(gang)"]
)
def test_a_level_that_a_node_or_the_conventions_have_is_left_alone(level: str) -> None:
    assert found(mutates(f'topology: {{level: "{level}", mode: preferred}}'), "unknown-level") == ()
