"""Models of the claim templates that a policy declares, with the spec of a ResourceClaimTemplate (resource.k8s.io/v1).

A template has no expressions: all pods get equal claims. The field ``adminAccess`` is left out, because no policy
should give pods access to devices in use. The docstring of a field is also its description in the documentation, as for
all fields of policies.
"""

import hashlib
from functools import cached_property
from typing import Annotated, Any, Literal

import orjson
from pydantic import Field, StrictInt

from .text_fields import ClaimTemplateName, DocumentPart, Key, QualifiedName, Subdomain

# The API's limits (kubernetes/api resource/v1, Size constants). The count is an int64 there; no node has that many.
_MOST = 32
_MOST_ALTERNATIVES = 8
_MOST_DEVICES = 2**31 - 1

_DIGITS = 8
"""The number of hexadecimal digits of the digest in a name. The probability that two of 10,000 specs have the same
digest is one in a hundred (10,000^2 / 2 / 16^8)."""


class CelSelector(DocumentPart):
    """A CEL expression that the scheduler evaluates, and not podberth (CELDeviceSelector)."""

    expression: Annotated[str, Field(min_length=1, max_length=10240)]
    """A condition on the `device`; the API server compiles it, podberth does not."""


class DeviceSelector(DocumentPart):
    """One condition on a device; all conditions of a request must be true."""

    cel: CelSelector
    """The condition."""


class DeviceToleration(DocumentPart):
    """A toleration of a taint of devices."""

    key: QualifiedName | None = None
    """The taint's key; none: every key, with `Exists`."""
    operator: Literal["Exists", "Equal"] | None = None
    """`Exists` tolerates any value of the taint, `Equal` only `value`; none: `Equal`."""
    value: str | None = None
    """The taint's value, with `Equal`."""
    effect: Literal["NoSchedule", "NoExecute"] | None = None
    """The taint's effect; none: all effects."""
    toleration_seconds: StrictInt | None = None
    """The seconds for which the taint is tolerated, with `NoExecute`; none: for ever."""


class CapacityRequirements(DocumentPart):
    """The requested capacity of a device that can be shared."""

    requests: Annotated[dict[Key, str], Field(min_length=1)]
    """The requested quantity of each capacity, as in `memory: 10Gi`."""


class _Devices(DocumentPart):
    device_class_name: Subdomain
    """The name of the DeviceClass."""
    selectors: Annotated[tuple[DeviceSelector, ...], Field(max_length=_MOST)] = ()
    """Conditions on the device, all of which must be true."""
    allocation_mode: Literal["ExactCount", "All"] | None = None
    """`ExactCount`: `count` devices. `All`: all matching devices of a node. None: `ExactCount`."""
    count: Annotated[StrictInt, Field(ge=1, le=_MOST_DEVICES)] | None = None
    """The number of devices, with `ExactCount` only; none: one."""
    tolerations: Annotated[tuple[DeviceToleration, ...], Field(max_length=16)] = ()
    """Taints of devices that are tolerated."""
    capacity: CapacityRequirements | None = None
    """The requested capacity of each device, where it can be shared."""


class ExactDeviceRequest(_Devices):
    """A request for devices of one DeviceClass."""


class DeviceSubRequest(_Devices):
    """One of several alternatives in a request for devices; the scheduler takes the first available alternative."""

    name: Subdomain
    """The name of the alternative, unique among the alternatives."""


class DeviceRequest(DocumentPart):
    """A named request for devices of one DeviceClass, or of the first available of several alternatives."""

    name: Subdomain
    """The request's name, unique in the claim; `requests` of a `resourceClaims` item and of a constraint contain it."""
    exactly: ExactDeviceRequest | None = None
    """Devices of one class; either `exactly` or `firstAvailable` is needed."""
    first_available: Annotated[tuple[DeviceSubRequest, ...], Field(max_length=_MOST_ALTERNATIVES)] = ()
    """Alternative requests, the preferred one first."""


class DeviceConstraint(DocumentPart):
    """A condition on the devices of several requests together."""

    requests: Annotated[tuple[str, ...], Field(max_length=_MOST)] = ()
    """The names of the requests; empty: all requests."""
    match_attribute: QualifiedName | None = None
    """An attribute that must have the same value for all devices, such as `resource.kubernetes.io/pcieRoot`."""
    distinct_attribute: QualifiedName | None = None
    """An attribute whose value must differ between all devices; either this or `matchAttribute` is needed."""


class OpaqueConfiguration(DocumentPart):
    """Parameters that only a driver reads."""

    driver: Subdomain
    """The name of the driver."""
    parameters: dict[str, Any]
    """Parameters in the driver's format; podberth does not read them."""


class DeviceConfiguration(DocumentPart):
    """Configuration of the devices of some requests."""

    requests: Annotated[tuple[str, ...], Field(max_length=_MOST)] = ()
    """The names of the requests; empty: all requests."""
    opaque: OpaqueConfiguration
    """The driver and its parameters."""


class Devices(DocumentPart):
    """The devices of a claim."""

    requests: Annotated[tuple[DeviceRequest, ...], Field(min_length=1, max_length=_MOST)]
    """The named requests for devices."""
    constraints: Annotated[tuple[DeviceConstraint, ...], Field(max_length=_MOST)] = ()
    """Conditions on the devices of several requests together."""
    config: Annotated[tuple[DeviceConfiguration, ...], Field(max_length=_MOST)] = ()
    """Configuration for drivers."""


class ResourceClaimSpec(DocumentPart):
    """The field ``spec`` of the ResourceClaims that are made from a template (resource.k8s.io/v1)."""

    devices: Devices
    """The devices of the claim."""


class ClaimMetadata(DocumentPart):
    """The labels and annotations that are copied from the template into the claims that are made from it."""

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
    """A ResourceClaimTemplate that `podberth controller` creates in the namespaces of pods that name it."""

    name: ClaimTemplateName
    """The template's name, unique in the policy; `template` of a `resourceClaims` item names it. The object's name is
    this name with a digest of the spec."""
    spec: ResourceClaimTemplateSpec
    """The spec of the ResourceClaimTemplate, without expressions."""

    @cached_property
    def document(self) -> dict[str, Any]:
        """The template's spec as JSON, with only the fields that the policy states."""
        return self.spec.model_dump(mode="json", by_alias=True, exclude_unset=True)

    @cached_property
    def written_name(self) -> str:
        """The name of the ResourceClaimTemplate, with a digest of the spec: a changed spec gets a new object."""
        digest = hashlib.sha256(orjson.dumps(self.document, option=orjson.OPT_SORT_KEYS)).hexdigest()
        return f"{self.name}-{digest[:_DIGITS]}"
