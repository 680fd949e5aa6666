"""An installation that is well, as `podberth status` sees it, for tests that change one thing of it."""

import base64
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from podberth.installation.observation import (
    InstallationState,
    LetThrough,
    ObservedList,
    Replica,
    Row,
    StatusReport,
    Unread,
)
from podberth.installation.report import judge
from podberth.pki.issue import Authority, Validity, new_authority
from podberth.topology.holdings import BoundPod
from podberth.topology.shapes import simulate
from podberth.wellknown import NAMESPACE

Document = dict[str, Any]

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
YEAR = timedelta(days=365)
Labels = frozenset[tuple[str, str]]


def authority(
    name: str = "an authority", *, begun: timedelta = timedelta(days=30), life: timedelta = YEAR
) -> Authority:
    """Make an authority that began so long ago, and lives so long."""
    return new_authority(name, Validity(NOW - begun, NOW - begun + life))


CA = authority()


def workload(name: str = "podberth", **status: int) -> Document:
    """Return a Deployment or DaemonSet, with its status."""
    env = [{"name": "PODBERTH_TOPOLOGY", "value": "cluster"}]
    container = {"name": name, "image": f"example.com/{name}:0.1.0", "args": ["serve"], "env": env}
    return {
        "metadata": {"name": name, "generation": 3},
        "spec": {"replicas": 2, "template": {"spec": {"containers": [container]}}},
        "status": {"observedGeneration": 3, **status},
    }


def configuration(*bundles: bytes) -> Document:
    """Return a webhook configuration with an entry for each caBundle; the first fails closed, the others open."""
    webhooks = [
        {
            "name": f"entry-{number}",
            "failurePolicy": "Ignore" if number else "Fail",
            "rules": [{"operations": ["CREATE"]}],
            "matchConditions": [{"name": "asks-for-accelerators"}],
            "clientConfig": {"caBundle": base64.b64encode(bundle).decode()},
        }
        for number, bundle in enumerate(bundles)
    ]
    return {"metadata": {"name": "podberth", "generation": 1, "resourceVersion": "1"}, "webhooks": webhooks}


def gpu_policy(name: str, *, generation: int = 1, observed: int = 1, message: str = "") -> Document:
    """Return a GPUPolicy with its status; one with a message does not compile."""
    said = "False" if message else "True"
    conditions = [
        {"type": "Compiled", "status": said, "message": message},
        {"type": "Active", "status": said, "message": ""},
    ]
    return {
        "metadata": {"name": name, "generation": generation},
        "status": {"observedGeneration": observed, "conditions": conditions},
    }


def lease(name: str, age: timedelta) -> Document:
    """Return a heartbeat of so long ago, that lasts 90 seconds."""
    renewed = (NOW - age).isoformat()
    return {
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"renewTime": renewed, "leaseDurationSeconds": 90},
    }


def replica(name: str = "podberth-1", **values: float) -> Replica:
    """Return a replica whose certificate lives for 20 hours, and what else it counts."""
    metrics: dict[tuple[str, Labels], float] = {
        ("podberth_certificate_not_after_seconds", frozenset()): (NOW + timedelta(hours=20)).timestamp(),
        ("podberth_ca_not_after_seconds", frozenset()): CA.certificate.not_valid_after_utc.timestamp(),
        ("podberth_policies_loaded", frozenset()): 2.0,
        ("podberth_client_certificate_required", frozenset()): 1.0,
    }
    for review in ("mutate", "validate"):
        metrics["podberth_policies_for_every_pod", frozenset({("review", review)})] = 0.0
    metrics["podberth_watch_contact_age_seconds", frozenset({("resource", "nodes")})] = 12.0
    for stage in ("none", "spreading", "draining"):
        metrics["podberth_ca_rotation_stage", frozenset({("stage", stage)})] = float(stage == "none")
    return Replica(name, metrics | {(f"podberth_{key}", frozenset()): value for key, value in values.items()})


def counting(name: str, labels: Mapping[str, str], value: float) -> Replica:
    """Return a replica with one more metric."""
    one = replica()
    assert not isinstance(one.metrics, Unread)
    return Replica(one.name, {**one.metrics, (f"podberth_{name}", frozenset(labels.items())): value})


def event(message: str, *, age: timedelta = timedelta(minutes=3), name: str = "train", **fields: Any) -> Document:
    """Return the Event of a Job's controller."""
    about = {"kind": "Job", "namespace": "team-a", "name": name}
    moment = (NOW - age).strftime("%Y-%m-%dT%H:%M:%SZ")
    metadata = {"name": "e", "creationTimestamp": moment}
    return {"metadata": metadata, "involvedObject": about, "message": message, "lastTimestamp": moment, **fields}


def observed(**changes: Any) -> InstallationState:
    """Return what is seen of an installation that is well, but for these fields."""
    pairs = [simulate("hgx-h100-8", name) for name in ("gpu-0", "gpu-1")]
    guards = {
        f"{kind}/{name}": {"metadata": {"name": name}}
        for name in ("podberth-agent", "podberth-configurations", "podberth-events", "podberth-exemption")
        for kind in ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
    }
    well = InstallationState(
        now=NOW,
        kubernetes="v1.36.3",
        deployment=workload(readyReplicas=2, updatedReplicas=2),
        agents=workload("podberth-agent", numberReady=2, desiredNumberScheduled=2),
        policies_served=True,
        configurations={
            "MutatingWebhookConfiguration": configuration(*[CA.pem] * 3),
            "ValidatingWebhookConfiguration": configuration(*[CA.pem] * 8),
        },
        guards=guards,
        policies=(gpu_policy("a"), gpu_policy("b")),
        nodes=tuple(node for node, _ in pairs),
        topologies=tuple(config_map for _, config_map in pairs),
        heartbeats=tuple(lease(name, timedelta(seconds=20)) for name in ("gpu-0", "gpu-1")),
        replicas=(replica(), replica("podberth-2")),
        events=ObservedList(()),
        namespaces=({"metadata": {"name": "team-a", "labels": {"kubernetes.io/metadata.name": "team-a"}}},),
        params=(),
        unrecorded=ObservedList(()),
        bound=(
            BoundPod(
                namespace="team-a", name="train", node="gpu-1", devices=(("nvidia.com/gpu", 3),), has_claims=False
            ),
        ),
        let_through=LetThrough(since=NOW - YEAR),
    )
    return replace(well, **changes)


def report(**changes: Any) -> StatusReport:
    """Return what is said about it."""
    return judge(observed(**changes))


def rows(name: str, **changes: Any) -> list[Row]:
    """Return the lines of a name."""
    return [row for rows in report(**changes).sections.values() for row in rows if row.name == name]


def row(name: str, **changes: Any) -> tuple[str, str]:
    """Return state and text of the one line of a name."""
    [found] = rows(name, **changes)
    return found.state, found.text
