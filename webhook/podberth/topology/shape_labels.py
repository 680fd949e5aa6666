"""Makes the labels of a simulated machine, as the kubelet, the GPU vendor's software and the cloud would set them."""

from collections.abc import Mapping

from ..devices import mig
from ..wellknown import HOSTNAME_LABEL
from .shape_tables import Provider, Shape

_TIMESTAMP = "1767225600"  # 2026-01-01T00:00:00Z, as GFD writes it


# The format of a driver, a runtime and their labels; nothing depends on the numbers.
_DRIVER = {"full": "580.105.08", "major": "580", "minor": "105", "revision": "08"}
_RUNTIME = {"full": "13.0", "major": "13", "minor": "0"}

_ZONES: Mapping[Provider, tuple[str, str]] = {
    "aks": ("eastus2", "eastus2-1"),
    "bare": ("lab", "lab-a"),
    "eks": ("us-east-1", "us-east-1a"),
    "gke": ("us-central1", "us-central1-a"),
}


def mig_strategy(row: Shape) -> str:
    """Return the MIG strategy of a simulated machine.

    ``none``: no GPU has MIG. ``single``: all GPUs have one profile. ``mixed``: any other machine. Source:
    k8s-device-plugin internal/rm/rm.go.
    """
    if not row.cut:
        return "none"
    return "single" if len(row.cut) == 1 and not row.whole else "mixed"


def platform_labels(row: Shape, name: str, provider: Provider) -> dict[str, str]:
    """Return the labels that the kubelet and the cloud's controller set on any node."""
    region, zone = _ZONES[provider]
    labels = {
        "kubernetes.io/arch": row.arch,
        "kubernetes.io/os": "linux",
        HOSTNAME_LABEL: name,
        "topology.kubernetes.io/region": region,
        "topology.kubernetes.io/zone": zone,
    }
    if provider != "bare":
        labels["node.kubernetes.io/instance-type"] = row.instance_types[provider]
    return labels


def vendor_labels(row: Shape, provider: Provider) -> dict[str, str]:
    """Return the labels that the GPU vendor's own software sets for the GPUs."""
    return _amd_labels(row) if row.model.vendor == "amd" else _gfd_labels(row, provider)


def _amd_labels(row: Shape) -> dict[str, str]:
    """Return the labels of AMD's node labeller (ROCm/k8s-device-plugin cmd/k8s-node-labeller).

    Memory is in whole GiB.
    """
    values = {
        "device-id": row.model.pci_id.lower(),
        "family": row.model.family,
        "product-name": row.model.product.replace(" ", "_"),
        "vram": f"{-(-row.model.memory_mib // 1024)}G",
    }
    return {f"amd.com/gpu.{key}": value for key, value in values.items()}


def _gfd_labels(row: Shape, provider: Provider) -> dict[str, str]:
    """Return GPU feature discovery's labels (k8s-device-plugin docs/gpu-feature-discovery/README.md)."""
    model, strategy = row.model, mig_strategy(row)
    product = model.product.replace(" ", "-")
    # GFD's machine is the DMI product name: a cloud's own, or the server's.
    machine = {"aks": "Virtual-Machine", "gke": "Google-Compute-Engine"}.get(provider, row.instance_types[provider])
    values = {
        **{f"cuda.driver-version.{part}": value for part, value in _DRIVER.items()},
        **{f"cuda.runtime-version.{part}": value for part, value in _RUNTIME.items()},
        "gfd.timestamp": _TIMESTAMP,
        "gpu.compute.major": str(model.compute[0]),
        "gpu.compute.minor": str(model.compute[1]),
        "gpu.count": str(row.gpus),
        "gpu.family": model.family,
        "gpu.machine": machine,
        "gpu.memory": str(model.memory_mib),
        "gpu.mode": "compute",
        "gpu.present": "true",
        "gpu.product": product if row.replicas == 1 else f"{product}-SHARED",
        "gpu.replicas": str(row.replicas),
        "gpu.sharing-strategy": "none" if row.replicas == 1 else "time-slicing",
        "mig.capable": str(model.mig_capable).lower(),
        "mps.capable": "false",
    }
    if strategy != "none":
        values |= {"mig.strategy": strategy, "mig.config.state": "success"}
        values |= _single_labels(row, product) if strategy == "single" else _mixed_labels(row, product)
    return {f"nvidia.com/{key}": value for key, value in values.items()}


def _single_labels(row: Shape, product: str) -> dict[str, str]:
    """Return GFD's labels under MIG strategy single. They describe the only MIG profile instead of the GPU."""
    ((profile, count),) = row.cut.items()
    part = mig.parse(profile)
    return {
        "mig.config": f"all-{profile}",
        "gpu.count": str(row.gpus * count),
        "gpu.memory": str(_profile_memory(row, profile)),
        "gpu.product": f"{product}-MIG-{profile}",
        "gpu.slices.gi": str(part.slices),
        "gpu.slices.ci": str(part.slices),
    }


def _mixed_labels(row: Shape, product: str) -> dict[str, str]:
    """Return GFD's labels under MIG strategy mixed.

    They describe each MIG profile with labels under the profile's own prefix.
    """
    labels = {"mig.config": "custom"}
    for profile, count in row.cut.items():
        part = mig.parse(profile)
        prefix = part.resource.removeprefix("nvidia.com/")
        labels |= {
            f"{prefix}.count": str((row.gpus - row.whole) * count),
            f"{prefix}.memory": str(_profile_memory(row, profile)),
            f"{prefix}.product": f"{product}-MIG-{profile}",
            f"{prefix}.replicas": "1",
            f"{prefix}.sharing-strategy": "none",
            f"{prefix}.slices.gi": str(part.slices),
            f"{prefix}.slices.ci": str(part.slices),
        }
    return labels


def cloud_labels(row: Shape, provider: Provider) -> dict[str, str]:
    """Return the labels that the cloud provider sets for the GPUs, without any software of NVIDIA."""
    count = str(row.gpus)
    if provider == "gke":
        labels = {
            "cloud.google.com/gke-accelerator": row.model.gke,
            "cloud.google.com/gke-accelerator-count": count,
            "cloud.google.com/gke-nodepool": f"pool-{row.instance_types['gke']}",
        }
        if mig_strategy(row) == "single":
            labels["cloud.google.com/gke-gpu-partition-size"] = next(iter(row.cut))
        if row.replicas > 1:
            labels["cloud.google.com/gke-gpu-sharing-strategy"] = "time-sharing"
            labels["cloud.google.com/gke-max-shared-clients-per-gpu"] = str(row.replicas)
        return labels
    if provider == "eks":
        return {
            "karpenter.k8s.aws/instance-gpu-manufacturer": "nvidia",
            "karpenter.k8s.aws/instance-gpu-name": row.model.karpenter,
            "karpenter.k8s.aws/instance-gpu-count": count,
        }
    # Only on pools with NVIDIA's GPUs, as far as AKS' documentation says.
    return {"kubernetes.azure.com/accelerator": "nvidia"} if (provider, row.model.vendor) == ("aks", "nvidia") else {}


def _profile_memory(row: Shape, profile: str) -> int:
    return mig.memory_mib(profile, mig.table_for(row.model.product, row.model.pci_id))
