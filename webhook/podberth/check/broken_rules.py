"""Finds what the API server refuses in workloads of Kubernetes' own kinds, though all types and values are known.

Sources: kubernetes pkg/apis/batch/validation (ValidateJobSpec), pkg/apis/apps/validation (ValidateDeploymentSpec,
ValidateStatefulSetSpec, ValidateDaemonSetSpec), pkg/apis/core/validation (ValidateVolumeMounts). Of the template of a
StatefulSet, older releases check the restartPolicy alone: there its pods are refused.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ..errors import did_you_mean
from ..kube.pod import containers, spec
from ..kube.schema import workload_type
from ..kube.unchecked import mapping_at, text_at
from ..workload.projection import place_of
from ..workload.templates import Template
from .numbers import holds_placeholder
from .unknown_fields import UnknownField

_ONCE: Final = frozenset({"CronJob", "Job"})
_FOREVER: Final = frozenset({"DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"})


def broken_rules(content: Mapping[str, Any], found: Sequence[Template], *, named: bool) -> Iterator[UnknownField]:
    """Yield a finding for each broken rule of an object with the templates ``found``.

    Fields that are absent break no rule here. ``named`` says whether the user named the file: in a file of a folder,
    which a kustomization may complete, selectors and mounts are warnings, and are not reported in what may be a patch.
    """
    kind = str(content.get("kind"))
    if not workload_type(content) or kind == "PodTemplate":
        return
    for template in found:
        if template.problems:
            continue
        yield from _restarts(kind, template)
        # The containers of a patch seldom have an image
        if named or all(each.body.get("image") for each in containers(template.pod)):
            yield from _selector(content, template, named=named)
            yield from _mounts(template, named=named)


def _restarts(kind: str, template: Template) -> Iterator[UnknownField]:
    got, path = text_at(template.own, "spec", "restartPolicy"), ("spec", "restartPolicy")
    if kind in _ONCE and got == "Always":
        message = f"got Always, want Never or OnFailure: a {kind} runs its pods to their end"
    elif kind in _FOREVER and got in ("Never", "OnFailure"):
        message = f"got {got}, want Always: a {kind} starts its pods again"
    else:
        return
    yield UnknownField(place_of(template, path), message, refused=True)


def _selector(content: Mapping[str, Any], template: Template, *, named: bool) -> Iterator[UnknownField]:
    labels = mapping_at(template.own, "metadata", "labels")
    wanted = mapping_at(content, "spec", "selector", "matchLabels") if content.get("kind") in _FOREVER else {}
    for key, value in wanted.items():
        if labels and labels.get(key) != value and not holds_placeholder(f"{key}{value}{labels.get(key)}"):
            has = f"has {labels[key]!s:.63}" if key in labels else "does not have the label"
            message = f"got {value!s:.63}, but the template {has}; want the same in both"
            yield UnknownField(("spec", "selector", "matchLabels", key), message, refused=named)


def _mounts(template: Template, *, named: bool) -> Iterator[UnknownField]:
    volumes = {text_at(each, "name") for each in spec(template.pod).get("volumes") or ()}
    for container in containers(template.pod):
        for at, mount in enumerate(container.body.get("volumeMounts") or ()):
            name = text_at(mount, "name")
            if name and name not in volumes and not holds_placeholder(name):
                message = f"got {name:.63}, which no volume of the pod has{did_you_mean(name, volumes)}"
                place = place_of(template, (*container.path, "volumeMounts", at, "name"))
                yield UnknownField(place, message, refused=named)
