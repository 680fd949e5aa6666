from typing import Annotated

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from podberth.kube.paths import Path
from podberth.kube.shape import shown
from podberth.policy.wording import MOST_EXPLAINED, explain, fields_at
from podberth.words import did_you_mean


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")
    flag: bool = False
    names: tuple[str, ...] = ()
    numbers: Annotated[tuple[int, ...], Field(min_length=1)] = (1,)
    pair: Annotated[tuple[int, ...], Field(min_length=2)] = (1, 2)


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid")
    inner: Inner | None = None
    several: tuple[Inner, ...] = ()


def explained(document: object) -> list[tuple[Path, bool, str]]:
    with pytest.raises(ValidationError) as caught:
        Outer.model_validate(document)
    return list(explain(caught.value, Outer))


@pytest.mark.parametrize(
    ("document", "finding"),
    [
        ([], ((), False, "got a list, want an object")),
        ({"iner": 1}, (("iner",), True, "unknown field 'iner'; did you mean inner?")),
        ({"flag": 1}, (("flag",), True, "unknown field 'flag'; want one of inner, several; flag is a field of inner")),
        ({"zzz": 1}, (("zzz",), True, "unknown field 'zzz'; want one of inner, several")),
        ({"several": [{"flg": 1}]}, (("several", 0, "flg"), True, "unknown field 'flg'; did you mean flag?")),
        ({"several": {}}, (("several",), False, "got an object, want a list")),
        (
            {"several": {"a": 1}},
            (("several",), False, "got an object, want a list; begin each item with a dash"),
        ),
        ({"inner": {"names": [False]}}, (("inner", "names", 0), False, "got false, want a string; put it in quotes")),
        ({"inner": {"names": "a"}}, (("inner", "names"), False, "got 'a', want a list; write ['a']")),
        ({"inner": {"numbers": [None]}}, (("inner", "numbers", 0), False, "got null, want a whole number")),
        ({"inner": {"numbers": []}}, (("inner", "numbers"), False, "got 0 entries, want at least 1")),
        ({"inner": {"pair": [1]}}, (("inner", "pair"), False, "got 1 entry, want at least 2")),
        ({"inner": "x"}, (("inner",), False, "got 'x', want an object")),
        ({"inner": {"names": [None]}}, (("inner", "names", 0), False, "got null, want a string")),
    ],
)
def test_findings_are_reported_in_our_words(document: object, finding: tuple[Path, bool, str]) -> None:
    assert explained(document) == [finding]


def test_a_kind_of_finding_without_words_of_ours_keeps_pydantics() -> None:
    ((path, _, message),) = explained({"inner": {"flag": "maybe"}})
    assert path == ("inner", "flag")
    assert "boolean" in message


def test_fields_are_found_inside_of_optional_models_and_tuples() -> None:
    assert fields_at(Outer, ()) == ("inner", "several")
    assert fields_at(Outer, ("several", 3)) == fields_at(Outer, ("inner",)) == ("flag", "names", "numbers", "pair")
    assert fields_at(Outer, ("inner", "flag")) == fields_at(Outer, ("what", "ever")) == ()


def test_values_are_shown_short() -> None:
    values: list[object] = [True, 1, None, "a", [1], {}]
    assert [shown(value) for value in values] == ["true", "1", "null", "'a'", "a list", "an object"]
    assert len(shown("a" * 500)) == 80


def test_only_a_near_name_is_suggested() -> None:
    assert did_you_mean("gpu", ("GPU", "All")) == "; did you mean GPU?"
    assert did_you_mean("mutatons", ("mutations", "validations")) == "; did you mean mutations?"
    assert did_you_mean("zebra", ("mutations",)) == ""


def test_the_first_of_many_problems_are_explained_and_the_others_counted() -> None:
    first, *others = explained({f"zzz{at}": 1 for at in range(MOST_EXPLAINED + 1)})
    assert first == (
        (),
        False,
        f"got {MOST_EXPLAINED + 1} problems, of which {MOST_EXPLAINED} are shown; fix these first",
    )
    assert len(others) == MOST_EXPLAINED
    assert len(explained({f"zzz{at}": 1 for at in range(MOST_EXPLAINED)})) == MOST_EXPLAINED


def test_a_long_unknown_name_is_cut() -> None:
    [(_, _, message)] = explained({"z" * 100_000: 1})
    assert len(message) < 200
