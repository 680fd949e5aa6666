"""docs/systems.md has every system and operator, and claims no more proof than there is."""

import re

import pytest

import proofs
from crds import SERVED, crds
from e2e.operators.test_operators_run import EVERY
from operator_pods import CASES
from pages import ROOT, page
from podberth.workload.memberships import LAST, notes_of
from podberth.workload.memberships import OPERATORS as MEMBERSHIPS
from podberth.workload.systems import PLAIN, SYSTEMS

PAGE = page("docs/systems.md")
OPERATORS = (
    *(
        "Indexed Job",
        "Job of independent tasks",
        "JobSet",
        "LeaderWorkerSet",
        "TrainJob",
        "RoleBasedGroup",
        "ModelServing",
        "ModelBooster",
        "Volcano Job",
    ),
    *("PyTorchJob", "TFJob", "MPIJob", "XGBoostJob", "PaddleJob", "JAXJob", "RayCluster", "RayJob", "RayService"),
    *("PodCliqueSet", "DynamoGraphDeployment", "SparkApplication", "spark-submit", "step of an Argo workflow"),
    *(
        "InferenceService over several nodes",
        "LLMInferenceService",
        "StatefulSet that declares a gang",
        "StatefulSet in a queue of Kueue",
    ),
)
NOTES = [note for row in (*MEMBERSHIPS, *LAST) for note in notes_of(row)]


def rows_of(part: str) -> list[list[str]]:
    """Return the cells of a generated table's rows."""
    inside = PAGE.partition(f"<!-- begin {part}:")[2].partition(f"<!-- end {part} -->")[0]
    lines = [line for line in inside.splitlines() if line.startswith("| ")][2:]
    return [line.removeprefix("| ").removesuffix(" |").split(" | ") for line in lines]


def starting(name: str, rows: list[list[str]]) -> list[list[str]]:
    return [cells for cells in rows if re.match(rf"{re.escape(name)}\b", cells[0])]


@pytest.mark.parametrize("name", [*OPERATORS, "Kueue pod group"])
def test_every_operator_has_a_row_of_its_own_with_every_column(name: str) -> None:
    found = starting(name, rows_of("groups" if name.startswith("Kueue") else "operators"))
    # Of RoleBasedGroup one for each version.
    assert len(found) == (2 if name == "RoleBasedGroup" else 1)
    for cells in found:
        assert len(cells) == (6 if name.startswith("Kueue") else 7)
        assert all(cell.strip() for cell in cells)


@pytest.mark.parametrize("name", [*(system.name for system in SYSTEMS), PLAIN])
def test_every_system_has_a_row_in_both_tables_and_a_source(name: str) -> None:
    [one] = [cells for cells in rows_of("systems") if cells[0].endswith(f"(`{name}`)")]
    [other] = [cells for cells in rows_of("elsewhere") if cells[0] == f"`{name}`"]
    assert all(cell.strip() for cell in (*one, *other))
    assert [cells for cells in rows_of("sources") if cells[0] == one[0].removesuffix(f" (`{name}`)")]


@pytest.mark.parametrize("part", ["systems", "operators", "groups"])
def test_what_is_claimed_to_be_proved_is_at_least_pods_and_each_word_has_its_tests(part: str) -> None:
    meanings = PAGE.partition("\n## Who places")[0]
    for cells in rows_of(part):
        claimed = cells[-1].split(", ")
        assert claimed[0] == "pods", cells
        assert all(f"\n| {word} | " in meanings for word in claimed)
    folder = "tests/unit/workload"
    for name in re.findall(r"`([\w/]+\.py)`", meanings):
        assert (ROOT / name).exists() or (ROOT / folder / name).exists(), name


def test_no_row_claims_more_than_the_tests_run_over() -> None:
    """Each word of each row by the tables of the tests; so a row cannot keep a word that its test has lost."""
    played, run_here = {each.row for each in EVERY}, {each.row for each in EVERY if hasattr(each, "workload")}
    claimed = {cells[0]: set(cells[-1].split(", ")) for cells in rows_of("operators")}
    for note in NOTES:
        words = claimed[note.name]
        assert ("pods" in words) == (note.name in {case.maker for case in CASES})
        assert ("CRD" in words) == (note.kind in SERVED)
        assert ("scheduler" in words) == (note.name in played)
        assert ("operator" in words) == (note.name in run_here)
        assert ", ".join(each for each in ("pods", "CRD", "scheduler", "operator") if each in words) == proofs.of_note(
            note
        )


def test_whoever_is_played_before_the_scheduler_has_a_row() -> None:
    assert {each.row for each in EVERY} <= {note.name for note in NOTES}


@pytest.mark.shared("crds")
def test_what_is_proved_by_a_definition_has_one() -> None:
    names = [definition["spec"] for _, definition in crds(shallow=True)]
    assert {f"{spec['group']}/{spec['names']['kind']}" for spec in names} >= SERVED


def test_the_page_is_linked() -> None:
    for name in ("README.md", "docs/policy.md", "docs/expressions.md", "docs/labels.md"):
        assert "systems.md" in page(name)
