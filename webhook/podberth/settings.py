"""The settings of an operator: one table of options, each a flag and an environment variable, and the frozen result.

A flag beats its variable. Nothing here opens a file or a socket; the reader of a path checks its content.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from .errors import UsageError
from .wellknown import NAMESPACE

_PREFIX = "PODBERTH_"
_MAX_PORT = 65_535
_SWITCH = {"on": True, "off": False}
_LIFE_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
# An RFC 1123 subdomain: https://kubernetes.io/docs/concepts/overview/working-with-objects/names/
_OBJECT_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?", re.ASCII)
# An authority is replaced after two thirds of its life; the last leaf that it signed lives in the rest.
_LIVES_IN_A_CA = 4
# Checking a few dozen files takes about a millisecond; without a pause the process would do little else.
_LEAST_RELOAD_SECONDS = 0.01

Policies: TypeAlias = Path | Literal["cluster"]
"""Files, or the GPUPolicies of the cluster. A directory of that name is ./cluster."""
Topology: TypeAlias = Path | Literal["cluster"]
"""Files, or the API server of the cluster. Files of that name are ./cluster."""


class Address(NamedTuple):
    """The address to listen on. An empty host is every interface; port 0 is any free one."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Option:
    """One row of the table. ``default`` is parsed like a given value; None means that there is no default."""

    name: str
    metavar: str
    default: str | None
    help: str
    parse: Callable[[str], Any]

    @property
    def flag(self) -> str:
        """The flag: ``--metrics-listen``."""
        return f"--{self.name}"

    @property
    def variable(self) -> str:
        """The environment variable: ``PODBERTH_METRICS_LISTEN``."""
        return _PREFIX + self.field.upper()

    @property
    def field(self) -> str:
        """The name in ``Settings``."""
        return self.name.replace("-", "_")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How ``podberth serve`` runs; the fields are the options."""

    policies: Policies
    topology: Topology | None
    kubeconfig: Path | None
    pod_schema: Path | None
    conventions: Path | None
    listen: Address
    metrics_listen: Address
    tls_cert: Path | None
    tls_key: Path | None
    self_signed: Path | None
    ca_secret: str | None
    ca_life: timedelta
    leaf_life: timedelta
    ca_trust_seconds: float
    webhook_configuration: str
    record_key: Path | None
    client_ca: Path | None
    client_name: str | None
    tls_names: tuple[str, ...]
    events: bool
    reload_seconds: float
    drain_seconds: float


def parse_address(text: str) -> Address:
    """Read ``HOST:PORT``; no host is every interface.

    Raises:
        ValueError: the text is no address; the message says what is wanted.
    """
    host, colon, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    if not (colon and port.isascii() and port.isdecimal() and int(port) <= _MAX_PORT):
        raise ValueError("want HOST:PORT, as in 127.0.0.1:9443 or :9443")
    return Address(host, int(port))


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise ValueError("want DNS names or addresses, with commas between")
    return names


def _seconds(text: str) -> float:
    # An hour is as good as never; infinity and NaN would make loops of ours spin or hang.
    refusal = "want a number of seconds from 0 to 3600"
    try:
        seconds = float(text)
    except ValueError:
        raise ValueError(refusal) from None
    if not 0 <= seconds <= 3600:  # noqa: PLR2004 - said above
        raise ValueError(refusal)
    return seconds


def _life(text: str) -> timedelta:
    found = re.fullmatch(r"(\d{1,6})([smhd])", text, re.ASCII)
    if found is None or int(found[1]) == 0:
        raise ValueError("want a number and s, m, h or d, as in 24h or 365d")
    return int(found[1]) * timedelta(**{_LIFE_UNITS[found[2]]: 1})


def _object_name(text: str) -> str:
    if not _OBJECT_NAME.fullmatch(text):
        raise ValueError("want the name of a Kubernetes object")
    return text


def _text(text: str) -> str:
    if not text:
        raise ValueError("want a name")
    return text


def _switch(text: str) -> bool:
    if text not in _SWITCH:
        raise ValueError("want on or off")
    return _SWITCH[text]


def _path(text: str) -> Path:
    if not text:
        raise ValueError("want a path")
    return Path(text)


def path_or_cluster(text: str) -> Path | Literal["cluster"]:
    """Read a path, or the word cluster.

    Raises:
        ValueError: the text is empty; the message says what is wanted.
    """
    return "cluster" if text == "cluster" else _path(text)


# 9443 is where controller-runtime's webhooks listen, 8080 where its metrics are: firewall rules for them often exist.
# Drain: kube-proxy and the apiserver learn of a terminating endpoint within seconds (openchoreo PR 3743 lost a
# quarter of its calls without any wait). Reload: the kubelet renews mounted ConfigMaps once a minute, so 2 s add
# almost nothing.
# A CA's year is that of cert-manager's own webhook. A leaf's day is that of Istio's workloads: it bounds the damage of
# a stolen leaf, which cannot be revoked, and survives an API server that is away for eight hours. Trust: an API server
# whose watch broke tries again after 30 s at most (client-go, the reflector's backoff); twice that.
OPTIONS: tuple[Option, ...] = (
    Option(
        "policies",
        "DIR",
        None,
        "directory of policy files, read recursively; reloaded when they change. Or the word cluster: follow its "
        "GPUPolicies",
        path_or_cluster,
    ),
    Option(
        "topology",
        "SNAPSHOT",
        None,
        "file or directory of what `kubectl get nodes,configmaps,... -o yaml` prints, or the word cluster: watch nodes "
        "and the documents of their agents; without it no node is known",
        path_or_cluster,
    ),
    Option(
        "kubeconfig",
        "FILE",
        None,
        "how to reach the API server for --topology cluster; without it as a pod does, by its service account",
        _path,
    ),
    Option(
        "pod-schema",
        "FILE",
        None,
        "what `kubectl get --raw /openapi/v3/api/v1` prints: policies may use that cluster's Pod fields",
        _path,
    ),
    Option(
        "conventions",
        "FILE",
        None,
        "meaning of this cluster's own node labels, and whether its node groups grow; read at start",
        _path,
    ),
    Option("listen", "HOST:PORT", ":9443", "address where reviews are answered, over TLS", parse_address),
    Option(
        "metrics-listen", "HOST:PORT", ":8080", "address of /livez, /readyz and /metrics, plain HTTP", parse_address
    ),
    Option("tls-cert", "FILE", None, "certificate chain, PEM; reloaded when it changes", _path),
    Option("tls-key", "FILE", None, "its private key, PEM", _path),
    Option(
        "self-signed", "DIR", None, "instead: make ca.crt, tls.crt and tls.key there; ca.crt goes into caBundle", _path
    ),
    Option(
        "ca-secret",
        "NAME",
        None,
        f"instead: sign certificates with an authority that all replicas share in this Secret of {NAMESPACE}, and keep "
        "caBundle in step",
        _object_name,
    ),
    Option(
        "tls-names",
        "NAMES",
        f"podberth.{NAMESPACE}.svc,localhost,127.0.0.1,::1",
        "names of a certificate that podberth makes, with commas between",
        _names,
    ),
    Option("ca-life", "LIFE", "365d", "how long a new authority lives; rotated after two thirds", _life),
    Option("leaf-life", "LIFE", "24h", "how long what it signs lives; renewed after two thirds", _life),
    Option(
        "ca-trust-seconds",
        "SECONDS",
        "60",
        "how long a new authority is in caBundle before it signs anything",
        _seconds,
    ),
    Option(
        "webhook-configuration",
        "NAME",
        "podberth",
        "name of the two webhook configurations whose caBundle is kept",
        _object_name,
    ),
    Option(
        "record-key",
        "FILE",
        None,
        "key for the seals of records on pods, at least 16 bytes, the same for all replicas; reloaded when it "
        "changes. Without it record.key of --self-signed or --ca-secret, or the file of --tls-key",
        _path,
    ),
    Option("client-ca", "FILE", None, "CA of the API servers' client certificate, PEM; others are refused", _path),
    Option("client-name", "NAME", None, "common name or alternative name of that certificate", _text),
    Option(
        "events",
        "SWITCH",
        "off",
        "on: publish Events about warnings on controllers' pods and about policies; with --topology cluster",
        _switch,
    ),
    Option("reload-seconds", "SECONDS", "2", "how often files are checked for changes", _seconds),
    Option(
        "drain-seconds",
        "SECONDS",
        "5",
        "how long reviews are still taken after SIGTERM, while readiness fails and connections are being closed",
        _seconds,
    ),
)


def read_settings(given: Mapping[str, str | None], environment: Mapping[str, str]) -> Settings:
    """Return the settings from flags, by field name, and environment variables.

    Raises:
        UsageError: one line for each setting that is wrong.
    """
    values: dict[str, Any] = {}
    problems: list[str] = []
    for option in OPTIONS:
        where, text = option.flag, given.get(option.field)
        if text is None and option.variable in environment:
            where, text = option.variable, environment[option.variable]
        text = option.default if text is None else text
        try:
            values[option.field] = None if text is None else option.parse(text)
        except ValueError as error:
            problems.append(f"{where}: got {text!r}, {error}")
            values[option.field] = None
    problems += _conflicts(values)
    if problems:
        raise UsageError("\n".join(problems))
    return Settings(**values)


def _conflicts(values: Mapping[str, Any]) -> list[str]:
    problems = []
    if values["policies"] is None:
        problems.append("--policies: got nothing, want the directory of the policies")
    if values["policies"] == "cluster" and values["topology"] != "cluster":
        problems.append("--policies: got cluster without --topology cluster, want both; or DIR, or ./cluster")
    if values["events"] and values["topology"] != "cluster":
        problems.append("--events: got on without --topology cluster, want both or neither")
    own, shared = values["self_signed"], values["ca_secret"]
    if values["kubeconfig"] is not None and values["topology"] != "cluster" and shared is None:
        problems.append("--kubeconfig: got it without --topology cluster or --ca-secret, want one of them or neither")
    pair = (values["tls_cert"], values["tls_key"])
    if own is None and shared is None and None in pair:
        problems.append("--tls-cert and --tls-key: got not both, want both, or --self-signed DIR, or --ca-secret NAME")
    if own is not None and pair != (None, None):
        problems.append("--self-signed: got it beside --tls-cert or --tls-key, want one or the other")
    if shared is not None and (own is not None or pair != (None, None)):
        problems.append("--ca-secret: got it beside --self-signed or --tls-cert, want one or the other")
    if values["client_name"] is not None and values["client_ca"] is None:
        problems.append("--client-name: got it without --client-ca, want both or neither")
    reload_seconds = values["reload_seconds"]
    if reload_seconds is not None and reload_seconds < _LEAST_RELOAD_SECONDS:
        problems.append(f"--reload-seconds: got {reload_seconds:g}, want at least {_LEAST_RELOAD_SECONDS:g}")
    return problems + _impossible_lives(values)


def _impossible_lives(values: Mapping[str, Any]) -> list[str]:
    ca, leaf, trust = values["ca_life"], values["leaf_life"], values["ca_trust_seconds"]
    if None in (ca, leaf, trust):
        return []
    problems = []
    if leaf * _LIVES_IN_A_CA > ca:
        problems.append(f"--leaf-life: got more than a quarter of --ca-life, want {_LIVES_IN_A_CA} lives in one")
    if not 1 <= trust <= ca.total_seconds() / _LIVES_IN_A_CA:
        problems.append("--ca-trust-seconds: want at least 1 and at most a quarter of --ca-life")
    return problems
