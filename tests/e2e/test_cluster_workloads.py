"""Claims, PodGroups and the owners of gangs come from the cluster too, by podberth's own rights."""

from collections.abc import Iterator
from typing import Any

import pytest

from builders import container, gpu_pod, job, job_pod, owned, pod, pod_group
from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from podberth.facts.object_kinds import FOLLOWED
from snapshots import policy

from .access import grant
from .following import Following
from .operator_crds import (
    GROVE,
    JOBSETS,
    PYTORCH,
    grove_crds,
    install,
    job_set,
    operator_crds,
    pod_clique,
    pod_clique_set,
    pytorch_job,
    scaling_group,
)
from .registration import pointed, shipped

pytestmark = pytest.mark.shared("crds")

Document = dict[str, Any]

TEAM = "team-a"
# That it follows is asked here; how fast, in test_cluster_topology.py. A pod whose owner is gone waits half a second.
_SECONDS = 60.0

_SEEN = policy(
    "seen",
    """
  mutations:
  - annotations:
      seen.example/gang: gang.source + ' of ' + string(gang.size)
  - annotations:
      seen.example/gpus: gpu.kind + ' ' + string(gpu.count)
      seen.example/claims: "gpu.claims.map(c, c.deviceClass + ' ' + string(c.count)).join(', ')"
""",
)
_ASKED = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": 2}}]}}


@pytest.fixture(scope="module")
def following(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Following]:
    with ControlPlane.start(tmp_path_factory.mktemp("plane")) as plane:
        grant(plane)
        plane.add_namespace(TEAM)
        install(plane, operator_crds() | grove_crds())
        served = tmp_path_factory.mktemp("policies")
        (served / "seen.yaml").write_text(_SEEN)
        with Following(plane, tmp_path_factory.mktemp("following"), served=served) as following:
            yield following
        plane.check()


def thing(version: str, kind: str, name: str, spec: Document, namespace: str = TEAM) -> Document:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def seen(following: Following, document: Document) -> dict[str, str]:
    """Return what the policy writes on a pod, by the annotation's last part."""
    answer = following.ask(document, namespace=TEAM)
    assert answer["allowed"]
    made = {each["path"]: each["value"] for each in answer["patch"]}
    written = made.get("/metadata/annotations", {})
    written |= {path.rpartition("/")[2].replace("~1", "/"): value for path, value in made.items()}
    return {key.partition("/")[2]: value for key, value in written.items() if key.startswith("seen.example/")}


def until_seen(following: Following, document: Document, **expected: str) -> None:
    """Wait until the policy says so."""

    def reached() -> bool:
        return expected.items() <= seen(following, document).items()

    wait_for(reached, timeout_seconds=_SECONDS, what=lambda: str(seen(following, document)))


def test_when_it_is_ready_it_follows_what_is_served_and_says_what_is_not(following: Following) -> None:
    # What Kubernetes itself serves here, and the three operators' kinds.
    served = {"jobs.batch", "podgroups.scheduling.k8s.io", "priorityclasses.scheduling.k8s.io"}
    served |= {f"{plural}.resource.k8s.io" for plural in ("deviceclasses", "resourceclaims", "resourceclaimtemplates")}
    served |= {JOBSETS, PYTORCH, *GROVE}

    def followed() -> set[str]:
        names = [kind.name for kind in FOLLOWED]
        return {name for name in names if following.metric("watch_kinds", resource=name, state="followed")}

    wait_for(lambda: followed() == served, timeout_seconds=_SECONDS, what=lambda: f"{served}; got {followed()}")
    assert following.metric("watch_kinds", resource="podgroups.scheduling.volcano.sh", state="not served") == 1
    assert following.metric("watch_objects", resource="jobs.batch") == 0


def test_a_claim_is_described_by_its_template_and_by_itself(following: Following) -> None:
    claims = [
        {"name": "made", "resourceClaimTemplateName": "two-gpus"},
        {"name": "shared", "resourceClaimName": "two-gpus"},
    ]
    document = pod(container(claims=["made", "shared"]), resourceClaims=claims)
    assert seen(following, document) == {"gang": " of 0", "gpus": "claim 0", "claims": " 0,  0"}
    template = thing("resource.k8s.io/v1", "ResourceClaimTemplate", "two-gpus", {"spec": _ASKED})
    following.control_plane.apply(template)
    until_seen(following, document, claims="gpu.nvidia.com 2,  0")
    claim = thing("resource.k8s.io/v1", "ResourceClaim", "two-gpus", _ASKED)
    following.control_plane.apply(claim)
    until_seen(following, document, claims="gpu.nvidia.com 2, gpu.nvidia.com 2")
    # Of another namespace it is another template.
    assert "gpu.nvidia.com 2" not in str(following.ask(document, namespace="default"))
    for kind in ("resourceclaim", "resourceclaimtemplate"):
        following.control_plane.kubectl("delete", kind, "two-gpus", "-n", TEAM)
    until_seen(following, document, claims=" 0,  0")


def test_a_job_says_how_many_pods_it_makes(following: Following) -> None:
    owner = job(gpu_pod(1), name="train", indexed=True, parallelism=4)
    owner["metadata"]["namespace"] = TEAM
    owner["spec"]["suspend"] = True  # its pods are this test's to make
    following.control_plane.apply(owner)
    uid = uid_of(following, "job", "train")
    until_seen(following, job_pod(uid=uid), gang="Job of 4")
    following.control_plane.kubectl("delete", "job", "train", "-n", TEAM)
    # Nothing is denied for want of the owner.
    until_seen(following, job_pod(uid=uid), gang="Job of 0")


