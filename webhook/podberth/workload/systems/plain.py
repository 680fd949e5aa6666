"""No group system: whoever the scheduler is, it places pod by pod, by what each pod says itself."""

from typing import Final

from .system import System

SYSTEM: Final = System(
    name="plain",
    title="kube-scheduler, or any other that places pod by pod",
    source="kubernetes/api core/v1/types.go Affinity; kubernetes pkg/scheduler/framework/plugins/interpodaffinity",
    reads=("`spec.affinity`", "`spec.nodeSelector`", "`spec.tolerations`"),
    writes="label `podberth.io/gang`, annotation `podberth.io/gang-size`; of members with GPUs `spec.affinity`",
    elsewhere=(),
    topology="nothing: it is written on the pod",
)
