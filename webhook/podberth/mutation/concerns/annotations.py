"""Annotations, by key."""

from .. import metadata

CONCERN = metadata.concern("annotations", "annotation")
