"""Params in tenants' namespaces on a real API server: followed by label, by a right that has to be given."""

from collections.abc import Iterator
from typing import Any

import pytest

from builders import gpu_pod
from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from podberth.admission.namespace_params import MOST_BYTES
from podberth.api.protocol import NAMESPACE_PARAMS
from podberth.kube.documents import load_documents
from tenants import at_most, limits

from .access import grant
from .following import FOLLOWS_SECONDS, Following
from .podberth_process import ROOT

COMPONENT = ROOT / "manifests/components/namespace-params/rbac.yaml"


@pytest.fixture(scope="module")
def following(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Following]:
    with ControlPlane.start(tmp_path_factory.mktemp("plane")) as plane:
        grant(plane)
        for namespace in ("team-a", "team-b"):
            plane.add_namespace(namespace)
        plane.apply(limits("team-a", most="2"))
        following = Following(plane, tmp_path_factory.mktemp("following"))
        following.write_policy(at_most())
        with following:
            yield following
        plane.check()


def denial(following: Following, namespace: str, gpus: int = 4) -> str:
    answer = following.ask(gpu_pod(gpus), "/validate", namespace=namespace)
    return "" if answer["allowed"] else str(answer["message"])


def until_denied(following: Following, namespace: str, message: str) -> None:
    """Wait until a pod is denied with this message, or admitted if the message is empty."""

    def decided() -> bool:
        said = denial(following, namespace)
        return message in said if message else not said

    wait_for(decided, timeout_seconds=FOLLOWS_SECONDS, what=lambda: denial(following, namespace))


def let_in(following: Following) -> None:
    """Give podberth the right to list ConfigMaps of tenants, and wait until it has listed them."""
    text = COMPONENT.read_text(encoding="utf-8")
    following.control_plane.apply(*(one.document for one in load_documents(text, COMPONENT.name)[0]))
    wait_for(lambda: watched(following)["followed"] == 1, what=lambda: str(watched(following)))


def watched(following: Following) -> dict[str, Any]:
    return {
        state: following.metric("watch_kinds", resource=NAMESPACE_PARAMS.name, state=state)
        for state in ("followed", "refused")
    }


def test_without_the_right_the_policy_fails_and_with_it_each_namespace_decides_for_itself(following: Following) -> None:
    """The default installation may list no ConfigMap outside podberth's namespace; the component gives that alone."""
    until_denied(following, "team-a", "got no right to list its ConfigMaps")
    assert watched(following) == {"followed": 0.0, "refused": 1.0}
    let_in(following)
    until_denied(following, "team-a", "got 4 GPUs, want 2 at most")
    assert watched(following) == {"followed": 1.0, "refused": 0.0}
    assert "no ConfigMap limits in namespace team-b" in denial(following, "team-b")
    following.control_plane.apply(limits("team-b", most="8"))
    until_denied(following, "team-b", "")
    assert "want 2 at most" in denial(following, "team-a")


def test_a_change_of_the_value_and_of_the_label_decides_within_a_moment(following: Following) -> None:
    let_in(following)
    following.control_plane.apply(limits("team-a", most="8"))
    until_denied(following, "team-a", "")
    following.control_plane.kubectl("label", "configmap", "limits", "-n", "team-a", "podberth.io/params-")
    until_denied(following, "team-a", "no ConfigMap limits in namespace team-a")
    following.control_plane.kubectl("label", "configmap", "limits", "-n", "team-a", "podberth.io/params=true")
    until_denied(following, "team-a", "")


def test_a_tenant_beyond_a_bound_is_denied_alone(following: Following) -> None:
    let_in(following)
    following.control_plane.apply(limits("team-a", most="8"), limits("team-b", most="8"))
    until_denied(following, "team-b", "")
    following.control_plane.create(limits("team-a", "large", most="x" * MOST_BYTES))
    until_denied(following, "team-a", "ConfigMap team-a/large: got 33,")
    assert not denial(following, "team-b")
    assert following.metric("watch_left_out", reason="unreadable", resource=NAMESPACE_PARAMS.name) == 1
    following.control_plane.kubectl("delete", "configmap", "large", "-n", "team-a")
    until_denied(following, "team-a", "")


def test_podberth_lists_no_config_map_without_the_label(following: Following) -> None:
    let_in(following)
    following.control_plane.apply(limits("team-a", most="8"), limits("team-b", most="8"))
    until_denied(following, "team-b", "")
    known = following.metric("watch_objects", resource=NAMESPACE_PARAMS.name)
    following.control_plane.create({**limits("team-a", "plain"), "metadata": {"name": "plain", "namespace": "team-a"}})
    following.control_plane.apply(limits("team-b", most="1"))
    until_denied(following, "team-b", "want 1 at most")
    assert following.metric("watch_objects", resource=NAMESPACE_PARAMS.name) == known
