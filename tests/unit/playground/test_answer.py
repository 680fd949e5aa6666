"""The playground's answer is what the commands say, about any texts."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any

import pytest
import yaml

from exceptions import exception
from podberth.cel.engine import Environment
from podberth.cli.main import main
from podberth.conventions import Conventions
from podberth.files.deadline import new_environment
from podberth.files.naming import conventions_of
from podberth.playground.answer import MOST_PODS, answer
from podberth.playground.asking import Asking
from podberth.playground.cluster import MAX_NODES, read_cluster
from podberth.playground.session import CLUSTER, POLICY, WORKLOAD, Session

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DENYING = POLICY.replace("validationActions: [Warn]", "validationActions: [Deny]")
NATIVE = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: named}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  validations: [{expression: object.metadata.name == 'other', message: not this name}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: named}
spec: {policyName: named, validationActions: [Deny]}
"""
NODES = """
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Node
  metadata: {name: a, labels: {nvidia.com/gpu.product: NVIDIA-L4}}
  status: {allocatable: {nvidia.com/gpu: "4"}, capacity: {nvidia.com/gpu: "4"}}
"""


@cache
def environment() -> Environment:
    return new_environment()


def answered(**texts: str) -> dict[str, Any]:
    """Return the answer to the example with other texts, as the page gets it."""
    found: dict[str, Any] = json.loads(
        json.dumps(answer(Session(**texts), environment(), Conventions(), NOW), default=str)
    )
    return found


def messages(found: Mapping[str, Any], name: str, level: str = "error") -> list[str]:
    return [each["message"] for each in found["marks"][name] if each["level"] == level]


def test_the_example_shows_every_part_of_an_answer() -> None:
    found = answered()
    assert (messages(found, "policy"), messages(found, "cluster")) == ([], [])
    assert messages(found, "workload", "warning") == ["a pod with several GPUs wants the label team"]
    assert [each["verdict"] for each in found["results"]] == ["mutated"]
    assert "+  tolerations:" in found["diff"]
    assert ["podberth.io/applied" in "".join(found[each]) for each in ("diff", "diffWithRecord")] == [False, True]
    [pod] = found["explained"]
    assert (pod["nodes"]["before"]["fit"], len(pod["nodes"]["after"]["fit"])) == ([], 3)
    assert [len(kind["nodes"]) for kind in found["map"]] == [3, 2]


