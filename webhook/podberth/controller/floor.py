"""Keeps the ConfigMap ``podberth-floor``, from which native policies read the cluster's accelerators (``plan.floor``).

These native policies are the floor: they stand in while podberth does not answer (docs/native-policies.md). Every
replica follows the nodes and the DeviceClasses; the leader writes. The ConfigMap itself is followed, too, so it is
written only if its data differs, whoever has changed it. podberth does not create the ConfigMap: without the ConfigMap,
the floor is not installed.
"""

import asyncio
import random
from typing import TYPE_CHECKING, Any, Final

from ..api.protocol import APPLY_PATCH, NODES, Document, Pace, Resource
from ..api.reflector import ClusterAccess
from ..cluster.live_nodes import Documents
from ..cluster.required import Follower, Required
from ..cluster.served import ServedKinds
from ..cluster.whole_objects import rounds
from ..cluster.workloads import Filed
from ..conventions import Conventions
from ..errors import ClusterError
from ..facts.object_kinds import DeviceClass, of_role
from ..kube.api_path import collection_path
from ..kube.unchecked import mapping_at
from ..topology.index import TopologyIndex
from ..topology.manifest import read_node
from ..wellknown import FLOOR_PARAMS, NAMESPACE
from .plan.floor import floor_data
from .requests import WRITE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..topology.node import Node

MANAGER: Final = "podberth-floor"
"""The field manager of the ConfigMap's data."""
PARAMS: Final = Resource(
    "floor", collection_path("v1", "configmaps", NAMESPACE), fields=f"metadata.name={FLOOR_PARAMS}"
)
_APPLY: Final = {"fieldManager": MANAGER, "force": "true"}
# Nodes that join together make one write; a rollout of nodes takes minutes.
_TOGETHER_SECONDS: Final = 1.0


class Floor:
    """Keeps the ConfigMap ``podberth-floor``: ``followers`` follow it, nodes and DeviceClasses, ``act`` writes it."""

    def __init__(self, access: ClusterAccess, conventions: Conventions) -> None:
        """Create the object without knowledge of the cluster; ``run`` of each follower starts to follow the cluster."""
        self._log, self._timing = access.log, access.timing
        self._client = access.connect()
        self._wake = asyncio.Event()
        self._index = TopologyIndex.build((), conventions)
        self._changed: dict[str, Node | None] = {}
        """The nodes that changed since the index was updated; None: the node is gone."""
        self._present: Mapping[str, Any] | None = None
        """The data of the ConfigMap; None: there is no ConfigMap."""
        sinks = {
            NODES: Documents(NODES.name, self._put_node, self._drop_node, self._wake.set, self._log),
            PARAMS: Documents(PARAMS.name, self._put_params, self._drop_params, self._wake.set, self._log),
        }
        left_out = {each: sink.left_out for each, sink in sinks.items()}
        self._required = Required(sinks, access, left_out=lambda each: {"unreadable": len(left_out[each])})
        classes = {kind: Filed(kind, self._wake.set, self._log) for kind in of_role("class")}
        self._served = ServedKinds(classes, access, patient=True)
        self.followers: tuple[Follower, ...] = (self._required, self._served)

    async def act(self) -> None:
        """Write ``data`` to the ConfigMap ``podberth-floor`` whenever the two differ, until the task is cancelled."""
        await self._required.listed()
        await self._served.settled.wait()
        pace = Pace(self._timing, random.random)
        try:
            async for _ in rounds(self._wake):
                await self._keep_safely(pace)
                await asyncio.sleep(_TOGETHER_SECONDS)
        finally:
            await self._client.reset()

    async def _keep_safely(self, pace: Pace) -> None:
        """Write the ConfigMap ``podberth-floor`` if its data differs from ``data``.

        If the API server does not take the write, wait as ``pace`` says, and wake ``act``, which tries again.
        """
        try:
            await self._keep()
        except ClusterError as error:
            self._log.event("warning", "floor: its params are not written; tried again", problem=str(error))
            await self._client.reset()
            await asyncio.sleep(pace.wait_seconds(0.0, error.retry_after_seconds))
            self._wake.set()
        except Exception as bug:  # noqa: BLE001 - a bug in reading one node must not end the controller
            self._log.fault("floor: a bug in podberth; its params stay as they are", bug)
        else:
            pace.succeeded()

    async def _keep(self) -> None:
        data = self.data()
        if self._present is None or self._present == data:
            return
        named = {"name": FLOOR_PARAMS, "namespace": NAMESPACE}
        document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": named, "data": data}
        await self._client.send("PATCH", PARAMS.path.below(FLOOR_PARAMS).asking(_APPLY), document, APPLY_PATCH, WRITE)
        self._present = data
        self._log.event("info", "floor: its params are written", resources=len(data))

    def data(self) -> dict[str, str]:
        """Return the data that the ConfigMap ``podberth-floor`` should have, as ``floor_data`` computes it."""
        changed, self._changed = self._changed, {}
        nodes = [each for each in changed.values() if each is not None]
        self._index = self._index.update(nodes, [name for name, each in changed.items() if each is None])
        classes = [each for sink in self._served.sinks.values() for each in sink.table().facts.values()]
        return floor_data(self._index, (each for each in classes if isinstance(each, DeviceClass)))

    def _put_node(self, name: str, document: Document) -> None:
        self._changed[name] = read_node(document)

    def _drop_node(self, name: str) -> None:
        self._changed[name] = None

    def _put_params(self, _: str, document: Document) -> None:
        self._present = mapping_at(document, "data")

    def _drop_params(self, _: str) -> None:
        self._present = None
