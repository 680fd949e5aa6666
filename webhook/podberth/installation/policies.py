"""The lines of ``podberth status`` about the policies in force.

The policies are GPUPolicies, NamespacedGPUPolicies, and policies from files. Of those from files only the number is
known, from the replicas' metrics.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from ..policy.every_pod import MUTATING, VALIDATING, entries_wanted, sends_every_pod
from ..words import MOST_NAMED, counted, named
from .observation import Document, Fact, InstallationState, Replica, Row, Unread, option, readable, unread

_CLUSTER: Final = "cluster"
# Reasons of the condition Active (cluster.policy_status).
_DISABLED: Final = "Disabled"
_REPLACES: Final = "Replaces"
_FOR_EVERY_POD: Final = "podberth_policies_for_every_pod"
_LOADED: Final = "podberth_policies_loaded"
_RELOADS: Final = "podberth_reload_total"


def policies(observed: InstallationState) -> Iterator[Row]:
    """Yield the report's lines about the policies in force, and about the GPUPolicies that are not in force."""
    files, replicas = option(observed.deployment, "policies"), readable(observed.replicas)
    follows = _follows_cluster(observed)
    sources = [f"files in {files}"] if files else []
    sources += ["GPUPolicies"] if follows else []
    yield _from(" and ".join(sources), _loaded(replicas))
    if replicas:
        yield _reloads(replicas)
    yield from _every_pod(observed, replicas)
    if isinstance(observed.policies, Unread):
        yield unread("objects", observed.policies)
        return
    objects = observed.policies
    if follows is False:
        yield _not_followed("objects", "GPUPolicy", _names(objects))
        return
    yield _objects(objects)
    for each in _of_state(objects, "broken")[:MOST_NAMED]:
        yield _broken(each)


def _follows_cluster(observed: InstallationState) -> bool | None:
    """Return whether the webhook's replicas read policies of the cluster; None if their topology is unknown."""
    topology = option(observed.deployment, "topology")
    return topology == _CLUSTER if topology else None


def _loaded(replicas: tuple[Replica, ...]) -> tuple[int, ...]:
    values = (each.value(_LOADED) for each in replicas)
    return tuple(sorted({int(value) for value in values if value is not None}))


def _from(source: str, loaded: tuple[int, ...]) -> Row:
    facts: dict[str, Fact] = {"source": source, "inForce": loaded[0] if loaded else None}
    where = source or "from an unknown source"
    if not loaded:
        return Row("source", "note", f"{where}; the number in force is only in its metrics", facts)
    if len(loaded) > 1:
        text = f"{where}; {loaded[0]} to {loaded[-1]} in force: replicas differ; if it lasts, see their logs"
        return Row("source", "attention", text, facts)
    if not loaded[0]:
        return Row("source", "attention", f"{where}; none in force: nothing is decided", facts)
    return Row("source", "ok", f"{where}; {loaded[0]} in force", facts)


def _reloads(replicas: tuple[Replica, ...]) -> Row:
    """Return the report's line about failed loads of policies; a failure that was fixed later is still counted."""
    failed: Counter[str] = Counter()
    for replica in replicas:
        for labels, value in replica.labelled(_RELOADS).items():
            said = dict(labels)
            if said.get("result") == "error" and value:
                failed[said.get("what", "")] += int(value)
    failures = tuple(f"{what} {times}" for what, times in failed.most_common())
    text = (
        f"failed since the replicas started: {', '.join(failures)}; see their logs" if failures else "none has failed"
    )
    return Row("reloads", "note" if failures else "ok", text, {"failed": failures})


def _every_pod(observed: InstallationState, replicas: tuple[Replica, ...]) -> Iterator[Row]:
    """Yield the report's line on whether every pod is sent to podberth, and whether a policy of scope All needs it."""
    found = {kind: each for kind, each in observed.configurations.items() if each and not isinstance(each, Unread)}
    entries = {kind: sends_every_pod(each) for kind, each in found.items()}
    needing = _needing(observed, replicas)
    if needing is None:
        if any(entries.values()):
            text = "every pod is sent to podberth; whether a policy has scope All is only in its metrics"
            yield Row("every pod", "note", text)
        return
    lacking = tuple(kind for kind in needing if needing[kind] and not entries.get(kind, True))
    unused = tuple(kind for kind in entries if entries[kind] and not needing.get(kind))
    facts: dict[str, Fact] = {"lacking": lacking, "unused": unused}
    if lacking:
        who = named(tuple(dict.fromkeys(each for kind in lacking for each in needing[kind])))
        text = f"{who}: scope All, and the {' and the '.join(lacking)} sends pods with GPUs and of gangs only"
        yield Row("every pod", "attention", f"{text}; add the component all-pods", facts)
    elif unused:
        text = f"the {' and the '.join(unused)} sends every pod, and no policy of scope All needs it"
        yield Row("every pod", "attention", f"{text}; remove the component all-pods", facts)
    elif any(needing.values()):
        yield Row("every pod", "ok", "sent, as policies of scope All need it", facts)
    else:
        yield Row("every pod", "ok", "not sent, and no policy of scope All needs it", facts)


def _needing(observed: InstallationState, replicas: tuple[Replica, ...]) -> dict[str, tuple[str, ...]] | None:
    """Return, for each kind of webhook configuration, the policies that need a webhook for every pod.

    The policies are the names of GPUPolicies. If no GPUPolicy needs such a webhook, they are one text instead: the
    number of policies, those of files included, that a replica reports. The result is None if neither is known.
    """
    objects = () if isinstance(observed.policies, Unread) else observed.policies
    wanted = [(str(each["metadata"]["name"]), entries_wanted(each)) for each in objects]
    names = {kind: tuple(name for name, kinds in wanted if kind in kinds) for kind in (MUTATING, VALIDATING)}
    counted_by_replicas = _counted(replicas)
    if counted_by_replicas is None:
        return names if any(names.values()) else None
    return {kind: names[kind] or counted_by_replicas.get(kind, ()) for kind in names}


