"""Adds the default fields that the API server adds to a Pod before it calls mutating webhooks.

Only defaults that are equal in every cluster are added. The defaults from the service account's token volume, limit
ranges and priority classes differ between clusters, so they are left out. A default never replaces a field.
"""

from collections.abc import Iterator
from typing import Any, Final

from ..kinds.stamping import containers
from ..kube.amounts import requested
from ..kube.quantity import canonical_quantity
from ..kube.shape import RESOURCED_LISTS
from ..kube.unchecked import at, list_at, text_at

# SetDefaults_PodSpec, kubernetes pkg/apis/core/v1/defaults.go
_SPEC: Final[dict[str, Any]] = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
}

# SetDefaults_Container and SetDefaults_Probe, same file
_CONTAINER: Final[dict[str, Any]] = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
_PROBE: Final[dict[str, Any]] = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_HTTP_GET: Final[dict[str, Any]] = {"path": "/", "scheme": "HTTP"}
_HOOKS: Final = ("postStart", "preStop")

# SetDefaults_*VolumeSource, same file: 0644
_VOLUME_MODE: Final[dict[str, Any]] = {"defaultMode": 0o644}
_VOLUME_SOURCES: Final[dict[str, dict[str, Any]]] = {
    "azureDisk": {"cachingMode": "ReadWrite", "kind": "Shared", "fsType": "ext4", "readOnly": False},
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
    "secret": _VOLUME_MODE,
    "configMap": _VOLUME_MODE,
    "downwardAPI": _VOLUME_MODE,
    "projected": _VOLUME_MODE,
    "hostPath": {"type": ""},
}

# SetDefaults_ObjectFieldSelector, same file; the zero of a Quantity, which is always written
_REFERENCES: Final[dict[str, dict[str, Any]]] = {
    "fieldRef": {"apiVersion": "v1"},
    "resourceFieldRef": {"divisor": "0"},
}
# SetDefaults_ServiceAccountTokenProjection, same file: an hour
_TOKEN_SECONDS: Final = 3600

# DefaultTolerationSeconds plugin, kubernetes plugin/pkg/admission/defaulttolerationseconds
_TOLERATED_SECONDS: Final = 300
_NODE_TROUBLES: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def apply_defaults(pod: dict[str, Any]) -> None:
    """Add to a Pod, in place, the defaults of the API server that are equal in every cluster.

    A field that the Pod has is not replaced. The caller has checked the Pod's shape.
    """
    spec = pod["spec"]
    apply_pod_defaults(pod)
    # ServiceAccount plugin, kubernetes plugin/pkg/admission/serviceaccount
    _fill(spec, {"serviceAccountName": "default"})
    spec.setdefault("serviceAccount", spec["serviceAccountName"])
    if not spec.get("priorityClassName"):
        # Priority plugin, kubernetes plugin/pkg/admission/priority: the value without a class and a default class
        _fill(spec, {"priority": 0, "preemptionPolicy": "PreemptLowerPriority"})
    spec["tolerations"] = [*(spec.get("tolerations") or ()), *_missing_tolerations(spec)]


def apply_pod_defaults(pod: dict[str, Any]) -> None:
    """Add to a Pod, in place, the defaults of the API alone, without the defaults of admission plugins."""
    apply_template_defaults(pod)
    _fill(pod["spec"], {"enableServiceLinks": True})  # SetDefaults_Pod, in the file of SetDefaults_PodSpec
    apply_request_defaults(pod)


def apply_request_defaults(pod: dict[str, Any]) -> None:
    """Add to a Pod and its containers, in place, a request for each limit without one, as the API server does."""
    for container in containers(pod):
        if "resources" in container:
            container["resources"] = _resources(container["resources"])
    own = pod["spec"].get("resources")
    if own and own.get("limits"):
        own["requests"] = {**_as_strings(own["limits"]), **_sums(pod), **(own.get("requests") or {})}


def _sums(pod: dict[str, Any]) -> dict[str, str]:
    """Return the cpu and memory that the containers of a Pod request together, as quantities; zero is left out.

    With limits of its own, a Pod without a request of its own requests as much (defaultPodRequests, in the file of
    SetDefaults_PodSpec; KEP-2837, on by default from Kubernetes 1.34). An older API server drops the Pod's limits.
    """
    every = [at(each, "resources", "requests", "memory") for each in containers(pod)]
    found = requested({"spec": {field: pod["spec"].get(field) for field in RESOURCED_LISTS}})
    cpu, memory = (found.get(name, 0) for name in ("cpu", "memory"))
    size = memory // 1000
    is_binary = size % 1024 == 0 and any(str(each).endswith("i") for each in every)
    texts = {"cpu": f"{cpu}m", "memory": f"{size // 1024}Ki" if is_binary else str(size)}
    return {name: canonical_quantity(text) for name, text in texts.items() if found.get(name)}


