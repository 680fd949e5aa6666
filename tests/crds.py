"""The real CRDs of the kinds in the table, beside this checkout where they are: ../shared/crds."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from podberth.kube.documents import load_documents
from podberth.workload.kinds import KINDS

GROUP_CRDS = (
    "scheduler-plugins/scheduling.x-k8s.io_podgroups.yaml",
    "koordinator/scheduling.sigs.k8s.io_podgroups.yaml",
)
"""Those of the PodGroups that the controller makes, beside Kubernetes' own."""

CLUSTER_WIDE = frozenset({"serving.kserve.io/ClusterServingRuntime", "trainer.kubeflow.org/ClusterTrainingRuntime"})
SERVED = CLUSTER_WIDE | {
    "batch.volcano.sh/Job",
    "grove.io/PodCliqueSet",
    "jobset.x-k8s.io/JobSet",
    "kubeflow.org/JAXJob",
    "kubeflow.org/MPIJob",
    "kubeflow.org/PaddleJob",
    "kubeflow.org/PyTorchJob",
    "kubeflow.org/TFJob",
    "kubeflow.org/XGBoostJob",
    "leaderworkerset.x-k8s.io/LeaderWorkerSet",
    "nvidia.com/DynamoGraphDeployment",
    "ray.io/RayCluster",
    "ray.io/RayJob",
    "ray.io/RayService",
    "serving.kserve.io/InferenceService",
    "serving.kserve.io/LLMInferenceService",
    "serving.kserve.io/ServingRuntime",
    "trainer.kubeflow.org/TrainJob",
    "trainer.kubeflow.org/TrainingRuntime",
}
"""The kinds in the table of which a CRD is at hand, as "group/Kind"; of the others none is."""

FOLDER = Path(__file__).parents[2] / "shared" / "crds"


# Large, the same in every PodSpec, and not looked into.
WIDE = ("affinity", "ephemeralContainers", "initContainers", "lifecycle", "volumes", "topologySpreadConstraints")
PROBES = ("livenessProbe", "readinessProbe", "startupProbe")


def crds(*, shallow: bool = False) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the project and each CRD of a kind in the table, without descriptions: most of the text is of them.

    With ``shallow`` the wide fields of pods are there and empty: parsing all of them takes half a minute.
    """
    plurals = {f"{each.kind.lower()}s.yaml" for each in KINDS}
    for file in sorted(FOLDER.glob("*/*.yaml")):
        if file.name.rpartition("_")[2] in plurals:
            yield from ((file.parent.name, each) for each in read(file, (*WIDE, *PROBES) if shallow else ()))


def read(file: Path, emptied: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """Return a file's CRDs without descriptions, these fields empty."""
    documents, problems = load_documents("\n".join(_terse(file.read_text(), emptied)), file.name)
    assert problems == []
    return [each.document for each in documents]


def _terse(text: str, emptied: tuple[str, ...]) -> Iterator[str]:
    skipped: int | None = None
    empty = {f"{key}:" for key in emptied}
    for line in text.splitlines():
        depth = len(line) - len(line.lstrip())
        if skipped is not None and (depth > skipped or not line.strip()):
            continue
        is_empty = line.strip() in empty
        skipped = depth if is_empty or line.lstrip().startswith("description:") else None
        if is_empty:
            yield f"{line} {{}}"
        elif skipped is None:
            yield line
