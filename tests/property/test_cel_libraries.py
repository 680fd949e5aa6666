"""Properties of the CEL libraries: their arithmetic is exact, and their conversions are total."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podberth.cel.libraries import cidr, ip, semver, url
from podberth.cel.libraries.format import FORMATS
from podberth.cel.libraries.overload import LibraryError
from podberth.cel.libraries.quantity import compare, minus, parse, plus, read

_AMOUNTS = st.from_regex(r"[+-]?[0-9]{1,12}(\.[0-9]{0,6})?([numkMGTPE]|[KMGTPE]i|e-?[0-9]{1,2})?", fullmatch=True)


@given(_AMOUNTS, _AMOUNTS)
def test_sums_are_exact(first: str, second: str) -> None:
    one, other = parse(first), parse(second)
    assert compare(minus(plus(one, other), other), one) == 0
    assert compare(plus(one, other), plus(other, one)) == 0
    assert compare(one, other) == -compare(other, one)


@given(_AMOUNTS)
def test_the_text_of_an_amount_is_all_of_it(text: str) -> None:
    assert read(parse(text).text) == parse(text)


# Characters that mean something to one of them, and some that do not; the engine hands out no half of a surrogate pair.
_TEXTS = st.text(
    st.sampled_from("0123456789abefv.:/%@?#&=[]+-_~ kMGi\u00e9\u0663") | st.characters(codec="utf-8"), max_size=30
)


@pytest.mark.parametrize(
    "again",
    [
        lambda text: parse(text).text and "",
        lambda text: str(ip.parse(text)),
        cidr.parse,
        lambda text: semver.parse(text).text,
        lambda text: url.parse(text).text.encode("latin-1").decode(),
    ],
    ids=["quantity", "ip", "cidr", "semver", "url"],
)
@given(_TEXTS)
def test_a_conversion_has_a_canonical_value_or_an_error(again: Callable[[str], str], text: str) -> None:
    try:
        found = again(text)
    except LibraryError:
        return
    assert not found or again(found) == found


@given(st.sampled_from(sorted(FORMATS)), _TEXTS)
def test_a_format_has_an_answer_for_any_text(name: str, text: str) -> None:
    assert all(FORMATS[name](text))
