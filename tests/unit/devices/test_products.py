import pytest

from podberth.devices import mig
from podberth.devices.mig import MEMORY_MIB, most_memory_mib
from podberth.devices.mig_tables import TABLES
from podberth.topology.shape_tables import SHAPES


def test_simulated_gpus_have_the_memory_of_the_table() -> None:
    models = {shape.model for shape in SHAPES.values()}
    by_name = {model.product.replace(" ", "-"): model.memory_mib for model in models}
    by_name |= {model.gke: model.memory_mib for model in models if model.gke}
    known = by_name.keys() & MEMORY_MIB.keys()
    assert len(known) > 10
    assert {name: MEMORY_MIB[name] for name in known} == {name: by_name[name] for name in known}


@pytest.mark.parametrize(("name", "size"), [("NVIDIA-L4", 23034), ("1g.10gb", 10240), ("x", 0), ("", 0), ("70b", 0)])
def test_a_name_is_a_model_a_profile_or_nothing(name: str, size: int) -> None:
    assert most_memory_mib(name) == size


def test_no_instance_has_more_than_its_profile_says() -> None:
    for table in TABLES:
        for profile in table.rows:
            assert mig.memory_mib(profile, table) <= most_memory_mib(profile)
