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
        "the nodes that could run this pod by its accelerators and memory need, among those that its own "
        "nodeSelector and required affinity choose and whose taints do not keep it off; taints that mark "
        "nodes with accelerators count as tolerated. Where its accelerators are claimed and none is counted: the "
        "nodes that are known to have some, or all where none is known to",
        "topology.nodes(gpu).exist",
    ),
    "Nodes.withLinkDomain(int)": Manual(
        "those of them with so many of the requested GPUs in one NVLink domain; up to 1: all",
        "topology.nodes(gpu).withLinkDomain(4).terms",
    ),
    "topology.narrowestSafeLevel(gang)": Manual(
        "the same, but on which every domain with a node that fits one of them always has room for all, in whatever "
        "order they come and wherever each goes. For who requires one domain",
        "topology.narrowestSafeLevel(gang)",
    ),
    "topology.narrowestLevel(gang)": Manual(
        "the label key of the narrowest topology level with a domain that holds the members of the pod's gang that ask "
        "for accelerators, by what each role asks for: one for all of them, whichever asks; `''`: none does, or the "
        "pod asks for none itself",
        "topology.narrowestLevel(gang)",
    ),
    "Nodes.narrowestSafeLevel(int)": Manual(
        "the same, but on which every domain with a fitting node holds so many: whichever the first member "
        "goes to, the others fit. For who requires one domain; `''` where accelerators are claimed",
        "topology.nodes(gpu).narrowestSafeLevel(4)",
    ),
    "Nodes.narrowestLevel(int)": Manual(
        "the label key of the narrowest topology level with a domain that holds so many such pods, by "
        "accelerators, on empty nodes; `''`: none does. 0, an unknown number, is taken as two. Where accelerators are "
        "claimed it is one pod a node, and where no domain has as many nodes, the level with the largest",
        "topology.nodes(gpu).narrowestLevel(4)",
    ),
    "mig.smallest(int)": Manual(
        "the smallest MIG resource with at least so many MiB on the nodes that the pod chooses and can reach",
        "mig.smallest(gpu.memoryMiB).resource",
    ),
    "mig.smallest(int, int)": Manual(
        "the same, of those with at least so many compute slices (the second number)",
        "mig.smallest(gpu.memoryMiB, 2).resource",
    ),
    "mig.parse(string)": Manual(
        "a name read in any spelling, to be had in both: `profile` and `resource`. Its memory is what an "
        "instance of that name has at least, whatever the model",
        "mig.parse('nvidia.com/mig-1g.10gb.me').profile",
    ),
    "mig.capacity(string)": Manual(
        "how many instances of the profile one GPU holds, of the nodes that the pod chooses and can reach: "
        "at most, where their models differ; 0: none of them can be cut so",
        "mig.capacity('1g.10gb')",
    ),
    "mig.gpuNodes(string)": Manual(
        "the nodes that the pod chooses and can reach on which `nvidia.com/gpu` is an instance of the "
        "profile: strategy `single`, and GKE",
        "mig.gpuNodes('1g.10gb').terms",
    ),
    "mig.fits(list(string))": Manual(
        "one GPU of these nodes can be cut into all of these instances at once. A name that stands twice is"
        " two instances",
        "mig.fits(['3g.40gb', '4g.40gb'])",
    ),
    "mig.known(string)": Manual(
        "some GPU model has this profile, or some node reports it. Takes a profile or a resource, in any spelling",
        "mig.known('1g.10gb')",
    ),
    "mig.offered(string)": Manual(
        "some known node has it, or a DeviceClass serves it",
        "mig.offered('nvidia.com/mig-1g.10gb')",
    ),
    "mig.nearest(string)": Manual(
        "the name that was probably meant, of the cluster's first, then of all; in the form asked in; `''`:"
        " nothing is near",
        "mig.nearest('nvidia.com/mig-4g.5gb')",
    ),
    "mig.suggestions(string)": Manual(
        "the same, and up to two more that it may have been, the best first",
        "mig.suggestions('lg.5gb')",
    ),
    "topology.offers(string)": Manual(
        "some known node has the resource, whether it is an accelerator or not, or a DeviceClass serves it",
        "topology.offers('rdma/hca')",
    ),
    "topology.memoryMiB(string)": Manual(
        "MiB that a GPU of a model (as GFD's or GKE's label has it) or an instance of a MIG profile has at "
        "most: on the known nodes of that model, or else by a table of usual ones; 0: not known. What the "
        "nodes have that a pod may land on is `Nodes.mostMemoryMiB`",
        "topology.memoryMiB('NVIDIA-L4')",
    ),
    "shell.commands(list(string))": Manual(
        "the commands that a command line (`command` and `args` of a container in one list) runs, each as "
        "its words: below",
        "shell.commands(['sh', '-c', 'vllm serve a'])",
    ),
    "shell.flag(list(string), list(string))": Manual(
        "the value of a flag in the words of a command, by any of its names; of several the last: `--x=v` "
        "or `--x v`; `''`: absent, or without a value",
        "shell.flag(['vllm', 'serve', '--port=1'], ['--port'])",
    ),
    "models.named(string)": Manual(
        "what the name of a model, or the path or URL of one, says about its size: below",
        "models.named('llama-3-70b')",
    ),
    "jsonpatch.escapeKey(string)": Manual(
        "a key as one step of a JSON Pointer: `~` becomes `~0`, `/` becomes `~1`; as upstream",
        "'/metadata/labels/' + jsonpatch.escapeKey('example.com/a')",
    ),
}
"""By the signature as the page has it."""

