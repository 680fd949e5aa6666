import re
from dataclasses import fields
from datetime import timedelta
from pathlib import Path

import pytest

from podberth.errors import UsageError
from podberth.settings import OPTIONS, Address, Settings, read_settings

_LEAST = {"policies": "p", "self_signed": "tls"}


def test_options_are_the_settings() -> None:
    assert {option.field for option in OPTIONS} == {each.name for each in fields(Settings)}


def test_defaults_are_enough_with_policies_and_a_certificate() -> None:
    settings = read_settings(_LEAST, {})
    assert settings.policies == Path("p")
    assert settings.topology is None
    assert settings.listen == Address("", 9443)
    assert settings.tls_names[0] == "podberth.podberth-system.svc"


def test_flag_beats_variable_beats_default() -> None:
    environ = {"PODBERTH_METRICS_LISTEN": ":1", "PODBERTH_LISTEN": ":2", "PODBERTH_DRAIN_SECONDS": "0.5"}
    settings = read_settings({**_LEAST, "listen": "127.0.0.1:3"}, environ)
    assert (settings.metrics_listen, settings.listen) == (Address("", 1), Address("127.0.0.1", 3))
    assert (settings.drain_seconds, settings.reload_seconds) == (0.5, 2.0)


def test_cluster_is_a_word_and_a_file_of_that_name_has_a_path() -> None:
    assert read_settings({**_LEAST, "topology": "cluster", "kubeconfig": "k"}, {}).topology == "cluster"
    assert read_settings({**_LEAST, "topology": "./cluster"}, {}).topology == Path("cluster")


def test_policies_are_a_directory_which_those_of_a_cluster_may_do_without() -> None:
    without = {name: value for name, value in _LEAST.items() if name != "policies"}
    assert read_settings({**without, "topology": "cluster"}, {}).policies is None
    assert read_settings({**_LEAST, "policies": "cluster"}, {}).policies == Path("cluster")
    with pytest.raises(UsageError, match=r"^--policies: got nothing, want the directory of the policies"):
        read_settings(without, {})


@pytest.mark.parametrize(
    ("text", "address"),
    [("127.0.0.1:80", ("127.0.0.1", 80)), ("[::1]:0", ("::1", 0)), ("::1:443", ("::1", 443)), (":65535", ("", 65535))],
)
def test_address_is_host_and_port(text: str, address: tuple[str, int]) -> None:
    assert read_settings({**_LEAST, "listen": text}, {}).listen == Address(*address)


def test_a_shared_authority_is_enough_of_a_certificate() -> None:
    settings = read_settings({"policies": "p", "ca_secret": "podberth-ca", "leaf_life": "90m"}, {})
    assert (settings.ca_secret, settings.kubeconfig) == ("podberth-ca", None)
    assert (settings.ca_life, settings.leaf_life) == (timedelta(days=365), timedelta(minutes=90))


@pytest.mark.parametrize("text", ["", "9443", "a:b", "a:", "a:-1", "a:65536", "a:٣"])
def test_address_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=f"^--listen: got {re.escape(repr(text))}, want HOST:PORT"):
        read_settings({**_LEAST, "listen": text}, {})


@pytest.mark.parametrize("text", ["", "x", "-1", "nan", "inf", "3601"])
def test_seconds_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"PODBERTH_RELOAD_SECONDS: got .* want a number of seconds from 0 to 3600"):
        read_settings(_LEAST, {"PODBERTH_RELOAD_SECONDS": text})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "--policies: got nothing"),
        ({"policies": "p"}, "--tls-cert and --tls-key: got not both"),
        ({"policies": "p", "tls_cert": "c"}, "--tls-cert and --tls-key: got not both"),
        ({**_LEAST, "tls_cert": "c", "tls_key": "k"}, "--self-signed: got it beside"),
        ({**_LEAST, "ca_secret": "podberth-ca"}, "--ca-secret: got it beside"),
        ({"policies": "p", "ca_secret": "Podberth"}, "--ca-secret: got 'Podberth', want the name of"),
        ({**_LEAST, "kubeconfig": "k"}, "--kubeconfig: got it without --topology cluster or --ca-secret"),
        ({**_LEAST, "leaf_life": "1"}, "--leaf-life: got '1', want a number and s, m, h or d"),
        ({**_LEAST, "ca_life": "0d"}, "--ca-life: got '0d', want a number and s, m, h or d"),
        ({**_LEAST, "ca_life": "2d"}, "--leaf-life: got more than a quarter of --ca-life"),
        ({**_LEAST, "ca_trust_seconds": "0"}, "--ca-trust-seconds: want at least 1"),
        ({**_LEAST, "reload_seconds": "0"}, "--reload-seconds: got 0, want at least 0.01"),
        ({**_LEAST, "kubeconfig": "k"}, "--kubeconfig: got it without --topology cluster"),
        ({**_LEAST, "kubeconfig": "k", "topology": "./cluster"}, "--kubeconfig: got it without --topology cluster"),
        ({**_LEAST, "events": "yes"}, "--events: got 'yes', want on or off"),
        ({**_LEAST, "events": "on"}, "--events: got on without --topology cluster"),
        ({**_LEAST, "events": "on", "topology": "./cluster"}, "--events: got on without --topology cluster"),
        ({**_LEAST, "tls_names": " , "}, "--tls-names: got ' , ', want DNS names"),
    ],
)
def test_what_does_not_fit_together_is_refused(given: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_settings(given, {})


def test_everything_wrong_is_said_at_once() -> None:
    with pytest.raises(UsageError) as caught:
        read_settings({"listen": "x", "metrics_listen": "y"}, {"PODBERTH_DRAIN_SECONDS": "z"})
    assert len(str(caught.value).splitlines()) == 5
