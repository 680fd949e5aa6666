"""The patches of a TrainJob to its runtime: the runtime's JobSet with ``spec.runtimePatches`` applied.

The patches are strategic merge patches. Kueue is the main author of patches: Kueue writes node selectors and
tolerations into patches.
"""

from collections.abc import Iterator
from typing import Any, Final

from ..kube.unchecked import at, list_at, mapping_at
from .name_sets import words
from .places import Elsewhere, Found
from .strategic_merge import merged

# kubeflow/trainer pkg/apis/trainer/v1alpha1/trainjob_types.go PodSpecPatch; its schema prunes other fields.
_POD_FIELDS: Final = words(
    "affinity containers imagePullSecrets initContainers nodeSelector schedulingGates securityContext "
    "serviceAccountName terminationGracePeriodSeconds tolerations volumes"
)

PATCHED_PODS: Final = Elsewhere(
    "spec.runtimePatches[].trainingRuntimeSpec.template.spec.replicatedJobs[].template.spec.template", _POD_FIELDS
)
"""The place in a TrainJob at which users patch the pods of a replicated job."""


def patched(jobs: list[Any], train_job: Found) -> list[Any]:
    """Return replicated jobs with a TrainJob's patches applied; jobs and TrainJob are unchecked.

    Source: kubeflow/trainer pkg/runtime/core/trainingruntime.go mergeRuntimePatches. Trainer's webhook refuses patches
    of a job that the runtime does not have (pkg/runtime/framework/plugins/jobset/jobset.go).
    """
    for patch in (*_patches(train_job), *_overrides(train_job)):
        name = at(patch, "name")
        jobs = [merged(job, patch) if name is not None and at(job, "name") == name else job for job in jobs]
    return jobs


def _patches(train_job: Found) -> Iterator[Found]:
    """Yield the patches of replicated jobs in order, with only the fields that a patch may have in Trainer's schema."""
    for each in list_at(train_job, "spec", "runtimePatches"):
        for job in list_at(each, "trainingRuntimeSpec", "template", "spec", "replicatedJobs"):
            template = mapping_at(job, "template", "spec", "template")
            spec = {key: value for key, value in mapping_at(template, "spec").items() if key in _POD_FIELDS}
            pods = {"metadata": mapping_at(template, "metadata"), "spec": spec}
            own = {"metadata": mapping_at(job, "template", "metadata"), "spec": {"template": pods}}
            yield {"name": at(job, "name"), "template": own}


def _overrides(train_job: Found) -> Iterator[Found]:
    """Yield the field ``podTemplateOverrides`` of a TrainJob of Trainer v2.0 or v2.1 as patches.

    There is one patch for each targeted job of each override. Source: kubeflow/trainer v2.1.0
    pkg/apis/trainer/v1alpha1/trainjob_types.go PodTemplateOverride.
    """
    for each in list_at(train_job, "spec", "podTemplateOverrides"):
        spec = {key: value for key, value in mapping_at(each, "spec").items() if key in _POD_FIELDS}
        pods = {"metadata": mapping_at(each, "metadata"), "spec": spec}
        for job in list_at(each, "targetJobs"):
            yield {"name": at(job, "name"), "template": {"spec": {"template": pods}}}
