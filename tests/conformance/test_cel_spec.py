"""How much of CEL the engine speaks, by google/cel-spec's own cases; the numbers may only grow.

Of 2,456 cases 698 are about protobuf messages and left out (``Case.needs_protobuf``), and 1,758 run, each compared in
type and value. When the engine was chosen, 1,626 of as many came out by its Python interface alone
(docs/adr/0002-cel-engine.md). By this test, with cel-expr-python 0.1.3:

- 1,662 come out on the engine with all that it ships. 32 of the 36 more are of two-variable comprehensions, which its
  environment document switches on and its Python interface does not.
- 1,493 come out as a policy's expression, which has podberth's libraries and not the engine's math, bindings and
  encoders, and upstream's values where those are not cel-spec's (docs/adr/0044-equal-values.md).
- 1,720 come out on one or the other: podberth adds 58 cases of ip() and cidr().

The 15 cases that a stricter rule would leave out are those that are in upstream's package of test messages and name an
enum of it (14) or a message of one field (1); all of them come out.
"""

from collections import Counter
from collections.abc import Callable, Mapping

import pytest

from conformance.cel_spec import Case, engine_holds, policies_hold, read_cases
from conftest import SHARED

FILE = "conformance/cel-spec.jsonl"
LEFT_OUT = 698
RUN = 1758
WHEN_CHOSEN = 1626
"""Of as many, when the engine was chosen: docs/adr/0002-cel-engine.md."""

# What does not come out, by upstream's file, and why.
NOWHERE = {
    "block_ext": 25,  # cel.block is for optimisers: the engine has it as cel.@block, and no macro for it
    "macros2": 6,  # transformMap: the engine makes no map in a loop but an empty one
    "fields": 2,  # a.b.c unchecked; a repeated key of two number types
    "parse": 2,  # upstream's expected bytes have a backslash that the text has not
    "namespace": 1,  # a container, unchecked
    "network_ext": 2,  # an IPv4 address inside of an IPv6 one, which Kubernetes refuses
}
NOT_IN_THE_ENGINE = NOWHERE | {"network_ext": 60}  # ip() and cidr() are none of its own
NOT_FOR_POLICIES = NOWHERE | {
    "fields": 3,  # a literal key twice: the last entry wins at the API server
    "macros2": 8,  # transformMap is refused
    "math_ext": 182,  # extensions that Kubernetes has not
    "bindings_ext": 8,
    "encoders_ext": 4,
    "string_ext": 27,  # reverse(), and format() and indexOf(), of a version of the extension that Kubernetes has not
    "optionals": 2,  # nothing is present in a scalar, where the specification has an error
    "timestamps": 1,  # a duration that is bound: what is bound is JSON
}


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return list(read_cases(SHARED / FILE))


@pytest.mark.shared(FILE)
def test_what_is_left_out_is_about_protobuf_messages(cases: list[Case]) -> None:
    counted = Counter(case.needs_protobuf for case in cases)
    assert (counted[True], counted[False]) == (LEFT_OUT, RUN)


@pytest.mark.shared(FILE)
@pytest.mark.parametrize(
    ("holds", "misses", "held"),
    [
        (engine_holds, NOT_IN_THE_ENGINE, 1662),
        (policies_hold, NOT_FOR_POLICIES, 1493),
        (lambda case: engine_holds(case) or policies_hold(case), NOWHERE, 1720),
    ],
    ids=["all the engine has", "what policies have", "one or the other"],
)
def test_what_comes_out(cases: list[Case], holds: Callable[[Case], bool], misses: Mapping[str, int], held: int) -> None:
    run = [case for case in cases if not case.needs_protobuf]
    missed = [case for case in run if not holds(case)]
    by_file = Counter(case.file for case in missed)
    other = {file for file in by_file.keys() | misses if by_file[file] != misses.get(file, 0)}
    assert [case.id for case in missed if case.file in other] == []
    assert by_file == misses
    assert len(run) - len(missed) == held


@pytest.mark.shared(FILE)
def test_no_fewer_come_out_than_when_the_engine_was_chosen(cases: list[Case]) -> None:
    assert sum(engine_holds(case) for case in cases if not case.needs_protobuf) >= WHEN_CHOSEN
