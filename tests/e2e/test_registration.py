"""The tests register the shipped manifests with another address for the apiserver to call, and with no other change."""

from typing import Any

import pytest

from controlplane.cluster import ControlPlane

from .podberth_process import Endpoint
from .registration import CLOSED, altered, pointed, shipped


def without_client_config(configuration: dict[str, Any]) -> dict[str, Any]:
    webhooks = [{**webhook, "clientConfig": None} for webhook in configuration["webhooks"]]
    return {**configuration, "webhooks": webhooks}


def test_only_where_a_webhook_leads_is_changed() -> None:
    for configuration in shipped():
        changed = pointed(configuration, Endpoint("https://127.0.0.1:1", "Q0E="))
        assert without_client_config(changed) == without_client_config(configuration)
        for webhook, original in zip(changed["webhooks"], configuration["webhooks"], strict=True):
            path = original["clientConfig"]["service"]["path"]
            assert webhook["clientConfig"] == {"url": f"https://127.0.0.1:1{path}", "caBundle": "Q0E="}


def test_beside_that_creations_of_pods_with_accelerators_fail_closed() -> None:
    for closed, configuration in zip(shipped(), shipped(fail_closed=False), strict=True):
        for webhook, original in zip(closed["webhooks"], configuration["webhooks"], strict=True):
            assert original["failurePolicy"] == "Ignore"
            assert webhook == {**original, "failurePolicy": "Fail" if webhook["name"] in CLOSED else "Ignore"}


@pytest.mark.usefixtures("registration")
def test_the_apiserver_holds_what_is_shipped(control_plane: ControlPlane) -> None:
    assert altered(control_plane) == {"clientConfig"}


def test_no_webhook_has_defaults_in_place_of_a_decision() -> None:
    wanted = {"failurePolicy", "matchPolicy", "sideEffects", "timeoutSeconds", "matchConditions"}
    for webhook in (webhook for configuration in shipped() for webhook in configuration["webhooks"]):
        # A namespaceSelector selects nothing for objects without a namespace, and policies are reviewed in every one.
        rules = [rule for rule in webhook["rules"] if rule["apiGroups"] != ["podberth.io"]]
        namespaced = any(rule["scope"] == "Namespaced" for rule in rules)
        assert wanted | ({"namespaceSelector"} if namespaced else set()) <= webhook.keys(), webhook["name"]
