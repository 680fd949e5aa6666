"""The resource names of accelerators, and what each accelerator is: one table, with a source beside each row.

Recognition is by exact name, because a vendor's prefix proves nothing: ``nvidia.com/rdma-vf`` is a NIC, and
``nvidia.com/gpumem`` only modifies another request. Two documented families of names are open: the names of MIG
profiles, which ``devices.mig`` parses, and the implicit resource names of DeviceClasses, which count only for known GPU
classes.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

from . import mig

AcceleratorKind: TypeAlias = Literal["whole", "mig", "shared", "modifier", "nic", "passthrough"]
"""The kind of an accelerator resource: the meaning of one unit of the resource.

whole: a whole device. mig: a MIG instance. shared: a part of a device that is no MIG instance (a time-slice, a core, a
vNPU). modifier: no device, but a property of another request (memory, cores). nic: an RDMA or SR-IOV interface, no
accelerator. passthrough: a device for a virtual machine.
"""

COUNTED_KINDS: frozenset[AcceleratorKind] = frozenset({"whole", "mig", "shared"})
"""The kinds of accelerator resources whose amount is a number of devices, or of parts of devices."""


@dataclass(frozen=True, slots=True)
class Accelerator:
    """A known accelerator resource. ``profile`` is the MIG profile in canonical spelling (``1g.10gb+me``), or empty."""

    vendor: str
    kind: AcceleratorKind
    profile: str = ""


# https://github.com/NVIDIA/k8s-device-plugin README: the resource, and its name under renameByDefault
_NVIDIA: dict[str, AcceleratorKind] = {
    "nvidia.com/gpu": "whole",
    "nvidia.com/gpu.shared": "shared",
    # https://github.com/NVIDIA/kubevirt-gpu-device-plugin: a GPU given to a virtual machine, under a common name
    "nvidia.com/pgpu": "passthrough",
    # https://github.com/Mellanox/network-operator examples and the manifests of llm-d and Dynamo: Mellanox NICs
    "nvidia.com/rdma-vf": "nic",
    "nvidia.com/sriov-rdma-vf": "nic",
    "nvidia.com/mlnxnics": "nic",
    "nvidia.com/hostdev": "nic",
}

# https://instinct.docs.amd.com/projects/k8s-device-plugin: amd.com/gpu; under resource_naming_strategy=mixed a
# partitioned GPU's parts are named <compute>_<memory partitioning>, modes of
# https://instinct.docs.amd.com/projects/amdgpu-docs (gpu-partitioning). SPX is the whole GPU under a longer name.
_AMD: dict[str, AcceleratorKind] = {
    "amd.com/gpu": "whole",
    "amd.com/spx_nps1": "whole",
    **{f"amd.com/{part}_nps{memory}": "shared" for part in ("dpx", "qpx", "cpx") for memory in (1, 2, 4, 8)},
}

# https://intel.github.io/intel-device-plugins-for-kubernetes/cmd/gpu_plugin: one resource per kernel driver;
# *_monitoring gives every GPU of the node to a monitor and millicores, memory.max and tiles belong to its scheduler
# extension
_INTEL: dict[str, AcceleratorKind] = {
    "gpu.intel.com/i915": "whole",
    "gpu.intel.com/xe": "whole",
    "gpu.intel.com/i915_monitoring": "modifier",
    "gpu.intel.com/xe_monitoring": "modifier",
    "gpu.intel.com/millicores": "modifier",
    "gpu.intel.com/memory.max": "modifier",
    "gpu.intel.com/tiles": "modifier",
    # https://docs.habana.ai/en/latest/Installation_Guide/Additional_Installation/Kubernetes_Installation
    "habana.ai/gaudi": "whole",
}

# https://cloud.google.com/kubernetes-engine/docs/how-to/tpus: one unit is one chip
_GOOGLE: dict[str, AcceleratorKind] = {"google.com/tpu": "whole"}

# https://awsdocs-neuron.readthedocs-hosted.com/en/latest/containers/tutorials/k8s-neuron-device-plugin.html: neuron is
# a device with all its cores (neurondevice: its name up to v1.12 of the documentation), neuroncore one core. EFA:
# https://docs.aws.amazon.com/eks/latest/userguide/node-efa.html
_AWS: dict[str, AcceleratorKind] = {
    "aws.amazon.com/neuron": "whole",
    "aws.amazon.com/neurondevice": "whole",
    "aws.amazon.com/neuroncore": "shared",
    "vpc.amazonaws.com/efa": "nic",
}

# https://www.hiascend.com/document/detail/en/mindcluster (Ascend Device Plugin): whole NPUs, and static vNPUs by the
# number of AI cores
_HUAWEI: dict[str, AcceleratorKind] = {
    "huawei.com/Ascend310": "whole",
    "huawei.com/Ascend310P": "whole",
    "huawei.com/Ascend910": "whole",
    **{f"huawei.com/Ascend310P-{cores}c": "shared" for cores in (1, 2, 4)},
    **{f"huawei.com/Ascend910-{cores}c": "shared" for cores in (2, 4, 8, 16)},
}

MODIFIERS: dict[str, dict[str, str]] = {
    "aliyun": {
        "aliyun.com/gpu-mem": "nvidia",
        "aliyun.com/gpu-count": "nvidia",
        "aliyun.com/gpu-core.percentage": "nvidia",
    },
    # These resources modify the request for nvidia.com/gpu or metax-tech.com/sgpu beside them.
    "hami": {
        "nvidia.com/gpumem": "nvidia",
        "nvidia.com/gpumem-percentage": "nvidia",
        "nvidia.com/gpucores": "nvidia",
        "nvidia.com/priority": "nvidia",
        "metax-tech.com/vmemory": "metax",
        "metax-tech.com/vcore": "metax",
    },
    # 100 of koordinator.sh/gpu-core are one GPU.
    "koordinator": {
        "koordinator.sh/gpu-core": "nvidia",
        "koordinator.sh/gpu-memory": "nvidia",
        "koordinator.sh/gpu-memory-ratio": "nvidia",
        "koordinator.sh/gpu.shared": "nvidia",
    },
    "volcano-vgpu": {
        "volcano.sh/vgpu-number": "nvidia",
        "volcano.sh/vgpu-memory": "nvidia",
        "volcano.sh/vgpu-memory-percentage": "nvidia",
        "volcano.sh/vgpu-cores": "nvidia",
    },
}
"""The resources of sharing dialects that modify another request, or that only the dialect's scheduler counts.

