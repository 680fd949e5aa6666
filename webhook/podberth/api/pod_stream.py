"""Lists pods with the fields that an answer about other pods needs, and reads each piece of the list as it arrives.

The API server writes protobuf three times as fast as JSON, and the client reads while the API server still writes:
docs/adr/0055-protobuf.md has the measurement.
"""

from typing import Final

from ..kube.api_path import ApiPath
from ..kube.protobuf_pods import PodListReader
from .opening import Client
from .protocol import JSON, Document, garbled

_ACCEPT: Final = f"application/vnd.kubernetes.protobuf,{JSON}"
# Some 80 MB, of which only a piece is in memory. client-go's reflectors list all objects with one request.
_PAGE: Final = 10_000


async def streamed_pods(client: Client, path: ApiPath, fields: str) -> list[Document]:
    """Return the pods at a path that the field selector ``fields`` selects, as ``kube.protobuf_pods`` reads them.

    Raises:
        ClusterError: the list cannot be read; the error's ``reason`` is ``garbled`` if it came in another form than
            protobuf.
    """
    pods: list[Document] = []
    token = ""
    while True:
        query = {"fieldSelector": fields, "limit": str(_PAGE), **({"continue": token} if token else {})}
        reader, piece = PodListReader(), b""
        async with client.stream(path, query, _ACCEPT) as pieces:
            try:
                async for piece in pieces:
                    pods += reader.feed(piece)
                token = reader.end()
            except ValueError as error:
                raise garbled(f"list of pods at {path}", piece) from error
        if not token:
            return pods
