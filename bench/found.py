"""The slowest pods and workloads that ``bench.hostile_search`` has found, kept as cases of ``bench.hostile``."""

from collections.abc import Mapping

from . import roles
from .genome import Genome, read
from .roles import Shape

FOUND: Mapping[str, Genome] = {
    "found 1": read(
        "200 nodeAffinity.preferred 0! + 200 podAffinity.required 0 + "
        "500 podAffinity.required.labelSelector.matchLabels 0 + "
        "100 podAffinity.required.namespaceSelector.matchLabels 1 + 200 podAntiAffinity.preferred 3 + "
        "729 podAntiAffinity.preferred.podAffinityTerm.labelSelector.expressions 2! + "
        "500 podAntiAffinity.preferred.podAffinityTerm.namespaceSelector.expressions 0! + "
        "500 podAntiAffinity.preferred.podAffinityTerm.namespaceSelector.expressions.values 0 + "
        "200 podAntiAffinity.required 0 + 8 podAntiAffinity.required.labelSelector.expressions 0 + "
        "500 podAntiAffinity.required.labelSelector.expressions.values 1 + "
        "500 podAntiAffinity.required.namespaceSelector.expressions 2! + "
        "500 podAntiAffinity.required.namespaceSelector.expressions.values 1 + "
        "8 podAntiAffinity.required.namespaces 0 + 200 containers 2 + 500 containers.ports 2 + "
        "200 ephemeralContainers 3 + 729 ephemeralContainers.args 2 + 729 ephemeralContainers.envFrom 2! + "
        "20 resourceClaims 2 + 810 topologySpreadConstraints.labelSelector.expressions 2! + "
        "810 topologySpreadConstraints.labelSelector.expressions.values 1 + 500 volumes 3 + 8 GPUs + 20 claims"
    ),
    "found 2": read(
        "100 metadata.labels 2! + 100 metadata.managedFields 3 + 200 nodeAffinity.preferred 2! + "
        "200 podAffinity.preferred 3 + 500 podAffinity.preferred.podAffinityTerm.labelSelector.matchLabels 3 + "
        "8 podAffinity.preferred.podAffinityTerm.namespaceSelector.expressions 3! + 200 podAffinity.required 3 + "
        "500 podAffinity.required.matchLabelKeys 1 + 500 podAffinity.required.namespaceSelector.expressions 3 + "
        "100 podAntiAffinity.preferred 1 + "
        "500 podAntiAffinity.preferred.podAffinityTerm.labelSelector.expressions 2! + "
        "8 podAntiAffinity.preferred.podAffinityTerm.labelSelector.matchLabels 2 + "
        "200 podAntiAffinity.required 1 + 8 podAntiAffinity.required.namespaceSelector.expressions 0 + "
        "200 containers 2 + 8 containers.resources.claims 2 + 500 containers.volumeDevices 1 + "
        "200 ephemeralContainers 2 + 500 ephemeralContainers.command 3! + "
        "531 ephemeralContainers.resources.claims 3! + 500 ephemeralContainers.volumeDevices 2 + "
        "200 initContainers 3! + 531 initContainers.command 0 + 500 initContainers.resources.claims 1 + "
        "531 initContainers.volumeDevices 1 + 100 topologySpreadConstraints 2 + "
        "500 topologySpreadConstraints.labelSelector.expressions 2! + "
        "531 topologySpreadConstraints.labelSelector.expressions.values 1 + 2 GPUs + 1 gang + 200 claims + "
        "16000 characters"
    ),
    "found 3": read(
        "8 metadata.annotations 2 + 200 nodeAffinity.preferred 0 + "
        "500 nodeAffinity.preferred.preference.expressions 1 + 100 nodeAffinity.required.nodeSelectorTerms 3 + "
        "500 nodeAffinity.required.nodeSelectorTerms.expressions 0 + "
        "8 nodeAffinity.required.nodeSelectorTerms.expressions.values 2 + 200 podAffinity.preferred 2 + "
        "8 podAffinity.preferred.podAffinityTerm.namespaceSelector.matchLabels 2! + 200 podAffinity.required 2 + "
        "729 podAffinity.required.labelSelector.expressions 2 + "
        "500 podAffinity.required.labelSelector.expressions.values 3 + 200 podAntiAffinity.preferred 0 + "
        "8 podAntiAffinity.preferred.podAffinityTerm.matchLabelKeys 2 + "
        "729 podAntiAffinity.preferred.podAffinityTerm.namespaceSelector.expressions 2! + "
        "100 podAntiAffinity.required 2 + 729 podAntiAffinity.required.namespaceSelector.matchLabels 3 + "
        "20 containers 2 + 562 containers.env 1 + 500 containers.resizePolicy 0 + 100 ephemeralContainers 1 + "
        "562 ephemeralContainers.env 2 + 729 ephemeralContainers.resources.limits 2 + 810 hostAliases 1! + "
        "8 imagePullSecrets 0! + 20 initContainers 3! + 810 initContainers.resources.requests 3! + "
        "100 resourceClaims 2 + 2 GPUs + 20 claims + 16000 characters"
    ),
    "found 4": read(
        "200 nodeAffinity.preferred 0 + 810 nodeAffinity.preferred.preference.fields 0 + "
        "8 nodeAffinity.preferred.preference.fields.values 0 + 200 podAffinity.preferred 1 + "
        "100 podAffinity.preferred.podAffinityTerm.namespaceSelector.expressions 2 + "
        "200 podAffinity.required 1 + 810 podAffinity.required.namespaceSelector.expressions 0 + "
        "500 podAffinity.required.namespaceSelector.expressions.values 2 + 20 podAntiAffinity.preferred 3! + "
        "8 podAntiAffinity.preferred.podAffinityTerm.namespaceSelector.matchLabels 2 + "
        "20 podAntiAffinity.required 1 + 100 podAntiAffinity.required.namespaceSelector.expressions 1 + "
        "100 containers 1! + 900 containers.args 3 + 8 containers.env 2! + 8 containers.volumeMounts 0 + "
        "200 ephemeralContainers 2 + 100 ephemeralContainers.args 3 + 900 ephemeralContainers.envFrom 3 + "
        "200 initContainers 3! + 100 initContainers.command 0 + 900 initContainers.resources.requests 3 + "
        "637 tolerations 2! + 100 topologySpreadConstraints 2 + "
        "900 topologySpreadConstraints.labelSelector.expressions 3 + "
        "900 topologySpreadConstraints.labelSelector.expressions.values 1 + 8 GPUs + 16000 characters"
    ),
    "found 5": read(
        "100 metadata.annotations 2 + 450 metadata.managedFields 2! + "
        "200 nodeAffinity.required.nodeSelectorTerms 1 + "
        "8 nodeAffinity.required.nodeSelectorTerms.expressions 0 + "
        "450 nodeAffinity.required.nodeSelectorTerms.expressions.values 1! + "
        "450 nodeAffinity.required.nodeSelectorTerms.fields 1 + "
        "454 nodeAffinity.required.nodeSelectorTerms.fields.values 0! + 20 podAffinity.preferred 2 + "
        "450 podAffinity.preferred.podAffinityTerm.labelSelector.expressions 3 + "
        "8 podAffinity.preferred.podAffinityTerm.labelSelector.expressions.values 3 + "
        "100 podAffinity.preferred.podAffinityTerm.labelSelector.matchLabels 1 + "
        "450 podAffinity.preferred.podAffinityTerm.matchLabelKeys 1 + 200 podAffinity.required 1 + "
        "8 podAffinity.required.matchLabelKeys 0 + 100 podAffinity.required.namespaceSelector.expressions 2! + "
        "200 podAntiAffinity.preferred 3 + "
        "450 podAntiAffinity.preferred.podAffinityTerm.labelSelector.expressions 3 + "
        "450 podAntiAffinity.preferred.podAffinityTerm.labelSelector.expressions.values 1! + "
        "450 podAntiAffinity.preferred.podAffinityTerm.matchLabelKeys 0 + "
        "100 podAntiAffinity.preferred.podAffinityTerm.namespaceSelector.expressions 3 + "
        "450 podAntiAffinity.preferred.podAffinityTerm.namespaces 1 + 8 podAntiAffinity.required 2! + "
        "100 podAntiAffinity.required.labelSelector.expressions 2 + "
        "477 podAntiAffinity.required.namespaceSelector.expressions 1 + "
        "8 podAntiAffinity.required.namespaceSelector.expressions.values 3 + 20 containers 2 + "
        "100 containers.ports 0 + 450 containers.resources.requests 3 + 100 ephemeralContainers 0 + "
        "8 ephemeralContainers.env 1 + 500 hostAliases 3 + 500 initContainers.command 2! + "
        "500 initContainers.resources.limits 3! + 100 schedulingGates 2 + 200 topologySpreadConstraints 0 + "
        "500 topologySpreadConstraints.labelSelector.expressions 0 + "
        "8 topologySpreadConstraints.labelSelector.expressions.values 1 + 16000 characters"
    ),
    "found 6": read(
        "500 metadata.annotations 0 + 100 nodeAffinity.preferred 1 + "
        "729 nodeAffinity.preferred.preference.fields 1 + 8 nodeAffinity.preferred.preference.fields.values 2! + "
        "200 nodeAffinity.required.nodeSelectorTerms 1 + "
        "500 nodeAffinity.required.nodeSelectorTerms.expressions 0 + 200 podAffinity.preferred 0! + "
        "8 podAffinity.preferred.podAffinityTerm.namespaceSelector.expressions 3 + "
        "8 podAffinity.preferred.podAffinityTerm.namespaceSelector.matchLabels 2 + 100 podAffinity.required 2! + "
        "100 podAffinity.required.labelSelector.expressions 1 + "
        "100 podAffinity.required.namespaceSelector.matchLabels 1 + 100 podAntiAffinity.preferred 2 + "
        "729 podAntiAffinity.preferred.podAffinityTerm.labelSelector.expressions 3 + "
        "100 podAntiAffinity.preferred.podAffinityTerm.mismatchLabelKeys 3 + "
        "8 podAntiAffinity.preferred.podAffinityTerm.namespaceSelector.expressions 2 + "
        "100 podAntiAffinity.preferred.podAffinityTerm.namespaceSelector.matchLabels 1 + "
        "810 podAntiAffinity.preferred.podAffinityTerm.namespaces 0 + 200 podAntiAffinity.required 0 + "
        "8 containers 3! + 810 containers.resources.requests 2 + 100 ephemeralContainers 0 + "
        "200 initContainers 2 + 810 initContainers.ports 2 + 500 initContainers.resizePolicy 1 + "
        "100 resources.requests 0 + 8 GPUs + 1 gang + 20 claims"
    ),
    "found 7": read(
        "729 metadata.annotations 3 + 100 metadata.ownerReferences 1! + 100 nodeAffinity.preferred 3! + "
        "100 nodeAffinity.preferred.preference.expressions 3 + "
        "8 nodeAffinity.preferred.preference.expressions.values 2! + "
        "200 nodeAffinity.required.nodeSelectorTerms 3 + 200 podAffinity.preferred 1! + "
        "500 podAffinity.preferred.podAffinityTerm.matchLabelKeys 3 + 200 podAffinity.required 1 + "
        "8 podAffinity.required.matchLabelKeys 3 + 500 podAffinity.required.namespaceSelector.matchLabels 0 + "
        "200 podAntiAffinity.preferred 1! + "
        "100 podAntiAffinity.preferred.podAffinityTerm.labelSelector.expressions 2 + "
        "100 podAntiAffinity.required 3 + 729 podAntiAffinity.required.labelSelector.expressions 1! + "
        "8 podAntiAffinity.required.matchLabelKeys 3 + 20 containers 1! + 500 containers.resizePolicy 3 + "
        "500 containers.resources.requests 2! + 20 ephemeralContainers 2 + 729 ephemeralContainers.args 1! + "
        "729 ephemeralContainers.envFrom 1! + 729 ephemeralContainers.resizePolicy 0 + "
        "100 ephemeralContainers.resources.requests 1 + 8 ephemeralContainers.volumeMounts 3 + "
        "200 initContainers 0 + 810 initContainers.resources.requests 3 + 20 topologySpreadConstraints 2 + "
        "8 topologySpreadConstraints.labelSelector.matchLabels 2! + 2 GPUs + 20 claims + 16000 characters"
    ),
    "found 8": read(
        "500 metadata.labels 2! + 100 metadata.managedFields 0 + 500 metadata.ownerReferences 2 + "
        "20 nodeAffinity.required.nodeSelectorTerms 2 + "
        "900 nodeAffinity.required.nodeSelectorTerms.expressions 2 + "
        "500 nodeAffinity.required.nodeSelectorTerms.fields 1 + 100 podAffinity.preferred 2! + "
        "8 podAffinity.preferred.podAffinityTerm.labelSelector.expressions 0 + "
        "500 podAffinity.preferred.podAffinityTerm.labelSelector.expressions.values 3 + "
        "8 podAffinity.preferred.podAffinityTerm.namespaceSelector.expressions 2 + "
        "100 podAffinity.preferred.podAffinityTerm.namespaceSelector.expressions.values 0 + "
        "8 podAffinity.required 2 + 100 podAffinity.required.labelSelector.matchLabels 0 + "
        "8 podAffinity.required.namespaceSelector.matchLabels 2 + 20 podAntiAffinity.preferred 0 + "
        "500 podAntiAffinity.preferred.podAffinityTerm.matchLabelKeys 3 + 100 podAntiAffinity.required 0 + "
        "8 podAntiAffinity.required.labelSelector.expressions 2 + "
        "8 podAntiAffinity.required.namespaceSelector.expressions 3! + 200 containers 3 + "
        "500 containers.args 3! + 100 containers.resizePolicy 2 + 1000 containers.resources.requests 2 + "
        "20 ephemeralContainers 2 + 100 ephemeralContainers.volumeMounts 3 + 200 initContainers 2 + "
        "500 initContainers.envFrom 0 + 8 initContainers.ports 3 + 1000 overhead 1! + 100 resourceClaims 0 + "
        "500 resources.claims 1 + 1000 schedulingGates 3 + 2 GPUs"
    ),
    "found 9": read(
        "8 podAffinity.required.mismatchLabelKeys 0 + 200 podAntiAffinity.preferred 0 + "
        "100 podAntiAffinity.preferred.podAffinityTerm.namespaces 3 + 8 podAntiAffinity.required 2! + "
        "500 podAntiAffinity.required.labelSelector.matchLabels 0 + 100 containers 0 + "
        "1000 containers.resources.requests 2 + 200 ephemeralContainers 3 + 1000 ephemeralContainers.envFrom 2 + "
        "500 hostAliases 2 + 200 initContainers 3 + 100 initContainers.args 0! + 500 initContainers.envFrom 1 + "
        "8 initContainers.resources.limits 2 + 1000 tolerations 3! + 200 topologySpreadConstraints 1 + "
        "1000 topologySpreadConstraints.labelSelector.matchLabels 2 + 2 GPUs + 20 claims + 16000 characters"
    ),
    "found 10": read(
        "656 metadata.managedFields 3 + 8 nodeAffinity.required.nodeSelectorTerms 2 + "
        "500 nodeAffinity.required.nodeSelectorTerms.expressions 0 + "
        "625 nodeAffinity.required.nodeSelectorTerms.expressions.values 2 + "
        "100 nodeAffinity.required.nodeSelectorTerms.fields 0 + "
        "625 nodeAffinity.required.nodeSelectorTerms.fields.values 1 + 200 podAffinity.preferred 0 + "
        "100 podAffinity.preferred.podAffinityTerm.labelSelector.expressions 1 + "
        "100 podAffinity.preferred.podAffinityTerm.labelSelector.expressions.values 2 + "
        "500 podAffinity.preferred.podAffinityTerm.namespaceSelector.expressions 3! + "
        "500 podAffinity.preferred.podAffinityTerm.namespaceSelector.expressions.values 2! + "
        "200 podAffinity.required 0 + 8 podAffinity.required.mismatchLabelKeys 2! + "
        "100 podAffinity.required.namespaceSelector.matchLabels 0 + 200 podAntiAffinity.preferred 0 + "
        "500 podAntiAffinity.preferred.podAffinityTerm.labelSelector.expressions 2 + "
        "8 podAntiAffinity.preferred.podAffinityTerm.matchLabelKeys 0 + "
        "500 podAntiAffinity.preferred.podAffinityTerm.namespaceSelector.expressions 1 + "
        "100 podAntiAffinity.preferred.podAffinityTerm.namespaceSelector.expressions.values 0 + "
        "8 podAntiAffinity.preferred.podAffinityTerm.namespaceSelector.matchLabels 1 + "
        "200 podAntiAffinity.required 1! + 500 podAntiAffinity.required.labelSelector.expressions 2 + "
        "656 podAntiAffinity.required.labelSelector.matchLabels 2! + "
        "500 podAntiAffinity.required.namespaceSelector.matchLabels 0 + 200 containers 0 + "
        "8 containers.resources.claims 1 + 729 containers.volumeDevices 0 + 100 ephemeralContainers 0! + "
        "729 ephemeralContainers.ports 1 + 8 hostAliases 1! + 200 resourceClaims 0 + 4 GPUs + 200 claims"
    ),
    "found 11": read(
        "1000 metadata.ownerReferences 3 + 200 podAffinity.preferred 1 + "
        "100 podAffinity.preferred.podAffinityTerm.labelSelector.expressions 3 + "
        "500 podAffinity.preferred.podAffinityTerm.labelSelector.expressions.values 2 + 100 containers 3 + "
        "100 ephemeralContainers 2 + 100 nodeSelector 2 + 1000 tolerations 0! + 8 GPUs + 200 claims"
    ),
}

