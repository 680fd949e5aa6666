from dataclasses import replace
from typing import Any

import pytest

from exceptions import BEFORE, END, exception
from podberth.cel.engine import Environment, Expression
from podberth.errors import PolicyError
from podberth.kube.schema import PodSchema
from podberth.policy.parse import parse_policies
from podberth.suite.case_file import parse_suite
from podberth.suite.runner import CaseResult, SuiteSettings, run_suite
from tenants import at_most

POLICY = """\
apiVersion: podberth.io/v1alpha1
kind: GPUPolicy
metadata: {name: demo}
spec:
  scope: All
  paramKind: {apiVersion: v1, kind: ConfigMap}
  paramRef: {name: demo, namespace: podberth-system, parameterNotFoundAction: Deny}
  matchConstraints:
    resourceRules:
    - {operations: [CREATE, UPDATE], apiGroups: [""], apiVersions: [v1], resources: [pods, pods/ephemeralcontainers]}
    namespaceSelector: {matchExpressions: [{key: off-limits, operator: DoesNotExist}]}
  mutations:
  - when: gpu.count > 0
    labels:
      gpu: params.data['label']
  validations:
  - expression: "object.metadata.name != 'bad'"
    message: a bad name
  validationActions: [Deny]
---
apiVersion: podberth.io/v1alpha1
kind: GPUPolicy
metadata: {name: warner}
spec:
  scope: All
  validations:
  - expression: topology.known
    message: no topology
  validationActions: [Warn]
"""
PARAMS = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: demo, namespace: podberth-system}
data: {label: "yes"}
"""
GPU_POD = "{metadata: {name: p}, spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: 1}}}]}}"
POD = "{metadata: {name: p}, spec: {containers: [{name: main}]}}"
SIZED_POD = POD.replace("main", "main, resources: {limits: {cpu: 1, memory: 8192Mi}}")
LABELLED = "{metadata: {labels: {gpu: 'yes'}}}"
LABELLED_OTHER = "{metadata: {labels: {gpu: other}}}"


@pytest.fixture(scope="module")
def environment() -> Environment:
    return Environment(PodSchema.packaged())


def run(environment: Environment, case: str, policies: str = POLICY) -> CaseResult:
    suite, problems = parse_suite(f"cases:\n- name: a\n{case}", "t.yaml")
    assert problems == ()
    assert suite is not None
    parsed = parse_policies([("p.yaml", policies), ("params.yaml", PARAMS)])
    assert parsed.problems == ()
    (result,) = run_suite(suite, parsed, environment).cases
    return result


def violations(environment: Environment, case: str) -> list[str]:
    return [str(violation) for violation in run(environment, case).violations]


@pytest.mark.parametrize(
    "case",
    [
        f"  pod: {GPU_POD}\n  expect: {{verdict: mutated, patched: {LABELLED}}}\n",
        f"  pod: {GPU_POD}\n  params: {{demo: {{label: other}}}}\n  expect: {{patched: {LABELLED_OTHER}}}\n",
        f"  pod: {GPU_POD}\n  expect: {{verdict: admitted, warnings: ['warner: no topology', 'label gpu=']}}\n",
        f"  pod: {POD}\n  topology: [{{shape: l4-1}}]\n  expect: {{verdict: unchanged, warnings: [], denials: []}}\n",
        f"  pod: {SIZED_POD}\n  expect: {{patched: {SIZED_POD}}}\n",
        f"  pod: {SIZED_POD}\n  expect: {{patched: {SIZED_POD.replace('8192Mi', '8Gi')}}}\n",
        f"  pod: {POD.replace('p}', 'bad}')}\n  expect: {{verdict: denied, denials: ['demo: a bad name']}}\n",
        f"  review: {{object: {POD}, operation: UPDATE, oldObject: {POD}}}\n  expect: {{verdict: unchanged}}\n",
        f"  review: {{object: {GPU_POD}, subResource: ephemeralcontainers}}\n  expect: {{verdict: unchanged}}\n",
        (
            f"  pod: {GPU_POD}\n  expect: {{verdict: unchanged}}\n  objects:\n"
            "  - {apiVersion: v1, kind: Namespace, metadata: {name: default, labels: {off-limits: 'yes'}}}\n"
        ),
    ],
)
def test_an_expectation_that_is_met_is_no_violation(environment: Environment, case: str) -> None:
    assert violations(environment, case) == []


@pytest.mark.parametrize(
    ("case", "violation"),
    [
        (
            f"  pod: {POD}\n  expect: {{verdict: mutated}}\n",
            "t.yaml:4:21 cases[0].expect.verdict: got unchanged, want mutated",
        ),
        (
            f"  pod: {POD.replace('p}', 'bad}')}\n  expect: {{verdict: admitted}}\n",
            "t.yaml:4:21 cases[0].expect.verdict: got denied: podberth demo: a bad name, want admitted",
        ),
        (
            f"  pod: {POD}\n  expect: {{warnings: []}}\n",
            "t.yaml:4:22 cases[0].expect.warnings: got podberth warner: no topology, want nothing",
        ),
        (
            f"  pod: {POD}\n  expect: {{denials: ['no!']}}\n",
            "t.yaml:4:22 cases[0].expect.denials[0]: got nothing, want 'no!' in it",
        ),
        (
            f"  pod: {GPU_POD}\n  expect:\n    patched:\n      metadata:\n        labels: {{gpu: other}}\n",
            "t.yaml:7:23 cases[0].expect.patched.metadata.labels.gpu: got 'yes', want 'other'",
        ),
    ],
)
def test_an_expectation_that_is_not_met_is_reported_at_its_place(
    environment: Environment, case: str, violation: str
) -> None:
    assert violations(environment, case) == [violation]


class CountingEnvironment(Environment):
    """Counts the expressions that it compiles."""

    compiled = 0

    def compile(self, *arguments: Any, **options: Any) -> Expression:
        self.compiled += 1
        return super().compile(*arguments, **options)


def test_policies_are_compiled_once_for_all_cases() -> None:
    rest = f"  pod: {POD}\n  topology: []\n  expect: {{verdict: unchanged}}\n"
    counts = []
    for cases in (1, 3):
        suite, problems = parse_suite("cases:\n" + "".join(f"- name: c{n}\n{rest}" for n in range(cases)), "t.yaml")
        assert suite is not None, problems
        counting = CountingEnvironment(PodSchema.packaged())
        assert len(run_suite(suite, parse_policies([("p.yaml", POLICY), ("q.yaml", PARAMS)]), counting).cases) == cases
        counts.append(counting.compiled)
    assert counts[0] == counts[1] > 0


def test_policies_see_quantities_as_the_apiserver_writes_them(environment: Environment) -> None:
    expression = "object.spec.containers[0].resources.limits == {'cpu': '1', 'memory': '8Gi'}"
    policy = POLICY.replace("object.metadata.name != 'bad'", expression)
    for case in (
        f"  pod: {SIZED_POD}\n",
        f"  review: {{object: {SIZED_POD}, operation: UPDATE, oldObject: {SIZED_POD}}}\n",
    ):
        assert run(environment, f"{case}  expect: {{verdict: admitted}}\n", policy).verdict == "unchanged"


def test_a_denied_pod_has_no_patched_form_when_mutation_denies(environment: Environment) -> None:
    params = "{demo: {label: 'not a label'}}"
    case = f"  pod: {GPU_POD}\n  params: {params}\n  expect: {{verdict: denied, patched: {LABELLED}}}\n"
    result = run(environment, case)
    assert result.verdict == "denied"
    assert [str(violation) for violation in result.violations] == [
        "t.yaml:5:38 cases[0].expect.patched: got no pod, because it was denied"
    ]


@pytest.mark.parametrize(
    ("case", "violation"),
    [
        ("  pod: {metadata: x}\n  expect: {verdict: denied}\n", "cases[0].pod: metadata: got 'x', want an object"),
        ("  pod: {spec: x}\n  expect: {verdict: denied}\n", "cases[0].pod: spec: got string, want object"),
        ("  review: {operation: EAT}\n  expect: {verdict: denied}\n", "cases[0].review: request.operation: got 'EAT'"),
        (
            f"  pod: {POD}\n  objects: [{{kind: Node}}]\n  expect: {{verdict: denied}}\n",
            "cases[0]: document: got apiVersion null",
        ),
    ],
)
def test_a_case_that_cannot_be_run_says_why_and_never_raises(
    environment: Environment, case: str, violation: str
) -> None:
    (found,) = violations(environment, case)
    assert violation in found


def test_a_second_pass_that_changes_something_is_a_violation(environment: Environment) -> None:
    growing = """\
