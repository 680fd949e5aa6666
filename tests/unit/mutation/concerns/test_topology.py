"""Pod affinity for a gang is written where the pod's own placement does not contradict it."""

from typing import Any

import pytest

from builders import gpu_pod
from podberth.kube.patch import Draft
from podberth.kube.schema import PodSchema
from podberth.mutation.change import Change, Proposal, Skipped
from podberth.mutation.concern import Surroundings
from podberth.mutation.membership import NOTHING_KNOWN
from podberth.mutation.pipeline import CONCERNS
from podberth.wellknown import COLOCATED_LABEL, GANG_LABEL

RACK, HOST = "example.com/rack", "kubernetes.io/hostname"


def spread(key: str, unsatisfiable: str = "DoNotSchedule", **fields: Any) -> dict[str, Any]:
    selector = {"labelSelector": {"matchLabels": {"app": "train"}}}
    return {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": unsatisfiable, **selector, **fields}


def near(mode: str, *constraints: dict[str, Any]) -> Change | Skipped | None:
    pod = gpu_pod(labels={GANG_LABEL: "g", "app": "train"}, topologySpreadConstraints=list(constraints))
    draft = Draft(pod)
    around = Surroundings(lambda: NOTHING_KNOWN, "", None, PodSchema.packaged())
    proposal = Proposal(concern="topology", leaves={"level": RACK, "mode": mode})
    made = CONCERNS["topology"].build(draft, proposal, around)
    assert (draft.get(("metadata", "labels", COLOCATED_LABEL)) is not None) == isinstance(made, Change)
    return made


@pytest.mark.parametrize("key", [RACK, HOST])
def test_pods_that_have_to_be_spread_are_not_required_in_one_domain(key: str) -> None:
    """The constraint counts the domains outside the gang's, in which there is no pod, too: a second pod never fits."""
    assert near("required", spread(key)) == Skipped("the pod has topology spread constraints of its own")
    assert isinstance(near("required", spread(key, "ScheduleAnyway")), Change)
    assert isinstance(near("required"), Change)


def test_pods_that_have_to_be_spread_prefer_one_domain_of_another_level() -> None:
    assert near("preferred", spread(RACK)) is None
    assert isinstance(near("preferred", spread(HOST)), Change)
    assert isinstance(near("preferred", spread(RACK, "ScheduleAnyway")), Change)


def test_a_constraint_that_does_not_count_the_pod_is_none() -> None:
    other = spread(RACK, labelSelector={"matchLabels": {"app": "serve"}})
    assert isinstance(near("required", other, spread(RACK, labelSelector=None)), Change)
