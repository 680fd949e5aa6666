"""Live workloads, whatever the objects of a snapshot hold: nothing raises, and each workload is counted once."""

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checking import shipped
from podberth.check.live_workloads import check_workload, live_report
from podberth.check.owners import top_owners
from podberth.check.report import live_text
from podberth.check.report.policy_report import policy_reports
from podberth.check.run import CheckSettings
from podberth.check.sources import read
from podberth.check.surroundings import referred, surroundings, within
from properties import examples

ANYTHING: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "a", "Failed", "Complete", "True"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["type", "status", "a"]), inner),
    max_leaves=4,
)
UIDS = st.sampled_from(["1", "2", "3", "4"])
KINDS = st.sampled_from(
    [("v1", "Pod"), ("apps/v1", "ReplicaSet"), ("apps/v1", "Deployment"), ("batch/v1", "Job"), ("x/v1", "Flow")]
)
CONTAINER = {"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
SPEC = {"containers": [CONTAINER], "template": {"spec": {"containers": [CONTAINER]}}}
OWNERS = st.lists(
    st.fixed_dictionaries(
        {"uid": UIDS, "name": st.sampled_from(["a", "a-5f"]), "kind": st.sampled_from(["ReplicaSet", "Job"])},
        optional={"controller": ANYTHING},
    )
    | ANYTHING,
    max_size=2,
)
METADATA = st.fixed_dictionaries(
    {"name": st.sampled_from(["a", "b"]), "namespace": st.just("n")},
    optional={"uid": UIDS | ANYTHING, "ownerReferences": OWNERS | ANYTHING, "deletionTimestamp": ANYTHING},
)
STATUS = ANYTHING | st.fixed_dictionaries({}, optional={"phase": ANYTHING, "conditions": ANYTHING})
OBJECTS = st.builds(
    lambda kind, metadata, spec, status: {
        "apiVersion": kind[0],
        "kind": kind[1],
        "metadata": metadata,
        "spec": spec,
        "status": status,
    },
    KINDS,
    METADATA | ANYTHING,
    st.just(SPEC) | ANYTHING,
    STATUS,
)


@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(objects=st.lists(OBJECTS, max_size=5))
def test_nothing_raises_and_no_workload_is_counted_twice(objects: list[dict[str, Any]]) -> None:
    file = read("live.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    around = surroundings([file], "default")
    whole, known = within(shipped(), around), tuple(referred(around))
    tops = top_owners(file.sources, CheckSettings(), known, whole.facts.namespaces)
    pods = [id(pod) for each in tops.owners for pod in each.pods]
    assert len(set(pods)) == len(pods)
    assert len(tops.owners) + tops.owned + tops.finished + tops.exempt <= len(objects)
    found = [check_workload(each, whole, CheckSettings(), known) for each in tops.owners]
    report = live_report(found, tops, ())
    assert report.live is not None
    assert report.live.workloads == len(tops.owners)
    assert list(live_text.lines(report))
    json.dumps(report.as_json())
    policy_reports(report, 0, {})