VARIABLES: Mapping[str, str] = {
    "object": (
        "the Pod, with the fields of Kubernetes 1.36; `dyn(object).spec.newField` reaches a field that "
        "this schema does not know"
    ),
    "oldObject": "the Pod before an update; null on creation",
    "request": "the admission request, as upstream: below",
    "namespaceObject": (
        "the pod's Namespace, as upstream without managedFields and ownerReferences. From the snapshot; "
        "not known is an error. Not in matchConditions"
    ),
    "params": "the ConfigMap of `paramRef`; null without one",
    "variables": "the policy's variables above this place. Not in matchConditions",
    "gpu": "what the pod asks of accelerators: below",
    "gang": "the group that the pod belongs to: below",
    "topology": "the cluster's nodes: below, and its functions",
    "mig": "MIG profiles: its functions",
    "jsonpatch": "JSON Pointers: its function",
    "shell": "command lines: its functions",
    "models": "names of models: its function",
}
"""What each name is that expressions may use."""

FIELDS: Mapping[str, Mapping[str, str]] = {
    "cel-request": {
        "request.kind": "`group`, `version`, `kind` of the object",
        "request.resource": "`group`, `version`, `resource`",
        "request.subResource": '`""`, or `ephemeralcontainers`',
        "request.requestKind": "as the client sent it",
        "request.requestResource": "as the client sent it",
        "request.requestSubResource": "",
        "request.name": "absent where generateName has not run; ask `has(request.name)`",
        "request.namespace": "",
        "request.operation": "`CREATE` or `UPDATE`",
        "request.userInfo": "who asks: a controller, for most pods",
        "request.dryRun": "",
        "request.options": "CreateOptions or UpdateOptions",
        "request.kind.group": "",
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
            "devices, MIG instances and shares that the scheduler reserves: the larger of init containers and"
            " main containers with sidecars"
        ),
        "gpu.devices": (
            "`gpu.count` plus the devices of claims for accelerators: devices asked for in any way. A claim whose"
            " number or kind is not known counts: as one where the number is not known"
        ),
        "gpu.perContainer": "the same in the one container that has most",
        "gpu.kind": "`whole`, `mig`, `shared`, `mixed` (several of these), `claim` (DRA claims only, and not just "
        "for NICs or IMEX channels) or `none`",
        "gpu.vendor": (
            '`nvidia`, `amd`, `intel`, `google`, `aws`, `huawei`; `mixed` where there are several, `""` where none'
        ),
        "gpu.memoryMiB": (
            "MiB of GPU memory that the pod declares (`podberth.io/gpu-memory`), rounded up; 0: not declared"
        ),
        "gpu.requests": "one entry for each accelerator resource of each container; none of zero",
        "gpu.claims": "claims that some container uses, and DeviceClasses asked for as resources",
        "gpu.requests[].container": "its name",
        "gpu.requests[].init": "an init container that ends before the main ones start; false for a sidecar",
        "gpu.requests[].resource": "`nvidia.com/gpu`, `nvidia.com/mig-1g.10gb`, …",
        "gpu.requests[].quantity": "",
        "gpu.requests[].kind": "`whole`, `mig` or `shared`",
        "gpu.requests[].vendor": "",
        "gpu.requests[].profile": 'MIG profile (`1g.10gb+me`), else `""`',
        "gpu.claims[].name": 'of the pod\'s resourceClaims; `""` for a DeviceClass that is asked for as a resource',
        "gpu.claims[].deviceClass": "what the claim or its template asks for, one entry for each class; "
        '`""` where neither is known, or alternatives (`firstAvailable`) differ',
        "gpu.claims[].count": "how many of that class; 0 where that is not known, or it is all that a node has",
        "gpu.claims[].kind": "`whole`, `mig` or `passthrough`; `none`: a NIC, an IMEX channel, no accelerator; "
        '`""`: not known',
        "gpu.claims[].shared": "other pods have the very same devices: the claim exists under a name, or it is "
        "one that the pod's PodGroup has for all its pods",
    },
    "cel-gang": {
        "gang.known": "the pod belongs to a gang: pods that start together or are of no use",
        "gang.name": 'equal for all members; `""` where not known',
        "gang.size": "how many pods; 0: unknown",
        "gang.accelerated": (
            "how many of them ask for accelerators, where the templates of the gang's owner, or "
            "`podberth.io/gang-accelerated`, say so; else all"
        ),
        "gang.index": "the pod's number within its role; -1: unknown",
        "gang.role": (
            "what the operator calls the pods that it makes alike: `worker`, `launcher`, `headgroup`, the name of a "
            'replicated job, a task or a clique; `""` where it has no word for it'
        ),
        "gang.source": (
            "what says so: `Job`, `JobSet`, `LeaderWorkerSet`, `PyTorchJob` and the other kinds of Kubeflow, "
            "`MPIJob`, `RayCluster`, `VolcanoJob`, `PodCliqueSet`, `RoleBasedGroup`, `ModelServing`, `RoleSet`, "
            "`PodSet`, `AscendJob`, `InferenceService`, `Spark`, `StatefulSet`, `PodGroup`, `Workload`, `Kueue`, "
            "`YuniKorn`, or `label` for the user's own word"
        ),
        "gang.system": (
            "who places the group: `native`, `kueue`, `volcano`, `kai`, `koordinator`, `slurm-bridge`, "
            "`coscheduling`, `yunikorn` or `plain`; pods without a gang have it, too"
        ),
    },
    "cel-topology": {
        "topology.known": (
            "there is any node in the snapshot. Without data every set of nodes is empty: ask this before "
            "saying that no node fits"
        ),
    },
    "cel-results": {
        "Nodes.exist": "any node fits, transient ones included",
        "Nodes.count": "how many fit lastingly",
        "Nodes.transientCount": "how many more would fit if they were healthy",
        "Nodes.transientReasons": (
            "why those do not count: `unhealthy GPU (gpu-7), stale (12 nodes)`; `''` where all healthy"
        ),
        "Nodes.terms": (
            "nodeSelectorTerms that select these nodes and no other that the pod chooses; empty where all "
            "fit, none fits, or labels do not distinguish them"
        ),
        "Nodes.preferredTerms": (
            "the same, or what comes nearest: of the others only such as no label distinguishes from these. For "
            "preferred affinity"
        ),
        "Nodes.requiredTerms": (
            "one term that excludes the known nodes that would take the pod and do not fit, and no node to "
            "come that fits; empty where there is none to exclude, or labels cannot. For required affinity"
        ),
        "Nodes.separable": "labels distinguish them from the others, so `terms` can be relied on",
        "Nodes.shared": (
            "all that fit lastingly offer shares (time-slices, MPS) of what the pod asks for, whether the "
            "resource says so (`.shared`) or the node's labels do"
        ),
        "Nodes.linksKnown": "it is known of all of them which of their GPUs share NVLink (AMD: XGMI)",
        "Nodes.cut": "`nvidia.com/gpu` is a MIG instance or a share on one of them, and not a whole GPU",
        "Nodes.instance": (
            "the MIG profile of one `nvidia.com/gpu` on all of them; `''` where it is a whole GPU, or they differ"
        ),
        "Nodes.leastMemoryMiB": (
            "MiB that one unit of what the pod asks for has here at least; 0: not known of all of them"
        ),
        "Nodes.mostMemoryMiB": "the same, at most",
        "Nodes.requirable": "`requiredTerms` can be relied on",
        "Nodes.obstacle": "why labels do not distinguish them; `''` where they do",
        "Nodes.missingLabel": "the label that would have helped, where `terms` or `requiredTerms` cannot be relied on",
        "Nodes.taints": "the distinct taints on them",
        "Nodes.tolerations": (
            "a toleration for each of these taints that marks a node as one with accelerators "
            "(`nvidia.com/gpu` and the providers' keys, NoSchedule), and for no other"
        ),
        "Taint.key": "",
        "Taint.value": '`""` where the taint has none',
        "Taint.effect": "",
        "MigProfile.exist": "there is one",
        "MigProfile.resource": (
            "`nvidia.com/mig-1g.10gb`; `''` for a part of an instance (`1c.3g.20gb`), which is no resource"
        ),
        "MigProfile.profile": "`1g.10gb`",
        "MigProfile.slices": "compute slices: the 3 of `3g.20gb`, the 1 of `1c.3g.20gb`",
        "MigProfile.memoryMiB": "MiB that an instance has at least; 0: unknown",
        "NamedModel.millions": (
            "millions of parameters, at least: 67200 of `Llama-3.3-70B`, for names round up; 0: the name does not say"
        ),
        "NamedModel.dense": "for certain no mixture of experts, by the family's name",
    },
}
"""What each field is, by the table that it stands in."""
