"""Whole ValidatingAdmissionPolicies of random shape with bindings, and the objects and namespaces that they judge."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from .words import Words

Document = dict[str, Any]

VERSION: Final = "admissionregistration.k8s.io/v1"
CASE: Final = "differential.example.com/case"
"""The label by which a namespace, or a Namespace, belongs to one policy of a batch."""
_TEAMS: Final = ("a", "team-a", "b", None)


@dataclass(frozen=True, slots=True)
class Scene:
    """One policy with its bindings, for the objects in the namespace of its number."""

    number: int
    policy: Document
    bindings: Sequence[Document]


def namespace_name(number: int) -> str:
    """Return the name of the namespace of a number."""
    return f"differential-{number}"


def namespaces(count: int) -> list[Document]:
    """Return the namespaces of a world; their labels depend on their numbers alone."""
    return [
        _namespace(Random(f"namespace {number}"), number)  # noqa: S311 - the same in each run
        for number in range(count)
    ]


def _namespace(random: Random, number: int) -> Document:
    labels = {CASE: str(number)}
    labels |= {key: value for key in ("team", "env") if (value := random.choice((*_TEAMS, "prod")))}
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": namespace_name(number), "labels": labels, "annotations": {"note": "n"}},
    }


def params(count: int) -> list[Document]:
    """Return the ConfigMaps that may be params: up to three in each namespace."""
    found = []
    for number in range(count):
        random = Random(f"params {number}")  # noqa: S311 - the same in each run
        for index in range(random.randint(0, 3)):
            labels = {"set": random.choice(("x", "y"))}
            data = {"text": random.choice(("a", "web", "7")), "number": random.choice(("0", "3", "nine"))}
            metadata = {"name": f"params-{index}", "namespace": namespace_name(number), "labels": labels}
            found.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
    return found


def objects(random: Random, number: int) -> list[Document]:
    """Return objects of several kinds, as people write them, for the namespace of a number."""
    made = [maker(random) for maker in (*_MAKERS, *random.choices(_MAKERS, k=4))]
    for index, each in enumerate(made):
        metadata = each["metadata"]
        name = f"{random.choice(('web', 'db', 'team-a'))}-{number}-{index}"
        metadata |= {"generateName": f"{name}-"} if random.random() < 0.15 else {"name": name}
        labels = {key: value for key in ("team", "app") if (value := random.choice((*_TEAMS, "web")))}
        if each["kind"] == "Namespace":
            labels[CASE] = str(number)
        else:
            metadata["namespace"] = namespace_name(number)
        if labels or random.random() < 0.3:
            metadata["labels"] = labels
    return made


def scene(random: Random, number: int, batch: int) -> Scene:
    """Return a policy with its bindings; now and then one that the API server refuses."""
    name = f"policy-{batch}-{number}"
    with_params = random.random() < 0.45
    words = Words(random, params=with_params)
    conditions = [
        {"name": f"condition-{index}", "expression": _expression(words, random)}
        for index in range(random.choice((0, 0, 0, 1, 1, 2)))
    ]
    variables = _variables(words, random)
    words.with_variables = True
    spec: Document = {
        "matchConstraints": constraints(random, number),
        "matchConditions": conditions,
        "variables": variables,
        "validations": [_validation(words, random) for _ in range(random.choice((1, 1, 2, 3)))],
    }
    if with_params:
        kinds = ({"apiVersion": "v1", "kind": "ConfigMap"},) * 5 + ({"apiVersion": "v1", "kind": "Namespace"},)
        spec["paramKind"] = random.choice(kinds)
    if random.random() < 0.02:
        _break(spec, random)
    if random.random() < 0.4:
        spec["failurePolicy"] = random.choice(("Ignore", "Fail"))
    if random.random() < 0.2:
        spec["auditAnnotations"] = [{"key": "note", "valueExpression": words.annotation()}]
        spec["validations"] = spec["validations"] if random.random() < 0.7 else []
    policy = {"apiVersion": VERSION, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name}, "spec": spec}
    bindings = [_binding(random, name, index, spec) for index in range(random.choice((1, 1, 1, 2)))]
    return Scene(number, policy, bindings)


def _break(spec: Document, random: Random) -> None:
    """Make a policy that no API server takes."""
    rule = spec["matchConstraints"]["resourceRules"][0]
    breaks: Sequence[tuple[Document, str, Any]] = (
        (spec, "validation", []),
        (spec, "validations", []),
        (spec["matchConstraints"], "resourceRules", []),
        (rule, "operations", ["CREATE", "*"]),
        (rule, "resources", ["pods", "*"]),
        (rule, "resourceNames", ["a/b"]),
        (rule, "scope", "Namespace"),
        (rule, "apiVersions", [""]),
        (spec["matchConstraints"], "objectSelector", {"matchLabels": {"a": "b c"}}),
        (spec["matchConstraints"], "matchPolicy", "Same"),
        (spec, "failurePolicy", "Deny"),
        (spec, "variables", [{"name": "for", "expression": "1"}]),
        (spec, "variables", [{"name": "a-b", "expression": "1"}]),
        (spec, "matchConditions", [{"name": "a b", "expression": "true"}]),
        (spec, "matchConditions", [{"name": "a", "expression": "true"}] * 2),
        (spec, "auditAnnotations", [{"key": "a/b", "valueExpression": "'x'"}]),
        (spec, "paramKind", {"apiVersion": "v1", "kind": "Config Map"}),
    )
    where, field, value = random.choice(breaks)
    where[field] = value


def _expression(words: Words, random: Random) -> str:
    return words.broken() if random.random() < 0.01 else words.condition()


def _variables(words: Words, random: Random) -> list[Document]:
    found = []
    words.with_variables = True
    makers = {"bool": words.condition, "text": words.text, "number": words.number}
    for index in range(random.choice((0, 0, 1, 2, 3))):
        kind = random.choice(tuple(makers))
        expression = words.broken() if random.random() < 0.01 else makers[kind]()
        found.append({"name": f"v{index}", "expression": expression})
        words.variables.append((f"v{index}", kind))
    words.with_variables = False
    return found


def _validation(words: Words, random: Random) -> Document:
    made: Document = {"expression": _expression(words, random)}
    if random.random() < 0.5:
        made["message"] = random.choice(("must hold", " padded ", "ends with a break\n", "100%"))
    if random.random() < 0.4:
        made["messageExpression"] = words.message()
    if random.random() < 0.3:
        reasons = ("Forbidden", "Invalid", "RequestEntityTooLarge", "Unauthorized")
        made["reason"] = random.choices(reasons, weights=(10, 10, 10, 1))[0]
    return made


def _selector(random: Random, keys: Sequence[str]) -> Document:
    key, value = random.choice(keys), random.choice(("a", "team-a", "prod", "web"))
    return random.choice(
        (
            {"matchLabels": {key: value}},
            {"matchExpressions": [{"key": key, "operator": "Exists"}]},
            {"matchExpressions": [{"key": key, "operator": "DoesNotExist"}]},
            {"matchExpressions": [{"key": key, "operator": "In", "values": [value, "b"]}]},
            {"matchExpressions": [{"key": key, "operator": "NotIn", "values": [value]}]},
            {},
        )
    )


def _resources(random: Random, number: int, *, mandatory: bool = True) -> Document:
    made: Document = {"resourceRules": [_rule(random, number) for _ in range(random.choice((1, 1, 2)))]}
    if not mandatory and random.random() < 0.5:
        made = {}
    if random.random() < 0.2:
        made["excludeResourceRules"] = [_rule(random, number, narrow=True)]
    if random.random() < 0.25:
        made["objectSelector"] = _selector(random, ("team", "app"))
    if random.random() < 0.2:
        made["namespaceSelector"] = _selector(random, ("team", "env"))
    if random.random() < 0.3:
        made["matchPolicy"] = random.choice(("Exact", "Equivalent"))
    return made


def constraints(random: Random, number: int) -> Document:
    """Return matchConstraints for the objects in the namespace of a number."""
    made = _resources(random, number)
    selector = dict(made.get("namespaceSelector", {}))
    selector["matchLabels"] = {**selector.get("matchLabels", {}), CASE: str(number)}
    return {**made, "namespaceSelector": selector}


def _rule(random: Random, number: int, *, narrow: bool = False) -> Document:
    group, version, resources = random.choice(
        (
            ("", "v1", ["pods"]),
            ("apps", "v1", ["deployments"]),
            ("apps", "v1", ["deployments", "statefulsets"]),
            ("", "v1", ["configmaps", "namespaces"]),
            ("batch", "v1", ["jobs", "cronjobs"]),
            ("", "v1", ["services"]),
        )
        if narrow or random.random() < 0.4
        else (("*", "*", ["*"]), ("*", "*", ["*/*"]), ("apps", "*", ["*"]), ("", "*", ["*"]), ("*", "v1", ["*"]))
    )
    made: Document = {"apiGroups": [group], "apiVersions": [version], "resources": resources}
    made["operations"] = random.choice((["CREATE"], ["*"], ["CREATE", "UPDATE"], ["CREATE"], ["UPDATE"]))
    if random.random() < 0.2:
        made["scope"] = random.choice(("*", "Namespaced", "Cluster"))
    if random.random() < 0.1:
        made["resourceNames"] = [f"web-{number}-{index}" for index in range(0, 20, 2)]
    return made


def _binding(random: Random, policy: str, index: int, spec: Document) -> Document:
    actions = random.choice((["Deny"], ["Deny"], ["Warn"], ["Audit"], ["Warn", "Audit"], ["Deny", "Audit"]))
    made: Document = {"policyName": policy, "validationActions": actions}
    if random.random() < 0.3:
        made["matchResources"] = _resources(random, 0, mandatory=False)
    if "paramKind" in spec and random.random() < 0.9:
        made["paramRef"] = param_ref(random, spec["paramKind"])
    return {
        "apiVersion": VERSION,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": f"{policy}-{index}"},
        "spec": made,
    }


def plain_binding(policy: str, labels: Mapping[str, str]) -> Document:
    """Return a binding that denies, for the namespaces with those labels."""
    return {
        "apiVersion": VERSION,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": policy},
        "spec": {
            "policyName": policy,
            "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": {"matchLabels": dict(labels)}},
        },
    }


def param_ref(random: Random, kind: Mapping[str, str]) -> Document:
    """Return a paramRef for params of a kind, which may be of nothing."""
    made: Document = {"parameterNotFoundAction": random.choice(("Allow", "Deny"))}
    if kind["kind"] == "Namespace":
        return {**made, "name": namespace_name(random.randint(0, 3))}
    if random.random() < 0.4:
        made["selector"] = random.choice(({"matchLabels": {"set": "x"}}, {}, {"matchLabels": {"set": "none"}}))
    else:
        made["name"] = f"params-{random.randint(0, 3)}"
    if random.random() < 0.3:
        made["namespace"] = namespace_name(random.randint(0, 3))
    return made


# ---- objects --------------------------------------------------------------------------------------------------------


def _pod_spec(random: Random) -> Document:
    containers = []
    for index in range(random.choice((1, 1, 2))):
        each: Document = {"name": ("main", "side")[index], "image": random.choice(("nginx:1", "nginx", "web:latest"))}
        if random.random() < 0.5:
            limits = {"cpu": random.choice(("1", "1000m", "500m")), "memory": random.choice(("512Mi", "1024Mi", "2Gi"))}
            each["resources"] = {"limits": limits}
        if random.random() < 0.3:
            each["env"] = [{"name": random.choice(("A", "B")), "value": "1"}]
        if random.random() < 0.2:
            each["securityContext"] = {"privileged": False}
        if random.random() < 0.3:
            each["ports"] = [{"containerPort": 80}]
        containers.append(each)
    made: Document = {"containers": containers, "automountServiceAccountToken": False}
    if random.random() < 0.2:
        made["nodeSelector"] = {"a": "web"}
    if random.random() < 0.2:
        made["terminationGracePeriodSeconds"] = random.choice((0, 3, 30))
    return made


def _template(random: Random) -> Document:
    return {"metadata": {"labels": {"app": "web"}}, "spec": _pod_spec(random)}


def _object(version: str, kind: str, **fields: Any) -> Document:
    return {"apiVersion": version, "kind": kind, "metadata": {}, **fields}


def _replicas(random: Random) -> Document:
    return {"replicas": random.randint(0, 5)} if random.random() < 0.7 else {}


_SELECTED: Final = {"selector": {"matchLabels": {"app": "web"}}}


def pod(random: Random) -> Document:
    """Return a pod as people write it, without a name."""
    return _object("v1", "Pod", spec=_pod_spec(random))


def _deployment(random: Random) -> Document:
    spec = {**_SELECTED, **_replicas(random), "template": _template(random)}
    if random.random() < 0.3:
        spec["strategy"] = {"type": "Recreate"}
    return _object("apps/v1", "Deployment", spec=spec)


def _stateful_set(random: Random) -> Document:
    spec = {**_SELECTED, **_replicas(random), "serviceName": "web", "template": _template(random)}
    return _object("apps/v1", "StatefulSet", spec=spec)


def _job_spec(random: Random) -> Document:
    template = _template(random)
    template["spec"]["restartPolicy"] = "Never"
    made: Document = {"template": template}
    if random.random() < 0.5:
        made["parallelism"] = random.randint(1, 4)
    return made


def _job(random: Random) -> Document:
    return _object("batch/v1", "Job", spec=_job_spec(random))


def _cron_job(random: Random) -> Document:
    spec = {"schedule": "0 0 * * *", "jobTemplate": {"spec": _job_spec(random)}}
    return _object("batch/v1", "CronJob", spec=spec)


def _config_map(random: Random) -> Document:
    return _object("v1", "ConfigMap", data={"key": random.choice(("a", "x", "web"))})


def _namespace_object(_random: Random) -> Document:
    return _object("v1", "Namespace")


_MAKERS: Final = (pod, _deployment, _stateful_set, _job, _cron_job, _config_map, _namespace_object, pod, _deployment)
