"""Reads and writes the Secret of the CA that all replicas share, and the caBundles of the webhook configurations.

Every write names the resourceVersion that was read. So if two replicas write, the API server refuses the second write
with 409, and that replica reads the object again.
"""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from secrets import token_bytes
from typing import Any, Final

from ..api.opening import Client, Kubeconfig, client_class
from ..api.protocol import Document, Timing, read_object
from ..errors import CertificateError, ClusterError
from ..kube.api_path import ApiPath, collection_path
from ..mutation.seal import LEAST_KEY_BYTES, RECORD_KEY
from ..pki.authorities import SECRET_KEY, Authorities, decode, encode
from ..pki.rotation import Registration
from ..wellknown import NAMESPACE

_DESCRIPTION: Final = "podberth's certificate authorities, and the key of its records; podberth certs status"
_ADMISSION: Final = "admissionregistration.k8s.io/v1"
KINDS: Final[Mapping[str, ApiPath]] = {
    "MutatingWebhookConfiguration": collection_path(_ADMISSION, "mutatingwebhookconfigurations"),
    "ValidatingWebhookConfiguration": collection_path(_ADMISSION, "validatingwebhookconfigurations"),
}
_KEY_BYTES: Final = 32
"""The length in bytes of a new key for the seals of records: as long as a SHA-256 hash."""
# https://cert-manager.io/docs/concepts/ca-injector/: cert-manager writes the caBundle of objects with an annotation
# that begins like this.
_INJECTED: Final = "cert-manager.io/inject-"


@dataclass(frozen=True, slots=True)
class ReadConfiguration:
    """A webhook configuration that was read, with the resourceVersion that a write has to name."""

    registration: Registration
    path: ApiPath
    version: str


@dataclass(frozen=True, slots=True)
class ReadSecret:
    """The Secret of the shared CA as it was read: the whole object, the CA certificates, and the key of records."""

    document: Mapping[str, Any]
    authorities: Authorities
    record_key: bytes
    """The key that seals records; empty if the Secret has none, or if the Secret's key is too short."""


class SharedAuthorities:
    """Reads and writes podberth's Secret ``name`` and both webhook configurations named ``configuration``."""

    def __init__(self, client: Client, name: str, configuration: str) -> None:
        self._client = client
        self._name = name
        self._path = collection_path("v1", "secrets", NAMESPACE)
        self._configuration = configuration
        self.where = f"Secret {NAMESPACE}/{name}"

    async def configurations(self, *, injected: bool = False) -> tuple[ReadConfiguration, ...]:
        """Read podberth's mutating and validating webhook configuration; a missing configuration is left out.

        With ``injected``, configurations whose caBundles cert-manager sets are returned, too: such configurations may
        be shown, but podberth must not write them.

        Raises:
            ClusterError: the API server does not answer, or refuses the request.
            CertificateError: cert-manager sets the caBundles of a configuration, and ``injected`` is False.
        """
        read = []
        for kind, collection in KINDS.items():
            path = collection.below(self._configuration)
            document = await self._read(path)
            if document is None:
                continue
            if not injected:
                _refuse_injected(document, self._configuration)
            registration = Registration.of(f"{kind} {self._configuration}", document)
            read.append(ReadConfiguration(registration, path, document["metadata"]["resourceVersion"]))
        return tuple(read)

    async def secret(self) -> ReadSecret | None:
        """Read the Secret of the shared CA; None if the Secret does not exist.

        Raises:
            ClusterError: the API server does not answer, or refuses the request.
            CertificateError: the Secret's content is not in the format that podberth writes.
        """
        document = await self._read(self._path.below(self._name))
        if document is None:
            return None
        data = _data(document, self.where)
        record_key = data.get(RECORD_KEY, b"")
        usable = record_key if len(record_key) >= LEAST_KEY_BYTES else b""
        return ReadSecret(document, decode(data, self.where), usable)

    async def store(self, read: ReadSecret | None, authorities: Authorities, record_key: bytes = b"") -> None:
        """Write new CA certificates to the Secret; all other fields of the Secret keep the values that were read.

        Args:
            read: the Secret that was read; None creates a new Secret.
            authorities: the new CA certificates with keys.
            record_key: the key that seals records, written if the Secret has none; empty: a new key is made. A Secret
                that a replica of an older version wrote has no such key.

        Raises:
            ClusterError: the Secret has changed since (status 409), or the API server does not answer or refuses.
        """
        kept = read.document.get("data") or {} if read else {}
        key = read.record_key if read else b""
        made = {SECRET_KEY: encode(authorities), RECORD_KEY: key or record_key or token_bytes(_KEY_BYTES)}
        data = {**kept, **{name: base64.b64encode(content).decode() for name, content in made.items()}}
        if read is None:
            metadata = {
                "name": self._name,
                "namespace": NAMESPACE,
                "labels": {"app.kubernetes.io/name": "podberth"},
                "annotations": {"podberth.io/description": _DESCRIPTION},
            }
            document = {"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": metadata, "data": data}
            await self._client.send("POST", self._path, document)
        else:
            # With its resourceVersion, and all fields of other writers.
            await self._client.send("PUT", self._path.below(self._name), {**read.document, "data": data})

    async def trust(self, configuration: ReadConfiguration, pem: bytes) -> None:
        """Write CA certificates (PEM) into every caBundle of a webhook configuration; other fields stay unchanged.

        Raises:
            ClusterError: the configuration has changed since (status 409), or the API server does not answer or
                refuses.
        """
        bundle = base64.b64encode(pem).decode()
        version = {"op": "replace", "path": "/metadata/resourceVersion", "value": configuration.version}
        bundles = [
            {"op": "add", "path": f"/webhooks/{number}/clientConfig/caBundle", "value": bundle}
            for number in range(len(configuration.registration.bundles))
        ]
        await self._client.send("PATCH", configuration.path, [version, *bundles], "application/json-patch+json")

    async def reset(self) -> None:
        """Close the connection. The next request opens a new connection."""
        await self._client.reset()

    async def _read(self, path: ApiPath) -> Document | None:
        try:
            return read_object(await self._client.get(path, {}), path)
        except ClusterError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise


def open_shared(
    kubeconfig: Path | Kubeconfig | None, name: str, configuration: str, timing: Timing
) -> SharedAuthorities:
    """Return the object that reads and writes the Secret ``name`` and the webhook configurations ``configuration``.

    Raises:
        UsageError: the client library is not installed, or no address of the API server is configured.
    """
    make = client_class("the certificate authorities in the cluster")
    return SharedAuthorities(make(kubeconfig, timing), name, configuration)


def _refuse_injected(document: Mapping[str, Any], name: str) -> None:
    for key in document.get("metadata", {}).get("annotations") or {}:
        if key.startswith(_INJECTED):
            raise CertificateError(
                f"{document.get('kind')} {name}: got the annotation {key}, with which cert-manager writes caBundle "
                "too, want one writer; remove the annotation, or --ca-secret"
            )


def _data(document: Mapping[str, Any], where: str) -> dict[str, bytes]:
    try:
        return {key: base64.b64decode(value) for key, value in (document.get("data") or {}).items()}
    except (binascii.Error, TypeError) as error:
        raise CertificateError(f"{where}: got data that is no base64, want a Secret of the API server") from error
