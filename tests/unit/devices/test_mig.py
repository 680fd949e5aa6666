import pytest

from podberth.devices import mig
from podberth.devices.mig_tables import TABLES

A100_40 = mig.table_for("NVIDIA A100-SXM4-40GB")


@pytest.mark.parametrize(
    ("spelled", "name", "resource"),
    [
        ("1g.5gb", "1g.5gb", "nvidia.com/mig-1g.5gb"),
        ("nvidia.com/mig-1g.10gb.me", "1g.10gb+me", "nvidia.com/mig-1g.10gb.me"),
        ("1g.10gb+me", "1g.10gb+me", "nvidia.com/mig-1g.10gb.me"),
        ("mig-1g.24gb.gfx", "1g.24gb+gfx", "nvidia.com/mig-1g.24gb.gfx"),
        ("1g.24gb+me.all", "1g.24gb+me.all", "nvidia.com/mig-1g.24gb.me.all"),
        ("nvidia.com/mig-2g.48gb.me.all", "2g.48gb+me.all", "nvidia.com/mig-2g.48gb.me.all"),
        ("1g.24gb-me", "1g.24gb-me", "nvidia.com/mig-1g.24gb-me"),
        ("MIG 7g.141gb", "7g.141gb", "nvidia.com/mig-7g.141gb"),
        ("3c.3g.20gb", "3g.20gb", "nvidia.com/mig-3g.20gb"),
        ("nvidia.com/mig-1g.5gb.shared", "1g.5gb", "nvidia.com/mig-1g.5gb"),
        ("nvidia.com/mig-1g.10gb.me.shared", "1g.10gb+me", "nvidia.com/mig-1g.10gb.me"),
        ("1g.0gb+gfx", "1g.0gb+gfx", "nvidia.com/mig-1g.0gb.gfx"),
    ],
)
def test_the_grammar_reads_every_spelling_and_writes_one(spelled: str, name: str, resource: str) -> None:
    profile = mig.parse(spelled)
    assert profile.name == name
    assert profile.resource == resource
    assert mig.parse(profile.resource) == profile


@pytest.mark.parametrize("profile", sorted({name for table in TABLES for name in table.rows}))
def test_every_profile_of_the_tables_survives_the_way_to_a_resource_and_back(profile: str) -> None:
    assert mig.parse(mig.parse(profile).resource).name == profile
    assert mig.known(profile)


@pytest.mark.parametrize(
    "name",
    ["", "gpu", "1g", "1g.5gb.", "0g.5gb", "1g.05gb", "1g.5gb+", "1g.5gb+1me", "1g.5gb+me-gfx", "1G.5GB", "4c.3g.20gb"],
)
def test_a_name_that_is_no_profile_is_refused_with_an_example(name: str) -> None:
    with pytest.raises(ValueError, match="MIG profile"):
        mig.parse(name)


def test_a_huge_name_is_not_read() -> None:
    with pytest.raises(ValueError, match="MIG profile"):
        mig.parse("1g.5gb+" + "a" * 100_000)


def test_a_split_compute_instance_is_read_but_is_no_resource() -> None:
    profile = mig.parse("1c.3g.20gb")
    assert (profile.compute, profile.slices, profile.name) == (1, 3, "1c.3g.20gb")
    with pytest.raises(ValueError, match=r"ask for 3g\.20gb"):
        _ = profile.resource


def test_a_model_is_found_by_pci_id_before_its_name() -> None:
    by_id = mig.table_for("a board that reports something else", "233b")
    assert by_id is mig.table_for("NVIDIA H200")
    assert mig.table_for("NVIDIA L4") is None
    assert mig.table_for("nvidia-h200-141gb") is mig.table_for("NVIDIA H200")  # GKE's word
    assert mig.table_for("") is None


def test_no_pci_id_or_product_is_in_two_tables() -> None:
    ids = [pci_id for table in TABLES for pci_id in table.pci_ids]
    products = [product for table in TABLES for product in table.products]
    assert len(ids) == len(set(ids))
    assert len(products) == len(set(products))


def test_memory_is_as_listed_or_a_floor_under_the_name() -> None:
    assert mig.memory_mib("1g.5gb", A100_40) == 4864
    assert mig.memory_mib("1g.10gb", mig.table_for("NVIDIA H100 PCIe")) == 9984
    assert mig.memory_mib("1g.18gb", mig.table_for("NVIDIA H200")) == 16384
    assert mig.memory_mib("1g.34gb", mig.table_for("NVIDIA B300 SXM6 AC")) == 34 * 1024 * 5 // 6
    assert mig.memory_mib("1g.0gb") == 0
    assert mig.memory_mib("nonsense") == 0
    for table in TABLES:
        for name, row in table.rows.items():
            assert not row.memory_mib or mig.memory_mib(name) <= row.memory_mib


def test_the_smallest_that_fits_is_picked_by_memory_then_slices_then_extras() -> None:
    offered = {
        "nvidia.com/mig-2g.10gb": 9856,
        "nvidia.com/mig-1g.10gb": 9856,
        "nvidia.com/mig-1g.10gb.me": 9856,
        "nvidia.com/mig-1g.5gb": 4864,
        "nvidia.com/mig-broken": 99999,
    }
    assert mig.smallest(1, offered) == "nvidia.com/mig-1g.5gb"
    assert mig.smallest(4864, offered) == "nvidia.com/mig-1g.5gb"
    assert mig.smallest(4865, offered) == "nvidia.com/mig-1g.10gb"
    assert mig.smallest(10240, offered) is None
    assert mig.smallest(0, offered, slices=2) == "nvidia.com/mig-2g.10gb"
    assert mig.smallest(0, offered, slices=3) is None
    assert mig.smallest(1, {}) is None
    assert mig.smallest(1, {"1g.24gb+me": 24000, "1g.24gb-me": 24000}) == "1g.24gb-me"
    assert mig.smallest(1, {"1g.24gb+me": 24000, "1g.24gb-me": 24000, "1g.24gb": 24000}) == "1g.24gb"


def test_a_name_of_no_model_is_not_known() -> None:
    assert not mig.known("nvidia.com/mig-4g.5gb")
    assert not mig.known("nonsense")
    assert mig.known("nvidia.com/mig-4g.20gb")


@pytest.mark.parametrize(
    ("product", "profile"),
    [
        ("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "1g.5gb"),
        ("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED", "1g.5gb"),
        ("NVIDIA-H100-80GB-HBM3-MIG-1g.10gb.me", "1g.10gb+me"),
        ("NVIDIA-A100-SXM4-40GB-MIG-INVALID", ""),
        ("NVIDIA-A100-SXM4-40GB", ""),
        ("", ""),
    ],
)
def test_a_product_label_names_the_profile_of_strategy_single(product: str, profile: str) -> None:
    assert mig.profile_in(product) == profile


def test_the_profiles_that_a_node_reports_replace_the_table() -> None:
    table = mig.table_for("NVIDIA A100-SXM4-80GB")
    live = mig.live_table("A100-80GB", (("1g.10gb", 7, 0), ("3g.39gb", 0, 40192), ("7g.79gb", 1, 80896)), table)
    assert live is not None
    assert set(live.rows) == {"1g.10gb", "3g.39gb", "7g.79gb"}
    assert (live.slices, live.whole_gb) == (7, 79)
    assert live.rows["3g.39gb"].memory_mib == 40192
    assert live.rows["3g.39gb"].max_instances == 2  # of the table, for the node does not say
    assert mig.live_table("A100-80GB", (), table) is table
    assert mig.live_table("a GPU of tomorrow", (), None) is None
