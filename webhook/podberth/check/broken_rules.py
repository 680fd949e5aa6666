"""Finds what the API server refuses in workloads of Kubernetes' own kinds, though all types and values are known.

Sources: kubernetes pkg/apis/batch/validation (ValidateJobSpec), pkg/apis/apps/validation (ValidateDeploymentSpec,
ValidateStatefulSetSpec, ValidateDaemonSetSpec), pkg/apis/core/validation (ValidateVolumeMounts,
validateContainerCommon). Of the template of a StatefulSet, older releases check the restartPolicy alone: there its pods
are refused.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ..errors import did_you_mean
from ..kube.paths import Path
from ..kube.pod import containers, spec
from ..kube.schedule import is_schedule
from ..kube.schema import workload_type
from ..kube.shape import shown
from ..kube.unchecked import mapping_at, text_at
from ..kube.walk import values
from ..workload.projection import place_of
from ..workload.templates import Template
from .numbers import QUANTITY_HOLDERS, holds_placeholder, is_placeholder, wrong_amount
from .unknown_fields import UnknownField

_ONCE: Final = frozenset({"CronJob", "Job"})
_CLAIMS: Final = frozenset({"volumeClaimTemplate", "volumeClaimTemplates"})
_FOREVER: Final = frozenset({"DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"})


def broken_rules(content: Mapping[str, Any], found: Sequence[Template], *, named: bool) -> Iterator[UnknownField]:
    """Yield a finding for each broken rule of an object with the templates ``found``.

    ``named`` says whether the user named the file: in a file of a folder, which a kustomization may complete, selectors
    and mounts are warnings. They and absent fields, which are warnings always, are not reported in what may be a patch.
    """
    kind = str(content.get("kind"))
    if not workload_type(content) or kind == "PodTemplate":
        return
    yield from _amounts(content)
    if kind == "CronJob":
        yield from _schedule(content)
    for template in found:
        if template.problems:
            continue
        yield from _restarts(kind, template)
        yield from _media(template)
        # The containers of a patch seldom have an image
        if named or all(each.body.get("image") for each in containers(template.pod)):
            yield from _selector(content, template, named=named)
            yield from _mounts(template, named=named)
            yield from _absent(kind, content, template, named=named)


def _amounts(content: Mapping[str, Any]) -> Iterator[UnknownField]:
    """Yield a finding for each invalid quantity that a claim in the object asks for."""
    for path, value in values(content):
        is_amount = path[-2:-1] in QUANTITY_HOLDERS and not _CLAIMS.isdisjoint(path)
        if is_amount and not is_placeholder(value) and (wrong := wrong_amount(value)):
            yield UnknownField(path, wrong, refused=True)


def _schedule(content: Mapping[str, Any]) -> Iterator[UnknownField]:
    got = text_at(content, "spec", "schedule")
    if got and not is_schedule(got) and not holds_placeholder(got):
        message = f"got {got!r:.63}, want five fields such as '0 3 * * 1', or a name such as @daily"
        yield UnknownField(("spec", "schedule"), message, refused=True)


def _restarts(kind: str, template: Template) -> Iterator[UnknownField]:
    got, path = text_at(template.own, "spec", "restartPolicy"), ("spec", "restartPolicy")
    if kind in _ONCE and got == "Always":
        message = f"got Always, want Never or OnFailure: a {kind} runs its pods to their end"
    elif kind in _FOREVER and got in ("Never", "OnFailure"):
        message = f"got {got}, want Always: a {kind} starts its pods again"
    else:
        return
    yield UnknownField(place_of(template, path), message, refused=True)


def _media(template: Template) -> Iterator[UnknownField]:
    """Yield a finding for each medium that no kubelet knows (pkg/volume/emptydir, setUp); the API server takes any."""
    for at, volume in enumerate(spec(template.own).get("volumes") or ()):
        got = text_at(volume, "emptyDir", "medium")
        if got and got != "Memory" and not got.startswith("HugePages") and not holds_placeholder(got):
            message = f"got {got:.63}, which no kubelet can mount, so the pod never starts; want Memory or HugePages"
            place = place_of(template, ("spec", "volumes", at, "emptyDir", "medium"))
            yield UnknownField(place, message, refused=False)


def _selector(content: Mapping[str, Any], template: Template, *, named: bool) -> Iterator[UnknownField]:
    labels = mapping_at(template.own, "metadata", "labels")
    wanted = mapping_at(content, "spec", "selector", "matchLabels") if content.get("kind") in _FOREVER else {}
    for key, value in wanted.items():
        if labels and labels.get(key) != value and not holds_placeholder(f"{key}{value}{labels.get(key)}"):
            has = f"has {_plain(labels[key])}" if key in labels else "does not have the label"
            message = f"got {_plain(value)}, but the template {has}; want the same in both"
            yield UnknownField(("spec", "selector", "matchLabels", key), message, refused=named)


def _plain(value: object) -> str:
    return value[:63] if isinstance(value, str) else shown(value, 63)


def _mounts(template: Template, *, named: bool) -> Iterator[UnknownField]:
    volumes = {text_at(each, "name") for each in spec(template.pod).get("volumes") or ()}
    for container in containers(template.pod):
        for at, mount in enumerate(container.body.get("volumeMounts") or ()):
            name = text_at(mount, "name")
            if name and name not in volumes and not holds_placeholder(name):
                message = f"got {name:.63}, which no volume of the pod has{did_you_mean(name, volumes)}"
                place = place_of(template, (*container.path, "volumeMounts", at, "name"))
                yield UnknownField(place, message, refused=named)


def _absent(kind: str, content: Mapping[str, Any], template: Template, *, named: bool) -> Iterator[UnknownField]:
    """Yield a finding for each field that the object needs and does not have, at the nearest field around it.

    A patch lacks all of them, so one is reported only if the object has another.
    """
    lacking = [each for each in containers(template.pod) if not each.body.get("image")]
    if kind in _ONCE and not text_at(template.own, "spec", "restartPolicy"):
        if not lacking:
            place = place_of(template, ("spec", "restartPolicy"))
            yield _lacks(kind, place, "restartPolicy, want Never or OnFailure")
    elif kind in _FOREVER and not mapping_at(content, "spec", "selector"):
        if not lacking and named:  # a kustomization may add the selector to a file of a folder
            yield _lacks(kind, ("spec",), "selector, want matchLabels with labels of the template")
    else:
        for each in lacking:
            yield _lacks(kind, place_of(template, each.path), f"image for container {each.name or 'without a name'}")


def _lacks(kind: str, path: Path, want: str) -> UnknownField:
    return UnknownField(path, f"got no {want}: the API server refuses such a {kind}", refused=False)
