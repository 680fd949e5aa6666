"""A policy chooses whose group a plain gang joins: what its members get, and what keeps them from it."""

import json
from typing import Any

import pytest

from builders import gpu_pod, job, job_pod, owned, pod, pod_group, review, workload, workload_review
from podberth.admission import decide
from podberth.admission.outcome import Outcome
from podberth.admission.review import decode_review
from podberth.admission.snapshot import Snapshot
from podberth.admission.workload import validate_workload
from podberth.errors import PolicyError
from podberth.facts.cluster import ClusterFacts
from podberth.kube.patch import apply
from podberth.mutation.membership import REFERENCES
from podberth.wellknown import APPLIED_ANNOTATION
from podberth.workload.systems import JOINED
from records import without_seals
from snapshots import cluster, library, over, policy, snapshot

JSON = dict[str, Any]

NAME = "job-job-uid"
RACK = "backend.coreweave.cloud/leafgroup"
LABELS = {
    "coscheduling": "scheduling.x-k8s.io/pod-group",
    "koordinator": "pod-group.scheduling.sigs.k8s.io",
}
VERSIONS = {
    "native": "scheduling.k8s.io/v1beta1",
    "coscheduling": "scheduling.x-k8s.io/v1alpha1",
    "koordinator": "scheduling.sigs.k8s.io/v1alpha1",
}


def discovered(system: str) -> JSON:
    """Return what `kubectl get --raw /apis/GROUP/VERSION` prints where PodGroups are served."""
    resources = [{"name": "podgroups", "kind": "PodGroup"}, {"name": "podgroups/status", "kind": "PodGroup"}]
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": VERSIONS[system], "resources": resources}


OWNER = {**job(gpu_pod(8), indexed=True, parallelism=4), "metadata": {"name": "train", "uid": "job-uid"}}
SERVED = [discovered(system) for system in VERSIONS]


def chooses(system: str, *, order: int = 50, size: str = "gang.size", name: str = "gang.name", more: str = "") -> str:
    leaves = json.dumps({"name": name, "size": size, "system": system})
    conditions = '  matchConditions: [{name: member, expression: "gang.known"}]\n'
    return policy("chooses", f"{conditions}  mutations:\n  - gang: {leaves}\n{more}", order=order)


def draws(level: str = RACK, mode: str = "preferred", every: str = "") -> str:
    leaves = {"level": f"'{level}'", "mode": mode, **({"slice": every} if every else {})}
    return policy("draws", f"  mutations:\n  - topology: {json.dumps(leaves)}", order=400)


def mutate(document: JSON, known: Snapshot) -> Outcome:
    return decide.mutate(decode_review(review(document)), known)


def made(document: JSON, known: Snapshot) -> JSON:
    return apply(document, mutate(document, known).patch)


def member(index: int = 0) -> JSON:
    return job_pod(index)


def group(system: str, name: str = NAME) -> JSON:
    if system == "native":
        return {**pod_group(name, 4, RACK), "metadata": {"name": name, "namespace": "default"}}
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": VERSIONS[system], "kind": "PodGroup", "metadata": metadata, "spec": {"minMember": 4}}


def reference(document: JSON) -> dict[str, str]:
    """Return the groups that a pod refers to, by system."""
    labels = document["metadata"].get("labels", {})
    found = {system: labels[key] for system, key in LABELS.items() if key in labels}
    native = document["spec"].get("schedulingGroup", {}).get("podGroupName")
    return {**found, **({"native": native} if native else {})}


def test_every_system_that_can_be_chosen_has_a_field_for_its_group() -> None:
    assert REFERENCES.keys() == JOINED.keys() == VERSIONS.keys()
    assert {row.pod_groups for row in JOINED.values()} == {each.partition("/")[0] for each in VERSIONS.values()}


@pytest.mark.parametrize("system", VERSIONS)
def test_a_member_gets_the_name_the_size_and_the_groups_name_where_the_system_looks_for_it(system: str) -> None:
    known = snapshot(chooses(f"'{system}'"), objects=[OWNER, *SERVED])
    outcome = mutate(member(), known)
    final = apply(member(), outcome.patch)

    assert reference(final) == {system: NAME}
    assert final["metadata"]["labels"]["podberth.io/gang"] == NAME
    assert final["metadata"]["annotations"]["podberth.io/gang-size"] == "4"
    word = "schedulingGroup" if system == "native" else system
    wrote = json.loads(final["metadata"]["annotations"][APPLIED_ANNOTATION])["chooses"]["gang"]
    assert wrote == {"label": NAME, "size": "4", word: NAME}
    assert outcome.warnings == (f"podberth: joins {system} PodGroup {NAME}",)


