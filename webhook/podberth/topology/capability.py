"""Computes the accelerators that a node offers to pods: amounts, memory, shares, link domains and MIG profiles.

If sources disagree, the source closest to the hardware is used: first the node agent's document, then the labels of GPU
feature discovery (GFD), then tables. A resource of unknown memory fits every pod. A node with unknown link domains fits
no pod that requires NVLink, because the pod's GPUs might not be linked there.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from ..devices import mig
from ..devices.mig_tables import MigTable
from ..devices.resources import COUNTED_KINDS, NVIDIA_GPU, Accelerator, recognise
from ..wellknown import LINK_DOMAIN_LABEL
from .node import MigOffer, Node, NodeTopology, Vendor

# https://github.com/NVIDIA/k8s-device-plugin docs/gpu-feature-discovery/README.md
_PRODUCT = "nvidia.com/gpu.product"
# https://github.com/ROCm/k8s-device-plugin cmd/k8s-node-labeller
_AMD_PRODUCTS = ("amd.com/gpu.product-name", "beta.amd.com/gpu.product-name")
_MEMORY = "nvidia.com/gpu.memory"
_STRATEGY = "nvidia.com/mig.strategy"
_REPLICAS = "nvidia.com/gpu.replicas"
_CLIQUE = "nvidia.com/gpu.clique"
# https://cloud.google.com/kubernetes-engine/docs/how-to/gpus-multi and .../timesharing-gpus: nvidia.com/gpu is a part
# of a GPU on such node pools. GKE's label for the GPU exists without NVIDIA's software.
_GKE_PARTITION = "cloud.google.com/gke-gpu-partition-size"
_GKE_SHARING = "cloud.google.com/gke-gpu-sharing-strategy"
_GKE_ACCELERATOR = "cloud.google.com/gke-accelerator"
_STRATEGIES = ("nvidia.com/gpu.sharing-strategy", _GKE_SHARING)
# GFD writes "none" where nothing is shared.
_SHARES = {"time-slicing": "time-sliced share", "time-sharing": "time-sliced share", "mps": "MPS share"}

# The resource name of a whole GPU in each vendor's device plugin.
_WHOLE: Mapping[Vendor, str] = {"nvidia": NVIDIA_GPU, "amd": "amd.com/gpu"}

# CEL's int has 64 bits (cel-spec, langdef, "Values").
_MOST_DIGITS = 18

# Products whose machines of that many GPUs link all of them with NVLink: HGX boards have NVSwitch (8 SXM modules), a
# GB200 or GB300 compute tray has 4 GPUs of a rack-wide domain. NVIDIA/k8s-test-infra profiles; MLCommons' GB200 system
# description. A smaller count may be a virtual machine without NVSwitch, so it proves nothing.
_FULL_MESH: Mapping[str, int] = {
    "NVIDIA-A100-SXM4-40GB": 8,
    "NVIDIA-A100-SXM4-80GB": 8,
    "NVIDIA-H100-80GB-HBM3": 8,
    "NVIDIA-H200": 8,
    "NVIDIA-B200": 8,
    "NVIDIA-B300-SXM6-AC": 8,
    "NVIDIA-GB200": 4,
    "NVIDIA-GB300": 4,
    # An OAM platform has eight modules, each linked with the seven others by Infinity Fabric (AMD's datasheets).
    "AMD_Instinct_MI300X_OAM": 8,
    "AMD_Instinct_MI325X_OAM": 8,
    "AMD_Instinct_MI350X_OAM": 8,
    "AMD_Instinct_MI355X_OAM": 8,
}
# Boards without an NVLink connector: NVIDIA's datasheets name PCIe as their only interconnect.
_NO_LINKS: frozenset[str] = frozenset(
    {"Tesla-T4", "NVIDIA-A2", "NVIDIA-A10", "NVIDIA-A10G", "NVIDIA-A16", "NVIDIA-L4", "NVIDIA-L40", "NVIDIA-L40S"}
)
# The label is written only once the GPUs have registered with the fabric (k8s-device-plugin internal/lm/imex.go).
_NEEDS_FABRIC: frozenset[str] = frozenset({"NVIDIA-GB200", "NVIDIA-GB300"})


@dataclass(frozen=True, slots=True)
class Capability:
    """The accelerators that a node offers, for each resource.

    Two nodes with equal offers have equal capabilities. The tuples are sorted by resource name. For fast look-ups,
    ``amount_of``, ``memory_of`` and ``domain_of`` have the content of three of the tuples as mappings.
    """

    amounts: tuple[tuple[str, int], ...] = ()
    """The amount of each resource that the node offers when the node is healthy."""
    memory: tuple[tuple[str, int], ...] = ()
    """MiB of one unit of each resource; the least, if units differ. A resource of unknown memory is left out."""
    domains: tuple[tuple[str, int], ...] = ()
    """The most units of each resource in one NVLink or XGMI domain; a resource without a known domain is left out."""
    shares: tuple[str, ...] = ()
    """The resources of which one unit is a part of a device that other pods use too (time-slicing or MPS)."""
    instance: str = ""
    """The MIG profile of one unit of ``nvidia.com/gpu``; empty: one unit is a GPU, or the profile is unknown."""
    models: tuple[MigTable, ...] = ()
    """The MIG profiles of the node's GPU models, one table for each model, whether or not the GPUs are partitioned.

    A profile that the node itself reports replaces the profile in ``devices.mig_tables``.
    """
    cut: bool = False
    """Whether one unit of ``nvidia.com/gpu`` on the node is a MIG instance or a replica (time-slicing, MPS)."""
    cards: int = 0
    """The number of GPUs, if the node has more units of ``nvidia.com/gpu``, each of them a share; 0: unknown, or no
    more than units.
    """
    links_known: bool = False
    """Whether the links of all GPUs are known; if not, ``domains`` may lack some."""
    accelerators: bool = False
    """Whether the node is known to have accelerators, even if DRA offers the accelerators and no resource does."""
    amount_of: Mapping[str, int] = field(init=False, repr=False, compare=False)
    memory_of: Mapping[str, int] = field(init=False, repr=False, compare=False)
    domain_of: Mapping[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "amount_of", dict(self.amounts))
        object.__setattr__(self, "memory_of", dict(self.memory))
        object.__setattr__(self, "domain_of", dict(self.domains))


def capability_of(node: Node) -> Capability:
    """Return the accelerators that a node offers, from the node's topology document, labels and resources."""
    amounts = sorted((name, amount) for name, amount in node.durable.items() if amount > 0)
    memory, domains = [], []
    whole = _WHOLE[_vendor(node)]
    linked = None if _is_partitioned(node) else _link_domain(node, node.durable.get(whole, 0))
    for name, amount in amounts:
        accelerator = recognise(name)
        if accelerator is None:
            continue
        if size := _memory_mib(node, name, accelerator):
            memory.append((name, size))
        if name == whole and (most := min(amount, linked or 1)) > 1:
            domains.append((name, most))
    if not amounts and (linked or 1) > 1:
        domains.append((whole, linked or 1))  # DRA alone offers the GPUs, and a DeviceClass may serve their resource
    shares = tuple(name for name, _ in amounts if is_share(node.labels, name))
    return _shared(
        Capability(
            tuple(amounts),
            tuple(memory),
            tuple(domains),
            shares=shares,
            instance=_slice_profile(node) if node.durable.get(NVIDIA_GPU) and _is_slice(node) else "",
            models=_models(node),
            cut=_is_slice(node) or _is_shared(node.labels),
            cards=_cards(node),
            links_known=linked is not None,
            accelerators=_has_accelerators(node),
        )
    )


