"""Every label, annotation and name that podberth itself owns, or that Kubernetes fixes for everybody.

What differs between clusters and providers (resource names, topology level keys, taint keys) is configuration and
lives in ``conventions``. Nothing is computed here.
"""

API_VERSION = "podberth.io/v1alpha1"
POLICY_KIND = "GPUPolicy"

# ---- written by users -----------------------------------------------------------------------------------------------
GPU_MEMORY_ANNOTATION = "podberth.io/gpu-memory"
"""A pod's GPU memory need as a quantity, beside an ordinary GPU request: ``10Gi``."""

GANG_LABEL = "podberth.io/gang"
"""Names the gang a pod belongs to. A label, because pod affinity selects by it. Written by users and by podberth."""

GANG_SIZE_ANNOTATION = "podberth.io/gang-size"
"""How many pods the gang has, if no other field of the pod gives its size."""

GANG_ACCELERATED_ANNOTATION = "podberth.io/gang-accelerated"
"""How many of the pods of ``podberth.io/gang-size`` ask for accelerators, if not all do. Written by users and by
podberth. The gang's PodGroup holds these pods, without launchers and heads that ask for none."""

EXEMPT_LABEL = "podberth.io/exempt"
"""On a namespace, with any value: no review of its objects reaches podberth."""

# ---- written by podberth --------------------------------------------------------------------------------------------
COLOCATED_LABEL = "podberth.io/colocated"
"""Marks the members of a gang that prefer or require one domain; the value is the gang's name."""

GANG_SLICE_LABEL = "podberth.io/gang-slice"
"""The number of a pod's slice of its gang, if every slice prefers or requires a domain of its own."""

GANG_LEVEL_ANNOTATION = "podberth.io/gang-level"
"""The topology level on which the gang's PodGroup wants one domain: a node label key, read by the PodGroup's maker."""

GANG_LEVEL_MODE_ANNOTATION = "podberth.io/gang-level-mode"
"""Whether that level is ``required`` or ``preferred``."""

APPLIED_ANNOTATION = "podberth.io/applied"
"""The record of the fields that each policy wrote, as JSON (mutation/record.py)."""

NEEDS_EVERY_POD_ANNOTATION = "podberth.io/needs-every-pod"
"""On a GPUPolicy of scope All: `"false"` if the ordinary webhook entries already send the pods that it is about"""

TOPOLOGY_LABEL = "podberth.io/topology"
"""Marks a node's topology ConfigMap; the value is the document's schema version."""

LINK_SHAPE_LABEL = "podberth.io/link-shape"
"""On a node, written by its agent on request: ``full-mesh``, ``islands`` or ``none``."""

LINK_DOMAIN_LABEL = "podberth.io/link-domain-size"
"""On a node, written by its agent on request: the largest number of its GPUs that share NVLink; 1: no two do."""

MANAGED_BY_LABEL = "app.kubernetes.io/managed-by"
MANAGED_BY = "podberth"
"""On each object that the controller makes; it changes no object without this value."""

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
"""No review of objects in these namespaces reaches podberth, by the namespaceSelector of each webhook in
manifests/base.

The last three hold NVIDIA's GPU operator, as Helm and as OpenShift install it, and NVIDIA's DRA driver by itself."""

# ---- Kubernetes' own ------------------------------------------------------------------------------------------------
# https://kubernetes.io/docs/reference/labels-annotations-taints/
HOSTNAME_LABEL = "kubernetes.io/hostname"
JOB_COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