@pytest.mark.parametrize("system", VERSIONS)
def test_two_members_are_equal_and_a_second_pass_changes_nothing(system: str) -> None:
    known = snapshot(chooses(f"'{system}'"), draws(), objects=[OWNER, *SERVED])
    one, other = (mutate(member(index), known) for index in (0, 3))
    assert without_seals(one.patch) == without_seals(other.patch)

    final = apply(member(), one.patch)
    assert mutate(final, known).patch == []
    assert mutate(final, snapshot(chooses("''"), draws(), objects=[OWNER, *SERVED])).patch == []


@pytest.mark.parametrize("system", ["null", "''", "gang.known ? '' : 'native'"])
def test_no_system_is_as_before(system: str) -> None:
    system = "gang.known ? optional.none() : optional.of('native')" if system == "null" else system
    final = made(member(), snapshot(chooses(system), objects=[OWNER, *SERVED]))

    assert reference(final) == {}
    assert final["metadata"]["labels"]["podberth.io/gang"] == NAME


def test_a_system_that_is_none_is_refused_when_the_policy_is_loaded() -> None:
    with pytest.raises(PolicyError, match="got 'kai', want one of native, koordinator, coscheduling") as caught:
        snapshot(chooses("'kai'"))
    assert "gang" in str(caught.value)


def test_a_computed_system_that_is_none_is_the_policys_fault() -> None:
    known = snapshot(chooses("gang.known ? 'kai' : ''"), objects=[OWNER, *SERVED])
    outcome = mutate(member(), known)

    assert outcome.verdict == "denied"
    message = outcome.response["response"]["status"]["message"]
    assert "gang.system: got 'kai', want one of native, koordinator, coscheduling" in message


# ---- what would wait for ever is not written -------------------------------------------------------------------------


@pytest.mark.parametrize("system", VERSIONS)
@pytest.mark.parametrize("labels", [{"podberth.io/gang": "mine"}, {}], ids=["of the label", "that scales"])
def test_of_an_unknown_size_nothing_is_joined_and_it_is_said(system: str, labels: JSON) -> None:
    scales = {**workload("ray.io/v1", "RayCluster", {"enableInTreeAutoscaling": True}), "metadata": {"name": "ray"}}
    scales["metadata"]["uid"] = "r"
    keys = {"ray.io/cluster": "ray", "ray.io/node-type": "worker", **labels}
    document = owned(gpu_pod(8, labels=keys), "RayCluster", api_version="ray.io/v1", name="ray", uid="r")
    outcome = mutate(document, snapshot(chooses(f"'{system}'"), objects=[scales, *SERVED]))

    assert outcome.patch == []
    said = f"gang left as it is: no {system} group: the gang's size is unknown; say podberth.io/gang-size"
    assert outcome.warnings == (f"podberth chooses: {said}",)


@pytest.mark.parametrize("system", VERSIONS)
def test_a_member_whose_owner_is_not_known_yet_joins_as_its_siblings_do_but_for_the_size(system: str) -> None:
    """They wait for it in the group; the size is for the controller to ask the owner."""
    unknown, known = (snapshot(chooses(f"'{system}'"), objects=objects) for objects in (SERVED, [OWNER, *SERVED]))
    outcome = mutate(member(), unknown)
    final, sibling = apply(member(), outcome.patch), made(member(), known)

    assert outcome.warnings == (f"podberth: joins {system} PodGroup {NAME}",)
    assert final["spec"] == sibling["spec"]
    assert final["metadata"]["labels"] == sibling["metadata"]["labels"]
    assert "podberth.io/gang-size" not in final["metadata"]["annotations"]
    assert mutate(final, unknown).patch == []


@pytest.mark.parametrize("name", ["'other'", "gang.name + '-x'"])
def test_of_a_gang_that_is_not_the_owners_it_does_not_say_the_size(name: str) -> None:
    outcome = mutate(member(), snapshot(chooses("'native'", name=name), objects=SERVED))
    assert outcome.patch == []
    assert "the gang's size is unknown" in outcome.warnings[0]


def test_of_two_alike_but_for_what_is_known_of_their_owners_neither_gets_the_others_answer() -> None:
    known = snapshot(chooses("'native'"), objects=[OWNER, *SERVED])
    sizes = []
    for uid in ("job-uid", "new-uid", "job-uid", "new-uid"):
        final = made(job_pod(0, uid=uid), known)
        assert reference(final) == {"native": f"job-{uid}"}
        sizes.append(final["metadata"]["annotations"].get("podberth.io/gang-size"))
    assert sizes == ["4", None, "4", None]