def _cards(node: Node) -> int:
    gpus = node.topology.gpus if node.topology is not None else ()
    whole = [gpu for gpu in gpus if gpu.vendor == "nvidia" and not gpu.mig_enabled]
    return len(gpus) if len(whole) == len(gpus) < node.durable.get(NVIDIA_GPU, 0) else 0


@lru_cache(maxsize=4096)
def _shared(capability: Capability) -> Capability:
    """Return the first of all equal capabilities that this function was called with.

    Equal nodes then share one object.
    """
    return capability


def gpu_memory_mib(labels: Mapping[str, str], capability: Capability) -> dict[str, int]:
    """Return a mapping from each GPU product name in a node's labels to the memory of a whole GPU in MiB.

    The mapping is empty if the memory is unknown, or if one unit of ``nvidia.com/gpu`` is less than a whole GPU.
    """
    memory = 0 if capability.cut else capability.memory_of.get(NVIDIA_GPU, 0)
    return {labels[key]: memory for key in (_PRODUCT, _GKE_ACCELERATOR) if memory and key in labels}


def _vendor(node: Node) -> Vendor:
    """Return the vendor of the node's GPUs, from the node's document, else from the node's resources.

    All GPUs of a node are from one vendor.
    """
    if node.topology is not None and node.topology.gpus:
        return node.topology.gpus[0].vendor
    return "amd" if _WHOLE["amd"] in node.durable else "nvidia"


