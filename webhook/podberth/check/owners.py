"""Selects the objects of a cluster that are workloads: each top owner, without the objects that the owner created.

A top owner is an object that no other object owns. A top owner is a workload if podberth can predict the owner's pods.
If the owner is not among the objects, each object that the owner created is a workload itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ..kube import pod as pods
from ..kube.object_names import cron_job_of
from ..kube.shape import registration_problems
from ..kube.unchecked import list_at, mapping_at, text_at
from ..native.documents import is_beside
from ..policy.every_pod import VALIDATING, sends_namespace
from ..workload.kinds import LINKS, TEMPLATES_ONLY, is_known, row_for
from ..workload.owners import is_finished, maker_of
from ..workload.templates import templates
from .run import CheckSettings, is_exempt
from .sources import Document, Source, without_place

_PODBERTH: Final = "podberth"
"""The name of podberth's webhook configurations (manifests/base)."""
# Real chains of owners have four objects (AppWrapper, JobSet, Job, Pod). The limit ends circular references.
_DEEPEST: Final = 10
# Fields that an API server, a scheduler or a kubelet adds to an object after admission.
_LATER: Final = frozenset(
    {"creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid", "deletionTimestamp"}
)
_LATER_OF_SPEC: Final = frozenset({"nodeName", "ephemeralContainers"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TopOwner:
    """An object of a cluster that is a workload, with the live pods of the workload."""

    source: Source
    pods: tuple[Document, ...]
    """The live pods of the workload with the pods' state in the cluster; a Pod without an owner is itself the workload.
    """
    unseen: bool = False
    """Whether the API server calls podberth for no pod of the namespace, so that native policies alone decide."""


@dataclass(frozen=True, slots=True)
class TopOwners:
    """The objects of a cluster that are workloads, in the order of the input, and counts of the other objects."""

    owners: tuple[TopOwner, ...]
    owned: int
    """The number of objects that another object of the input owns, and that are part of the owner's workload."""
    finished: int
    """The number of workloads that create no more pods."""
    exempt: int
    """The number of workloads that no policy judges, as the API server does not call podberth for their pods."""
    unknown: Mapping[str, int] = field(default_factory=dict)
    """The number of objects whose pods podberth cannot predict, by ``apiVersion kind``."""


def top_owners(
    sources: Sequence[Source],
    settings: CheckSettings,
    known: Sequence[Document],
    namespaces: Mapping[str, Mapping[str, Any]],
) -> TopOwners:
    """Return the objects among ``sources`` that are workloads.

    ``known`` are the documents that workloads may refer to. ``namespaces`` are the cluster's Namespaces by name.
    Workloads in namespaces for which the API server does not call podberth are only counted, unless there are native
    policies: in exempt namespaces, and in namespaces that podberth's ValidatingWebhookConfiguration leaves out, if the
    configuration is among ``sources``.
    """
    return _Owners(sources, settings, known).select(namespaces)


class _Owners:
    def __init__(self, sources: Sequence[Source], settings: CheckSettings, known: Sequence[Document]) -> None:
        self.settings = settings
        self.known = known
        self.unknown: dict[str, int] = {}
        found = {_uid(each) or str(id(each)): each for each in sources if self._may_make_pods(each)}
        self.workloads = list(found.values())
        """The objects that are workloads or parts of a workload.

        An object that was listed in two versions of the object's API group occurs once.
        """
        self._own = frozenset(map(id, self.workloads))
        self.by_uid = {uid: each for each in (*sources, *self.workloads) if (uid := _uid(each))}
        """All objects by uid.

        An object whose kind creates no pods may still be between a pod and the pod's top owner.
        """
        self.by_name = {self._place(each, each.kind, each.name): each for each in self.workloads}
        self._with_templates: dict[int, bool] = {}
        self._configuration = next((each.content for each in sources if _is_registration(each)), None)

    def select(self, namespaces: Mapping[str, Mapping[str, Any]]) -> TopOwners:
        tops = [(each, self._top(each)) for each in self.workloads]
        live: dict[int, list[Document]] = {}
        for each, top in tops:
            if each.kind == "Pod" and not _ended(each.content):
                live.setdefault(id(top), []).append(each.content)
        chosen = [each for each, top in tops if top is each and self._has_templates(each)]
        going = [each for each in chosen if not _ended(each.content)]
        every = [
            TopOwner(
                source=as_created(each),
                pods=tuple(live.get(id(each), ())),
                unseen=not self._is_sent(each.namespace(self.settings.namespace), namespaces),
            )
            for each in going
        ]
        judged = [each for each in every if self.settings.natives is not None or not each.unseen]
        return TopOwners(
            owners=tuple(judged),
            owned=sum(top is not each for each, top in tops),
            finished=len(chosen) - len(going),
            exempt=len(every) - len(judged),
            unknown=dict(sorted(self.unknown.items())),
        )

    def _is_sent(self, namespace: str, namespaces: Mapping[str, Mapping[str, Any]]) -> bool:
        """Return whether the API server calls podberth for the pods of a namespace.

        If podberth's webhook configuration is known, the namespaceSelector in it decides.
        """
        if is_exempt(namespace, namespaces):
            return False
        labels = namespaces.get(namespace, {}).get("metadata", {}).get("labels") or {}
        return self._configuration is None or sends_namespace(self._configuration, namespace, labels)

    def _may_make_pods(self, source: Source) -> bool:
        content = source.content
        if not is_known(content) and source.kind not in self.settings.template_paths:
            name = f"{source.api_version} {source.kind}".strip() or "without a kind"
            if (source.api_version.rpartition("/")[0], source.kind) not in LINKS and not is_beside(content):
                self.unknown[name] = self.unknown.get(name, 0) + 1
            return False
        if source.kind in TEMPLATES_ONLY or not isinstance(content.get("metadata"), dict):
            return False
        is_pod = (source.api_version, source.kind) == ("v1", "Pod")
        return is_pod or row_for(content) is not None or source.kind in self.settings.template_paths

    def _top(self, source: Source) -> Source:
        """Return the highest of an object's owners with pod templates; the object itself if no owner has any."""
        top = here = source
        for _ in range(_DEEPEST):
            above = self._above(here)
            if above is source:  # in a circle of owners, every object represents itself
                return source
            if above is None:
                break
            here = above
            top = here if self._has_templates(here) else top
        return top

    def _above(self, source: Source) -> Source | None:
        """Return the owner of an object; None if the owner is not among the listed objects.

        The owner is found by its uid. If the owner is a ReplicaSet or a Job that was not listed, the result is the
        Deployment, the Rollout or the CronJob whose name the owner's name begins with.
        """
        owner = _controller(source.content)
        if owner is None:
            return None
        name, kind = str(owner.get("name") or ""), owner.get("kind")
        found = self.by_uid.get(str(owner.get("uid") or ""))
        # A uid alone is no proof: a pod that names the uid of another object represents itself.
        if found is not None and not ((found.kind, found.name) == (kind, name) and self._is_near(found, source)):
            found = None
        if found is None and kind == "ReplicaSet":
            maker = maker_of(name, mapping_at(source.content, "metadata", "labels"))
            found = self.by_name.get(self._place(source, *maker)) if maker is not None else None
        if found is None and kind == "Job":
            found = self.by_name.get(self._place(source, "CronJob", cron_job_of(name)))
        return found

    def _is_near(self, owner: Source, source: Source) -> bool:
        """Return whether ``owner``, by its namespace, can own ``source``; a cluster-scoped owner can own any object."""
        where = owner.content["metadata"].get("namespace")
        return not where or where == source.namespace(self.settings.namespace)

    def _place(self, source: Source, kind: str, name: str) -> tuple[str, str, str]:
        return source.namespace(self.settings.namespace), kind, name

    def _has_templates(self, source: Source) -> bool:
        """Return whether podberth can predict pods of an object."""
        found = self._with_templates.get(id(source))
        if found is None and id(source) not in self._own:
            found = False
        if found is None:
            namespace = source.namespace(self.settings.namespace)
            paths = self.settings.template_paths
            found = bool(templates(source.content, namespace=namespace, known=self.known, extra=paths))
            self._with_templates[id(source)] = found
        return found


def _is_registration(source: Source) -> bool:
    content = source.content
    is_ours = (source.kind, source.name) == (VALIDATING, _PODBERTH) and isinstance(content.get("webhooks"), list)
    return is_ours and not registration_problems(content)


def _controller(content: Document) -> Mapping[str, Any] | None:
    """Return the ownerReference with ``controller: true``; without one, the first ownerReference; None if none."""
    found = [each for each in list_at(content, "metadata", "ownerReferences") if isinstance(each, dict)]
    return next((each for each in found if each.get("controller") is True), found[0] if found else None)


def _uid(source: Source) -> str:
    return text_at(source.content, "metadata", "uid")


def _ended(content: Document) -> bool:
    """Return whether a workload creates no more pods, because the workload has finished or is being deleted."""
    if content["metadata"].get("deletionTimestamp"):
        return True
    group = str(content.get("apiVersion")).rpartition("/")[0]
    return is_finished(group, str(content.get("kind")), content)


def as_created(source: Source) -> Source:
    """Return an object of the cluster as the user created it, without the fields that the cluster has set since.

    An object other than a Pod keeps its uid, by which its pods' gangs are found.

    The object has no line numbers, because finding a line in the JSON of thousands of objects takes long.
    """
    is_pod = source.kind == "Pod"
    content = {key: value for key, value in source.content.items() if key != "status"}
    later = _LATER if is_pod else _LATER - {"uid"}
    content["metadata"] = {key: value for key, value in pods.metadata(content).items() if key not in later}
    if is_pod and isinstance(content.get("spec"), dict):
        content["spec"] = {key: value for key, value in content["spec"].items() if key not in _LATER_OF_SPEC}
    return without_place(source.file, content)
