"""Quantities as the apiserver writes them; tests/e2e/test_suites.py asks a real one for the same."""

import pytest

from builders import container, pod
from podberth.kube.quantity import canonical_quantity, write_quantities


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (8, "8"),
        (0, "0"),
        ("0Gi", "0"),
        (0.5, "500m"),
        ("1000m", "1"),
        ("1500m", "1500m"),
        (1000, "1k"),
        ("8192Mi", "8Gi"),
        ("8500Mi", "8500Mi"),
        ("1.5Gi", "1536Mi"),
        ("512", "512"),
        ("1.1Ki", "1126400m"),
        ("12e3", "12e3"),
        ("12e2", "1200"),
        ("10Ei", "9223372036854775807"),
        ("-1Gi", "-1Gi"),
    ],
)
def test_an_amount_has_one_spelling(value: str | float, written: str) -> None:
    assert canonical_quantity(value) == written
    assert canonical_quantity(written) == written


def test_every_amount_of_a_pod_is_written() -> None:
    amounts, written = {"cpu": 1, "memory": "1024Mi"}, {"cpu": "1", "memory": "1Gi"}
    claim = {"volumeClaimTemplate": {"spec": {"resources": {"requests": {"storage": "2048Gi"}}}}}
    made = pod(
        container(limits=amounts, requests=amounts),
        init=[container("setup", limits=amounts)],
        resources={"limits": dict(amounts)},
        overhead=dict(amounts),
        volumes=[{"name": "shm", "emptyDir": {"sizeLimit": "1024Gi"}}, {"name": "scratch", "ephemeral": claim}],
    )
    write_quantities(made)
    spec = made["spec"]
    assert spec["containers"][0]["resources"] == {"limits": written, "requests": written}
    assert spec["initContainers"][0]["resources"] == {"limits": written}
    assert spec["resources"] == {"limits": written}
    assert spec["overhead"] == written
    assert spec["volumes"][0]["emptyDir"] == {"sizeLimit": "1Ti"}
    assert claim["volumeClaimTemplate"]["spec"]["resources"]["requests"] == {"storage": "2Ti"}


def test_what_is_no_quantity_stays() -> None:
    made = pod(container(limits={"a": "many", "b": None, "c": True, "d": [1]}), volumes=[None, {"emptyDir": "1024Mi"}])
    before = repr(made)
    write_quantities(made)
    assert repr(made) == before
    for odd in ({}, {"spec": None}, {"spec": {"containers": {"main": 1}, "overhead": 5}}):
        before = repr(odd)
        write_quantities(odd)
        assert repr(odd) == before
