"""The settings of ``podberth serve``: each setting is a command-line flag and an environment variable.

A flag overrides the variable. This module opens no file and no socket; the code that reads a path checks the content.
"""

# ruff: noqa: RUF009 - _option is dataclasses.field

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from .errors import UsageError
from .kube.object_names import is_subdomain
from .wellknown import NAMESPACE
from .words import parse_life

_PREFIX = "PODBERTH_"
_MAX_PORT = 65_535
_SWITCH = {"on": True, "off": False}
# An authority is replaced after two thirds of its life; the last leaf that it signed lives in the rest.
_LIVES_IN_A_CA = 4
# Checking a few dozen files takes about a millisecond; without a pause the process would do little else.
_LEAST_RELOAD_SECONDS = 0.01

Topology: TypeAlias = Path | Literal["cluster"]
"""The source of the topology: a path of files, or ``cluster`` for the API server. A file named cluster is ./cluster."""


class Address(NamedTuple):
    """An address to listen on. An empty host means every interface; port 0 means any free port."""

    host: str
    port: int


def parse_address(text: str) -> Address:
    """Read ``HOST:PORT``; an empty host means every interface.

    Raises:
        ValueError: the text is not an address; the message describes the wanted form.
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


def number(least: float, most: float, want: str) -> Callable[[str], float]:
    """Return a parser of numbers from ``least`` to ``most``.

    ``want`` describes the range in the parser's error messages.
    """

    def parse(text: str) -> float:
        with suppress(ValueError):
            if least <= (found := float(text)) <= most:  # nan is neither
                return found
        raise ValueError(f"want {want}")

    return parse


# An hour is as good as never; infinity and NaN would make loops of ours spin or hang.
_seconds = number(0, 3600, "a number of seconds from 0 to 3600")


def _object_name(text: str) -> str:
    if not is_subdomain(text):
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


def parse_path(text: str) -> Path:
    """Read a path.

    Raises:
        ValueError: the text is empty; the message describes the wanted form.
    """
    if not text:
        raise ValueError("want a path")
    return Path(text)


@dataclass(frozen=True, slots=True)
class Option:
    """One option of ``podberth serve``."""

    field: str
    """The name of the option's field in ``Settings``."""
    metavar: str
    parse: Callable[[str], Any]
    help: str
    default: str | None
    """The default as text, parsed like a given value; None if there is no default."""

    @property
    def flag(self) -> str:
        """The option's flag, such as ``--metrics-listen``."""
        return f"--{self.field.replace('_', '-')}"

    @property
    def variable(self) -> str:
        """The option's environment variable, such as ``PODBERTH_METRICS_LISTEN``."""
        return _PREFIX + self.field.upper()


def _option(metavar: str, parse: Callable[[str], Any], text: str, default: str | None = None) -> Any:
    return field(metadata={"metavar": metavar, "parse": parse, "help": text, "default": default})


