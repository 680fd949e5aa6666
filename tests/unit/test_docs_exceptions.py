"""docs/exceptions.md: its exception is one, its fields are the model's, and its test passes."""

from pages import page
from podberth.kube.documents import load_documents
from podberth.policy.exception_model import ExceptionSpec
from podberth.policy.parse import parse_policies
from podberth.suite.case_file import parse_suite
from podberth.suite.runner import run_suite
from snapshots import environment, policy

PAGE = page("docs/exceptions.md")
EXCEPTION, ONE_POD, CASE = (part.partition("```")[0] for part in PAGE.split("```yaml\n")[1:])
WARNS = "  validations:\n  - {expression: 'false', message: be careful}\n  validationActions: [Warn]"
OF_A_STATEFUL_SET = """
cases:
- name: a pod of a StatefulSet
  now: "2027-03-30T23:59:59Z"
  namespace: vision
  pod:
    metadata: {{name: {name}, labels: {{statefulset.kubernetes.io/pod-name: {name}}}}}
    spec: {{containers: [{{name: main, resources: {{limits: {{nvidia.com/gpu: 1}}}}}}]}}
  expect: {{warnings: {warned}}}
"""


def test_the_exception_of_the_page_is_one_and_its_test_passes() -> None:
    text = "---\n".join([EXCEPTION, *(policy(name, WARNS) for name in ("shm-and-limits", "requests-equal-limits"))])
    parsed = parse_policies([("policies.yaml", text)])
    assert parsed.problems == ()
    suite, problems = parse_suite(CASE, "tests.yaml")
    assert problems == ()
    assert suite is not None
    assert run_suite(suite, parsed, environment()).violations == ()
    late, _ = parse_suite(CASE.replace("2027-03-30T23:59:59Z", "2027-03-31T00:00:00Z"), "tests.yaml")
    assert late is not None
    assert run_suite(late, parsed, environment()).violations != ()


def test_the_exception_of_one_pod_is_for_that_pod_alone() -> None:
    text = "---\n".join([ONE_POD, *(policy(name, WARNS) for name in ("gpu-tolerations", "multi-gpu-nvlink"))])
    parsed = parse_policies([("policies.yaml", text)])
    assert parsed.problems == ()
    for name, warned in (("embed-0", "[]"), ("embed-1", "[be careful]")):
        suite, problems = parse_suite(OF_A_STATEFUL_SET.format(name=name, warned=warned), "tests.yaml")
        assert problems == ()
        assert suite is not None
        assert run_suite(suite, parsed, environment()).violations == ()


def test_the_page_has_a_row_for_each_field() -> None:
    [document], _ = load_documents(EXCEPTION, "")
    fields = {each.alias or name for name, each in ExceptionSpec.model_fields.items()}
    assert fields == set(document.document["spec"])
    table = PAGE.partition("| field | meaning |\n")[2].partition("\n\n")[0]
    assert fields == {row.split("`")[1] for row in table.splitlines()[1:]}
