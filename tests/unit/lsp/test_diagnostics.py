"""Findings about an open document, with ranges and fixes."""

import pytest

from editing import HEAD, VALIDATING, diagnosed, part
from podberth.lint.findings import Level
from podberth.lsp.answers.diagnostics import Diagnostic


def policy(expression: str) -> str:
    return (
        f"{HEAD}  description: An example.\n  validations:\n  - message: m\n    expression: {expression}\n"
        "  validationActions: [Warn]\n"
    )


def labelled(value: str) -> str:
    return f"{HEAD}  description: a\n  mutations:\n  - labels: {{example.com/a: {value}}}\n"


def ordered(order: str) -> str:
    return f"{labelled('gpu.kind')}  order: {order}\n"


def only(text: str) -> Diagnostic:
    [found] = diagnosed(text)
    return found


@pytest.mark.parametrize(
    ("text", "about", "fix"),
    [
        (policy("gpu.knd == 'mig'"), "knd", "kind"),
        (policy("\"gpu.count > 1 && gpuu.kind == 'mig'\""), "gpuu", "gpu"),
        (
            policy("gpu.count > 1").replace("  validationActions", "  validationAction"),
            "validationAction",
            "validationActions",
        ),
        (policy("gpu.count > 1").replace("[Warn]", "[Warm]"), "Warm", "Warn"),
        (policy("gpu.count > 1").replace("[Warn]", "['Warm']"), "Warm", "Warn"),
        (policy("object.spec.nodeNam == ''"), "nodeNam", "nodeName"),
        (policy("topology.node(gpu).exist"), "node", "nodes"),
        (policy("gpu.kind == whole"), "whole", "'whole'"),
        (policy("'gpu.kind == whole'"), "whole", "''whole''"),
        (policy("metadata.name != 'a'"), "metadata", "object.metadata"),
        (policy("oldObject == None"), "None", "null"),
    ],
)
def test_a_misspelt_name_has_a_fix(text: str, about: str, fix: str) -> None:
    found = only(text)
    assert part(text, found.range) == about
    assert found.fix is not None
    assert (found.fix.range, found.fix.text) == (found.range, fix)
    assert (found.level, found.rule) == (Level.ERROR, "invalid")


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        (policy("gpu.count > 1 and gpu.count < 3"), policy("gpu.count > 1 && gpu.count < 3")),
        (policy("gpu.count === 1"), policy("gpu.count == 1")),
        (policy("gpu.kind is not 'a'"), policy("gpu.kind != 'a'")),
        (policy("gpu.count => 1"), policy("gpu.count >= 1")),
        (policy("topology.nodes(gpu).?exist"), policy("topology.nodes(gpu).exist")),
        (policy("5"), policy("'5'")),
        (policy("object.metadata?.name == 'a'"), policy("object.metadata.?name == 'a'")),
        (policy("gpu.count >= '8'"), policy("gpu.count >= 8")),
        (policy("'gpu.count >= ''8'''"), policy("'gpu.count >= 8'")),
        (policy("gpu.kind == mig"), policy("gpu.kind == 'mig'")),
        (policy("whole == gpu.kind"), policy("\"'whole' == gpu.kind\"")),
        (policy("'mig' == gpu.kind"), policy("\"'mig' == gpu.kind\"")),
        (policy("'\"' == gpu.kind"), policy("'''\"'' == gpu.kind'")),
        (policy("!gpu.count == 1"), policy('"!gpu.count == 1"')),
        (
            policy("gpu.count > 1").replace("message: m", "message: set: this"),
            policy("gpu.count > 1").replace("message: m", 'message: "set: this"'),
        ),
        (policy("a100-sxm"), policy("\"'a100-sxm'\"")),
        (policy("'whole thing'"), policy("'''whole thing'''")),
        (policy("|\n      whole thing"), policy("|\n      'whole thing'")),
        (policy('"gpu.kind == a100-sxm"'), policy("\"gpu.kind == 'a100-sxm'\"")),
        (
            policy("gpu.count > 1").replace("message: m", "message: 5"),
            policy("gpu.count > 1").replace("message: m", "message: '5'"),
        ),
        (policy("gpu.count > 1").replace("[Warn]", "Warn"), policy("gpu.count > 1").replace("[Warn]", "['Warn']")),
        (ordered('"3"'), ordered("3")),
        (labelled("team one"), labelled("\"'team one'\"")),
        (labelled("topology.kubernetes.io/zone"), labelled("\"'topology.kubernetes.io/zone'\"")),
        (labelled("gpu.kind").replace("tion: a", "tion: yes"), labelled("gpu.kind").replace("tion: a", "tion: 'yes'")),
        (labelled("gpu.kind").replace("GPUPolicy", "GpuPolicy"), labelled("gpu.kind")),
        (labelled("gpu.kind").replace("v1alpha1", "v1"), labelled("gpu.kind")),
        (labelled("gpu"), labelled("\"'gpu'\"")),
        (labelled("'true'"), labelled("'''true'''")),
        (labelled("/opt/a"), labelled("\"'/opt/a'\"")),
        (labelled("5"), labelled("\"'5'\"")),
    ],
)
def test_a_message_that_names_the_right_text_has_a_fix_that_writes_it(wrong: str, right: str) -> None:
    [fix] = {each.fix for each in diagnosed(wrong) if each.fix}
    lines = wrong.split("\n")
    line = lines[fix.range.start.line]
    lines[fix.range.start.line] = line[: fix.range.start.column] + fix.text + line[fix.range.end.column :]
    assert "\n".join(lines) == right


