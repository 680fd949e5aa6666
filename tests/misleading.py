"""Policies that are made to mislead the memory of decisions: each reads, passes on or writes something of its own."""

import json
from typing import Any

from podberth.wellknown import GANG_LABEL, GPU_MEMORY_ANNOTATION
from snapshots import policy

GROUP = "a-group-with-a-name-of-its-own"
LABEL = f"object.metadata.?labels[?'{GANG_LABEL}'].orValue('')"
SLICES = (
    "gpu.requests.map(r, {'container': r.container, 'from': r.resource, 'to': 'nvidia.com/mig-1g.5gb', 'quantity': 1})"
)
SHARES = "['a', 'b'].map(n, {'container': n, 'from': 'nvidia.com/gpumem', 'to': 'nvidia.com/gpu', 'quantity': 1})"
LONG, LONGER = "a-container-of-its-own", "b-container-of-its-own"
TO_ITSELF = "gpu.requests.map(r, {'container': r.container, 'from': r.resource, 'to': r.container, 'quantity': 1})"
TO_THAT = f"gpu.requests.map(r, {{'container': '{LONG}', 'from': r.resource, 'to': 'nvidia.com/gpu', 'quantity': 1}})"
OF_THAT = f"gpu.requests.filter(r, r.container == '{LONG}')" + SLICES.removeprefix("gpu.requests")
TO_THEIRS = SLICES.replace("1})", f"r.container == '{LONG}' ? 1 : 2}})")
CONTAINERS = "gpu.requests.map(r, r.container).join('.')"
HOSTNAME = "[{'op': 'add', 'path': '/spec/hostname', 'value': 'h'}]"
EVICTED = "[{'key': 'a', 'operator': 'Exists', 'effect': 'NoExecute', 'tolerationSeconds': 300}]"
TERMS = "[{'matchExpressions': [{'key': 'x', 'operator': 'Exists'}]}]"


def rule(order: int, condition: str = "true", **fields: Any) -> str:
    """Return a policy of one condition; of ``fields``, what is no field of a policy's spec is a mutation.

    ``when`` goes into each mutation.
    """
    own: dict[str, Any] = {key: fields.pop(key) for key in ("scope", "paramKind", "paramRef") if key in fields}
    when = {"when": fields.pop("when")} if "when" in fields else {}
    spec: dict[str, Any] = {
        "failurePolicy": "Ignore",
        "matchConditions": [{"name": "c", "expression": condition}],
        "mutations": [{concern: value, **when} for concern, value in fields.items()],
        **own,
    }
    lines = (f"  {key}: {json.dumps(value)}" for key, value in spec.items())
    return policy(f"rule-{order}", "\n".join(lines), order=order)


