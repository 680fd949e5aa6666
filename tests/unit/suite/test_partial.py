import pytest

from podberth.suite.runner import differences

POD = {
    "metadata": {"name": "a", "labels": {}},
    "spec": {"tolerations": [{"key": "a"}, {"key": "b", "value": "1"}, {"key": "c"}], "volumes": [], "nodeName": None},
}


@pytest.mark.parametrize(
    "expected",
    [
        {},
        {"metadata": {"name": "a"}},
        {"spec": {"tolerations": [{"key": "b"}]}},
        {"spec": {"tolerations": [{"key": "a"}, {"value": "1"}]}},
        {"spec": {"tolerations": [{"key": "a"}, {"key": "c"}]}},
        {"spec": {"volumes": []}},
        {"spec": {"affinity": None, "nodeName": None, "schedulingGates": []}},
        {"metadata": {"labels": None, "annotations": {}}},
    ],
)
def test_a_part_of_a_document_matches_it(expected: object) -> None:
    if expected != {}:
        assert list(differences(expected, POD)) == []


@pytest.mark.parametrize(
    ("expected", "path", "message"),
    [
        ({"metadata": {"name": "b"}}, ("metadata", "name"), "got 'a', want 'b'"),
        ({"metadata": {"namespace": "b"}}, ("metadata", "namespace"), "got nothing, want 'b'"),
        ({"metadata": None}, ("metadata",), "want nothing"),
        ({"spec": {"tolerations": []}}, ("spec", "tolerations"), "want nothing"),
        ({"spec": {"tolerations": [{"key": "c"}, {"key": "a"}]}}, ("spec", "tolerations", 1), "no such item behind"),
        ({"spec": {"tolerations": [{"key": "a"}, {"key": "a"}]}}, ("spec", "tolerations", 1), "no such item behind"),
        ({"spec": {"tolerations": [{"key": "z"}]}}, ("spec", "tolerations", 0), "got no such item in ["),
        ({"spec": {"tolerations": {"key": "a"}}}, ("spec", "tolerations"), 'want {"key": "a"}'),
        ({"spec": {"nodeName": "n"}}, ("spec", "nodeName"), "got null, want 'n'"),
        ({"spec": {"volumes": [1]}}, ("spec", "volumes", 0), "got no such item"),
    ],
)
def test_a_difference_is_reported_where_it_is(expected: object, path: tuple[str | int, ...], message: str) -> None:
    ((found, text),) = differences(expected, POD)
    assert found == path
    assert message in text


@pytest.mark.parametrize(("expected", "actual"), [("1", 1), (1, True), (0, False), (1, 1.0), (1, "1")])
def test_values_of_other_types_differ(expected: object, actual: object) -> None:
    assert list(differences({"a": expected}, {"a": actual}))


def test_the_only_item_of_a_list_is_compared_inside() -> None:
    assert list(differences({"a": [{"b": {"c": 1}}]}, {"a": [{"b": {"c": 2}}]})) == [
        (("a", 0, "b", "c"), "got 2, want 1")
    ]
