"""The meaning of the fields of a Pod that policies for GPUs read, for editors: what is done with them.

The sentences are podberth's own: the API's descriptions are not copied, and no package that an editor's server needs
has them. A field without a row has its type alone.
"""

from collections.abc import Mapping
from typing import Final

_PREFERRED: Final = (
    "preferences with weights: a node that fulfils one gains its weight, among the scheduler's other scores"
)

_CONTAINER: Final[Mapping[str, str]] = {
    "args": "the arguments of `command`, or of the image's entrypoint",
    "command": "the program with its arguments, in place of the image's entrypoint; no shell reads it",
    "env": "the environment variables, in order; a later one of the same name wins",
    "envFrom": "ConfigMaps and Secrets whose keys become environment variables; `env` wins",
    "image": "the image as it is written: a tag is not resolved, and the registry may be left out",
    "name": "unique among all containers of the pod, init containers included",
    "ports": "ports for readers and for `hostPort`; a port that is not listed is reachable, too",
    "resources": (
        "what the container asks for: accelerators are in `limits` by the resource's name, DRA claims in `claims`"
    ),
    "restartPolicy": "`Always` makes an init container a sidecar: it runs on, beside the main containers",
    "securityContext": "rights of the container's processes; they win over those of the pod",
    "volumeMounts": "where the volumes of the pod appear in the container",
}

_NODES: Final[Mapping[str, str]] = {
    "preferredDuringSchedulingIgnoredDuringExecution": _PREFERRED,
    "requiredDuringSchedulingIgnoredDuringExecution": "what a node must fulfil; a running pod stays if it changes",
}

_PODS: Final[Mapping[str, str]] = {
    "preferredDuringSchedulingIgnoredDuringExecution": _PREFERRED,
    "requiredDuringSchedulingIgnoredDuringExecution": "all terms must hold for a node; a running pod stays",
}

