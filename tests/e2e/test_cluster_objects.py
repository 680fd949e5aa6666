"""What policies read besides nodes comes from the cluster too: Namespaces, and the ConfigMaps that are params."""

from collections.abc import Iterator

import pytest

from builders import gpu_pod
from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from podberth.wellknown import NAMESPACE, TOPOLOGY_LABEL
from snapshots import policy

from .access import grant
from .following import FOLLOWS_SECONDS, Following

_SEEN = policy(
    "seen",
    """
  paramKind: {apiVersion: v1, kind: ConfigMap}
  paramRef: {name: seen, namespace: podberth-system, parameterNotFoundAction: Allow}
  matchConstraints:
    namespaceSelector: {matchExpressions: [{key: example.com/unseen, operator: DoesNotExist}]}
  mutations:
  - annotations:
      seen.example/params: params.data.value
      seen.example/team: namespaceObject.metadata.?annotations[?'example.com/team'].orValue('none')
""",
)
_DEFAULT = """---
apiVersion: v1
kind: ConfigMap
metadata: {name: seen, namespace: podberth-system}
data: {value: default}
"""


@pytest.fixture(scope="module")
def following(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Following]:
    with ControlPlane.start(tmp_path_factory.mktemp("plane")) as plane:
        grant(plane)
        plane.add_namespace("team-a")
        following = Following(plane, tmp_path_factory.mktemp("following"))
        following.write_policy(_SEEN + _DEFAULT)
        with following:
            yield following
        plane.check()


def seen(following: Following) -> dict[str, str]:
    """Return what the policy writes on a pod, by the annotation's last part."""
    patch = following.ask(gpu_pod(1), namespace="team-a")["patch"]
    [annotations] = [each["value"] for each in patch if each["path"] == "/metadata/annotations"] or [{}]
    return {key.partition("/")[2]: value for key, value in annotations.items() if key.startswith("seen.example/")}


def until_seen(following: Following, **expected: str) -> None:
    """Wait no longer than an answer may lag behind."""
    wait_for(lambda: seen(following) == expected, timeout_seconds=FOLLOWS_SECONDS, what=lambda: str(seen(following)))


def put_params(following: Following, value: str, **labels: str) -> None:
    metadata = {"name": "seen", "namespace": NAMESPACE, "labels": labels}
    document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"value": value}}
    following.control_plane.apply(document)


def test_when_it_is_ready_it_knows_namespaces_and_the_defaults_of_params_hold(following: Following) -> None:
    assert seen(following) == {"params": "default", "team": "none"}
    assert following.metric("watch_objects", resource="namespaces") >= 2


def test_params_in_the_cluster_win_over_the_defaults_for_as_long_as_they_are_there(following: Following) -> None:
    put_params(following, "first")
    until_seen(following, params="first", team="none")
    put_params(following, "second")
    until_seen(following, params="second", team="none")
    # What is labelled as a topology is the params of nobody.
    label = f"{TOPOLOGY_LABEL}=v1"
    following.control_plane.kubectl("label", "configmap", "seen", "-n", NAMESPACE, label)
    until_seen(following, params="default", team="none")
    following.control_plane.kubectl("label", "configmap", "seen", "-n", NAMESPACE, f"{TOPOLOGY_LABEL}-")
    until_seen(following, params="second", team="none")
    following.control_plane.kubectl("delete", "configmap", "seen", "-n", NAMESPACE)
    until_seen(following, params="default", team="none")


def test_a_new_set_of_policies_meets_what_is_known_of_the_cluster(following: Following) -> None:
    put_params(following, "kept")
    until_seen(following, params="kept", team="none")
    following.write_policy(_SEEN.replace("params.data.value", "params.data.value + ' more'") + _DEFAULT)
    wait_for(
        lambda: seen(following).get("params") == "kept more",
        timeout_seconds=FOLLOWS_SECONDS,
        what="the new policy to decide",
    )
    following.write_policy(_SEEN + _DEFAULT)
    following.control_plane.kubectl("delete", "configmap", "seen", "-n", NAMESPACE)
    wait_for(
        lambda: seen(following).get("params") == "default",
        timeout_seconds=FOLLOWS_SECONDS,
        what="the first policy to decide",
    )


def test_labels_and_annotations_of_a_namespace_are_followed(following: Following) -> None:
    kubectl = following.control_plane.kubectl
    kubectl("annotate", "namespace", "team-a", "example.com/team=a")
    until_seen(following, params="default", team="a")
    kubectl("label", "namespace", "team-a", "example.com/unseen=true")
    until_seen(following)
    kubectl("label", "namespace", "team-a", "example.com/unseen-")
    kubectl("annotate", "namespace", "team-a", "example.com/team-")
    until_seen(following, params="default", team="none")


def test_a_namespace_that_is_made_later_is_known(following: Following) -> None:
    following.control_plane.add_namespace("team-b")
    wait_for(
        lambda: "seen.example/team" in str(following.ask(gpu_pod(1), namespace="team-b")),
        timeout_seconds=FOLLOWS_SECONDS,
        what=lambda: str(following.ask(gpu_pod(1), namespace="team-b")),
    )