def _memory_mib(node: Node, resource: str, accelerator: Accelerator) -> int:
    """Return the GPU memory of one unit of a node's resource in MiB; 0 if unknown.

    ``accelerator`` is what the resource's name says: the vendor, and the MIG profile if it is a MIG instance.
    """
    if resource == _WHOLE["amd"]:
        return 0 if _is_partitioned(node) else _least_memory(node)
    if accelerator.vendor != "nvidia":
        return 0
    if accelerator.profile:
        base = resource.removesuffix(mig.SHARED_SUFFIX)
        return _profile_memory(node, accelerator.profile, _number(node.labels.get(f"{base}.memory", "")))
    if resource not in {NVIDIA_GPU, f"{NVIDIA_GPU}{mig.SHARED_SUFFIX}"}:
        return 0
    labelled = _number(node.labels.get(_MEMORY, ""))
    if _is_slice(node):
        # Under strategy single GFD describes the instance. Where it does not know MIG, it describes the whole GPU.
        labelled = labelled if "-MIG-" in node.labels.get(_PRODUCT, "") else 0
        profile = _slice_profile(node)
        return _profile_memory(node, profile, labelled) if profile else labelled
    return _least_memory(node) or labelled


def _least_memory(node: Node) -> int:
    """Return the MiB of the smallest unpartitioned GPU in the node's document; 0 if any GPU's memory is unknown."""
    sizes = [gpu.memory_mib for gpu in node.topology.gpus if not gpu.mig_enabled] if node.topology else []
    return min(sizes) if sizes and all(sizes) else 0


def _profile_memory(node: Node, profile: str, labelled: int) -> int:
    """Return the MiB of the MIG profile ``profile`` on a node; 0 if that is no known profile.

    ``labelled`` is the memory in GFD's label; 0 if there is no such label.
    """
    listed = [o.memory_mib for o in (node.topology.mig_offers if node.topology else ()) if o.profile == profile]
    if listed and all(listed):
        return min(listed)
    cut = [gpu for gpu in node.topology.gpus if gpu.mig_enabled] if node.topology else []
    models = {(gpu.product, gpu.pci_id) for gpu in cut} or {(product_of(node), "")}
    return labelled or min(mig.memory_mib(profile, mig.table_for(product, pci_id)) for product, pci_id in models)


def _models(node: Node) -> tuple[MigTable, ...]:
    gpus, offers = (node.topology.gpus, node.topology.mig_offers) if node.topology else ((), ())
    found: set[MigTable] = set()
    for product, pci_id in {(gpu.product, gpu.pci_id) for gpu in gpus} or {(product_of(node), "")}:
        live = live_table(product, pci_id, offers)
        if live is not None:
            found.add(live)
    return tuple(sorted(found, key=lambda each: (each.name, sorted(each.rows))))


def live_table(product: str, pci_id: str, offers: Iterable[MigOffer]) -> MigTable | None:
    """Return the MIG profiles of a GPU model; ``offers``, which the node reports, take precedence over known tables.

    None if neither the node nor a table has profiles of the model.
    """
    table = mig.table_for(product, pci_id)
    own = tuple((o.profile, o.max_instances, o.memory_mib) for o in offers if o.pci_id in {"", pci_id})
    return mig.live_table(table.name if table else product, own, table)


def _has_accelerators(node: Node) -> bool:
    if product_of(node) or (node.topology is not None and node.topology.gpus):
        return True
    found = map(recognise, node.durable)
    return any(each is not None and each.kind in COUNTED_KINDS for each in found)


def product_of(node: Node) -> str:
    """Return the product name of the node's GPUs from GFD's or GKE's label; empty if the node has neither label."""
    return node.labels.get(_PRODUCT) or node.labels.get(_GKE_ACCELERATOR, "")


