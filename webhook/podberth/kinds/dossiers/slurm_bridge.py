"""Facts about slurm-bridge: pods become an external job of Slurm, which chooses the nodes from the pods' requests.

slurm-bridge's webhook refuses pods with resource claims, and sets the scheduler's name on the pods of its namespaces.
Slurm counts only ``nvidia.com/gpu`` and ``amd.com/gpu``: for a pod with any other resource, Slurm counts no GPU.
"""

from typing import Final

from ..dossier import Dossier
from ..name_sets import under
from ..systems import System

_SLURM_JOB: Final = "slurmjob.slinky.slurm.net"

DOSSIER: Final = Dossier(
    name="slurm-bridge",
    versions={"SlinkyProject/slurm-bridge": "6f700ba4, after v1.2.1"},
    system=System(
        name="slurm-bridge",
        precedence=6,
        title="slurm-bridge (Slinky)",
        source="SlinkyProject/slurm-bridge docs/{workload,admission}.md, internal/{wellknown,admission}",
        schedulers=frozenset({"slurm-bridge-scheduler"}),
        labels=under("scheduler.slinky.slurm.net", "slurm-jobid"),
        annotations=under(
            _SLURM_JOB,
            "account constraints cpu-per-task exclusive gres group-id job-name licenses max-nodes mem-per-node "
            "min-nodes partition priority qos reservation timelimit user-id wckey",
        ),
        reads=(
            "`spec.schedulerName`",
            "`spec.schedulingGroup` or label `scheduling.x-k8s.io/pod-group`",
            "of bare pods annotations `slurmjob.slinky.slurm.net/*`: partition, account, constraints",
        ),
        elsewhere=(
            "`metadata.annotations[slurmjob.slinky.slurm.net/*]` of the workload on top, or of the PodGroup",
            "the group's minimum of the PodGroup",
        ),
        asked=under(_SLURM_JOB, "constraints"),
        topology="set annotation slurmjob.slinky.slurm.net/constraints of the workload",
        keeps="resources, for which Slurm reserves nodes; pods with claims are refused by its webhook",
    ),
)