def test_a_value_that_is_not_the_one_of_the_message_has_no_fix() -> None:
    assert [each.fix for each in diagnosed(policy("0x10"))] == [None]


def test_a_misspelt_field_hides_no_misspelt_name_of_an_expression() -> None:
    text = policy("gpu.knd == 'mig'").replace("message: m", "mesage: m")
    assert sorted(each.fix.text for each in diagnosed(text) if each.fix) == ["kind", "message"]


def test_a_misspelt_variable_has_a_fix() -> None:
    text = policy("variables.noodes").replace(
        "  validations:", "  variables: [{name: nodes, expression: gpu.count > 1}]\n  validations:"
    )
    fixes = [(part(text, each.range), each.fix.text) for each in diagnosed(text) if each.fix]
    assert fixes == [("noodes", "nodes")]


def test_the_problems_of_other_files_leave_room_for_those_of_the_document() -> None:
    wrong = policy("gpu.count > 1").replace("  validationActions", "  validationAction")
    others = [(f"folder/a{at}.yaml", wrong.replace("name: a", f"name: a{at}")) for at in range(60)]
    assert [each.fix.text for each in diagnosed(wrong, *others) if each.fix] == ["validationActions"]


def test_broken_yaml_is_a_finding_at_its_place() -> None:
    found = only(f"{HEAD}  order: [1\n")
    assert (found.level, found.rule, found.fix) == (Level.ERROR, "invalid", None)
    assert "this is no YAML" in found.message


def test_lint_rules_find_what_they_find_on_the_command_line() -> None:
    unused = policy("gpu.count > 1").replace(
        "  validations:", "  variables: [{name: a, expression: gpu.kind}]\n  validations:"
    )
    found = only(unused)
    assert (found.rule, found.level, part(unused, found.range)) == ("unused-variable", Level.WARNING, "a")


@pytest.mark.parametrize(
    "wrong", ["  ordr: 1\n", "  order: [\n", "  validations: [{message: m, expression: gpu.knd}]\n"]
)
def test_an_error_of_one_policy_hides_no_warning_of_another_in_its_file(wrong: str) -> None:
    unused = policy("gpu.count > 1").replace(
        "  validations:", "  variables: [{name: a, expression: '1'}]\n  validations:"
    )
    found = diagnosed(f"{unused}---\n{HEAD.replace('name: a', 'name: b')}{wrong}")
    assert {"unused-variable", "invalid"} <= {each.rule for each in found}


