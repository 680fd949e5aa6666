"""Computes the data of the ConfigMap ``podberth-floor``: the cluster's accelerators, for the floor's native policies.

The data has a key for each extended resource that a node or a DeviceClass of the cluster offers: the resource's name
with ``_`` in place of the slash, which a key cannot have. The value is words. The first is the kind of the accelerator,
such as ``whole``, or ``other``; the others are the taints that a pod with a request for the resource has to tolerate,
as ``KEY:EFFECT`` or ``KEY=VALUE:EFFECT``. The key ``nodes`` is there if any node is known. The data changes only with
the kinds of nodes, and not with their number.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from ...devices.resources import COUNTED_KINDS, Accelerator, recognise
from ...facts.object_kinds import DeviceClass
from ...topology.index import TopologyIndex
from ...topology.need import Need

MOST_RESOURCES: Final = 500
"""The maximum number of resources in the data. The values of 500 have some 50 KiB; a ConfigMap may have 1 MiB.

A node's kubelet chooses the names of the node's resources, so the number must not depend on nodes alone.
"""
_NODES: Final = {"nodes": "known"}
_OTHER: Final = "other"
# A key of a ConfigMap (apimachinery pkg/util/validation IsConfigMapKey), of an extended resource's name.
_NAME: Final = re.compile(r"[-._a-zA-Z0-9]+/[-._a-zA-Z0-9]+")
_LONGEST_KEY: Final = 253
# A pod that tolerates everything, so that taints for other reasons, such as a team's, leave no node out.
_EVERYTHING: Final = frozenset({("", "Exists", "", "")})


def floor_data(index: TopologyIndex, classes: Iterable[DeviceClass]) -> dict[str, str]:
    """Return the data of the ConfigMap ``podberth-floor`` for the nodes of ``index`` and the DeviceClasses ``classes``.

    The data is a mapping from extended resource to the kind of accelerator and the taints (the module's docstring has
    the form). If there are too many resources, accelerators take precedence over other resources.
    """
    served: dict[str, Accelerator | None] = {}
    for each in classes:
        served |= {name: each.accelerators.get(name) for name in each.resources if not index.offers(name)}
    known = {name: recognise(name) or served.get(name) for name in (*index.resources, *served)}
    values = {
        name.replace("/", "_"): _value(index, name, accelerator)
        for name, accelerator in known.items()
        if _NAME.fullmatch(name) and len(name) <= _LONGEST_KEY
    }
    kept = sorted(values, key=lambda key: (values[key] == _OTHER, key))[:MOST_RESOURCES]
    return {**(_NODES if index.known else {}), **{key: values[key] for key in sorted(kept)}}


def _value(index: TopologyIndex, name: str, accelerator: Accelerator | None) -> str:
    if accelerator is None or accelerator.kind not in COUNTED_KINDS:
        return _OTHER
    # A resource that only a DeviceClass offers is in no node's capacity (admission.description).
    offered = index.offers(name)
    need = Need(requests=((name, 1),) if offered else (), tolerations=_EVERYTHING, claimed=not offered)
    return " ".join([accelerator.kind, *map(_taint, index.nodes(need).tolerations)])


def _taint(toleration: Mapping[str, str]) -> str:
    value = f"={toleration['value']}" if "value" in toleration else ""
    return f"{toleration['key']}{value}:{toleration['effect']}"
