"""The same pod bare, in a Deployment and in a Job: the same words to whoever applies it, and the same pod."""

from collections.abc import Callable
from typing import Any

import pytest

from builders import cron_job, stateful_set
from controlplane.wait import wait_for

from .manifest import as_deployment, as_job, example, placement, record
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
    assert said.ours == warned
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
    for workload in (stateful_set(bare), cron_job(bare)):
        assert space.must_apply(workload).ours == warned, workload["kind"]
