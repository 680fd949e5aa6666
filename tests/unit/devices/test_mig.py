import pytest

from podberth.devices import mig
from podberth.devices.mig_tables import TABLES, MigTable

A100_40 = mig.table_for("NVIDIA A100-SXM4-40GB")
A100_40_PROFILES = tuple(A100_40.rows) if A100_40 else ()


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
def test_what_is_no_profile_is_refused_with_what_it_should_look_like(name: str) -> None:
    with pytest.raises(ValueError, match="MIG profile"):
        mig.parse(name)


def test_a_huge_name_is_not_read() -> None:
    with pytest.raises(ValueError, match="MIG profile"):
        mig.parse("1g.5gb+" + "a" * 100_000)
    assert mig.nearest("9" * 100_000, A100_40_PROFILES) is None


def test_a_split_compute_instance_is_read_but_is_no_resource() -> None:
    profile = mig.parse("1c.3g.20gb")
    assert (profile.compute, profile.slices, profile.name) == (1, 3, "1c.3g.20gb")
    with pytest.raises(ValueError, match=r"ask for 3g\.20gb"):
        _ = profile.resource


@pytest.mark.parametrize(
    ("product", "profile", "maximum"),
    [
        ("NVIDIA A30", "1g.6gb", 4),
        ("NVIDIA-A100-SXM4-40GB", "1g.5gb", 7),
        ("NVIDIA-A100-SXM4-40GB", "1g.10gb", 4),
        ("NVIDIA-A100-SXM4-80GB", "1g.10gb", 7),
        ("NVIDIA H100 80GB HBM3", "1g.10gb", 7),
        ("NVIDIA-H100-80GB-HBM3-MIG-1g.10gb", "2g.20gb", 3),
        ("NVIDIA-H100-80GB-HBM3-MIG-1g.10gb-SHARED", "3g.40gb", 2),
        ("NVIDIA H100 NVL", "1g.24gb", 4),
        ("NVIDIA H200", "1g.35gb", 4),
        ("NVIDIA GB300", "1g.35gb", 7),
        ("NVIDIA B200", "7g.180gb", 1),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "1g.24gb-me", 4),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "1g.24gb+me", 1),
        ("NVIDIA A100-SXM4-40GB", "7g.80gb", 0),
        ("NVIDIA A100-SXM4-40GB", "nonsense", 0),
    ],
)
def test_the_maximum_depends_on_the_model_and_not_on_the_name_alone(product: str, profile: str, maximum: int) -> None:
    table = mig.table_for(product)
    assert table is not None
    assert mig.max_instances(profile, table) == maximum


def test_a_model_is_found_by_pci_id_before_its_name() -> None:
    by_id = mig.table_for("a board that reports something else", "233b")
    assert by_id is mig.table_for("NVIDIA H200")
    assert mig.table_for("NVIDIA L4") is None


def test_no_pci_id_or_product_is_in_two_tables() -> None:
    ids = [pci_id for table in TABLES for pci_id in table.pci_ids]
    products = [product for table in TABLES for product in table.products]
    assert len(ids) == len(set(ids))
    assert len(products) == len(set(products))


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_counts_follow_from_memory_and_compute_slices(table: MigTable) -> None:
    memory_slices = 8 if table.slices == 7 else 4
    widths = {7: {1: 1, 2: 2, 3: 4, 4: 4, 7: 8}, 4: {1: 1, 2: 2, 4: 4}}[table.slices]
    plain = {mig.parse(name): row for name, row in table.rows.items() if not mig.parse(name).attributes}
    least = min(profile.memory_gb for profile in plain if profile.slices == 1)
    for profile, row in plain.items():
        big_memory = profile.slices == 1 and profile.memory_gb > least
        width = 2 if big_memory else widths[profile.slices]
        # 2g starts at 0, 2 and 4 only: three of them, for the eighth memory slice has no compute slice
        assert row.max_instances == (
            memory_slices // width if big_memory else min(memory_slices // width, table.slices // profile.slices)
        )


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("nvidia.com/mig-4g.5gb", "4g.20gb"),
        ("1g.6gb", "1g.5gb"),
        ("mig-2g.20gb", "3g.20gb"),
        ("mig-2g.5gb", "2g.10gb"),
        ("3g.40gb", "3g.20gb"),
        ("7g.80gb", "7g.40gb"),
        ("1g5gb", "1g.5gb"),
        ("1G.5GB", "1g.5gb"),
        ("1g.5g", "1g.5gb"),
        ("1g.5gib", "1g.5gb"),
        ("3g-20gb", "3g.20gb"),
        ("1g.5gb.mee", "1g.5gb+me"),
    ],
)
def test_the_nearest_profile_is_near_in_its_numbers(name: str, meant: str) -> None:
    assert mig.nearest(name, A100_40_PROFILES) == meant


def test_the_nearest_is_spelled_as_the_candidate() -> None:
    assert mig.nearest("1g.6gb", ["nvidia.com/mig-1g.5gb", "nvidia.com/mig-7g.40gb"]) == "nvidia.com/mig-1g.5gb"


def test_nothing_is_near_to_a_word_or_among_nothing() -> None:
    assert mig.nearest("nvidia.com/mig-large", A100_40_PROFILES) is None
    assert mig.nearest("1g.5gb", []) is None
    assert mig.nearest("1g.5gb", ["7g.278gb"]) is None


def test_memory_is_as_listed_or_a_floor_under_the_name() -> None:
    assert mig.memory_mib("1g.5gb", A100_40) == 4864
    assert mig.memory_mib("1g.10gb", mig.table_for("NVIDIA H100 PCIe")) == 9984
    assert mig.memory_mib("1g.18gb", mig.table_for("NVIDIA H200")) == 18 * 1024 * 7 // 8
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
    assert mig.smallest(1, {}) is None


def test_a_name_of_no_model_is_not_known() -> None:
    assert not mig.known("nvidia.com/mig-4g.5gb")
    assert not mig.known("nonsense")
    assert mig.known("nvidia.com/mig-4g.20gb")
