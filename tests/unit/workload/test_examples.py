"""The shipped examples are what their headers say: read with the code that reads every Pod."""

from pathlib import Path
from typing import Any

import pytest

from podberth.kube.documents import load_documents
from podberth.kube.shape import shape_problems
from podberth.workload.gangs import gang_of
from podberth.workload.gpus import gpu_facts
from podberth.workload.kinds import row_for
from presented import present

EXAMPLES = Path(__file__).parents[3] / "examples"
FILES = sorted(EXAMPLES.glob("*.yaml"))

JSON = dict[str, Any]


def pods(file: str) -> list[tuple[JSON, dict[str, Any]]]:
    """Return the Pods of a file as admission would see them, and what is then known of their owners."""
    found = []
    for document in (each.document for each in load_documents((EXAMPLES / file).read_text(), file)[0]):
        if document["kind"] == "Pod" or row_for(document):
            presented = present(document, namespace="default")
            found.append((presented.pod, {presented.owner_uid: document}))
    return found


@pytest.mark.parametrize(
    ("file", "kind", "counts"),
    [
        ("cuda-pod.yaml", "whole", [1]),
        ("llm-deployment.yaml", "whole", [4]),
        ("training-indexed-job.yaml", "whole", [8]),
        ("notebook-memory.yaml", "whole", [1]),
        ("unknown-mig-profile.yaml", "mig", [1]),
        ("own-affinity.yaml", "whole", [2]),
        ("launcher-and-workers.yaml", "whole", [0, 8]),
        ("cpu-pod.yaml", "none", [0]),
    ],
)
def test_an_example_asks_for_what_it_says(file: str, kind: str, counts: list[int]) -> None:
    made = pods(file)
    assert [shape_problems(pod) for pod, _ in made] == [[] for _ in counts]
    facts = [gpu_facts(pod) for pod, _ in made]
    assert [fact.count for fact in facts] == counts
    assert facts[-1].kind == kind
    assert not any(fact.problems or fact.dialect for fact in facts)


def test_the_notebook_declares_its_memory() -> None:
    (pod, _), *_ = pods("notebook-memory.yaml")
    assert gpu_facts(pod).memory_mib == 10240


def test_the_training_job_is_a_gang_of_eight_with_and_without_its_owner() -> None:
    ((pod, owners),) = pods("training-indexed-job.yaml")
    for known in (owners, {}):
        gang = gang_of(pod, "default", known)
        assert (gang.known, gang.size, gang.index, gang.source) == (True, 8, 0, "Job")


def test_the_launcher_and_its_workers_are_one_gang() -> None:
    gangs = [gang_of(pod, "default", owners) for pod, owners in pods("launcher-and-workers.yaml")]
    assert [(gang.name, gang.size) for gang in gangs] == [("allreduce", 5), ("allreduce", 5)]


@pytest.mark.parametrize("file", ["cuda-pod.yaml", "llm-deployment.yaml", "cpu-pod.yaml"])
def test_the_others_are_no_gangs(file: str) -> None:
    assert not any(gang_of(pod, "default", owners).known for pod, owners in pods(file))


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_every_example_explains_itself_and_stands_in_the_table(file: Path) -> None:
    assert file.read_text().startswith("# ")
    assert f"[{file.name}]({file.name})" in (EXAMPLES / "README.md").read_text()
