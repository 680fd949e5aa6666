"""Facts about Grove's PodCliqueSets.

The base gang of a PodCliqueSet has the minimum of replicas of each scaling group. Each further replica of a scaling
group is a gang of its own.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...kube.paths import ELEMENT, Path
from ...kube.unchecked import at, count, list_at, text_at, unread
from ..cliques import stamp_clique
from ..dossier import POD_SPEC_ASKS, Dossier, KindNote, OwnerKind
from ..group_rules import GroupRules, above, items
from ..members import Member, Membership, Subject, index_of
from ..name_sets import words
from ..places import Form, Found, Scene, TemplatePlace, WorkloadKind
from ..roles import Role, asks_in, counted, read_once
from ..starts import Share, Start, StartingGang, none_of

_CLIQUE: Final = Form(
    seats=(
        (("metadata", "labels"), ("labels",)),
        (("metadata", "annotations"), ("annotations",)),
        (("spec",), ("spec", "podSpec")),
    )
)


def _sets(document: Found) -> int:
    """Return the number of gangs of a PodCliqueSet: 0 without ``replicas``, the default of its CRD."""
    return count(at(document, "spec", "replicas"))


def _clique_replicas(scene: Scene) -> int:
    groups = reversed(list_at(scene.spec, "template", "podCliqueScalingGroups"))
    times = (count(at(group, "replicas"), 1) for group in groups if scene.key in list_at(group, "cliqueNames"))
    return count(at(scene.item, "spec", "replicas"), 1) * next(times, 1) * _sets(scene.document)


def _pod_gang(pod: Subject) -> Member:
    index = index_of(pod.labels.get("grove.io/podclique-pod-index"))
    clique = _clique(pod)
    owner = pod.owner("PodCliqueSet")
    scaled = "grove.io/base-podgang" in pod.labels
    roles = read_once(owner, _scaled_cliques, clique) if scaled else read_once(owner, _cliques)
    return Member("PodCliqueSet", pod.labels["grove.io/podgang"], counted(roles), index, clique, roles=roles)


def _clique(pod: Subject) -> str:
    """Return the name of a pod's clique in the PodCliqueSet: the PodClique's name without the set's name and index.

    Source: ai-dynamo/grove operator/api/common/namegen.go.
    """
    full = pod.labels.get("grove.io/podclique") or ""
    kind = "podcliquescalinggroup" if "grove.io/podcliquescalinggroup" in pod.labels else "podcliqueset"
    owner = pod.labels.get("app.kubernetes.io/part-of" if kind == "podcliqueset" else f"grove.io/{kind}")
    return full.removeprefix(f"{owner}-{pod.labels.get(f'grove.io/{kind}-replica-index')}-")


def _cliques(owner: Mapping[str, Any] | None) -> tuple[Role, ...]:
    """Return the roles of a PodCliqueSet's base gang.

    A role is a clique. The number of its pods is multiplied by the minimum of its scaling group. The result is empty if
    a clique autoscales. Source: ai-dynamo/grove
    operator/internal/controller/podcliqueset/components/podgang/syncflow.go.
    """
    return _pods(owner, _times(owner))


def _times(owner: Mapping[str, Any] | None) -> dict[str, int]:
    """Return a mapping from the name of each clique in a scaling group to the group's minimum number of replicas."""
    return {name: least for names, least in _scaling_groups(owner) for name in names}


def _scaled_cliques(owner: Mapping[str, Any] | None, clique: str) -> tuple[Role, ...]:
    """Return the roles of a gang that is one further replica of a scaling group: the group's cliques.

    The group is the one that has the clique ``clique``. The further replicas are those whose index is at least the
    group's minimum. Source: syncflow.go.
    """
    group = next((names for names, _ in _scaling_groups(owner) if clique in names), [])
    return _pods(owner, dict.fromkeys(group, 1), only=frozenset(group))


def _scaling_groups(owner: Mapping[str, Any] | None) -> Iterator[tuple[list[str], int]]:
    """Yield (names of the cliques, minimum number of replicas) for each scaling group."""
    for group in list_at(owner, "spec", "template", "podCliqueScalingGroups"):
        yield [str(name) for name in list_at(group, "cliqueNames")], count(at(group, "minAvailable"), 1)


def _pods(
    owner: Mapping[str, Any] | None, times: Mapping[str, int], only: frozenset[str] | None = None
) -> tuple[Role, ...]:
    cliques = list_at(owner, "spec", "template", "cliques")
    roles: list[Role] = []
    for clique in cliques:
        name = text_at(clique, "name")
        if only is not None and name not in only:
            continue
        # A clique in a scaling group does not autoscale by itself (syncflow.go determinePodCliqueReplicas).
        if at(clique, "spec", "autoScalingConfig") is not None and name not in times:
            return ()
        pods = count(at(clique, "spec", "replicas"), 1) * times.get(name, 1)
        roles.append(Role(pods, asks_in(at(clique, "spec", "podSpec")), unread(at(clique, "spec", "replicas"))))
    return tuple(roles)