The outer key is the dialect's name. A resource is mapped to the vendor of the device. The dialect's dossier takes the
resources from this table, and has the source.
"""

TABLE: dict[str, Accelerator] = {
    **{
        name: Accelerator(vendor, kind)
        for vendor, rows in (
            ("nvidia", _NVIDIA),
            ("amd", _AMD),
            ("intel", _INTEL),
            ("google", _GOOGLE),
            ("aws", _AWS),
            ("huawei", _HUAWEI),
        )
        for name, kind in rows.items()
    },
    **{name: Accelerator(vendor, "modifier") for rows in MODIFIERS.values() for name, vendor in rows.items()},
}
"""The accelerators that are recognised by the exact resource name."""

DEVICE_CLASSES: dict[str, Accelerator] = {
    # https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu deployments/helm templates/deviceclass-*.yaml. The
    # profile of a mig.nvidia.com device is chosen by selectors, not by the class. ComputeDomain and IMEX classes are no
    # devices to count.
    "gpu.nvidia.com": Accelerator("nvidia", "whole"),
    "mig.nvidia.com": Accelerator("nvidia", "mig"),
    "vfio.gpu.nvidia.com": Accelerator("nvidia", "passthrough"),
    # https://github.com/intel/intel-resource-drivers-for-kubernetes and https://github.com/ROCm/k8s-gpu-dra-driver
    "gpu.intel.com": Accelerator("intel", "whole"),
    "gaudi.intel.com": Accelerator("intel", "whole"),
    "gpu.amd.com": Accelerator("amd", "whole"),
}
"""The accelerators of DRA drivers, by the name of the DeviceClass."""

CHANNEL_CLASS = "compute-domain-default-channel.nvidia.com"
"""The DeviceClass of the IMEX channels that pods of a ComputeDomain claim (dra-driver-nvidia-gpu)."""

OTHER_CLASSES: frozenset[str] = frozenset(
    {
        # https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu deployments/helm templates/deviceclass-*.yaml
        CHANNEL_CLASS,
        "compute-domain-daemon.nvidia.com",
        # https://cloud.google.com/kubernetes-engine/docs/how-to/allocate-network-resources-dra: NICs
        "mrdma.google.com",
        "netdev.google.com",
    }
)
"""The names of DeviceClasses that never have accelerators, even if a DeviceClass object says otherwise."""

NVIDIA_GPU = "nvidia.com/gpu"
"""The resource of NVIDIA's device plugin: whole GPUs, or MIG instances or replicas under the same name."""

DEVICE_CLASS_PREFIX = "deviceclass.resource.kubernetes.io/"
"""The prefix of the extended resource by which a DeviceClass can be requested; the class' name follows (KEP-5004)."""

# The number of remembered names. Users write them. A cluster uses a few dozen, and invented ones only evict others.
_REMEMBERED = 1024
# The longest name of a resource: a DNS subdomain, a slash, a name (apimachinery pkg/util/validation IsQualifiedName).
# Webhooks see a pod before the API server checks its names, so a name may have a megabyte. Such a name is not kept.
_LONGEST_REMEMBERED = 253 + 1 + 63


def recognise(resource: str) -> Accelerator | None:
    """Return the accelerator that a resource name means; None for any other resource, such as cpu or memory."""
    return _remembered(resource) if len(resource) <= _LONGEST_REMEMBERED else _recognise(resource)


def _recognise(resource: str) -> Accelerator | None:
    if (known := TABLE.get(resource)) is not None:
        return known
    if resource.startswith(DEVICE_CLASS_PREFIX):
        return DEVICE_CLASSES.get(resource.removeprefix(DEVICE_CLASS_PREFIX))
    if resource.startswith(mig.RESOURCE_PREFIX):
        return _recognise_mig(resource)
    return None


_remembered = lru_cache(maxsize=_REMEMBERED)(_recognise)


def is_counted(resource: str) -> bool:
    """Return whether one unit of a resource is an accelerator, or a part of one."""
    known = recognise(resource)
    return known is not None and known.kind in COUNTED_KINDS


def _recognise_mig(resource: str) -> Accelerator:
    """Return the accelerator that a MIG resource name means.

    If the name cannot be parsed, the profile is the name as written.
    """
    name = resource.removesuffix(mig.SHARED_SUFFIX)
    try:
        profile = mig.parse(name).name
    except ValueError:
        profile = name.removeprefix(mig.RESOURCE_PREFIX)
    return Accelerator("nvidia", "shared" if name != resource else "mig", profile)
