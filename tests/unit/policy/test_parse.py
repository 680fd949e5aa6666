import pytest

from podberth.errors import Problem
from podberth.policy.parse import MAX_PROBLEMS, parse_policies

GOOD = """\
apiVersion: podberth.io/v1alpha1
kind: GPUPolicy
metadata: {name: good}
spec:
  mutations:
  - when: gpu.count > 0
    tolerations: |
      topology.nodes(gpu)
        .tolerations
"""
PARAMS = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: podberth-good, namespace: podberth-system}
data: {mode: preferred}
"""

EXPRESSION = "want a CEL expression as a string"
SUBDOMAIN = "lower-case letters, digits, '-' and '.', at most 253 characters"
QUALIFIED = "[prefix/]name, the name of letters, digits, '-', '_' and '.', at most 63 characters"
QUOTE = "and not as a part of the text; put the whole text into quotes"
UNIQUE = "names are unique in all files together"


def problems_of(*texts: str) -> list[str]:
    parsed = parse_policies((f"{'abc'[index]}.yaml", text) for index, text in enumerate(texts))
    return [str(problem) for problem in parsed.problems]


def test_policies_and_their_default_params_are_read_from_all_files() -> None:
    parsed = parse_policies([("a.yaml", GOOD), ("b.yaml", PARAMS + "---\n" + GOOD.replace("good", "another"))])
    assert [each.policy.name for each in parsed.policies] == ["another", "good"]
    assert [each.file for each in parsed.policies] == ["b.yaml", "a.yaml"]
    assert parsed.params["podberth-system", "podberth-good"]["data"] == {"mode": "preferred"}
    assert parsed.problems == ()


def test_a_problem_of_an_expression_stands_at_its_line_and_column_of_the_file() -> None:
    (good,) = parse_policies([("a.yaml", GOOD)]).policies
    path = ("spec", "mutations", 0)
    assert good.problem((*path, "when"), "no", 1, 5) == Problem("a.yaml", 6, 15, "spec.mutations[0].when", "no")
    assert good.problem((*path, "tolerations"), "no", 2, 4).line == 9
    assert good.problem((*path, "tolerations"), "no", 2, 4).column == 10


def test_every_problem_is_reported_at_its_place() -> None:
    text = """\
apiVersion: podberth.io/v1alpha1
kind: GPUPolicy
metadata:
  name: Bad_name
spec:
  order: "3"
  mutatons: []
  failurePolicy: fail
  mutations:
  - when: [a]
    nodeAffinity: {preferred: true, weight: 101}
  - labels: {"a b": x}
    gang: {nme: x}
  validations:
  - expression: 1
  rollout: 5