MEANINGS: Final[Mapping[str, Mapping[str, str]]] = {
    "Pod": {
        "metadata": "name, labels, annotations and owners",
        "spec": "what the pod wants; little of it can be changed after its creation",
        "status": "what the kubelet and the scheduler report; empty when a pod is created",
    },
    "ObjectMeta": {
        "annotations": "texts by key, which no selector sees; absent if there are none: ask `has` first",
        "creationTimestamp": "the time at which the API server stored the object",
        "deletionTimestamp": "the time until which the object is deleted; absent if nobody deletes it",
        "generateName": "the beginning of the name, if the API server makes the name up: then `name` is absent so far",
        "labels": "texts by key, by which selectors find the object; absent if there are none: ask `has` first",
        "name": "absent on a new pod of a controller that lets the API server make up the name",
        "namespace": "the namespace; on a new pod it may be absent: `request.namespace` has it always",
        "ownerReferences": "the objects that the pod is deleted with; one of them, at most, is its controller",
    },
    "OwnerReference": {
        "apiVersion": "group and version of the owner: `apps/v1`, `batch/v1`",
        "controller": "true for the owner that made the pod, and replaces it",
        "kind": "the kind of the owner: ReplicaSet for a pod of a Deployment",
        "name": "the name of the owner, in the pod's namespace or of the cluster",
    },
    "PodSpec": {
        "activeDeadlineSeconds": "how long the pod may run before the kubelet ends it as failed; absent: any time",
        "affinity": "rules about nodes, and about pods on nodes near, that a node must or should fulfil",
        "containers": "the main containers, which run at the same time: the pod needs the sum of their requests",
        "ephemeralContainers": "containers that `kubectl debug` adds to a running pod; they ask for no resources",
        "hostIPC": "true: the processes share memory segments with those of the node",
        "hostNetwork": "true: the pod has the network of the node, as some set-ups of RDMA want it",
        "hostPID": "true: the pod sees all processes of the node, those of other pods on its GPUs among them",
        "initContainers": (
            "containers that end one after another before the main ones start, and sidecars, which run on: "
            "the pod needs the largest request of the former, if that is more"
        ),
        "nodeName": "the node; if it is set at creation, no scheduler places the pod; `NoSchedule` does not count",
        "nodeSelector": "labels that a node must have, all of them, with these values",
        "overhead": "what the RuntimeClass needs besides the containers; the API server writes it",
        "preemptionPolicy": "`Never`: the pod waits, and evicts no pod of lower priority",
        "priority": "the number of the PriorityClass; the API server writes it before policies are asked",
        "priorityClassName": "the PriorityClass: pods of a higher one are placed first, and may evict those of lower",
        "resourceClaims": "the DRA claims of the pod; a container uses one if its `resources.claims` names it",
        "resources": "a request of the whole pod, for CPU, memory and hugepages alone: accelerators stay in containers",
        "restartPolicy": "`Always`, `OnFailure` or `Never`; pods of Jobs have one of the latter two",
        "runtimeClassName": "the RuntimeClass: how the node runs the containers, such as `nvidia`, and which nodes can",
        "schedulerName": (
            "the scheduler that places the pod; without such a scheduler in the cluster the pod waits without an Event"
        ),
        "schedulingGates": "as long as there is one, no scheduler places the pod; they are only ever removed",
        "schedulingGroup": "the PodGroup whose pods the default scheduler places together",
        "securityContext": "rights of all containers, such as user and groups; a container's own win",
        "serviceAccountName": "the identity with which the pod's processes call the API server",
        "terminationGracePeriodSeconds": "the time between SIGTERM and SIGKILL, such as for a checkpoint",
        "tolerations": "the taints in spite of which a node may take the pod; they attract the pod to no node",
        "topologySpreadConstraints": "how evenly pods are spread over zones, racks or nodes: the opposite of packing",
        "volumes": "the volumes that containers mount; one of medium `Memory` is often the shared memory of a GPU pod",
    },
    "Container": _CONTAINER,
    "EphemeralContainer": {name: _CONTAINER[name] for name in ("args", "command", "env", "envFrom", "image", "name")},
    "ResourceRequirements": {
        "claims": "the entries of `spec.resourceClaims` that the container uses",
        "limits": "the most that the container gets; accelerators must stand here",
        "requests": (
            "what the scheduler reserves; for an accelerator it equals the limit, "
            "and the API server copies a limit that has no request"
        ),
    },
    "ResourceClaim": {
        "name": "an entry of `spec.resourceClaims`",
        "request": "the request of the claim whose devices the container gets; absent: those of all requests",
    },
    "PodResourceClaim": {
        "name": "the name by which containers refer to the claim",
        "resourceClaimName": "a claim that exists, which several pods may share",
        "resourceClaimTemplateName": "a template from which each pod gets a claim of its own",
    },
    "Toleration": {
        "effect": "`NoSchedule`, `PreferNoSchedule` or `NoExecute`; absent: all effects",
        "key": "the key of the taint; absent with `Exists`: every taint is tolerated",
        "operator": "`Exists`: any value; `Equal`, which is the default: this value",
        "tolerationSeconds": "how long a pod stays on a node that gets a taint `NoExecute`; absent: for ever",
        "value": "the value of the taint; absent with `Exists`",
    },
    "Affinity": {
        "nodeAffinity": "rules about the labels of nodes",
        "podAffinity": "rules that bring the pod near others, such as those of its gang",
        "podAntiAffinity": "rules that keep the pod away from others",
    },
    "NodeAffinity": _NODES,
    "PodAffinity": _PODS,
    "PodAntiAffinity": _PODS,
    "NodeSelector": {"nodeSelectorTerms": "alternatives: a node must fulfil one of them"},
    "NodeSelectorTerm": {
        "matchExpressions": "conditions on labels; a node must fulfil all",
        "matchFields": "conditions on `metadata.name` of the node, as DaemonSets have them",
    },
    "NodeSelectorRequirement": {
        "key": "the key of the label",
        "operator": "`In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt` or `Lt`; a node without the label fulfils `NotIn`",
        "values": "the values of `In` and `NotIn`, or the one number of `Gt` and `Lt`",
    },
    "PreferredSchedulingTerm": {
        "preference": "the labels that a node should have",
        "weight": "1 to 100: what a node that has them gains",
    },
    "PodAffinityTerm": {
        "labelSelector": "the labels of the other pods",
        "namespaceSelector": "the namespaces of the other pods, by their labels",
        "namespaces": "the namespaces of the other pods; absent, as is the selector: the pod's own",
        "topologyKey": "the label of nodes whose value says what is near: a rack, a zone, one node",
    },
    "WeightedPodAffinityTerm": {
        "podAffinityTerm": "the pods that should be near, or away",
        "weight": "1 to 100: what a node gains by it",
    },
    "TopologySpreadConstraint": {
        "maxSkew": "the largest difference between the domains, in pods",
        "topologyKey": "the label of nodes whose values are the domains",
        "whenUnsatisfiable": "`DoNotSchedule`: the pod waits; `ScheduleAnyway`: it is a preference",
    },
    "EnvVar": {
        "name": "the name of the variable, such as `NVIDIA_VISIBLE_DEVICES`",
        "value": "the text; absent if `valueFrom` gives it",
        "valueFrom": "a key of a ConfigMap or Secret, or a field of the pod: policies do not see the value",
    },
    "Volume": {
        "emptyDir": "space of the node that lives as long as the pod; `medium: Memory` counts against memory limits",
        "hostPath": "a path of the node: whatever is there, such as device files or sockets",
        "name": "the name by which `volumeMounts` refer to the volume",
        "persistentVolumeClaim": "a claim for storage, which may allow only nodes of one zone",
    },
    "VolumeMount": {
        "mountPath": "the path in the container, such as `/dev/shm`",
        "name": "the name of a volume of the pod",
    },
    "SecurityContext": {
        "capabilities": "capabilities of Linux that are added or dropped, such as `IPC_LOCK` for RDMA",
        "privileged": "true: the container reaches all devices of the node, GPUs that it did not ask for among them",
    },
    "PodSchedulingGate": {"name": "the name by which its controller removes the gate"},
    "PodSchedulingGroup": {"podGroupName": "the PodGroup, in the pod's namespace"},
    "Namespace": {
        "metadata": "name, labels and annotations; `namespaceObject.metadata.labels` often has a team's name"
    },
}
"""The meaning of each field, by the last part of its type's name in Kubernetes' schema."""
