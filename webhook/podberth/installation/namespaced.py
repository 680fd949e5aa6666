"""The line of ``podberth status`` about NamespacedGPUPolicies: those in force, and those without effect."""

from collections.abc import Iterator

from ..words import counted, named
from .observation import Document, InstallationState, Row, Unread, unread
from .policies import follows_cluster, not_followed, state_of


def namespaced(observed: InstallationState) -> Iterator[Row]:
    """Yield the report's line about the NamespacedGPUPolicies of the cluster; nothing if the cluster has none."""
    objects = observed.namespaced
    if isinstance(objects, Unread):
        yield unread("namespaced", objects)
        return
    if not objects:
        return
    if follows_cluster(observed) is False:
        yield not_followed("namespaced", "NamespacedGPUPolicy", tuple(sorted(map(_name, objects))))
        return
    found: dict[str, list[str]] = {"active": [], "disabled": [], "broken": [], "waiting": []}
    for each in objects:
        found[state_of(each)].append(_name(each))
    names = {state: tuple(sorted(those)) for state, those in found.items()}
    places = {name.partition("/")[0] for name in names["active"]}
    parts = [f"{len(names['active'])} active in {counted(len(places), 'namespace')}"]
    parts += [f"disabled: {named(names['disabled'])}"] if names["disabled"] else []
    parts += [f"without effect: {named(names['broken'])}; see their status"] if names["broken"] else []
    parts += [f"not read since they were changed: {named(names['waiting'])}"] if names["waiting"] else []
    yield Row("namespaced", "attention" if names["broken"] or names["waiting"] else "ok", ", ".join(parts), {**names})


def _name(policy: Document) -> str:
    return "{namespace}/{name}".format(**policy["metadata"])
