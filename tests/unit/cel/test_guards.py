"""The cost of a text behind a condition about its length."""

import pytest

from podberth.cel.cost import MAX_MICROSECONDS
from podberth.cel.engine import CelType, Environment, Expression, Want

# To take such a text apart costs more than a policy may cost, and nothing if the text is short.
TEXT = "object.metadata.annotations['a']"
HEAVY = "variables.text.split(',').map(p, p).size() > 1"


def microseconds(environment: Environment, source: str) -> float:
    known: dict[str, CelType | Expression] = {}
    for name, each in {"text": TEXT, "other": TEXT}.items():
        known[name] = environment.compile(each, want=Want.ANY)
    return environment.compile(source, want=Want.BOOL, variables=known).costs[""].microseconds


@pytest.mark.parametrize(
    "source",
    [
        f"variables.text.size() <= 20 && {HEAVY}",
        f"variables.text.size() < 20 && {HEAVY}",
        f"variables.text.size() == 20 && {HEAVY}",
        f"20 >= size(variables.text) && {HEAVY}",
        f"variables.text != '' && variables.text.size() <= 20 && {HEAVY}",
        f"variables.text.size() > 20 || {HEAVY}",
        f"variables.text.size() != 20 || {HEAVY}",
        f"!(variables.text.size() <= 20) || {HEAVY}",
        f"variables.text == '' || variables.text.size() > 20 || {HEAVY}",
        f"variables.text.size() <= 20 ? {HEAVY} : false",
        f"variables.text.size() > 20 ? false : {HEAVY}",
        f"variables.text.matches('^[a-z]{{1,9}}$') && {HEAVY}",
        f"[{TEXT}].exists(text, text.size() <= 20 && text.split(',').map(p, p).size() > 1)",
        f"[{TEXT}].filter(text, text.size() <= 20)[0].split(',').map(p, p).size() > 1",
    ],
)
def test_a_text_behind_a_condition_is_as_long_as_the_condition_allows(environment: Environment, source: str) -> None:
    assert microseconds(environment, source) < MAX_MICROSECONDS / 10


@pytest.mark.parametrize(
    "source",
    [
        HEAVY,
        f"variables.text.size() >= 20 && {HEAVY}",
        f"variables.text.size() != 20 && {HEAVY}",
        f"variables.text.size() <= 20 || {HEAVY}",
        f"!(variables.text.size() <= 20) && {HEAVY}",
        f"variables.text.size() <= 20 ? false : {HEAVY}",
        f"(variables.text.size() <= 20 || variables.other == '') && {HEAVY}",
        f"variables.other.size() <= 20 && {HEAVY}",
        f"variables.text.size() <= gpu.count && {HEAVY}",
        f"variables.text.size() <= 20 && {HEAVY} || {HEAVY}",
        # The pattern has no end, or not at the end of the text.
        f"variables.text.matches('^[a-z]+$') && {HEAVY}",
        f"variables.text.matches('^[a-z]{{1,9}}') && {HEAVY}",
        f"variables.text.matches('[a-z]{{1,9}}$') && {HEAVY}",
        f"variables.text.matches('^a$|b') && {HEAVY}",
        f"variables.text.matches('^(?m)a$') && {HEAVY}",
        rf"variables.text.matches('^a\\$') && {HEAVY}",
        rf"variables.text.matches('^a\\\\Q$') && {HEAVY}",
        # A list is as long in bytes as its texts.
        f"[{TEXT}].size() <= 20 && {HEAVY}",
        # The inner name is of another text.
        f"['a'].exists(text, text.size() <= 20 && [{TEXT}].exists(text, text.split(',').map(p, p).size() > 1))",
    ],
)
def test_any_other_condition_says_nothing_of_it(environment: Environment, source: str) -> None:
    assert microseconds(environment, source) > MAX_MICROSECONDS
