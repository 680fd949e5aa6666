"""The lines of ``podberth status`` about Deployments, agents, CRDs, webhook configurations and admission policies."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from ..wellknown import API_VERSION, NAMESPACE
from ..words import counted, named
from .observation import Document, Fact, InstallationState, ObservedObject, Row, Unread, option, readable, unread

_INSTALL: Final = "apply what you installed from again (docs/install.md)"


def installed(observed: InstallationState) -> Iterator[Row]:
    """Yield the report's lines about the state of the installed objects."""
    yield _deployment("webhook", "podberth", observed.deployment)
    yield from callers(observed)
    if observed.controller is not None:
        yield _deployment("controller", "podberth-controller", observed.controller)
    yield _agents(observed.agents)
    yield _kind(observed)
    for kind, found in observed.configurations.items():
        yield _configuration(kind, found)
    yield _guards(observed)


def _deployment(row: str, name: str, found: ObservedObject) -> Row:
    if isinstance(found, Unread):
        return unread(row, found)
    if found is None:
        return Row(row, "attention", f"got no Deployment {NAMESPACE}/{name}, want one; {_INSTALL}")
    status, image = found.get("status") or {}, image_of(found)
    # The API server's default; a Deployment always has the field, unless another program wrote the document.
    wanted = found["spec"].get("replicas", 1)
    ready, updated = status.get("readyReplicas", 0), status.get("updatedReplicas", 0)
    facts: dict[str, Fact] = {"ready": ready, "updated": updated, "wanted": wanted, "image": image}
    text = f"{ready} of {wanted} replicas ready, {image}"
    if not wanted:
        return Row(row, "attention", f"scaled to no replica, {image}; kubectl scale it", facts)
    if ready < wanted:
        look = f"kubectl get pods -n {NAMESPACE}"
        return Row(row, "attention", f"{text}; see {look}", facts)
    if updated < wanted or status.get("observedGeneration", 0) < found["metadata"].get("generation", 0):
        return Row(row, "attention", f"{text}, {updated} of them up to date: a rollout is under way", facts)
    return Row(row, "ok", text, facts)


def _agents(found: ObservedObject) -> Row:
    if isinstance(found, Unread):
        return unread("agents", found)
    if found is None:
        return Row("agents", "note", "not installed: nodes are known by their labels and allocatable resources")
    status, image = found.get("status") or {}, image_of(found)
    ready, wanted = status.get("numberReady", 0), status.get("desiredNumberScheduled", 0)
    facts: dict[str, Fact] = {"ready": ready, "wanted": wanted, "image": image}
    if ready < wanted:
        look = "kubectl get pods -n podberth-agent -o wide"
        return Row("agents", "attention", f"ready on {ready} of {wanted} nodes, {image}; see {look}", facts)
    if not wanted:
        return Row("agents", "note", f"its DaemonSet selects no node, {image}", facts)
    return Row("agents", "ok", f"ready on {ready} of {wanted} nodes, {image}", facts)


def _kind(observed: InstallationState) -> Row:
    served = observed.policies_served
    if isinstance(served, Unread):
        return unread("crd", served)
    if served:
        return Row("crd", "ok", f"GPUPolicy is served, {API_VERSION}", {"served": True})
    want = "want it; kubectl apply -f manifests/base/gpupolicy-crd.yaml"
    return Row("crd", "attention", f"GPUPolicy is not served, {want}", {"served": False})


def _configuration(kind: str, found: ObservedObject) -> Row:
    name = kind.removesuffix("WebhookConfiguration").lower()
    if isinstance(found, Unread):
        return unread(name, found)
    webhooks = (found or {}).get("webhooks") or ()
    if not webhooks:
        got = "got none" if found is None else "it has no entries"
        return Row(name, "attention", f"{kind} podberth: {got}: no pod is sent to podberth; {_INSTALL}", {"entries": 0})
    policies = Counter(each.get("failurePolicy", "Fail") for each in webhooks)
    said = ", ".join(f"{count} {policy}" for policy, count in sorted(policies.items()))
    facts: dict[str, Fact] = {"entries": len(webhooks), **dict(sorted(policies.items()))}
    return Row(name, "ok", f"{counted(len(webhooks), 'entry')}, failurePolicy {said}", facts)


def _guards(observed: InstallationState) -> Row:
    # For each admission policy, whether the installation has the part that the policy restricts. Manifests install both
    # together.
    there: dict[str, bool] = {
        "podberth-agent": observed.agents is not None,
        "podberth-controller": observed.controller is not None,
        "podberth-controller-lease": observed.controller is not None,
        "podberth-shared-ca": bool(option(observed.deployment, "ca-secret")),
    }
    wanted = {key: found for key, found in observed.guards.items() if there.get(key.partition("/")[2], True)}
    for found in wanted.values():
        if isinstance(found, Unread):
            return unread("guards", found)
    names = tuple(sorted({key.partition("/")[2] for key in wanted}))
    missing = tuple(key.replace("/", " ") for key, found in wanted.items() if found is None)
    facts: dict[str, Fact] = {"names": names, "missing": missing}
    if missing:
        return Row(
            "guards",
            "attention",
            f"missing: {named(missing)}: writes that it would refuse are allowed; {_INSTALL}",
            facts,
        )
    return Row("guards", "ok", ", ".join(names), facts)


def image_of(workload: Document) -> str:
    """Return the image of a workload's first container, without registry and path: ``podberth:0.1.0``."""
    return str(workload["spec"]["template"]["spec"]["containers"][0]["image"]).rpartition("/")[2]


_METRIC: Final = "podberth_client_certificate_required"
_HOW: Final = "docs/install-reference.md, Only the API server may ask"


def callers(observed: InstallationState) -> Iterator[Row]:
    """Yield the report's line on whether each replica requires client certificates of its callers.

    The source is the replicas' metrics, or the Deployment's flags. There is no line if no replica reports the metric
    and no Deployment exists.
    """
    said = {each.name: each.value(_METRIC) for each in readable(observed.replicas)}
    known = {name: bool(value) for name, value in said.items() if value is not None}
    if not known:
        if isinstance(observed.deployment, Unread):
            yield unread("callers", observed.deployment)
            return
        if observed.deployment is None:
            return
        known = {"": bool(option(observed.deployment, "client-ca"))}
    open_to_all = tuple(sorted(name for name, required in known.items() if not required))
    facts: dict[str, Fact] = {"anybody": bool(open_to_all)}
    if not open_to_all:
        yield Row("callers", "ok", "only clients with a client certificate are answered", facts)
    elif len(open_to_all) < len(known):
        text = f"{named(open_to_all)} answer any client, the others only clients with a client certificate"
        yield Row("callers", "attention", f"{text}; a rollout is under way, or their flags differ", facts)
    else:
        text = "any client in the cluster's network is answered: no client certificate is required"
        yield Row("callers", "note", f"{text} ({_HOW})", facts)
