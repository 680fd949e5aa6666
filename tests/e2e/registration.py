"""The shipped webhook configurations in the test cluster: pointed at a process here, put up and taken down.

Nothing of them is changed but where they lead to, for no Service's address leads anywhere in the test control plane.
The component fail-closed is with them, so that a review without an answer fails a test and lets no pod through.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from http import HTTPStatus
from typing import Any, Literal

from builders import gpu_pod
from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from podberth.kube.documents import load_documents

from .podberth_process import ROOT, Endpoint, Podberth

Document = dict[str, Any]
FailurePolicy = Literal["Fail", "Ignore"]

_PROBE_NAMESPACE = "podberth-probe"
_BOTH = {"/mutate", "/validate"}


CLOSED = ("pods.mutate.podberth.io", "pods.validate.podberth.io")
"""The entries that manifests/components/fail-closed gives failurePolicy Fail."""


def shipped(*, fail_closed: bool = True) -> list[Document]:
    """Return the webhook configurations of manifests/base, with the component fail-closed or as they are.

    With it, a review that podberth does not answer fails a test; without, the pod would be let through.
    """
    files = sorted((ROOT / "manifests" / "base").glob("*-webhook.yaml"))
    found = [one.document for file in files for one in load_documents(file.read_text(), file.name)[0]]
    assert len(found) == 2, files
    if fail_closed:
        for webhook in (webhook for configuration in found for webhook in configuration["webhooks"]):
            if webhook["name"] in CLOSED:
                webhook["failurePolicy"] = "Fail"
    return found


def pointed(configuration: Document, endpoint: Endpoint) -> Document:
    """Return the configuration with a URL in the place of each Service, and nothing else changed."""
    changed = deepcopy(configuration)
    for webhook in changed["webhooks"]:
        path = webhook["clientConfig"]["service"]["path"]
        webhook["clientConfig"] = {"url": endpoint.url + path, "caBundle": endpoint.ca_bundle}
    return changed


def altered(control_plane: ControlPlane) -> set[str]:
    """Return the fields that the API server holds otherwise than they are shipped, of any entry.

    Of `clientConfig`, `caBundle` is podberth's to write; what is not shipped has defaults.
    """
    found = set()
    for configuration in shipped():
        stored = control_plane.get(configuration["kind"], configuration["metadata"]["name"])
        for webhook, original in zip(stored["webhooks"], configuration["webhooks"], strict=True):
            webhook["clientConfig"].pop("caBundle", None)
            found |= {field for field in original if webhook.get(field) != original[field]}
    return found


def for_every_pod() -> list[Document]:
    """Return the shipped configurations with what docs/policy.md ("Scope") says a policy for every pod needs besides.

    The entry with `gpu-or-gang` is there once more, under another name, for the pods that it keeps away.
    """
    configurations = shipped()
    for configuration in configurations:
        configuration["webhooks"] += [_for_others(each) for each in configuration["webhooks"] if _of_gangs(each)]
    return configurations


def _of_gangs(webhook: Document) -> bool:
    return bool(webhook["name"].startswith("gangs-and-devices."))


def _for_others(webhook: Document) -> Document:
    others = deepcopy(webhook)
    others["name"] = others["name"].replace("gangs-and-devices.", "other-pods.")
    condition, asks, *more = others["matchConditions"]
    assert (condition["name"], asks["name"]) == ("gpu-or-gang", "asks-for-no-accelerator")
    negated = {"name": "neither-gpu-nor-gang", "expression": f"!({condition['expression']})"}
    others["matchConditions"] = [negated, *more]
    return others


class Registration:
    """The two configurations in one cluster. Every change is waited for until the apiserver acts on it."""

    def __init__(self, control_plane: ControlPlane) -> None:
        """Make a namespace for the probes; nothing is registered yet."""
        self._control_plane = control_plane
        self._endpoint: Endpoint | None = None
        control_plane.add_namespace(_PROBE_NAMESPACE)

    def put(self, endpoint: Endpoint) -> None:
        """Register podberth at `endpoint`, which must answer."""
        self._apply([pointed(configuration, endpoint) for configuration in shipped()])
        self._endpoint = endpoint
        self.wait_called()

    def wait_called(self) -> None:
        """Return once the apiserver calls both webhooks, whoever has registered them, and gets answers."""
        self._wait("both webhooks to be called", lambda: self._mutated() and self._judged())

    def remove(self) -> None:
        """Take podberth out of the apiserver's way."""
        for configuration in shipped():
            kind, name = configuration["kind"], configuration["metadata"]["name"]
            self._control_plane.kubectl("delete", kind, name, "--ignore-not-found")
        self._wait("no webhook to be called", lambda: not self._mutated() and not self._judged())

    @contextmanager
    def absent(self) -> Iterator[None]:
        """Have a cluster without podberth."""
        endpoint = self._endpoint
        assert endpoint is not None
        self.remove()
        try:
            yield
        finally:
            self.put(endpoint)

    @contextmanager
    def instead(
        self,
        other: Podberth,
        pod: Document,
        configurations: Sequence[Document] | None = None,
    ) -> Iterator[None]:
        """Have another podberth called: in effect once it is asked about `pod`, which it admits, by both webhooks.

        The API server hears of each configuration by itself. At the end the other one is asked no more, and may stop.
        """
        before = self._endpoint
        assert before is not None
        self._apply([pointed(configuration, other.endpoint) for configuration in configurations or shipped()])
        try:
            self._wait("the other podberth to be called", lambda: self._asks(other, pod) == _BOTH)
            yield
        finally:
            self.put(before)
            self._wait("the other podberth to be left alone", lambda: not self._asks(other, pod))

    @contextmanager
    def failure_policy(self, policy: FailurePolicy) -> Iterator[None]:
        """Have creations fail closed or open, as the component fail-closed and the base say, while podberth is down."""
        endpoint = self._endpoint
        assert endpoint is not None
        self._apply([pointed(each, endpoint) for each in shipped(fail_closed=policy == "Fail")])
        wanted = HTTPStatus.CREATED if policy == "Ignore" else HTTPStatus.INTERNAL_SERVER_ERROR
        self._wait(f"failurePolicy {policy}", lambda: self.dry_run(gpu_pod())[0] == wanted)
        try:
            yield
        finally:
            self._apply([pointed(configuration, endpoint) for configuration in shipped()])

    def _asks(self, podberth: Podberth, pod: Document) -> set[str]:
        """Return the paths on which a creation has this podberth asked."""
        before = podberth.asked()
        self.dry_run(pod)
        after = podberth.asked()
        return {path for path in _BOTH if after[path] > before[path]}

    def dry_run(self, pod: Document) -> tuple[int, Document]:
        """Return the status and document of a creation that leaves nothing behind."""
        pod = {**pod, "metadata": {**pod["metadata"], "namespace": _PROBE_NAMESPACE}}
        path = f"/api/v1/namespaces/{_PROBE_NAMESPACE}/pods?dryRun=All"
        status, body = self._control_plane.raw("POST", path, pod)
        return status, json.loads(body)

    def _apply(self, configurations: list[Document]) -> None:
        self._control_plane.apply(*configurations)

    def _mutated(self) -> bool:
        status, pod = self.dry_run(gpu_pod())
        return status == HTTPStatus.CREATED and "podberth.io/applied" in pod["metadata"].get("annotations", {})

    def _judged(self) -> bool:
        return self.dry_run(gpu_pod(resource="nvidia.com/mig-4g.5gb"))[0] == HTTPStatus.UNPROCESSABLE_ENTITY

    def _wait(self, what: str, reached: Callable[[], bool]) -> None:
        wait_for(reached, what=what)
