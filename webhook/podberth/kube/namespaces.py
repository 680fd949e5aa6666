"""Adds the label with the Namespace's name, which the API server writes on every Namespace."""

from collections.abc import Mapping
from typing import Any, Final

from .unchecked import mapping_at, text_at

NAME_LABEL: Final = "kubernetes.io/metadata.name"


def with_name_label(namespace: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a Namespace with the label for its name, which the API server writes.

    The label is ``kubernetes.io/metadata.name``. Source: kubernetes pkg/apis/core/v1/defaults.go.
    """
    labels = {**mapping_at(namespace, "metadata", "labels"), NAME_LABEL: text_at(namespace, "metadata", "name")}
    return {**namespace, "metadata": {**mapping_at(namespace, "metadata"), "labels": labels}}