def _counted(replicas: tuple[Replica, ...]) -> dict[str, tuple[str, ...]] | None:
    """Return the number of policies that need a webhook entry for every pod, as replicas report the number.

    The result is a mapping from the kind of webhook configuration to the largest number in the replicas' metrics, as
    text. None if no replica reports a number.
    """
    counts: dict[str, int] = {}
    for labels, value in (item for each in replicas for item in each.labelled(_FOR_EVERY_POD).items()):
        review = dict(labels).get("review", "")
        counts[review] = max(counts.get(review, 0), int(value))
    if not counts:
        return None
    kinds = {"mutate": MUTATING, "validate": VALIDATING}
    return {
        kinds[each]: (counted(count, "policy"),) if count else () for each, count in counts.items() if each in kinds
    }


def _not_followed(row: str, kind: str, names: tuple[str, ...]) -> Row:
    """Return the line ``row`` about the objects ``names`` of a kind, where no replica reads objects of the cluster."""
    if not names:
        return Row(row, "ok", "not in the cluster", {"names": ()})
    text = f"{counted(len(names), kind)} that no replica reads: {named(names)}; serve --topology cluster, or delete"
    return Row(row, "attention", text, {"names": names})


def _objects(objects: tuple[Document, ...]) -> Row:
    active, broken = _of_state(objects, "active"), _of_state(objects, "broken")
    disabled, waiting = _of_state(objects, "disabled"), _of_state(objects, "waiting")
    replacing = tuple(each for each in active if _condition(each, "Active").get("reason") == _REPLACES)
    facts: dict[str, Fact] = {
        "active": len(active),
        "replacing": _names(replacing),
        "disabled": _names(disabled),
        "broken": _names(broken),
        "waiting": _names(waiting),
    }
    if not objects:
        return Row("objects", "ok", "none in the cluster", facts)
    parts = [f"{len(active)} active"]
    parts += [f"in the place of files' policies: {named(_names(replacing))}"] if replacing else []
    parts += [f"disabled: {named(_names(disabled))}"] if disabled else []
    parts += [f"{len(broken)} broken"] if broken else []
    parts += [f"not read since they were changed: {named(_names(waiting))}"] if waiting else []
    return Row("objects", "attention" if waiting or broken else "ok", ", ".join(parts), facts)


def _of_state(objects: tuple[Document, ...], state: str) -> tuple[Document, ...]:
    return tuple(each for each in objects if _state_of(each) == state)


def _state_of(policy: Document) -> str:
    """Return the state of a GPUPolicy or NamespacedGPUPolicy: active, disabled, broken, or waiting for a replica.

    The state comes from the policy's conditions.
    """
    compiled, active = _condition(policy, "Compiled"), _condition(policy, "Active")
    if compiled.get("status") == "False":
        return "broken"
    if active.get("reason") == _DISABLED:
        return "disabled"
    return "active" if compiled.get("status") == active.get("status") == "True" else "waiting"


def _broken(policy: Document) -> Row:
    name = str(policy["metadata"]["name"])
    first = str(_condition(policy, "Compiled").get("message", "")).partition("\n")[0]
    # Only the replicas know whether another policy is in force instead: see the metric podberth_policy_objects.
    return Row("broken", "attention", first or f"{name}: does not compile", {"policy": name})


def _condition(policy: Document, kind: str) -> dict[str, Any]:
    """Return the condition of a type, such as Compiled, in a policy's status; empty if the condition is outdated."""
    status = policy.get("status") or {}
    if status.get("observedGeneration") != policy["metadata"].get("generation"):
        return {}
    return next((each for each in status.get("conditions") or () if each.get("type") == kind), {})


def _names(objects: tuple[Document, ...]) -> tuple[str, ...]:
    return tuple(sorted(str(each["metadata"]["name"]) for each in objects))


# ---- NamespacedGPUPolicies ------------------------------------------------------------------------------------------


def namespaced(observed: InstallationState) -> Iterator[Row]:
    """Yield the report's line about the NamespacedGPUPolicies of the cluster; nothing if the cluster has none."""
    objects = observed.namespaced
    if isinstance(objects, Unread):
        yield unread("namespaced", objects)
        return
    if not objects:
        return
    if _follows_cluster(observed) is False:
        yield _not_followed("namespaced", "NamespacedGPUPolicy", tuple(sorted(map(_with_namespace, objects))))
        return
    states = ("active", "disabled", "broken", "waiting")
    names = {state: tuple(sorted(map(_with_namespace, _of_state(objects, state)))) for state in states}
    places = {name.partition("/")[0] for name in names["active"]}
    parts = [f"{len(names['active'])} active in {counted(len(places), 'namespace')}"]
    parts += [f"disabled: {named(names['disabled'])}"] if names["disabled"] else []
    parts += [f"without effect: {named(names['broken'])}; see their status"] if names["broken"] else []
    parts += [f"not read since they were changed: {named(names['waiting'])}"] if names["waiting"] else []
    yield Row("namespaced", "attention" if names["broken"] or names["waiting"] else "ok", ", ".join(parts), {**names})


def _with_namespace(policy: Document) -> str:
    return "{namespace}/{name}".format(**policy["metadata"])
