"""How much of CEL the second engine speaks as it is taught here, by google/cel-spec's own cases.

cel-python 0.5.0 alone has 4 of the 59 cases of optionals (docs/adr/0002-cel-engine.md). Here all 59 come out, and
1,215 of 1,715: cases that are only checked are left out, for it knows no types, and those with a container, and with
bytes that are bound.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

from conformance.cel_spec import Case, read_cases, untagged
from conftest import SHARED
from node_builders import index_of, need_of
from podberth.cel.functions import ReviewContext
from podberth.errors import EvaluationError
from second_engine import SecondEngine, UnreadableError

FILE = "conformance/cel-spec.jsonl"
RUN = 1715

# What does not come out, by upstream's file. All of what policies are mostly made of does: basic, lists, logic, macros,
# optionals, string and integer_math.
MISSES: Mapping[str, int] = {
    "math_ext": 182,  # extensions of CEL, which it has not
    "string_ext": 113,  # format() and its errors, quote(), reverse()
    "network_ext": 60,
    "macros2": 38,
    "block_ext": 25,
    "bindings_ext": 6,
    "encoders_ext": 4,
    "parse": 30,  # escapes that it does not know, and a line feed in a text of three quotes
    "conversions": 24,  # types as values are classes of Python's; timestamp() of a number
    "timestamps": 10,  # the same; nanoseconds, and overflows
    "comparisons": 4,  # 0.0 / 0.0 is infinite; timestamp() of a number
    "fields": 2,  # keys of a map that are no key
    "namespace": 2,  # a dotted name that is bound beside a loop's variable
}

_REVIEW = ReviewContext(index_of([]), need_of(0))


def holds(engine: SecondEngine, document: Mapping[str, Any]) -> bool:
    """Run a case; return whether its value is upstream's, in Python's types, or an error where upstream has one."""
    bindings = {name: untagged(value) for name, value in document.get("bindings", {}).items()}
    try:
        found = engine.evaluate(document["expr"], bindings, {}, _REVIEW)
    except EvaluationError:
        return "error" in document
    except UnreadableError:
        return False
    expected = untagged(document["value"]) if "value" in document else None
    # Not a number is equal to nothing; the texts of both are.
    return "value" in document and (found == expected or str(found) == str(expected) == "nan")


@pytest.mark.shared(FILE)
def test_what_comes_out() -> None:
    engine, run = SecondEngine(), list[Case]()
    for case in read_cases(SHARED / FILE):
        document = case.document
        is_json = not any("bytes" in value for value in document.get("bindings", {}).values())
        if is_json and not (case.needs_protobuf or document.get("checkOnly") or document.get("container")):
            run.append(case)
    missed = Counter(case.file for case in run if not holds(engine, case.document))
    assert missed == MISSES
    assert len(run) == RUN