def test_explanation_and_results_are_those_of_the_commands(
    tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path_factory.mktemp("session")
    (folder / "policies").mkdir()
    (folder / "policies" / "policy.yaml").write_text(POLICY)
    pod = folder / "workload.yaml"
    pod.write_text(WORKLOAD)
    found = answered(cluster="")
    for command, expected in (("explain", found["explained"]), ("check", found["results"])):
        main([command, str(pod), "--policies", str(folder / "policies"), "-o", "json"])
        printed = json.loads(capsys.readouterr().out)["results"]
        for each, other in zip(printed, expected, strict=True):
            assert {**each, "file": "workload.yaml"} == {key: other[key] for key in each}


def test_the_generated_tests_pass_and_fail_with_another_policy(
    tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path_factory.mktemp("generated")
    found = answered()
    assert found["tests"]["failing"] == []
    (folder / "policy.yaml").write_text(POLICY)
    (folder / "tests.yaml").write_text(found["tests"]["text"])
    assert main(["test", str(folder)]) == 0
    (folder / "policy.yaml").write_text(
        POLICY.replace("required: variables.nodes.requiredTerms", "preferred: variables.nodes.preferredTerms")
    )
    assert main(["test", str(folder)]) == 1
    capsys.readouterr()


def test_generated_tests_of_an_exception_are_of_the_moment_of_the_session() -> None:
    text = answered(policy=f"{POLICY}---\n{exception('e', 'example', until='2026-02-01T00:00:00Z')}")["tests"]["text"]
    assert [case["now"] for case in yaml.safe_load(text)["cases"]] == ["2026-01-01T00:00:00Z"]
    assert "now" not in answered()["tests"]["text"]


def test_a_denial_is_an_error_in_the_workload_and_leaves_no_nodes() -> None:
    found = answered(policy=DENYING)
    assert messages(found, "workload") == ["a pod with several GPUs wants the label team"]
    assert found["explained"][0]["nodes"]["after"] is None
    assert "verdict: denied" in found["tests"]["text"]


def test_a_native_policy_decides_too_and_is_in_the_tests() -> None:
    found = answered(policy=NATIVE)
    assert "not this name" in messages(found, "workload")[0]
    assert "not this name" in found["tests"]["text"]
    assert found["tests"]["failing"] == []


def test_a_mark_counts_as_a_browser_does() -> None:
    policy = POLICY.replace("gpu.perContainer > 1", "gpu.kind != '😀' && gpu.perContaine > 1")
    [mark] = [each for each in answered(policy=policy)["marks"]["policy"] if each["level"] == "error"]
    line = policy.split("\n")[mark["from"]["line"]].encode("utf-16-le")
    assert line[2 * mark["from"]["column"] : 2 * mark["to"]["column"]].decode("utf-16-le") == "perContaine"


def undecided(found: Mapping[str, Any]) -> bool:
    """Return whether an answer has the verdict "not decided" for each pod, and no part of a decision."""
    parts = (found["diff"], found["explained"], found["morePods"], found["tests"]["text"], found["tests"]["failing"])
    verdicts = {each["verdict"] for each in found["results"]}
    said = [each for result in found["results"] for each in (*result["denials"], *result["warnings"])]
    return not found["isDecided"] and verdicts == {"not decided"} and not said and not any(parts)


BROKEN_NATIVE = NATIVE.replace("object.metadata.name == 'other'", "object.metadata.")


@pytest.mark.parametrize(
    "policy",
    ["kind: [", POLICY.replace("perContainer > 1", "perContaine > 1"), f"{DENYING}---\n{BROKEN_NATIVE}"],
    ids=["YAML", "CEL", "native CEL"],
)
def test_nothing_is_decided_while_a_policy_has_an_error(policy: str) -> None:
    found = answered(policy=policy)
    assert messages(found, "policy")
    assert undecided(found)


def test_the_errors_of_a_workload_are_shown_while_nothing_is_decided() -> None:
    broken = WORKLOAD.replace("spec:\n", "spec:\n  restartPolicy: never\n")
    found = answered(policy="kind: [", workload=f"{broken}---\napiVersion: v1\nkind: Service\nmetadata: {{name: a}}\n")
    assert [(each["verdict"], each["skippedAs"]) for each in found["results"]] == [
        ("error", ""),
        ("skipped", "without pods"),
    ]


def test_a_wrong_object_of_the_cluster_does_not_keep_the_rest_from_being_decided() -> None:
    wrong = NODES + "- {apiVersion: v1, kind: Node}\n"
    found = answered(cluster=wrong)
    assert messages(found, "cluster")
    assert found["isDecided"]


@pytest.mark.parametrize(
    ("cluster", "message"),
    [
        ("topology: [{shape: nothing}]", "got 'nothing', want one of"),
        ("topology: [{shape: l4-4, count: 2000}]", f"got 2,000 nodes, want {MAX_NODES:,} at most"),
        ("topology: [{count: 1}]", "want exactly one of shape and documents"),
        ("topolgy: []", "unknown field 'topolgy'"),
        (
            '{"schema": "podberth.io/topology-report/v1", "nodes": 2}',
            "want the nodes themselves: what podberth topology",
        ),
        (
            "topology: [{shape: l4-4, count: 1000}, {shape: l4-4, count: 1000}, {shape: l4-4}]",
            f"want {MAX_NODES:,} at most",
        ),
        ("a: b: c", "mapping values are not allowed"),
    ],
)
def test_a_wrong_cluster_is_marked_and_nothing_is_decided(cluster: str, message: str) -> None:
    found = answered(cluster=cluster)
    assert message in messages(found, "cluster")[0]
    assert undecided(found)


def test_a_cluster_may_be_what_kubectl_prints_and_the_tests_have_its_nodes() -> None:
    found = answered(cluster=NODES)
    assert found["explained"][0]["nodes"]["before"]["fit"] == ["a"]
    assert found["tests"]["failing"] == []
    assert "documents:" in found["tests"]["text"]


def test_each_pod_of_a_workload_is_explained_up_to_a_bound() -> None:
    pods = "---\n".join(WORKLOAD.replace("train", f"train-{number}") for number in range(MOST_PODS + 3))
    found = answered(workload=pods)
    assert (len(found["explained"]), found["morePods"], len(found["results"])) == (MOST_PODS, 3, MOST_PODS + 3)


@pytest.mark.parametrize("name", ["policy", "workload", "cluster"])
@pytest.mark.parametrize(
    "text",
    [
        "",
        "\x00",
        "- 1",
        "null",
        "a: &a [*a]",
        "kind: Pod\napiVersion: v1",
        "{" * 300,
        "---\n" * 99,
        "metadata: {namespace: team-}",
    ],
)
def test_no_text_raises_an_error(name: str, text: str) -> None:
    assert answered(**{name: text})["explained"] is not None


IN_NO_NAMESPACE = WORKLOAD.replace("name: train", "name: train\n  namespace: team-")


@pytest.mark.parametrize("texts", [{"namespace": "A B"}, {"workload": IN_NO_NAMESPACE}])
def test_a_namespace_that_cannot_be_is_an_error_of_the_workload_and_the_rest_is_answered(texts: dict[str, str]) -> None:
    found = answered(**texts)
    assert found["map"]
    assert found["results"]


GANG = POLICY.partition("  matchConditions")[0].replace("multi-gpu-nvlink", "gangs")
GROUP = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: g, namespace: default}
spec: {minMember: 3}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: mode, namespace: default, labels: {podberth.io/params: "true"}}
data: {most: "1"}
---
"""


@pytest.mark.parametrize(
    "rule",
    [
        "  validations: [{expression: gang.size <= 1, message: no gangs}]\n  validationActions: [Deny]\n",
        (
            "  paramKind: {apiVersion: v1, kind: ConfigMap}\n  paramRef: {name: mode, parameterNotFoundAction: Allow}\n"
            "  validations: [{expression: gpu.count <= int(params.data.most), message: too many}]\n"
            "  validationActions: [Deny]\n"
        ),
    ],
)
def test_the_tests_have_the_objects_of_the_workload(rule: str) -> None:
    member = WORKLOAD.replace("name: train", "name: train\n  annotations: {scheduling.k8s.io/group-name: g}")
    found = answered(policy=GANG + rule, workload=GROUP + member, cluster="")
    assert [each["verdict"] for each in found["results"] if each["kind"] == "Pod"] == ["denied"]
    assert "verdict: denied" in found["tests"]["text"]
    assert found["tests"]["failing"] == []


OF_DEV = DENYING.replace("spec:\n", "spec:\n  matchConstraints: {namespaceSelector: {matchLabels: {tier: dev}}}\n")
NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: default, labels: {tier: %s}}\n"


@pytest.mark.parametrize(
    "texts",
    [
        {"cluster": CLUSTER + "objects:\n- " + NAMESPACE.replace("\n", "\n  ") % "dev"},
        {"cluster": NAMESPACE % "dev"},
        {"cluster": "", "workload": f"{NAMESPACE % 'dev'}---\n{WORKLOAD}"},
        {"cluster": NAMESPACE % "other", "workload": f"{NAMESPACE % 'dev'}---\n{WORKLOAD}"},
        {
            "cluster": "objects:\n- " + NAMESPACE.replace("\n", "\n  ") % "other",
            "workload": f"{NAMESPACE % 'dev'}---\n{WORKLOAD}",
        },
    ],
    ids=["cluster's objects", "snapshot", "workload", "snapshot and workload", "cluster's objects and workload"],
)
def test_the_tests_have_the_given_namespace_once(texts: dict[str, str]) -> None:
    found = answered(policy=OF_DEV, **texts)
    assert [each["verdict"] for each in found["results"] if each["kind"] == "Pod"] == ["denied"]
    tests = found["tests"]
    assert (tests["failing"], tests["text"].count("kind: Namespace")) == ([], 1)
    assert "verdict: denied" in tests["text"]


def test_without_a_policy_nothing_changes_and_no_file_is_spoken_of() -> None:
    found = answered(policy="# soon\n")
    assert (messages(found, "policy"), [each["verdict"] for each in found["results"]]) == ([], ["unchanged"])


UNLABELLED = (
    "nothing of namespace default is known: multi-gpu-nvlink judges as if it had no label and no annotation; "
    "add the Namespace to the cluster"
)
OF_NODES = f"{NODES}- {{apiVersion: v1, kind: Namespace, metadata: {{name: default, labels: {{tier: dev}}}}}}\n"


@pytest.mark.parametrize(
    ("policy", "cluster", "said"),
    [
        (OF_DEV, CLUSTER, [UNLABELLED]),
        (OF_DEV, NODES, [UNLABELLED]),
        (OF_DEV, OF_NODES, []),
        (DENYING, CLUSTER, []),
    ],
)
def test_labels_of_a_namespace_that_is_not_given_are_said_to_be_unknown(
    policy: str, cluster: str, said: list[str]
) -> None:
    assert answered(policy=policy, cluster=cluster)["unknownNamespaces"] == said


@pytest.mark.parametrize("comment", ["", "  # podberth-lint: disable=invalid it is a test"])
def test_a_policy_that_does_not_compile_is_reported_even_if_lint_is_silenced(comment: str) -> None:
    policy = POLICY.replace("gpu.perContainer > 1 && gpu.kind == 'whole'", f"gpu.perContaine > 1{comment}")
    found = answered(policy=policy)
    assert len(messages(found, "policy")) == 1
    assert undecided(found)


def test_the_clusters_own_names_decide() -> None:
    policy = POLICY.split("spec:")[0] + "spec:\n  mutations: [{tolerations: topology.nodes(gpu).tolerations}]\n"
    cluster = "topology: [{shape: l4-1, taints: [{key: example.com/accelerated, effect: NoSchedule}]}]"
    names = conventions_of("tolerableTaints: [{key: example.com/accelerated}]", "names.yaml")
    session = Session(policy=policy, workload=WORKLOAD.replace("gpu: 4", "gpu: 1"), cluster=cluster)

    def fits(conventions: Conventions) -> tuple[str, list[str], bool]:
        found = answer(session, environment(), conventions, NOW)
        nodes = found["explained"][0]["nodes"]["after"]["fit"]
        return found["results"][0]["verdict"], list(nodes), "example.com/accelerated" in found["tests"]["text"]

    assert fits(Conventions())[:2] == ("unchanged", [])
    verdict, nodes, tested = fits(names)
    assert (verdict, len(nodes), tested) == ("mutated", 1, True)


def test_lint_marks_a_level_that_is_not_the_clusters() -> None:
    policy = (
        POLICY.split("spec:")[0] + "spec: {mutations: [{topology: {level: \"'example.com/rack'\", mode: preferred}}]}\n"
    )

    def marks(conventions: Conventions) -> list[str]:
        found = answer(Session(policy=policy), environment(), conventions, NOW)
        return [each["source"] for each in found["marks"]["policy"]]

    assert "unknown-level" in marks(Conventions())
    assert "unknown-level" not in marks(conventions_of("levels: [example.com/rack]", "names.yaml"))


def test_no_prefix_of_the_example_raises_an_error() -> None:
    for name, text in (("policy", POLICY), ("workload", WORKLOAD), ("cluster", CLUSTER)):
        for end in range(0, len(text), 7):
            answered(**{name: text[:end]})


def test_completions_and_explanations_are_those_of_the_language_server() -> None:
    asking = Asking(environment(), Conventions())
    line = next(number for number, text in enumerate(POLICY.split("\n")) if "gpu.perContainer > 1" in text)
    column = POLICY.split("\n")[line].index("perContainer")
    request = {"session": Session().as_json(), "in": "policy", "line": line, "column": column + 3}
    assert "perContainer" in [each["label"] for each in asking("complete", request, NOW)["items"]]
    assert asking("hover", request, NOW)["from"] == {"line": line, "column": column}
    assert asking("hover", {**request, "in": "workload"}, NOW) is None


@pytest.mark.parametrize("text", ["", "top", "# nodes\n"])
def test_a_cluster_is_offered_the_fields_of_a_suite_without_cases(text: str) -> None:
    place = {"in": "cluster", "line": text.count("\n"), "column": len(text.rpartition("\n")[2])}
    found = Asking(environment(), Conventions())("complete", {"session": Session(cluster=text).as_json(), **place}, NOW)
    assert [each["label"] for each in found["items"]] == ["topology", "objects", "params"]


def test_a_namespace_whose_name_is_no_text_is_a_problem_and_no_fault() -> None:
    found = read_cluster("objects:\n- {apiVersion: v1, kind: Namespace, metadata: {name: {a: b}}}\n", "default")
    assert found.with_objects([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml"}}])["objects"][1:]