@pytest.mark.parametrize("system", VERSIONS)
def test_where_no_such_groups_are_served_nothing_is_joined_and_it_is_said(system: str) -> None:
    others = [discovered(each) for each in VERSIONS if each != system]
    outcome = mutate(member(), snapshot(chooses(f"'{system}'"), objects=[OWNER, *others]))

    assert outcome.patch == []
    api_group = VERSIONS[system].partition("/")[0]
    said = f"gang left as it is: no {system} group: PodGroups of {api_group} are not known to be served"
    assert outcome.warnings == (f"podberth chooses: {said}",)


@pytest.mark.parametrize(
    ("labels", "annotations", "name", "said"),
    [
        ({"podberth.io/gang": "My_Gang"}, {}, "gang.name", "My_Gang is no object's name"),
        ({"podberth.io/gang": "g"}, {}, "'other'", "the pod's label podberth.io/gang says g, the policy other"),
        ({"podberth.io/gang": "g"}, {"podberth.io/gang-size": "many"}, "gang.name", "says 'many', the policy 4"),
    ],
)
def test_what_a_group_could_not_be_made_of_is_not_joined(labels: JSON, annotations: JSON, name: str, said: str) -> None:
    document = gpu_pod(8, labels=labels, annotations=annotations)
    outcome = mutate(document, snapshot(chooses("'native'", name=name, size="4"), objects=SERVED))

    assert outcome.patch == []
    assert said in outcome.warnings[0]


JOB_SET = {
    **workload(
        "jobset.x-k8s.io/v1alpha2",
        "JobSet",
        {
            "replicatedJobs": [
                {"name": "initializer", "template": {"spec": {}}},
                {"name": "node", "template": {"spec": {"parallelism": 3}}, "dependsOn": [{"name": "initializer"}]},
            ]
        },
    ),
    "metadata": {"name": "llama", "namespace": "default", "uid": "set-uid"},
}


@pytest.mark.parametrize("system", VERSIONS)
@pytest.mark.parametrize("annotations", [{}, {"podberth.io/gang-size": "4"}])
def test_a_gang_that_starts_in_stages_joins_no_group_of_all_and_the_field_is_named(
    system: str, annotations: JSON
) -> None:
    keys = {"jobset.sigs.k8s.io/jobset-name": "llama", "jobset.sigs.k8s.io/jobset-uid": "set-uid"}
    document = job_pod(0, labels=keys, annotations=annotations)
    outcome = mutate(document, snapshot(chooses(f"'{system}'"), objects=[JOB_SET, *SERVED]))

    assert outcome.patch == []
    said = "its members start in stages (spec.replicatedJobs[].dependsOn): a group of all would wait for ever"
    assert outcome.warnings == (f"podberth chooses: gang left as it is: {said}",)


def test_of_two_alike_but_for_their_stages_neither_gets_the_others_answer() -> None:
    keys = {"jobset.sigs.k8s.io/jobset-name": "llama"}
    [first, then] = JOB_SET["spec"]["replicatedJobs"]
    free = {**JOB_SET, "spec": {"replicatedJobs": [first, {**then, "dependsOn": []}]}}
    free["metadata"] = {**JOB_SET["metadata"], "name": "free", "uid": "free-uid"}
    known = snapshot(chooses("'native'"), objects=[JOB_SET, free, *SERVED])
    joined = []
    for uid in ("free-uid", "set-uid", "free-uid", "set-uid"):
        document = job_pod(0, labels={**keys, "jobset.sigs.k8s.io/jobset-uid": uid})
        joined.append(bool(mutate(document, known).patch))
    assert joined == [True, False, True, False]


# ---- whose group it is already ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("system", VERSIONS)
@pytest.mark.parametrize("now", VERSIONS)
def test_a_gang_whose_group_is_there_goes_on_with_it_whatever_is_chosen_by_now(system: str, now: str) -> None:
    final = made(member(2), snapshot(chooses(f"'{now}'"), objects=[OWNER, *SERVED, group(system)]))
    assert reference(final) == {system: NAME}