# 9443 is where controller-runtime's webhooks listen, 8080 where its metrics are: firewall rules for them often exist.
# Drain: kube-proxy and the apiserver learn of a terminating endpoint within seconds (openchoreo PR 3743 lost a
# quarter of its calls without any wait). Reload: the kubelet renews mounted ConfigMaps once a minute, so 2 s add
# almost nothing.
# A CA's year is that of cert-manager's own webhook. A leaf's day is that of Istio's workloads: it bounds the damage of
# a stolen leaf, which cannot be revoked, and survives an API server that is away for eight hours. Trust: an API server
# whose watch broke tries again after 30 s at most (client-go, the reflector's backoff); twice that.
@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of one ``podberth serve`` process; each field is one option."""

    policies: Path | None = _option(
        "DIR",
        parse_path,
        "directory of policy files, read recursively; reloaded when they change. With --topology cluster its "
        "GPUPolicies count beside them, and replace those of their name",
    )
    topology: Topology | None = _option(
        "SNAPSHOT",
        lambda text: text if text == "cluster" else parse_path(text),
        "file or directory of what `kubectl get nodes,configmaps,... -o yaml` prints, or the word cluster: watch nodes "
        "and the documents of their agents; without it no node is known",
    )
    kubeconfig: Path | None = _option(
        "FILE",
        parse_path,
        "how to reach the API server for --topology cluster; without it as a pod does, by its service account",
    )
    pod_schema: Path | None = _option(
        "FILE",
        parse_path,
        "what `kubectl get --raw /openapi/v3/api/v1` prints: policies may use that cluster's Pod fields",
    )
    conventions: Path | None = _option(
        "FILE", parse_path, "meaning of this cluster's own node labels, and whether its node groups grow; read at start"
    )
    listen: Address = _option("HOST:PORT", parse_address, "address where reviews are answered, over TLS", ":9443")
    metrics_listen: Address = _option(
        "HOST:PORT", parse_address, "address of /livez, /readyz and /metrics, plain HTTP", ":8080"
    )
    tls_cert: Path | None = _option("FILE", parse_path, "certificate chain, PEM; reloaded when it changes")
    tls_key: Path | None = _option("FILE", parse_path, "its private key, PEM")
    self_signed: Path | None = _option(
        "DIR", parse_path, "instead: make ca.crt, tls.crt and tls.key there; ca.crt goes into caBundle"
    )
    ca_secret: str | None = _option(
        "NAME",
        _object_name,
        f"instead: sign certificates with an authority that all replicas share in this Secret of {NAMESPACE}, and keep "
        "caBundle in step",
    )
    tls_names: tuple[str, ...] = _option(
        "NAMES",
        _names,
        "names of a certificate that podberth makes, with commas between",
        f"podberth.{NAMESPACE}.svc,localhost,127.0.0.1,::1",
    )
    ca_life: timedelta = _option("LIFE", parse_life, "how long a new authority lives; rotated after two thirds", "365d")
    leaf_life: timedelta = _option("LIFE", parse_life, "how long what it signs lives; renewed after two thirds", "24h")
    ca_trust_seconds: float = _option(
        "SECONDS", _seconds, "how long a new authority is in caBundle before it signs anything", "60"
    )
    webhook_configuration: str = _option(
        "NAME", _object_name, "name of the two webhook configurations whose caBundle is kept", "podberth"
    )
    record_key: Path | None = _option(
        "FILE",
        parse_path,
        "key for the seals of records on pods, at least 16 bytes, the same for all replicas; reloaded when it "
        "changes. Without it record.key of --self-signed or --ca-secret, or the file of --tls-key",
    )
    client_ca: Path | None = _option(
        "FILE", parse_path, "CA of the API servers' client certificate, PEM; others are refused"
    )
    client_name: str | None = _option("NAME", _text, "common name or alternative name of that certificate")
    events: bool = _option(
        "SWITCH",
        _switch,
        "on: publish Events about warnings on controllers' pods and about policies; with --topology cluster",
        "off",
    )
    reload_seconds: float = _option("SECONDS", _seconds, "how often files are checked for changes", "2")
    drain_seconds: float = _option(
        "SECONDS",
        _seconds,
        "how long reviews are still taken after SIGTERM, while readiness fails and connections are being closed",
        "5",
    )


OPTIONS: tuple[Option, ...] = tuple(Option(each.name, **each.metadata) for each in fields(Settings))


def read_settings(given: Mapping[str, str | None], environment: Mapping[str, str]) -> Settings:
    """Return the settings, from flags and from environment variables.

    ``given`` is a mapping from the name of a setting to the text of its flag; None if the flag is absent.

    Raises:
        UsageError: a setting is wrong; the message has one line for each wrong setting.
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
    if values["policies"] is None and values["topology"] != "cluster":
        problems.append("--policies: got nothing, want the directory of the policies")
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
