"""Definitions of variables, params and named objects."""

import pytest

from editing import FILE, HEAD, PARAMS, VALIDATING, WITH_PARAMS, defined, part, place

VARIABLES = (
    f"---\na: 1\n---\n{HEAD}  variables:\n  - name: nodes\n    expression: topology.nodes(gpu)\n  validations:\n"
)
BINDING = (
    "folder/binding.yaml",
    (
        "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {name: b}\n"
        "spec: {policyName: a, validationActions: [Deny], paramRef: {name: b, parameterNotFoundAction: Deny}}\n"
    ),
)


def test_a_variable_is_defined_at_its_name() -> None:
    marked = f"{VARIABLES}  - expression: variables.no^des.exist\n"
    found = defined(marked)
    assert found is not None
    assert (found.file, found.range.start.line) == (FILE, 8)
    assert part(place(marked)[0], found.range) == "nodes"


def test_an_unknown_variable_is_nowhere() -> None:
    assert defined(f"{VARIABLES}  - expression: variables.oth^er\n") is None
    assert defined(f"{VARIABLES}  - expression: gpu.cou^nt > 1\n") is None


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("par^ams.data.mode", "b"),
        ("params.da^ta.mode", "b"),
        ("params.data.mo^de", "mode"),
        ("params.?data[?'mo^de'].orValue('')", "mode"),
        ("params.data['oth^er']", "b"),
    ],
)
def test_params_are_defined_in_the_config_map_beside(expression: str, text: str) -> None:
    found = defined(f'{WITH_PARAMS}  validations:\n  - expression: "{expression}"\n', PARAMS)
    assert found is not None
    assert (found.file, part(PARAMS[1], found.range)) == (PARAMS[0], text)


def test_the_name_of_a_param_ref_is_defined_there_too() -> None:
    found = defined(WITH_PARAMS.replace("name: b,", "name: b^,"), PARAMS)
    assert found is not None
    assert found.file == PARAMS[0]
    assert defined(WITH_PARAMS.replace("name: b,", "name: b^,")) is None


def test_the_params_of_a_native_policy_are_named_by_its_binding() -> None:
    native = VALIDATING.replace("RESOURCE", "pods").replace(
        "spec:\n", "spec:\n  paramKind: {apiVersion: v1, kind: ConfigMap}\n"
    )
    found = defined(f"{native}  validations:\n  - expression: par^ams.data.mode == ''\n", BINDING, PARAMS)
    assert found is not None
    assert found.file == PARAMS[0]


def test_a_binding_leads_to_its_policy() -> None:
    marked = BINDING[1].replace("policyName: a", "policyName: a^")
    found = defined(marked, ("folder/native.yaml", VALIDATING.replace("RESOURCE", "pods")))
    assert found is not None
    assert found.file == "folder/native.yaml"
