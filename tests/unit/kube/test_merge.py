"""Apply configurations merge as the API server's do: fields, map lists by their keys, sets; nothing atomic.

The orders of lists are those of structured-merge-diff's own cases (typed/merge_test.go, symdiff and merge of
associative lists). tests/e2e/test_upstream_mutations.py compares whole pods with a real API server.
"""

from typing import Any

import pytest

from podberth.kube.merge import ConfigurationError, merge, stripped
from podberth.kube.schema import PodSchema, Schema
from podberth.kube.typed import POD_TYPE

SCHEMA = PodSchema.packaged()
NAMED = Schema(
    kind="array",
    list_type="map",
    list_map_keys=("name",),
    element=Schema(kind="message", message="io.k8s.api.core.v1.EnvVar"),
)
LETTERS = Schema(kind="array", list_type="set", element=Schema(kind="string"))


def spec(live: dict[str, Any], applied: dict[str, Any]) -> Any:
    return merge(SCHEMA, POD_TYPE, {"spec": live}, {"spec": applied})["spec"]


@pytest.mark.parametrize(
    ("live", "applied", "merged"),
    [
        ({}, {"dnsPolicy": "None"}, {"dnsPolicy": "None"}),
        ({"dnsPolicy": "Default"}, {"dnsPolicy": "None"}, {"dnsPolicy": "None"}),
        ({"hostname": "a"}, {"subdomain": "b"}, {"hostname": "a", "subdomain": "b"}),
        (
            {"securityContext": {"runAsUser": 1}},
            {"securityContext": {"fsGroup": 2}},
            {"securityContext": {"runAsUser": 1, "fsGroup": 2}},
        ),
        ({"securityContext": None}, {"securityContext": {"fsGroup": 2}}, {"securityContext": {"fsGroup": 2}}),
        ({"hostAliases": None}, {"hostAliases": []}, {"hostAliases": []}),
        (
            {"containers": [{"name": "a", "image": "x"}, {"name": "b"}]},
            {"containers": [{"name": "b", "image": "y"}]},
            {"containers": [{"name": "a", "image": "x"}, {"name": "b", "image": "y"}]},
        ),
        (  # a port without a protocol is a TCP port
            {"containers": [{"name": "a", "ports": [{"containerPort": 1, "protocol": "TCP"}]}]},
            {"containers": [{"name": "a", "ports": [{"containerPort": 1, "name": "http"}, {"containerPort": 2}]}]},
            {
                "containers": [
                    {
                        "name": "a",
                        "ports": [{"containerPort": 1, "protocol": "TCP", "name": "http"}, {"containerPort": 2}],
                    }
                ]
            },
        ),
        (  # what is no list of the API's is as good as none
            {"volumes": "none"},
            {"volumes": [{"name": "v"}]},
            {"volumes": [{"name": "v"}]},
        ),
    ],
)
def test_what_is_applied_wins_and_the_rest_stays(
    live: dict[str, Any], applied: dict[str, Any], merged: dict[str, Any]
) -> None:
    assert spec(live, applied) == merged


@pytest.mark.parametrize(
    ("live", "applied", "merged"),
    [
        ("", "a", "a"),
        ("a", "", "a"),
        ("ab", "cd", "abcd"),
        ("abc", "b", "abc"),
        ("abc", "ca", "bca"),
        ("ab", "ba", "ba"),
        ("abcd", "xb", "axbcd"),
        ("abc", "xbya", "xbcya"),
        ("aab", "a", "ab"),
        ("aab", "b", "aab"),
    ],
)
def test_sets_and_map_lists_are_joined_in_the_order_of_upstream(live: str, applied: str, merged: str) -> None:
    assert merge(SCHEMA, LETTERS, list(live), list(applied)) == list(merged)
    items = [[{"name": each} for each in text] for text in (live, applied, merged)]
    assert merge(SCHEMA, NAMED, items[0], items[1]) == items[2]


def test_an_item_that_the_pod_has_twice_is_replaced_and_not_merged() -> None:
    live = [{"name": "a", "value": "1"}, {"name": "a", "value": "2"}]

    assert merge(SCHEMA, NAMED, live, [{"name": "a"}]) == [{"name": "a"}]


@pytest.mark.parametrize(
    ("applied", "message"),
    [
        ({"tolerations": [{"key": "a"}]}, "applyConfiguration.spec.tolerations: may not set atomic"),
        ({"nodeSelector": {"a": "b"}}, "spec.nodeSelector: may not set atomic"),
        ({"containers": [{"name": "a", "command": ["x"]}]}, r"spec.containers\[0\].command: may not set atomic"),
        (
            {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}}},
            "requiredDuringSchedulingIgnoredDuringExecution: may not set atomic",
        ),
        ({"nodename": "a"}, "applyConfiguration.spec: unknown field 'nodename'; did you mean nodeName"),
        ({"hostNetwork": "yes"}, "spec.hostNetwork: got 'yes', want a boolean"),
        ({"priority": True}, "spec.priority: got true, want a whole number"),
        ({"volumes": {}}, "spec.volumes: got a map, want a list"),
        ({"volumes": [None]}, r"spec.volumes\[0\]: got null, want Volume"),
        ({"volumes": [{"name": "v"}, {"name": "v"}]}, "spec.volumes: got an item twice, want each name once"),
    ],
)
def test_what_cannot_be_merged_is_reported_with_its_place(applied: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        spec({"containers": [{"name": "a"}]}, applied)


def test_nothing_is_changed_in_place() -> None:
    live = {"spec": {"containers": [{"name": "a", "env": [{"name": "A"}]}]}}
    applied = {"spec": {"containers": [{"name": "a", "env": [{"name": "B"}]}]}}
    before = repr(live), repr(applied)
    merge(SCHEMA, POD_TYPE, live, applied)

    assert (repr(live), repr(applied)) == before


def test_a_key_with_null_says_nothing() -> None:
    assert stripped({"a": None, "b": {"c": None, "d": [{"e": None}, 1]}}) == {"b": {"d": [{}, 1]}}
