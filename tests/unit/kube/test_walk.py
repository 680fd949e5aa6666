from podberth.kube.walk import values


def test_every_value_comes_once_with_its_path_a_holder_before_its_parts() -> None:
    document = {"a": {"b": [1, {"c": None}]}, "d": "e"}
    assert list(values(document)) == [
        ((), document),
        (("a",), {"b": [1, {"c": None}]}),
        (("a", "b"), [1, {"c": None}]),
        (("a", "b", 0), 1),
        (("a", "b", 1), {"c": None}),
        (("a", "b", 1, "c"), None),
        (("d",), "e"),
    ]