def test_a_member_that_comes_after_its_group_has_the_spec_of_those_before() -> None:
    before = snapshot(chooses("'native'"), draws(mode="required"), objects=[OWNER, *SERVED])
    after = snapshot(chooses("'native'"), draws("elsewhere", "required"), objects=[OWNER, *SERVED, group("native")])
    first, later = made(member(0), before), made(member(0), after)

    assert first["spec"] == later["spec"]
    assert first["metadata"]["labels"] == later["metadata"]["labels"]
    assert first["metadata"]["annotations"]["podberth.io/gang-level"] == RACK
    assert later["metadata"]["annotations"]["podberth.io/gang-level"] == "elsewhere"


def test_a_gang_that_starts_again_under_a_group_on_its_way_out_says_its_level_to_the_next() -> None:
    known = snapshot(chooses("'native'"), draws(mode="required"), objects=[OWNER, *SERVED, group("native")])
    outcome = mutate(member(), known)
    annotations = apply(member(), outcome.patch)["metadata"]["annotations"]

    assert annotations["podberth.io/gang-level"] == RACK
    assert annotations["podberth.io/gang-level-mode"] == "required"
    said = f"gang required in one domain of {RACK}, where its PodGroup is made again"
    assert any(said in line for line in outcome.warnings)


@pytest.mark.parametrize(
    "fields",
    [
        {"schedulingGroup": {"podGroupName": "theirs"}},
        {"workloadRef": {"name": "theirs", "podGroup": "g"}, "labels": {"podberth.io/gang": "g"}},
        {"labels": {"scheduling.x-k8s.io/pod-group": "theirs"}},
        {"labels": {"pod-group.scheduling.sigs.k8s.io": "theirs"}},
        {"labels": {"pod-group.scheduling.sigs.k8s.io/name": "theirs"}},
        {"annotations": {"gang.scheduling.koordinator.sh/name": "theirs"}},
        {"labels": {"kueue.x-k8s.io/queue-name": "q", "podberth.io/gang": "g"}},
        {"schedulerName": "volcano", "labels": {"podberth.io/gang": "g"}},
    ],
)
@pytest.mark.parametrize("system", VERSIONS)
def test_a_pod_that_somebody_places_already_stays_with_them(system: str, fields: JSON) -> None:
    known = snapshot(chooses(f"'{system}'", size="4"), objects=SERVED)
    assert mutate(gpu_pod(8, **fields), known).patch == []


def test_a_pod_that_only_names_the_systems_scheduler_joins_its_group() -> None:
    document = gpu_pod(8, labels={"podberth.io/gang": "g"}, schedulerName="koord-scheduler")
    koordinator = snapshot(chooses("'koordinator'", size="4"), objects=SERVED)
    assert reference(made(document, koordinator)) == {"koordinator": "g"}
    assert mutate(document, snapshot(chooses("''", size="4"), objects=SERVED)).patch == []
    assert mutate(document, snapshot(chooses("'native'", size="4"), objects=SERVED)).patch == []


def test_a_gang_that_gets_the_name_of_a_group_joins_it_in_the_groups_namespace_alone() -> None:
    named = policy("named", "  mutations:\n  - gang: {name: \"'x'\"}", order=40)
    group = {"apiVersion": VERSIONS["coscheduling"], "kind": "PodGroup", "spec": {"minMember": 4}}
    elsewhere = {**group, "metadata": {"name": "x", "namespace": "other"}}
    joins = policy(
        "joins", """  mutations:\n  - gang: {name: gang.name, size: "4", system: "'koordinator'"}""", order=50
    )
    known = snapshot(named, joins, objects=[*SERVED, elsewhere])
    joined = []
    for namespace in ("default", "default", "other", "default"):
        document = gpu_pod(8)
        document["metadata"]["namespace"] = namespace
        outcome = decide.mutate(decode_review(review(document, namespace=namespace)), known)
        joined.append(reference(apply(document, outcome.patch)))
    assert joined == [{"koordinator": "x"}, {"koordinator": "x"}, {"coscheduling": "x"}, {"koordinator": "x"}]


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("volcano", {"annotations": {"scheduling.k8s.io/group-name": "g"}}),
        ("kai-scheduler", {"labels": {"kai.scheduler/queue": "q"}}),
    ],
)
def test_a_pod_with_the_keys_of_a_system_gets_that_systems_scheduler_and_no_other(name: str, fields: JSON) -> None:
    for written in (name, "my-bins"):
        known = snapshot(policy("names", f"  mutations:\n  - schedulerName: \"'{written}'\""))
        final = apply(gpu_pod(8, **fields), mutate(gpu_pod(8, **fields), known).patch)
        assert final["spec"].get("schedulerName") == (name if written == name else None)


