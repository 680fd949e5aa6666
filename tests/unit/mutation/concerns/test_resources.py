"""A resource is replaced by another one, and what a container asks for besides is never lost."""

from typing import Any

from builders import container, pod
from podberth.kube.patch import Draft
from podberth.mutation.change import Change, Skipped
from podberth.mutation.concerns.resources import rewrite

GPU, SLICE = "nvidia.com/gpu", "nvidia.com/mig-1g.5gb"


def item(name: str, old: str = GPU, quantity: int = 1) -> dict[str, Any]:
    return {"container": name, "from": old, "to": SLICE, "quantity": quantity}


def limits(draft: Draft) -> list[dict[str, Any]]:
    return [each["resources"]["limits"] for each in draft.document["spec"]["containers"]]


def test_a_container_that_asks_for_both_keeps_what_it_asks_for() -> None:
    draft = Draft(pod(container("a", limits={GPU: "1", SLICE: "2"})))
    assert rewrite(draft, [item("a")]) == Skipped(f"container a asks for {SLICE} beside {GPU}")
    assert draft.patch() == []


def test_the_other_containers_are_rewritten() -> None:
    draft = Draft(pod(container("a", limits={GPU: "1", SLICE: "2"}), container("b", limits={GPU: "1"})))
    change = rewrite(draft, [item("a"), item("b")])
    assert isinstance(change, Change)
    assert change.wrote == [item("b")]
    assert limits(draft) == [{GPU: "1", SLICE: "2"}, {SLICE: "1"}]


def test_two_resources_of_a_container_do_not_become_one_amount() -> None:
    draft = Draft(pod(container("a", limits={GPU: "1", "amd.com/gpu": "1"})))
    change = rewrite(draft, [item("a"), item("a", "amd.com/gpu")])
    assert isinstance(change, Change)
    assert change.wrote == [item("a")]
    assert limits(draft) == [{SLICE: "1", "amd.com/gpu": "1"}]
    assert isinstance(rewrite(draft, [item("a", "amd.com/gpu")]), Skipped)
