"""Makes the paths of the Kubernetes API that podberth requests, from checked segments.

API clients accept only an ``ApiPath``, so mypy finds a path that is built elsewhere.
"""

from collections.abc import Mapping
from typing import Final, Self
from urllib.parse import quote, urlencode

from ..errors import ClusterError
from .object_names import MAX_SUBDOMAIN, is_api_version, is_label

# No name of an object is longer than a subdomain; a pod's proxy takes NAME:PORT.
_LONGEST_SEGMENT: Final = MAX_SUBDOMAIN + len(":65535")
_SHOWN: Final = 80


class ApiPath(str):
    """A path of the Kubernetes API, perhaps with a query.

    No text of a segment can add a segment to the path. Joining, slicing or formatting a path gives a plain ``str``,
    which no client accepts.
    """

    __slots__ = ()

    def __new__(cls, *segments: str) -> Self:
        """Return the API path that consists of the given segments, each quoted.

        Raises:
            ClusterError: a segment is invalid; the reason is ``refused``, as if the API server had refused it.
        """
        return super().__new__(cls, "".join(f"/{_segment(each)}" for each in segments))

    @property
    def api_version(self) -> str:
        """The apiVersion in the path, such as ``batch/v1``; empty if the path has none."""
        match self.split("/"):
            case ["", "api", version, *_]:
                return version
            case ["", "apis", group, version, *_]:
                return f"{group}/{version}"
            case _:
                return ""

    @property
    def namespace(self) -> str:
        """The namespace in the path; empty if the path has none."""
        _, _, rest = self.partition("/namespaces/")
        namespace, _, plural = rest.partition("/")
        return namespace if plural else ""

    def below(self, *segments: str) -> "ApiPath":
        """Return the path with further segments appended.

        Raises:
            ClusterError: a segment is invalid, or the path has a query already.
        """
        if "?" in self:
            raise _refused(self, "a path without a query")
        return _made(f"{self}{ApiPath(*segments)}")

    def asking(self, query: Mapping[str, str]) -> "ApiPath":
        """Return the path with a query appended, with quoted keys and values; the path itself if the query is empty.

        Raises:
            ClusterError: the path has a query already.
        """
        if query and "?" in self:
            raise _refused(self, "a path without a query")
        return _made(f"{self}?{urlencode(query)}") if query else self


def version_path(api_version: str) -> ApiPath:
    """Return the path of an apiVersion: ``v1`` is below /api, ``batch/v1`` below /apis.

    Raises:
        ClusterError: the text is no apiVersion.
    """
    if not is_api_version(api_version):
        raise _refused(api_version, "a version as in v1 or batch/v1")
    root = "apis" if "/" in api_version else "api"
    return ApiPath(root, *api_version.split("/"))


def collection_path(api_version: str, plural: str, namespace: str = "") -> ApiPath:
    """Return the path of a collection of objects; without a namespace, of the objects of the whole cluster.

    Raises:
        ClusterError: version, plural or namespace is invalid.
    """
    head = version_path(api_version)
    if not namespace:
        return head.below(plural)
    if not is_label(namespace):
        raise _refused(namespace, "the name of a namespace")
    return head.below("namespaces", namespace, plural)


def _segment(text: str) -> str:
    """Return ``text``, the name of an object, as a percent-quoted segment of a path.

    Clients resolve ``..``, quoted or not (RFC 3986, 5.2.4 and 6.2.2.2), and servers may decode a quoted slash.

    Raises:
        ClusterError: no object may have this name (apimachinery pkg/api/validation/path, IsValidPathSegmentName).
    """
    if text in {"", ".", ".."} or "/" in text or "%" in text or not text.isprintable() or len(text) > _LONGEST_SEGMENT:
        raise _refused(text, "the name of an object")
    return quote(text, safe=":")


def _refused(got: str, want: str) -> ClusterError:
    return ClusterError("refused", f"API path: got {got[:_SHOWN]!r}, want {want}; nothing was asked")


def _made(text: str) -> ApiPath:
    """Return the ApiPath of a text whose segments were checked before."""
    return str.__new__(ApiPath, text)
