"""Claim templates that a policy declares: the spec of a ResourceClaimTemplate, as resource.k8s.io/v1 has it.

Nothing in it is an expression: what is made is what stands in the policy, whoever creates pods. ``adminAccess`` is not
among the fields, for nobody's pods should get at devices in use because of a policy. Names and docstrings are the
document's, as in ``model``.
"""

import hashlib
from functools import cached_property
from typing import Annotated, Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, StrictInt
from pydantic.alias_generators import to_camel

from .fields import ClaimTemplateName, Key, QualifiedName, Subdomain

# What the API takes (kubernetes/api resource/v1, Size constants); the count is an int64 of which none has so many.
_MOST = 32
_MOST_ALTERNATIVES = 8
_MOST_DEVICES = 2**31 - 1

_DIGITS = 8
"""Of a digest in a name: of 10,000 specs two are alike in one of a hundred clusters (10,000^2 / 2 / 16^8)."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=False)


class CelSelector(_Model):
    """A CEL expression of the scheduler's (CELDeviceSelector), not of podberth's."""

    expression: Annotated[str, Field(min_length=1, max_length=10240)]
    """Of the `device` that is looked at; the API server compiles it, podberth does not."""


class DeviceSelector(_Model):
    """One condition on a device; all must hold."""

    cel: CelSelector
    """The condition."""


class DeviceToleration(_Model):
    """A taint of devices that is borne."""

    key: QualifiedName | None = None
    """None: every key, with `Exists`."""
    operator: Literal["Exists", "Equal"] | None = None
    """`Exists`: whatever the value; none: `Equal`."""
    value: str | None = None
    """For `Equal`."""
    effect: Literal["NoSchedule", "NoExecute"] | None = None
    """None: all effects."""
    toleration_seconds: StrictInt | None = None
    """For `NoExecute`: how long."""


class CapacityRequirements(_Model):
    """How much of a device that can be shared is asked for."""

    requests: Annotated[dict[Key, str], Field(min_length=1)]
    """Quantities by capacity, `memory: 10Gi`."""


class _Devices(_Model):
    device_class_name: Subdomain
    """The DeviceClass."""
    selectors: Annotated[tuple[DeviceSelector, ...], Field(max_length=_MOST)] = ()
    """Conditions on the device, all of which must hold."""
    allocation_mode: Literal["ExactCount", "All"] | None = None
    """`All`: every device of a node that fits; none: `ExactCount`."""
    count: Annotated[StrictInt, Field(ge=1, le=_MOST_DEVICES)] | None = None
    """How many; none: one. With `ExactCount` only."""
    tolerations: Annotated[tuple[DeviceToleration, ...], Field(max_length=16)] = ()
    """Taints of devices that are borne."""
    capacity: CapacityRequirements | None = None
    """How much of each device, where it can be shared."""


class ExactDeviceRequest(_Devices):
    """Devices of one class."""


class DeviceSubRequest(_Devices):
    """One of several alternatives; the scheduler takes the first that it can."""

    name: Subdomain
    """Unique among the alternatives."""


class DeviceRequest(_Model):
    """What is asked for under one name: exactly so, or the first of several that is available."""

    name: Subdomain
    """Unique; what `requests` of a resourceClaims item and of constraints name."""
    exactly: ExactDeviceRequest | None = None
    """Devices of one class; exactly one of exactly and firstAvailable."""
    first_available: Annotated[tuple[DeviceSubRequest, ...], Field(max_length=_MOST_ALTERNATIVES)] = ()
    """Alternatives, the best first."""


class DeviceConstraint(_Model):
    """What the devices of several requests must have in common."""

    requests: Annotated[tuple[str, ...], Field(max_length=_MOST)] = ()
    """Names of requests; empty: all."""
    match_attribute: QualifiedName | None = None
    """An attribute that all have with one value: `resource.kubernetes.io/pcieRoot` is one PCIe root."""
    distinct_attribute: QualifiedName | None = None
    """An attribute of which no two have the same value; exactly one of the two."""


class OpaqueConfiguration(_Model):
    """Parameters that a driver alone understands."""

    driver: Subdomain
    """The driver."""
    parameters: dict[str, Any]
    """As the driver wants them; podberth does not read them."""


class DeviceConfiguration(_Model):
    """Configuration of the devices of some requests."""

    requests: Annotated[tuple[str, ...], Field(max_length=_MOST)] = ()
    """Names of requests; empty: all."""
    opaque: OpaqueConfiguration
    """For whom and what."""


class Devices(_Model):
    """The devices of a claim."""

    requests: Annotated[tuple[DeviceRequest, ...], Field(min_length=1, max_length=_MOST)]
    """What is asked for, each under a name."""
    constraints: Annotated[tuple[DeviceConstraint, ...], Field(max_length=_MOST)] = ()
    """What several requests must have in common."""
    config: Annotated[tuple[DeviceConfiguration, ...], Field(max_length=_MOST)] = ()
    """Configuration for drivers."""


class ResourceClaimSpec(_Model):
    """The spec of the claims (resource.k8s.io/v1)."""

    devices: Devices
    """What they are for."""


class ClaimMetadata(_Model):
    """What is copied into the claims."""

    labels: dict[Key, str] = Field(default_factory=dict)
    """Labels of the claims."""
    annotations: dict[Key, str] = Field(default_factory=dict)
    """Annotations of the claims."""


class ResourceClaimTemplateSpec(_Model):
    """The spec of a ResourceClaimTemplate."""

    metadata: ClaimMetadata | None = None
    """Labels and annotations of the claims."""
    spec: ResourceClaimSpec
    """The spec of the claims."""


class ClaimTemplate(_Model):
    """A ResourceClaimTemplate that `podberth controller` makes where a pod names it."""

    name: ClaimTemplateName
    """Unique; what an item of `resourceClaims` has as its `template`. A digest of the spec is put behind it."""
    spec: ResourceClaimTemplateSpec
    """As in a ResourceClaimTemplate; no expressions."""

    @cached_property
    def document(self) -> dict[str, Any]:
        """The spec as it was written."""
        return self.spec.model_dump(mode="json", by_alias=True, exclude_unset=True)

    @cached_property
    def written_name(self) -> str:
        """The object's name: another spec is another object, for the spec of one that is there cannot be changed."""
        digest = hashlib.sha256(orjson.dumps(self.document, option=orjson.OPT_SORT_KEYS)).hexdigest()
        return f"{self.name}-{digest[:_DIGITS]}"