def _link_domain(node: Node, amount: int) -> int | None:
    """Return the number of whole GPUs in the largest NVLink or XGMI domain; 1 if none are linked, None if unknown.

    ``amount`` is the number of whole GPUs of the node.
    """
    if _is_slice(node) or _is_shared(node.labels):
        return 1  # MIG instances and replicas have no peer-to-peer (MIG user guide, deployment considerations)
    if node.topology is not None and node.topology.links.shape != "unknown":
        return _largest_domain(node.topology)
    # The node agent's label, where its document is missing, or an administrator's where there is no agent.
    if size := _number(node.labels.get(LINK_DOMAIN_LABEL, "")):
        return size
    product = next((node.labels[key] for key in (_PRODUCT, *_AMD_PRODUCTS) if key in node.labels), "")
    if product in _NO_LINKS:
        return 1
    if _FULL_MESH.get(product) != amount or (product in _NEEDS_FABRIC and not node.labels.get(_CLIQUE)):
        return None
    return amount


def _largest_domain(topology: NodeTopology) -> int:
    whole = {gpu.index for gpu in topology.gpus if not gpu.mig_enabled}
    return max((len(whole.intersection(domain)) for domain in topology.links.domains), default=1)


def _is_partitioned(node: Node) -> bool:
    """Return whether one unit of ``amd.com/gpu`` is a part of a GPU: the node offers more units than it has GPUs.

    The device plugin offers parts of GPUs under this name if its resource_naming_strategy is single. It is unknown
    which units belong to one GPU.
    """
    gpus = node.topology.gpus if node.topology else ()
    return bool(gpus) and node.durable.get(_WHOLE["amd"], 0) > len(gpus)


def _is_slice(node: Node) -> bool:
    """Return whether one unit of ``nvidia.com/gpu`` is a MIG instance: MIG strategy single, or a partitioned GKE pool.

    If the node has a topology document, the result is whether all GPUs in the document are in MIG mode. Only strategy
    single offers GPUs in MIG mode as ``nvidia.com/gpu``: strategy none does not offer them, and strategy mixed offers
    them under other names.
    """
    if node.topology is not None and node.topology.gpus:
        return all(gpu.mig_enabled for gpu in node.topology.gpus)
    single = node.labels.get(_STRATEGY) == "single" and "-MIG-" in node.labels.get(_PRODUCT, "")
    return single or bool(node.labels.get(_GKE_PARTITION))


def _slice_profile(node: Node) -> str:
    """Return the MIG profile of one unit of ``nvidia.com/gpu``; empty if unknown, or if there are several profiles."""
    instances = {one.profile for one in node.topology.mig_instances} if node.topology else set()
    if instances:
        return instances.pop() if len(instances) == 1 else ""
    try:
        return mig.profile_in(node.labels.get(_PRODUCT, "")) or mig.parse(node.labels.get(_GKE_PARTITION, "")).name
    except ValueError:
        return ""


def is_share(labels: Mapping[str, str], resource: str) -> bool:
    """Return whether one unit of a resource is a share of a device on a node with ``labels`` (time-slicing or MPS)."""
    accelerator = recognise(resource)
    if accelerator is None or accelerator.vendor != "nvidia":
        return False
    if accelerator.kind == "mig":
        return _number(labels.get(f"{resource}.replicas", "")) > 1
    return accelerator.kind == "shared" or (resource == NVIDIA_GPU and _is_shared(labels))


def share_of(labels: Mapping[str, str]) -> str:
    """Return the meaning of a share of a GPU on a node with ``labels``: ``MPS share``; ``share`` if unknown."""
    strategy = next((labels[key] for key in _STRATEGIES if key in labels), "")
    return _SHARES.get(strategy, "share")


def _is_shared(labels: Mapping[str, str]) -> bool:
    """Return whether one unit of ``nvidia.com/gpu`` is a replica (time-slicing or MPS) under the GPU's own name."""
    replicated = _number(labels.get(_REPLICAS, "")) > 1
    return replicated or labels.get(_PRODUCT, "").endswith("-SHARED") or bool(labels.get(_GKE_SHARING))


def _number(text: str) -> int:
    """Return the number in a label's value; 0 if the value is no number, or does not fit into CEL's int."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else 0
