"""Every label, annotation and name that podberth itself owns, or that Kubernetes fixes for all clusters.

Names that differ between clusters and providers (resource names, topology level keys, taint keys) are configuration and
are in ``conventions``. Nothing is computed here.
"""

API_VERSION = "podberth.io/v1alpha1"
POLICY_KIND = "GPUPolicy"
EXCEPTION_KIND = "GPUPolicyException"
NAMESPACED_KIND = "NamespacedGPUPolicy"

# ---- written by users -----------------------------------------------------------------------------------------------
GPU_MEMORY_ANNOTATION = "podberth.io/gpu-memory"
"""The GPU memory that a pod needs, as a quantity such as ``10Gi``, in addition to an ordinary GPU request."""

GANG_LABEL = "podberth.io/gang"
"""The name of the gang that a pod belongs to.

The name is in a label because pod affinity selects pods by labels.
"""

GANG_SIZE_ANNOTATION = "podberth.io/gang-size"
"""The number of pods in the gang, if no other field of the pod gives the size of the gang."""

GANG_ACCELERATED_ANNOTATION = "podberth.io/gang-accelerated"
"""The number of pods of ``podberth.io/gang-size`` that ask for accelerators, if not all do.

The gang's PodGroup has only pods that ask for accelerators, so launchers and heads without accelerators are left out.
"""

EXEMPT_LABEL = "podberth.io/exempt"
"""A namespace with this label, whatever its value, is exempt: no review of its objects reaches podberth."""

PARAMS_LABEL = "podberth.io/params"
"""Marks, with the value ``true``, a ConfigMap outside podberth's namespace that policies may read as params."""

# ---- written by podberth --------------------------------------------------------------------------------------------
COLOCATED_LABEL = "podberth.io/colocated"
"""Marks the members of a gang that prefer or require one domain; the value is the gang's name."""

GANG_SLICE_LABEL = "podberth.io/gang-slice"
"""The number of the pod's slice of its gang, if the pods of every slice prefer or require a domain of their own."""

GANG_LEVEL_ANNOTATION = "podberth.io/gang-level"
"""The topology level at which the gang's PodGroup should be in one domain: a node label key.

The controller reads the annotation when the controller makes the PodGroup.
"""

GANG_LEVEL_MODE_ANNOTATION = "podberth.io/gang-level-mode"
"""Whether the level in ``podberth.io/gang-level`` is ``required`` or ``preferred``."""

APPLIED_ANNOTATION = "podberth.io/applied"
"""The record of the fields that each policy wrote, as JSON (mutation/record.py)."""

FLOOR_KEY = "podberth.io/floor"
"""Marks, as a label, a pod on which the floor (native policies) wrote and podberth did not decide.

As an annotation, it says what the floor wrote (admission/floor.py).
"""

FLOOR_VALUE = "wrote"
"""The value of the label ``podberth.io/floor``."""

FLOOR_PARAMS = "podberth-floor"
"""The name of the ConfigMap from which the floor reads the cluster's accelerators; the controller writes its data."""

NEEDS_EVERY_POD_ANNOTATION = "podberth.io/needs-every-pod"
"""Whether a GPUPolicy of scope All needs webhook entries for every pod.

The value is ``"false"`` if the ordinary webhook entries already send the pods that the policy is about.
"""

TOPOLOGY_LABEL = "podberth.io/topology"
"""Marks the ConfigMap with a node's topology; the value is the schema version of the topology document."""

LINK_SHAPE_LABEL = "podberth.io/link-shape"
"""The links between the GPUs of a node: ``full-mesh``, ``islands`` or ``none``.

The node's agent writes the label if configured to do so.
"""

LINK_DOMAIN_LABEL = "podberth.io/link-domain-size"
"""The largest number of a node's GPUs that share NVLink; 1 means that no two GPUs do.

The node's agent writes the label if configured to do so.
"""

FREE_LINKED_LABEL = "podberth.io/free-linked-gpus"
"""The largest number of a node's free GPUs that share NVLink.

A number above 8 is rounded down to a power of two. The node's agent keeps the label current if configured to do so. The
label is for preferred terms only: a required term would keep pods off nodes whose agent is gone, and autoscalers cannot
know the label of a node to come.
"""

LIVE_LABELS = frozenset({FREE_LINKED_LABEL})
"""The labels of a node that its agent keeps current while the use of the node's GPUs changes."""

MANAGED_BY_LABEL = "app.kubernetes.io/managed-by"
MANAGED_BY = "podberth"
"""The label value that marks each object that the controller makes; the controller changes no object without this
value.
"""

NAMESPACE = "podberth-system"
"""The namespace of the webhook and of the topology ConfigMaps."""

EXEMPT_NAMESPACES = (
    "kube-system",
    "kube-node-lease",
    "kube-public",
    NAMESPACE,
    "podberth-agent",
    "gpu-operator",
    "nvidia-gpu-operator",
    "dra-driver-nvidia-gpu",
)
"""The namespaces whose objects are never reviewed, because each webhook's namespaceSelector excludes them.

The namespaceSelectors are in manifests/base. The last three namespaces hold NVIDIA's GPU operator, as Helm and as
OpenShift install it, and NVIDIA's DRA driver when it is installed separately.
"""

# ---- Kubernetes' own ------------------------------------------------------------------------------------------------
# https://kubernetes.io/docs/reference/labels-annotations-taints/
HOSTNAME_LABEL = "kubernetes.io/hostname"
JOB_COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"

PROTOBUF_PREFIX = b"k8s\x00"
"""The bytes before each protobuf message of the API server; no JSON begins with them."""
