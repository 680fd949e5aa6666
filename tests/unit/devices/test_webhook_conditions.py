"""The webhook configurations recognise pods that ask for accelerators by the names of podberth's own table."""

import re

from pages import ROOT
from podberth.devices.mig import RESOURCE_PREFIX
from podberth.devices.resources import DEVICE_CLASS_PREFIX, DEVICE_CLASSES, TABLE
from podberth.kube.documents import load_documents

NAMES = {name for name, row in TABLE.items() if row.kind != "nic"}
CLASSES = {f"{DEVICE_CLASS_PREFIX}{name}" for name in DEVICE_CLASSES}


def conditions(name: str) -> dict[str, str]:
    """Return a condition of each entry that has it."""
    files = sorted((ROOT / "manifests" / "base").glob("*-webhook.yaml"))
    documents = [each.document for file in files for each in load_documents(file.read_text(), file.name)[0]]
    return {
        webhook["name"]: " ".join(each["expression"].split())
        for document in documents
        for webhook in document["webhooks"]
        for each in webhook["matchConditions"]
        if each["name"] == name
    }


def test_the_names_are_the_tables() -> None:
    """A real API server is asked about each of them: tests/deployment/test_fail_closed.py."""
    [expression] = set(conditions("asks-for-accelerators").values())
    prefixed, _, listed = expression.partition(" || name in [")
    assert re.findall(r"name\.startsWith\('(.*?)'\)", prefixed) == [RESOURCE_PREFIX]
    names = re.findall(r"'(.*?)'", listed)
    assert len(names) == len(set(names))
    assert set(names) == NAMES | CLASSES


def test_each_pod_goes_through_one_of_two_entries() -> None:
    asking, others = conditions("asks-for-accelerators"), conditions("asks-for-no-accelerator")
    assert {f"!({each})" for each in asking.values()} == set(others.values())
    assert {each.replace("pods", "gangs-and-devices", 1) for each in asking} == set(others)
    assert others.keys() < conditions("gpu-or-gang").keys()
    assert not asking.keys() & conditions("gpu-or-gang").keys()
