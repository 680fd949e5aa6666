"""The meaning of the names that expressions see, for docs/expressions.md and editors; each function has an example.

Types, signatures and costs are the code's. A name of the code without a row here stops the tool that writes the page.
"""

from collections.abc import Mapping
from typing import NamedTuple


class Manual(NamedTuple):
    """The meaning of a function's result, and an expression that calls the function."""

    meaning: str
    example: str


MANUALS: Mapping[str, Manual] = {
    "topology.nodes(gpu)": Manual(
        "the nodes that could run this pod: they have the accelerators and the GPU memory that it asks for, and its "
        "nodeSelector, required affinity and tolerations allow them. Taints that mark nodes with accelerators count "
        "as tolerated. If the pod asks for accelerators only by claims, these are the nodes that are known to have "
        "accelerators, or all nodes if none is known to have any",
        "topology.nodes(gpu).exist",
    ),
    "Nodes.withLinkDomain(int)": Manual(
        "those of the nodes that have so many of the requested GPUs in one NVLink domain; 1 or less: all of them",
        "topology.nodes(gpu).withLinkDomain(4).terms",
    ),
    "Nodes.anyOffers(string)": Manual(
        "one of the nodes has the resource, which need not be an accelerator; transient nodes count, DeviceClasses do "
        "not",
        "topology.nodes(gpu).anyOffers('rdma/hca')",
    ),
    "topology.narrowestSafeLevel(gang)": Manual(
        "as `topology.narrowestLevel`, but on this level every domain with a node for one of the members always has "
        "room for all, in any order and on whichever nodes they are placed. For policies that require one domain",
        "topology.narrowestSafeLevel(gang)",
    ),
    "topology.narrowestLevel(gang)": Manual(
        "the label key of the narrowest topology level with a domain that holds all members of the gang that ask for "
        "accelerators, by what each role asks for. All members get the same level; `''`: no level does, or the pod "
        "itself asks for no accelerators",
        "topology.narrowestLevel(gang)",
    ),
    "Nodes.narrowestSafeLevel(int)": Manual(
        "as `Nodes.narrowestLevel`, but on this level every domain with a fitting node holds so many pods: wherever "
        "the first is placed, the others fit. For policies that require one domain; `''` if accelerators are claimed",
        "topology.nodes(gpu).narrowestSafeLevel(4)",
    ),
    "Nodes.narrowestLevel(int)": Manual(
        "the label key of the narrowest topology level with a domain that holds so many such pods, by accelerators, "
        "on empty nodes; `''`: no level does. 0, an unknown number, counts as 2. If accelerators are claimed, a node "
        "counts as one pod, and if no domain has so many nodes, it is the level with the largest domain",
        "topology.nodes(gpu).narrowestLevel(4)",
    ),
    "mig.smallest(int)": Manual(
        "the smallest MIG resource with at least so many MiB on the nodes that the pod chooses and can reach",
        "mig.smallest(gpu.memoryMiB).resource",
    ),
    "mig.smallest(int, int)": Manual(
        "as `mig.smallest(int)`, with at least so many compute slices (the second number)",
        "mig.smallest(gpu.memoryMiB, 2).resource",
    ),
    "mig.parse(string)": Manual(
        "the profile that a name in any spelling means. It has the name as `profile` and as `resource`, and the "
        "memory that an instance of that name has at least, on any GPU model",
        "mig.parse('nvidia.com/mig-1g.10gb.me').profile",
    ),
    "mig.capacity(string)": Manual(
        "the number of instances of the profile that one GPU holds, at most, on the nodes that the pod chooses and "
        "can reach; 0: none of their GPUs can hold one",
        "mig.capacity('1g.10gb')",
    ),
    "mig.gpuNodes(string)": Manual(
        "those nodes that the pod chooses and can reach on which `nvidia.com/gpu` is an instance of the profile: "
        "nodes with the strategy `single`, and nodes of GKE",
        "mig.gpuNodes('1g.10gb').terms",
    ),
    "mig.fits(list(string))": Manual(
        "one GPU of the nodes that the pod chooses and can reach can be cut into all of these instances at once. A "
        "name that is in the list twice means two instances",
        "mig.fits(['3g.40gb', '4g.40gb'])",
    ),
    "mig.known(string)": Manual(
        "some GPU model has this profile, or some node reports it. The name is a profile or a resource, in any "
        "spelling",
        "mig.known('1g.10gb')",
    ),
    "mig.offered(string)": Manual(
        "some known node has the profile or resource, or a DeviceClass serves it",
        "mig.offered('nvidia.com/mig-1g.10gb')",
    ),
    "mig.nearest(string)": Manual(
        "the name that the author probably meant, looked for first among the cluster's names, then among what the "
        "cluster's GPUs can have, or among all if these have no MIG; a profile for a profile, a resource for a "
        "resource; `''`: no name is near",
        "mig.nearest('nvidia.com/mig-4g.5gb')",
    ),
    "mig.suggestions(string)": Manual(
        "the name that `mig.nearest` returns, and up to two more that are near, the best first",
        "mig.suggestions('lg.5gb')",
    ),
    "topology.offers(string)": Manual(
        "some known node has the resource, which need not be an accelerator, or a DeviceClass serves it",
        "topology.offers('rdma/hca')",
    ),
    "topology.memoryMiB(string)": Manual(
        "the most MiB that a GPU of this model (named as in GFD's or GKE's label) or an instance of this MIG profile "
        "has: on the known nodes of the model, or else by a table of usual sizes; 0: unknown. `Nodes.mostMemoryMiB` "
        "is about the nodes that the pod could run on",
        "topology.memoryMiB('NVIDIA-L4')",
    ),
    "shell.commands(list(string))": Manual(
        "the commands that a command line runs, each as a list of words. The command line is `command` and `args` of "
        "a container in one list",
        "shell.commands(['sh', '-c', 'vllm serve a'])",
    ),
    "shell.flag(list(string), list(string))": Manual(
        "the value of a flag in the words of a command, by any of its names: `--x=v` or `--x v`. If the flag is "
        "there several times, the last value; `''`: the flag is not there, or has no value",
        "shell.flag(['vllm', 'serve', '--port=1'], ['--port'])",
    ),
    "models.named(string)": Manual(
        "the size of a model, as far as its name, path or URL says it",
        "models.named('llama-3-70b')",
    ),
    "jsonpatch.escapeKey(string)": Manual(
        "a key as one step of a JSON Pointer: `~` becomes `~0`, and `/` becomes `~1`; as upstream",
        "'/metadata/labels/' + jsonpatch.escapeKey('example.com/a')",
    ),
}
"""By the signature as the page has it."""

