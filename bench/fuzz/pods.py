"""What is changed about a pod so that it is still one that an API server could send. Each row is a feature."""

from collections.abc import Callable, Mapping
from itertools import pairwise
from random import Random
from typing import Any, Final

from podberth.kube.paths import ELEMENT
from podberth.kube.pod_limits import LARGEST

from . import values
from .values import JSON
from .worlds import CLAIMS, GROUP_NAMES

Change = Callable[[Random, JSON], None]

KEYS: Final = (
    "nvidia.com/gpu.product",
    "nvidia.com/gpu.memory",
    "topology.kubernetes.io/zone",
    "kubernetes.io/arch",
    "x",
)
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def containers(pod: JSON) -> list[JSON]:
    """Return the pod's containers, and one where it has none."""
    found: list[JSON] = pod["spec"].get("containers") or [{"name": "main"}]
    pod["spec"]["containers"] = found
    return found


def below(holder: JSON, *path: str) -> JSON:
    """Return the map at a path; made where nothing stands."""
    for step in path:
        if not isinstance(holder.get(step), dict):
            holder[step] = {}
        holder = holder[step]
    return holder


def noted(pod: JSON) -> None:
    """Take down in ``managedFields`` what the sender wrote, as an API server does before it asks any webhook."""
    fields: JSON = {}
    for part in ("labels", "annotations"):
        keys = pod["metadata"].get(part)
        fields[f"f:{part}"] = {f"f:{key}": {} for key in keys} if isinstance(keys, dict) else {}
    entry = {"manager": "kubectl-create", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"}
    pod["metadata"]["managedFields"] = [{**entry, "fieldsV1": {"f:metadata": fields}}]


def _resource(chance: Random, pod: JSON, name: str, amount: Any) -> None:
    limits = below(chance.choice(containers(pod)), "resources", "limits")
    if values.percent(chance, 70):  # mostly in the place of what is there: two sorts make a pod odd
        limits.clear()
    limits[name] = amount


def _gpus(chance: Random, pod: JSON) -> None:
    _resource(chance, pod, "nvidia.com/gpu", chance.choice(values.COUNTS))


def _other_devices(chance: Random, pod: JSON) -> None:
    _resource(chance, pod, chance.choice(values.RESOURCES), chance.choice(values.COUNTS))


def _mig(chance: Random, pod: JSON) -> None:
    _resource(chance, pod, f"nvidia.com/mig-{chance.choice(values.MIG_NAMES)}", chance.choice(values.COUNTS))


def _odd_quantity(chance: Random, pod: JSON) -> None:
    _resource(chance, pod, chance.choice(values.RESOURCES), chance.choice(values.ODD_QUANTITIES))


def _requests(chance: Random, pod: JSON) -> None:
    resources = below(chance.choice(containers(pod)), "resources")
    resources["requests"] = {
        chance.choice(("nvidia.com/gpu", "cpu", "memory", "nvidia.com/mig-1g.5gb")): chance.choice(values.COUNTS)
    }
    if values.percent(chance, 30):
        resources.pop("limits", None)


def _pod_resources(chance: Random, pod: JSON) -> None:
    side = chance.choice(("limits", "requests"))
    below(pod["spec"], "resources", side)[chance.choice(("cpu", "memory", "nvidia.com/gpu"))] = chance.choice(
        (*values.COUNTS, *values.ODD_QUANTITIES)
    )


def _tolerations(chance: Random, pod: JSON) -> None:
    found = pod["spec"].setdefault("tolerations", None) or []
    for _ in range(chance.randint(1, 4)):
        each: JSON = {
            "key": chance.choice(("nvidia.com/gpu", "team", "example.com/maintenance", "")),
            "operator": "Exists",
        }
        each |= chance.choice(
            ({}, {"effect": "NoSchedule"}, {"effect": "NoExecute", "tolerationSeconds": 60}, {"effect": ""})
        )
        each |= chance.choice(({}, {}, {"operator": "Equal", "value": "present"}, {"operator": "Gt"}, {"key": None}))
        found.append(each)
    pod["spec"]["tolerations"] = found


def term(chance: Random) -> JSON:
    """Return a node selector term."""
    operator = chance.choice(("In", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "in", ""))
    found = [chance.choice((*values.PRODUCTS, "amd64", "zone-1", "5")) for _ in range(chance.randint(0, 3))]
    expression = {"key": chance.choice(KEYS), "operator": operator, "values": found}
    field = chance.choice(("matchExpressions", "matchExpressions", "matchExpressions", "matchFields"))
    return chance.choice(({field: [expression]}, {field: [expression, expression]}, {field: []}, {}))


def _node_affinity(chance: Random, pod: JSON) -> None:
    affinity = below(pod["spec"], "affinity", "nodeAffinity")
    if values.percent(chance, 60):
        affinity[_REQUIRED] = {"nodeSelectorTerms": [term(chance) for _ in range(chance.randint(0, 4))]}
    if values.percent(chance, 50):
        weight = chance.choice((1, 50, 100, 0, -1, 101))
        affinity[_PREFERRED] = [{"weight": weight, "preference": term(chance)} for _ in range(chance.randint(0, 3))]


def _pod_affinity(chance: Random, pod: JSON) -> None:
    key = chance.choice((*KEYS, "kubernetes.io/hostname", ""))
    selector: Any = chance.choice(({}, None, {"matchLabels": {"podberth.io/colocated": "g"}}, {"matchExpressions": []}))
    affinity = below(pod["spec"], "affinity", chance.choice(("podAffinity", "podAntiAffinity")))
    each = {"topologyKey": key, "labelSelector": selector}
    if values.percent(chance, 50):
        affinity[_REQUIRED] = [each]
    else:
        affinity[_PREFERRED] = [{"weight": 100, "podAffinityTerm": each}]


def _spread(chance: Random, pod: JSON) -> None:
    each = {"topologyKey": chance.choice(KEYS), "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    pod["spec"]["topologySpreadConstraints"] = [each] * chance.randint(1, 3)


def _node_selector(chance: Random, pod: JSON) -> None:
    selector = below(pod["spec"], "nodeSelector")
    selector[chance.choice((*KEYS, "example.com/internal"))] = chance.choice(
        (*values.PRODUCTS, "amd64", "zone-1", "a b")
    )


def _claims(chance: Random, pod: JSON) -> None:
    name = chance.choice(("gpus", "nic", "aligned", "c", ""))
    how = chance.choice(("resourceClaimTemplateName", "resourceClaimTemplateName", "resourceClaimName"))
    claims = pod["spec"].setdefault("resourceClaims", None) or []
    pod["spec"]["resourceClaims"] = [*claims, {"name": name, how: chance.choice(CLAIMS)}]
    for each in containers(pod)[: chance.randint(0, 3)]:
        resources = below(each, "resources")
        resources["claims"] = [*(resources.get("claims") or ()), {"name": name}]


def _ephemeral(chance: Random, pod: JSON) -> None:
    resources: JSON = chance.choice(({}, {"limits": {"nvidia.com/gpu": 1}}, {"limits": {}}))
    pod["spec"]["ephemeralContainers"] = [{"name": "debugger", "image": "busybox", "resources": resources}]


def _more_containers(chance: Random, pod: JSON) -> None:
    place = chance.choice(("containers", "initContainers"))
    each: JSON = {
        "name": chance.choice(("main", "side", *values.NAMES)),
        "resources": {"limits": {"nvidia.com/gpu": 1}},
    }
    each |= chance.choice(({}, {"restartPolicy": "Always"}, {"restartPolicy": "Never"}, {"resources": None}))
    pod["spec"][place] = [*(pod["spec"].get(place) or ()), *([each] * chance.randint(1, 3))]


def _gates(chance: Random, pod: JSON) -> None:
    pod["spec"]["schedulingGates"] = [{"name": chance.choice(("kueue.x-k8s.io/admission", "g", ""))}]


def _classes(chance: Random, pod: JSON) -> None:
    spec = pod["spec"]
    field = chance.choice(("schedulerName", "runtimeClassName", "priorityClassName", "priority", "restartPolicy"))
    spec[field] = {
        "schedulerName": ("default-scheduler", "volcano", "kai-scheduler", "koord-scheduler", "bins", ""),
        "runtimeClassName": ("nvidia", "kata", ""),
        "priorityClassName": ("urgent", "usual", "nobody-knows", ""),
        "priority": (0, 1000, -1, 2**31),
        "restartPolicy": ("Always", "Never", "OnFailure", ""),
    }[field][chance.randrange(3)]


def _wishes(chance: Random, pod: JSON) -> None:
    key, offered = chance.choice(
        (
            ("podberth.io/gpu-memory", values.MEMORY),
            ("podberth.io/gpu-product", values.PRODUCTS),
            ("podberth.io/gpu-compute", ("8.9", "9.0", "", "x", "9" * 30)),
            ("podberth.io/align", ("pcie-root", "numa-node", "nic", "", "x")),
            ("podberth.io/gang-level", ("topology.kubernetes.io/zone", "x", "")),
        )
    )
    below(pod, "metadata", "annotations")[key] = chance.choice(offered)


def _role(chance: Random, pod: JSON) -> None:
    below(pod, "metadata", "labels")["podberth.io/role"] = chance.choice(("decode", "prefill", "notebook", "", "x"))


def _host(chance: Random, pod: JSON) -> None:
    pod["spec"][chance.choice(("hostNetwork", "hostPID"))] = True
    pod["spec"]["activeDeadlineSeconds"] = chance.choice((60, 86400, 10**9))


def _command(chance: Random, pod: JSON) -> None:
    each = chance.choice(containers(pod))
    each["image"] = chance.choice(("vllm/vllm-openai:v0.11.0", "jupyter/base", "lmsysorg/sglang"))
    each["args"] = [
        f"--model={chance.choice(('meta-llama/Llama-3.3-70B-Instruct', 'Qwen/Qwen3-8B', 'x' * 300, '405B'))}",
        *chance.choice(([], ["--tensor-parallel-size", "8"], ["-tp"], ["--tp=99999999999"], ["$(X)", "`y`", "'"])),
    ]
    each["env"] = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": chance.choice(("all", "void", "0,1", ""))}]


def _native_group(chance: Random, pod: JSON) -> None:
    pod["spec"]["schedulingGroup"] = {"podGroupName": chance.choice((*GROUP_NAMES, *values.NAMES))}


def _unknown_fields(chance: Random, pod: JSON) -> None:
    chance.choice((pod, pod["spec"], chance.choice(containers(pod))))["x-unknown"] = {"deep": [1, None]}


def _texts(chance: Random, pod: JSON) -> None:
    text = chance.choice(values.TEXTS)
    place = chance.choice(
        (
            below(pod, "metadata", "labels"),
            below(pod, "metadata", "annotations"),
            below(pod["spec"], "nodeSelector"),
            below(pod, "metadata"),
            chance.choice(containers(pod)),
        )
    )
    place[chance.choice((text, "name", "podberth.io/gang", "app"))] = text


CHANGES: Final[Mapping[str, Change]] = {
    "GPUs": _gpus,
    "other devices": _other_devices,
    "MIG names": _mig,
    "odd quantities": _odd_quantity,
    "requests": _requests,
    "pod-level resources": _pod_resources,
    "tolerations": _tolerations,
    "node affinity": _node_affinity,
    "pod affinity": _pod_affinity,
    "topology spread": _spread,
    "node selector": _node_selector,
    "resource claims": _claims,
    "ephemeral containers": _ephemeral,
    "more containers": _more_containers,
    "scheduling gates": _gates,
    "classes and schedulers": _classes,
    "wishes": _wishes,
    "role": _role,
    "host and lifetime": _host,
    "commands and models": _command,
    "native group": _native_group,
    "unknown fields": _unknown_fields,
    "odd text": _texts,
}


# ---- sizes ---------------------------------------------------------------------------------------------------------


def list_at_its_bound(chance: Random, pod: JSON) -> None:
    """Fill one of the lists that have a bound: half of it, all of it, or one entry more."""
    path, most = chance.choice(tuple(LARGEST.items()))
    count = chance.choice((most // 2, most, most + 1))
    holder: Any = pod
    for step, below_it in pairwise(path):
        if step == ELEMENT:
            holder = chance.choice(holder)
        elif below_it == ELEMENT:
            listed = holder.get(step)
            if not isinstance(listed, list) or not listed or not all(isinstance(each, dict) for each in listed):
                holder[step] = [{"name": "main"} if step.endswith("ontainers") else {}]
            holder = holder[step]
        else:
            holder = below(holder, step)
    holder[path[-1]] = _filled(path[-1], count)


_MAPS: Final = frozenset({"labels", "annotations", "nodeSelector", "limits", "requests", "matchLabels", "overhead"})
_STRINGS: Final = frozenset(
    {"args", "command", "finalizers", "values", "namespaces", "matchLabelKeys", "mismatchLabelKeys"}
)


def _filled(name: str, count: int) -> Any:
    if name in _MAPS:
        return {f"example.com/k{each}": "1" for each in range(count)}
    if name in _STRINGS:
        return [f"v{each}" for each in range(count)]
    if name in {"tolerations", "matchExpressions", "matchFields"}:
        return [{"key": f"k{each}", "operator": "Exists"} for each in range(count)]
    return [{"name": f"n{each}"} for each in range(count)]


def large_text(chance: Random, pod: JSON) -> None:
    """Make one text as long as an object may be, or longer."""
    text = chance.choice(("x", "\u00e9", '"')) * chance.choice((253, 254, 70_000, 300_000, 1_600_000))
    place = chance.choice(
        (
            below(pod, "metadata", "annotations"),
            below(pod, "metadata", "labels"),
            below(pod["spec"], "nodeSelector"),
            below(pod, "metadata"),
            chance.choice(containers(pod)),
        )
    )
    place[chance.choice(("podberth.io/gang", "podberth.io/gpu-memory", "name", "x"))] = text