def apply_template_defaults(template: dict[str, Any]) -> None:
    """Add to a pod template, in place, the defaults of the API. The caller has checked the template's shape."""
    spec = template["spec"]
    _fill(spec, _SPEC)
    spec["securityContext"] = spec.get("securityContext") or {}
    if spec.get("serviceAccountName"):
        spec.setdefault("serviceAccount", spec["serviceAccountName"])
    for container in containers(template):
        _default_container(container, host_network=spec.get("hostNetwork") is True)
    for volume in spec.get("volumes") or ():
        _default_volume(volume)


def _default_container(container: dict[str, Any], *, host_network: bool) -> None:
    _fill(container, {**_CONTAINER, "imagePullPolicy": _pull_policy(container.get("image") or "")})
    container["resources"] = container.get("resources") or {}
    for port in container.get("ports") or ():
        _fill(port, {"protocol": "TCP"})
        if host_network and "containerPort" in port:
            _fill(port, {"hostPort": port["containerPort"]})
    for entry in container.get("env") or ():
        _default_reference(entry.get("valueFrom"))
    for probe in filter(None, map(container.get, _PROBES)):
        _fill(probe, _PROBE)
        _default_handler(probe)
        if isinstance(probe.get("grpc"), dict):
            _fill(probe["grpc"], {"service": ""})
    for hook in _HOOKS:
        _default_handler(at(container, "lifecycle", hook))


def _default_reference(holder: object) -> None:
    """Add the defaults to the references of the downward API in ``holder``, a value or a file from a field of a Pod."""
    for name, defaults in _REFERENCES.items():
        if isinstance(holder, dict) and isinstance(holder.get(name), dict):
            _fill(holder[name], defaults)


def _default_handler(handler: object) -> None:
    """Add the defaults to the HTTP request of a probe or of a lifecycle hook; an empty path counts as absent."""
    request = handler.get("httpGet") if isinstance(handler, dict) else None
    if isinstance(request, dict):
        _fill(request, _HTTP_GET)
        request["path"] = request["path"] or "/"


def _resources(resources: dict[str, Any]) -> dict[str, Any]:
    """Return a container's resources with limits copied to absent requests, as the API server does for Pods.

    All quantities become strings, as in the API server's answer.
    """
    amounts = {field: _as_strings(resources[field]) for field in ("limits", "requests") if resources.get(field)}
    if "limits" in amounts:
        amounts["requests"] = {**amounts["limits"], **amounts.get("requests", {})}
    return {**resources, **amounts}


def _as_strings(amounts: dict[str, Any]) -> dict[str, Any]:
    return {name: str(amount) if isinstance(amount, int) else amount for name, amount in amounts.items()}


def _pull_policy(image: str) -> str:
    """Return the default imagePullPolicy: Always for an image tagged ``latest``, or with neither tag nor digest."""
    name, _, digest = image.rpartition("/")[2].partition("@")
    tag = name.partition(":")[2]
    return "Always" if tag == "latest" or not (tag or digest) else "IfNotPresent"


def _default_volume(volume: dict[str, Any]) -> None:
    if volume.keys() <= {"name"}:
        volume["emptyDir"] = {}
    for name, defaults in _VOLUME_SOURCES.items():
        if isinstance(volume.get(name), dict):
            _fill(volume[name], defaults)
    for source in (volume, *list_at(volume, "projected", "sources")):
        for item in list_at(source, "downwardAPI", "items"):
            _default_reference(item)
        if isinstance(token := at(source, "serviceAccountToken"), dict):
            _fill(token, {"expirationSeconds": _TOKEN_SECONDS})
    if isinstance(claim := at(volume, "ephemeral", "volumeClaimTemplate"), dict):
        _fill(claim, {"metadata": {}, "spec": {}})
        if isinstance(claim["spec"], dict):
            _fill(claim["spec"], {"volumeMode": "Filesystem"})
    if isinstance(image := volume.get("image"), dict):
        _fill(image, {"pullPolicy": _pull_policy(text_at(image, "reference"))})


def _missing_tolerations(spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    own = [each for each in spec.get("tolerations") or () if (each.get("effect") or "NoExecute") == "NoExecute"]
    for key in _NODE_TROUBLES:
        if all((each.get("key") or key) != key for each in own):
            yield {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _TOLERATED_SECONDS}


def _fill(document: dict[str, Any], defaults: dict[str, Any]) -> None:
    for name, value in defaults.items():
        if document.get(name) is None:
            document[name] = value
