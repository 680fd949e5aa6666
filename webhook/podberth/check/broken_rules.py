"""Finds what the API server refuses in workloads of Kubernetes' own kinds, though all types and values are known.

The Jobs of JobSets are checked, too, and of all other kinds the names, labels and annotations of the objects. What is
wrong in a pod of any kind is found by ``pod_refusals``.

Sources: kubernetes pkg/apis/batch/validation (ValidateJobSpec), pkg/apis/apps/validation (ValidateDeploymentSpec,
ValidateStatefulSetSpec, ValidateDaemonSetSpec), pkg/apis/core/validation (ValidateVolumeMounts,
validateContainerCommon, validateResourceClaimNames). Of the template of a StatefulSet, older releases check the
restartPolicy alone: there its pods are refused. JobSet: kubernetes-sigs/jobset pkg/webhooks/jobset_webhook.go has its
defaults; its CRD takes a whole JobTemplateSpec, and its controller adds no volume.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple

from ..kinds.forms import find
from ..kube.object_names import MAX_LABEL, is_label, is_subdomain
from ..kube.paths import Path
from ..kube.pod import containers, spec
from ..kube.schedule import is_schedule
from ..kube.schema import PodSchema, workload_type
from ..kube.shape import shown
from ..kube.unchecked import list_at, mapping_at, text_at
from ..kube.walk import values
from ..words import did_you_mean
from ..workload.projection import place_of
from ..workload.templates import Template, objects_in
from .numbers import QUANTITY_HOLDERS, holds_placeholder, is_filled_in_later, is_placeholder
from .pod_refusals import WANT_LABEL, WANT_SUBDOMAIN, refused, wrong_amount, wrong_metadata, wrong_name
from .unknown_fields import UnknownField, unknown_fields_in

_ONCE: Final = frozenset({"CronJob", "Job"})
_OF_JOBS: Final = _ONCE | {"JobSet"}
_CLAIMS: Final = frozenset({"volumeClaimTemplate", "volumeClaimTemplates"})
_FOREVER: Final = frozenset({"DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"})
# ValidateNonnegativeField in the specs of workloads
_COUNTS: Final = (
    "activeDeadlineSeconds",
    "backoffLimit",
    "backoffLimitPerIndex",
    "completions",
    "failedJobsHistoryLimit",
    "maxFailedIndexes",
    "minReadySeconds",
    "parallelism",
    "progressDeadlineSeconds",
    "replicas",
    "revisionHistoryLimit",
    "startingDeadlineSeconds",
    "successfulJobsHistoryLimit",
    "ttlSecondsAfterFinished",
)
# validateJobSpec
_OF_INDEXED: Final = ("backoffLimitPerIndex", "maxFailedIndexes", "successPolicy")
# ValidateCronJobCreate: the names of a CronJob's Jobs have 11 characters more
_LONGEST_CRON_JOB: Final = MAX_LABEL - 11
_MAYBE: Final = "; only a warning, because another file of the folder may complete it"
_UNLESS: Final = "; only a warning, because a webhook or another file may add it"


class _Object(NamedTuple):
    """An object with pod templates: a document, or an object that a document wraps, as an AppWrapper does."""

    path: Path
    """The path from the document to the object."""
    content: Mapping[str, Any]
    kind: str
    """The kind, if it is JobSet or one of Kubernetes' own kinds; else empty."""
    templates: Sequence[Template]


def broken_rules(content: Mapping[str, Any], found: Sequence[Template], *, named: bool) -> Iterator[UnknownField]:
    """Yield a finding for each broken rule of an object with the templates ``found``, read by ``misshapen.readable``.

    What the API server refuses is an error. ``named`` says whether the user named the file. In a file of a folder,
    which a kustomization may complete, these are warnings that say so: an absent field, and a selector or a mount
    without its counterpart. Neither is reported in what may be a patch.
    """
    for each in _objects(content, found):
        if each.content.get("kind") == "PodTemplate":
            continue
        yield from _metadata(each)
        if workload_type(each.content):
            yield from _amounts(each)
            yield from _counts((*each.path, "spec"), mapping_at(each.content, "spec"))
        if each.kind == "CronJob":
            yield from _schedule(each)
        for template in each.templates if each.kind else ():
            yield from _in_template(each, template, named=named)


