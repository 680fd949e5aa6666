"""The dense texts of the bench stand on both sides of the bound, and the largest pods within it, two of them, too."""

import orjson
import pytest
from bench import dense, hostile
from bench.found import FOUND
from bench.genome import build

from podberth.kube.review_limits import MARKS, excess_of_text, marks_outside_strings

REVIEWS = list(dense.reviews())


@pytest.mark.parametrize(
    ("name", "body"), [(name, body) for name, _, body in REVIEWS], ids=[each[0] for each in REVIEWS]
)
def test_those_at_the_bound_are_parsed_and_those_of_three_mib_are_not(name: str, body: bytes) -> None:
    assert orjson.loads(body)
    assert bool(excess_of_text(body)) == ("3 MiB" in name)
    objects = 2 if "UPDATE" in name else 1
    marks = marks_outside_strings(body, objects * MARKS)
    assert "at the bound" not in name or (marks is not None and marks > 0.95 * objects * MARKS)


@pytest.mark.parametrize("name", [*hostile.HOSTILE, *FOUND])
def test_an_update_of_the_largest_pods_is_parsed(name: str) -> None:
    pod = hostile.HOSTILE[name](0) if name in hostile.HOSTILE else build(FOUND[name], 0)
    document = hostile.review(pod)
    document["request"]["oldObject"] = pod
    assert excess_of_text(orjson.dumps(document)) == ""
