"""Reads from webhook configurations whether all new pods are sent to podberth, as policies of ``scope: All`` need.

The shipped webhook entries send pods with GPUs and pods of gangs, by the match conditions ``asks-for-accelerators`` and
``gpu-or-gang``. An entry for pod creations with neither condition sends all other pods, too
(manifests/components/all-pods).
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from ..kube.namespaces import NAME_LABEL
from ..kube.selector import LabelRequirements
from ..wellknown import NEEDS_EVERY_POD_ANNOTATION

MUTATING: Final = "MutatingWebhookConfiguration"
VALIDATING: Final = "ValidatingWebhookConfiguration"
_NARROWED_BY: Final = frozenset({"asks-for-accelerators", "gpu-or-gang"})


def entries_wanted(policy: Mapping[str, Any]) -> tuple[str, ...]:
    """Return which webhook configurations must send every new pod for a GPUPolicy to take effect; empty if none.

    The result has the Kubernetes kinds: MutatingWebhookConfiguration, ValidatingWebhookConfiguration.
    """
    spec, annotations = policy.get("spec") or {}, policy["metadata"].get("annotations")
    if spec.get("scope") != "All" or spec.get("disabled") or not needs_every_pod(annotations or {}):
        return ()
    if not _of_new_pods((spec.get("matchConstraints") or {}).get("resourceRules")):
        return ()
    writes = (MUTATING,) if spec.get("mutations") else ()
    judges = (VALIDATING,) if spec.get("validations") or spec.get("auditAnnotations") else ()
    return (*writes, *judges)


def needs_every_pod(annotations: Mapping[str, str]) -> bool:
    """Return whether a policy of scope All needs the reviews of all pods, according to its annotations.

    False only if the annotation ``podberth.io/needs-every-pod`` is ``false``.
    """
    return annotations.get(NEEDS_EVERY_POD_ANNOTATION) != "false"


def sends_every_pod(configuration: Mapping[str, Any]) -> bool:
    """Return whether an entry of a webhook configuration sends podberth new pods without GPUs."""
    return any(
        _of_new_pods(entry.get("rules") or ())
        and not any(each.get("name") in _NARROWED_BY for each in entry.get("matchConditions") or ())
        for entry in configuration.get("webhooks") or ()
    )


def sends_namespace(configuration: Mapping[str, Any], name: str, labels: Mapping[str, str]) -> bool:
    """Return whether an entry of a webhook configuration sends podberth new pods of the namespace ``name``.

    ``labels`` are the labels of the namespace. Only the entry's rules and namespaceSelector are read.
    """
    named = {**labels, NAME_LABEL: name}
    return any(
        _of_new_pods(entry.get("rules") or ()) and LabelRequirements(entry.get("namespaceSelector")).match(named)
        for entry in configuration.get("webhooks") or ()
    )


def _of_new_pods(rules: Iterable[Mapping[str, Any]] | None) -> bool:
    """Return whether a webhook entry's rules include the creation of pods.

    If ``rules`` is None, the default rules apply, which include the creation of pods.
    """
    if rules is None:
        return True
    wanted = {"operations": "CREATE", "apiGroups": "", "resources": "pods"}
    return any(all({key_of, "*"} & set(rule.get(key) or ()) for key, key_of in wanted.items()) for rule in rules)
