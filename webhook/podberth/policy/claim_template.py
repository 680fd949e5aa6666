"""Claim templates that a policy declares: the spec of a ResourceClaimTemplate, as resource.k8s.io/v1 defines it.

A template has no expressions: the object is the same for all pods. The field ``adminAccess`` is left out, because no
policy should give pods access to devices in use. The names and docstrings of fields appear in the documentation, as
those of ``model`` do.
"""

import hashlib
from functools import cached_property
from typing import Annotated, Any, Literal

import orjson
from pydantic import Field, StrictInt

from .text_fields import ClaimTemplateName, DocumentPart, Key, QualifiedName, Subdomain

# The API's limits (kubernetes/api resource/v1, Size constants); the count is an int64, and no node has that many.
_MOST = 32
_MOST_ALTERNATIVES = 8
_MOST_DEVICES = 2**31 - 1

_DIGITS = 8
"""The number of hexadecimal digits of the digest in a name. Among 10,000 specs, two have the same digest in one of a
hundred clusters (10,000^2 / 2 / 16^8)."""


class CelSelector(DocumentPart):
    """A CEL expression of the scheduler's (CELDeviceSelector), not of podberth's."""

    expression: Annotated[str, Field(min_length=1, max_length=10240)]
    """A condition on the `device`; the API server compiles it, podberth does not."""


class DeviceSelector(DocumentPart):
    """One condition on a device; all must be true."""

    cel: CelSelector
    """The condition."""


class DeviceToleration(DocumentPart):
    """A taint of devices that is tolerated."""

    key: QualifiedName | None = None
    """None: every key, with `Exists`."""
    operator: Literal["Exists", "Equal"] | None = None
    """`Exists`: any value; none: `Equal`."""
    value: str | None = None
    """The value for `Equal`."""
    effect: Literal["NoSchedule", "NoExecute"] | None = None
    """None: all effects."""
    toleration_seconds: StrictInt | None = None
    """For `NoExecute`: the time for which the taint is tolerated."""


class CapacityRequirements(DocumentPart):
    """The requested capacity of a device that can be shared."""

    requests: Annotated[dict[Key, str], Field(min_length=1)]
    """Quantities by capacity, `memory: 10Gi`."""


class _Devices(DocumentPart):
    device_class_name: Subdomain
    """The DeviceClass."""
    selectors: Annotated[tuple[DeviceSelector, ...], Field(max_length=_MOST)] = ()
    """Conditions on the device, all of which must be true."""
    allocation_mode: Literal["ExactCount", "All"] | None = None
    """`All`: every device of a node that fits; none: `ExactCount`."""
    count: Annotated[StrictInt, Field(ge=1, le=_MOST_DEVICES)] | None = None
    """The number of devices; none: one. With `ExactCount` only."""
    tolerations: Annotated[tuple[DeviceToleration, ...], Field(max_length=16)] = ()
    """Taints of devices that are tolerated."""
    capacity: CapacityRequirements | None = None
    """The requested capacity of each device, where it can be shared."""


class ExactDeviceRequest(_Devices):
    """Devices of one class."""


class DeviceSubRequest(_Devices):
    """One of several alternatives; the scheduler takes the first that is available."""

    name: Subdomain
    """Unique among the alternatives."""


class DeviceRequest(DocumentPart):
    """A request under one name: exactly one kind of device, or the first available of several."""

    name: Subdomain
    """Unique; the name that `requests` of a resourceClaims item and of constraints use."""
    exactly: ExactDeviceRequest | None = None
    """Devices of one class; exactly one of exactly and firstAvailable."""
    first_available: Annotated[tuple[DeviceSubRequest, ...], Field(max_length=_MOST_ALTERNATIVES)] = ()
    """Alternatives, the best first."""


class DeviceConstraint(DocumentPart):
    """A condition on the devices of several requests together."""

    requests: Annotated[tuple[str, ...], Field(max_length=_MOST)] = ()
    """Names of requests; empty: all."""
    match_attribute: QualifiedName | None = None
    """An attribute that has the same value for all: `resource.kubernetes.io/pcieRoot` is one PCIe root."""
    distinct_attribute: QualifiedName | None = None
    """An attribute whose value differs for all; exactly one of the two."""


class OpaqueConfiguration(DocumentPart):
    """Parameters that only a driver reads."""

    driver: Subdomain
    """The driver."""
    parameters: dict[str, Any]
    """Parameters in the driver's format; podberth does not read them."""


class DeviceConfiguration(DocumentPart):
    """Configuration of the devices of some requests."""

    requests: Annotated[tuple[str, ...], Field(max_length=_MOST)] = ()
    """Names of requests; empty: all."""
    opaque: OpaqueConfiguration
    """The driver and its parameters."""


class Devices(DocumentPart):
    """The devices of a claim."""

    requests: Annotated[tuple[DeviceRequest, ...], Field(min_length=1, max_length=_MOST)]
    """Requests, each with a name."""
    constraints: Annotated[tuple[DeviceConstraint, ...], Field(max_length=_MOST)] = ()
    """Conditions on the devices of several requests together."""
    config: Annotated[tuple[DeviceConfiguration, ...], Field(max_length=_MOST)] = ()
    """Configuration for drivers."""


class ResourceClaimSpec(DocumentPart):
    """The ``spec`` that the claims of a template get (resource.k8s.io/v1)."""

    devices: Devices
    """The devices of the claim."""


class ClaimMetadata(DocumentPart):
    """Metadata that is copied into the claims."""

    labels: dict[Key, str] = Field(default_factory=dict)
    """Labels of the claims."""
    annotations: dict[Key, str] = Field(default_factory=dict)
    """Annotations of the claims."""


class ResourceClaimTemplateSpec(DocumentPart):
    """The spec of a ResourceClaimTemplate."""

    metadata: ClaimMetadata | None = None
    """Labels and annotations of the claims."""
    spec: ResourceClaimSpec
    """The spec of the claims."""


class ClaimTemplate(DocumentPart):
    """A ResourceClaimTemplate that `podberth controller` creates where a pod names it."""

    name: ClaimTemplateName
    """Unique; the `template` of an item of `resourceClaims`. A digest of the spec is appended to it."""
    spec: ResourceClaimTemplateSpec
    """As in a ResourceClaimTemplate; no expressions."""

    @cached_property
    def document(self) -> dict[str, Any]:
        """The template's spec as JSON, with only the fields that the policy states."""
        return self.spec.model_dump(mode="json", by_alias=True, exclude_unset=True)

    @cached_property
    def written_name(self) -> str:
        """The name of the ResourceClaimTemplate, with a digest of the spec, since an object's spec is immutable."""
        digest = hashlib.sha256(orjson.dumps(self.document, option=orjson.OPT_SORT_KEYS)).hexdigest()
        return f"{self.name}-{digest[:_DIGITS]}"
