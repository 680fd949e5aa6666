"""The exception object: the content of a GPUPolicyException document, as frozen models.

This module refuses invalid values of single fields; ``exceptions`` compiles the expression and limits the duration. The
docstring of a field is also its description in the CRD.
"""

import re
from datetime import datetime
from functools import cached_property
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from ..kube.object_names import MAX_LABEL, is_label
from ..kube.shape import shown
from ..wellknown import API_VERSION, EXCEPTION_KIND
from .model import LabelSelector, Metadata
from .text_fields import BoolExpression, DocumentPart, Message, Subdomain, named

MAX_NAMES = 64
"""The maximum number of policies, and of namespaces, of one exception; a longer list needs several exceptions."""
MAX_TEXT = 1024
"""The maximum length of ``reason`` and ``requestedBy`` in characters: enough for a paragraph or a link."""
# RFC 3339, section 5.6, as the API server's format date-time accepts it (k8s.io/kube-openapi strfmt).
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})")


def _instant(value: object) -> datetime | None:
    """Return the instant that a text in RFC 3339 states; None if the text is not RFC 3339, or there is no such day."""
    if not isinstance(value, str) or not _TIME.fullmatch(value):
        return None
    try:
        found = datetime.fromisoformat(value)
        found.utctimetuple()
    except (ValueError, OverflowError):  # no such day, or one before the year 1 in UTC
        return None
    return found


def rfc3339(moment: datetime) -> str:
    """Return an instant as ``expiresAt`` and a suite's ``now`` have it: RFC 3339, to the second; UTC is ``Z``."""
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


def _time(value: object) -> object:
    if _instant(value) is None:
        raise PydanticCustomError("time", f"got {shown(value)}, want a time as in RFC 3339: '2027-03-31T00:00:00Z'")
    return value


Namespace = Annotated[
    str,
    named(
        is_label,
        "the name of a namespace, "
        f"a DNS-1123 label: lower-case letters, digits and '-', at most {MAX_LABEL} characters",
    ),
    WithJsonSchema({"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "maxLength": MAX_LABEL}),
]
Time = Annotated[str, BeforeValidator(_time), WithJsonSchema({"type": "string", "format": "date-time"})]
Text = Annotated[Message, Field(max_length=MAX_TEXT)]


class ExceptionSpec(DocumentPart):
    """The content of the exception.

    The exception applies to a pod if namespaces, podSelector and expression all match the pod.
    """

    policies: Annotated[tuple[Subdomain, ...], Field(min_length=1, max_length=MAX_NAMES)]
    """The names of the policies that are not evaluated for the pods."""
    namespaces: Annotated[tuple[Namespace, ...], Field(min_length=1, max_length=MAX_NAMES)]
    """The names of the pods' namespaces; patterns are not supported."""
    pod_selector: LabelSelector = LabelSelector()
    """Labels of the pods; empty: all pods of the namespaces."""
    expression: BoolExpression | None = None
    """A CEL condition on `object`, `oldObject`, `request`, `gpu` and `gang`, as in matchConditions. If it is false or
    fails, the exception does not hold."""
    reason: Text
    """The reason for the exception: one line, for instance a link to the ticket."""
    requested_by: Text
    """The team or person that asked for the exception, by name or address."""
    expires_at: Time
    """The end, in RFC 3339; from this instant on the exception has no effect. At most 366 days after its creation."""


class GPUPolicyException(DocumentPart):
    """An exception from policies, as a file or as an object of the cluster."""

    api_version: Literal[API_VERSION]  # type: ignore[valid-type]
    """The version of the format."""
    kind: Literal[EXCEPTION_KIND]  # type: ignore[valid-type]
    """The kind of the document."""
    metadata: Metadata
    """The name, and fields of the API server."""
    spec: ExceptionSpec
    """The content of the exception."""

    @property
    def name(self) -> str:
        """The exception's name."""
        return self.metadata.name

    @cached_property
    def expires_at(self) -> datetime:
        """The end of the exception, with a time zone."""
        return datetime.fromisoformat(self.spec.expires_at)

    @cached_property
    def created_at(self) -> datetime | None:
        """The time at which the API server created the object.

        None for an exception of a file, or if the text is no time.
        """
        return _instant(self.metadata.creation_timestamp)