VARIABLES: Mapping[str, str] = {
    "object": (
        "the Pod, with the fields of Kubernetes 1.36; `dyn(object).spec.newField` reaches a field that this schema "
        "does not know"
    ),
    "oldObject": "the Pod before an update; null on creation",
    "request": "the admission request, as upstream",
    "namespaceObject": (
        "the pod's Namespace from the snapshot, as upstream without managedFields and ownerReferences. An unknown "
        "Namespace is an error. Not in matchConditions"
    ),
    "params": "the ConfigMap of `paramRef`; null without one",
    "variables": "the policy's variables; the expression of a variable sees those above it. Not in matchConditions",
    "gpu": "the accelerators that the pod asks for",
    "gang": "the gang that the pod belongs to",
    "topology": "the cluster's nodes, and functions about them",
    "mig": "functions about MIG profiles",
    "jsonpatch": "a function for JSON Pointers",
    "shell": "functions that read command lines",
    "models": "a function that reads names of models",
}
"""What each name is that expressions may use."""

FIELDS: Mapping[str, Mapping[str, str]] = {
    "cel-request": {
        "request.kind": "the `group`, `version` and `kind` of the object",
        "request.resource": "the `group`, `version` and `resource` of the object",
        "request.subResource": '`""`, or `ephemeralcontainers`',
        "request.requestKind": "the kind as the client sent it",
        "request.requestResource": "the resource as the client sent it",
        "request.requestSubResource": "the subresource as the client sent it",
        "request.name": "the object's name; absent if the API server has not generated it yet: ask `has(request.name)`",
        "request.namespace": "the object's namespace",
        "request.operation": "`CREATE` or `UPDATE`",
        "request.userInfo": "the user who sends the request: a controller, for most pods",
        "request.dryRun": "true: nothing is stored",
        "request.options": "CreateOptions or UpdateOptions",
        "request.kind.group": '`""` for pods: the core group',
        "request.kind.version": "",
        "request.kind.kind": "",
        "request.resource.group": "",
        "request.resource.version": "",
        "request.resource.resource": "",
        "request.userInfo.username": "",
        "request.userInfo.uid": "",
        "request.userInfo.groups": "",
        "request.userInfo.extra": "",
    },
    "cel-gpu": {
        "gpu.count": (
            "the number of devices, MIG instances and shares that the scheduler reserves for the pod: that of the "
            "init containers, or of the main containers with sidecars, whichever is larger"
        ),
        "gpu.devices": (
            "the number of devices that the pod asks for in any way: `gpu.count`, and the devices of its claims for "
            "accelerators. A claim whose kind is unknown counts, too, and one whose number is unknown counts as one "
            "device"
        ),
        "gpu.perContainer": "the largest number of devices, MIG instances and shares that one container asks for",
        "gpu.kind": (
            "`whole`, `mig`, `shared`, `mixed` (several of these), `claim` (DRA claims only, and not just for NICs "
            "or IMEX channels) or `none`"
        ),
        "gpu.vendor": '`nvidia`, `amd`, `intel`, `google`, `aws` or `huawei`; `mixed`: several; `""`: none',
        "gpu.memoryMiB": (
            "MiB of GPU memory that the pod declares (`podberth.io/gpu-memory`), rounded up; 0: not declared"
        ),
        "gpu.requests": "one entry for each accelerator resource of each container, without requests of zero",
        "gpu.claims": (
            "one entry for each DeviceClass of each claim that a container uses, and for each DeviceClass that is "
            "requested as a resource"
        ),
        "gpu.requests[].container": "the container's name",
        "gpu.requests[].init": (
            "the container is an init container that ends before the main ones start; false for a sidecar"
        ),
        "gpu.requests[].resource": "the resource: `nvidia.com/gpu`, `nvidia.com/mig-1g.10gb`, …",
        "gpu.requests[].quantity": "the requested amount",
        "gpu.requests[].kind": "`whole`, `mig` or `shared`",
        "gpu.requests[].vendor": "the vendor of the resource, as in `gpu.vendor`",
        "gpu.requests[].profile": 'the MIG profile, such as `1g.10gb+me`; `""`: none',
        "gpu.claims[].name": (
            "the claim's name in the pod's resourceClaims; `\"\"` for a DeviceClass that is requested as a resource"
        ),
        "gpu.claims[].deviceClass": (
            'the DeviceClass that the claim or its template asks for; `""`: neither is known, or alternatives '
            "(`firstAvailable`) differ"
        ),
        "gpu.claims[].count": "the number of devices of that class; 0: unknown, or all devices of a node",
        "gpu.claims[].kind": (
            '`whole`, `mig` or `passthrough`; `none`: no accelerator, such as a NIC or an IMEX channel; `""`: unknown'
        ),
        "gpu.claims[].shared": (
            "other pods use the very same devices: the claim is an object with a name of its own, or the pod's "
            "PodGroup has it for all its pods"
        ),
    },
    "cel-gang": {
        "gang.known": "the pod belongs to a gang: pods that are useful only together",
        "gang.name": 'the gang\'s name, equal for all members; `""`: unknown',
        "gang.size": "the number of members; 0: unknown",
        "gang.accelerated": (
            "the number of members that ask for accelerators, if the templates of the gang's owner or "
            "`podberth.io/gang-accelerated` say so; else the number of all members"
        ),
        "gang.index": "the pod's number within its role; -1: unknown",
        "gang.role": (
            "the operator's name for the pods of one template: `worker`, `launcher`, `headgroup`, the name of a "
            'replicated job, a task or a clique; `""`: the operator has no name for them'
        ),
        "gang.source": (
            "what says that the pod belongs to the gang: `Job`, `JobSet`, `LeaderWorkerSet`, `PyTorchJob` and the "
            "other kinds of Kubeflow, `MPIJob`, `RayCluster`, `VolcanoJob`, `PodCliqueSet`, `RoleBasedGroup`, "
            "`ModelServing`, `RoleSet`, `PodSet`, `AscendJob`, `InferenceService`, `Spark`, `StatefulSet`, "
            "`PodGroup`, `Workload`, `Kueue`, `YuniKorn`, or `label` for the user's own label"
        ),
        "gang.system": (
            "the system that places the gang: `native`, `kueue`, `volcano`, `kai`, `koordinator`, `slurm-bridge`, "
            "`coscheduling`, `yunikorn` or `plain`; a pod without a gang has a value, too"
        ),
        "gang.job": (
            "what the pod's Job says about failures; a pod without a gang has it, too. Absent if the pod is of no Job, "
            "an operator such as JobSet makes the Job, or the Job is not known: ask `has(gang.job)`"
        ),
        "gang.job.backoffLimit": (
            "the number of pods that may fail before the Job fails; 6 is the default, and 2147483647 the value with "
            "`backoffLimitPerIndex`"
        ),
        "gang.job.completions": "`completions` of the Job, or else its `parallelism`",
        "gang.job.parallelism": "the number of pods that run at the same time; 1 is the default",
        "gang.job.ignoresDisruptions": (
            "the Job has a podFailurePolicy by which a drain, an eviction or a preemption of a pod is no failure"
        ),
    },
    "cel-topology": {
        "topology.known": (
            "there are nodes in the snapshot. Without them every set of nodes is empty: ask this before you say that "
            "no node fits"
        ),
    },
    "cel-results": {
        "Nodes.exist": "any node fits, transient nodes included",
        "Nodes.count": "the number of nodes that fit and are not transient",
        "Nodes.transientCount": "the number of transient nodes that fit",
        "Nodes.transientReasons": (
            "why those nodes are transient: `unhealthy GPU (gpu-7), stale (12 nodes)`; `''`: there are none"
        ),
        "Nodes.terms": (
            "nodeSelectorTerms that select these nodes and no other node that the pod chooses; empty if all nodes "
            "fit, if none fits, or if labels do not distinguish them"
        ),
        "Nodes.preferredTerms": (
            "as `terms`, but they may also select other nodes that no label distinguishes from these. For preferred "
            "affinity"
        ),
        "Nodes.requiredTerms": (
            "one term that excludes the known nodes that would accept the pod although they do not fit, and excludes "
            "no future node that fits; empty if there is none to exclude, or if labels cannot. For required affinity"
        ),
        "Nodes.separable": "labels distinguish these nodes from the others, so you can rely on `terms`",
        "Nodes.shared": (
            "all of these nodes that are not transient offer shares (time-slices, MPS) of the requested resource, by "
            "its name (`.shared`) or by the node's labels"
        ),
        "Nodes.linksKnown": "podberth knows of all of these nodes which of their GPUs share NVLink (AMD: XGMI)",
        "Nodes.cut": "on one of these nodes `nvidia.com/gpu` is a MIG instance or a share, and not a whole GPU",
        "Nodes.instance": (
            "the MIG profile of one `nvidia.com/gpu` on all of these nodes; `''`: it is a whole GPU, or the nodes "
            "differ"
        ),
        "Nodes.leastMemoryMiB": (
            "the least MiB that one unit of the requested resource has on these nodes; 0: unknown for some of them"
        ),
        "Nodes.mostMemoryMiB": (
            "the most MiB that one unit of the requested resource has on these nodes; 0: unknown for some of them"
        ),
        "Nodes.requirable": "you can rely on `requiredTerms`",
        "Nodes.obstacle": "why labels do not distinguish these nodes; `''`: they do",
        "Nodes.missingLabel": "the label that would have helped, if you cannot rely on `terms` or `requiredTerms`",
        "Nodes.taints": "the distinct taints of these nodes",
        "Nodes.tolerations": (
            "a toleration for each taint of these nodes that marks nodes with accelerators (`nvidia.com/gpu` and the "
            "providers' keys, NoSchedule), and for no other taint"
        ),
        "Taint.key": "the taint's key",
        "Taint.value": 'the taint\'s value; `""`: none',
        "Taint.effect": "the taint's effect",
        "MigProfile.exist": "there is such a profile",
        "MigProfile.resource": (
            "the resource, such as `nvidia.com/mig-1g.10gb`; `''` for a part of an instance (`1c.3g.20gb`), which is "
            "no resource"
        ),
        "MigProfile.profile": "the profile, such as `1g.10gb`",
        "MigProfile.slices": "the compute slices: the 3 of `3g.20gb`, the 1 of `1c.3g.20gb`",
        "MigProfile.memoryMiB": "the MiB that an instance has at least; 0: unknown",
        "NamedModel.millions": (
            "the millions of parameters, at least: 67200 for `Llama-3.3-70B`, because names round up; 0: the name "
            "does not say it"
        ),
        "NamedModel.dense": "the model is certainly no mixture of experts, by the name of its family",
    },
}
"""What each field is, by the table that it stands in."""
