"""The mutation ``annotations``: sets annotations by key, if the user has not set them."""

from .. import metadata

CONCERN = metadata.concern("annotations", "annotation")
