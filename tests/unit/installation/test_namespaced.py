"""The line of `podberth status` about policies of namespaces."""

from typing import Any

from podberth.installation.observation import Unread
from podberth.installation.policies import namespaced
from podberth.installation.report import judge
from status_scenes import observed, workload


def stored(namespace: str, name: str, compiled: str = "True", active: str = "True", reason: str = "") -> dict[str, Any]:
    """Return a policy of a list with its conditions."""
    conditions = [
        {"type": "Compiled", "status": compiled},
        {"type": "Active", "status": active, "reason": reason},
    ]
    status = {"observedGeneration": 1, "conditions": conditions}
    return {"metadata": {"namespace": namespace, "name": name, "generation": 1}, "status": status}


def said(*objects: dict[str, Any]) -> list[tuple[str, str]]:
    return [(each.state, each.text) for each in namespaced(observed(namespaced=objects))]


def test_nothing_is_said_where_there_are_none() -> None:
    assert said() == []


def test_those_in_force_are_counted_with_their_namespaces() -> None:
    assert said(stored("a", "p"), stored("a", "q"), stored("b", "p")) == [("ok", "3 active in 2 namespaces")]
    assert said(stored("a", "p", active="False", reason="Disabled")) == [
        ("ok", "0 active in 0 namespaces, disabled: a/p")
    ]


def test_those_without_effect_need_attention() -> None:
    changed = stored("c", "p")
    changed["metadata"]["generation"] = 2
    [(state, text)] = said(stored("a", "p"), stored("b", "p", compiled="False", active="False"), changed)
    assert state == "attention"
    without = "without effect: b/p; see their status"
    assert text == f"1 active in 1 namespace, {without}, not read since they were changed: c/p"


def test_where_no_replica_follows_the_cluster_none_of_them_counts() -> None:
    deployment = workload(readyReplicas=2, updatedReplicas=2)
    deployment["spec"]["template"]["spec"]["containers"][0]["env"][0]["value"] = "/files"
    [row] = namespaced(observed(deployment=deployment, namespaced=(stored("a", "p"),)))
    assert row.state == "attention"
    assert row.text == "1 NamespacedGPUPolicy that no replica reads: a/p; serve --topology cluster, or delete"


def test_the_line_is_in_the_section_of_policies_before_exceptions() -> None:
    report = judge(observed(namespaced=(stored("a", "p"),)))
    assert report.sections["policies"][-1].name == "namespaced"


def test_that_they_cannot_be_read_is_said() -> None:
    hidden = Unread("forbidden", "list namespacedgpupolicies.podberth.io", refused=True)
    [row] = namespaced(observed(namespaced=hidden))
    assert row.state == "unread"