def test_the_findings_of_other_files_are_left_out() -> None:
    assert (
        diagnosed(policy("gpu.count > 1"), ("folder/other.yaml", policy("gpu.knd").replace("name: a", "name: b"))) == ()
    )


def test_files_beside_the_document_count() -> None:
    [found] = diagnosed(policy("gpu.count > 1"), ("folder/a.yaml", policy("gpu.count > 1")))
    assert "is already in folder/a.yaml" in found.message


@pytest.mark.parametrize("text", ["", "kind: Deployment\n", "a: [\n", "spec: {kind: Job}\n"])
def test_a_document_that_podberth_does_not_read_has_no_findings(text: str) -> None:
    assert diagnosed(text) == ()


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("  description: a\n", ["the policy does nothing; want"]),
        ("  variables: [{name: a, expression: gpu.}]\n", ["Syntax error: got '.'"]),
        ("  validationActions: [Warn]\n", ["validationActions without validations; leave them out"]),
    ],
)
def test_a_policy_that_does_nothing_yet_is_named_if_nothing_else_is_wrong(spec: str, said: list[str]) -> None:
    found = [each.message for each in diagnosed(HEAD + spec)]
    assert [each.startswith(text) for each, text in zip(found, said, strict=True)] == [True]


def test_the_missing_fields_of_an_exception_are_one_finding_without_the_misspelt() -> None:
    exception = HEAD.replace("GPUPolicy", "GPUPolicyException") + "  policies: [a]\n  reson: b\n"
    assert [each.message for each in diagnosed(exception)] == [
        "the fields 'namespaces', 'requestedBy' and 'expiresAt' are required",
        "unknown field 'reson'; did you mean reason?",
    ]


def test_native_policies_are_judged_too() -> None:
    text = VALIDATING.replace("RESOURCE", "pods") + "  validations:\n  - expression: object.metadata.name\n"
    unbound, invalid = sorted(diagnosed(text), key=lambda each: each.level)
    assert (unbound.rule, invalid.message) == ("unbound", "got dyn, want bool")
    assert part(text, invalid.range) == "object.metadata.name"


def test_a_suite_has_the_problems_of_its_parser() -> None:
    text = "cases:\n- name: a\n  pod: {}\n  expect: {verdikt: denied}\n"
    [found] = diagnosed(text, is_suite=True)
    assert (found.rule, part(text, found.range)) == ("suite", "verdikt")
    assert found.fix is not None
    assert found.fix.text == "verdict"


def test_a_misspelt_shape_of_a_suite_has_a_fix() -> None:
    text = "topology:\n- {shape: hgx-h100}\ncases:\n- {name: a, pod: {}, expect: {verdict: denied}}\n"
    [found] = diagnosed(text, is_suite=True)
    assert part(text, found.range) == "hgx-h100"
    assert found.fix is not None
    assert found.fix.text == "hgx-h100-8"


@pytest.mark.parametrize(
    ("case", "about", "fix"),
    [
        ("{name: yes, pod: {}, expect: {verdict: denied}}", "yes", "'yes'"),
        ("{name: a, pod: {metadata: {nam: a}}, expect: {verdict: denied}}", "nam", "name"),
    ],
)
def test_values_and_fields_of_a_suite_have_the_fixes_of_policies(case: str, about: str, fix: str) -> None:
    text = f"cases:\n- {case}\n"
    [found] = diagnosed(text, is_suite=True)
    assert part(text, found.range) == about
    assert found.fix is not None
    assert found.fix.text == fix


def test_a_misspelt_kind_is_a_finding_in_compact_json_too() -> None:
    found = only('{"apiVersion":"podberth.io/v1alpha1","kind":"GPUPolicie","metadata":{"name":"a"}}')
    assert found.rule == "invalid"
