"""Whatever a device plugin makes up is an id or none, and what is held is counted once: as a holder, or unmatched."""

from hypothesis import given
from hypothesis import strategies as st

from podberth.devices.device_ids import DeviceName, parse_claimed_device, parse_device_id
from podberth.topology.node import Gpu, NodeTopology
from podberth.topology.usage import GpuUsage, Grant, InstanceUsage, Look, Usage, allocate

GPU_UUID, MIG_UUID = (f"{kind}-00000000-0000-4000-8000-000000000000" for kind in ("GPU", "MIG"))
PIECES = st.sampled_from(
    [GPU_UUID, MIG_UUID, "MIG-", "nvidia", "0", "1", "9" * 20, "/gi", "/vgpu", "::", "-", "-slice-", "0000:19:00.", "٣"]
)
IDS = st.one_of(st.text(), st.lists(PIECES, max_size=5).map("".join))
RESOURCES = st.sampled_from(
    ["nvidia.com/gpu", "nvidia.com/mig-1g.10gb", "amd.com/gpu", "gpu.nvidia.com", "x/nic", "cpu"]
)
LOOK = Look(
    topology=NodeTopology(gpus=(Gpu(index=0, uuid=GPU_UUID), Gpu(index=1))),
    usage=Usage(
        gpus=(
            GpuUsage(index=0, minor=1, instances=(InstanceUsage(uuid=MIG_UUID, gpu_instance=1, profile="1g.10gb"),)),
            GpuUsage(index=1, address="0000:19:00.0"),
        )
    ),
)


@given(IDS)
def test_any_text_is_an_id_or_none(device_id: str) -> None:
    for name in (parse_device_id(device_id), parse_claimed_device("gpu.nvidia.com", device_id)):
        assert name is None or isinstance(name, DeviceName)


@given(st.lists(st.tuples(RESOURCES, IDS), max_size=8))
def test_what_is_held_is_counted_once(held: list[tuple[str, str]]) -> None:
    grants = [
        Grant(namespace="a", pod="b", container="c", resource=resource, device=parse_device_id(device_id))
        for resource, device_id in held
    ]
    found = allocate(grants, LOOK)
    assert sum(found.holders.values()) + found.unmatched <= len(grants)
    assert {holder.gpu for holder in found.holders} <= {0, 1}
    for gpu in (0, 1):
        assert (found.held(gpu) is True) == any(holder.gpu == gpu for holder in found.holders)
        assert found.held(gpu) is not False or not found.unmatched
