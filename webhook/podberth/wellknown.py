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
"""How many pods the gang has, where nothing on the pod says so."""

GANG_ACCELERATED_ANNOTATION = "podberth.io/gang-accelerated"
"""How many of the pods of ``podberth.io/gang-size`` ask for accelerators, where not all do. Written by users and by
podberth; the gang's PodGroup is of these, and launchers and heads without are outside it."""

EXEMPT_LABEL = "podberth.io/exempt"
"""On a namespace, whatever its value: no review of what is in it reaches podberth."""

# ---- written by podberth --------------------------------------------------------------------------------------------
COLOCATED_LABEL = "podberth.io/colocated"
"""Marks the members of a gang that are drawn to one domain; the value is the gang's name."""

GANG_SLICE_LABEL = "podberth.io/gang-slice"
"""Which slice of its gang a pod is in, where every so many members are drawn to one domain; the value is its number."""

GANG_LEVEL_ANNOTATION = "podberth.io/gang-level"
"""On which topology level the gang's PodGroup is to be in one domain: a node label key, for who makes the PodGroup."""

GANG_LEVEL_MODE_ANNOTATION = "podberth.io/gang-level-mode"
"""Whether that is ``required`` or ``preferred``."""

APPLIED_ANNOTATION = "podberth.io/applied"
"""The record: which policies wrote what, as JSON (mutation/record.py)."""

NEEDS_EVERY_POD_ANNOTATION = "podberth.io/needs-every-pod"
"""On a GPUPolicy of scope All: `"false"` where the pods that it is about are sent by the ordinary webhook entries"""

TOPOLOGY_LABEL = "podberth.io/topology"
"""Marks a node's topology ConfigMap; the value is the document's schema version."""

LINK_SHAPE_LABEL = "podberth.io/link-shape"
"""On a node, by its agent if asked to: ``full-mesh``, ``islands`` or ``none``."""

LINK_DOMAIN_LABEL = "podberth.io/link-domain-size"
"""Likewise: how many GPUs of the node share NVLink at the most; 1: none do."""

MANAGED_BY_LABEL = "app.kubernetes.io/managed-by"
MANAGED_BY = "podberth"
"""On what the controller makes; it writes nothing that has not this value."""

NAMESPACE = "podberth-system"
"""Where the webhook and the topology ConfigMaps live."""

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
"""No review of what is in these reaches podberth: the namespaceSelector of each webhook in manifests/base says so.

The last three have NVIDIA's GPU operator, as Helm and as OpenShift install it, and its DRA driver by itself."""

# ---- Kubernetes' own ------------------------------------------------------------------------------------------------
# https://kubernetes.io/docs/reference/labels-annotations-taints/
HOSTNAME_LABEL = "kubernetes.io/hostname"
JOB_COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