# What could make one pod's decision wrong for another: passing the gang's name on, reading it, reading what was
# written, conditions that a write changes, lists and elements, null and absent, resources and what follows from them.
OTHERS = {
    "passes the name on": rule(410, labels={"copy": "gang.name"}),
    "reads the name": rule(150, labels={"head": "gang.name.contains('-') ? 'a' : 'b'"}),
    "reads the label": rule(450, labels={"seen": f"{LABEL}.size() > 20 ? {LABEL}.substring(0, 9) : 'b'"}),
    "asks for the label": rule(460, f"{LABEL}.startsWith('a') || {LABEL}.startsWith('job-a')", labels={"a": "'1'"}),
    "asks for the name": rule(470, "gang.name.startsWith('job-a')", labels={"job-a": "'1'"}),
    "length of the name": rule(10, annotations={"length": "string(gang.name.size())"}),
    "writes a need": rule(90, annotations={GPU_MEMORY_ANNOTATION: "'10Gi'"}),
    "asks for the need": rule(95, "gpu.memoryMiB > 4096", labels={"large": CONTAINERS}),
    "rewrites resources": rule(100, "gpu.kind == 'whole'", resources=SLICES),
    "rewrites to a name": rule(101, resources=TO_ITSELF),
    "rewrites by a name of its own": rule(102, resources=TO_THAT),
    "rewrites one by name": rule(103, resources=OF_THAT),
    "rewrites by name": rule(104, resources=TO_THEIRS),
    "rewrites if called so": rule(105, resources=SLICES, when="gpu.requests[0].container.startsWith('a')"),
    "reads a container's name": rule(
        535, labels={"own": "object.spec.containers.exists(c, c.name.startsWith('a')) ? 'y' : 'n'"}
    ),
    "asks for a name": rule(
        121, f"gpu.requests.exists(r, r.container == '{LONG}')", labels={"long": "string(gpu.count)"}
    ),
    "asks for another name": rule(
        122, f"object.spec.containers.exists(c, c.name == '{LONGER}')", labels={"longer": "string(gpu.count)"}
    ),
    "asks for slices": rule(120, "gpu.kind == 'mig'", labels={"slices": "string(gpu.claims.size())"}),
    "asks for an element": rule(
        500,
        "object.spec.containers.exists(c, c.name == 'a')",
        labels={"a": "string(object.spec.containers.filter(c, has(c.resources)).size())"},
    ),
    "counts elements": rule(510, labels={"n": "string(object.spec.containers.map(c, 1).size())"}),
    "asks whether it is there": rule(
        520,
        "has(object.spec.nodeSelector) && !has(object.spec.hostname)",
        labels={"b": "has(object.spec.affinity) ? 'y' : 'n'"},
    ),
    "asks for the first": rule(
        530, "object.spec.containers.size() > 0", labels={"first": "object.spec.containers[0].name"}
    ),
    "asks for the first of some": rule(
        540,
        "object.spec.containers.filter(c, c.name != 'a').size() > 0",
        labels={"other": "object.spec.containers.filter(c, c.name != 'a')[0].name"},
    ),
    "asks for what may be there": rule(
        545,
        "object.spec.?tolerations.orValue([]).exists(t, t.key == 'team') || object.spec.?hostname.orValue('') == 'h'",
        labels={"claims": "string(object.spec.?resourceClaims.orValue([]).size())"},
    ),
    "asks for parts of requests": rule(
        550, "gpu.requests[0].quantity > 1", labels={"n": "string(gpu.requests.size())"}
    ),
    "asks for nodes": rule(
        205, "topology.nodes(gpu).count > 1 || gpu.vendor == 'amd'", nodeAffinity={"required": TERMS}
    ),
    "asks whether nodes are left": rule(206, "topology.nodes(gpu).count == 0", labels={"names": CONTAINERS}),
    "asks for nodes and names": rule(
        207, f"topology.nodes(gpu).count == 0 && {CONTAINERS} == 'a'", labels={"none": "'1'"}
    ),
    "tolerates by name": rule(
        208, "topology.nodes(gpu).count == 0", tolerations=f"[{{'key': {CONTAINERS}, 'operator': 'Exists'}}]"
    ),
    "tolerates": rule(20, tolerations="[{'key': 'team', 'operator': 'Exists'}]"),
    "fails": rule(30, labels={"f": "object.metadata.labels['app']"}),
    "joins a group": rule(58, gang={"name": json.dumps(GROUP), "size": "2"}),
    # Against those above: another gang, another level, another resource, another time, no node left.
    "joins another": rule(66, gang={"name": "gang.name.size() > 20 ? gang.name : 'other'", "size": "3"}),
    "moves elsewhere": rule(67, topology={"level": "gpu.count > 1 ? 'zone' : 'rack'", "mode": "required"}),
    "rewrites otherwise": rule(110, resources=SLICES.replace("1g", "2g")),
    "tolerates for long": rule(21, tolerations=EVICTED),
    "tolerates by count": rule(22, tolerations=EVICTED.replace("300", "gpu.count == 1 ? 300 : 60")),
    "asks for other nodes": rule(209, nodeAffinity={"required": TERMS.replace("Exists", "DoesNotExist")}),
    "asks for nodes nobody has": rule(
        210, nodeAffinity={"required": TERMS.replace("'x'", "gpu.count > 1 ? 'y' : 'nvidia.com/gpu.product'")}
    ),
    "moves to its name": rule(420, topology={"level": "gang.name", "mode": "preferred"}),
    "shares become GPUs": rule(35, scope="All", resources=SHARES),
    "joins": rule(60, gang={"name": "gang.name", "size": "gang.size"}),
    "joins and moves": rule(
        65, gang={"name": "gang.name", "size": "gang.size"}, topology={"level": "'zone'", "mode": "required"}
    ),
    "chooses a system": rule(52, gang={"name": "gang.name", "size": "4", "system": "gpu.count > 1 ? 'native' : ''"}),
    "chooses a group": rule(53, gang={"name": f"'{GROUP}'", "size": "4", "system": "'native'"}),
    "draws slices": rule(430, topology={"level": "'rack'", "mode": "required", "slice": "2"}),
    "draws a pod's own slices": rule(431, topology={"level": "'rack'", "mode": "preferred", "slice": "gpu.count * 2"}),
    "prefers a rack": rule(432, topology={"level": "gpu.count > 0 ? 'rack' : ''", "mode": "preferred"}),
    "names a scheduler": rule(40, schedulerName="gpu.count > 1 ? 'bins' : ''"),
    "names a scheduler by gang": rule(45, schedulerName="gang.name"),
    "names a runtime class": rule(46, runtimeClassName="'nvidia'"),
    "names a priority class": rule(47, priorityClassName="gpu.kind == 'whole' ? 'urgent' : 'low'"),
    "names another": rule(48, priorityClassName="'third'", labels={"copy": "'x'"}),
    "copies the name again": rule(49, labels={"copy": "gang.name"}),
    "writes variables": rule(50, env={"GANG": "gang.name", "NAMES": CONTAINERS}),
    "claims": rule(55, resourceClaims="[{'name': 'nic', 'template': 'rdma', 'containers': ['a']}]"),
    "configures": rule(
        56, applyConfiguration="{'spec': {'containers': object.spec.containers.map(c, {'name': c.name, 'tty': true})}}"
    ),
    "patches": rule(57, "!has(object.spec.hostname)", jsonPatch=HOSTNAME),
    "for every pod": rule(70, scope="All", labels={"kind": "gpu.kind"}),
    "params of the namespace": rule(
        80,
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        paramRef={"name": "p", "parameterNotFoundAction": "Allow"},
        labels={"value": "params.data['value']"},
    ),
}
