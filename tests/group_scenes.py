"""What a scene of a group is: the manifest that a user applies, the objects of the cluster, and the expected warning.

It has the manifests' parts, the cluster, and the names of the checks. The scenes are in ``one_role_groups``,
``wrong_groups`` and ``right_groups``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from textwrap import dedent
from typing import Any

from builders import review, workload_review
from podberth.admission import decide
from podberth.admission.review import decode_review
from podberth.admission.snapshot import Snapshot
from podberth.admission.workload import validate_workload
from podberth.kube.documents import load_documents
from snapshots import cluster, snapshot

JSON = dict[str, Any]

GPU = "{containers: [{name: main, image: i, resources: {limits: {nvidia.com/gpu: 8}}}]}"
CPU = "{containers: [{name: main, image: i}]}"


@dataclass(frozen=True, slots=True)
class Scene:
    """One wrong group. ``check`` is the name in ``validation.checks``."""

    check: str
    manifest: str
    line: str
    """The warning of the webhook; empty: none."""
    objects: str = ""
    """The objects of the cluster besides its nodes, which are three with eight H100 each."""

    @property
    def document(self) -> JSON:
        """The object that the user applies."""
        [document] = documents(self.manifest)
        return document


def documents(text: str) -> list[JSON]:
    """Return the documents of a manifest that may be indented as a whole."""
    found, problems = load_documents(dedent(text), "m.yaml")
    assert problems == []
    return [each.document for each in found]


def known(scene: Scene) -> Snapshot:
    """Return the scene's cluster, without a policy."""
    racks = [{**node, "metadata": {**node["metadata"], "labels": _labels(node)}} for node in cluster(hgx_h100_8=3)]
    found = snapshot(objects=[*racks, *(documents(scene.objects) if scene.objects else ())])
    return replace(found, facts=replace(found.facts, listed=True))


def _labels(node: JSON) -> JSON:
    labels = node["metadata"].get("labels") or {}
    number = node["metadata"]["name"].rpartition("-")[2]
    in_rack = {"example.com/rack": f"r{int(number) // 2}"} if node["kind"] == "Node" else {}
    return {**labels, **in_rack}


def warned(document: JSON, by: Snapshot) -> Sequence[str]:
    """Return the webhook's warnings about a document."""
    if document["kind"] == "Pod":
        return decide.validate(
            decode_review(review(document, namespace=document["metadata"]["namespace"])), by
        ).warnings
    plural = f"{document['kind'].lower()}s"
    asked = workload_review(document, plural, namespace=document["metadata"]["namespace"])
    return validate_workload(decode_review(asked), by).warnings


QUEUES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: research, namespace: ml}
spec: {clusterQueue: gpus}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: held, namespace: ml}
spec: {clusterQueue: gpus, stopPolicy: Hold}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: astray, namespace: ml}
spec: {clusterQueue: gone}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: idle, namespace: ml}
spec: {clusterQueue: inactive}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: office, namespace: ml}
spec: {clusterQueue: processors}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: processors}
spec:
  resourceGroups:
  - coveredResources: [cpu, memory]
    flavors: [{name: any, resources: [{name: cpu, nominalQuota: 8}, {name: memory, nominalQuota: 8}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: priced, namespace: ml}
spec: {clusterQueue: credits}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: credits}
spec:
  resourceGroups:
  - coveredResources: [cpu, example.com/credits]
    flavors: [{name: any, resources: [{name: cpu, nominalQuota: 8}, {name: example.com/credits, nominalQuota: 8}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: gpus}
spec:
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: any, resources: [{name: cpu, nominalQuota: 8}]}]
  - coveredResources: [nvidia.com/gpu]
    flavors: [{name: any, resources: [{name: nvidia.com/gpu, nominalQuota: 8}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: inactive}
status: {conditions: [{type: Active, status: "False", reason: FlavorNotFound}]}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: research}
status: {state: Open}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: shut}
status: {state: Closed}
---
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: research}
---
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: vision}
spec: {parentQueue: research}
"""


def job(metadata: str = "", template: str = "", pod: str = GPU, *, parallelism: int = 2, completions: int = 2) -> str:
    """Return an Indexed Job as a manifest; the parts are flow YAML, without its braces."""
    pod = pod.replace("{", "{restartPolicy: Never, subdomain: train, ", 1)
    return f"""
    apiVersion: batch/v1
    kind: Job
    metadata: {{name: train, namespace: ml{metadata}}}
    spec:
      completionMode: Indexed
      parallelism: {parallelism}
      completions: {completions}
      template: {{metadata: {{{template}}}, spec: {pod}}}
    """


def kubeflow(kind: str, roles: str, extra: str = "", version: str = "v1") -> str:
    """Return a job of Kubeflow's."""
    field = {"PyTorchJob": "pytorch", "MPIJob": "mpi"}[kind]
    return f"""
    apiVersion: kubeflow.org/{version}
    kind: {kind}
    metadata: {{name: train, namespace: ml}}
    spec: {{{field}ReplicaSpecs: {{{roles}}}{extra}}}
    """


def role(name: str, replicas: int, pod: str = GPU, metadata: str = "") -> str:
    """Return one of its roles."""
    return f"{name}: {{replicas: {replicas}, template: {{metadata: {{{metadata}}}, spec: {pod}}}}}"


def job_set(key: str, template: str = "", *, replicas: int = 1, parallelism: int = 2, pod: str = GPU) -> str:
    """Return a JobSet with exclusive topology."""
    return f"""
    apiVersion: jobset.x-k8s.io/v1alpha2
    kind: JobSet
    metadata: {{name: train, namespace: ml, annotations: {{alpha.jobset.sigs.k8s.io/exclusive-topology: {key}}}}}
    spec:
      replicatedJobs:
      - name: node
        replicas: {replicas}
        template:
          spec:
            parallelism: {parallelism}
            completions: {parallelism}
            template: {{metadata: {{{template}}}, spec: {pod}}}
    """


MINIMUM = ", runPolicy: {schedulingPolicy: {minAvailable: %d}}"
_TO_ITSELF = (
    "{podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: %s, labelSelector: {matchLabels: "
    "{team: a}}}]}}"
)


def together(key: str) -> str:
    """Return the spec of a pod with required affinity to its own kind."""
    return GPU.replace("{containers", "{affinity: %s, containers" % (_TO_ITSELF % key), 1)


QUEUE, LEAST, LAUNCHER = "A queue that does not exist", "A minimum above the replicas", "A launcher that is not counted"
PARTS = "A gang that starts in parts"
MIXED, ELSEWHERE = "Mixed schedulers", "Groups across namespaces"
EXCLUSIVE, DOMAIN = "Exclusive topology with a second topology", "A size that no domain holds"
RACK, ZONE, HOST = "example.com/rack", "topology.kubernetes.io/zone", "kubernetes.io/hostname"