WORKLOADS: tuple[Shape, ...] = (
    roles.read(
        "4 roles with 8 terms to all, differing in choice: 2 nodeAffinity.preferred 1 + 13 "
        "nodeAffinity.preferred.preference.expressions 2 + 1 nodeAffinity.preferred.preference.expressions.values "
        "2! + 5 podAntiAffinity.required 0 + 56 podAntiAffinity.required.labelSelector.expressions 2! + 1 "
        "podAntiAffinity.required.matchLabelKeys 2 + 1 podAntiAffinity.required.namespaces 0 + 1 containers.ports "
        "2 + 150 initContainers 0 + 13 initContainers.volumeMounts 1 + 11 topologySpreadConstraints 0 + 56 "
        "topologySpreadConstraints.labelSelector.expressions 0 + 5 "
        "topologySpreadConstraints.labelSelector.expressions.values 3 + 282 volumes 1 + 4 GPUs"
    ),
    roles.read(
        "4 roles with 8 terms to all, differing in memory: 14 nodeAffinity.preferred 2 + 5 "
        "nodeAffinity.preferred.preference.fields 2 + 5 nodeAffinity.preferred.preference.fields.values 1 + 1 "
        "podAffinity.required 2 + 126 podAffinity.required.labelSelector.expressions 3! + 143 "
        "podAntiAffinity.required 1! + 5 podAntiAffinity.required.matchLabelKeys 3 + 3 ephemeralContainers 0 + 3 "
        "ephemeralContainers.resources.claims 0! + 143 initContainers 2 + 71 initContainers.command 0 + 50 "
        "topologySpreadConstraints 2 + 25 topologySpreadConstraints.labelSelector.matchLabels 3 + 4 GPUs + 16000 "
        "characters"
    ),
    roles.read(
        "4 roles with 8 terms to all, differing in memory: 200 podAntiAffinity.preferred 2 + 200 initContainers 1 "
        "+ 8 initContainers.command 0! + 20 claims"
    ),
    roles.read(
        "4 roles with 1 terms to all, differing in memory: 53 podAffinity.required 3 + 5 podAntiAffinity.required "
        "2 + 266 podAntiAffinity.required.namespaceSelector.expressions 0 + 266 "
        "podAntiAffinity.required.namespaceSelector.expressions.values 2 + 8 ephemeralContainers.ports 1! + 2 "
        "GPUs"
    ),
    roles.read(
        "4 roles with 8 terms to all, differing in memory: 200 podAffinity.preferred 2 + 1 "
        "podAffinity.preferred.podAffinityTerm.namespaceSelector.expressions 0 + 100 "
        "podAffinity.preferred.podAffinityTerm.namespaces 3 + 1 ephemeralContainers 0 + 1 "
        "ephemeralContainers.args 0 + 3 hostAliases 0 + 4 GPUs"
    ),
    roles.read(
        "64 roles with 8 terms to all, differing in memory: 1 "
        "podAffinity.preferred.podAffinityTerm.namespaceSelector.matchLabels 1 + 1 podAntiAffinity.required 0! + "
        "1 podAntiAffinity.required.labelSelector.matchLabels 1 + 1 ephemeralContainers 0 + 1 "
        "ephemeralContainers.resizePolicy 0 + 5 topologySpreadConstraints 3 + 29 "
        "topologySpreadConstraints.labelSelector.expressions 0 + 2 GPUs + 1 gang"
    ),
    roles.read(
        "4 roles with 8 terms to all, differing in memory: 2 podAffinity.required.mismatchLabelKeys 2 + 8 "
        "podAntiAffinity.required 3 + 2 podAntiAffinity.required.labelSelector.expressions 1 + 29 "
        "podAntiAffinity.required.labelSelector.expressions.values 1 + 135 containers 1 + 67 "
        "containers.resources.claims 3 + 8 GPUs + 200 claims"
    ),
)
