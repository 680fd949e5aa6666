"""Who holds which GPU: the kubelet's devices on a node with three GPUs, the second of them cut."""

from podberth.devices.device_ids import parse_claimed_device, parse_device_id
from podberth.topology.node import Gpu, NodeTopology
from podberth.topology.usage import Allocation, GpuUsage, Grant, InstanceUsage, Look, Usage, allocate


def uuid(kind: str, number: int) -> str:
    return f"{kind}-00000000-0000-4000-8000-{number:012d}"


LOOK = Look(
    topology=NodeTopology(gpus=tuple(Gpu(index=index, uuid=uuid("GPU", index)) for index in range(3))),
    usage=Usage(
        gpus=(
            GpuUsage(index=0, minor=2),
            GpuUsage(
                index=1,
                minor=1,
                instances=tuple(
                    InstanceUsage(uuid=uuid("MIG", id_), gpu_instance=id_, profile="1g.10gb") for id_ in (7, 8)
                ),
            ),
            GpuUsage(index=2, minor=0),
        )
    ),
)


def grant(device_id: str, resource: str = "nvidia.com/gpu", pod: str = "p") -> Grant:
    return Grant(namespace="team", pod=pod, container="c", resource=resource, device=parse_device_id(device_id))


def held(*grants: Grant) -> Allocation:
    return allocate(grants, LOOK)


def test_a_gpu_by_its_uuid_whatever_the_resource_is_called() -> None:
    found = held(grant(uuid("GPU", 0), "example.com/fast-gpu"))
    assert [(holder.gpu, holder.mig_uuid, holder.pod) for holder in found.holders] == [(0, "", "p")]
    assert (found.held(0), found.held(1), found.held(2)) == (True, False, False)


def test_the_number_in_a_device_file_is_not_the_index() -> None:
    found = held(grant("nvidia0"), grant("nvidia2/vgpu1", "nvidia.com/gpu.shared"))
    assert {holder.gpu for holder in found.holders} == {2, 0}


def test_a_mig_device_is_held_and_its_gpu_with_it() -> None:
    for device_id in (uuid("MIG", 7), "nvidia1/gi7", f"MIG-{uuid('GPU', 1)}/7/0"):
        found = held(grant(device_id, "nvidia.com/mig-1g.10gb"))
        assert [(holder.gpu, holder.mig_uuid) for holder in found.holders] == [(1, uuid("MIG", 7))]
        assert found.held(1, uuid("MIG", 7)) is True
        assert found.held(1, uuid("MIG", 8)) is False
        assert found.held(1) is True


def test_several_pods_hold_one_gpu_and_one_may_hold_it_twice() -> None:
    gpu = uuid("GPU", 0)
    found = held(grant(f"{gpu}::0", pod="a"), grant(f"{gpu}::1", pod="a"), grant(f"{gpu}::2", pod="b"))
    assert {holder.pod: count for holder, count in found.holders.items()} == {"a": 2, "b": 1}


def test_a_claim_for_a_mig_device_names_only_its_gpu() -> None:
    device = parse_claimed_device("gpu.nvidia.com", "gpu-1-mig-1g10gb-19-4")
    found = held(Grant(namespace="n", pod="p", container="c", resource="gpu.nvidia.com", device=device))
    assert found.held(1) is True
    assert found.held(1, uuid("MIG", 7)) is None  # this one, or the other


def test_a_device_that_nobody_knows_makes_nothing_free() -> None:
    found = held(grant("what-is-this"), grant(uuid("GPU", 0)))
    assert (found.unmatched, found.held(0), found.held(1)) == (1, True, None)
    assert held(grant(uuid("GPU", 9))).unmatched == 1


def test_what_is_no_accelerator_is_passed_over() -> None:
    found = held(grant("mlx5_0", "nvidia.com/rdma-vf"), grant("nvidia0", "smarter-devices/nvidia0"))
    assert (dict(found.holders), found.unmatched) == ({}, 0)