def test_the_first_policys_system_stays() -> None:
    later = chooses("'koordinator'", order=60).replace("name: chooses", "name: later")
    outcome = mutate(member(), snapshot(chooses("'coscheduling'"), later, objects=[OWNER, *SERVED]))

    assert reference(apply(member(), outcome.patch)) == {"coscheduling": NAME}
    path = "/metadata/labels/scheduling.x-k8s.io~1pod-group"
    assert any(f"podberth later: conflict with policy chooses at {path}" in line for line in outcome.warnings)


@pytest.mark.parametrize("mode", ["required", "preferred"])
@pytest.mark.parametrize("every", ["", "2"], ids=["whole", "slices"])
@pytest.mark.parametrize("system", VERSIONS)
def test_a_member_that_is_drawn_to_its_gang_joins_no_native_group_later(system: str, every: str, mode: str) -> None:
    """The scheduler takes nothing back inside a group, so the first member could be where the others do not fit."""
    labelled = policy("labels", '  mutations:\n  - gang: {name: gang.name, size: "4"}', order=40)
    known = snapshot(labelled, draws(mode=mode, every=every), chooses(f"'{system}'", order=450), objects=SERVED)
    outcome = mutate(member(), known)
    final = apply(member(), outcome.patch)

    kept_out = system == "native" and mode == "required"
    assert reference(final) == ({} if kept_out else {system: NAME})
    assert final["spec"]["affinity"]["podAffinity"]
    reason = "its required pod affinity can keep a native group from starting: join before topology"
    said = f"podberth chooses: gang left as it is: {reason}"
    assert (said in outcome.warnings) == kept_out
    assert mutate(final, known).patch == []


def test_a_member_that_is_drawn_to_its_gang_joins_no_native_group_that_has_come_meanwhile() -> None:
    labelled = policy("labels", '  mutations:\n  - gang: {name: gang.name, size: "4"}', order=40)
    final = made(member(), snapshot(labelled, draws(mode="required"), objects=SERVED))
    again = mutate(final, snapshot(labelled, draws(mode="required"), objects=[*SERVED, group("native")]))
    assert again.patch == []


def test_a_launcher_without_a_gpu_joins_with_its_gang() -> None:
    launcher = pod(labels={"podberth.io/gang": "g"}, annotations={"podberth.io/gang-size": "3"})
    assert reference(made(launcher, snapshot(chooses("'native'"), objects=SERVED))) == {"native": "g"}


# ---- warnings for authors --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({}, "start in stages (spec.podManagementPolicy OrderedReady; want Parallel)"),
        ({"podManagementPolicy": "Parallel"}, "joins native PodGroup statefulset-"),
    ],
)
def test_a_warning_asks_the_author_of_a_stateful_set_to_make_its_pods_at_once(spec: JSON, said: str) -> None:
    template = {"metadata": {"annotations": {"podberth.io/gang-size": "4"}}, "spec": gpu_pod(8)["spec"]}
    document = workload("apps/v1", "StatefulSet", {"replicas": 4, "template": template, **spec})
    known = snapshot(chooses("'native'"), objects=[*SERVED, *cluster(hgx_h100_8=1)])
    outcome = validate_workload(decode_review(workload_review(document, "statefulsets")), known)
    assert [line for line in outcome.warnings if said in line], outcome.warnings


@pytest.mark.parametrize(
    ("policy_", "said"),
    [
        ("LeaderReady", "start in stages (spec.startupPolicy LeaderReady; want LeaderCreated)"),
        ("LeaderCreated", "joins native PodGroup lws-"),
    ],
)
def test_a_warning_asks_the_author_of_a_leader_worker_set_to_make_its_pods_at_once(policy_: str, said: str) -> None:
    inner = {"size": 3, "workerTemplate": {"spec": gpu_pod(8)["spec"]}}
    spec = {"startupPolicy": policy_, "leaderWorkerTemplate": inner}
    document = workload("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", spec)
    known = snapshot(chooses("'native'"), objects=[*SERVED, *cluster(hgx_h100_8=1)])
    outcome = validate_workload(decode_review(workload_review(document, "leaderworkersets")), known)
    assert [line for line in outcome.warnings if said in line], outcome.warnings


def test_a_pod_of_a_workload_of_1_35_is_sent_to_no_pod_group() -> None:
    document = gpu_pod(1, workloadRef={"name": "training-job-workload", "podGroup": "workers"})
    outcome = mutate(document, over(library(), ClusterFacts()))
    assert (outcome.patch, list(outcome.warnings)) == ([], [])
