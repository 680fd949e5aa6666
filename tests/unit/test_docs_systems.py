"""docs/systems.md tells of every system and operator, and claims no more proof than there is."""

import re

import pytest

from crds import crds
from pages import ROOT, page

PAGE = page("docs/systems.md")
SYSTEMS = ("Kueue", "KAI", "Volcano", "coscheduling", "Koordinator", "YuniKorn", "slurm-bridge", "PodGroup", "`plain`")
OPERATORS = (
    *("Indexed Job", "JobSet", "LeaderWorkerSet", "PyTorchJob", "TFJob", "MPIJob", "XGBoostJob", "PaddleJob", "JAXJob"),
    *("TrainJob", "RayCluster", "RayJob", "RayService", "Volcano Job", "Kueue pod group", "PodCliqueSet"),
    *("DynamoGraphDeployment", "RoleBasedGroup", "Spark", "Argo", "InferenceService", "StatefulSet"),
)


def rows_of(part: str) -> list[str]:
    inside = PAGE.partition(f"<!-- begin {part}:")[2].partition(f"<!-- end {part} -->")[0]
    return [line for line in inside.splitlines() if line.startswith("| ")][2:]


@pytest.mark.parametrize("name", [*SYSTEMS, *OPERATORS])
def test_the_page_tells_of(name: str) -> None:
    assert name in PAGE


def test_what_proofs_mean_stands_on_the_page_and_their_tests_are_there() -> None:
    meanings = PAGE.partition("\n## Who places")[0]
    for part in ("systems", "operators", "groups"):
        for line in rows_of(part):
            for word in line.removesuffix(" |").rpartition(" | ")[2].split(", "):
                assert f"\n| {word} | " in meanings
    folder = "tests/unit/workload"
    for name in re.findall(r"`([\w/]+\.py)`", meanings):
        assert (ROOT / name).exists() or (ROOT / folder / name).exists(), name


@pytest.mark.shared("crds")
def test_what_is_proved_by_a_definition_has_one() -> None:
    served = {definition["spec"]["names"]["kind"] for _, definition in crds(shallow=True)}
    claimed = [line for line in rows_of("operators") if line.endswith(" CRD |")]
    assert claimed
    for line in claimed:
        made_by = re.findall(r"\w+", line.split(" | ")[0])
        assert served.intersection(made_by), made_by


def test_the_page_is_linked() -> None:
    for name in ("README.md", "docs/policy.md", "docs/labels.md"):
        assert "systems.md" in page(name)
