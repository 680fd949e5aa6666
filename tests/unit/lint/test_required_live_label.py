"""Only preferred terms may have a label that agents keep current."""

import pytest

from lint_findings import found, spec

LABEL = "podberth.io/free-linked-gpus"
TERMS = f"[{{'matchExpressions': [{{'key': '{LABEL}', 'operator': 'Gt', 'values': ['3']}}]}}]"
REQUIRED = f"{{'requiredDuringSchedulingIgnoredDuringExecution': {{'nodeSelectorTerms': {TERMS}}}}}"
OF_POD = "object.spec.?affinity.?nodeAffinity"
MATCHED = f".matchExpressions.exists(e, e.key == '{LABEL}')"
IN_TERMS = f".?nodeSelectorTerms.orValue([]).exists(t, t{MATCHED})"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
DEMANDED = f"{OF_POD}.?requiredDuringSchedulingIgnoredDuringExecution{IN_TERMS}"


def problems(text: str) -> list[tuple[str, str]]:
    return [(each.problem.where, each.problem.message) for each in found(spec(text), "required-live-label")]


def mutation(text: str) -> str:
    return f"mutations:\n- {text}\n"


def validation(expression: str, variables: str = "") -> str:
    rows = f"validations:\n- expression: >-\n    {expression}\n  message: wants free GPUs\nvalidationActions: [Warn]\n"
    return variables + rows


@pytest.mark.parametrize(
    ("text", "field"),
    [
        (f'nodeAffinity: {{required: "{TERMS}"}}', "nodeAffinity.required"),
        (f"nodeSelector: {{{LABEL}: \"'4'\"}}", f"nodeSelector[{LABEL}]"),
        (f"applyConfiguration: \"{{'spec': {{'nodeSelector': {{'{LABEL}': '4'}}}}}}\"", "applyConfiguration"),
        (f"applyConfiguration: \"{{'spec': {{'affinity': {{'nodeAffinity': {REQUIRED}}}}}}}\"", "applyConfiguration"),
        (
            f"jsonPatch: \"[{{'op': 'add', 'path': '/spec/nodeSelector/{LABEL.replace('/', '~1')}', 'value': '4'}}]\"",
            "jsonPatch",
        ),
        (f"jsonPatch: \"[{{'op': 'add', 'path': '/spec/affinity/nodeAffinity', 'value': {REQUIRED}}}]\"", "jsonPatch"),
    ],
)
def test_a_mutation_that_requires_a_live_label(text: str, field: str) -> None:
    message = f"requires {LABEL}, which may be old and which no new node has; want it in a preferred term"

    assert problems(mutation(text)) == [(f"spec.mutations[0].{field}", message)]


def test_required_terms_of_a_variable_are_reported_at_the_variable() -> None:
    variables = f'variables:\n- {{name: terms, expression: "{TERMS}"}}\n'
    required = mutation("nodeAffinity: {required: variables.terms}")

    assert [place for place, _ in problems(variables + required)] == ["spec.variables[0].expression"]


@pytest.mark.parametrize(
    "text",
    [
        f'nodeAffinity: {{preferred: "{TERMS}", weight: 50}}',
        f"labels: {{example.com/key: \"'{LABEL}'\"}}",
        f"applyConfiguration: \"{{'metadata': {{'annotations': {{'{LABEL}': '4'}}}}}}\"",
        "nodeSelector: {podberth.io/link-shape: \"'full-mesh'\"}",
        f"jsonPatch: \"[{{'op': 'remove', 'path': '/spec/nodeSelector/{LABEL.replace('/', '~1')}'}}]\"",
    ],
)
def test_a_mutation_that_prefers_or_writes_elsewhere_is_left_alone(text: str) -> None:
    assert problems(mutation(text)) == []


@pytest.mark.parametrize(
    "expression",
    [
        DEMANDED,
        f"gpu.count < 2 || '{LABEL}' in object.spec.?nodeSelector.orValue({{}})",
        f"gpu.count < 2 ? true : object.spec.?nodeSelector[?'{LABEL}'].hasValue()",
    ],
)
def test_a_validation_that_wants_a_requirement_on_a_live_label(expression: str) -> None:
    assert [place for place, _ in problems(validation(expression))] == ["spec.validations[0].expression"]


def test_a_demand_in_a_variable_is_reported_at_the_variable() -> None:
    variables = f'variables:\n- {{name: asks, expression: "{DEMANDED}"}}\n'

    assert [place for place, _ in problems(validation("gpu.count < 2 || variables.asks", variables))] == [
        "spec.variables[0].expression"
    ]
    assert problems(validation("!variables.asks", variables)) == []


@pytest.mark.parametrize(
    "expression",
    [
        f"!({DEMANDED})",
        f"!('{LABEL}' in object.spec.?nodeSelector.orValue({{}}))",
        f"{OF_POD}.?{PREFERRED}.orValue([]).exists(p, p.preference{MATCHED})",
        f"'{LABEL}' in object.metadata.?labels.orValue({{}})",
    ],
)
def test_a_validation_that_refuses_it_or_reads_elsewhere_is_left_alone(expression: str) -> None:
    assert problems(validation(expression)) == []
