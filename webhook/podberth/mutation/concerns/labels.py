"""The mutation ``labels``: sets labels by key, if the user has not set them."""

from .. import leaf, metadata

CONCERN = metadata.concern("labels", "label", lambda key, value: leaf.label_value(value, f"labels[{key}]"))
