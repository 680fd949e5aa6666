import pytest

from podberth.suite.case_file import parse_suite

CASE = "cases:\n- name: a\n  pod: {spec: {}}\n  expect: {verdict: mutated}\n"


def test_a_suite_is_read_with_its_cluster() -> None:
    suite, problems = parse_suite("topology:\n- {shape: l4-1, count: 2, labels: {a: b, c: null}}\n" + CASE, "t.yaml")
    assert problems == ()
    assert suite is not None
    (nodes,) = suite.cluster.topology or ()
    assert (nodes.shape, nodes.count, nodes.labels) == ("l4-1", 2, {"a": "b", "c": None})
    (case,) = suite.cases
    assert (case.name, case.topology, case.expect.verdict, case.expect.warnings) == ("a", None, "mutated", None)
    assert suite.source.positions.at(("cases", 0, "expect", "verdict")) == (6, 21)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "t.yaml: got 0 documents, want one"),
        (CASE + "---\n" + CASE, "t.yaml: got 2 documents, want one"),
        ("cases: [", "t.yaml:1:9: this is no YAML: did not find expected node content; got the end"),
        ("topology: []\n", "t.yaml:1:1 cases: the field 'cases' is required"),
        ("cases: []\n", "t.yaml:1:8 cases: got no cases, want at least one"),
        (CASE.replace("mutated", "mutatd"), None),
        (
            CASE.replace("mutated", "warned"),
            (
                "t.yaml:4:21 cases[0].expect.verdict: got 'warned', want 'admitted', 'mutated', 'denied' or "
                "'unchanged'; write warnings: [part of the text], and the verdict that the pod has without the warning"
            ),
        ),
        (CASE.replace("expect", "expects"), None),
        (CASE.replace("  pod: {spec: {}}\n", ""), "t.yaml:2:3 cases[0]: want exactly one of pod, object and review"),
        (CASE + "  review: {}\n", "t.yaml:2:3 cases[0]: want exactly one of pod, object and review"),
        (CASE + CASE.removeprefix("cases:\n"), "t.yaml:5:9 cases[1].name: duplicate name 'a'; want each name once"),
        (
            CASE.replace("{verdict: mutated}", "{}"),
            "t.yaml:4:11 cases[0].expect: expects nothing; want verdict, warnings, denials, patched or golden",
        ),
        ("topology: [{count: 2}]\n" + CASE, "t.yaml:1:12 topology[0]: want exactly one of shape and documents"),
        (
            "topology: [{shape: l4-1, provider: azure}]\n" + CASE,
            "t.yaml:1:36 topology[0].provider: got 'azure', want one of bare, gke, eks for l4-1",
        ),
        (
            "topology: [{shape: l4-1, count: 1001}]\n" + CASE,
            "t.yaml:1:33 topology[0].count: got 1,001 nodes, want 1,000 at most",
        ),
        (
            CASE + "  topology: [{shape: a, documents: []}]\n",
            "t.yaml:5:14 cases[0].topology[0]: want exactly one of shape and documents",
        ),
        (
            "topology: [{shape: a, count: 0}]\n" + CASE,
            "t.yaml:1:30 topology[0].count: got 0, want at least 1",
        ),
    ],
)
def test_what_is_wrong_is_reported_at_its_place(text: str, problem: str | None) -> None:
    suite, problems = parse_suite(text, "t.yaml")
    assert suite is None
    if problem is not None:
        assert [str(each) for each in problems] == [problem]


def test_a_misspelled_shape_gets_a_suggestion() -> None:
    _, [problem] = parse_suite(CASE + "  topology: [{shape: hgx-h10-8}]\n", "t.yaml")
    assert str(problem).startswith("t.yaml:5:22 cases[0].topology[0].shape: got 'hgx-h10-8', want one of ")
    assert problem.message.endswith("; did you mean hgx-h100-8?")


def test_misspelled_words_get_a_suggestion() -> None:
    _, problems = parse_suite(CASE.replace("mutated", "mutatd").replace("pod:", "pods:"), "t.yaml")
    assert [str(problem) for problem in problems] == [
        "t.yaml:3:3 cases[0].pods: unknown field 'pods'; did you mean pod?",
        (
            "t.yaml:4:21 cases[0].expect.verdict: got 'mutatd', want 'admitted', 'mutated', 'denied' or 'unchanged'; "
            "did you mean mutated?"
        ),
    ]


def test_a_boolean_is_named_as_its_author_wrote_it() -> None:
    _, problems = parse_suite(CASE.replace("name: a", "name: yes", 1), "t.yaml")
    [found] = [each.message for each in problems]
    assert found == "got true, as YAML reads yes without quotes, want a string; put it in quotes"


def test_unknown_fields_of_pods_and_workloads_are_problems_and_the_suite_can_be_run() -> None:
    pod = "{metadata: {nam: a}, spec: {containers: [{name: a, resources: {limit: {}}}]}, status: {any: 1}}"
    owner = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {replica: 1}}"
    objects = f"[{owner}, {{apiVersion: example.com/v1, kind: Other, any: 1}}]"
    suite, problems = parse_suite(CASE.replace("{spec: {}}", pod) + f"  objects: {objects}\n", "t.yaml")
    assert suite is not None
    assert [str(each) for each in problems] == [
        ("t.yaml:3:20 cases[0].pod.metadata.nam: got nam, which an ObjectMeta does not have; did you mean name?"),
        (
            "t.yaml:3:71 cases[0].pod.spec.containers[0].resources.limit: got limit, which a ResourceRequirements "
            "does not have; did you mean limits?"
        ),
        (
            "t.yaml:5:81 cases[0].objects[0].spec.replica: got replica, which a DeploymentSpec does not have; "
            "did you mean replicas?"
        ),
    ]


def test_a_value_that_a_field_of_a_pod_does_not_take_is_a_problem_at_the_value() -> None:
    suite, problems = parse_suite(CASE.replace("{spec: {}}", "{spec: {restartPolicy: Nevr}}"), "t.yaml")
    assert suite is not None
    assert [str(each) for each in problems] == [
        "t.yaml:3:31 cases[0].pod.spec.restartPolicy: got 'Nevr'; did you mean Never?"
    ]
