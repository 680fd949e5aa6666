"""Rules of groups that several kinds share."""

from podberth.kinds.group_rules import job_minimums


def test_one_pod_that_is_made_is_singular() -> None:
    spec = {"parallelism": 3, "completions": 1, "completionMode": "Indexed"}

    assert list(job_minimums({"spec": spec}, "spec")) == [
        (("spec", "completions"), "got 1, want 3, as parallelism: of 3 pods only 1 is ever made")
    ]
