import pytest

from podberth.cel.types import BOOL, DYN, INT, NODES, NULL, STRING, CelType, Want, accepts, parse

LIST, MAP, POD = map(parse, ("list(dyn)", "map(string, dyn)", "k8s.Pod"))


def list_of(element: CelType) -> CelType:
    return CelType("list", (element,))


def optional(inner: CelType) -> CelType:
    return CelType("optional_type", (inner,))


@pytest.mark.parametrize(
    ("want", "found"),
    [
        (Want.BOOL, BOOL),
        (Want.STRING, STRING),
        (Want.STRING, DYN),
        (Want.STRING, NULL),
        (Want.STRING, optional(STRING)),
        (Want.INT, INT),
        (Want.INT, optional(DYN)),
        (Want.MAP, MAP),
        (Want.MAP, POD),
        (Want.MAP, CelType("map", (DYN, DYN))),
        (Want.LIST_OF_MAPS, LIST),
        (Want.LIST_OF_MAPS, list_of(MAP)),
        (Want.LIST_OF_MAPS, list_of(CelType("k8s.Toleration"))),
        (Want.LIST_OF_MAPS, optional(list_of(MAP))),
        (Want.ANY, NODES),
        (Want.ANY, CelType("bytes")),
    ],
)
def test_a_type_that_can_be_what_is_wanted_passes(want: Want, found: CelType) -> None:
    assert accepts(want, found)


@pytest.mark.parametrize(
    ("want", "found"),
    [
        (Want.BOOL, DYN),  # as upstream: a condition is bool for certain
        (Want.BOOL, NULL),
        (Want.BOOL, optional(BOOL)),
        (Want.STRING, INT),
        (Want.STRING, CelType("bytes")),
        (Want.INT, CelType("uint")),
        (Want.MAP, CelType("map", (INT, STRING))),
        (Want.MAP, NODES),
        (Want.LIST_OF_MAPS, MAP),
        (Want.LIST_OF_MAPS, list_of(STRING)),
        (Want.LIST_OF_MAPS, list_of(NODES)),
        (Want.LIST_OF_MAPS, optional(optional(LIST))),
    ],
)
def test_a_type_that_cannot_be_what_is_wanted_is_refused(want: Want, found: CelType) -> None:
    assert not accepts(want, found)


def test_a_type_is_spelled_as_cel_spells_it() -> None:
    assert str(optional(list_of(MAP))) == "optional_type(list(map(string, dyn)))"


@pytest.mark.parametrize(
    "text", ["int", "list(A)", "map(string, list(dyn))", "optional_type(list(string))", "map(list(int), map(int, A))"]
)
def test_a_type_is_read_as_it_is_written(text: str) -> None:
    assert str(parse(text)) == text


def test_a_capital_letter_is_any_type() -> None:
    assert [each.is_parameter for each in (parse("A"), parse("int"), parse("list(A)").parameters[0])] == [
        True,
        False,
        True,
    ]