def refusals(content: Mapping[str, Any], found: Sequence[Template], schema: PodSchema) -> Iterator[tuple[Path, str]]:
    """Yield (path, message) for all in an object with the templates ``found`` that the API server or kubectl refuses.

    The object is that of a file that the user named.
    """
    for template in found:
        yield from ((place_of(template, path), wrong) for path, wrong in refused(template.pod, template.own))
    for each in chain(unknown_fields_in(content, found, schema), broken_rules(content, found, named=True)):
        if each.refused:
            yield each.path, each.message


def _in_template(whole: _Object, template: Template, *, named: bool) -> Iterator[UnknownField]:
    if whole.kind in _OF_JOBS:
        yield from _job(whole, template, named=named)
    if template.problems:
        return
    yield from _restarts(whole.kind, template)
    yield from _media(template)
    # The containers of a patch seldom have an image
    if named or all(each.body.get("image") for each in containers(template.pod)):
        yield from _selector(whole, template, named=named)
        yield from _mounts(template, named=named)
        yield from _used_claims(template, named=named)
        yield from _absent(whole, template, named=named)


def _objects(content: Mapping[str, Any], found: Sequence[Template]) -> Iterator[_Object]:
    """Yield the objects of a document, each with those of the templates ``found`` that no inner object has."""
    objects = dict(objects_in(content))
    templates: dict[Path, list[Template]] = {path: [] for path in objects}
    for template in found:
        above = (template.path[:length] for length in range(len(template.path), -1, -1))
        templates[next(path for path in above if path in objects)].append(template)
    for path, each in objects.items():
        kind = str(each.get("kind"))
        yield _Object(path, each, kind if workload_type(each) or kind == "JobSet" else "", templates[path])


def _completable(path: Path, message: str, *, named: bool) -> UnknownField:
    """Return the finding about what another file may complete: an error only if the user named the file."""
    return UnknownField(path, message if named else message + _MAYBE, refused=named)


def _metadata(whole: _Object) -> Iterator[UnknownField]:
    """Yield a finding for each name, label and annotation of an object that the API server refuses."""
    name = text_at(whole.content, "metadata", "name")
    is_right, want = (is_label, WANT_LABEL) if whole.kind == "StatefulSet" else (is_subdomain, WANT_SUBDOMAIN)
    wrong = wrong_name(name, is_right, want) if name else ""
    if not wrong and whole.kind == "CronJob" and len(name) > _LONGEST_CRON_JOB and not is_filled_in_later(name):
        wrong = f"got {len(name)} characters, want {_LONGEST_CRON_JOB} at most: its Jobs have 11 more"
    if wrong:
        yield UnknownField((*whole.path, "metadata", "name"), wrong, refused=True)
    if whole.kind != "Pod":  # the metadata of a Pod is that of its template
        for path, said in wrong_metadata(mapping_at(whole.content, "metadata")):
            yield UnknownField((*whole.path, *path), said, refused=True)


def _counts(path: Path, found: Mapping[str, Any]) -> Iterator[UnknownField]:
    for name in _COUNTS:
        if type(got := found.get(name)) is int and got < 0:
            yield UnknownField((*path, name), f"got {got}, want 0 or more", refused=True)


def _job(whole: _Object, template: Template, *, named: bool) -> Iterator[UnknownField]:
    """Yield a finding for each broken rule of a Job's spec, outside its pod template."""
    path = template.path[:-1]
    job = find(template.document, path)
    if not isinstance(job, Mapping):
        return
    if whole.kind != "Job":
        yield from _counts(path, job)
    mode = job.get("completionMode") or ("Indexed" if whole.kind == "JobSet" else "NonIndexed")
    completions = job.get("completions")
    if mode == "Indexed" and completions is None and job.get("parallelism") is not None:
        want = "got no completions, want the number of pods: the API server refuses an Indexed Job without it"
        yield _completable(path, want, named=named)
    for field in _OF_INDEXED if mode == "NonIndexed" else ():
        if job.get(field) is not None:
            yield UnknownField((*path, field), f"got {field}, want completionMode Indexed beside it", refused=True)
    policy = text_at(template.own, "spec", "restartPolicy")
    if job.get("podFailurePolicy") is not None and policy == "OnFailure":
        place = place_of(template, ("spec", "restartPolicy"))
        yield UnknownField(place, "got OnFailure, want Never: the Job has a podFailurePolicy", refused=True)


