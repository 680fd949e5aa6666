"""The same pod bare, in a Deployment and in a Job: the same words to whoever applies it, and the same pod."""

from collections.abc import Callable
from typing import Any

import pytest

from builders import cron_job, deployment, stateful_set, workload
from controlplane.wait import wait_for

from .manifest import as_deployment, as_job, example, placement, record
from .podberth_process import Podberth
from .space import SECONDS, Space

Document = dict[str, Any]
WRAPPERS = {"Deployment": as_deployment, "Job": as_job}


@pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS)
@pytest.mark.parametrize("name", ["cpu-pod", "cuda-pod", "notebook-memory", "own-affinity"])
def test_a_workload_warns_as_its_pod_would_and_makes_the_same_pod(
    space: Space, name: str, wrap: Callable[[Document], Document]
) -> None:
    bare = example(name)
    warned = space.kubectl("create", "--dry-run=server", manifest=[bare]).ours
    said = space.must_apply(wrap(bare))
    # Those of a pod come from two reviews, the changes first.
    assert sorted(said.ours) == sorted(warned)
    [pod] = space.wait_for_pods(1, "Running")
    wanted = space.dry_run(bare)
    assert placement(pod) == placement(wanted)
    assert record(pod) == record(wanted)


@pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS)
def test_a_workload_whose_pods_will_be_denied_says_so_at_once(
    space: Space, wrap: Callable[[Document], Document]
) -> None:
    said = space.must_apply(wrap(example("unknown-mig-profile")))
    [warning] = said.ours
    assert warning.startswith("podberth mig-right-size: pods of this workload would be denied: container infer: ")
    assert len(warning) <= 256
    wait_for(
        lambda: [event for event in space.events() if "no GPU has MIG profile 4g.5gb" in event],
        timeout_seconds=SECONDS,
        what=lambda: f"the controller to hear of the denial; got {space.events()}",
    )
    assert space.pods() == []


def test_a_change_of_scale_is_not_news_and_one_of_the_template_is(space: Space) -> None:
    manifest = as_deployment(example("cuda-pod"))
    assert space.must_apply(manifest).ours
    assert space.must_apply(manifest).warnings == ()
    labelled = {**manifest, "metadata": {**manifest["metadata"], "labels": {"team": "vision"}}}
    assert space.must_apply(labelled).warnings == ()
    manifest["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/mig-4g.5gb": 1}}
    assert any("would be denied" in line for line in space.must_apply(manifest).ours)


def test_every_kind_of_workload_warns_as_its_pod_would(space: Space) -> None:
    bare = example("notebook-memory")
    warned = space.kubectl("create", "--dry-run=server", manifest=[bare]).ours
    assert warned
    for document in (stateful_set(bare), cron_job(bare)):
        assert space.must_apply(document).ours == warned, document["kind"]


def test_kinds_that_rarely_are_applied_by_hand_warn_too(space: Space) -> None:
    bare = example("notebook-memory")
    warned = space.kubectl("create", "--dry-run=server", manifest=[bare]).ours
    made = deployment(bare, name="work")["spec"]
    selected = {"selector": made["selector"], "template": made["template"]}
    for document in (
        workload("apps/v1", "DaemonSet", selected),
        workload("apps/v1", "ReplicaSet", selected),
        workload("v1", "ReplicationController", {"selector": {"app": "work"}, "template": made["template"]}),
    ):
        assert space.kubectl("create", "--dry-run=server", manifest=[document]).ours == warned, document["kind"]


def test_what_a_controller_makes_is_not_asked_about(space: Space, podberth: Podberth) -> None:
    def asked() -> float:
        return podberth.metrics()['podberth_admission_duration_seconds_count{path="/validate-workload"}']

    before = asked()
    space.must_apply(as_deployment(example("cuda-pod")))
    space.wait_for_pods(1, "Running")
    assert asked() == before + 1