def uid_of(following: Following, kind: str, name: str) -> str:
    return following.control_plane.kubectl("get", kind, name, "-n", TEAM, "-o", "jsonpath={.metadata.uid}").stdout


def test_the_pods_that_the_job_controller_makes_know_how_many_they_are(following: Following) -> None:
    plane, pods_path = following.control_plane, f"/api/v1/namespaces/{TEAM}/pods"
    owner = job(gpu_pod(1), name="real", indexed=True, parallelism=3)
    owner["metadata"]["namespace"] = TEAM
    owner["spec"]["suspend"] = True
    plane.apply(owner)
    # Known before its first pod comes, however slow the machine is; and a pod that cannot be sent to podberth is none.
    until_seen(following, job_pod(job="real", uid=uid_of(following, "job", "real")), gang="Job of 3")
    [registered] = [pointed(each, following.podberth.endpoint) for each in shipped() if each["kind"].startswith("Mut")]
    for webhook in registered["webhooks"]:
        webhook["failurePolicy"] = "Fail"
    probe = {**gpu_pod(1), "metadata": {"name": "probe", "namespace": TEAM}}

    def called() -> bool:
        return b"seen.example/gang" in plane.raw("POST", f"{pods_path}?dryRun=All", probe)[1]

    def made() -> list[Document]:
        pods: list[Document] = plane.api.read(f"{pods_path}?labelSelector=job-name%3Dreal")["items"]
        return pods if len(pods) == 3 else []

    plane.apply(registered)
    try:
        wait_for(called, timeout_seconds=_SECONDS, what="the webhook to be called")
        plane.kubectl("patch", "job", "real", "-n", TEAM, "-p", '{"spec": {"suspend": false}}')
        pods = wait_for(made, timeout_seconds=_SECONDS, what="three pods")
        assert [each["metadata"]["annotations"]["seen.example/gang"] for each in pods] == ["Job of 3"] * 3
    finally:
        plane.kubectl("delete", registered["kind"], registered["metadata"]["name"])
        plane.kubectl("delete", "job", "real", "-n", TEAM)


def test_operators_jobs_say_how_many_pods_they_make(following: Following) -> None:
    following.control_plane.apply(job_set("set", TEAM), pytorch_job("train", TEAM))
    labels = {
        "jobset.sigs.k8s.io/jobset-name": "set",
        "jobset.sigs.k8s.io/jobset-uid": uid_of(following, JOBSETS, "set"),
    }
    until_seen(following, gpu_pod(1, labels=labels), gang="JobSet of 6")
    member = gpu_pod(1, labels={"training.kubeflow.org/job-name": "train", "training.kubeflow.org/replica-index": "0"})
    uid = uid_of(following, PYTORCH, "train")
    member = owned(member, "PyTorchJob", api_version="kubeflow.org/v1", name="train", uid=uid)
    until_seen(following, member, gang="PyTorchJob of 4")


def test_groves_cliques_lead_to_the_set_that_counts(following: Following) -> None:
    """Owned as by the operator's SetControllerReference: set, scaling group, clique, pod."""
    plane = following.control_plane
    sets, groups, cliques = GROVE
    plane.apply(pod_clique_set("dyn", TEAM))
    of_set = {"api_version": "grove.io/v1alpha1", "name": "dyn", "uid": uid_of(following, sets, "dyn")}
    plane.apply(
        owned(scaling_group("dyn-0-workers", TEAM), "PodCliqueSet", **of_set),
        owned(pod_clique("dyn-0-router", TEAM, 1), "PodCliqueSet", **of_set),
    )
    uid = uid_of(following, groups, "dyn-0-workers")
    clique = owned(
        pod_clique("dyn-0-workers-0-decode", TEAM, 3),
        "PodCliqueScalingGroup",
        api_version="grove.io/v1alpha1",
        name="dyn-0-workers",
        uid=uid,
    )
    plane.apply(clique)
    for name in ("dyn-0-router", "dyn-0-workers-0-decode"):
        member = gpu_pod(1, labels={"grove.io/podgang": "dyn-0", "grove.io/podclique": name})
        uid = uid_of(following, cliques, name)
        member = owned(member, "PodClique", api_version="grove.io/v1alpha1", name=name, uid=uid)
        until_seen(following, member, gang="PodCliqueSet of 7")


def test_a_native_group_says_how_many_start_together(following: Following) -> None:
    document = gpu_pod(1, schedulingGroup={"podGroupName": "ring"})
    assert seen(following, document)["gang"] == "PodGroup of 0"
    group = pod_group("ring", 3, "example.com/rack")
    group["metadata"]["namespace"] = TEAM
    following.control_plane.apply(group)
    until_seen(following, document, gang="PodGroup of 3")
    following.control_plane.kubectl("delete", "podgroups.scheduling.k8s.io", "ring", "-n", TEAM)
    until_seen(following, document, gang="PodGroup of 0")


def test_what_a_class_of_the_clusters_own_serves_is_a_gpu(following: Following) -> None:
    document = gpu_pod(2, resource="example.com/gpu")
    assert seen(following, document) == {}
    spec = {
        "extendedResourceName": "example.com/gpu",
        "selectors": [{"cel": {"expression": "device.driver == 'gpu.nvidia.com'"}}],
    }
    made = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "own"}, "spec": spec}
    following.control_plane.apply(made)
    until_seen(following, document, gpus="whole 2")
    following.control_plane.kubectl("delete", "deviceclass", "own")
    wait_for(lambda: not seen(following, document), timeout_seconds=_SECONDS, what="the class to be forgotten")