"""
    assert problems_of(text) == [
        f"a.yaml:4:9 metadata.name: got 'Bad_name', want a DNS-1123 subdomain: {SUBDOMAIN}",
        "a.yaml:6:10 spec.order: got '3', want a whole number; write 3",
        "a.yaml:7:3 spec.mutatons: unknown field 'mutatons'; did you mean mutations?",
        "a.yaml:8:18 spec.failurePolicy: got 'fail', want 'Fail' or 'Ignore'; did you mean Fail?",
        f"a.yaml:10:11 spec.mutations[0].when: got a list, {EXPRESSION}; put the whole in quotes: \"['a']\"",
        f"a.yaml:11:31 spec.mutations[0].nodeAffinity.preferred: got true, {EXPRESSION}; put it in quotes: 'true'",
        "a.yaml:11:45 spec.mutations[0].nodeAffinity.weight: got 101, want at most 100",
        f"a.yaml:12:14 spec.mutations[1].labels[a b]: got 'a b', want a qualified name: {QUALIFIED}",
        "a.yaml:13:12 spec.mutations[1].gang.nme: unknown field 'nme'; did you mean name?",
        f"a.yaml:15:17 spec.validations[0].expression: got 1, {EXPRESSION}; put it in quotes: '1'",
        "a.yaml:16:12 spec.rollout: got 5, want an object with the field percent; write {percent: 5}",
    ]


def test_what_the_reader_of_yaml_finds_is_reported_too() -> None:
    assert problems_of("a: [\n") == ["a.yaml:2:1: this is no YAML: did not find expected node content; got the end"]


@pytest.mark.parametrize("given", ["5", "1.5", "true"])
def test_a_number_in_the_place_of_a_text_gets_both_quotes(given: str) -> None:
    text = GOOD.replace("mutations:", f"mutations:\n  - labels: {{team: {given}}}")

    [problem] = problems_of(text)
    assert problem.endswith(f"labels.team: got {given}, {EXPRESSION}; for the text {given} write \"'{given}'\"")
    assert problems_of(text.replace(f"team: {given}", f"team: \"'{given}'\"")) == []


@pytest.mark.parametrize("word", ["y", "yes", "On", "NO"])
def test_a_word_that_yaml_reads_as_a_boolean_is_named(word: str) -> None:
    read = "true" if word in ("y", "yes", "On") else "false"
    got = f"got {read}, as YAML reads {word} without quotes"
    label = GOOD.replace("mutations:", f"mutations:\n  - labels: {{team: {word}}}")
    [problem] = problems_of(label)
    assert problem.endswith(f"labels.team: {got}, {EXPRESSION}; for the text {word} write \"'{word}'\"")
    assert problems_of(label.replace(f"team: {word}", f"team: \"'{word}'\"")) == []
    [problem] = problems_of(GOOD.replace("when: gpu.count > 0", f"when: {word}"))
    assert problem.endswith(f"when: {got}, {EXPRESSION}; put it in quotes: '{read}'")
    [problem] = problems_of(GOOD.replace("spec:", f"spec:\n  description: {word}", 1))
    assert problem.endswith(f"spec.description: {got}, want a string; put it in quotes")


@pytest.mark.parametrize(
    ("given", "source"),
    [
        ("[a, 1, true, null]", "['a', 1, true, null]"),
        ("[\"'a'\"]", "['a']"),
        ("[{key: a, operator: Exists}]", "[{'key': 'a', 'operator': 'Exists'}]"),
        (f"[{'a' * 100}]", "[...]"),
    ],
)
def test_a_list_of_yaml_in_the_place_of_an_expression_is_written_in_cel(given: str, source: str) -> None:
    [problem] = problems_of(GOOD.replace("mutations:", f"mutations:\n  - tolerations: {given}"))
    assert problem.endswith(f'tolerations: got a list, {EXPRESSION}; put the whole in quotes: "{source}"')


def test_a_list_in_the_place_of_a_text_is_not_written_in_cel() -> None:
    [problem] = problems_of(GOOD.replace("mutations:", "mutations:\n  - labels: {team: [a]}"))
    assert problem.endswith(f"labels.team: got a list, {EXPRESSION}, whose value is a text")


@pytest.mark.parametrize("field", ["rollout: 10%", "rollout: '10'", "rollout: {percent: 10%}"])
def test_a_percentage_of_a_rollout_is_written_as_a_number(field: str) -> None:
    [problem] = problems_of(GOOD.replace("spec:", f"spec:\n  {field}", 1))
    assert problem.endswith(("want an object with the field percent; write {percent: 10}", "a whole number; write 10"))


@pytest.mark.parametrize("place", ["", "  mutations:\n  - "])
def test_a_field_at_a_wrong_place_is_named_with_its_place(place: str) -> None:
    text = GOOD.replace("  mutations:\n  - ", "  mutations:\n  - rollout: {percent: 10}\n    ") if place else ""
    [problem] = problems_of(text or f"{GOOD}rollout: {{percent: 10}}\n")
    assert problem.endswith("; rollout is a field of spec")


@pytest.mark.parametrize(("text", "tag"), [("!has(object.spec.x)", "!has(object.spec.x)"), ("! gang.known", "!")])
def test_an_expression_that_yaml_reads_as_a_tag_is_to_be_quoted(text: str, tag: str) -> None:
    tagged = GOOD.replace("mutations:", f"matchConditions:\n  - name: a\n    expression: {text}\n  mutations:")

    assert problems_of(tagged) == [
        f"a.yaml:7:17 spec.matchConditions[0].expression: YAML reads {tag} as a tag, {QUOTE}"
    ]


def test_a_negation_in_quotes_and_yamls_own_tags_are_read() -> None:
    quoted = GOOD.replace("when: gpu.count > 0", "when: >-\n      {a: !gang.known}").replace(
        "name: good", "name: !!str good"
    )

    assert problems_of(quoted) == []


def test_a_policy_with_a_problem_is_left_out_and_the_others_stay() -> None:
    parsed = parse_policies([("a.yaml", GOOD), ("b.yaml", GOOD.replace("good", "bad").replace("when", "wen"))])
    assert [each.policy.name for each in parsed.policies] == ["good"]
    assert [str(problem) for problem in parsed.problems] == [
        "b.yaml:6:5 spec.mutations[0].wen: unknown field 'wen'; did you mean when?"
    ]


def test_names_are_unique_in_all_files_together() -> None:
    assert problems_of(GOOD, PARAMS, GOOD + "---\n" + PARAMS) == [
        f"c.yaml:3:18 metadata.name: GPUPolicy 'good' is already in a.yaml:3; {UNIQUE}",
        f"c.yaml:13:18 metadata.name: ConfigMap 'podberth-good' is already in b.yaml:3; {UNIQUE}",
    ]


def test_another_kind_is_refused_by_name() -> None:
    kinds = "GPUPolicy, GPUPolicyException or NamespacedGPUPolicy"
    want = f"want podberth.io/v1alpha1 {kinds}, or a v1 ConfigMap (params); move it elsewhere"
    assert problems_of("apiVersion: v1\nkind: Secret\n") == [f"a.yaml:2:7 kind: got v1 Secret, {want}"]
    assert problems_of("cases: []\n") == [f"a.yaml:1:1: got no apiVersion, no kind, {want}"]


@pytest.mark.parametrize("head", ["apiVersion: podberth.io/v1alpha1\n", ""])
def test_a_kind_that_is_misspelt_is_named(head: str) -> None:
    want = "want GPUPolicy, GPUPolicyException or NamespacedGPUPolicy; did you mean GPUPolicy?"
    [said] = problems_of(f"{head}kind: GpuPolicy\n")
    assert said.endswith(f"kind: got 'GpuPolicy', {want}")


def test_a_policy_of_another_api_is_none_that_is_misspelt() -> None:
    [said] = problems_of("apiVersion: example.com/v1\nkind: Policy\n")
    assert said.endswith("; move it elsewhere")


@pytest.mark.parametrize(
    ("got", "engine"),
    [
        ("kyverno.io/v1 ClusterPolicy", "Kyverno"),
        ("policies.kyverno.io/v1alpha1 ValidatingPolicy", "Kyverno"),
        ("templates.gatekeeper.sh/v1 ConstraintTemplate", "Gatekeeper"),
        ("constraints.gatekeeper.sh/v1beta1 K8sRequiredLabels", "Gatekeeper"),
        ("mutations.gatekeeper.sh/v1 Assign", "Gatekeeper"),
    ],
)
def test_a_policy_of_another_engine_is_refused_with_its_name_and_the_page(got: str, engine: str) -> None:
    version, kind = got.split()
    [problem] = problems_of(f"apiVersion: {version}\nkind: {kind}\n")
    assert problem == (
        f"a.yaml:2:7 kind: got {got} of {engine}, whose rules podberth does not read or convert, want a GPUPolicy, "
        "ValidatingAdmissionPolicy or MutatingAdmissionPolicy; write the rules in CEL (docs/convert.md, "
        "From Kyverno or Gatekeeper)"
    )


def test_another_version_of_the_policy_is_refused() -> None:
    assert problems_of(GOOD.replace("v1alpha1", "v2")) == [
        "a.yaml:1:13 apiVersion: got 'podberth.io/v2', want 'podberth.io/v1alpha1'"
    ]


def test_params_need_name_and_namespace_and_strings() -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a: 1, b: [x]}\n"
    assert problems_of(text) == [
        "a.yaml:3:1 metadata.namespace: the field 'namespace' is required; a ConfigMap beside policies is their params",
        "a.yaml:4:11 data.a: got 1, want a string; ConfigMaps hold nothing else",
        "a.yaml:4:17 data.b: got a list, want a string; ConfigMaps hold nothing else",
    ]
    assert problems_of("apiVersion: v1\nkind: ConfigMap\nmetadata: x\ndata: [a]\n")[-1] == (
        "a.yaml:4:7 data: got a list, want a string; ConfigMaps hold nothing else"
    )


def test_problems_are_capped_and_the_rest_is_counted() -> None:
    wrong = "---\n".join(f"kind: Nothing{number}\n" for number in range(MAX_PROBLEMS + 7))
    problems = problems_of(wrong)
    assert len(problems) == MAX_PROBLEMS + 1
    assert problems[-1] == "a.yaml: 7 more problems follow; fix these first"
