"""The list of dossiers: one module for each foreign thing, and none of them imports another.

The order is that in which memberships are asked. A group of roles may be made of LeaderWorkerSets, whose pods have the
labels of both: it comes first.
"""

from typing import Final

from ..dossier import Dossier
from . import (
    aibrix,
    app_wrapper,
    apps,
    argo_workflows,
    dynamo,
    grove,
    job,
    job_set,
    knative,
    kserve,
    kthena,
    kuberay,
    leader_worker_set,
    llm_inference_service,
    mpi_operator,
    nim,
    no_pods,
    notebooks,
    role_based_group,
    spark,
    trainer,
    training_operator,
    volcano,
)

DOSSIERS: Final[tuple[Dossier, ...]] = (
    job.DOSSIER,
    argo_workflows.DOSSIER,
    role_based_group.DOSSIER,
    leader_worker_set.DOSSIER,
    job_set.DOSSIER,
    trainer.DOSSIER,
    training_operator.DOSSIER,
    mpi_operator.DOSSIER,
    volcano.DOSSIER,
    kuberay.DOSSIER,
    grove.DOSSIER,
    dynamo.DOSSIER,
    kserve.DOSSIER,
    llm_inference_service.DOSSIER,
    spark.DOSSIER,
    apps.DOSSIER,
    app_wrapper.DOSSIER,
    aibrix.DOSSIER,
    kthena.DOSSIER,
    knative.DOSSIER,
    notebooks.DOSSIER,
    nim.DOSSIER,
    no_pods.DOSSIER,
)