def _minimums(document: Found) -> Iterator[tuple[Path, str]]:
    """Yield (path, message) for each minimum that Grove's webhook refuses.

    Source: ai-dynamo/grove operator/internal/webhook/admission/pcs/validation.
    """
    base = ("spec", "template")
    for path, lists in ((("spec",), "cliques"), ((), "podCliqueScalingGroups")):
        for index, each in items(at(document, *base, lists)):
            replicas, least = count(at(each, *path, "replicas"), 1), count(at(each, *path, "minAvailable"))
            if least > replicas:
                yield (*base, lists, index, *path, "minAvailable"), above(least, replicas, "its replicas")


def _starts(gang: StartingGang) -> Start[Any]:
    """Return the number of pods of each clique that start together in the base gang.

    The number is the clique's minAvailable times the minAvailable of the clique's scaling group. Source:
    ai-dynamo/grove operator/internal/webhook/admission/pcs/defaulting, .../podgang/syncflow.go.
    """
    if not _sets(gang.document):
        return none_of(gang.pods)
    times, shares = _times(gang.document), []
    for each in gang.pods:
        clique = gang.item(each, None)
        stated, every = at(clique, "spec", "minAvailable"), count(at(clique, "spec", "replicas"), 1)
        scales = stated is None and at(clique, "spec", "autoScalingConfig") is not None
        least = 0 if scales else min(count(stated, every), every)
        often = times.get(text_at(clique, "name"), 1)
        shares.append(Share(pods=each, most=every * often, least=least * often))
    return Start(shares=tuple(shares), least=sum(each.least for each in shares))


DOSSIER: Final = Dossier(
    name="Grove",
    gates=frozenset({"grove.io"}),  # operator/internal/controller/podclique/components/pod/pod.go podGangSchedulingGate
    versions={"ai-dynamo/grove": "fcc3b3bb, after v0.1.0-alpha.12-rc1"},
    kinds=(
        WorkloadKind(
            api_versions=frozenset({"grove.io/v1alpha1"}),
            kind="PodCliqueSet",
            source="ai-dynamo/grove operator/api/core/v1alpha1/podcliqueset.go",
            places=(
                TemplatePlace(
                    path=("spec", "template", "cliques", ELEMENT),
                    form=_CLIQUE,
                    stamp=lambda pod, scene: stamp_clique(pod, scene, scene.key),
                    replicas=_clique_replicas,
                    lacks=frozenset({"schedulingGroup"}),
                ),
            ),
        ),
    ),
    memberships=(
        Membership(
            name="PodCliqueSet (Grove), and DynamoGraphDeployment, which makes one with Grove",
            source="ai-dynamo/grove operator/api/common/labels.go",
            read=_pod_gang,
            size="the PodCliqueSet: `replicas` of the gang's cliques, unless one autoscales",
            sized_by=("PodCliqueSet",),
            label="grove.io/podgang",
            role_from="the clique's name in label `grove.io/podclique`",
        ),
    ),
    pod_keys=words(
        "app.kubernetes.io/part-of grove.io/base-podgang grove.io/podclique grove.io/podclique-pod-index "
        "grove.io/podcliquescalinggroup grove.io/podcliquescalinggroup-replica-index "
        "grove.io/podcliqueset-replica-index"
    ),
    notes=(
        KindNote(
            key="grove.io/podgang",
            kind="grove.io/PodCliqueSet",
            title="PodCliqueSet (Grove)",
            keeps="the gate `grove.io/podgang-pending-creation` and `schedulerName`, which Grove writes; for KAI the "
            "annotation `pod-group-name` and label `kai.scheduler/subgroup-name`, too: KAI places them",
            source="ai-dynamo/grove operator/internal/controller/podclique/components/pod/pod.go buildResource, "
            "operator/internal/scheduler",
        ),
    ),
    owners=(
        OwnerKind(
            source="ai-dynamo/grove operator/api/core/v1alpha1/podcliqueset.go",
            group="grove.io",
            versions=("v1alpha1",),
            kind="PodCliqueSet",
            spec={
                "template": {
                    "cliques": {
                        ELEMENT: {
                            "name": None,
                            "spec": {"replicas": None, "autoScalingConfig": {}, "podSpec": POD_SPEC_ASKS},
                        }
                    },
                    "podCliqueScalingGroups": {ELEMENT: {"cliqueNames": {ELEMENT: None}, "minAvailable": None}},
                }
            },
        ),
        OwnerKind(
            kind="PodClique",
            group="grove.io",
            versions=("v1alpha1",),
            source="ai-dynamo/grove operator/internal/controller/podclique/components/pod/pod.go "
            "(SetControllerReference)",
        ),
        OwnerKind(
            kind="PodCliqueScalingGroup",
            group="grove.io",
            versions=("v1alpha1",),
            source="ai-dynamo/grove "
            "operator/internal/controller/podcliquescalinggroup/components/podclique/podclique.go",
        ),
    ),
    # ai-dynamo/grove operator/internal/controller (SetControllerReference)
    links=frozenset({("grove.io", "PodClique"), ("grove.io", "PodCliqueScalingGroup")}),
    group_rules=(GroupRules(kind=("grove.io", "PodCliqueSet"), minimums=_minimums, starts=_starts),),
)
