"""Whatever a reader of accelerators may see, for property tests."""

from hypothesis import strategies as st

from podberth.topology.node import Unseen
from podberth.topology.observation import (
    Health,
    Observation,
    ObservedFabric,
    ObservedGpu,
    ObservedInstance,
    ObservedLink,
    ObservedPair,
    ObservedPlatform,
    ObservedProfile,
    PciPlace,
)

ADDRESSES = [f"0000:{bus:02x}:00.0" for bus in range(8)]
TEXTS = st.one_of(st.text(max_size=4), st.sampled_from(["x" * 200, "two\nlines"]))
NAMES = st.one_of(st.sampled_from(["MIG 1g.5gb", "NVIDIA A100 MIG 1c.3g.20gb", "MIG 1g.10gb+me", "MIG nothing"]), TEXTS)
BYTES = st.integers(0, 255)

links = st.builds(
    ObservedLink, peer=st.sampled_from(["gpu", "switch", "other"]), address=st.sampled_from(["", *ADDRESSES])
)
places = st.builds(
    PciPlace,
    numa_node=st.one_of(st.none(), st.integers(0, 7)),
    path=st.lists(st.sampled_from(["pci0000:00", "pci0000:40", "a", "b"]), max_size=5).map(tuple),
)
fabrics = st.builds(
    ObservedFabric,
    state=st.integers(0, 4),
    status=st.sampled_from([0, 0, 15]),
    cluster_uuid=st.sampled_from([bytes(16), b"\1" * 16, b"\2" * 16]),
    clique=st.integers(0, 3),
    unhealthy=st.booleans(),
)
health = st.builds(
    Health,
    faults=st.lists(TEXTS, max_size=3).map(tuple),
    recovery_action=st.one_of(st.none(), st.integers(0, 9)),
    remap=st.one_of(st.none(), st.tuples(st.booleans(), st.booleans())),
    unrepairable_memory=st.one_of(st.none(), st.booleans()),
    uncorrectable_errors=st.one_of(st.none(), st.integers(0, 2**63)),
    xids=st.lists(st.integers(1, 200), max_size=16, unique=True).map(tuple),
)
gpus = st.builds(
    ObservedGpu,
    index=st.integers(0, 7),
    vendor=st.sampled_from(["nvidia", "amd"]),
    uuid=TEXTS,
    product=TEXTS,
    address=st.sampled_from(["", *ADDRESSES]),
    pci_id=st.sampled_from(["", "2330", "20B0"]),
    memory_mib=st.integers(0, 300_000),
    mig_mode=st.one_of(st.none(), st.tuples(st.booleans(), st.booleans())),
    profiles=st.lists(
        st.builds(ObservedProfile, name=NAMES, instances=st.integers(0, 7), memory_mib=st.integers(0, 300_000)),
        max_size=3,
    ).map(tuple),
    instances=st.lists(
        st.builds(
            ObservedInstance,
            id=st.integers(0, 15),
            name=NAMES,
            placement=st.one_of(st.none(), st.tuples(st.integers(0, 7), st.integers(1, 8))),
        ),
        max_size=4,
    ).map(tuple),
    links=st.one_of(st.none(), st.lists(links, max_size=8).map(tuple)),
    fabric=st.one_of(st.none(), fabrics),
    platform=st.one_of(
        st.none(),
        st.builds(ObservedPlatform, chassis=st.binary(min_size=16, max_size=16), slot=BYTES, tray=BYTES, host=BYTES),
    ),
    health=health,
)
observations = st.builds(
    Observation,
    gpus=st.lists(gpus, max_size=8, unique_by=lambda gpu: gpu.index).map(tuple),
    pairs=st.dictionaries(
        st.tuples(st.integers(0, 7), st.integers(0, 7)).filter(lambda pair: pair[0] < pair[1]),
        st.builds(
            ObservedPair,
            level=st.one_of(st.none(), st.sampled_from([0, 10, 20, 30, 40, 50, 60])),
            linked=st.one_of(st.none(), st.booleans()),
        ),
    ),
    places=st.dictionaries(st.sampled_from(ADDRESSES), places),
    unseen=st.lists(
        st.builds(Unseen, what=TEXTS, why=TEXTS, gpus=st.lists(st.integers(0, 7), max_size=3).map(tuple))
    ).map(tuple),
)