apiVersion: podberth.io/v1alpha1
kind: GPUPolicy
metadata: {name: growing}
spec:
  scope: All
  mutations:
  - tolerations: >-
      [{'key': 'k' + string(has(object.spec.tolerations) ? object.spec.tolerations.size() : 0), 'operator': 'Exists'}]
"""
    result = run(environment, f"  pod: {POD}\n  expect: {{verdict: mutated}}\n", growing)
    (violation,) = result.violations
    assert violation.where == "cases[0]"
    assert violation.message.startswith("a second pass changes the pod again: ")
    assert "/spec/tolerations" in violation.message


def test_policies_that_do_not_compile_are_no_matter_of_a_case(environment: Environment) -> None:
    with pytest.raises(PolicyError, match=r"p\.yaml:"):
        run(environment, f"  pod: {POD}\n  expect: {{verdict: mutated}}\n", POLICY.replace("gpu.count", "gpu.cuont"))


def test_nodes_of_a_suite_can_be_changed(environment: Environment) -> None:
    policy = """\
apiVersion: podberth.io/v1alpha1
kind: GPUPolicy
metadata: {name: labels}
spec:
  mutations:
  - tolerations: topology.nodes(gpu).taints.map(t, {'key':t.key, 'operator':'Exists'})
  - when: topology.nodes(gpu).exist
    labels: {nodes: string(topology.nodes(gpu).count)}