def _amounts(whole: _Object) -> Iterator[UnknownField]:
    """Yield a finding for each invalid quantity that a claim in the object asks for."""
    for path, value in values(whole.content):
        is_amount = path[-2:-1] in QUANTITY_HOLDERS and not _CLAIMS.isdisjoint(path)
        if is_amount and not is_placeholder(value) and (wrong := wrong_amount(value)):
            yield UnknownField((*whole.path, *path), wrong, refused=True)


def _schedule(whole: _Object) -> Iterator[UnknownField]:
    got = text_at(whole.content, "spec", "schedule")
    if got and not is_schedule(got) and not holds_placeholder(got):
        message = f"got {got!r:.63}, want five fields such as '0 3 * * 1', or a name such as @daily"
        yield UnknownField((*whole.path, "spec", "schedule"), message, refused=True)


def _restarts(kind: str, template: Template) -> Iterator[UnknownField]:
    got, path = text_at(template.own, "spec", "restartPolicy"), ("spec", "restartPolicy")
    if kind in _OF_JOBS and got == "Always":
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


def _selector(whole: _Object, template: Template, *, named: bool) -> Iterator[UnknownField]:
    labels = mapping_at(template.own, "metadata", "labels")
    wanted = mapping_at(whole.content, "spec", "selector", "matchLabels") if whole.kind in _FOREVER else {}
    for key, value in wanted.items():
        if labels and labels.get(key) != value and not holds_placeholder(f"{key}{value}{labels.get(key)}"):
            has = f"has {_plain(labels[key])}" if key in labels else "does not have the label"
            message = f"got {_plain(value)}, but the template {has}; want the same in both"
            yield _completable((*whole.path, "spec", "selector", "matchLabels", key), message, named=named)


def _plain(value: object) -> str:
    return value[:63] if isinstance(value, str) else shown(value, 63)


def _mounts(template: Template, *, named: bool) -> Iterator[UnknownField]:
    volumes = {text_at(each, "name") for each in spec(template.pod).get("volumes") or ()}
    if any(map(holds_placeholder, volumes)):
        return
    for container in containers(template.pod):
        for at, mount in enumerate(container.body.get("volumeMounts") or ()):
            name = text_at(mount, "name")
            if name and name not in volumes and not holds_placeholder(name):
                message = f"got {name:.63}, which no volume of the pod has{did_you_mean(name, volumes)}"
                place = place_of(template, (*container.path, "volumeMounts", at, "name"))
                yield _completable(place, message, named=named)


def _used_claims(template: Template, *, named: bool) -> Iterator[UnknownField]:
    """Yield a finding for each claim of a container that the pod does not have (validateResourceClaimNames)."""
    claims = {text_at(each, "name") for each in spec(template.pod).get("resourceClaims") or ()}
    if any(map(holds_placeholder, claims)):
        return
    for container in containers(template.pod):
        for at, used in enumerate(list_at(container.body, "resources", "claims")):
            name = text_at(used, "name")
            if name and name not in claims and not holds_placeholder(name):
                message = f"got {name:.63}, which is none of the pod's resourceClaims{did_you_mean(name, claims)}"
                place = place_of(template, (*container.path, "resources", "claims", at, "name"))
                yield _completable(place, message, named=named)


def _absent(whole: _Object, template: Template, *, named: bool) -> Iterator[UnknownField]:
    """Yield a finding for each field that the object needs and does not have, at the nearest field around it.

    A patch lacks all of them, so one is reported only if the object has another. The image is a warning always: the API
    has it optional "to allow higher level config management to default or override" it (core/v1 types.go Container).
    """
    lacking = [each for each in containers(template.pod) if not each.body.get("image")]
    why = "the API server refuses " + ("its Jobs" if whole.kind == "JobSet" else f"such a {whole.kind}")
    if whole.kind in _ONCE and not text_at(template.own, "spec", "restartPolicy"):
        if not lacking:
            message = f"got no restartPolicy, want Never or OnFailure: {why}"
            yield _completable(place_of(template, ("spec", "restartPolicy")), message, named=named)
    elif whole.kind in _FOREVER and not mapping_at(whole.content, "spec", "selector"):
        if not lacking and named:  # a file of a folder that lacks it is a patch, nearly always
            message = f"got no selector, want matchLabels with labels of the template: {why}"
            yield UnknownField((*whole.path, "spec"), message, refused=True)
    else:
        for each in lacking:
            message = f"got no image for container {each.name or 'without a name'}: {why}{_UNLESS}"
            yield UnknownField(place_of(template, each.path), message, refused=False)
