"""The facts that are kept of owners, and their duration, by a simulated clock."""

from podberth.controller.owner_cache import ASK_AGAIN_SECONDS, MOST_ASKED_PER_SECOND, LookedUp
from podberth.controller.plan.world import LookUp
from podberth.kube.pod import OwnerReference

JOB = OwnerReference("batch/v1", "Job", "train", "j-1")
OWNED = ("team", JOB)
LOOK_UP = LookUp(*OWNED)
DOCUMENT = {"metadata": {"uid": "j-1"}, "spec": {"parallelism": 2, "completions": 2}}


def test_an_owner_that_cannot_be_read_is_on_top_until_it_can_be() -> None:
    known = LookedUp()
    assert known.cannot_be_read(LOOK_UP, 0.0)
    assert known.controllers == {OWNED: None}
    assert (known.due(ASK_AGAIN_SECONDS - 1.0), known.next_at(0.0)) == ([], ASK_AGAIN_SECONDS)
    assert known.due(ASK_AGAIN_SECONDS) == [LOOK_UP]
    assert not known.cannot_be_read(LOOK_UP, ASK_AGAIN_SECONDS)
    assert known.due(ASK_AGAIN_SECONDS) == []
    known.found(LOOK_UP, DOCUMENT)
    assert not known.is_unreadable(LOOK_UP)
    assert (known.due(1e9), known.next_at(0.0)) == ([], float("inf"))
    assert known.documents[OWNED]["spec"] == DOCUMENT["spec"]


def test_few_of_many_unreadable_owners_are_looked_up_each_second() -> None:
    """A missing right affects every gang."""
    known, count = LookedUp(), 10_000
    every = [LookUp("team", OwnerReference("batch/v1", "Job", f"job-{n}", str(n))) for n in range(count)]
    for one in (*every, *every):
        known.cannot_be_read(one, 0.0)
    wait = count / MOST_ASKED_PER_SECOND
    assert (known.due(wait - 1.0), len(known.due(wait))) == ([], count)


def test_an_owner_that_could_not_be_read_may_be_gone() -> None:
    known = LookedUp()
    known.cannot_be_read(LOOK_UP, 0.0)
    known.lost(LOOK_UP)
    assert (known.gone, known.controllers, known.due(1e9)) == ({OWNED}, {}, [])


def test_an_object_of_that_name_with_another_uid_is_not_the_owner() -> None:
    known = LookedUp()
    known.found(LOOK_UP, {"metadata": {"uid": "j-2"}})
    assert (known.gone, known.controllers) == ({OWNED}, {})


def test_an_owner_that_is_deleted_after_all_that_it_owns_counts_as_gone() -> None:
    known = LookedUp()
    deleting = {"uid": "j-1", "deletionTimestamp": "2026-01-02T03:04:05Z"}
    for finalizers in ([], None, "foregroundDeletion", ["orphan"], ["example.com/checkpoint", 7]):
        known.found(LOOK_UP, {**DOCUMENT, "metadata": {**deleting, "finalizers": finalizers}})
    known.found(LOOK_UP, {**DOCUMENT, "metadata": {"uid": "j-1", "finalizers": ["foregroundDeletion"]}})
    assert (known.gone, known.controllers) == (set(), {OWNED: None})
    known.found(LOOK_UP, {**DOCUMENT, "metadata": {**deleting, "finalizers": ["orphan", "foregroundDeletion"]}})
    assert (known.gone, known.controllers) == ({OWNED}, {})


def test_an_owner_that_is_doubted_is_forgotten_if_it_could_be_read() -> None:
    known = LookedUp()
    assert known.doubt({OWNED}) == set()
    known.found(LOOK_UP, DOCUMENT)
    assert known.doubt({OWNED}) == {OWNED}
    assert (known.controllers, known.documents, known.gone) == ({}, {}, set())
    known.cannot_be_read(LOOK_UP, 0.0)
    assert known.doubt({OWNED}) == set()
    assert known.controllers == {OWNED: None}


def test_an_owner_that_no_pod_has_is_not_looked_up() -> None:
    known = LookedUp()
    known.cannot_be_read(LOOK_UP, 0.0)
    known.keep({OWNED})
    assert known.due(1e9) == [LOOK_UP]
    known.keep(set())
    assert (known.due(1e9), known.controllers) == ([], {})


def test_the_kept_fields_of_an_owner_are_those_that_the_tables_of_gangs_read() -> None:
    metadata = {"name": "train", "namespace": "team", "uid": "j-1"}
    numbers = {"parallelism": 4, "completions": 4}
    pods = {"spec": {"subdomain": "train", "containers": []}}
    document = {"metadata": metadata, "spec": {**numbers, "template": pods, "suspend": True}}
    spec = {**numbers, "template": {"spec": {"subdomain": "train"}}}
    kept = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}
    done = {"conditions": [{"type": "Complete", "status": "True"}]}
    large = {"metadata": metadata, "spec": {"replicatedJobs": [{}] * 300}}
    sets = OwnerReference("jobset.x-k8s.io/v1alpha2", "JobSet", "train", "j-1")
    for owner, read, expected in [
        (JOB, document, kept),
        (JOB, {**document, "status": done}, None),
        (sets, large, None),
    ]:
        known = LookedUp()
        known.found(LookUp("team", owner), read)
        assert known.documents.get(("team", owner)) == expected
        assert ("team", owner) in known.controllers
