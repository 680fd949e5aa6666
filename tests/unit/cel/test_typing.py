from typing import Any

import pytest

from podberth.cel.functions import NODES_FIELDS
from podberth.cel.typing import DECLARED, UNESCAPED, VARIABLES, descriptor_pool, messages
from podberth.kube.schema import PodSchema

_SCHEMA = PodSchema.packaged()


def test_every_variable_has_a_message_type() -> None:
    types = messages(_SCHEMA)
    assert set(VARIABLES.values()) <= set(types)


def test_every_type_named_in_a_field_is_declared() -> None:
    types = messages(_SCHEMA)
    inner = {
        each.removeprefix("list(").removeprefix("map(string, ").rstrip(")")
        for fields in types.values()
        for each in fields.values()
    }
    assert {each for each in inner if "." in each} <= set(types)


def test_the_fields_of_nodes_are_those_that_are_answered() -> None:
    assert set(DECLARED["podberth.Nodes"]) == set(NODES_FIELDS)


def test_a_quantity_and_an_int_or_string_may_be_anything() -> None:
    types = messages(_SCHEMA)
    assert types["k8s.ResourceRequirements"]["limits"] == "map(string, dyn)"
    assert types["k8s.HTTPGetAction"]["port"] == "dyn"


def test_the_namespace_hides_what_upstream_hides() -> None:
    types = messages(_SCHEMA)
    hidden = set(types["k8s.ObjectMeta"]) - set(types[types["k8s.Namespace"]["metadata"]])
    assert hidden == {"managedFields", "ownerReferences", "selfLink"}


def test_a_field_called_by_a_reserved_word_has_a_second_spelling() -> None:
    pool = descriptor_pool(messages(_SCHEMA))
    fields = pool.FindMessageTypeByName("k8s.ObjectMeta").fields_by_name
    assert {"namespace", "__namespace__"} <= set(fields)
    assert UNESCAPED["__namespace__"] == "namespace"


def test_pools_do_not_clash() -> None:
    types = messages(_SCHEMA)
    assert descriptor_pool(types) is not descriptor_pool(types)


def test_two_definitions_of_one_short_name_are_refused() -> None:
    document: dict[str, Any] = {name: {"properties": {}} for name in ("a.v1.Pod", "b.v1.Pod")}
    with pytest.raises(ValueError, match=r"two definitions named k8s\.Pod"):
        messages(PodSchema.from_document(document))


def test_a_schema_without_pods_is_refused() -> None:
    with pytest.raises(ValueError, match=r"got no io\.k8s\.api\.core\.v1\.Pod"):
        messages(PodSchema.from_document({"a.v1.Other": {"properties": {}}}))