"""
    case = (
        "  topology:\n"
        "  - {shape: l4-1, count: 3, name: x, taints: [{key: mine, effect: NoSchedule}]}\n"
        "  - {shape: l4-1, labels: {team: a}, taints: []}\n"
        f"  pod: {GPU_POD.replace('spec: {', 'spec: {nodeSelector: {team: a}, ')}\n"
        "  expect: {patched: {metadata: {labels: {nodes: '1'}}, spec: {tolerations: null}}}\n"
    )
    assert run(environment, case, policy).violations == ()
    soft = case.replace("NoSchedule", "PreferNoSchedule")
    everywhere = soft.replace("nodeSelector: {team: a}, ", "").replace("'1'", "'4'")
    wanted = everywhere.replace("tolerations: null", "tolerations: [{key: mine}]")
    assert run(environment, wanted, policy).violations == ()


WHO = """\
apiVersion: podberth.io/v1alpha1
kind: GPUPolicy
metadata: {name: who}
spec:
  scope: All
  mutations:
  - labels:
      team: namespaceObject.metadata.?labels[?'team'].orValue('none')
      tier: namespaceObject.metadata.?annotations[?'tier'].orValue('none')
      user: request.userInfo.username + '-' + string(request.userInfo.groups.size())
      where: request.namespace
"""


@pytest.mark.parametrize(
    ("fields", "labels"),
    [
        ("", "team: none, user: author-0, where: default"),
        ("  namespace: ml\n", "team: none, where: ml"),
        ("  namespace: {name: ml, labels: {team: vision}}\n", "team: vision, where: ml"),
        ("  namespace: {name: ml, annotations: {tier: gold}}\n", "tier: gold, where: ml"),
        ("  user: ann\n", "user: ann-0"),
        ("  user: {username: ann, groups: [a, b]}\n", "user: ann-2"),
    ],
)
def test_a_case_says_where_and_by_whom_the_pod_is_created(environment: Environment, fields: str, labels: str) -> None:
    policy = WHO.replace("request.userInfo.groups.size()", "request.userInfo.?groups.orValue([]).size()")
    case = f"{fields}  pod: {POD}\n  expect: {{patched: {{metadata: {{labels: {{{labels}}}}}}}}}\n"
    assert run(environment, case, policy).violations == ()


@pytest.mark.parametrize(
    ("case", "violation"),
    [
        (
            "  namespace: ml\n  pod: {metadata: {namespace: other}}\n  expect: {verdict: denied}\n",
            "t.yaml:3:14 cases[0].namespace: got 'ml', and the pod is of namespace 'other'; leave one of them out",
        ),
        (
            (
                f"  namespace: {{name: ml, labels: {{a: b}}}}\n  pod: {POD}\n  expect: {{verdict: denied}}\n"
                "  objects: [{apiVersion: v1, kind: Namespace, metadata: {name: ml}}]\n"
            ),
            "t.yaml:3:14 cases[0].namespace: namespace 'ml' is among the objects, too; leave one out",
        ),
    ],
)
def test_a_namespace_that_is_said_twice_is_reported(environment: Environment, case: str, violation: str) -> None:
    assert violations(environment, case) == [violation]


def test_an_object_that_names_no_namespace_is_in_the_pods(environment: Environment) -> None:
    policy = """\
