"""Labels, by key."""

from .. import leaf, metadata

CONCERN = metadata.concern("labels", "label", lambda key, value: leaf.label_value(value, f"labels[{key}]"))
