"""Whether answers that are remembered are those of a snapshot that remembers nothing."""

from collections.abc import Callable, Iterable
from functools import partial

from podberth.admission.decide import mutate, validate
from podberth.admission.outcome import Outcome
from podberth.admission.review import AdmissionRequest
from podberth.admission.snapshot import Snapshot
from snapshots import forgetful

Decide = Callable[[AdmissionRequest, Snapshot], Outcome]


def _assert_right(warm: Snapshot, requests: Iterable[AdmissionRequest], *, decide: Decide) -> None:
    """Decide one review after the other; each outcome must be the one of a snapshot that remembers nothing.

    A review that comes more than once, as one object, is decided on without memory once.
    """
    expected: dict[int, Outcome] = {}
    for request in tuple(requests):  # all of them live until the end, so no two have one id
        if id(request) not in expected:
            expected[id(request)] = decide(request, forgetful(warm))
        assert decide(request, warm) == expected[id(request)]


assert_decided_right = partial(_assert_right, decide=mutate)
assert_judged_right = partial(_assert_right, decide=validate)