apiVersion: podberth.io/v1alpha1
kind: GPUPolicy
metadata: {name: counted}
spec:
  validations:
  - {expression: gpu.devices == 2, message: other than 2}
  validationActions: [Deny]
"""
    claim = """\
  namespace: vision
  objects:
  - apiVersion: resource.k8s.io/v1
    kind: ResourceClaimTemplate
    metadata: {name: two}
    spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, count: 2}}]}}}
  pod:
    metadata: {name: a}
    spec:
      resourceClaims: [{name: gpus, resourceClaimTemplateName: two}]
      containers: [{name: m, resources: {claims: [{name: gpus}]}}]
  expect: {verdict: unchanged}
"""
    assert run(environment, claim, policy).violations == ()


def test_a_second_pass_on_the_defaulted_pod_must_change_nothing_either(environment: Environment) -> None:
    policy = """\
apiVersion: podberth.io/v1alpha1
kind: GPUPolicy
metadata: {name: defaults}
spec:
  scope: All
  mutations:
  - tolerations: "[{'key': has(object.spec.dnsPolicy) ? 'b' : 'a', 'operator': 'Exists'}]"
"""
    (violation,) = run(environment, f"  pod: {POD}\n  expect: {{verdict: mutated}}\n", policy).violations
    assert violation.message.startswith(
        "a second pass, on the pod with the API server's defaults, changes the pod again"
    )


def test_a_case_is_decided_at_its_moment_which_is_the_runs_by_default(environment: Environment) -> None:
    policies = parse_policies([("p.yaml", POLICY + "---\n" + exception("quiet", "warner"))])
    suite, problems = parse_suite(
        f"cases:\n- {{name: before, now: '{BEFORE.isoformat()}', pod: {POD}, expect: {{warnings: []}}}}\n"
        f"- {{name: after, now: '{END.isoformat()}', pod: {POD}, expect: {{warnings: [no topology]}}}}\n"
        f"- {{name: in the run, pod: {POD}, expect: {{warnings: []}}}}\n",
        "tests.yaml",
    )
    assert problems == ()
    assert suite is not None
    policies = replace(policies, params=parse_policies([("params.yaml", PARAMS)]).params)
    assert run_suite(suite, policies, environment, SuiteSettings(now=BEFORE)).violations == ()
    [late] = run_suite(suite, policies, environment, SuiteSettings(now=END)).violations
    assert "no topology" in late.message


@pytest.mark.parametrize(("most", "verdict"), [(2, "denied"), (8, "unchanged")])
def test_params_of_the_pods_namespace_are_those_that_the_case_states(
    environment: Environment, most: int, verdict: str
) -> None:
    pod = "{metadata: {name: a}, spec: {containers: [{name: m, resources: {limits: {nvidia.com/gpu: 4}}}]}}"
    case = f"  namespace: vision\n  pod: {pod}\n  params: {{limits: {{most: '{most}'}}}}\n"
    assert run(environment, f"{case}  expect: {{verdict: {verdict}}}\n", at_most()).violations == ()


def test_a_pod_has_the_requests_that_the_api_server_makes_of_limits(environment: Environment) -> None:
    policy = """\
apiVersion: podberth.io/v1alpha1
kind: GPUPolicy
metadata: {name: requests}
spec:
  validations:
  - {expression: "object.spec.containers.all(c, 'memory' in c.resources.requests)", message: no memory}
  validationActions: [Deny]
"""
    with_limit = (
        "{metadata: {name: a}, spec: {containers: [{name: c, resources: {limits: {nvidia.com/gpu: 1, memory: 1Gi}}}]}}"
    )
    assert run(environment, f"  pod: {with_limit}\n  expect: {{verdict: unchanged}}\n", policy).violations == ()
    without = with_limit.replace(", memory: 1Gi", "")
    assert run(environment, f"  pod: {without}\n  expect: {{verdict: denied}}\n", policy).violations == ()
