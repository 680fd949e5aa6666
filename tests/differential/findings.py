"""What 20,000 comparisons with an API server once found, each with the rows and tests that prove it fixed.

A finding has the number that it has in the list of findings, ``findings/semantics.md`` of the shared data. A proof is
``ROWS`` (rows of ``differential.rows`` with its number) or a test, as ``file::name``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

ROWS: Final = "ROWS"
SINCE: Final = "since"
"""The number of what was found after the list was written."""
_MISTAKES: Final = "tests/unit/lint/test_mistakes.py::test_"
_VECTORS: Final = "tests/e2e/test_cel_libraries.py::test_every_vector_has_its_value_on_the_apiserver"
_CONSTANTS: Final = "tests/e2e/test_cel_libraries.py::test_a_constant_that_fails_here_is_refused_there"


@dataclass(frozen=True, slots=True)
class Finding:
    """What differed, and what proves that it does not."""

    says: str
    proofs: Sequence[str]


FINDINGS: Final[Mapping[str, Finding]] = {
    "1": Finding("an index out of range of an optional list counts as present", (ROWS, _VECTORS)),
    "2": Finding("oldObject is null on CREATE, and a scalar has no fields", (ROWS, _VECTORS)),
    "3": Finding("missing params with Deny deny whatever the actions", (ROWS,)),
    "4": Finding("an error for one of several params leaves the others", (ROWS,)),
    "5": Finding("params are found before the conditions are asked", (ROWS,)),
    "6": Finding("the texts of durations, times, numbers, lists and maps", (ROWS, _VECTORS)),
    "7": Finding("values of lastIndexOf, split, equality, conversions, order and patterns", (ROWS, _VECTORS)),
    "8": Finding("a selector with an impossible label value is refused", (ROWS,)),
    "9": Finding("bytes that are no UTF-8 in a messageExpression", (ROWS,)),
    "10": Finding("substring up to the end, and indexes beyond it", (ROWS, _VECTORS)),
    "11": Finding("literals of durations, bools, maps and indexes", (ROWS, _VECTORS)),
    "12": Finding("comparisons across types, indexes of objects, and what a policy may say twice", (ROWS, _VECTORS)),
    "13": Finding("MutatingAdmissionPolicies: errors, numbers, null, and what a JSONPatch does not find", (ROWS,)),
    "14": Finding("errors under Ignore, of conditions under Audit, and of audit annotations", (ROWS,)),
    "15": Finding("the reason of an error, and messages that are long, blank or of several lines", (ROWS,)),
    "16": Finding(
        "what is refused: reasons, names, literals, constants, fields, and types that are dyn", (ROWS, _CONSTANTS)
    ),
    SINCE: Finding(
        "null messages, optional entries with the key of another, uints whose type is dyn, and authorizer", (ROWS,)
    ),
    "lint": Finding(
        "lint names what denies later: literals, names, fields that may be absent, and texts compared as numbers",
        (
            f"{_MISTAKES}a_literal_that_every_pod_is_refused_for",
            f"{_MISTAKES}an_argument_that_its_function_refuses",
            f"{_MISTAKES}a_constant_without_a_value_is_refused_when_the_policy_is_loaded",
            f"{_MISTAKES}a_text_that_the_field_never_has",
            f"{_MISTAKES}amounts_that_are_compared_as_text",
            f"{_MISTAKES}a_field_that_a_pod_may_lack",
            f"{_MISTAKES}two_policies_that_write_one_value_are_a_warning",
            f"{_MISTAKES}a_level_that_no_node_has",
            "tests/unit/files/test_loading.py::test_a_field_of_a_newer_cluster_is_known_from_its_own_schema",
        ),
    ),
}
