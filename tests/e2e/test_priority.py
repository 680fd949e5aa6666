"""A PriorityClass that a policy sets, in a cluster with a global default class and in one without."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from typing import Any

import pytest

from builders import gpu_pod, pod
from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from snapshots import policy

from .podberth_process import Podberth
from .registration import Registration
from .space import SECONDS, Space

Document = dict[str, Any]


def priority_class(name: str, value: int, *, default: bool = False) -> Document:
    """Return a class. The default never preempts, so that the fields that are computed from it can be distinguished."""
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        "globalDefault": default,
        "preemptionPolicy": "Never" if default else "PreemptLowerPriority",
    }


USUAL = priority_class("usual", 10, default=True)
URGENT, OWN = priority_class("urgent", 1000), priority_class("own", 5)


@pytest.fixture(scope="module")
def urgent(
    control_plane: ControlPlane, registration: Registration, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Have a podberth in force that gives GPU pods the class urgent; its snapshot knows the default class."""
    control_plane.apply(URGENT, OWN)
    for each in (URGENT, OWN):
        wait_for(partial(known, control_plane, each["metadata"]["name"]), what="the API server to know the classes")
    folder = tmp_path_factory.mktemp("urgent")
    policies = folder / "policies"
    policies.mkdir()
    (policies / "policy.yaml").write_text(policy("urgent", "  mutations: [{priorityClassName: \"'urgent'\"}]"))
    snapshot = folder / "cluster.json"
    snapshot.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [USUAL, URGENT, OWN]}))
    with (
        Podberth(folder, snapshot, policies) as podberth,
        registration.instead(podberth, gpu_pod()),
    ):
        yield
    for each in (URGENT, OWN):
        control_plane.kubectl("delete", "priorityclass", each["metadata"]["name"])


def known(control_plane: ControlPlane, name: str) -> bool:
    """Return whether the API server's admission, which follows classes, takes a pod of one."""
    path = "/api/v1/namespaces/default/pods?dryRun=All"
    return control_plane.raw("POST", path, pod(name="known", priorityClassName=name))[0] == HTTPStatus.CREATED


@contextmanager
def global_default(space: Space) -> Iterator[None]:
    """Have a global default class, which every pod without a class is given before any webhook is called."""
    space.control_plane.apply(USUAL)

    def in_force() -> bool:
        return bool(class_of(space.dry_run(pod()))[0] == "usual")

    try:
        wait_for(in_force, timeout_seconds=SECONDS, what="the default class to be given")
        yield
    finally:
        space.control_plane.kubectl("delete", "priorityclass", "usual")
        wait_for(lambda: not in_force(), timeout_seconds=SECONDS, what="no default class to be given")


def class_of(made: Document) -> tuple[Any, Any, Any]:
    """Return a pod's class, priority and preemption policy."""
    spec = made.get("spec", {})
    return spec.get("priorityClassName"), spec.get("priority"), spec.get("preemptionPolicy")


_URGENT = ("urgent", 1000, "PreemptLowerPriority")
_OWN = ("own", 5, "PreemptLowerPriority")


@pytest.mark.usefixtures("urgent")
def test_without_a_default_class_the_class_is_set_and_its_priority_worked_out(space: Space) -> None:
    space.must_apply(gpu_pod(name="again"))
    assert class_of(space.pod("again")) == _URGENT
    assert class_of(space.dry_run(gpu_pod(priorityClassName="own"))) == _OWN
    assert space.must_apply(gpu_pod(name="again")).warnings == ()


@pytest.mark.usefixtures("urgent")
def test_with_a_default_class_what_it_computed_gives_way(space: Space) -> None:
    with global_default(space):
        space.must_apply(gpu_pod(name="again"))
        assert class_of(space.pod("again")) == _URGENT
        assert class_of(space.dry_run(gpu_pod(priorityClassName="own"))) == _OWN
        assert class_of(space.dry_run(pod())) == ("usual", 10, "Never")
        assert space.must_apply(gpu_pod(name="again")).warnings == ()
